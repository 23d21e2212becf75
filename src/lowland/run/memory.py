"""The memory budget: how many slabs are in memory at once, and which work is too large.

The budget never changes a result, with one exception: ``svd_solver="auto"`` becomes matrix-free where the covariance
does not fit, which agrees to the tolerance of the solver and is reported in ``solver_``.
"""

from __future__ import annotations

import math
import os
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

from lowland.errors import MemoryBudgetError, ParameterError

_UNITS = {
    "": 1,
    "b": 1,
    "kb": 10**3,
    "mb": 10**6,
    "gb": 10**9,
    "tb": 10**12,
    "kib": 2**10,
    "mib": 2**20,
    "gib": 2**30,
    "tib": 2**40,
}
LARGE = 1 / 16  # of the budget: larger arrays are mapped to a file
COPIES_PER_SLAB = 3  # the slab as read, as floats, and centered


def parse_bytes(size: str | int) -> int:
    """Return ``size`` ("1GB", "512 MiB", 10**9) in bytes."""
    if isinstance(size, bool) or not isinstance(size, int | str):
        raise ParameterError(
            f"`memory={size!r}`: not a memory size. Use a string such as '1GB' or '512MB', or a number of bytes."
        )
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([a-zA-Z]*)\s*", str(size))
    if not match or match[2].lower() not in _UNITS or float(match[1]) == 0:
        raise ParameterError(
            f"`memory={size!r}`: not a memory size. Use a string such as '1GB' or '512MB', or a positive number of "
            "bytes."
        )
    return int(float(match[1]) * _UNITS[match[2].lower()])


def show_bytes(count: float) -> str:
    """Return a number of bytes in a readable unit: '1.5 GB'."""
    for unit in ("bytes", "kB", "MB", "GB"):
        if count < 1000:
            return f"{count:.3g} {unit}"
        count /= 1000
    return f"{count:.3g} TB"


def memory_limit() -> int:
    """Return the bytes that this process can have: the memory of the machine, or what a container or shell allows."""
    try:
        machine = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError, AttributeError):
        machine = 8 * 2**30
    return min([machine, *_limits_of_container(), *_limits_of_shell()])


def _limits_of_container(
    groups: Path = Path("/proc/self/cgroup"), root: Path = Path("/sys/fs/cgroup")
) -> Iterator[int]:
    """Yield the limits of the control groups of this process, of version 1 or 2, and of all groups above them."""
    try:
        lines = groups.read_text().splitlines()
    except OSError:  # not Linux
        return
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers and "memory" not in controllers.split(","):
            continue
        top, name = (root / "memory", "memory.limit_in_bytes") if controllers else (root, "memory.max")
        folder = top / path.lstrip("/")
        for each in (folder, *folder.parents):
            try:
                yield int((each / name).read_text())
            except (OSError, ValueError):  # no such group, or "max"
                continue


def _limits_of_shell() -> Iterator[int]:
    """Yield the limit of the address space, as ``ulimit -v`` sets it."""
    try:
        import resource
    except ImportError:  # Windows
        return
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    if limit != resource.RLIM_INFINITY:
        yield limit


def require(needed: float, budget: int, what: str, remedy: str = "", *, so_far: bool = False) -> None:
    """Raise an error for work that needs more memory than the budget: see ``beyond``."""
    if needed > budget:
        raise beyond(what, needed, budget, remedy, so_far=so_far)


def beyond(what: str, needed: float, budget: int, remedy: str = "", *, so_far: bool = False) -> MemoryBudgetError:
    """Return the error for work beyond the memory budget; ``remedy`` is an alternative to raising it.

    ``so_far``: more may be needed, since not all rows were read.
    """
    remedy = f"{remedy}, or raise the budget" if remedy else "Raise the budget"
    how_much = f"more than {show_bytes(budget)}" if so_far else f"about {show_bytes(needed)}"
    enough = show_bytes(needed * (4 if so_far else 1.2)).replace(" ", "")
    return MemoryBudgetError(
        f"{what} needs {how_much}, but the memory budget is {show_bytes(budget)}. {remedy}: "
        f'`lowland.config(memory="{enough}")`.'
    )


def scratch(shape: tuple[int, ...], dtype: Any, budget: int) -> np.ndarray:
    """Return an array for results that are large: mapped to a temporary file beyond a sixteenth of the budget.

    The file has no name, and its disk space is reserved at once and given back with the array. The system writes it to
    disk where memory is short.
    """
    import numpy as np  # the command line reads settings without it

    size = math.prod(shape) * np.dtype(dtype).itemsize
    if size <= budget * LARGE:
        return np.empty(shape, dtype=dtype)
    try:
        with tempfile.TemporaryFile(prefix="lowland-") as file:
            if hasattr(os, "posix_fallocate"):
                os.posix_fallocate(file.fileno(), 0, size)
            return np.asarray(np.memmap(file, dtype=dtype, mode="r+", shape=shape))
    except OSError as error:
        raise MemoryBudgetError(
            f"A temporary file of {show_bytes(size)} in {tempfile.gettempdir()!r} cannot be written: {error.strerror}. "
            "Set the environment variable TMPDIR to a folder with more space, or raise the budget: "
            f'`lowland.config(memory="{show_bytes(size / LARGE * 1.2).replace(" ", "")}")`.'
        ) from error


def release(X: np.ndarray) -> None:
    """Let the system take back the memory of an array that is mapped to a file; its values stay in the file."""
    import mmap

    base: Any = X
    while getattr(base, "base", None) is not None:
        if getattr(base, "mode", "") == "c":  # a private map, whose changes are not in the file
            return
        base = base.base
    if isinstance(base, mmap.mmap) and hasattr(base, "madvise"):
        base.madvise(mmap.MADV_DONTNEED)


def slabs_in_flight(slab_bytes: int, threads: int, budget: int) -> int:
    """Return how many slabs may be in memory at once: one more than the threads if the budget allows."""
    each = COPIES_PER_SLAB * slab_bytes
    require(each, budget, "One chunk of rows")
    return max(1, min(threads + 1, budget // max(1, each)))

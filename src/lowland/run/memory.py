"""The memory budget: how many slabs are in memory at once, and which work is too large.

The budget never changes a result, with one exception: ``svd_solver="auto"`` becomes matrix-free where the covariance
does not fit, which agrees to the tolerance of the solver and is reported in ``solver_``.
"""

from __future__ import annotations

import re

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


def require(needed: float, budget: int, what: str, remedy: str = "") -> None:
    """Raise an error for work that needs more memory than the budget; ``remedy`` is an alternative to raising it."""
    if needed > budget:
        remedy = f"{remedy}, or raise the budget" if remedy else "Raise the budget"
        raise MemoryBudgetError(
            f"{what} needs about {show_bytes(needed)}; the memory budget is {show_bytes(budget)}. {remedy}: "
            f'`lowland.config(memory="{show_bytes(needed * 1.2).replace(" ", "")}")`.'
        )


def slabs_in_flight(slab_bytes: int, threads: int, budget: int) -> int:
    """Return how many slabs may be in memory at once: one more than the threads if the budget allows."""
    each = COPIES_PER_SLAB * slab_bytes
    require(each, budget, "One chunk of rows")
    return max(1, min(threads + 1, budget // max(1, each)))

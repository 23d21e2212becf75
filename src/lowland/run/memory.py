"""The memory budget: how many slabs may be in flight, and when to refuse.

The budget limits what is held at once, or refuses with a remedy. It never changes an answer, except that
``svd_solver="auto"`` goes matrix-free where a covariance does not fit: that agrees to the solver's tolerance, and is
told.
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
    """Return the number of bytes that ``size`` ("1GB", "512 MiB", 10**9) stands for."""
    if isinstance(size, bool) or not isinstance(size, int | str):
        raise ParameterError(f"memory={size!r}: write it as '1GB', '512MB' or a number of bytes.")
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([a-zA-Z]*)\s*", str(size))
    if not match or match[2].lower() not in _UNITS or float(match[1]) == 0:
        raise ParameterError(f"memory={size!r}: write it as '1GB', '512MB' or a number of bytes above zero.")
    return int(float(match[1]) * _UNITS[match[2].lower()])


def show_bytes(count: float) -> str:
    """Return a count of bytes in words: '1.5 GB'."""
    for unit in ("bytes", "kB", "MB", "GB"):
        if count < 1000:
            return f"{count:.3g} {unit}"
        count /= 1000
    return f"{count:.3g} TB"


def require(needed: float, budget: int, what: str, remedy: str) -> None:
    """Refuse work that needs more memory than the budget, saying how much and what to do."""
    if needed > budget:
        raise MemoryBudgetError(
            f"{what} needs about {show_bytes(needed)}; the budget is {show_bytes(budget)}. {remedy}, "
            f'or raise the budget with lowland.config(memory="{show_bytes(needed * 1.2).replace(" ", "")}").'
        )


def slabs_in_flight(slab_bytes: int, threads: int, budget: int) -> int:
    """Return how many slabs may be held at once: one more than the threads if the budget allows."""
    each = COPIES_PER_SLAB * slab_bytes
    require(each, budget, "The smallest piece of work, one slab of rows,", "Nothing smaller can be worked on")
    return max(1, min(threads + 1, budget // max(1, each)))

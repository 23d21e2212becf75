"""Landmarks: a few rows that represent all rows. Every method with landmarks chooses them here."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from lowland.blocks.statistics.sampling import evenly_spread
from lowland.errors import DataWarning, warn


def choose_landmarks(
    n: int, m: int, rng: Callable[[], np.random.Generator], owner: str, consequence: str = "all rows are used"
) -> np.ndarray | None:
    """Mark m of n rows, spread evenly over all, (n,) bool; None, with a warning, if m >= n.

    ``rng`` returns the random number generator; it is called only if landmarks are sampled. ``consequence`` completes
    the warning: what happens to all rows instead.
    """
    if m < n:
        return evenly_spread(n, m, rng())
    warn(
        f"{owner}(n_landmarks={m}): the data has {n} rows, so {consequence} and the result is exact. Choose "
        f"fewer than {n} landmarks, or None.",
        DataWarning,
    )
    return None

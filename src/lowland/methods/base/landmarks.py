<<<<<<< HEAD
"""Landmarks: a few rows that represent all rows. Every method with landmarks chooses them here."""
=======
"""Landmarks: a subset of the rows that represents all of them, chosen and checked the same way in every method."""
>>>>>>> w-factors

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from lowland.blocks.statistics.sampling import evenly_spread
from lowland.errors import DataWarning, warn


def choose_landmarks(
<<<<<<< HEAD
    n: int, m: int, rng: Callable[[], np.random.Generator], owner: str, consequence: str = "all rows are used"
=======
    n: int, m: int, rng: Callable[[], np.random.Generator], owner: str, consequence: str = "all rows are scaled"
>>>>>>> w-factors
) -> np.ndarray | None:
    """Mark m of n rows, spread evenly over all, (n,) bool; None, with a warning, if m >= n.

<<<<<<< HEAD
    ``rng`` returns the random number generator; it is called only if landmarks are sampled. ``consequence`` completes
    the warning: what happens to all rows instead.
=======
    ``rng`` creates the random generator, only if it is needed. ``consequence`` describes what happens without
    landmarks.
>>>>>>> w-factors
    """
    if m < n:
        return evenly_spread(n, m, rng())
    warn(
<<<<<<< HEAD
        f"{owner}(n_landmarks={m}): the data has {n} rows, so {consequence}, without landmarks. Choose fewer than {n} "
        "landmarks, or None.",
=======
        f"{owner}(n_landmarks={m}): the data has {n} rows, so {consequence} without landmarks. Choose fewer than {n}, "
        "or None.",
>>>>>>> w-factors
        DataWarning,
    )
    return None

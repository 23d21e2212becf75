"""Landmarks: a few rows that stand for all of them, chosen and checked alike by every method that has them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from lowland.blocks.statistics.sampling import evenly_spread
from lowland.errors import DataWarning, warn


def choose_landmarks(
    n: int, m: int, rng: Callable[[], np.random.Generator], owner: str, consequence: str = "all of them are scaled"
) -> np.ndarray | None:
    """Mark m of n rows, spread evenly over all, (n,) bool; None, with a warning, where all rows would be landmarks.

    ``rng`` makes the random numbers, which are drawn only if landmarks are; ``consequence`` says what is done with all
    rows instead.
    """
    if m < n:
        return evenly_spread(n, m, rng())
    warn(
        f"{owner}(n_landmarks={m}): the data has {n} rows, so {consequence}, exactly. Choose fewer than {n}, or None.",
        DataWarning,
    )
    return None

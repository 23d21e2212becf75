"""Landmarks: a subset of the rows that represents all of them, chosen and checked the same way in every method."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from lowland.errors import DataWarning, warn
from lowland.math.statistics.sampling import evenly_spread


def choose_landmarks(
    n: int, m: int, rng: Callable[[], np.random.Generator], owner: str, consequence: str = "all rows are scaled"
) -> np.ndarray | None:
    """Mark m of n rows, spread evenly over all, (n,) bool; None, with a warning, where all rows would be landmarks.

    ``rng`` creates the random generator, only if it is needed. ``consequence`` describes what happens without
    landmarks.
    """
    if m < n:
        return evenly_spread(n, m, rng())
    warn(
        f"{owner}(n_landmarks={m}): the data has {n} rows, so {consequence} exactly, without landmarks. Choose fewer "
        f"than {n}, or None.",
        DataWarning,
    )
    return None

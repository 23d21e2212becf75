"""Warnings shared by the methods of multidimensional scaling."""

from __future__ import annotations

from typing import Any

import numpy as np

from lowland.arrays.namespace import Array
from lowland.errors import DataWarning, warn
from lowland.math.distances.to_points import looks_like_distances


def warn_if_distances(X: Array, owner: str) -> None:
    """Warn where the rows look like a distance matrix."""
    if looks_like_distances(X):
        warn(
            f"{owner}: `X` looks like a distance matrix (symmetric with a zero diagonal), but is used as rows. Set "
            "`metric='precomputed'` if it contains distances.",
            DataWarning,
        )


def warn_of_lost_squares(name: str, values: Any, squared: Any) -> None:
    """Warn where numbers in squared units, such as a stress, overflow or underflow though the coordinates do not."""
    before, after = np.abs(np.atleast_1d(values)), np.abs(np.atleast_1d(squared))
    lost = ~np.isfinite(after) | (after < np.finfo(np.float64).tiny)
    if bool((lost & (before > 0)).any()):
        warn(
            f"{name}: squared distances are beyond the range of `float64`, so the values are infinite or lose digits. "
            "The coordinates do not. Rescale the columns.",
            DataWarning,
        )


def warn_of_one_point(owner: str) -> None:
    """Warn where all points coincide."""
    warn(
        f"{owner}: all points coincide. Every distance is zero, and so are all coordinates. Check the data.",
        DataWarning,
    )

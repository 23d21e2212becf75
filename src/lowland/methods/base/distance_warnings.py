"""Warnings shared by the methods that scale distances."""

from __future__ import annotations

from lowland.arrays.namespace import Array
from lowland.blocks.distances.to_points import looks_like_distances
from lowland.errors import DataWarning, warn


def warn_if_distances(X: Array, owner: str) -> None:
    """Warn where rows look like a matrix of distances."""
    if looks_like_distances(X):
        warn(
            f"The rows given to {owner} look like a matrix of distances: symmetric with a diagonal of zeros. They are "
            "taken as rows; pass metric='precomputed' if they are distances.",
            DataWarning,
        )


def warn_of_one_point(owner: str) -> None:
    """Warn where all points are one."""
    warn(
        f"All points given to {owner} coincide: every distance is zero, and so are all coordinates. Check the data.",
        DataWarning,
    )

"""Twins: points at distance zero of each other, which become one point of their joint mass."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lowland.arrays.namespace import Array, device_of, like, to_numpy, xp_of
from lowland.arrays.precision import as_double
from lowland.data.rows import slab_rows


@dataclass(frozen=True)
class Merged:
    """Distances of points of which no two are at distance zero."""

    D: Array  # (m, m)
    masses: Array  # (m,) float64: how many points each stands for
    first: np.ndarray  # (m,) the first of each
    place: np.ndarray  # (n,) which of them stands for a point
    total: float  # sum of the distances over pairs of points

    def chosen(self, Z: Array) -> Array:
        """The rows of those that stand for others, (m, k)."""
        return Z if len(self.first) == len(self.place) else _take(Z, self.first)

    def spread(self, Z: Array) -> Array:
        """A row for every point again, (n, k)."""
        return Z if len(self.first) == len(self.place) else _take(Z, self.place)


def merge_twins(D: Array) -> Merged:
    """Merge points at distance zero; D itself is returned where there are none.

    Of merged points the distances of the first are taken: in a metric the others' are the same.
    """
    xp = xp_of(D)
    n = D.shape[0]
    owner = np.arange(n)
    step = slab_rows(n, 8)
    for start in range(0, n, step):
        zero = to_numpy(D[start : min(start + step, n), :] == 0)
        owner[start : start + len(zero)] = np.argmax(zero, axis=1)  # the first point at distance zero, if not itself
    owner = owner[owner]  # where a chain of zeros is not closed, its members join the first
    while not np.array_equal(owner, owner[owner]):
        owner = owner[owner]
    first, place, counts = np.unique(owner, return_inverse=True, return_counts=True)
    if len(first) < n:
        D = xp.take(_take(D, first), like(first, D, xp.int64), axis=1)
    masses = like(counts.astype(np.float64), D, xp.float64)
    total = 0.0
    for start in range(0, len(first), step):
        stop = min(start + step, len(first))
        total += float(xp.sum(masses[start:stop] * (as_double(D[start:stop, :]) @ masses))) / 2
    return Merged(D, masses, first, place, total)


def _take(A: Array, places: np.ndarray) -> Array:
    xp = xp_of(A)
    return xp.take(A, xp.asarray(places, device=device_of(A)), axis=0)

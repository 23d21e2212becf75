"""Duplicate points, at distance zero from each other: they are merged into one point with their total weight."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from lowland.arrays.namespace import Array, device_of, like, to_numpy, xp_of
from lowland.arrays.precision import as_double
from lowland.data.rows import slab_rows


@dataclass(frozen=True)
class MergedPoints:
    """Distances of points of which no two are at distance zero."""

    D: Array  # (m, m)
    masses: Array  # (m,) float64: number of points merged to each
    first: np.ndarray  # (m,) the first of each
    inverse: np.ndarray  # (n,) the merged point of each point
    total: float  # sum of the distances over pairs of points
    fixed: float  # constant part of the Sammon stress: of merged points whose distances differ

    def representatives(self, Z: Array) -> Array:
        """The coordinates of merged points, (m, k); their mean where these differ."""
        if len(self.first) == len(self.inverse):
            return Z
        if not self.fixed:
            return _take(Z, self.first)
        sums = np.zeros((len(self.first), Z.shape[1]))
        np.add.at(sums, self.inverse, to_numpy(Z))
        return like(sums / to_numpy(self.masses)[:, None], Z)

    def expanded(self, Z: Array) -> Array:
        """One row for every original point, (n, k)."""
        return Z if len(self.first) == len(self.inverse) else _take(Z, self.inverse)


def merge_duplicates(D: Array) -> MergedPoints:
    """Merge points at distance zero, or connected by zero distances; D itself is returned where there are none.

    In a metric, merged points have the same distances to all others. Where those of a given matrix differ, all of them
    are included: over points with targets t to a point at distance d, sum (t - d)²/t = m(h - d)²/h + sum t - m h
    with their number m and harmonic mean h. So h is the distance of the merged point, and sum t - m h is fixed.
    """
    xp = xp_of(D)
    n = D.shape[0]
    first, inverse, counts = np.unique(_owners(D), return_inverse=True, return_counts=True)
    masses = like(counts.astype(np.float64), D, xp.float64)
    merged = xp.take(_take(D, first), like(first, D, xp.int64), axis=1) if len(first) < n else D
    if len(first) < n and not _alike(D, first, inverse):
        merged, total = _by_harmonic_means(to_numpy(D), inverse, counts)
        merged = like(merged, D)
        return MergedPoints(merged, masses, first, inverse, total, total - _sum_of_pairs(merged, masses))
    return MergedPoints(merged, masses, first, inverse, _sum_of_pairs(merged, masses), 0.0)


def _owners(D: Array) -> np.ndarray:
    """The first point that each is connected to by zero distances, (n,)."""
    owner = np.concatenate([np.argmax(zero, axis=1) for zero in _zeros(D)])  # the first at distance zero, often itself
    while not np.array_equal(owner, np.arange(len(owner))):
        lowest = np.concatenate([np.where(zero, owner[None, :], len(owner)).min(axis=1) for zero in _zeros(D)])
        if np.array_equal(lowest, owner):
            break
        owner = lowest
    return owner


def _zeros(D: Array) -> Iterator[np.ndarray]:
    step = slab_rows(D.shape[0], 8)
    return (to_numpy(D[start : min(start + step, D.shape[0]), :] == 0) for start in range(0, D.shape[0], step))


def _alike(D: Array, first: np.ndarray, inverse: np.ndarray) -> bool:
    """Whether merged points have the same distances to all points."""
    others = np.setdiff1d(np.arange(len(inverse)), first)
    xp = xp_of(D)
    step = slab_rows(D.shape[0], 8)
    parts = (others[start : start + step] for start in range(0, len(others), step))
    return all(bool(xp.all(_take(D, part) == _take(D, first[inverse[part]]))) for part in parts)


def _by_harmonic_means(D: np.ndarray, inverse: np.ndarray, counts: np.ndarray) -> tuple[np.ndarray, float]:
    """The harmonic mean of the distances between the members of two merged points, (m, m), and the sum of all."""
    order, borders = np.argsort(inverse, kind="stable"), np.concatenate([[0], np.cumsum(counts)[:-1]])
    A = D.astype(np.float64)
    total = float(np.triu(A, 1).sum())
    apart = inverse[:, None] != inverse[None, :]
    reciprocals = np.divide(1.0, A, where=apart, out=np.zeros_like(A))[np.ix_(order, order)]
    sums = np.add.reduceat(np.add.reduceat(reciprocals, borders, axis=0), borders, axis=1)
    pairs = counts[:, None] * counts[None, :].astype(np.float64)
    return np.divide(pairs, sums, where=sums > 0, out=np.zeros_like(sums)), total


def _sum_of_pairs(D: Array, masses: Array) -> float:
    """The sum of m_i m_j d_ij over pairs."""
    xp = xp_of(D)
    n, step, total = D.shape[0], slab_rows(D.shape[0], 8), 0.0
    for start in range(0, n, step):
        stop = min(start + step, n)
        total += float(xp.sum(masses[start:stop] * (as_double(D[start:stop, :]) @ masses))) / 2
    return total


def _take(A: Array, places: np.ndarray) -> Array:
    xp = xp_of(A)
    return xp.take(A, xp.asarray(places, device=device_of(A)), axis=0)

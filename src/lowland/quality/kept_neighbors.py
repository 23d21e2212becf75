"""How well the neighborhood of each point survives: from the data to a map, or from one map to another."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from lowland.arrays.namespace import is_sparse, slices
from lowland.arrays.random import generator
from lowland.math.distances.metrics import Metric
from lowland.math.neighbors.ranks import PointSet
from lowland.run.run import Run

SUBSAMPLE, LEAST_SUBSAMPLE, SUBSAMPLES = 0.8, 2000, 10
NEAR, WIDE = 0.1, 0.25  # neighborhoods of up to this fraction of the points
MOST_REFERENCES = 1000  # points among which neighbors are searched
_CELLS = 1 << 16  # distances that a thread holds at a time: they stay in its cache
_SHUFFLE = 71_539  # a seed: arbitrary, but fixed


def choose_references(n: int, rng: np.random.Generator) -> np.ndarray:
    """Return the points among which neighbors are searched, (m,): all, or a random sample."""
    return np.arange(n) if n <= MOST_REFERENCES else np.sort(rng.permutation(n)[:MOST_REFERENCES])


def subsample_size(n: int) -> int:
    """Return the size of a subsample of n points: 80%, but of many points a tenth, or 2,000 if that is more."""
    return int(max(min(SUBSAMPLE * n, max(LEAST_SUBSAMPLE, n / SUBSAMPLES)), 3))


def neighbors_that_stay(Z: np.ndarray, again: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return the fraction of each point's neighbors in a map that stay its neighbors in another map, (n,).

    The neighbors are the nearest quarter of the points. The fraction is corrected for chance: 0 to 1.
    """
    return np.clip(preserved_neighbors(Z, again, choose_references(len(Z), rng))[:, 1], 0.0, 1.0)


def nearest_points(S: Any, k: int, points: np.ndarray, metric: Metric = "euclidean") -> np.ndarray:
    """Return the k nearest points of some of the points, (m, k)."""
    n = S.shape[0]
    every, out = np.arange(n), np.empty((len(points), k), dtype=np.int64)
    to_every = _distances_to(S, every, metric)

    def work(block: slice) -> None:
        rows = points[block]
        out[block] = _nearest(to_every(rows), rows[:, None] == every[None, :], every, k)

    Run().each("finding neighbors", slices(len(points), max(1, _CELLS // n)), work)
    return out


def kept_nearest(first: np.ndarray, second: np.ndarray, n: int) -> np.ndarray:
    """Return the fraction of neighbors, (m, k), that are neighbors again, corrected for chance among n points, (m,)."""
    k = first.shape[1]
    shared = (first[:, :, None] == second[:, None, :]).sum(axis=(1, 2))
    return ((n - 1) * shared / k - k) / (n - 1 - k)


def preserved_neighbors(
    A: Any, B: np.ndarray, references: np.ndarray, metric: Metric = "euclidean", points: np.ndarray | None = None
) -> np.ndarray:
    """Return the fraction of neighbors in A that are neighbors in B, corrected for chance, (n, 2): near and wide.

    For the K nearest of m reference points, Q(K) is the fraction that both spaces share, and R(K) = (m Q(K) - K) / (m -
    K) is 0 for random neighbors and 1 for equal ones (Lee, Renard, Bernard, Dupont and Verleysen 2013,
    doi:10.1016/j.neucom.2012.12.036). The columns are the mean of R(K) up to K = m/10 and up to K = m/4.
    """
    points = np.arange(len(B)) if points is None else points
    out = np.empty((len(points), 2))
    blocks = slices(len(points), max(1, _CELLS // len(references)))
    to_references = _distances_to(A, references, metric), _distances_to(B, references, "euclidean")
    k = max(1, int(WIDE * len(references)))
    shuffle = generator(_SHUFFLE).permutation(len(references))  # of the references in B: ties are no agreement

    def work(block: slice) -> None:
        rows = points[block]
        own = rows[:, None] == references[None, :]
        first = _nearest(to_references[0](rows), own, np.arange(len(references)), k)
        second = _nearest(to_references[1](rows), own, shuffle, k)
        ranks = np.full(own.shape, k, dtype=np.int32)
        np.put_along_axis(ranks, second, np.arange(k, dtype=np.int32)[None, :], axis=1)
        larger = np.maximum(np.arange(k)[None, :], np.take_along_axis(ranks, shuffle[first], axis=1))
        out[block] = _mean_agreement(larger, len(references), len(references) - own.sum(axis=1))

    Run().each("comparing neighborhoods", blocks, work)
    return out


def _distances_to(S: Any, references: np.ndarray, metric: Metric) -> Callable[[np.ndarray], np.ndarray]:
    """A function that returns the distances of some points from the reference points, (b, m), or their squares."""
    if metric == "precomputed":
        return lambda rows: np.array(S[np.ix_(rows, references)], dtype=np.float64)
    if is_sparse(S):
        from sklearn.metrics import pairwise_distances

        near = S[references]
        return lambda rows: np.asarray(pairwise_distances(S[rows], near, metric=metric))
    if metric == "euclidean":
        from lowland.kernels.neighbor_search import distances_by_columns

        columns = np.ascontiguousarray(S[references].T, dtype=np.float64)  # (d, m)

        def squares(rows: np.ndarray) -> np.ndarray:
            out = np.empty((len(rows), len(references)))
            distances_by_columns(np.ascontiguousarray(S[rows], dtype=np.float64), columns, 2.0, out)
            return out

        return squares

    def compare(rows: np.ndarray) -> np.ndarray:
        both = S[np.concatenate([rows, references])]
        return PointSet.of(np.asarray(both), metric).distances(np.arange(len(rows)))[:, len(rows) :]

    return compare


def _nearest(D: np.ndarray, own: np.ndarray, labels: np.ndarray, k: int) -> np.ndarray:
    """The labels of the k nearest reference points, nearest first, (b, k); ties in the order of the labels.

    The label replaces the last bits of a distance, whose bits are ordered as the distance is, so that sorting numbers
    is enough: it is several times as fast as sorting indices.
    """
    D = np.asarray(D, dtype=np.float64)
    D[own] = np.inf
    low = np.uint64((1 << (len(labels) - 1).bit_length()) - 1)
    keys = np.abs(D).view(np.uint64) & ~low | labels.astype(np.uint64)[None, :]
    near = np.partition(keys, k - 1, axis=1)[:, :k]
    near.sort(axis=1)
    return (near & low).astype(np.int64)


def _mean_agreement(larger: np.ndarray, m: int, count: np.ndarray) -> np.ndarray:
    """The means of R(K) up to both sizes, (b, 2), from the larger of the two ranks of each neighbor in A, (b, k)."""
    b, k = larger.shape
    cells = larger + np.arange(b)[:, None] * (k + 1)
    shared = np.bincount(cells.ravel(), minlength=b * (k + 1)).reshape(b, k + 1)[:, :k].cumsum(axis=1)
    K, total = np.arange(1, k + 1)[None, :], count[:, None]
    R = (total * shared / K - K) / (total - K)
    return np.column_stack([R[:, : max(1, int(NEAR * m))].mean(axis=1), R.mean(axis=1)])

"""Approximate nearest-neighbor search for large tables, by trees of random splits and nearest-neighbor descent.

Points in the same leaf of a tree are compared first. Then, in rounds, each point is compared with the neighbors of its
neighbors (Dong, Charikar and Li 2011), until almost nothing changes. Comparisons are in single precision; the distances
of the neighbors that are kept are computed exactly, as everywhere, and the recall is measured on sampled rows.

Points are numbered along a first tree, so that near points are near in memory, and memory-mapped tables are read in
stretches.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from lowland.arrays.namespace import Array, slices, to_numpy
from lowland.errors import DataWarning, ParameterError, warn
from lowland.math.neighbors.searcher import Found, MetricSpace
from lowland.math.statistics.intervals import confidence_interval
from lowland.run.memory import release
from lowland.run.run import Run

# Measured: the recall of 15 neighbors is 0.999 on 100,000 x 50 (handwritten digits), that of 10 neighbors 0.97 on
# 100,000 x 32 normal numbers, which have no structure. Longer lists help there, and cost time.
_TREES, _LEAF = 10, 128
_MORE, _SHORTEST = 10, 30  # neighbors that are searched beyond those that are returned, and of each point at least
_BACK = 20  # points of which a point is a neighbor that a round looks at
_MOST = 60  # neighbors of a point that a round looks at
_ROUNDS, _SETTLED = 12, 1e-3  # most rounds; fraction of the neighbors that the last one changes
_ALONE = 4  # levels of a tree that are split node by node
_DIRECTIONS = 16  # random directions along which the first tree splits
_ROWS = 2048  # rows of a task
_LISTED = 1 << 16  # rows whose lists a task writes: it reads all edges
_PADDED = 16  # columns are filled with zeros up to a multiple of the width of a vector
_SAMPLE, _STRETCH, _BLOCK = 300, 512, 1 << 14  # rows on which the recall is measured; points compared at a time
_LOW = 0.9  # recall below which there is a warning
_TOO_SLOW = 2.6e13  # n² (d + 110): five minutes of exact search on one core
_COMPARED = 30  # comparing two values costs as much as so many products


def is_too_slow(n: int, d: int, space: MetricSpace) -> bool:
    """Whether exact search would take minutes."""
    return float(n) * n * (d + 110 if space.p == 2 else _COMPARED * d) > _TOO_SLOW


def require_approximate(metric: Any, space: MetricSpace | None) -> MetricSpace:
    """Return the space of a metric; raise an error if it has none."""
    if space is None:
        name = "this metric" if callable(metric) else f"the metric {metric!r}"
        raise ParameterError(
            f"The approximate search does not support {name}. Choose 'euclidean', 'cosine', 'correlation', "
            "'manhattan', 'chebyshev' or 'minkowski', or an exact search."
        )
    return space


def approximate_neighbors(X: Array, k: int, space: MetricSpace, run: Run) -> Found:
    """Return the k nearest points found for every row and their distances, (n, k), nearest first.

    The same on any number of threads. Up to about a hundred rows all pairs are compared, so the search is exact.
    """
    rows = to_numpy(X)
    found = PointLists.of(rows, k, space, run)
    found.compare_in_trees(run)
    found.compare_in_rounds(run)
    nearest = found.measured(rows, k, space, run)
    release(rows)
    return nearest


@dataclass(frozen=True)
class Framing:
    """A center and a scale for single precision: squares do not overflow, and differences keep their digits."""

    space: MetricSpace
    center: np.ndarray  # (d,)
    size: float

    @classmethod
    def of(cls, X: np.ndarray, space: MetricSpace, run: Run) -> Framing:
        """The mean of the points, and the largest distance from it along a column."""

        def read(block: slice) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
            P = space.points(X[block])
            return P.min(axis=0), P.max(axis=0), P.sum(axis=0, dtype=np.float64)

        parts = run.each("measuring columns", slices(len(X), _ROWS), read)
        lowest, highest, total = (np.array(each) for each in zip(*parts, strict=True))
        center = total.sum(axis=0) / len(X)
        size = float(max(np.max(highest - center), np.max(center - lowest)))
        return cls(space, center, size or 1.0)

    def of_rows(self, X: np.ndarray) -> np.ndarray:
        """Return rows as points of the frame, float32."""
        return ((self.space.points(X) - self.center) / self.size).astype(np.float32)

    def shadows(self, X: np.ndarray, run: Run) -> np.ndarray:
        """Return the products of all points with random directions, which fit in memory, (n, 16)."""
        across = np.random.default_rng(0).standard_normal((len(self.center), _DIRECTIONS)).astype(np.float32)
        S = np.empty((len(X), _DIRECTIONS), dtype=np.float32)

        def project(block: slice) -> None:
            S[block] = self.of_rows(X[block]) @ across

        run.each("projecting points", slices(len(X), _ROWS), project)
        return S

    def points(self, X: np.ndarray, order: np.ndarray, run: Run) -> np.ndarray:
        """Return all points in an order, with columns of zeros up to a multiple of 16."""
        d = len(self.center)
        A = run.scratch((len(X), d + -d % _PADDED), np.float32)

        def place(block: slice) -> None:
            A[block, :d], A[block, d:] = self.of_rows(X[order[block]]), 0

        run.each("ordering points", slices(len(X), _ROWS), place)
        return A


@dataclass(frozen=True)
class PointLists:
    """The nearest points found so far, in the order of a tree."""

    A: np.ndarray  # (n, c) float32: the points, centered, scaled, filled with columns of zeros
    order: np.ndarray  # (n,) their rows in the table
    p: float
    depth: int  # of a tree
    values: np.ndarray = field(init=False)  # (n, L) float32 powers of the distances of the points found, nearest first
    indices: np.ndarray = field(init=False)  # (n, L) int32
    fresh: np.ndarray = field(init=False)  # (n, L) uint8

    @classmethod
    def of(cls, X: np.ndarray, k: int, space: MetricSpace, run: Run) -> PointLists:
        """Order the points along a tree; each list has room for some more points than k."""

        n = len(X)
        length = min(max(k + _MORE, _SHORTEST), n - 1)
        depth = max(0, math.ceil(math.log2(n / max(_LEAF, 2 * length + 2))))
        frame = Framing.of(X, space, run)
        order = _trees(frame.shadows(X, run), 1, depth, 0, run)[0]
        found = cls(frame.points(X, order, run), order, space.p, depth)
        for name, dtype, value in (("values", np.float32, np.inf), ("indices", np.int32, -1), ("fresh", np.uint8, 0)):
            table = run.scratch((n, length), dtype)
            table[:] = value
            object.__setattr__(found, name, table)
        return found

    @property
    def n(self) -> int:
        """The number of points."""
        return len(self.order)

    def compare_in_trees(self, run: Run) -> None:
        """Compare the points in each leaf of several trees; the first one is that of the order."""
        from lowland.kernels import neighbor_descent

        own, leaves = np.arange(self.n, dtype=np.int32), slices(1 << self.depth, max(1, _ROWS // _LEAF))
        for order in [own, *_trees(self.A, _TREES, self.depth, 1, run)]:

            def compare(block: slice, order: np.ndarray = order) -> None:
                neighbor_descent.compare_in_leaves(
                    self.A, order, self.p, self.depth, block.start, block.stop, self.values, self.indices, self.fresh
                )

            run.each("comparing points in leaves", leaves, compare)

    def compare_in_rounds(self, run: Run) -> None:
        """Compare each point with the neighbors of its neighbors, until almost nothing changes."""
        from lowland.kernels import neighbor_descent

        n, length = self.indices.shape
        lists = run.scratch((n, min(length, _MOST) + _BACK), np.int32)
        if self.depth == 0:  # all pairs were compared
            return
        for number in range(_ROUNDS):

            def write(block: slice, seed: int = number) -> None:
                neighbor_descent.write_lists(self.indices, self.fresh, seed, block.start, block.stop, _BACK, lists)

            def compare(block: slice) -> int:
                return neighbor_descent.compare_in_lists(
                    self.A, self.p, lists, block.start, block.stop, self.values, self.indices, self.fresh
                )

            run.each("listing neighbors", slices(n, max(_LISTED, -(-n // 32))), write)
            if sum(run.each("searching neighbors", slices(n, _ROWS), compare)) <= _SETTLED * n * length:
                return

    def measured(self, X: np.ndarray, k: int, space: MetricSpace, run: Run) -> Found:
        """Return the k nearest points found, numbered as the rows of the table, with their exact distances."""
        from lowland.kernels import neighbor_search

        indices = run.scratch((self.n, k), np.int32)
        lengths = run.scratch((self.n, k), X.dtype if X.dtype == np.float32 else np.float64)

        def measure(block: slice) -> None:
            rows = self.order[block]
            places, found = np.unique(self.order[self.indices[block]], return_inverse=True)
            found = found.reshape(len(rows), -1)
            powers = np.empty(found.shape)
            neighbor_search.measure_candidates(space.points(X[rows]), space.points(X[places]), self.p, found, powers)
            indices[rows], lengths[rows] = places[found[:, :k]], space.lengths(powers[:, :k])

        run.each("computing candidate distances", slices(self.n, _ROWS), measure)
        return indices, lengths


def _trees(A: np.ndarray, count: int, depth: int, seed: int, run: Run) -> list[np.ndarray]:
    """The points in the order of the leaves of some trees, (n,) each."""
    from lowland.kernels import neighbor_descent

    orders = [np.arange(len(A), dtype=np.int32) for _ in range(count)]

    def split(task: tuple[int, int, int, int]) -> None:
        tree, level, node, to = task
        neighbor_descent.split(A, orders[tree], seed + tree, level, node, to)

    for level in range(min(_ALONE + 1, depth)):
        to = depth if level == _ALONE else level + 1
        run.each("splitting points", [(t, level, node, to) for node in range(1 << level) for t in range(count)], split)
    return orders


# --- recall -----------------------------------------------------------------------------------------------------------


def measure_recall(
    X: Array, lengths: np.ndarray, space: MetricSpace, run: Run, rng: np.random.Generator
) -> tuple[float, tuple[float, float]]:
    """Return the fraction of the true neighbors that were found on sampled rows, and its interval; warn if it is low.

    Any of several points at the same distance counts.
    """
    n, k = lengths.shape
    rows = np.sort(rng.choice(n, min(n, _SAMPLE), replace=False))
    farthest = _distances_of_neighbor(to_numpy(X), rows, k, space, run)
    of_rows = np.mean(lengths[rows] <= farthest.astype(lengths.dtype)[:, None], axis=1)
    recall = float(of_rows.mean())
    if recall < _LOW:
        warn(
            f"The approximate search found only {recall:.0%} of the true neighbors of {len(rows)} sampled rows. Use "
            "an exact search, or reduce the number of columns first.",
            DataWarning,
        )
    if len(rows) == n:
        return recall, (recall, recall)
    low, high = confidence_interval(recall, of_rows.std(ddof=1), len(rows), n, ends=(0.0, 1.0))
    return recall, (float(low), float(high))


def _distances_of_neighbor(X: np.ndarray, rows: np.ndarray, k: int, space: MetricSpace, run: Run) -> np.ndarray:
    """The distance of neighbor number k of some rows, (m,), by comparing them with all others, a block at a time."""
    from lowland.kernels import neighbor_search

    Q = np.asarray(space.points(X[rows]), dtype=np.float64)

    def compare(block: slice) -> np.ndarray:
        powers, indices = np.full((len(Q), k), np.inf), np.full((len(Q), k), len(X), dtype=np.int32)
        for part in slices(block.stop - block.start, _STRETCH):
            places = np.arange(block.start + part.start, block.start + part.stop)
            T = np.ascontiguousarray(space.points(X[places[0] : places[-1] + 1]).T, dtype=np.float64)
            D = np.empty((len(Q), len(places)))
            neighbor_search.distances_by_columns(Q, T, space.p, D)
            neighbor_search.keep_smallest(D, np.zeros(len(places)), places[0], rows, places, powers, indices)
        return powers

    found = np.concatenate(run.each("measuring the recall", slices(len(X), _BLOCK), compare), axis=1)
    return space.lengths(np.partition(found, k - 1, axis=1)[:, k - 1])

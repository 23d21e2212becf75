"""Exact nearest-neighbor search by comparing all pairs: any metric, given distances, matrix products, sparse rows.

Products, |a|² + |b|² - 2a'b in single precision, lose digits by cancellation. So they only propose candidates, whose
distances are computed from differences in float64. A row is done if its farthest neighbor is nearer than any point that
was not proposed can be; others are searched again in double precision, and remaining near ties pair by pair.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse

from lowland.arrays.linalg import work_space
from lowland.arrays.namespace import Array, slices, to_numpy
from lowland.math.distances.incomplete_rows import SharedColumns
from lowland.math.distances.metrics import Metric, allows_nan
from lowland.math.distances.sparse_rows import csr, squared_differences, unit
from lowland.math.distances.to_points import DistancesTo
from lowland.math.neighbors.searcher import Edges, Found, MetricSpace, Searcher, join_edges, sort_edges, stack_blocks
from lowland.run.run import Run, serial_run

_STRETCH = 512  # points compared at a time, so that their columns stay in the cache
_PAIRS = 1 << 21  # distances that a thread holds at a time
_TILE = 1024  # rows and columns of a product
_ROWS = 512  # rows measured at a time
_SPARSE_PAIRS = 1 << 20  # distances of sparse rows that a thread holds at a time
_ROUNDING = 1e-8  # relative error of squared distances from products, where these are not computed from differences


# --- any metric -------------------------------------------------------------------------------------------------------


def serial_if_function(run: Run, metric: Metric) -> Run:
    """The run; with one thread if the metric is a user's function."""
    return Run(replace(run.settings, threads=1)) if callable(metric) else run


@dataclass(frozen=True)
class BruteForce(Searcher):
    """Compares all pairs, block by block."""

    X: Array  # (n, d), or (n, n) distances
    metric: Metric
    params: dict[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """How the neighbors were found."""
        return "given distances" if self.metric == "precomputed" else "comparisons"

    @cached_property
    def _space(self) -> MetricSpace | None:
        return MetricSpace.of(self.metric, self.params)

    @cached_property
    def _shared(self) -> SharedColumns | None:
        """The comparison of incomplete rows, if the metric skips missing values."""
        return SharedColumns.of(to_numpy(self.X), str(self.metric), self.params) if allows_nan(self.metric) else None

    @cached_property
    def _points(self) -> np.ndarray:
        if self._shared is not None:
            return self._shared.points
        return self._coded(self.X)

    def _coded(self, X: Array) -> Any:
        """Rows in the form in which they are compared."""
        host = to_numpy(X)
        if self._shared is not None:
            return self._shared.coded(host)
        return host if self._space is None else self._space.points(host)

    @cached_property
    def _distances(self) -> DistancesTo:
        return DistancesTo.of(self._points, self.metric, self.params)

    def _lengths(self, powers: np.ndarray) -> np.ndarray:
        return powers if self._space is None else self._space.lengths(powers)

    def _measured(self, Q: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
        """Distances of rows to blocks of the points: the first index of each block, and (m, b) distances."""
        from lowland.kernels import neighbor_search

        n = self._points.shape[0]
        if self.metric == "precomputed":
            yield 0, Q
        elif self._shared is not None:
            for start in range(0, n, _STRETCH):
                D = self._shared.distances(Q, self._shared.points[start : start + _STRETCH])
                D[np.isnan(D)] = np.inf  # rows that share no column are no neighbors
                yield start, D
        elif self._space is None:
            yield 0, np.ascontiguousarray(to_numpy(self._distances(Q.astype(np.float64))))
        else:
            for start in range(0, n, _STRETCH):
                P = self._points[start : start + _STRETCH]
                out = np.empty((len(Q), len(P)))
                T = np.ascontiguousarray(P.T, dtype=np.float64)  # float32 would overflow
                neighbor_search.distances_by_columns(Q.astype(np.float64, copy=False), T, self._space.p, out)
                yield start, out

    def _step(self) -> int:
        return _STRETCH if self._space or self._shared else max(1, _PAIRS // max(1, self._points.shape[0]))

    def nearest(self, k: int, run: Run, *, rows: np.ndarray | None = None, labels: np.ndarray | None = None) -> Found:
        """Return the k nearest points with another label, for all points or for those at ``rows``."""
        rows = np.arange(self._points.shape[0]) if rows is None else rows
        labels = np.arange(self._points.shape[0]) if labels is None else labels.astype(np.int64)

        def look_up(block: slice) -> Found:
            here = rows[block]
            return self._smallest(self._points[here], k, labels[here], labels)

        run, blocks = serial_if_function(run, self.metric), slices(len(rows), self._step())
        return stack_blocks(run.each("searching neighbors", blocks, look_up), k)

    def nearest_to(self, X: Array, k: int) -> Found:
        """Return the k nearest points of new rows; with given distances, X holds the distances."""
        Q = self._coded(X)
        labels = np.arange(Q.shape[1] if self.metric == "precomputed" else self._points.shape[0])
        none = np.full(Q.shape[0], -1)
        return stack_blocks([self._smallest(Q[b], k, none[b], labels) for b in slices(Q.shape[0], self._step())], k)

    def _smallest(self, Q: Any, k: int, own: np.ndarray, labels: np.ndarray) -> Found:
        """The k nearest points of a block of rows, but those of its own label."""
        from lowland.kernels import neighbor_search

        Q = np.ascontiguousarray(Q)
        values, indices = np.full((len(Q), k), np.inf), np.full((len(Q), k), len(labels), dtype=np.int32)
        for start, D in self._measured(Q):
            nothing = np.zeros(D.shape[1], dtype=D.dtype)
            neighbor_search.keep_smallest(D, nothing, start, own, labels[start : start + D.shape[1]], values, indices)
        neighbor_search.sort_heaps(values, indices)
        indices[values == np.inf] = -1
        return indices, self._lengths(values)

    def within(self, radius: float, run: Run) -> Edges:
        """Return all points within ``radius`` of every point, nearest first."""
        n = self._points.shape[0]
        reach = radius if self._space is None else self._space.reach(radius)

        def look_up(block: slice) -> Edges:
            Q = np.ascontiguousarray(self._points[block])
            parts = []
            for start, D in self._measured(Q):
                i, j = np.nonzero(reach >= D)
                parts.append((i, j + start, D[i, j].astype(np.float64)))
            i, j, values = (np.concatenate(each) for each in zip(*parts, strict=True))
            return sort_edges(i, j, values, block)

        return join_edges(serial_if_function(run, self.metric), n, self._step(), look_up, self._lengths)


# --- matrix products --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Products(Searcher):
    """Points compared by products of blocks: for many columns."""

    X: Array  # (n, d) as passed
    space: MetricSpace
    name: str = "products"

    @cached_property
    def _points(self) -> np.ndarray:
        return self.space.points(to_numpy(self.X))

    @cached_property
    def _frame(self) -> tuple[np.ndarray, float, np.ndarray]:
        """A center, (d,), a scale, and the columns that are not constant, (r,).

        After centering and scaling, squares do not overflow and lose no digits to a common offset. A constant column,
        such as the border of images, is zero after centering and adds nothing to any product.
        """
        P = self._points
        lowest, highest = P.min(axis=0), P.max(axis=0)
        center = np.where(lowest == highest, lowest, P.mean(axis=0, dtype=np.float64))
        far = max(float(np.abs(end - center).max()) for end in (lowest, highest))
        differ = np.flatnonzero(lowest != highest)
        return center, far or 1.0, differ if len(differ) else np.arange(len(center))

    def _framed(self, P: np.ndarray, dtype: type) -> tuple[np.ndarray, np.ndarray]:
        """Centered and scaled points, (m, r), and their squared norms in float64.

        The norms are those of all columns: new rows may differ in columns that are constant in the points.
        """
        center, size, differ = self._frame
        A: np.ndarray = np.empty((len(P), len(differ)), dtype=dtype)
        squares = np.empty(len(P))
        all_differ = len(differ) == len(center)
        for block in slices(len(P), _ROWS):
            near = ((P[block] - center) / size).astype(dtype, copy=False)
            A[block] = near if all_differ else near[:, differ]
            wide = near.astype(np.float64, copy=False)
            squares[block] = np.einsum("ij,ij->i", wide, wide)
        return A, squares

    @cached_property
    def single(self) -> tuple[np.ndarray, np.ndarray]:
        """The points as products in float32 take them, and their squared norms."""
        return self._framed(self._points, np.float32)

    @cached_property
    def double(self) -> tuple[np.ndarray, np.ndarray]:
        """The same in float64."""
        return self._framed(self._points, np.float64)

    def nearest(self, k: int, run: Run, *, rows: np.ndarray | None = None, labels: np.ndarray | None = None) -> Found:
        """Return the k nearest points with another label, for all points or for those at ``rows``."""
        n = self._points.shape[0]
        labels = np.arange(n) if labels is None else labels.astype(np.int64)
        if rows is None:
            return self._searched(self._points, k, labels, labels, run, own_points=True)
        return self._searched(np.ascontiguousarray(self._points[rows]), k, labels[rows], labels, run)

    def nearest_to(self, X: Array, k: int) -> Found:
        """Return the k nearest points of new rows."""
        Q = self.space.points(to_numpy(X))
        return self._searched(Q, k, np.full(len(Q), -1), np.arange(self._points.shape[0]), serial_run())

    def _searched(
        self, Q: np.ndarray, k: int, own: np.ndarray, labels: np.ndarray, run: Run, *, own_points: bool = False
    ) -> Found:
        """Search in single precision, then in double precision, then pair by pair, each for the rows not yet done."""
        indices, powers = np.empty((len(Q), k), dtype=np.int32), np.empty((len(Q), k))
        open_rows = np.arange(len(Q))
        far, (center, size, _) = 1.0, self._frame
        if len(Q) and not own_points:
            far = max(float(np.abs(end - center).max()) for end in (Q.max(axis=0), Q.min(axis=0))) / size
        for dtype, most in ((np.float32, 1e15), (np.float64, 1e150)):
            if far > most:  # its square would overflow
                continue
            whole = own_points and len(open_rows) == len(Q)
            P, mine = (Q, own) if len(open_rows) == len(Q) else (np.ascontiguousarray(Q[open_rows]), own[open_rows])
            found, values, sure = self._proposed(P, k, mine, labels, dtype, run, whole)
            indices[open_rows], powers[open_rows] = found, values
            open_rows = open_rows[~sure]
            if not len(open_rows):
                return indices, self.space.lengths(powers)
        compare = BruteForce(self._points, "sqeuclidean")

        def look_up(block: slice) -> Found:
            here = open_rows[block]
            return compare._smallest(Q[here], k, own[here], labels)

        parts = run.each("resolving near ties", slices(len(open_rows), compare._step()), look_up)
        indices[open_rows], powers[open_rows] = stack_blocks(parts, k)
        return indices, self.space.lengths(powers)

    def _proposed(
        self, Q: np.ndarray, k: int, own: np.ndarray, labels: np.ndarray, dtype: type, run: Run, whole: bool
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The k nearest candidates of each row, and the rows for which no nearer point can have been missed.

        Candidates have the smallest |b|² - 2a'b. If the rows are the points, each product of two blocks serves the rows
        and the columns. The order in which threads finish blocks does not change the result.
        """
        from lowland.kernels import neighbor_search

        B, b2 = self.single if dtype == np.float32 else self.double
        A, a2 = (B, b2) if whole else self._framed(Q, dtype)
        shape = len(Q), candidates(k, len(B))
        add: np.ndarray = b2.astype(dtype)
        values: np.ndarray = np.full(shape, np.inf, dtype=dtype)
        indices = np.full(shape, len(B), dtype=np.int32)
        stretches = slices(len(B), _TILE)
        locks = [threading.Lock() for _ in stretches]

        def compare_rows(rows: slice) -> None:
            twice = -2 * A[rows]
            for columns in stretches:
                V = np.matmul(twice, B[columns].T, out=work_space(len(twice), len(B[columns]), dtype))
                neighbor_search.keep_smallest(
                    V, add[columns], columns.start, own[rows], labels[columns], values[rows], indices[rows]
                )

        def compare_blocks(pair: tuple[int, int]) -> None:
            rows, columns = (stretches[i] for i in pair)
            V = np.matmul(-2 * B[rows], B[columns].T, out=work_space(len(B[rows]), len(B[columns]), dtype))
            with locks[pair[0]]:
                neighbor_search.keep_smallest(
                    V, add[columns], columns.start, labels[rows], labels[columns], values[rows], indices[rows]
                )
            if pair[0] != pair[1]:
                with locks[pair[1]]:
                    neighbor_search.keep_smallest_of_columns(
                        V, add[rows], rows.start, labels[columns], labels[rows], values[columns], indices[columns]
                    )

        if whole:
            pairs = list(itertools.combinations_with_replacement(range(len(stretches)), 2))
            pairs.sort(key=lambda pair: sum(pair) % len(stretches))  # pairs that run together share no lock
            run.each("searching neighbors", pairs, compare_blocks)
        else:
            run.each("searching neighbors", slices(len(A), _TILE), compare_rows)
        return self.confirm(Q, k, a2, values, indices, run)

    def confirm(
        self, Q: np.ndarray, k: int, a2: np.ndarray, values: np.ndarray, indices: np.ndarray, run: Run
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Compute the distances of the candidates in heaps; ``a2`` are the squared norms of their rows."""
        from lowland.kernels import neighbor_search

        farthest = values[:, 0].astype(np.float64) + a2  # the top of a heap is its largest: no other point is nearer
        powers = np.empty(values.shape)

        def measure(block: slice) -> None:
            neighbor_search.measure_candidates(Q[block], self._points, 2.0, indices[block], powers[block])

        run.each("computing candidate distances", slices(len(Q), _ROWS), measure)
        _, size, differ = self._frame
        kth = powers[:, k - 1] / size / size
        return indices[:, :k], powers[:, :k], farthest - rounding(a2, kth, len(differ), values.dtype.type) > kth

    def within(self, radius: float, run: Run) -> Edges:
        """Products propose candidates; distances computed from differences decide."""
        from lowland.kernels import neighbor_search

        B, b2 = self.single
        n, d = B.shape
        reach = self.space.reach(radius)
        scaled = reach / self._frame[1] / self._frame[1]
        limit = scaled + rounding(b2, scaled, d, np.float32) - b2  # (n,)
        limit = np.nextafter(limit.astype(np.float32), np.float32(np.inf))

        def look_up(block: slice) -> Edges:
            A = -2 * B[block]
            parts = []
            for columns in slices(n, 4 * _TILE):
                V = A @ B[columns].T
                V += b2[columns].astype(np.float32)
                i, j = np.nonzero(limit[block][:, None] >= V)
                parts.append((i, j + columns.start))
            i, j = (np.concatenate(each) for each in zip(*parts, strict=True))
            powers = np.empty(len(i))
            neighbor_search.measure_table(self._points[block], i, self._points, j[:, None], 2.0, powers[:, None])
            inside = powers <= reach
            return sort_edges(i[inside], j[inside], powers[inside], block)

        return join_edges(run, n, _TILE // 4, look_up, self.space.lengths)


def candidates(k: int, n: int) -> int:
    """The number of candidates, of n points, for k neighbors."""
    return min(n, k + max(8, k // 2))


def rounding(a2: np.ndarray, reach: np.ndarray | float, d: int, dtype: type) -> np.ndarray:
    """A bound on the rounding error of |a|² + |b|² - 2a'b, for points b within ``reach`` of a (all squared).

    A sum of d products has an error of at most d roundings of |a||b|, and |b| <= |a| + reach.
    """
    return (d + 8) * float(np.finfo(dtype).eps) * (2 * np.sqrt(a2) + np.sqrt(reach)) ** 2


# --- sparse rows ------------------------------------------------------------------------------------------------------


class SparseSearch(BruteForce):
    """Compares all pairs of sparse rows, a block of rows at a time."""

    @property
    def name(self) -> str:
        """How the neighbors were found."""
        return "comparisons" if self._space is None else "sparse products"

    @cached_property
    def _space(self) -> MetricSpace | None:
        """The space of a metric whose order is that of squared differences; None for other metrics."""
        space = MetricSpace.of(self.metric, self.params)
        return space if space is not None and space.p == 2 and space.metric != "correlation" else None

    def _coded(self, X: Any) -> Any:
        """The rows, also dense ones, as CSR in float64. For angles: unit vectors; zeros are orthogonal to all."""
        A = csr(X)
        if self._space is None or self._space.metric not in ("cosine", "angular"):
            return A
        A = unit(A)
        zero = scipy.sparse.csr_array(np.asarray(A.multiply(A).sum(axis=1) == 0, dtype=np.float64).reshape(-1, 1))
        return scipy.sparse.hstack([A, zero], format="csr")

    @cached_property
    def _points(self) -> Any:
        return self._coded(self.X)

    @cached_property
    def _measure(self) -> DistancesTo:
        """The distances to all points; squared, if differences decide."""
        if self._space is None:
            return DistancesTo.of(self._points, self.metric, self.params)
        return DistancesTo(self._points, "sqeuclidean")

    def _step(self) -> int:
        return max(1, _SPARSE_PAIRS // max(1, self._points.shape[0]))

    def _smallest(self, Q: Any, k: int, own: np.ndarray, labels: np.ndarray) -> Found:
        """The k nearest points of a block of rows: the nearest of some candidates, compared by differences."""
        from lowland.kernels import neighbor_search

        K = k if self._space is None else candidates(k, len(labels))
        values, indices = np.full((Q.shape[0], K), np.inf), np.full((Q.shape[0], K), len(labels), dtype=np.int32)
        D = np.ascontiguousarray(self._measure(Q))
        neighbor_search.keep_smallest(D, np.zeros(D.shape[1]), 0, own, labels, values, indices)
        neighbor_search.sort_heaps(values, indices)
        found = np.isfinite(values)
        if self._space is not None:
            i, place = np.nonzero(found)
            values[found] = squared_differences(Q, self._points, i, indices[i, place])
            order = np.lexsort((indices, values), axis=1)[:, :k]
            values, indices = np.take_along_axis(values, order, axis=1), np.take_along_axis(indices, order, axis=1)
        indices[values == np.inf] = -1
        return indices, self._lengths(values)

    def within(self, radius: float, run: Run) -> Edges:
        """Return all points within ``radius`` of every point, nearest first."""
        n = self._points.shape[0]
        reach = radius if self._space is None else self._space.reach(radius)
        near = reach if self._space is None else reach * (1 + _ROUNDING)

        def look_up(block: slice) -> Edges:
            Q = self._points[block]
            D = self._measure(Q)
            i, j = np.nonzero(near >= D)
            values = D[i, j] if self._space is None else squared_differences(Q, self._points, i, j)
            inside = values <= reach
            return sort_edges(i[inside], j[inside], values[inside], block)

        return join_edges(serial_if_function(run, self.metric), n, self._step(), look_up, self._lengths)

"""Exact nearest neighbors of sparse rows: the table is never made dense.

Blocks of rows are compared with all points by sparse products, |a|² + |b|² - 2a'b. Products lose digits by
cancellation, so they only propose candidates, whose distances are then computed from sparse differences. Metrics
without products are computed from a few dense rows at a time.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse

from lowland.arrays.slices import slices
from lowland.math.distances.metrics import Metric
from lowland.math.distances.sparse_rows import csr, squared_differences, unit
from lowland.math.distances.to_points import DistancesTo
from lowland.math.neighbors.matrix_products import candidates
from lowland.math.neighbors.metric_space import MetricSpace
from lowland.math.neighbors.searcher import Edges, Found, Searcher, joined_edges, sorted_edges, stacked
from lowland.run.local import LocalRun, serial_run
from lowland.run.run import Run

_PAIRS = 1 << 20  # distances that a thread holds at a time


@dataclass(frozen=True)
class SparseSearch(Searcher):
    """Compares all pairs of sparse rows, a block of rows at a time."""

    X: Any  # (n, d) sparse, as passed
    metric: Metric
    params: dict[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """How the neighbors were found."""
        return "comparisons" if self._space is None else "sparse products"

    @cached_property
    def _space(self) -> MetricSpace | None:
        """The space of a metric whose order is that of squared differences; None for other metrics."""
        space = MetricSpace.of(self.metric, self.params)
        return space if space is not None and space.p == 2 and space.metric != "correlation" else None

    def _in_space(self, X: Any) -> Any:
        """The rows, as CSR in float64. For cosine: unit vectors; a row of zeros is orthogonal to all others."""
        A = csr(X)
        if self._space is None or self._space.metric != "cosine":
            return A
        A = unit(A)
        zero = scipy.sparse.csr_array(np.asarray(A.multiply(A).sum(axis=1) == 0, dtype=np.float64).reshape(-1, 1))
        return scipy.sparse.hstack([A, zero], format="csr")

    @cached_property
    def _points(self) -> Any:
        return self._in_space(self.X)

    @cached_property
    def _measure(self) -> DistancesTo:
        """The distances to all points; squared, if differences decide."""
        if self._space is None:
            return DistancesTo.of(self._points, self.metric, self.params)
        return DistancesTo(self._points, "sqeuclidean")

    def _lengths(self, powers: np.ndarray) -> np.ndarray:
        return powers if self._space is None else self._space.lengths(powers)

    def _step(self) -> int:
        return max(1, _PAIRS // max(1, self._points.shape[0]))

    def _threads(self, run: Run) -> Run:
        """The run; with one thread if the metric is a user's function."""
        return LocalRun(replace(run.settings, threads=1)) if callable(self.metric) else run

    def nearest(self, k: int, run: Run, *, rows: np.ndarray | None = None, labels: np.ndarray | None = None) -> Found:
        """Return the k nearest points with another label, for all points or for those at ``rows``."""
        n = self._points.shape[0]
        labels = np.arange(n) if labels is None else labels.astype(np.int64)
        rows = np.arange(n) if rows is None else rows
        return self._searched(self._points[rows], k, labels[rows], labels, run)

    def nearest_to(self, X: Any, k: int) -> Found:
        """Return the k nearest points of new rows, sparse or dense."""
        Q, n = self._in_space(X), self._points.shape[0]
        return self._searched(Q, k, np.full(Q.shape[0], -1), np.arange(n), serial_run())

    def _searched(self, Q: Any, k: int, own: np.ndarray, labels: np.ndarray, run: Run) -> Found:
        def look_up(block: slice) -> Found:
            return self._smallest(Q[block], k, own[block], labels)

        return stacked(self._threads(run).each("searching neighbors", slices(Q.shape[0], self._step()), look_up), k)

    def _smallest(self, Q: Any, k: int, own: np.ndarray, labels: np.ndarray) -> Found:
        """The k nearest points of a block of rows: the nearest of some candidates, compared by differences."""
        from lowland.kernels import heaps

        K = k if self._space is None else candidates(k, len(labels))
        values, indices = np.full((Q.shape[0], K), np.inf), np.full((Q.shape[0], K), len(labels), dtype=np.int32)
        D = np.ascontiguousarray(self._measure(Q))
        heaps.keep_smallest(D, np.zeros(D.shape[1]), 0, own, labels, values, indices)
        heaps.sort_heaps(values, indices)
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
            return sorted_edges(i[inside], j[inside], values[inside], block)

        return joined_edges(self._threads(run), n, self._step(), look_up, self._lengths)


_ROUNDING = 1e-8  # relative error of squared distances from products, where these are not computed from differences

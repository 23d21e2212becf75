"""Exact nearest-neighbor search by comparing all pairs: any metric, and given distances."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from lowland.arrays.namespace import Array, to_numpy
from lowland.arrays.slices import slices
from lowland.math.distances.incomplete_rows import SharedColumns
from lowland.math.distances.metrics import Metric, allows_nan
from lowland.math.distances.to_points import DistancesTo
from lowland.math.neighbors.metric_space import MetricSpace
from lowland.math.neighbors.searcher import Edges, Found, Searcher, joined_edges, sorted_edges, stacked
from lowland.run.local import LocalRun
from lowland.run.run import Run

_STRETCH = 512  # points compared at a time, so that their columns stay in the cache
_PAIRS = 1 << 21  # distances that a thread holds at a time


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
        return self._coded(self.X if isinstance(self.X, np.ndarray) else to_numpy(self.X))

    def _coded(self, X: np.ndarray) -> np.ndarray:
        """Rows in the form in which they are compared."""
        if self._shared is not None:
            return self._shared.coded(X)
        return X if self._space is None else self._space.points(X)

    @cached_property
    def _distances(self) -> DistancesTo:
        return DistancesTo.of(self._points, self.metric, self.params)

    def _lengths(self, powers: np.ndarray) -> np.ndarray:
        return powers if self._space is None else self._space.lengths(powers)

    def _measured(self, Q: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
        """Distances of rows to blocks of the points: the first index of each block, and (m, b) distances."""
        from lowland.kernels import pair_distances

        n = self._points.shape[0]
        if self.metric == "precomputed":
            yield 0, Q
        elif self._shared is not None:
            for start in range(0, n, _STRETCH):
                D = self._shared.distances(Q, start, min(start + _STRETCH, n))
                D[np.isnan(D)] = np.inf  # rows that share no column are no neighbors
                yield start, D
        elif self._space is None:
            yield 0, np.ascontiguousarray(to_numpy(self._distances(Q.astype(np.float64))))
        else:
            for start in range(0, n, _STRETCH):
                P = self._points[start : start + _STRETCH]
                out = np.empty((len(Q), len(P)))
                T = np.ascontiguousarray(P.T, dtype=np.float64)  # float32 would overflow
                pair_distances.distances_by_columns(Q.astype(np.float64, copy=False), T, self._space.p, out)
                yield start, out

    def _step(self) -> int:
        return _STRETCH if self._space or self._shared else max(1, _PAIRS // max(1, self._points.shape[0]))

    def _threads(self, run: Run) -> Run:
        """The run; with one thread if the metric is a user's function."""
        return LocalRun(replace(run.settings, threads=1)) if callable(self.metric) else run

    def nearest(self, k: int, run: Run, *, rows: np.ndarray | None = None, labels: np.ndarray | None = None) -> Found:
        """Return the k nearest points with another label, for all points or for those at ``rows``."""
        rows = np.arange(self._points.shape[0]) if rows is None else rows
        labels = np.arange(self._points.shape[0]) if labels is None else labels.astype(np.int64)

        def look_up(block: slice) -> Found:
            here = rows[block]
            return self._smallest(np.ascontiguousarray(self._points[here]), k, labels[here], labels)

        return stacked(self._threads(run).each("searching neighbors", slices(len(rows), self._step()), look_up), k)

    def nearest_to(self, X: Array, k: int) -> Found:
        """Return the k nearest points of new rows; with given distances, X holds the distances."""
        Q = self._coded(to_numpy(X))
        n = Q.shape[1] if self.metric == "precomputed" else self._points.shape[0]
        labels = np.arange(n)
        none = np.full(len(Q), -1)
        return stacked(
            [self._smallest(np.ascontiguousarray(Q[b]), k, none[b], labels) for b in slices(len(Q), self._step())], k
        )

    def _smallest(self, Q: np.ndarray, k: int, own: np.ndarray, labels: np.ndarray) -> Found:
        from lowland.kernels import heaps

        values, indices = np.full((len(Q), k), np.inf), np.full((len(Q), k), len(labels), dtype=np.int32)
        for start, D in self._measured(Q):
            nothing = np.zeros(D.shape[1], dtype=D.dtype)
            heaps.keep_smallest(D, nothing, start, own, labels[start : start + D.shape[1]], values, indices)
        heaps.sort_heaps(values, indices)
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
            return sorted_edges(i, j, values, block)

        return joined_edges(self._threads(run), n, self._step(), look_up, self._lengths)

"""Exact nearest-neighbor search on a torch device, a block of rows against all points at a time."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from lowland.arrays.namespace import Array, as_double, device_of, like, slices, to_numpy, xp_of
from lowland.math.distances.metrics import Metric
from lowland.math.distances.to_points import DistancesTo
from lowland.math.neighbors.brute_force import rounding
from lowland.math.neighbors.searcher import Edges, Found, MetricSpace, Searcher, join_edges, sort_edges, stack_blocks
from lowland.run.local import serial_run
from lowland.run.run import Run

_PAIRS = 1 << 27  # distances held at a time: half a GiB in single precision
_MEASURED = 1 << 25  # numbers in a block of differences


@dataclass(frozen=True)
class TorchSearch(Searcher):
    """Points compared on their device: candidates by products and ``topk``, then exact distances, as on the host."""

    X: Array  # (n, d), or (n, n) distances
    metric: Metric = "euclidean"
    params: dict[str, Any] = field(default_factory=dict)
    name: str = "products"

    @cached_property
    def _space(self) -> MetricSpace | None:
        return MetricSpace.of(self.metric, self.params)

    @cached_property
    def _points(self) -> Array:
        return self.X if self._space is None else self._space.points(self.X)

    @cached_property
    def _distances(self) -> DistancesTo:
        return DistancesTo.of(self.X, self.metric, self.params)

    @cached_property
    def _frame(self) -> tuple[Array, Array, Array, float]:
        """Centered and scaled points in single precision, their squared norms, the center and the scale."""
        P = as_double(self._points)
        xp = xp_of(P)
        center = xp.mean(P, axis=0)[None, :]
        size = float(xp.max(xp.abs(P - center))) or 1.0
        B = xp.astype((P - center) / size, xp.float32)
        return B, xp.sum(as_double(B) ** 2, axis=1), center, size

    def nearest(self, k: int, run: Run, *, rows: np.ndarray | None = None, labels: np.ndarray | None = None) -> Found:
        """Return the k nearest points with another label, for all points or for those at ``rows``."""
        n = self._points.shape[0]
        rows = np.arange(n) if rows is None else rows
        labels = np.arange(n) if labels is None else labels
        xp = xp_of(self._points)
        taken = xp.asarray(rows, device=device_of(self._points))
        Q = xp.take(self._points, taken, axis=0)
        every = xp.asarray(labels, device=device_of(self._points))
        return self._searched(Q, k, xp.take(every, taken, axis=0), every, run)

    def nearest_to(self, X: Array, k: int) -> Found:
        """Return the k nearest points of new rows; with given distances, X holds the distances."""
        Q = like(X, self._points, X.dtype) if self._space is None else self._space.points(like(X, self.X, X.dtype))
        xp = xp_of(Q)
        n = Q.shape[1] if self.metric == "precomputed" else self._points.shape[0]
        device = device_of(Q)
        none = xp.full((Q.shape[0],), -1, dtype=xp.int64, device=device)
        return self._searched(Q, k, none, xp.arange(n, dtype=xp.int64, device=device), serial_run())

    def _searched(self, Q: Array, k: int, own: Array, labels: Array, run: Run) -> Found:
        step = max(1, _PAIRS // labels.shape[0])
        by_products = self._space is not None and self._space.p == 2
        found = []
        with run.stage("searching neighbors", Q.shape[0]) as stage:  # a device has its own queue: no threads
            for block in slices(Q.shape[0], step):
                if by_products:
                    indices, lengths = self._proposed(Q[block, :], k, own[block], labels)
                else:
                    indices, lengths = _smallest(self._measure(Q[block, :]), k, own[block], labels)
                found.append((to_numpy(indices).astype(np.int32), to_numpy(lengths)))
                stage.advance(block.stop - block.start)
        return stack_blocks(found, k)

    def _proposed(self, Q: Array, k: int, own: Array, labels: Array) -> tuple[Array, Array]:
        """The k nearest of candidates by products; uncertain rows are compared by differences."""
        B, b2, center, size = self._frame
        assert self._space is not None
        xp = xp_of(B)
        A = xp.astype((as_double(Q) - center) / size, xp.float32)
        a2 = xp.sum(as_double(A) ** 2, axis=1)
        V = xp.astype(b2, xp.float32)[None, :] - 2 * (A @ B.T)  # (m, n)
        V[own[:, None] == labels[None, :]] = xp.inf
        K = min(B.shape[0], k + max(8, k // 2))
        values, places = V.topk(K, dim=1, largest=False)
        places = xp.sort(places, axis=1)  # so that a stable sort by length leaves equal ones in the order of indices
        del V
        lengths = self._measured(Q, places)
        lengths = xp.where(xp.take_along_axis(labels[None, :], places, axis=1) == own[:, None], xp.inf, lengths)
        order = xp.argsort(lengths, axis=1, stable=True)[:, :k]
        places, lengths = (xp.take_along_axis(each, order, axis=1) for each in (places, lengths))
        kth = lengths[:, -1] / size / size
        off = rounding(to_numpy(a2), to_numpy(kth), B.shape[1], np.float32)
        sure = to_numpy(as_double(xp.max(values, axis=1)) + a2 - kth) > off
        doubtful = np.flatnonzero(~sure)
        for block in slices(len(doubtful), max(1, _MEASURED // (B.shape[0] * 4))):
            rows = xp.asarray(doubtful[block], device=device_of(Q))
            places[rows, :], lengths[rows, :] = self._by_differences(
                xp.take(Q, rows, axis=0), k, xp.take(own, rows, axis=0), labels
            )
        return places, self._space.lengths(lengths)

    def _measured(self, Q: Array, places: Array) -> Array:
        """Squared distances of rows to candidates, (m, K), from differences in float64."""
        xp = xp_of(Q)
        K, d = places.shape[1], Q.shape[1]
        parts = []
        for block in slices(Q.shape[0], max(1, _MEASURED // (K * d))):
            near = xp.reshape(xp.take(self._points, xp.reshape(places[block, :], (-1,)), axis=0), (-1, K, d))
            E = as_double(near) - as_double(Q[block, :])[:, None, :]
            parts.append(xp.sum(E * E, axis=2))
        return xp.concat(parts, axis=0)

    def _by_differences(self, Q: Array, k: int, own: Array, labels: Array) -> tuple[Array, Array]:
        """The k nearest of all points by squared differences in float64; ties go to the lower index."""
        xp = xp_of(Q)
        D = xp.concat([xp.sum((as_double(self._points) - as_double(q)[None, :]) ** 2, axis=1)[None, :] for q in Q])
        return _smallest(D, k, own, labels)

    def _measure(self, Q: Array) -> Array:
        """Distances by the metric itself."""
        return Q if self.metric == "precomputed" else self._distances(as_double(Q))

    def within(self, radius: float, run: Run) -> Edges:
        """Return all points within ``radius`` of every point, nearest first."""
        n = self.X.shape[0]

        def look_up(block: slice) -> Edges:
            D = self._measure(self.X[block, :])
            i, j = xp_of(D).nonzero(radius >= D)
            return sort_edges(to_numpy(i), to_numpy(j), to_numpy(as_double(D[i, j])), block)

        return join_edges(run, n, max(1, _PAIRS // (4 * n)), look_up, lambda lengths: lengths)


def _smallest(D: Array, k: int, own: Array, labels: Array) -> tuple[Array, Array]:
    xp = xp_of(D)
    D = xp.where(own[:, None] == labels[None, :], xp.inf, D)
    order = xp.argsort(D, axis=1, stable=True)[:, :k]
    return order, xp.take_along_axis(D, order, axis=1)

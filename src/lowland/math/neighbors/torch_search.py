"""Exact nearest-neighbor search on a torch device, a block of rows against all points at a time.

Where kernels run, no product is written: of each group of points only the nearest one is known, and the groups that
come nearest to a row are measured.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from lowland.arrays.engines import has_kernels
from lowland.arrays.namespace import Array, as_double, device_of, like, slices, to_numpy, xp_of
from lowland.math.distances.metrics import Metric
from lowland.math.distances.to_points import DistancesTo
from lowland.math.neighbors.brute_force import candidates, rounding
from lowland.math.neighbors.searcher import Edges, Found, MetricSpace, Searcher, join_edges, sort_edges, stack_blocks
from lowland.run.run import Run, serial_run

_PAIRS = 1 << 27  # distances held at a time: half a GiB in single precision
_MEASURED = 1 << 25  # numbers in a block of differences
_FEWEST_GROUPS = 4  # for each candidate: of fewer, too many would be measured
_HALF = 2.0**-24  # error of products of numbers whose remainders in half precision are too small for all digits


@dataclass(frozen=True)
class TorchSearch(Searcher):
    """Points compared on their device: candidates by products and ``topk``, then exact distances, as on the host."""

    X: Array  # (n, d), or (n, n) distances
    metric: Metric = "euclidean"
    params: dict[str, Any] = field(default_factory=dict)
    name: str = "products"
    rounded: bool = False  # whether lengths are returned in the precision of X; else with all digits

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
        xp, device = xp_of(self._points), device_of(self._points)
        own, Q = xp.arange(self._points.shape[0], device=device), self._points
        if rows is not None:
            own = xp.asarray(rows, device=device)
            Q = xp.take(Q, own, axis=0)
        if labels is None:
            return self._searched(Q, k, own, None, run)
        every = xp.asarray(labels, device=device)
        return self._searched(Q, k, xp.take(every, own, axis=0), every, run)

    def nearest_to(self, X: Array, k: int) -> Found:
        """Return the k nearest points of new rows; with given distances, X holds the distances."""
        Q = like(X, self._points, X.dtype) if self._space is None else self._space.points(like(X, self.X, X.dtype))
        xp = xp_of(Q)
        none = xp.full((Q.shape[0],), -1, dtype=xp.int64, device=device_of(Q))
        return self._searched(Q, k, none, None, serial_run())

    def _searched(self, Q: Array, k: int, own: Array, labels: Array | None, run: Run) -> Found:
        """The nearest points of each row but those of its own label; without labels, these are the row numbers."""
        xp = xp_of(Q)
        n = Q.shape[1] if self.metric == "precomputed" else self._points.shape[0]
        by_products = self._space is not None and self._space.p == 2
        grouped = None
        if by_products and labels is None and has_kernels(Q):
            grouped = PointGroups.of(self._frame, candidates(k, n))
        labels = xp.arange(n, dtype=xp.int64, device=device_of(Q)) if labels is None else labels
        found = []
        with run.stage("searching neighbors", Q.shape[0]) as stage:  # a device has its own queue: no threads
            for block in slices(Q.shape[0], max(1, _PAIRS // n) if grouped is None else grouped.rows):
                if self._space is not None and by_products:
                    indices, powers = self._proposed(Q[block, :], k, own[block], labels, grouped)
                    lengths = self._space.lengths(powers)
                else:
                    indices, lengths = _smallest(self._measure(Q[block, :]), k, own[block], labels)
                found.append((xp.astype(indices, xp.int32), xp.astype(lengths, Q.dtype) if self.rounded else lengths))
                stage.advance(block.stop - block.start)
        if not found:
            return stack_blocks([], k)
        indices, lengths = (to_numpy(xp.concat(each, axis=0)) for each in zip(*found, strict=True))
        return indices, lengths

    def _proposed(
        self, Q: Array, k: int, own: Array, labels: Array, grouped: PointGroups | None
    ) -> tuple[Array, Array]:
        """The k nearest of candidates by products, and their squared distances.

        Uncertain rows are searched without groups, then by differences.
        """
        B, b2, center, size = self._frame
        xp = xp_of(B)
        A = xp.astype((as_double(Q) - center) / size, xp.float32)
        a2 = xp.sum(as_double(A) ** 2, axis=1)
        if grouped is not None:
            bound, places = grouped.candidates(A, own, a2)
        else:
            V = xp.astype(b2, xp.float32)[None, :] - 2 * (A @ B.T)  # (m, n)
            V[own[:, None] == labels[None, :]] = xp.inf
            values, places = V.topk(candidates(k, B.shape[0]), dim=1, largest=False)
            bound = as_double(xp.max(values, axis=1)) + a2
            del V
        places = xp.sort(places, axis=1)  # so that a stable sort by length leaves equal ones in the order of indices
        lengths = self._measured(Q, places)
        lengths = xp.where(xp.take_along_axis(labels[None, :], places, axis=1) == own[:, None], xp.inf, lengths)
        order = xp.argsort(lengths, axis=1, stable=True)[:, :k]
        places, lengths = (xp.take_along_axis(each, order, axis=1) for each in (places, lengths))
        kth = lengths[:, -1] / size / size
        off = rounding(to_numpy(a2), to_numpy(kth), B.shape[1], np.float32)
        if grouped is not None:
            off += _HALF * B.shape[1] ** 0.5 * (2 * np.sqrt(to_numpy(a2)) + np.sqrt(to_numpy(kth)))
        doubtful = np.flatnonzero(~(to_numpy(bound - kth) > off))
        at_once = _MEASURED // 4 if grouped is None else _PAIRS
        for block in slices(len(doubtful), max(1, at_once // B.shape[0])):
            rows = xp.asarray(doubtful[block], device=device_of(Q))
            few, mine = xp.take(Q, rows, axis=0), xp.take(own, rows, axis=0)
            if grouped is not None:
                places[rows, :], lengths[rows, :] = self._proposed(few, k, mine, labels, None)
            else:
                places[rows, :], lengths[rows, :] = self._by_differences(few, k, mine, labels)
        return places, lengths

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


@dataclass(frozen=True)
class PointGroups:
    """Groups of consecutive points, as two numbers in half precision whose products the matrix units multiply."""

    points: Array  # (padded n, padded d) in single precision
    halves: tuple[Array, Array]  # their sum is the points
    squares: Array  # (padded n,), infinite beyond the n points
    n: int
    count: int  # candidates wanted for each row

    @classmethod
    def of(cls, frame: tuple[Array, Array, Array, float], count: int) -> PointGroups | None:
        """Return the groups, or None for too few points."""
        from lowland.kernels import on_device

        B, b2, *_ = frame
        xp, (n, d) = xp_of(B), B.shape
        groups = -(-n // on_device.GROUP)
        if groups < _FEWEST_GROUPS * count:
            return None
        P = xp.zeros((groups * on_device.GROUP, _padded(d)), dtype=xp.float32, device=device_of(B))
        P[:n, :d] = B
        squares = xp.full((P.shape[0],), xp.inf, dtype=xp.float32, device=device_of(B))
        squares[:n] = xp.astype(b2, xp.float32)
        return cls(P, _halves(P), squares, n, count)

    @property
    def rows(self) -> int:
        """Rows that are searched at a time."""
        from lowland.kernels.on_device import GROUP

        return max(1, 2 * _PAIRS // max(self.points.shape[0] // GROUP, self.count * GROUP))

    def candidates(self, A: Array, own: Array, a2: Array) -> tuple[Array, Array]:
        """Return places of candidates for the rows of A, and squared distances that no other point is below."""
        from lowland.kernels import on_device

        xp, m = xp_of(A), A.shape[0]
        Q = xp.zeros((m, self.points.shape[1]), dtype=xp.float32, device=device_of(A))
        Q[:, : A.shape[1]] = A
        least = xp.empty((m, self.points.shape[0] // on_device.GROUP), dtype=xp.float32, device=device_of(A))
        on_device.least_of_groups(_halves(Q), self.halves, self.squares, least)
        values, groups = least.topk(self.count, dim=1, largest=False)
        D = xp.empty((m, self.count * on_device.GROUP), dtype=xp.float32, device=device_of(A))
        on_device.measure_groups(Q, own, self.points, groups, D, self.n)
        nearest, at = D.topk(self.count, dim=1, largest=False)
        places = xp.take_along_axis(groups, at // on_device.GROUP, axis=1) * on_device.GROUP + at % on_device.GROUP
        bound = xp.minimum(as_double(xp.max(values, axis=1)) + a2, as_double(xp.max(nearest, axis=1)))
        return bound, places


def _padded(d: int) -> int:
    """The number of columns that the matrix units multiply."""
    return max(16, 1 << (d - 1).bit_length()) if d <= 64 else -(-d // 64) * 64


def _halves(P: Array) -> tuple[Array, Array]:
    high = P.half()
    return high, (P - high).half()


def _smallest(D: Array, k: int, own: Array, labels: Array) -> tuple[Array, Array]:
    xp = xp_of(D)
    D = xp.where(own[:, None] == labels[None, :], xp.inf, D)
    order = xp.argsort(D, axis=1, stable=True)[:, :k]
    return order, xp.take_along_axis(D, order, axis=1)

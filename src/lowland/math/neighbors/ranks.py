"""Ranks of neighbors: how many points are nearer, for chosen pairs or for whole rows, block by block."""

from __future__ import annotations

import math
import threading
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from lowland.arrays.namespace import slices
from lowland.arrays.random import generator
from lowland.math.distances.incomplete_rows import no_shared_column
from lowland.math.distances.metrics import METRICS, Metric, allows_nan
from lowland.math.neighbors.brute_force import BruteForce, Products, candidates, serial_if_function
from lowland.math.neighbors.search import choose_searcher, refuse_incomparable
from lowland.math.neighbors.searcher import MetricSpace
from lowland.math.statistics.rescaling import largest_of, power_of_two
from lowland.run.run import Run

_FEW_COLUMNS = 16  # up to this many, differences cost no more than products
_ORDINARY = 2.0**60  # largest value up to which points are not rescaled, and one over the smallest
_TILE = 1008  # rows and columns of a product; a power of two would cause cache conflicts
_TILES, _TASKS = 5, 64  # tiles that a thread takes at once at most, and tasks below which it takes fewer
_PAIRS = 1 << 21  # distances that a thread holds at a time
_TRIED = 64  # rows on which the precision of products is tested
_MOST_MEASURED = 0.01  # fraction of the pairs that may need an exact distance
_SHUFFLE = 71_539  # the seed by which points are shuffled: arbitrary, but fixed


@dataclass(frozen=True)
class PointSet:
    """A set of points, the rows or their embedding, and the metric that compares them."""

    X: np.ndarray  # (n, d), or (n, n) distances
    metric: Metric = "euclidean"
    params: dict[str, Any] = field(default_factory=dict)
    unit: float = 1.0  # what X was divided by
    around: bool = False  # whether ties go to the next index after the row, cyclically, not to the lowest index

    @classmethod
    def of(cls, X: np.ndarray, metric: Metric = "euclidean") -> PointSet:
        """The points, scaled so that squared distances and their products do not overflow.

        The scale is a power of two, so that no digit is lost, and 1 except for extreme values. Points for a user's
        function and for the haversine metric are not scaled.
        """
        size = largest_of(X)
        if callable(metric) or metric == "haversine" or size == 0 or 1 / _ORDINARY <= size <= _ORDINARY:
            return cls(X, metric)
        unit = float(power_of_two(size))
        return cls(X / X.dtype.type(unit), metric, unit=unit)

    @property
    def length(self) -> float:
        """A distance of one, in the original unit of X; infinite or zero if it overflows or underflows."""
        if self.metric == "precomputed":
            return self.unit
        power = METRICS[str(self.metric)].power if self.metric in METRICS else None
        with np.errstate(over="ignore", under="ignore"):
            return float(np.float64(self.unit) ** (power or 0))

    @property
    def n(self) -> int:
        """The number of points."""
        return len(self.X)

    def among(self, kept: np.ndarray) -> PointSet:
        """The marked or numbered points only."""
        X = self.X[np.ix_(kept, kept)] if self.metric == "precomputed" else self.X[kept]
        return PointSet(X, self.metric, self.params, self.unit, self.around)

    def nearest(self, k: int, run: Run, rows: np.ndarray | None = None) -> np.ndarray:
        """Return the k nearest points of all points, or of those at ``rows``, nearest first, (m, k); exact."""
        if not self.around:
            return self._searched(k, run, rows)[0]
        near, lengths = self._searched(min(k + 1, self.n - 1), run, rows)  # one more shows whether the last is tied
        near, tied = near[:, :k], np.flatnonzero((lengths[:, 1:] == lengths[:, :-1]).any(axis=1))
        own = np.arange(self.n) if rows is None else rows

        def work(block: slice) -> None:
            from lowland.kernels import ranks as kernels

            here = tied[block]
            settled = near[here]
            kernels.settle_nearest(self._powers(own[here]), own[here], settled)
            near[here] = settled

        self.threads(run).each("resolving near ties", slices(len(tied), self._step), work)
        return near

    def _searched(self, k: int, run: Run, rows: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
        found = choose_searcher(self.X, self.metric, self.params, "auto", k).nearest(k, run, rows=rows)
        if allows_nan(self.metric):
            refuse_incomparable(self.X, *found, rows)
        return found

    def distances(self, rows: np.ndarray) -> np.ndarray:
        """Return the distances of some points to all, (m, n) float64."""
        return np.asarray(self._compare._lengths(self._powers(rows)), dtype=np.float64)

    def alone(self, rows: np.ndarray) -> PointSet | None:
        """The points at ``rows``, with the same distances; None if the metric depends on all points."""
        if len(rows) == self.n:
            return self
        return None if self.metric in METRICS and METRICS[str(self.metric)].learn is not None else self.among(rows)

    # --- ranks ---

    def ranks(self, targets: np.ndarray, run: Run, rows: np.ndarray | None = None) -> np.ndarray:
        """Return the ranks of ``targets`` among the neighbors of all points, or of ``rows``, (m, k); 1 is nearest."""
        counting = self._counting(targets, rows)
        return self._by_comparing(targets, run, rows) if counting is None else counting.ranks(run, None)

    def ranks_and_nearest(
        self, targets: np.ndarray, k: int, run: Run, rows: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return ``ranks`` of the targets, and the k ``nearest``, if possible from the same matrix products."""
        counting = self._counting(targets, rows)
        if counting is None or self.around:
            return self.ranks(targets, run, rows), self.nearest(k, run, rows)
        return counting.ranks_and_nearest(k, run)

    def _counting(self, targets: np.ndarray, rows: np.ndarray | None) -> _Counting | None:
        """Products precise enough to order almost all pairs; None if there are none."""
        space = MetricSpace.of(self.metric, self.params)
        if space is None or space.p != 2 or self.X.shape[1] <= _FEW_COLUMNS:
            return None
        space.check(self.X)
        products = Products(self.X, space)
        own, targets = np.arange(self.n) if rows is None else rows, targets.astype(np.int64)
        for dtype in (np.float32, np.float64):
            counting = _Counting(products, own, targets, dtype, self.around, whole=rows is None)
            if counting.is_precise_enough():
                return counting
        return None

    def _by_comparing(self, targets: np.ndarray, run: Run, rows: np.ndarray | None) -> np.ndarray:
        from lowland.kernels import ranks as kernels

        own, targets = np.arange(self.n) if rows is None else rows, targets.astype(np.int64)
        found = np.empty(targets.shape, dtype=np.int64)
        points, space = self._compare._points, self._compare._space
        few = space is not None and points.shape[1] <= _FEW_COLUMNS
        T = np.ascontiguousarray(points.T, dtype=np.float64) if few else None  # (d, n)

        def work(block: slice) -> None:
            if T is not None and space is not None:
                Q = np.ascontiguousarray(points[own[block]], dtype=np.float64)
                kernels.rank_by_measuring(Q, T, space.p, own[block], self.around, targets[block], found[block])
            else:
                D = self._powers(own[block])
                kernels.rank_by_counting(D, own[block], self.around, targets[block], found[block])

        self.threads(run).each("ranking neighbors", slices(len(own), self._step), work)
        return found

    def order(self, rows: np.ndarray) -> np.ndarray:
        """Return all other points, sorted by distance from each point of ``rows``, (m, n - 1) int32."""
        from lowland.kernels import ranks as kernels

        D = self._powers(rows)
        keys, out = np.empty(D.shape, dtype=np.uint64), np.empty((len(rows), self.n - 1), dtype=np.int32)
        last = np.uint64((1 << (self.n - 1).bit_length()) - 1)
        kernels.write_keys(D.view(np.uint64), rows, self.around, last, keys)
        keys.sort(axis=1)
        kernels.points_of_keys(keys, rows, self.around, last, D, out)
        return out

    def all_ranks(self, rows: np.ndarray) -> np.ndarray:
        """Return the rank of every point among the neighbors of ``rows``, (m, n) int32; 0 is the point itself."""
        out = np.zeros((len(rows), self.n), dtype=np.int32)
        np.put_along_axis(out, self.order(rows), np.arange(1, self.n, dtype=np.int32)[None, :], axis=1)
        return out

    def threads(self, run: Run) -> Run:
        """The run; with one thread if the metric is a user's function."""
        return serial_if_function(run, self.metric)

    @property
    def _step(self) -> int:
        return max(1, _PAIRS // self.n)

    @cached_property
    def _compare(self) -> BruteForce:
        return BruteForce(self.X, self.metric, self.params)

    def _powers(self, rows: np.ndarray) -> np.ndarray:
        """Powers in the same order as the distances, ties equal to the last bit, (m, n) float64."""
        Q = np.ascontiguousarray(self._compare._points[rows])
        out = np.empty((len(rows), self.n))
        for start, D in self._compare._measured(Q):
            out[:, start : start + D.shape[1]] = D
        if allows_nan(self.metric) and np.isinf(out).any():
            i, j = np.argwhere(np.isinf(out))[0]
            raise no_shared_column(int(rows[i]), int(j))
        return out


@dataclass(frozen=True)
class ShuffledPoints:
    """A point set in which ties are ordered independently of the indices.

    If ties were broken by index in both spaces, the two orders would agree wherever both have ties, even if unrelated.
    So one of them is shuffled, always in the same way for the same number of points, and ties go to the next point
    after the row in the shuffled order.
    """

    side: PointSet  # the points, shuffled
    points: np.ndarray  # (n,) int32 the point at each position
    places: np.ndarray  # (n,) the position of each point

    @classmethod
    def of(cls, side: PointSet) -> ShuffledPoints:
        """Shuffle the points of a set."""
        points = generator(_SHUFFLE).permutation(side.n)
        places = np.empty_like(points)
        places[points] = np.arange(side.n)
        return cls(replace(side.among(points), around=True), points.astype(np.int32), places)

    def nearest(self, k: int, run: Run, rows: np.ndarray | None = None) -> np.ndarray:
        """As in PointSet."""
        if rows is None:
            return self.points[self.side.nearest(k, run)[self.places]]
        return self.points[self.side.nearest(k, run, self.places[rows])]

    def ranks(self, targets: np.ndarray, run: Run, rows: np.ndarray | None = None) -> np.ndarray:
        """As in PointSet."""
        if rows is None:
            return self.side.ranks(self.places[targets[self.points]], run)[self.places]
        return self.side.ranks(self.places[targets], run, self.places[rows])

    def order(self, rows: np.ndarray) -> np.ndarray:
        """As in PointSet."""
        return self.points[self.side.order(self.places[rows])]


@dataclass(frozen=True)
class _Counting:
    """Ranks by products of blocks; pairs within rounding error get exact distances."""

    products: Products
    own: np.ndarray  # (m,)
    targets: np.ndarray  # (m, k)
    dtype: type  # of the products
    around: bool  # how ties are broken
    whole: bool  # ranks of all points: each product of two blocks of points serves both

    @property
    def n(self) -> int:
        """The number of points."""
        return len(self.products._points)

    def is_precise_enough(self) -> bool:
        """Whether products in this precision leave few pairs that need exact distances, tested on some rows."""
        tried = np.linspace(0, len(self.own) - 1, min(len(self.own), _TRIED)).astype(np.int64)
        part = _Counting(self.products, self.own[tried], self.targets[tried], self.dtype, self.around, whole=False)
        counts = np.zeros(part.targets.shape, dtype=np.int64)
        space: np.ndarray = np.empty(_TILE * _TILE, dtype=self.dtype)
        rows, measured = slice(0, len(tried)), 0
        doubled = part._doubled(rows)
        for columns in slices(self.n, _TILE):
            measured += part._count(part._product(doubled, columns, space), rows, columns, counts)
        return measured <= max(_MOST_MEASURED * self.n, 1) * counts.size

    def ranks_and_nearest(self, k: int, run: Run) -> tuple[np.ndarray, np.ndarray]:
        """Count, and collect the nearest candidates at the same time; where these are uncertain, search."""
        shape = len(self.own), candidates(k, self.n)
        values: np.ndarray = np.full(shape, np.inf, dtype=self.dtype)
        indices = np.full(shape, self.n, dtype=np.int32)
        ranks = self.ranks(run, (values, indices))
        points, squares = self.products._points, self._limits.b2
        if not self.whole:
            points, squares = np.ascontiguousarray(points[self.own]), squares[self.own]
        near, _, sure = self.products.confirm(points, k, squares, values, indices, run)
        if not sure.all():
            near[~sure] = self.products.nearest(k, run, rows=self.own[~sure])[0]
        return ranks, near

    def ranks(self, run: Run, heaps: tuple[np.ndarray, np.ndarray] | None) -> np.ndarray:
        """Count over the products of all blocks, for the rows and, by symmetry, for the columns.

        ``heaps`` are values and indices, (m, K), to which the nearest candidates of each row are written.
        """
        from lowland.kernels import neighbor_search

        counts, places = np.zeros(self.targets.shape, dtype=np.int64), np.arange(self.n)
        stretches = slices(self.n, _TILE)
        rows = stretches if self.whole else slices(len(self.own), _TILE)
        locks, space = [threading.Lock() for _ in rows], _Scratch()
        add = self._limits.add  # computed once, before the threads start

        def keep(V: np.ndarray, a: int, columns: slice) -> None:
            if heaps is not None:
                few = rows[a]
                with locks[a]:
                    neighbor_search.keep_smallest(
                        V, add[columns], columns.start, self.own[few], places[columns], heaps[0][few], heaps[1][few]
                    )

        def add_counts(a: int, here: np.ndarray) -> None:
            with locks[a]:
                counts[rows[a]] += here

        def work(task: tuple[int, range]) -> None:
            a, others = task
            A, here = self._doubled(rows[a]), np.zeros_like(counts[rows[a]])
            for b in others:
                V = self._product(A, stretches[b], space.of("product", self.dtype))
                self._count(V, rows[a], stretches[b], here)
                keep(V, a, stretches[b])
                if self.whole and a != b:
                    turned = space.of("turned", self.dtype)[: V.size].reshape(V.T.shape)
                    np.copyto(turned, V.T)
                    there = np.zeros_like(counts[rows[b]])
                    self._count(turned, rows[b], stretches[a], there)
                    add_counts(b, there)
                    keep(turned, b, stretches[a])
            add_counts(a, here)

        many = max(1, min(_TILES, len(rows) * len(stretches) // _TASKS))
        firsts = [range(a if self.whole else 0, len(stretches)) for a in range(len(rows))]
        tasks = [(a, others[part]) for a, others in enumerate(firsts) for part in slices(len(others), many)]
        run.each("ranking neighbors", tasks, work)
        return 1 + counts

    @cached_property
    def _limits(self) -> _Limits:
        from lowland.kernels import neighbor_search

        P = self.products._points  # (n, d)
        B, b2 = self.products.single if self.dtype == np.float32 else self.products.double
        powers = np.empty(self.targets.shape)
        neighbor_search.measure_table(P, self.own, P, self.targets, 2.0, powers)
        size = self.products._frame[1]
        return _Limits(B, b2, b2.astype(self.dtype), powers, powers / size / size)

    def _doubled(self, rows: slice) -> np.ndarray:
        P = self._limits.B
        return -2 * (P[rows] if self.whole else P[self.own[rows]])

    def _product(self, A: np.ndarray, columns: slice, space: np.ndarray) -> np.ndarray:
        B = self._limits.B[columns]
        return np.matmul(A, B.T, out=space[: len(A) * len(B)].reshape(len(A), len(B)))

    def _count(self, V: np.ndarray, rows: slice, columns: slice, counts: np.ndarray) -> int:
        from lowland.kernels import ranks as kernels

        own, limits = self.own[rows], self._limits
        widest, u = math.sqrt(limits.b2[columns].max()), float(np.finfo(self.dtype).eps) / 2
        return kernels.count_by_products(
            V, limits.add[columns], columns.start, own, self.around, self.targets[rows], limits.powers[rows],
            limits.scaled[rows], limits.b2[own], widest, u, self.products._points, counts,
        )  # fmt: skip


class _Scratch(threading.local):
    """Workspace that a thread reuses for every product: allocating memory costs more than counting."""

    def of(self, name: str, dtype: type) -> np.ndarray:
        """An array of one tile."""
        if name not in vars(self):
            setattr(self, name, np.empty(_TILE * _TILE, dtype=dtype))
        return vars(self)[name]


@dataclass(frozen=True)
class _Limits:
    """What decides, from products, whether a point is nearer than the target."""

    B: np.ndarray  # (n, d) centered
    b2: np.ndarray  # (n,) squared norms in float64
    add: np.ndarray  # (n,) the same in the precision of B
    powers: np.ndarray  # (m, k) squared distances of the targets
    scaled: np.ndarray  # (m, k) the same in the unit of B

"""Searching for neighbours exactly: metrics as spaces of points, a tree, and comparing every pair.

Every way to search answers three questions about n points: the k ``nearest`` of another label, which are all others
where labels are row numbers; all ``within`` a radius; and for each part the shortest links ``outward``.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from lowland.arrays.namespace import Array, to_numpy, xp_of
from lowland.arrays.precision import as_double
from lowland.blocks.distances.metrics import Metric
from lowland.blocks.distances.to_points import DistancesTo
from lowland.blocks.statistics.rescaling import largest_of
from lowland.errors import DataError
from lowland.run.local import LocalRun, blas_on_one_thread
from lowland.run.run import Run

Found = tuple[np.ndarray, np.ndarray]  # indices and lengths, (m, k), nearest first
Links = tuple[np.ndarray, np.ndarray, np.ndarray]  # start (m + 1,), and where links lead and their lengths

_LEAF = 32  # points in a box of the tree that is not divided further
_QUERIES = 4096  # rows that a thread looks up at a time
_STRETCH = 512  # points compared at a time, so that their columns stay in the cache
_PAIRS = 1 << 21  # distances that a thread has in hand
_TRIED = 100  # rows on which a tree is tried


# --- metrics as spaces ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Space:
    """Points whose distances of power p are in the same order as the metric: straight lines for most."""

    metric: str
    p: float

    @classmethod
    def of(cls, metric: Metric, params: dict[str, Any]) -> Space | None:
        """The space of a metric; None for one that only compares pairs."""
        if metric == "minkowski" and params.get("w") is None:
            return cls("minkowski", float(params.get("p", 2)))
        return cls(metric, _POWERS[metric]) if isinstance(metric, str) and metric in _POWERS else None

    def points(self, X: Array) -> Array:
        """The rows as points; for angles of length one, with a column in which rows of zeros are square to others."""
        if self.metric not in ("cosine", "correlation"):
            return np.ascontiguousarray(X) if isinstance(X, np.ndarray) else X
        A = as_double(X)
        xp = xp_of(A)
        if self.metric == "correlation":
            A = A - xp.mean(A, axis=1)[:, None]
        sizes = xp.max(xp.abs(A), axis=1)[:, None]  # so that no square overflows
        A = A / xp.where(sizes > 0, sizes, xp.ones_like(sizes))
        lengths = xp.sqrt(xp.sum(A * A, axis=1))[:, None]
        A = A / xp.where(lengths > 0, lengths, xp.ones_like(lengths))
        return xp.concat([A, xp.astype(lengths == 0, A.dtype)], axis=1)

    def lengths(self, powers: Array) -> Array:
        """The metric's distances, from those of power p."""
        if self.metric in ("cosine", "correlation"):
            return powers / 2  # |a - b|² = 2 - 2a'b
        if self.metric == "sqeuclidean" or self.p in (1, np.inf):
            return powers
        return powers ** (1 / self.p) if self.p != 2 else xp_of(powers).sqrt(powers)

    def check(self, X: Array) -> None:
        """Refuse values whose distances would be infinite."""
        if self.metric == "cosine":  # rows are scaled first
            return
        power = 1.0 if self.metric == "correlation" or self.p == np.inf else self.p
        widest, d = largest_of(X), X.shape[1]
        if widest > 0 and power * math.log2(2 * widest) + math.log2(d) >= np.finfo(np.float64).maxexp:
            raise DataError(
                f"The values of X are too large to be {self._raised(power)}: distances of rows up to {widest:.2g} are "
                "no numbers any more. Rescale the columns."
            )

    def check_differences(self, X: Array) -> None:
        """Refuse values that do differ, but so little that their distances are lost."""
        if self.metric in ("cosine", "correlation") or self.p == np.inf:
            return
        widest = largest_of(X - X[:1, :])
        if widest > 0 and self.p * math.log2(widest) + math.log2(X.shape[1]) < np.finfo(np.float64).minexp:
            raise DataError(
                f"The values of X are too small to be {self._raised(self.p)}: the differences of rows, of {widest:.2g} "
                "at most, vanish. Rescale the columns."
            )

    def _raised(self, power: float) -> str:
        return {1.0: "added", 2.0: "squared"}.get(power, f"raised to the power {power:g}")

    def reach(self, radius: float) -> float:
        """The distance of power p that a radius is."""
        if self.metric in ("cosine", "correlation"):
            return 2 * radius
        if self.metric == "sqeuclidean" or self.p in (1, np.inf):
            return radius
        with np.errstate(over="ignore"):
            return float(np.power(float(radius), self.p))


_POWERS: dict[str, float] = {
    "euclidean": 2.0, "l2": 2.0, "sqeuclidean": 2.0, "cosine": 2.0, "correlation": 2.0,
    "manhattan": 1.0, "cityblock": 1.0, "l1": 1.0, "chebyshev": np.inf,
}  # fmt: skip


# --- threads ----------------------------------------------------------------------------------------------------------


def over_blocks(run: Run | None, name: str, tasks: list[Any], work: Callable[[Any], Any]) -> list[Any]:
    """Return ``work`` of every task, in order: on the run's threads, or on this one where there is no run."""
    if run is None or (len(tasks) == 1 and run.silent):  # there is nothing to share, and nobody to show it to
        return [work(task) for task in tasks]
    threads = min(run.settings.thread_count, len(tasks))
    with run.stage(name, len(tasks)) as stage:
        if threads < 2:
            return [_told(stage, work(task)) for task in tasks]
        with blas_on_one_thread(), ThreadPoolExecutor(threads) as pool:
            try:
                return [_told(stage, result) for result in pool.map(work, tasks)]
            except BaseException:
                pool.shutdown(wait=True, cancel_futures=True)
                raise


def _told(stage: Any, result: Any) -> Any:
    stage.advance()
    return result


def blocks(n: int, step: int) -> list[slice]:
    """Stretches of n rows."""
    return [slice(start, min(start + step, n)) for start in range(0, n, step)]


def stacked(found: list[Found], k: int) -> Found:
    """The answers for all blocks."""
    if not found:
        return np.empty((0, k), dtype=np.int32), np.empty((0, k))
    return np.concatenate([i for i, _ in found]), np.concatenate([v for _, v in found])


# --- searching --------------------------------------------------------------------------------------------------------


class Searcher(Protocol):
    """A way to search among n points."""

    @property
    def name(self) -> str:
        """How the neighbours were found."""
        ...

    def nearest(
        self, k: int, run: Run | None, *, rows: np.ndarray | None = None, labels: np.ndarray | None = None
    ) -> Found:
        """Return the k nearest points of another label to all points, or to those at ``rows``."""
        ...

    def nearest_to(self, X: Array, k: int) -> Found:
        """Return the k nearest points to other rows."""
        ...

    def within(self, radius: float, run: Run) -> Links:
        """Return, for every point, all others no farther than ``radius``, nearest first."""
        ...

    def outward(self, rows: np.ndarray, labels: np.ndarray, run: Run) -> tuple[np.ndarray, np.ndarray]:
        """Return for the points at ``rows`` the nearest of another label and its distance; infinity where not needed.

        Only the shortest of each label is needed.
        """
        ...


@dataclass(frozen=True)
class KDTree:
    """Points in boxes within boxes, each divided at the median of its widest side: for few columns."""

    X: Array  # (n, d) as it came
    space: Space
    name: str = "tree"

    @cached_property
    def _built(self) -> tuple[np.ndarray, ...]:
        from lowland.kernels import kd_tree as kernels

        P = np.asarray(self.space.points(to_numpy(self.X)), dtype=np.float64)
        n, d = P.shape
        depth = max(0, int(np.ceil(np.log2(n / _LEAF))))
        count = 2 ** (depth + 1) - 1
        order = np.empty(n, dtype=np.int64)
        borders = np.empty((count, 2), dtype=np.int64)
        lows, highs, lowest = np.empty((count, d)), np.empty((count, d)), np.empty(count, dtype=np.int64)
        kernels.build_tree(P, depth, order, borders, lows, highs, lowest)
        return np.ascontiguousarray(P[order].T), order, borders, lows, highs, lowest

    def _labelled(self, labels: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
        """Labels in the order of the tree, and those of the boxes."""
        from lowland.kernels import kd_tree as kernels

        order, borders = self._built[1], self._built[2]
        mine = order if labels is None else labels.astype(np.int64)[order]
        of_boxes = np.empty(len(borders), dtype=np.int64)
        kernels.label_boxes(mine, borders, of_boxes)
        return mine, of_boxes

    def points_measured(self, k: int) -> float:
        """How many distances the tree has to measure for a point, on average over some spread over the table."""
        from lowland.kernels import kd_tree as kernels

        T, order = self._built[:2]
        n = len(order)
        places = np.linspace(0, n - 1, min(n, _TRIED)).astype(np.int64)
        mine, of_boxes = self._labelled(None)
        values, indices = np.empty((len(places), k)), np.empty((len(places), k), dtype=np.int64)
        Q = np.ascontiguousarray(T[:, places].T)
        measured = kernels.nearest_in_tree(*self._built, mine, of_boxes, Q, mine[places], self.space.p, values, indices)
        return measured / len(places)

    def nearest(
        self, k: int, run: Run | None, *, rows: np.ndarray | None = None, labels: np.ndarray | None = None
    ) -> Found:
        """Points are looked up in the order of the tree: what one has read the next finds in the cache."""
        from lowland.kernels import kd_tree as kernels

        T, order = self._built[:2]
        mine, of_boxes = self._labelled(labels)
        if rows is None:
            places = np.arange(len(order))
        else:
            rank = np.empty_like(order)
            rank[order] = np.arange(len(order))
            places = np.sort(rank[rows])
        indices, lengths = np.empty((len(order), k), dtype=np.int32), np.empty((len(order), k))

        def look_up(block: slice) -> None:
            here = places[block]
            values, found = np.empty((len(here), k)), np.empty((len(here), k), dtype=np.int64)
            Q = np.ascontiguousarray(T[:, here].T)
            kernels.nearest_in_tree(*self._built, mine, of_boxes, Q, mine[here], self.space.p, values, found)
            indices[order[here]], lengths[order[here]] = found, self.space.lengths(values)

        over_blocks(run, "searching neighbours", blocks(len(places), _QUERIES), look_up)
        return (indices, lengths) if rows is None else (indices[rows], lengths[rows])

    def nearest_to(self, X: Array, k: int) -> Found:
        """Return the k nearest points to other rows."""
        from lowland.kernels import kd_tree as kernels

        Q = np.asarray(self.space.points(to_numpy(X)), dtype=np.float64)
        mine, of_boxes = self._labelled(None)
        values, found = np.empty((len(Q), k)), np.empty((len(Q), k), dtype=np.int64)
        own = np.full(len(Q), -1)
        kernels.nearest_in_tree(*self._built, mine, of_boxes, Q, own, self.space.p, values, found)
        return found.astype(np.int32), self.space.lengths(values)

    def within(self, radius: float, run: Run) -> Links:
        """Links are counted first, so that memory is asked for before it is taken."""
        from lowland.kernels import kd_tree as kernels

        T, order, borders, lows, highs, _ = self._built
        n, reach = len(order), self.space.reach(radius)
        counts = np.empty(n, dtype=np.int64)
        none, no_one = np.empty(0), np.empty(0, dtype=np.int32)

        def count(block: slice) -> None:
            mine, Q = order[block], np.ascontiguousarray(T[:, block].T)
            found = np.empty(len(mine), dtype=np.int64)
            kernels.within_in_tree(T, order, borders, lows, highs, Q, mine, self.space.p, reach, found, none, no_one)
            counts[mine] = found

        def fill(block: slice) -> None:
            mine, Q = order[block], np.ascontiguousarray(T[:, block].T)
            kernels.within_in_tree(
                T, order, borders, lows, highs, Q, mine, self.space.p, reach, start[mine], powers, to
            )

        over_blocks(run, "counting neighbours", blocks(n, _QUERIES), count)
        start = np.concatenate([[0], np.cumsum(counts)])
        require_links(run, int(start[-1]))
        powers, to = np.empty(start[-1]), np.empty(start[-1], dtype=np.int32)
        if start[-1]:
            over_blocks(run, "searching neighbours", blocks(n, _QUERIES), fill)
        return start, to, self.space.lengths(powers)

    def outward(self, rows: np.ndarray, labels: np.ndarray, run: Run) -> tuple[np.ndarray, np.ndarray]:
        """Points of one label come together, so that the best of those before cuts the search of those after."""
        from lowland.kernels import kd_tree as kernels

        order = self._built[1]
        mine, of_boxes = self._labelled(labels)
        rank = np.empty_like(order)
        rank[order] = np.arange(len(order))
        sorting = np.lexsort((rank[rows], labels[rows]))
        places = rank[rows][sorting]

        def look_up(block: slice) -> tuple[np.ndarray, np.ndarray]:
            here = places[block]
            values, found = np.empty(len(here)), np.empty(len(here), dtype=np.int64)
            kernels.shortest_from_parts(*self._built, mine, of_boxes, here, self.space.p, values, found)
            return found, values

        parts = over_blocks(run, "joining parts", blocks(len(places), _QUERIES), look_up)
        who, powers = np.empty(len(rows), dtype=np.int64), np.empty(len(rows))
        who[sorting] = np.concatenate([found for found, _ in parts])
        powers[sorting] = np.concatenate([values for _, values in parts])
        return who, self.space.lengths(powers)


@dataclass(frozen=True)
class Comparisons:
    """Every pair is compared, a block at a time: any metric, and distances that were given."""

    X: Array  # (n, d), or (n, n) distances
    metric: Metric
    params: dict[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """How the neighbours were found."""
        return "given distances" if self.metric == "precomputed" else "comparisons"

    @cached_property
    def _space(self) -> Space | None:
        return Space.of(self.metric, self.params)

    @cached_property
    def _points(self) -> np.ndarray:
        X = to_numpy(self.X)
        return X if self._space is None else self._space.points(X)

    @cached_property
    def _distances(self) -> DistancesTo:
        return DistancesTo.of(self._points, self.metric, self.params)

    def _lengths(self, powers: np.ndarray) -> np.ndarray:
        return powers if self._space is None else self._space.lengths(powers)

    def _measured(self, Q: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
        """Distances of rows to stretches of the points: (m, b), and where the stretch begins."""
        from lowland.kernels import kd_tree as kernels

        n = self._points.shape[0]
        if self.metric == "precomputed":
            yield 0, Q
        elif self._space is None:
            D = to_numpy(self._distances(Q.astype(np.float64)))
            yield 0, np.ascontiguousarray(D)
        else:
            for block in blocks(n, _STRETCH):
                out = np.empty((len(Q), block.stop - block.start))
                T = np.ascontiguousarray(self._points[block].T, dtype=np.float64)  # float32 would overflow
                kernels.distances_by_columns(Q.astype(np.float64, copy=False), T, self._space.p, out)
                yield block.start, out

    def _step(self) -> int:
        return _STRETCH if self._space else max(1, _PAIRS // max(1, self._points.shape[0]))

    def _threads(self, run: Run | None) -> Run | None:
        """A user's own function is called on one thread."""
        if run is None or not callable(self.metric):
            return run
        return LocalRun(replace(run.settings, threads=1))

    def nearest(
        self, k: int, run: Run | None, *, rows: np.ndarray | None = None, labels: np.ndarray | None = None
    ) -> Found:
        """Return the k nearest points of another label to all points, or to those at ``rows``."""
        rows = np.arange(self._points.shape[0]) if rows is None else rows
        labels = np.arange(self._points.shape[0]) if labels is None else labels.astype(np.int64)

        def look_up(block: slice) -> Found:
            here = rows[block]
            return self._smallest(np.ascontiguousarray(self._points[here]), k, labels[here], labels)

        return stacked(
            over_blocks(self._threads(run), "searching neighbours", blocks(len(rows), self._step()), look_up), k
        )

    def nearest_to(self, X: Array, k: int) -> Found:
        """Return the k nearest points to other rows; with given distances, those of X itself."""
        Q = to_numpy(X) if self._space is None else self._space.points(to_numpy(X))
        n = Q.shape[1] if self.metric == "precomputed" else self._points.shape[0]
        labels = np.arange(n)
        none = np.full(len(Q), -1)
        return stacked(
            [self._smallest(np.ascontiguousarray(Q[b]), k, none[b], labels) for b in blocks(len(Q), self._step())], k
        )

    def _smallest(self, Q: np.ndarray, k: int, own: np.ndarray, labels: np.ndarray) -> Found:
        from lowland.kernels import kd_tree as kernels

        values, indices = np.full((len(Q), k), np.inf), np.full((len(Q), k), len(labels), dtype=np.int32)
        for start, D in self._measured(Q):
            nothing = np.zeros(D.shape[1], dtype=D.dtype)
            kernels.keep_smallest(D, nothing, start, own, labels[start : start + D.shape[1]], values, indices)
        kernels.sort_heaps(values, indices)
        indices[values == np.inf] = -1
        return indices, self._lengths(values)

    def within(self, radius: float, run: Run) -> Links:
        """Return, for every point, all others no farther than ``radius``, nearest first."""
        n = self._points.shape[0]
        reach = radius if self._space is None else self._space.reach(radius)

        def look_up(block: slice) -> Links:
            Q = np.ascontiguousarray(self._points[block])
            parts = []
            for start, D in self._measured(Q):
                i, j = np.nonzero(reach >= D)
                parts.append((i, j + start, D[i, j].astype(np.float64)))
            i, j, values = (np.concatenate(each) for each in zip(*parts, strict=True))
            return sorted_links(i, j, values, block)

        return joined_links(self._threads(run) or run, n, self._step(), look_up, self._lengths)

    def outward(self, rows: np.ndarray, labels: np.ndarray, run: Run) -> tuple[np.ndarray, np.ndarray]:
        """Return for the points at ``rows`` the nearest of another label and its distance."""
        indices, lengths = self.nearest(1, run, rows=rows, labels=labels)
        return indices[:, 0].astype(np.int64), lengths[:, 0]


# --- links within a radius --------------------------------------------------------------------------------------------


def sorted_links(i: np.ndarray, j: np.ndarray, values: np.ndarray, block: slice) -> Links:
    """The links of a block of rows, each row's nearest first, its own point left out."""
    others = i + block.start != j
    i, j, values = i[others], j[others], values[others]
    order = np.lexsort((j, values, i))
    counts = np.bincount(i, minlength=block.stop - block.start)
    return counts, j[order].astype(np.int32), values[order]


def joined_links(
    run: Run, n: int, step: int, look_up: Callable[[slice], Links], lengths: Callable[[np.ndarray], np.ndarray]
) -> Links:
    """The links of all rows; memory is asked for as they are found."""
    total = 0
    lock = threading.Lock()

    def counted(block: slice) -> Links:
        nonlocal total
        links = look_up(block)
        with lock:
            total += len(links[1])
            require_links(run, total)
        return links

    parts = over_blocks(run, "searching neighbours", blocks(n, step), counted)
    counts, to, values = (np.concatenate(each) for each in zip(*parts, strict=True))
    return np.concatenate([[0], np.cumsum(counts)]), to, lengths(values)


def require_links(run: Run, count: int) -> None:
    """Refuse more links than the budget holds, made symmetric as methods do."""
    run.require(5 * 12 * count, f"A graph of {count:,} links within the radius", "Choose a smaller radius")

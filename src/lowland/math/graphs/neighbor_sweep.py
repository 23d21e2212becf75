"""How the neighbor graph changes with n_neighbors: connected components, geodesic distances and short circuits."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np

from lowland.arrays.namespace import Array
from lowland.errors import ParameterError
from lowland.math.distances.metrics import Metric
from lowland.math.graphs.geodesic_diagnostics import residual_variances, sampled
from lowland.math.graphs.shortest_paths import geodesic_distances, replace_infinite
from lowland.math.neighbors.connectivity import component_labels
from lowland.math.neighbors.graph import NeighborGraph
from lowland.math.neighbors.search import Search, nearest_neighbors
from lowland.run.run import Run

_FAR = 0.5  # fraction of the longest geodesic: points farther apart than this are not neighbors on the manifold
_AROUND = 4.0  # a shortcut's detour must be at least so many times its length
_FEWER = 2 / 3  # each graph is compared with one of this fraction of its neighbors
_LASTING = 1.25  # a shortcut must persist up to this multiple of the neighbors at which it appeared; holes close sooner
_EXACT = 2000  # points up to which all geodesics are computed
_AT_ONCE = 1 << 18  # differences computed at a time


@dataclass(frozen=True)
class SweepStep:
    """The graph of ``n_neighbors`` neighbors, and the effect of its edges on the geodesic distances."""

    n_neighbors: int
    n_connected_components: int
    sizes: tuple[int, ...]  # points in each component, the largest first
    n_edges: int
    mean_geodesic: float  # between points of the same component
    longest_geodesic: float
    shortening: float  # fraction by which the mean geodesic is shorter than in the previous step; NaN in the first
    residual_variance: float  # of an embedding; between components, the longest geodesic counts
    shortcuts: tuple[tuple[int, int], ...]  # edges between points that are far apart without them
    split: bool  # there is more than one component
    short_circuit: bool  # there are shortcuts


def sweep_neighbors(
    X: Array,
    counts: int | Iterable[int],
    run: Run,
    *,
    n_components: int = 2,
    metric: Metric = "euclidean",
    params: dict[str, Any] | None = None,
    search: Search = "auto",
) -> tuple[SweepStep, ...]:
    """Return one step for every number of neighbors, in increasing order.

    An edge is a shortcut if its two points are far apart both in the graph of fewer neighbors and in this graph
    without all shortcuts: by ``_FAR`` of the longest geodesic, and by ``_AROUND`` times the length of the edge. Once
    shortcuts are confirmed, all larger graphs, which contain them too, are compared with the last graph without
    shortcuts, since many shortcuts form detours for each other. Graphs between the requested numbers, and below the
    first one, are checked as well. Above 2,000 points, geodesic distances from 2,000 sampled points give lower bounds.
    """
    ks = _checked(counts, X.shape[0])
    graph_of_most = nearest_neighbors(X, ks[-1], run, metric=metric, params=params, search=search)
    watch, mean_before, steps = _ShortcutDetector(run), np.nan, []
    for k in _ladder(graph_of_most, ks):
        if k not in ks and watch.sure:
            continue
        graph = graph_of_most.nearest(k).symmetric()
        D = _geodesics(graph, run)
        cut = watch.shortcuts(k, graph, D)
        if k in ks:
            mean = _mean(D)
            steps.append(_step(k, graph, D, cut, 1 - mean / mean_before, n_components))
            mean_before = mean
    return tuple(steps)


class _ShortcutDetector:
    """Detects shortcuts in a sequence of graphs with more and more neighbors."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.before: np.ndarray | None = None  # the geodesics to compare with
        self.clean: np.ndarray | None = None  # those of the graph in which shortcuts first appeared, without them
        self.first = 0  # its number of neighbors; 0: no shortcuts yet
        self.quiet = False  # the previous graph had no candidates
        self.sure = False  # shortcuts are confirmed

    def shortcuts(self, k: int, graph: NeighborGraph, D: np.ndarray) -> np.ndarray:
        """Mark the shortcuts among the edges of a graph with geodesic distances D, (edges,)."""
        may_be = _shortcuts(graph, self.before)
        if self.sure:
            return may_be
        cut, after = self._not_led_around(graph, may_be, D)
        if cut.any() and not self.first:
            self.first, self.clean = k, after
        self.first = self.first if cut.any() else 0
        if cut.any() and self.quiet:
            self.sure = True
            return may_be
        if cut.any() and k >= _LASTING * self.first:
            self.sure, self.before = True, self.clean
            return _shortcuts(graph, self.clean)
        self.quiet = self.before is not None and not may_be.any()
        self.before = after
        return cut

    def _not_led_around(self, graph: NeighborGraph, cut: np.ndarray, D: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The edges without which their points are still far apart, and the geodesics without them."""
        while cut.any():
            after = _geodesics(graph.chosen(~cut), self.run)
            still = cut & _shortcuts(graph, after)
            if (still == cut).all():
                return cut, after
            cut = still  # other edges of this graph lead around a hole that the smaller graph left open
        return cut, D


def _ladder(graph: NeighborGraph, ks: list[int]) -> list[int]:
    """The requested numbers, two thirds of each, and so on down to the previous one.

    Below the first, numbers are added as long as the graph keeps its number of components, and at least one.
    """
    rungs, whole = set(ks), _n_components(graph, ks[0])
    for low, k in zip([0, *ks], ks, strict=False):
        fewer = round(_FEWER * k)
        while low < fewer < k and (low or k == ks[0] or _n_components(graph, fewer) == whole):
            rungs.add(fewer)
            k, fewer = fewer, round(_FEWER * fewer)
    return sorted(rungs)


def _n_components(graph: NeighborGraph, k: int) -> int:
    return int(component_labels(graph.nearest(k).symmetric()).max()) + 1


def _checked(counts: int | Iterable[int], n: int) -> list[int]:
    ks = sorted({*counts} if isinstance(counts, Iterable) else {counts})
    whole = all(isinstance(k, Integral) for k in ks)
    if not ks or not whole or ks[0] < 1 or ks[-1] >= n:
        raise ParameterError(f"{ks} neighbors per row: the data has {n} rows. Pass integers from 1 to {n - 1}.")
    return [int(k) for k in ks]


def _geodesics(graph: NeighborGraph, run: Run) -> np.ndarray:
    """Geodesic distances between all points, (n, n), or from sampled points, (s, n)."""
    some = sampled(graph.n, _EXACT)
    return geodesic_distances(graph, run, sources=None if len(some) == graph.n else some)


def _shortcuts(graph: NeighborGraph, before: np.ndarray | None) -> np.ndarray:
    """Mark the edges whose points were far apart before, (edges,); edges between components are not shortcuts."""
    if before is None:
        return np.zeros(len(graph.to), dtype=bool)
    longest = before[np.isfinite(before)].max()
    apart = _apart(before, graph.sources, graph.to)
    return (apart >= _FAR * longest) & (apart >= _AROUND * graph.length)


def _apart(D: np.ndarray, i: np.ndarray, j: np.ndarray) -> np.ndarray:
    """The geodesic distance of points i and j, or its largest lower bound |d_si - d_sj| over sources s; 0: unknown."""
    if D.shape[0] == D.shape[1]:
        d = D[i, j]
        return np.where(np.isfinite(d), d, 0)
    apart, step = np.zeros(len(i)), max(1, _AT_ONCE // len(D))
    by_point = np.ascontiguousarray(D.T)  # contiguous per point
    for first in range(0, len(i), step):
        part = slice(first, first + step)
        with np.errstate(invalid="ignore"):
            gap = np.abs(by_point[i[part]] - by_point[j[part]])
        apart[part] = gap.max(axis=1, initial=0, where=np.isfinite(gap))
    return apart


def _mean(D: np.ndarray) -> float:
    near = np.isfinite(D)
    return float(D[near].mean(dtype=np.float64)) if near.any() else 0.0


def _step(
    k: int, graph: NeighborGraph, D: np.ndarray, cut: np.ndarray, shortening: float, n_components: int
) -> SweepStep:
    sizes = np.bincount(component_labels(graph))
    once = cut & (graph.sources < graph.to)
    of = sampled(graph.n, _EXACT)  # the points of the rows of D
    some = sampled(len(of))
    among = D[np.ix_(some, of[some])]
    replace_infinite(among)
    return SweepStep(
        n_neighbors=k,
        n_connected_components=len(sizes),
        sizes=tuple(sizes.tolist()),
        n_edges=len(graph.to) // 2,
        mean_geodesic=_mean(D),
        longest_geodesic=float(D[np.isfinite(D)].max(initial=0)),
        shortening=float(shortening),
        residual_variance=float(residual_variances(among, n_components)[-1]),
        shortcuts=tuple(zip(graph.sources[once].tolist(), graph.to[once].tolist(), strict=True)),
        split=len(sizes) > 1,
        short_circuit=bool(cut.any()),
    )

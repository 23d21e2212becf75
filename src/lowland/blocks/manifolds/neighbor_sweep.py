"""How a graph of neighbours changes with their number: where it hangs together, and where edges cut across a gap."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np

from lowland.arrays.namespace import Array
from lowland.blocks.distances.metrics import Metric
from lowland.blocks.manifolds.geodesic_diagnostics import residual_variances, sampled
from lowland.blocks.manifolds.shortest_paths import geodesic_distances, replace_infinite
from lowland.blocks.neighbors.connectivity import component_labels
from lowland.blocks.neighbors.graph import NeighborGraph
from lowland.blocks.neighbors.search import Search, nearest_neighbors
from lowland.errors import ParameterError
from lowland.run.run import Run

_FAR = 0.5  # fraction of the longest geodesic: ends of an edge that were as far apart are not neighbours on the surface
_AROUND = 4.0  # times its length that the way around an edge must be
_FEWER = 2 / 3  # fraction of the first number of neighbours whose graph the first one is compared with
_LASTING = 1.25  # times the neighbours with which it was first seen that a shortcut stays one; holes close sooner
_EXACT = 2000  # points up to which all geodesics are found
_AT_ONCE = 1 << 18  # differences taken at a time


@dataclass(frozen=True)
class SweepStep:
    """A graph of ``n_neighbors`` neighbours, and what its edges did to the geodesic distances."""

    n_neighbors: int
    n_connected_components: int
    sizes: tuple[int, ...]  # points in each component, the largest first
    n_edges: int
    mean_geodesic: float  # between points of the same component
    longest_geodesic: float
    shortening: float  # fraction by which the mean geodesic is shorter than in the step before; NaN in the first
    residual_variance: float  # of a map; points of different components: the longest geodesic
    shortcuts: tuple[tuple[int, int], ...]  # edges whose ends were far apart before
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
    """Return a step for every number of neighbours, ascending.

    An edge is a shortcut if its ends lay far apart in the graph of fewer neighbours, shortcuts left out, and do so in
    this one without it and its like: by ``_FAR`` of the longest geodesic, and by ``_AROUND`` times its own length. Once
    shortcuts are sure, all larger graphs, which hold them too, are compared with the last one without: where there are
    many, they lead around each other. Between the numbers asked for, and below the first, others are looked at.
    Beyond 2,000 points, geodesics are those from 2,000 of them, and bound distances between others from below.
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
    """Looks out for shortcuts in graphs of more and more neighbours."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.before: np.ndarray | None = None  # the geodesics to compare with
        self.clean: np.ndarray | None = None  # those of the graph in which shortcuts were first seen, without them
        self.first = 0  # its number of neighbours; 0: none are seen
        self.quiet = False  # the last graph had nothing that could be one
        self.sure = False

    def shortcuts(self, k: int, graph: NeighborGraph, D: np.ndarray) -> np.ndarray:
        """Mark the shortcuts among the edges of a graph with geodesics D, (edges,)."""
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
        """Those without which their ends are still far apart, and the geodesics without them."""
        while cut.any():
            after = _geodesics(graph.chosen(~cut), self.run)
            still = cut & _shortcuts(graph, after)
            if (still == cut).all():
                return cut, after
            cut = still  # other edges of this graph lead around a hole that fewer had left open
        return cut, D


def _ladder(graph: NeighborGraph, ks: list[int]) -> list[int]:
    """The numbers asked for, two thirds of each, and so on down to the one before.

    The first is compared with two thirds of it in any case, and that with fewer, as long as the graph is as whole.
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
        raise ParameterError(f"{ks} neighbours: the data has {n} rows. Give whole numbers from 1 to {n - 1}.")
    return [int(k) for k in ks]


def _geodesics(graph: NeighborGraph, run: Run) -> np.ndarray:
    """Between all points, (n, n), or from a sample of them, (s, n)."""
    some = sampled(graph.n, _EXACT)
    return geodesic_distances(graph, run, sources=None if len(some) == graph.n else some)


def _shortcuts(graph: NeighborGraph, before: np.ndarray | None) -> np.ndarray:
    """Mark the edges whose ends lay far apart before, (edges,); what lay in different components is no shortcut."""
    if before is None:
        return np.zeros(len(graph.to), dtype=bool)
    longest = before[np.isfinite(before)].max()
    apart = _apart(before, graph.sources, graph.to)
    return (apart >= _FAR * longest) & (apart >= _AROUND * graph.length)


def _apart(D: np.ndarray, i: np.ndarray, j: np.ndarray) -> np.ndarray:
    """The geodesic distance of points i and j, or |d_si - d_sj| <= d_ij of the source that tells most; 0: not known."""
    if D.shape[0] == D.shape[1]:
        d = D[i, j]
        return np.where(np.isfinite(d), d, 0)
    apart, step = np.zeros(len(i)), max(1, _AT_ONCE // len(D))
    by_point = np.ascontiguousarray(D.T)  # what is picked lies together
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
    of = sampled(graph.n, _EXACT)  # the points that the rows of D belong to
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

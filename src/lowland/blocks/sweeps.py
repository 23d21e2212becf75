"""How a graph of neighbours changes with their number: where it hangs together, and where links cut across a gap."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from lowland.arrays.namespace import Array
from lowland.blocks.components import parts_of
from lowland.blocks.geodesics import close_gaps, geodesic_distances, residual_variances, sampled
from lowland.blocks.metrics import Metric
from lowland.blocks.neighbors import NeighborGraph, Search, nearest_neighbors
from lowland.errors import ParameterError
from lowland.run.run import Run

_FAR = 0.5  # share of the longest geodesic: ends of a link that were as far apart are not neighbours on the surface
_AROUND = 4.0  # times its length that the way around a link must be
_FEWER = 2 / 3  # share of the first number of neighbours whose graph the first one is compared with
_EXACT = 2000  # points up to which all geodesics are found
_AT_ONCE = 1 << 24  # differences taken at a time


@dataclass(frozen=True)
class SweepStep:
    """A graph of ``n_neighbors`` neighbours, and what its links did to the geodesic distances."""

    n_neighbors: int
    n_parts: int
    sizes: tuple[int, ...]  # points in each part, the largest first
    links: int
    mean_geodesic: float  # between points of the same part
    longest_geodesic: float
    shortening: float  # share by which the mean geodesic is shorter than in the step before; NaN in the first
    residual_variance: float  # of a map in as many dimensions as asked for; points of different parts: longest geodesic
    shortcuts: tuple[tuple[int, int], ...]  # links whose ends were far apart before
    split: bool  # there is more than one part
    short_circuit: bool  # there are shortcuts


def sweep_neighbors(
    X: Array,
    counts: Iterable[int],
    run: Run,
    *,
    n_components: int = 2,
    metric: Metric = "euclidean",
    params: dict[str, Any] | None = None,
    search: Search = "auto",
) -> tuple[SweepStep, ...]:
    """Return a step for every number of neighbours, ascending.

    A link is a shortcut if its ends lay far apart in the graph of fewer neighbours, shortcuts left out, and do so in
    this one without it and its like: by ``_FAR`` of the longest geodesic, and by ``_AROUND`` times its own length. The
    first number is compared with two thirds of it.
    Beyond 2,000 points, geodesics are those from 2,000 of them, and bound distances between others from below.
    """
    ks = _checked(counts, X.shape[0])
    fewer = round(_FEWER * ks[0])
    all_links = nearest_neighbors(X, ks[-1], run, metric=metric, params=params, search=search)
    before = _geodesics(_nearest(all_links, fewer), run) if fewer else None
    mean_before, steps = np.nan, []
    for k in ks:
        graph = _nearest(all_links, k)
        D = before_next = _geodesics(graph, run)
        cut = _shortcuts(graph, before)
        while cut.any():
            before_next = _geodesics(_without(graph, cut), run)
            still = cut & _shortcuts(graph, before_next)
            if (still == cut).all():
                break
            cut, before_next = still, D  # other links of this graph lead around a hole that fewer had left open
        mean = _mean(D)
        steps.append(_step(k, graph, D, cut, 1 - mean / mean_before, n_components))
        before, mean_before = before_next, mean
    return tuple(steps)


def _checked(counts: Iterable[int], n: int) -> list[int]:
    ks = sorted({int(k) for k in counts})
    if not ks or ks[0] < 1 or ks[-1] >= n:
        raise ParameterError(f"n_neighbors={ks}: the data has {n} rows. Give numbers from 1 to {n - 1}.")
    return ks


def _nearest(graph: NeighborGraph, k: int) -> NeighborGraph:
    """The links to the k nearest, in both directions."""
    to, length = graph.table()
    return NeighborGraph.of_table(to[:, :k], length[:, :k], graph.search, graph.recall).symmetric()


def _geodesics(graph: NeighborGraph, run: Run) -> np.ndarray:
    """Between all points, (n, n), or from a sample of them, (s, n)."""
    some = sampled(graph.n, _EXACT)
    return geodesic_distances(graph, run, sources=None if len(some) == graph.n else some)


def _shortcuts(graph: NeighborGraph, before: np.ndarray | None) -> np.ndarray:
    """Mark the links whose ends lay far apart before, (links,); what lay in different parts is no shortcut."""
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
    for first in range(0, len(i), step):
        part = slice(first, first + step)
        with np.errstate(invalid="ignore"):
            gap = np.abs(D[:, i[part]] - D[:, j[part]])
        apart[part] = np.where(np.isfinite(gap), gap, 0).max(axis=0)
    return apart


def _without(graph: NeighborGraph, cut: np.ndarray) -> NeighborGraph:
    start = np.concatenate([[0], np.cumsum(np.bincount(graph.sources[~cut], minlength=graph.n))])
    return replace(graph, start=start, to=graph.to[~cut], length=graph.length[~cut])


def _mean(D: np.ndarray) -> float:
    near = np.isfinite(D)
    return float(D[near].mean(dtype=np.float64)) if near.any() else 0.0


def _step(
    k: int, graph: NeighborGraph, D: np.ndarray, cut: np.ndarray, shortening: float, n_components: int
) -> SweepStep:
    sizes = np.bincount(parts_of(graph))
    once = cut & (graph.sources < graph.to)
    of = (
        np.arange(graph.n) if len(D) == graph.n else sampled(graph.n, _EXACT)
    )  # the points that the rows of D belong to
    some = sampled(len(of))
    among = D[np.ix_(some, of[some])]
    close_gaps(among)
    return SweepStep(
        n_neighbors=k,
        n_parts=len(sizes),
        sizes=tuple(sizes.tolist()),
        links=len(graph.to) // 2,
        mean_geodesic=_mean(D),
        longest_geodesic=float(D[np.isfinite(D)].max(initial=0)),
        shortening=float(shortening),
        residual_variance=float(residual_variances(among, n_components)[-1]),
        shortcuts=tuple(zip(graph.sources[once].tolist(), graph.to[once].tolist(), strict=True)),
        split=len(sizes) > 1,
        short_circuit=bool(cut.any()),
    )

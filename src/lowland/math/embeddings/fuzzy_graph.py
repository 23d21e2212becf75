"""The fuzzy neighbor graph of UMAP: memberships in their own scales, their union, and intersection with a target."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import scipy.sparse

from lowland.kernels import umap as kernels
from lowland.math.neighbors.graph import NeighborGraph
from lowland.math.statistics.rescaling import power_of_two
from lowland.run.run import Run

_ROWS = 8192  # rows of one task
_UNKNOWN = 1.0  # exponent of an edge to a row of unknown class
_HALVINGS = 32  # of the interval that holds a power
_FAR = 2.5  # exponent of an edge between classes, divided by 1 - weight
_SMALLEST, _LARGEST = 1e-8, 1e-4  # bounds of the weight of an edge that only one of two graphs has


@dataclass(frozen=True)
class FuzzyGraph:
    """Symmetric edge weights in (0, 1]: each row holds all its edges, sorted by target."""

    start: np.ndarray  # (n + 1,) int64
    to: np.ndarray  # (edges,) int32
    weight: np.ndarray  # (edges,) float32

    @property
    def n(self) -> int:
        """The number of points."""
        return len(self.start) - 1

    def matrix(self) -> scipy.sparse.csr_array:
        """Return the weights as a sparse matrix that shares their memory."""
        start = self.start if len(self.to) > np.iinfo(np.int32).max else self.start.astype(np.int32)
        return scipy.sparse.csr_array((self.weight, self.to, start), shape=(self.n, self.n))

    @classmethod
    def of_matrix(cls, W: scipy.sparse.sparray) -> FuzzyGraph:
        """Return the graph of a sparse matrix in CSR form."""
        W.sort_indices()
        return cls(W.indptr.astype(np.int64), W.indices.astype(np.int32), W.data.astype(np.float32))

    def of_all(self, kept: np.ndarray) -> FuzzyGraph:
        """Return the graph of all points, of which it has those that are marked; the others have no edges."""
        if kept.all():
            return self
        counts = np.zeros(len(kept), dtype=np.int64)
        counts[kept] = np.diff(self.start)
        to = np.flatnonzero(kept).astype(np.int32)[self.to]
        return FuzzyGraph(np.concatenate([[0], np.cumsum(counts)]), to, self.weight)

    def strongest(self, least: float) -> FuzzyGraph:
        """Return the edges of at least the weight ``least``."""
        kept = self.weight >= np.float32(least)
        return FuzzyGraph(np.concatenate([[0], np.cumsum(kept)])[self.start], self.to[kept], self.weight[kept])

    def degree(self) -> np.ndarray:
        """Return the sum of the weights of each row, (n,) float64."""
        full = np.add.reduceat(np.append(self.weight, np.float32(0)), np.minimum(self.start[:-1], len(self.to)))
        return np.where(np.diff(self.start) > 0, full, 0).astype(np.float64)


def mean_length(graph: NeighborGraph) -> float:
    """Return the mean distance of all neighbors, each point itself included at distance zero."""
    return float(graph.length.sum(dtype=np.float64)) / max(1, len(graph.length) + graph.n)


def local_scales(
    start: np.ndarray, length: np.ndarray, mean: float, run: Run, *, connectivity: float = 1.0
) -> tuple[np.ndarray, np.ndarray]:
    """Return the offset rho and the scale sigma of each point, both (n,) float64.

    rho is the distance to the nearest distinct neighbor (to neighbor number ``connectivity``). sigma is such that the
    memberships sum to log2 of the number of neighbors, the point itself included. ``mean`` is that of all distances.
    """
    n = len(start) - 1
    rho, sigma = np.empty(n), np.empty(n)

    def work(first: int) -> None:
        kernels.local_scales(start, length, float(connectivity), mean, first, min(first + _ROWS, n), rho, sigma)

    run.each("scaling neighborhoods", range(0, n, _ROWS), work)
    return rho, sigma


def memberships(
    start: np.ndarray, length: np.ndarray, mean: float, run: Run, *, connectivity: float = 1.0
) -> np.ndarray:
    """Return the weight of each edge, exp(-(d - rho)+ / sigma), (edges,) float32."""
    unit = float(power_of_two(mean))
    length = (length / unit).astype(np.float32, copy=False)  # the same for rows in float32 and float64, in any unit
    rho, sigma = local_scales(start, length, mean / unit, run, connectivity=connectivity)
    beyond, scale = (np.repeat(each, np.diff(start)) for each in (rho, sigma))
    np.maximum(np.subtract(length, beyond, out=beyond), 0.0, out=beyond)
    np.divide(beyond, scale, out=beyond, where=scale > 0)
    beyond[scale <= 0] = 0.0
    return np.exp(-beyond).astype(np.float32)


def fuzzy_union(start: np.ndarray, to: np.ndarray, weight: np.ndarray, mix: float = 1.0) -> FuzzyGraph:
    """Return the union of both directions of each edge: r (A + A' - A∘A') + (1 - r) A∘A', where r is ``mix``."""
    back = FuzzyGraph(start, to, weight).matrix().T.tocsr()
    here = back.T.tocsr()  # the edges themselves, sorted by target
    both = here.multiply(back)
    either = here + back - both
    found = either if mix == 1 else np.float32(mix) * either + np.float32(1 - mix) * both
    found.eliminate_zeros()
    return FuzzyGraph.of_matrix(found)


def directed_graph(graph: NeighborGraph, run: Run) -> FuzzyGraph:
    """Return the memberships of all neighbors, without those of the other direction: the weights are not symmetric."""
    weight = memberships(graph.start, graph.length, mean_length(graph), run)
    return FuzzyGraph.of_matrix(scipy.sparse.csr_array((weight, graph.to, graph.start), shape=(graph.n, graph.n)))


def fuzzy_graph(graph: NeighborGraph, run: Run, *, connectivity: float = 1.0, mix: float = 1.0) -> FuzzyGraph:
    """Return the fuzzy union of the memberships of all neighbors (McInnes, Healy and Melville 2018)."""
    weight = memberships(graph.start, graph.length, mean_length(graph), run, connectivity=connectivity)
    return fuzzy_union(graph.start, graph.to, weight, mix)


def similarity_curve(min_dist: float, spread: float) -> tuple[float, float]:
    """Return a and b such that 1 / (1 + a d^2b) fits 1 up to ``min_dist`` and exp(-(d - min_dist) / spread) beyond."""
    from scipy.optimize import curve_fit

    d = np.linspace(0, 3 * spread, 300)
    wanted = np.where(d < min_dist, 1.0, np.exp(-(d - min_dist) / spread))
    (a, b), _ = curve_fit(lambda d, a, b: 1 / (1 + a * d ** (2 * b)), d, wanted)
    return float(a), float(b)


# --- intersection with a target ---------------------------------------------------------------------------------------


def weaken_between_classes(graph: FuzzyGraph, codes: np.ndarray, weight: float) -> FuzzyGraph:
    """Return the graph with weaker edges between classes: times exp(-2.5 / (1 - weight)).

    ``codes`` are class numbers; -1 means unknown, and an edge of such a row is multiplied by exp(-1).
    """
    here, there = _ends(graph, codes)
    factor = _weakening((here != there).astype(np.float32), weight)
    factor[(here < 0) | (there < 0)] = math.exp(-_UNKNOWN)
    return connect_locally(FuzzyGraph(graph.start, graph.to, graph.weight * factor))


def weaken_between_values(graph: FuzzyGraph, values: np.ndarray, weight: float) -> FuzzyGraph:
    """Return the graph with weaker edges between values: times exp(-2.5 d / (1 - weight)).

    The distance d is that of two numbers relative to half the range of all, or the edit distance of two strings
    relative to a third of the longest one, at most 1.
    """
    here, there = _ends(graph, values)
    if values.dtype.kind == "U":
        names, pair = np.unique(np.stack([here, there], axis=1), axis=0, return_inverse=True)
        longest = max(1, int(np.strings.str_len(values).max()))
        apart = np.array([min(1.0, 3 * _edit_distance(a, b) / longest) for a, b in names])[np.ravel(pair)]
    else:
        apart = np.abs(here - there) / (float(np.ptp(values)) / 2)
    factor = _weakening(apart.astype(np.float32), weight)
    return connect_locally(FuzzyGraph(graph.start, graph.to, graph.weight * factor))


def cumulative_surprise(counts: np.ndarray) -> np.ndarray:
    """Return sum_{k < c} -log P(k) of each count c, P the Poisson distribution of the same mean, (n,) float64."""
    from scipy.special import gammaln

    k = np.arange(int(counts.max()) + 1, dtype=np.float64)
    mean = float(counts.mean())
    surprise = mean + gammaln(k + 1) - k * math.log(mean)
    return np.concatenate([[0.0], np.cumsum(surprise)])[counts.astype(np.int64)]


def _ends(graph: FuzzyGraph, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The values at both ends of every edge."""
    return np.repeat(values, np.diff(graph.start)), values[graph.to]


def _weakening(distance: np.ndarray, weight: float) -> np.ndarray:
    """The factors of edges between rows that are so far apart in the target, (edges,) float32."""
    return np.exp(-_FAR * distance / (1 - weight)) if weight < 1 else (distance == 0).astype(np.float32)


def _edit_distance(a: str, b: str) -> int:
    """The number of characters to insert, delete or replace to get from one string to the other."""
    before = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        now = [i]
        for j, y in enumerate(b, 1):
            now.append(min(before[j] + 1, now[-1] + 1, before[j - 1] + (x != y)))
        before = now
    return before[-1]


def intersection(
    graph: FuzzyGraph, target: FuzzyGraph, weight: float = 0.5, neighbors: int | None = None
) -> FuzzyGraph:
    """Return the intersection of two graphs: the product of their memberships, the target to a power by ``weight``.

    An edge that one graph lacks has half the least weight of that graph, in the target at most 1e-4.
    """
    pattern, a, b = _on_all_edges(graph, target, _LARGEST)
    powers = (1.0, weight / (1 - weight)) if weight < 0.5 else ((1 - weight) / weight, 1.0)
    pattern.data = a ** np.float32(powers[0]) * b ** np.float32(powers[1])
    return connect_locally(FuzzyGraph.of_matrix(pattern), neighbors)


def union(graph: FuzzyGraph, other: FuzzyGraph, neighbors: int | None = None) -> FuzzyGraph:
    """Return the union of two graphs, a + b - ab on every edge that one of them has."""
    pattern, a, b = _on_all_edges(graph, other, 1.0)
    pattern.data = 1 - (1 - a.astype(np.float64)) * (1 - b.astype(np.float64))
    return connect_locally(FuzzyGraph.of_matrix(pattern), neighbors)


def difference(graph: FuzzyGraph, other: FuzzyGraph) -> FuzzyGraph:
    """Return the edges of a graph, weaker where the other one has them too: a (1 - b)."""
    pattern, a, b = _on_all_edges(graph, other, 1.0, absent=0.0)
    pattern.data = a * (1 - b)
    return connect_locally(FuzzyGraph.of_matrix(pattern))


def _on_all_edges(
    graph: FuzzyGraph, other: FuzzyGraph, most: float, absent: float | None = None
) -> tuple[scipy.sparse.csr_array, np.ndarray, np.ndarray]:
    """A matrix with the edges of both graphs, and their weights: ``absent``, or half the least, for a missing edge."""
    A, B = graph.matrix(), other.matrix()
    pattern = scipy.sparse.csr_array(A + B).sorted_indices()
    a, b = _values_on(pattern, A), _values_on(pattern, B)
    a[a == 0] = max(float(A.data.min(initial=1)) / 2, _SMALLEST) if absent is None else absent
    b[b == 0] = min(max(float(B.data.min(initial=1)) / 2, _SMALLEST), most) if absent is None else absent
    return pattern, a, b


def connect_locally(graph: FuzzyGraph, neighbors: int | None = None) -> FuzzyGraph:
    """Return the union of the graph after each row is divided by its largest weight, so that no row is isolated.

    With ``neighbors``, the weights of each row are first raised to the power by which they sum to log2 of this number.
    """
    counts = np.diff(graph.start)
    top = np.ones(graph.n, dtype=np.float32)
    with_edges = counts > 0
    if with_edges.any():
        top[with_edges] = np.maximum.reduceat(graph.weight, graph.start[:-1][with_edges])
    top[top <= 0] = 1
    weight = graph.weight / np.repeat(top, counts)
    if neighbors is not None and with_edges.any():
        first, counts = graph.start[:-1][with_edges], counts[with_edges]
        low, high = np.zeros(len(first)), np.full(len(first), np.inf)
        for _ in range(_HALVINGS):
            power = np.where(np.isinf(high), 2.0 ** (low > 0) * np.maximum(low, 1.0), (low + high) / 2)
            total = np.add.reduceat(weight ** np.repeat(power, counts), first)
            low, high = np.where(total > math.log2(neighbors), (power, high), (low, power))
        weight = (weight ** np.repeat(power, counts)).astype(np.float32)
    return fuzzy_union(graph.start, graph.to, weight)


def _values_on(pattern: scipy.sparse.csr_array, W: scipy.sparse.csr_array) -> np.ndarray:
    """The values of W at the entries of a sorted pattern that includes its own, 0 elsewhere, (entries,)."""
    values = np.zeros(pattern.nnz, dtype=np.float32)
    values[np.searchsorted(_keys(pattern), _keys(W))] = W.data
    return values


def _keys(W: scipy.sparse.csr_array) -> np.ndarray:
    """One integer per entry, in increasing order if the entries are sorted, (entries,)."""
    return np.repeat(np.arange(W.shape[0]), np.diff(W.indptr)) * np.int64(W.shape[1]) + W.indices

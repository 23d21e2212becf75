"""Geodesic distances: lengths of shortest paths along the links of a graph, and what they tell."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from scipy.sparse.csgraph import reverse_cuthill_mckee

from lowland.arrays.namespace import Array, is_sparse, like, to_numpy, xp_of
from lowland.blocks.distances.to_points import DistancesTo
from lowland.blocks.neighbors.exact_search import blocks, over_blocks
from lowland.blocks.neighbors.graph import NearestAmong, NeighborGraph
from lowland.blocks.scaling.classical import Scaling, formed
from lowland.blocks.spectra.leading import Solver, leading_eigenpairs
from lowland.blocks.spectra.operators import DoubleCentered
from lowland.blocks.statistics.rescaling import unit_of
from lowland.blocks.statistics.sampling import evenly_spread
from lowland.data.rows import ArrayRows
from lowland.errors import DataError
from lowland.kernels import shortest_paths as kernels
from lowland.run.run import Run, run_for

PathMethod = Literal["auto", "FW", "D"]

IN_DOUBLE = 4096  # points up to which paths are summed in float64; beyond, in float32, which halves the memory
SAMPLE = 1000  # points that stand for all where every pair would be compared
_LANES = 16  # sources carried at once: as many float32 as a cache line holds
_AT_ONCE = 4  # blocks of sources in one piece of work: Ctrl-C waits for no more
_FINE = 0.25  # width of a bucket, in mean links: narrower ones are empty, wider ones pass paths on too early
_MOST_BUCKETS = 4096
_DENSE = 1 / 8  # share of all pairs that are linked from which Floyd and Warshall's way is the shorter
_DENSE_POINTS = 2048
_TOGETHER = 512  # rows that are compared with their mirror image in one piece of work
_FEW, _TOL = 400, 1e-7  # points up to which all eigenpairs are found; residual of the leading ones of more
_SINGLE = 100  # powers of two that float32 holds with room to spare
_THROUGH = 64  # points that paths are led through at a time, whose rows fit the cache


@dataclass(frozen=True)
class Roads:
    """A graph laid out for walking: points that are near each other are near in memory."""

    start: np.ndarray  # (n + 1,) int64
    to: np.ndarray  # (links,) int32
    length: np.ndarray  # (links,)
    place: np.ndarray  # (n,) the number that each point has in the graph it was laid out from

    @classmethod
    def of(cls, graph: NeighborGraph, dtype: Any) -> Roads:
        """Lay out a graph with links in both directions: balls of neighbours, along the Cuthill-McKee order."""
        along = reverse_cuthill_mckee(graph.matrix(np.ones(len(graph.to), dtype=np.int8)), symmetric_mode=True)
        place, here = np.empty(graph.n, dtype=np.int32), np.empty(graph.n, dtype=np.int32)
        kernels.in_balls(graph.start, graph.to, along.astype(np.int32), _LANES, 64 * _LANES, place)
        here[place] = np.arange(graph.n, dtype=np.int32)
        degree = np.diff(graph.start)[place]
        start = np.concatenate([[0], np.cumsum(degree)])
        links = np.repeat(graph.start[place] - start[:-1], degree) + np.arange(start[-1])  # where each link stood
        return cls(start, here[graph.to[links]], graph.length[links].astype(dtype), place)

    @property
    def width(self) -> float:
        """The width of a bucket, such that their number stays within bounds however long a link may be."""
        longest = float(self.length.max(initial=0))
        mean = float(self.length.mean(dtype=np.float64)) if len(self.length) else 0.0
        return max(_FINE * mean, longest / _MOST_BUCKETS, longest * len(self.place) / 2**30) or 1.0


def geodesic_distances(
    graph: NeighborGraph,
    run: Run,
    *,
    sources: np.ndarray | None = None,
    method: PathMethod = "auto",
    dtype: Any = None,
) -> np.ndarray:
    """Return the lengths of the shortest paths between all points, (n, n), symmetric; from ``sources`` alone, (m, n).

    The graph has its links in both directions. Where no path leads the length is infinite. "D": Dijkstra's way, by
    buckets and for many sources at once; "FW": Floyd and Warshall's, for dense graphs. Both give the least sum over all
    paths, to rounding. Lengths are summed in units of about their mean, so that sums neither overflow nor vanish; where
    float32 cannot hold sums of float64 lengths, they are returned in float64.
    """
    n = graph.n
    dtype = np.dtype(dtype or (graph.length.dtype if n <= IN_DOUBLE else np.float32))
    m = n if sources is None else len(sources)
    if method == "auto":
        dense = n <= _DENSE_POINTS and len(graph.to) > _DENSE * n * n and 2 * m > n
        method = "FW" if dense else "D"
    size = dtype.itemsize * n * (n if method == "FW" else m)
    run.require(size, f"The geodesic distances of {m:,} to {n:,} points", "Choose n_landmarks, or fewer of them")
    exponent = _exponent(graph.length)
    scaled = replace(graph, length=np.ldexp(graph.length.astype(np.float64), -exponent))
    return _in_units(_paths(scaled, run, sources, method, dtype), exponent, graph.length.dtype, run)


def _exponent(length: np.ndarray) -> int:
    """The power of two next to the mean length, by which lengths are divided without losing a digit."""
    longest = float(length.max(initial=0))
    if not math.isfinite(longest):
        raise DataError(
            "Links of the graph are infinitely long. Check the distances, or divide the data by a large number."
        )
    return math.frexp(longest * float((length / longest).mean(dtype=np.float64)))[1] - 1 if longest else 0


def _in_units(D: np.ndarray, exponent: int, given: np.dtype, run: Run) -> np.ndarray:
    """D times 2^exponent, in place; in the wider of its own and the ``given`` type where its own would not hold it."""
    if exponent == 0:
        return D
    longest = max(float(row.max(initial=0, where=np.isfinite(row))) for row in D)
    highest = math.frexp(longest)[1] + exponent
    if D.dtype == np.float32 and given == np.float64 and not -_SINGLE < exponent <= highest < _SINGLE:
        run.require(3 * D.nbytes, "Geodesic distances beyond float32", "Multiply or divide the data by a large number")
        D = D.astype(np.float64)
    if highest > np.finfo(D.dtype).maxexp:
        raise DataError(f"Geodesic distances are longer than {D.dtype} can hold. Divide the data by a large number.")
    D *= D.dtype.type(2.0**exponent)
    return D


def _paths(
    graph: NeighborGraph, run: Run, sources: np.ndarray | None, method: PathMethod, dtype: np.dtype
) -> np.ndarray:
    if method == "FW":
        D = _by_points_between(graph, run, dtype)
        return D if sources is None else D[sources]
    n = graph.n
    m = n if sources is None else len(sources)
    roads = Roads.of(graph, dtype)
    D = np.empty((m, n), dtype=dtype)
    if sources is None:
        _walk(roads, np.arange(n, dtype=np.int32), roads.place, D, run)
        _mirror(D, run)  # sums taken from one end or from the other may round differently
        return D
    here = np.empty(n, dtype=np.int32)
    here[roads.place] = np.arange(n, dtype=np.int32)
    begin = here[sources]
    near = np.argsort(begin)  # neighbouring sources are carried together
    _walk(roads, begin[near], near.astype(np.int32), D, run)
    return D


def _walk(roads: Roads, begin: np.ndarray, row: np.ndarray, D: np.ndarray, run: Run) -> None:
    """Write the distances from points ``begin`` into rows ``row`` of D, pieces of the work on threads."""
    m, n = D.shape
    lanes = _LANES if 4 * m >= n else 1  # sources far from each other have no steps in common
    width = roads.length.dtype.type(roads.width)

    def piece(block: slice) -> None:
        kernels.paths_from(roads.start, roads.to, roads.length, begin[block], roads.place, width, lanes, D, row[block])

    over_blocks(run, "geodesic distances", blocks(m, _AT_ONCE * lanes), piece)


def _by_points_between(graph: NeighborGraph, run: Run, dtype: np.dtype) -> np.ndarray:
    n = graph.n
    D = np.full((n, n), np.inf, dtype=dtype)
    np.minimum.at(D, (graph.sources, graph.to), graph.length.astype(dtype))
    np.fill_diagonal(D, 0)
    with run.stage("geodesic distances", n) as stage:
        for first in range(0, n, _THROUGH):
            kernels.paths_through(D, first, min(first + _THROUGH, n))
            stage.advance(min(_THROUGH, n - first))
    _mirror(D, run)
    return D


def _mirror(D: np.ndarray, run: Run) -> None:
    """Take the smaller of the two numbers of each pair."""
    over_blocks(run, "mirroring", blocks(len(D), _TOGETHER), lambda part: kernels.mirror(D, part.start, part.stop))


def symmetric_part(D: np.ndarray, marks: np.ndarray) -> np.ndarray:
    """Return the distances among landmarks, (m, m), from those to all, (m, n), and write it there."""
    S = np.ascontiguousarray(D[:, marks])
    kernels.mirror(S, 0, len(S))
    D[:, marks] = S
    return S


def close_gaps(D: np.ndarray) -> bool:
    """Set infinite distances to the largest finite one, in place; return whether there were any."""
    with np.errstate(invalid="ignore"):
        apart, largest = False, 0.0
        for row in D:
            finite = np.isfinite(row)
            apart |= not finite.all()
            largest = max(largest, float(row[finite].max(initial=0)))
        if apart:
            np.minimum(D, D.dtype.type(largest), out=D)
    return apart


# --- new points -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ByWayOfNeighbors:
    """Geodesic distances of new rows: to a neighbour among the points, and on along theirs, the shortest such way.

    An object, so that it can travel to a worker. Neighbours are the ``nearest``, or all within ``radius`` (the nearest
    one, where there is none).
    """

    D: np.ndarray  # (n, n) between the points, or (m, n) from landmarks
    nearest: NearestAmong | None  # None: the rows are distances, of which the ``k`` smallest count
    k: int = 1
    measure: DistancesTo | None = None
    radius: float | None = None
    kept: np.ndarray | None = None  # the columns of given distances that belong to the points; None: all

    def __call__(self, X: Array) -> Array:
        """Return the distances to all points, or to all landmarks, (rows, m) float64."""
        start, to, length = self._links(X)
        m, n = self.D.shape
        out = np.empty((len(start) - 1, m))
        kernels.by_way_of(start, to, length, self.D, m != n, out)
        return out if is_sparse(X) else like(out, X, xp_of(X).float64)

    def _links(self, X: Array) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        if is_sparse(X):  # the links of new points, as a graph is given
            X = X.tocsr() if self.kept is None else X.tocsr()[:, self.kept]
            return X.indptr.astype(np.int64), X.indices.astype(np.int64), X.data.astype(np.float64)
        if self.kept is not None:
            X = xp_of(X).take(X, like(self.kept, X, xp_of(X).int64), axis=1)
        if self.radius is None:
            to, length = smallest(to_numpy(X), self.k) if self.nearest is None else self.nearest(X)
            start = np.arange(len(to) + 1) * to.shape[1]
            return start, to.ravel().astype(np.int64), length.ravel().astype(np.float64)
        S = to_numpy(X if self.measure is None else self.measure(X)).astype(np.float64)  # (rows, n)
        near = (self.radius >= S) | (S.min(axis=1, keepdims=True) == S)
        start = np.concatenate([[0], np.cumsum(near.sum(axis=1))])
        return start, np.nonzero(near)[1], S[near]


def placed(D: np.ndarray, scaling: Scaling) -> np.ndarray:
    """Return where Gower's formula puts all points by their distances to landmarks, D (m, n): (n, k)."""
    W, n = scaling.weights, D.shape[1]
    Z = np.empty((n, W.shape[1]))
    step = max(1, 2**22 // len(D))
    for first in range(0, n, step):
        part = D[:, first : first + step].astype(np.float64)
        Z[first : first + step] = (scaling.means[:, None] - part * part).T @ W
    return Z


def smallest(D: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the places and values of the k smallest numbers in each row, both (rows, k); of equal ones the first."""
    to = np.argsort(D, axis=1, kind="stable")[:, :k]
    return to, np.take_along_axis(D, to, axis=1)


# --- what geodesics tell ----------------------------------------------------------------------------------------------


def residual_variances(D: np.ndarray, most: int = 10) -> np.ndarray:
    """Return 1 - r² of the geodesic and the straight distances for maps of 1, 2, … dimensions, (``most``,) at most.

    D, (s, s), is scaled classically. Dimensions without a positive eigenvalue add nothing.
    """
    s, D = len(D), D / D.dtype.type(unit_of(D))  # correlations are free of units
    run = run_for(ArrayRows(D))
    B = formed(DoubleCentered(ArrayRows(D), run, True), D)
    solver: Solver = "eigh" if s <= _FEW else "krylov"
    pairs = leading_eigenpairs(B, min(most, s - 1), run=run, definite=False, solver=solver, tol=_TOL)
    Z = pairs.vectors * np.sqrt(np.maximum(pairs.values, 0))[None, :]
    below = np.tril_indices(s, -1)
    given = D[below].astype(np.float64)
    squares, left = np.zeros(len(given)), []
    for z in Z.T:
        squares += (z[below[0]] - z[below[1]]) ** 2
        left.append(1 - _correlation(given, np.sqrt(squares)) ** 2)
    return np.array(left)


def _correlation(a: np.ndarray, b: np.ndarray) -> float:
    a, b = a - a.mean(), b - b.mean()
    size = float(np.sqrt(a @ a) * np.sqrt(b @ b))
    return float(a @ b) / size if size > 0 else 0.0


def strain(D: np.ndarray, means: np.ndarray, kept: np.ndarray) -> float:
    """Return |B - ZZ'| / n, B = -½ J(D∘D)J and ``kept`` the eigenvalues of Z; ``means`` are those of D∘D by row."""
    unit = unit_of(D)
    means, kept = means / unit / unit, kept.astype(np.float64) / unit / unit
    total, overall = 0.0, means.mean()
    step = max(1, 2**22 // len(D))
    for first in range(0, len(D), step):
        part = D[first : first + step].astype(np.float64) / unit
        part = (part * part - means[None, :] - (means[first : first + step] - overall)[:, None]) / -2
        total += float(np.sum(part * part))
    return max(0.0, total - float(np.sum(kept * kept))) ** 0.5 / len(D) * unit * unit


def sampled(n: int, most: int = SAMPLE) -> np.ndarray:
    """Return the numbers of all points, or of ``most`` spread evenly over them."""
    return np.arange(n) if n <= most else np.flatnonzero(evenly_spread(n, most, np.random.default_rng(0)))

"""Geodesic distances: shortest paths in a neighbor graph, their diagnostics, and a sweep of its neighbors."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import partial
from numbers import Integral
from typing import Any, Literal

import numpy as np
from scipy.sparse.csgraph import floyd_warshall, reverse_cuthill_mckee

from lowland.arrays.engines import has_kernels
from lowland.arrays.namespace import Array, device_of, is_sparse, like, slices, to_numpy, xp_of
from lowland.data.rows import ArrayRows
from lowland.errors import DataError, ParameterError
from lowland.kernels import graphs as kernels
from lowland.math.distances.metrics import Metric
from lowland.math.distances.to_points import DistancesTo
from lowland.math.neighbors.connectivity import component_labels
from lowland.math.neighbors.graph import NeighborGraph, given_graph
from lowland.math.neighbors.search import NearestAmong, Search, edges_to_points, nearest_neighbors
from lowland.math.scaling.classical import Scaling, formed
from lowland.math.spectra.component_rules import Knee, Spectrum
from lowland.math.spectra.leading import Iteration, Solver, leading_eigenpairs
from lowland.math.spectra.operators import DoubleCentered
from lowland.math.statistics.rescaling import unit_of
from lowland.math.statistics.sampling import evenly_spread
from lowland.run.memory import release
from lowland.run.progress import in_one_call
from lowland.run.run import Run

PathMethod = Literal["auto", "FW", "D"]

_SWEEPS = 4  # between two looks at whether a path became shorter
IN_DOUBLE = 4096  # points up to which paths are summed in float64; above, in float32, which halves the memory
_LANES = 16  # sources processed at once: as many float32 as fit in a cache line
_AT_ONCE = 4  # blocks of sources per task: Ctrl-C waits for one task at most
_FINE = 0.25  # width of a bucket, in mean edge lengths: narrower ones are empty, wider ones relax edges too early
_MOST_BUCKETS = 4096
_TOGETHER = 512  # rows that are scaled in one task
_TILE, _TILE_ON_DEVICE = 64, 2048  # rows that are symmetrized at a time: in the cache, on a device
_SINGLE = 100  # powers of two within which float32 is safe from overflow and underflow
SAMPLE = 1000  # points sampled where all pairs are compared
_ONE_DIMENSIONAL = 1e-3  # residual variance below which one dimension is enough
_FEW, _TOL = 400, 1e-7  # points up to which all eigenpairs are computed; tolerance of the leading ones above
_FAR = 0.5  # fraction of the longest geodesic: points farther apart than this are not neighbors on the manifold
_AROUND = 4.0  # a shortcut's detour must be at least so many times its length
_FEWER = 2 / 3  # each graph is compared with one of this fraction of its neighbors
_LASTING = 1.25  # a shortcut must persist up to this multiple of the neighbors at which it appeared; holes close sooner
_EXACT = 2000  # points up to which all geodesics are computed
_DIFFERENCES = 1 << 18  # differences computed at a time


# --- geodesic distances -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class PathGraph:
    """A graph reordered for the search of paths: neighboring points are close in memory."""

    start: np.ndarray  # (n + 1,) int64
    to: np.ndarray  # (edges,) int32
    length: np.ndarray  # (edges,)
    place: np.ndarray  # (n,) the index of each point in the original graph

    @classmethod
    def of(cls, graph: NeighborGraph, dtype: Any) -> PathGraph:
        """Reorder a symmetric graph: balls of neighbors, along the reverse Cuthill-McKee order."""
        along = reverse_cuthill_mckee(graph.matrix(np.ones(len(graph.to), dtype=np.int8)), symmetric_mode=True)
        place, here = np.empty(graph.n, dtype=np.int32), np.empty(graph.n, dtype=np.int32)
        taken, seen = np.zeros(graph.n, dtype=bool), np.full(graph.n, -1, dtype=np.int32)
        queue = np.empty(64 * _LANES, dtype=np.int32)
        kernels.in_balls(graph.start, graph.to, along.astype(np.int32), _LANES, taken, seen, queue, place)
        here[place] = np.arange(graph.n, dtype=np.int32)
        degree = np.diff(graph.start)[place]
        start = np.concatenate([[0], np.cumsum(degree)])
        edges = np.repeat(graph.start[place] - start[:-1], degree) + np.arange(start[-1])  # their original indices
        return cls(start, here[graph.to[edges]], graph.length[edges].astype(dtype), place)

    @property
    def width(self) -> float:
        """The width of a bucket, chosen so that their number is bounded for any edge lengths."""
        longest = float(self.length.max(initial=0))
        mean = float(self.length.mean(dtype=np.float64)) if len(self.length) else 0.0
        return max(_FINE * mean, longest / _MOST_BUCKETS, longest * len(self.place) / 2**30) or 1.0


def geodesic_distances(
    graph: NeighborGraph | Any,
    run: Run | None = None,
    *,
    sources: np.ndarray | None = None,
    method: PathMethod = "auto",
    dtype: Any = None,
    home: Array | None = None,
) -> Array:
    """Return the lengths of the shortest paths between the points of a graph.

    Lengths are scaled by about their mean, so that sums neither overflow nor underflow. If float32 cannot represent
    the result of float64 lengths, it is returned in float64.

    Parameters
    ----------
    graph : NeighborGraph, sparse matrix or array, (n, n)
        A NeighborGraph with its edges in both directions, or a matrix of edge lengths, for which one direction is
        enough. In a dense matrix, zero and infinity mean no edge.
    run : Run, optional
        Threads, progress and memory budget, by default those of this machine.
    sources : (m,) array of int, optional
        The points at which paths start, by default all.
    method : {"auto", "D", "FW"}
        Dijkstra's algorithm, with buckets and for many sources at once ("auto" and "D"), or scipy's Floyd-Warshall
        algorithm. Both give the same distances up to rounding error.
    dtype : optional
        float64 or float32, by default that of the lengths up to 4,096 points, float32 above.
    home : array, optional
        An array on the device that finds the paths, where it has the memory. They are returned there.

    Returns
    -------
    (n, n) array, symmetric, or (m, n) from ``sources``. Infinite between different connected components.

    Examples
    --------
    >>> import numpy as np
    >>> from lowland.math.graphs.geodesics import geodesic_distances
    >>> geodesic_distances(np.array([[0.0, 1, 4], [1, 0, 2], [4, 2, 0]]))
    array([[0., 1., 3.],
           [1., 0., 2.],
           [3., 2., 0.]])
    """
    run = run or Run()
    graph = graph if isinstance(graph, NeighborGraph) else given_graph(graph).symmetric()
    n = graph.n
    dtype = np.dtype(dtype or (graph.length.dtype if n <= IN_DOUBLE else np.float32))
    longest = float(graph.length.max(initial=0))
    if not math.isfinite(longest):
        raise DataError(
            "Edges of the graph are infinitely long. Check the distances, or divide the data by a large number."
        )
    # the power of two near the mean length: dividing by it loses no digit
    mean = longest * float((graph.length / longest).mean(dtype=np.float64)) if longest else 1.0
    exponent = math.frexp(mean)[1] - 1
    scaled = replace(graph, length=np.ldexp(graph.length.astype(np.float64), -exponent))
    if method == "FW":
        D = in_one_call(lambda: floyd_warshall(scaled.matrix()), "geodesic distances").astype(dtype)
        _mirror(D, run)
        D = D if sources is None else D[sources]
    else:
        there = _by_sweeps(scaled, home, dtype) if has_kernels(home) and sources is None else None
        if there is not None and abs(exponent) < _SINGLE // 4:
            there *= 2.0**exponent
            return there
        D = _by_buckets(scaled, run, sources, dtype) if there is None else to_numpy(there)
    return _in_units(D, exponent, graph.length.dtype, run)


def _in_units(D: np.ndarray, exponent: int, given: np.dtype, run: Run) -> np.ndarray:
    """D times 2^exponent, in place; in float64 if float32 would overflow or underflow and ``given`` is float64."""
    if exponent == 0:
        return D
    parts = slices(len(D), _TOGETHER)

    def longest_in(part: slice) -> float:
        longest = float(D[part].max())
        release(D)
        return longest if math.isfinite(longest) else float(D[part].max(initial=0, where=np.isfinite(D[part])))

    def multiply(part: slice) -> None:
        D[part] *= D.dtype.type(2.0**exponent)
        release(D)

    longest = max(run.each("measuring distances", parts, longest_in))
    highest = math.frexp(longest)[1] + exponent
    if D.dtype == np.float32 and given == np.float64 and not -_SINGLE < exponent <= highest < _SINGLE:
        D = D.astype(np.float64)
    if highest > np.finfo(D.dtype).maxexp:
        raise DataError(f"Geodesic distances overflow {D.dtype}. Divide the data by a large number.")
    run.each("measuring distances", parts, multiply)
    return D


def _by_sweeps(graph: NeighborGraph, home: Array, dtype: np.dtype) -> Array | None:
    """Sweeps over all edges for all sources, on the device of ``home``; None where it has too little memory."""
    from lowland.kernels.on_device import relax

    xp, n, device = xp_of(home), graph.n, device_of(home)
    kind = xp.float32 if dtype == np.float32 else xp.float64
    start, to = (like(each, home, each_kind) for each, each_kind in ((graph.start, xp.int64), (graph.to, xp.int32)))
    length, changed = like(graph.length, home, kind), xp.ones((1,), dtype=xp.int32, device=device)
    try:
        D = xp.full((n, n), xp.inf, dtype=kind, device=device)
    except RuntimeError:
        return None
    D.fill_diagonal_(0)
    while int(changed[0]):
        changed[:] = 0
        for _ in range(_SWEEPS):
            relax(start, to, length, D, changed)
    for rows in slices(n, _TILE_ON_DEVICE):
        _keep_smaller(D, rows)
    return D


def _by_buckets(graph: NeighborGraph, run: Run, sources: np.ndarray | None, dtype: np.dtype) -> np.ndarray:
    """Dijkstra's algorithm with buckets, for several sources at once, on the run's threads."""
    n, paths = graph.n, PathGraph.of(graph, dtype)
    begin, row = np.arange(n, dtype=np.int32), paths.place
    if sources is not None:
        here = np.empty(n, dtype=np.int32)
        here[paths.place] = begin
        row = np.argsort(here[sources]).astype(np.int32)  # neighboring sources are processed together
        begin = here[sources][row]
    m = len(begin)
    D = np.empty((m, n), dtype=dtype) if sources is None else run.scratch((m, n), dtype)
    width = paths.length.dtype.type(paths.width)
    lanes = _LANES if 4 * m >= n else 1  # distant sources share no work

    def piece(block: slice) -> None:
        kernels.paths_from(paths.start, paths.to, paths.length, begin[block], paths.place, width, lanes, D, row[block])
        release(D)

    run.each("geodesic distances", slices(m, _AT_ONCE * lanes), piece)
    if sources is None:
        _mirror(D, run)
    return D


def _mirror(D: np.ndarray, run: Run) -> None:
    run.each("symmetrizing distances", slices(len(D), _TILE), partial(_keep_smaller, D))


def _keep_smaller(D: Array, rows: slice) -> None:
    """Replace both entries of each pair by the smaller: sums from one end or from the other may round differently."""
    least = xp_of(D).minimum(D[rows, : rows.stop], D[: rows.stop, rows].T)
    D[rows, : rows.stop], D[: rows.stop, rows] = least, least.T


def symmetric_part(D: np.ndarray, marks: np.ndarray) -> np.ndarray:
    """Return the symmetrized distances between landmarks, (m, m), from those to all, (m, n), and update these."""
    S = np.minimum(D[:, marks], D[:, marks].T)
    D[:, marks] = S
    return S


def replace_infinite(D: np.ndarray) -> bool:
    """Replace infinite distances by the largest finite one, in place; return whether there were any."""
    with np.errstate(invalid="ignore"):
        apart, largest = False, 0.0
        for row in D:
            finite = np.isfinite(row)
            apart |= not finite.all()
            largest = max(largest, float(row[finite].max(initial=0)))
        if apart:
            np.minimum(D, D.dtype.type(largest), out=D)
    return apart


@dataclass(frozen=True)
class GeodesicsToNewRows:
    """Geodesic distances of new rows, through their nearest training points; it can be sent to a worker.

    Neighbors are the ``nearest`` points, or all within ``radius`` (the nearest one, if there is none).
    """

    D: np.ndarray  # (n, n) between the points, or (m, n) from landmarks
    nearest: NearestAmong | None  # None: the rows are distances, and the ``k`` smallest count
    k: int = 1
    measure: DistancesTo | None = None
    radius: float | None = None
    kept: np.ndarray | None = None  # the columns of given distances that belong to embedded points; None: all

    def __call__(self, X: Array) -> Array:
        """Return the distances to all points, or to all landmarks, (rows, m) float64."""
        if self.radius is None or (is_sparse(X) and self.nearest is None):
            start, to, length = edges_to_points(X, self.nearest, self.k, self.kept)
        else:
            S = to_numpy(X if self.measure is None else self.measure(X)).astype(np.float64)  # (rows, n)
            S = S if self.kept is None else S[:, self.kept]
            near = (self.radius >= S) | (np.fmin.reduce(S, axis=1, keepdims=True) == S)
            start = np.concatenate([[0], np.cumsum(near.sum(axis=1))])
            to, length = np.nonzero(near)[1], S[near]
        m, n = self.D.shape
        out = np.empty((len(start) - 1, m))
        edges = to.astype(np.int64), length.astype(np.float64)
        kernels.distances_via_neighbors(start, *edges, self.D, m != n, out)
        return out if is_sparse(X) else like(out, X, xp_of(X).float64)


def landmark_coordinates(D: np.ndarray, scaling: Scaling) -> np.ndarray:
    """Return the coordinates of all points, (n, k), from their distances to landmarks, D (m, n), by Gower's formula."""
    W, n = scaling.weights, D.shape[1]
    Z = np.empty((n, W.shape[1]))
    step = max(1, 2**22 // len(D))
    for first in range(0, n, step):
        part = D[:, first : first + step].astype(np.float64)
        Z[first : first + step] = (scaling.means[:, None] - part * part).T @ W
    return Z


# --- diagnostics ------------------------------------------------------------------------------------------------------


def residual_variances(D: np.ndarray, most: int = 10) -> np.ndarray:
    """Return 1 - r² between geodesic and Euclidean distances for embeddings of 1 to at most ``most`` dimensions.

    The embedding is classical scaling of D, (s, s). Dimensions without a positive eigenvalue add nothing.
    """
    s, D = len(D), D / D.dtype.type(unit_of(D))  # correlations do not depend on the unit
    run = Run()
    B = formed(DoubleCentered(ArrayRows(D), run, True), D)
    solver: Solver = "eigh" if s <= _FEW else "krylov"
    pairs = leading_eigenpairs(B, min(most, s - 1), run=run, definite=False, solver=solver, options=Iteration(tol=_TOL))
    Z = pairs.vectors * np.sqrt(np.maximum(pairs.values, 0))[None, :]
    below = np.tril_indices(s, -1)
    given = D[below].astype(np.float64)
    squares, left = np.zeros(len(given)), []
    a = given - given.mean()
    for z in Z.T:
        squares += (z[below[0]] - z[below[1]]) ** 2
        b = np.sqrt(squares)
        b -= b.mean()
        size = float(np.sqrt(a @ a) * np.sqrt(b @ b))
        left.append(1 - (float(a @ b) / size) ** 2 if size > 0 else 1.0)
    return np.array(left)


def elbow(left: np.ndarray, n: int) -> int:
    """Return the elbow of residual variances, (k,), of n points: an estimate of the intrinsic dimension."""
    if left[0] < _ONE_DIMENSIONAL or left[0] <= left[-1] or len(left) < 3:
        return 1
    choice = Knee().decide(Spectrum(left, float(left.sum()), len(left), n, len(left)))
    assert choice is not None  # the rule has the whole spectrum
    return choice.n_components + 1  # the rule counts the dimensions before the elbow


def strain(D: np.ndarray, means: np.ndarray, kept: np.ndarray) -> float:
    """Return |B - ZZ'| / n with B = -½ J(D∘D)J; ``kept`` are the eigenvalues of ZZ', ``means`` the row means of D∘D."""
    unit = unit_of(D)
    means, kept = means / unit / unit, kept.astype(np.float64) / unit / unit
    total, overall = 0.0, means.mean()
    step = max(1, 2**22 // len(D))
    for first in range(0, len(D), step):
        part = D[first : first + step].astype(np.float64) / unit
        part = (part * part - means[None, :] - (means[first : first + step] - overall)[:, None]) / -2
        total += float(np.sum(part * part))
    return max(0.0, total - float(np.sum(kept * kept))) ** 0.5 / len(D) * unit * unit


def sample_points(n: int, most: int = SAMPLE) -> np.ndarray:
    """Return the indices of all points, or of ``most`` spread evenly over them."""
    return np.arange(n) if n <= most else np.flatnonzero(evenly_spread(n, most, np.random.default_rng(0)))


# --- sweep of the number of neighbors ---------------------------------------------------------------------------------


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
    ks, n = sorted({*counts} if isinstance(counts, Iterable) else {counts}), X.shape[0]
    if not ks or not all(isinstance(k, Integral) for k in ks) or ks[0] < 1 or ks[-1] >= n:
        raise ParameterError(f"{ks} neighbors per point: the data has {n} points. Pass integers from 1 to {n - 1}.")
    ks = [int(k) for k in ks]
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
        cut, after = may_be, D  # the geodesics without the shortcuts
        while cut.any():
            after = _geodesics(graph.chosen(~cut), self.run)
            still = cut & _shortcuts(graph, after)
            if (still == cut).all():
                break
            cut, after = still, D  # other edges of this graph lead around a hole that the smaller graph left open
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


def _geodesics(graph: NeighborGraph, run: Run) -> np.ndarray:
    """Geodesic distances between all points, (n, n), or from sampled points, (s, n)."""
    some = sample_points(graph.n, _EXACT)
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
    apart, step = np.zeros(len(i)), max(1, _DIFFERENCES // len(D))
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
    of = sample_points(graph.n, _EXACT)  # the points of the rows of D
    some = sample_points(len(of))
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

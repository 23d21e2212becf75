"""Geodesic distances: lengths of shortest paths in a neighbor graph, between its points and from new rows."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from scipy.sparse.csgraph import reverse_cuthill_mckee

from lowland.arrays.namespace import Array, is_sparse, like, to_numpy, xp_of
from lowland.arrays.slices import slices
from lowland.errors import DataError
from lowland.kernels import shortest_paths as kernels
from lowland.math.distances.to_points import DistancesTo
from lowland.math.neighbors.graph import NeighborGraph, given_graph
from lowland.math.neighbors.out_of_sample import NearestAmong
from lowland.math.scaling.classical import Scaling
from lowland.run.local import LocalRun
from lowland.run.run import Run

PathMethod = Literal["auto", "FW", "D"]

IN_DOUBLE = 4096  # points up to which paths are summed in float64; above, in float32, which halves the memory
_LANES = 16  # sources processed at once: as many float32 as fit in a cache line
_AT_ONCE = 4  # blocks of sources per task: Ctrl-C waits for one task at most
_FINE = 0.25  # width of a bucket, in mean edge lengths: narrower ones are empty, wider ones relax edges too early
_MOST_BUCKETS = 4096
_DENSE = 1 / 8  # fraction of all pairs that are edges, above which the Floyd-Warshall algorithm is faster
_DENSE_POINTS = 2048  # points up to which it is considered
_TOGETHER = 512  # rows that are symmetrized in one task
_SINGLE = 100  # powers of two within which float32 is safe from overflow and underflow
_THROUGH = 64  # intermediate points of Floyd-Warshall processed at a time, whose rows fit in the cache


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
        kernels.in_balls(graph.start, graph.to, along.astype(np.int32), _LANES, 64 * _LANES, place)
        here[place] = np.arange(graph.n, dtype=np.int32)
        degree = np.diff(graph.start)[place]
        start = np.concatenate([[0], np.cumsum(degree)])
        edges = np.repeat(graph.start[place] - start[:-1], degree) + np.arange(
            start[-1]
        )  # the original index of each edge
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
) -> np.ndarray:
    """Return the lengths of the shortest paths between the points of a graph.

    Lengths are scaled by about their mean, so that sums neither overflow nor underflow. If float32 cannot represent
    the result of float64 lengths, it is returned in float64.

    Parameters
    ----------
    graph : NeighborGraph, sparse matrix or array, (n, n)
        A NeighborGraph with its edges in both directions, or a matrix of edge lengths, for which one direction is
        enough. In a dense matrix, zero and infinity mean no edge.
    run : Run, optional
        Threads, progress and memory budget; by default those of this machine.
    sources : (m,) array of int, optional
        The points at which paths start; by default all.
    method : {"auto", "D", "FW"}
        Dijkstra's algorithm, with buckets and for many sources at once, or the Floyd-Warshall algorithm, for dense
        graphs. Both give the same distances up to rounding error.
    dtype : optional
        float64 or float32; by default that of the lengths up to 4,096 points, float32 above.

    Returns
    -------
    (n, n) array, symmetric, or (m, n) from ``sources``; infinite between different connected components.

    Examples
    --------
    >>> import numpy as np
    >>> from lowland.math.graphs.shortest_paths import geodesic_distances
    >>> geodesic_distances(np.array([[0.0, 1, 4], [1, 0, 2], [4, 2, 0]]))
    array([[0., 1., 3.],
           [1., 0., 2.],
           [3., 2., 0.]])
    """
    run = run or LocalRun()
    graph = graph if isinstance(graph, NeighborGraph) else given_graph(graph).symmetric()
    n = graph.n
    dtype = np.dtype(dtype or (graph.length.dtype if n <= IN_DOUBLE else np.float32))
    m = n if sources is None else len(sources)
    if method == "auto":
        dense = n <= _DENSE_POINTS and len(graph.to) > _DENSE * n * n and 2 * m > n
        method = "FW" if dense else "D"
    size = dtype.itemsize * n * (n if method == "FW" else m)
    run.require(size, f"The geodesic distances of {m:,} to {n:,} points", "Use fewer sources")
    exponent = _exponent(graph.length)
    scaled = replace(graph, length=np.ldexp(graph.length.astype(np.float64), -exponent))
    return _in_units(_paths(scaled, run, sources, method, dtype), exponent, graph.length.dtype, run)


def _exponent(length: np.ndarray) -> int:
    """The exponent of the power of two near the mean length; dividing by it loses no digit."""
    longest = float(length.max(initial=0))
    if not math.isfinite(longest):
        raise DataError(
            "Edges of the graph are infinitely long. Check the distances, or divide the data by a large number."
        )
    return math.frexp(longest * float((length / longest).mean(dtype=np.float64)))[1] - 1 if longest else 0


def _in_units(D: np.ndarray, exponent: int, given: np.dtype, run: Run) -> np.ndarray:
    """D times 2^exponent, in place; in float64 if float32 would overflow or underflow and ``given`` is float64."""
    if exponent == 0:
        return D
    longest = max(float(row.max(initial=0, where=np.isfinite(row))) for row in D)
    highest = math.frexp(longest)[1] + exponent
    if D.dtype == np.float32 and given == np.float64 and not -_SINGLE < exponent <= highest < _SINGLE:
        run.require(
            3 * D.nbytes, "Geodesic distances beyond `float32`", "Multiply or divide the data by a large number"
        )
        D = D.astype(np.float64)
    if highest > np.finfo(D.dtype).maxexp:
        raise DataError(f"Geodesic distances overflow {D.dtype}. Divide the data by a large number.")
    D *= D.dtype.type(2.0**exponent)
    return D


def _paths(
    graph: NeighborGraph, run: Run, sources: np.ndarray | None, method: PathMethod, dtype: np.dtype
) -> np.ndarray:
    if method == "FW":
        D = _floyd_warshall(graph, run, dtype)
        return D if sources is None else D[sources]
    n = graph.n
    m = n if sources is None else len(sources)
    paths = PathGraph.of(graph, dtype)
    D = np.empty((m, n), dtype=dtype)
    if sources is None:
        _search_from(paths, np.arange(n, dtype=np.int32), paths.place, D, run)
        _mirror(D, run)  # sums from one end or from the other may round differently
        return D
    here = np.empty(n, dtype=np.int32)
    here[paths.place] = np.arange(n, dtype=np.int32)
    begin = here[sources]
    near = np.argsort(begin)  # neighboring sources are processed together
    _search_from(paths, begin[near], near.astype(np.int32), D, run)
    return D


def _search_from(paths: PathGraph, begin: np.ndarray, row: np.ndarray, D: np.ndarray, run: Run) -> None:
    """Write the distances from points ``begin`` into rows ``row`` of D, on the run's threads."""
    m, n = D.shape
    lanes = _LANES if 4 * m >= n else 1  # distant sources share no work
    width = paths.length.dtype.type(paths.width)

    def piece(block: slice) -> None:
        kernels.paths_from(paths.start, paths.to, paths.length, begin[block], paths.place, width, lanes, D, row[block])

    run.each("geodesic distances", slices(m, _AT_ONCE * lanes), piece)


def _floyd_warshall(graph: NeighborGraph, run: Run, dtype: np.dtype) -> np.ndarray:
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
    """Replace both entries of each pair by the smaller one."""
    run.each("symmetrizing distances", slices(len(D), _TOGETHER), lambda part: kernels.mirror(D, part.start, part.stop))


def symmetric_part(D: np.ndarray, marks: np.ndarray) -> np.ndarray:
    """Return the symmetrized distances between landmarks, (m, m), from those to all, (m, n), and update these."""
    S = np.ascontiguousarray(D[:, marks])
    kernels.mirror(S, 0, len(S))
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
        start, to, length = self._edges(X)
        m, n = self.D.shape
        out = np.empty((len(start) - 1, m))
        kernels.distances_via_neighbors(start, to, length, self.D, m != n, out)
        return out if is_sparse(X) else like(out, X, xp_of(X).float64)

    def _edges(self, X: Array) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        if is_sparse(X) and self.nearest is None:  # the stored distances are the edges of the new rows
            X = X.tocsr() if self.kept is None else X.tocsr()[:, self.kept]
            return X.indptr.astype(np.int64), X.indices.astype(np.int64), X.data.astype(np.float64)
        if self.kept is not None:
            X = xp_of(X).take(X, like(self.kept, X, xp_of(X).int64), axis=1)
        if self.radius is None:
            to, length = k_smallest(to_numpy(X), self.k) if self.nearest is None else self.nearest(X)
            start = np.arange(len(to) + 1) * to.shape[1]
            return start, to.ravel().astype(np.int64), length.ravel().astype(np.float64)
        S = to_numpy(X if self.measure is None else self.measure(X)).astype(np.float64)  # (rows, n)
        near = (self.radius >= S) | (np.fmin.reduce(S, axis=1, keepdims=True) == S)
        start = np.concatenate([[0], np.cumsum(near.sum(axis=1))])
        return start, np.nonzero(near)[1], S[near]


def landmark_coordinates(D: np.ndarray, scaling: Scaling) -> np.ndarray:
    """Return the coordinates of all points, (n, k), from their distances to landmarks, D (m, n), by Gower's formula."""
    W, n = scaling.weights, D.shape[1]
    Z = np.empty((n, W.shape[1]))
    step = max(1, 2**22 // len(D))
    for first in range(0, n, step):
        part = D[:, first : first + step].astype(np.float64)
        Z[first : first + step] = (scaling.means[:, None] - part * part).T @ W
    return Z


def k_smallest(D: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the indices and values of the k smallest numbers in each row, both (rows, k); ties go to the first."""
    to = np.argsort(D, axis=1, kind="stable")[:, :k]
    return to, np.take_along_axis(D, to, axis=1)

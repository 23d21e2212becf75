"""Locally linear embedding: weights that reconstruct each point from its neighbors (Saul and Roweis 2003).

Of sparse rows, only the columns in use are made dense: others add nothing to differences within a neighborhood. A point
is reconstructed from its own neighbors, not from points that have it as a neighbor. So groups of points may be
unconstrained although the graph is connected: its strongly connected components decide.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import scipy.sparse
from scipy.sparse.csgraph import connected_components

from lowland.arrays.namespace import Array, is_sparse, like, slices, to_numpy
from lowland.math.graphs.local_problems import modified_matrices, of_one_size, principal, tangent_matrices, weights_of
from lowland.math.neighbors.graph import NeighborGraph
from lowland.math.neighbors.search import NearestAmong
from lowland.math.optimize.outcome import Outcome
from lowland.math.spectra.trailing import Solver, trailing_eigenpairs
from lowland.run.run import Run, all_finite

_NUMBERS = 1 << 21  # in a dense table of sparse rows
BLOCK = 4096  # neighborhoods a thread works on at a time


# --- neighborhoods ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Neighborhoods:
    """The neighborhoods of the rows ``first`` to ``last``: their points and members are rows of a dense table."""

    first: int
    last: int
    points: np.ndarray  # (last - first, columns) the points themselves
    table: np.ndarray  # (rows, columns)
    start: np.ndarray  # (last - first + 1,) where the members of each begin
    to: np.ndarray  # the members

    def of_one_size(self) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """Yield neighborhoods of one size: the numbers of their points, their members, and the differences to these."""
        for rows, members, C in of_one_size(self.points, self.table, self.start, self.to):
            yield self.first + rows, members, C


def neighborhoods(X: Array, graph: NeighborGraph, first: int, last: int) -> Iterator[Neighborhoods]:
    """Yield the neighborhoods of the points ``first`` to ``last``, all at once, or a few at a time if X is sparse."""
    for a, b in pieces(X, graph.start, first, last):
        i, j = graph.start[a], graph.start[b]
        start, to = graph.start[a : b + 1] - i, graph.to[i:j]
        if is_sparse(X):
            table, to = joint_table(X[a:b], X, to)
            yield Neighborhoods(a, b, table[: b - a], table, start, to)
        else:
            yield Neighborhoods(a, b, X[a:b], X, start, to)


def pieces(X: Any, start: np.ndarray, first: int, last: int) -> Iterator[tuple[int, int]]:
    """Yield the bounds of pieces of neighborhoods: one piece, or several whose dense tables are small."""
    if not is_sparse(X):
        yield first, last
        return
    members = 1 + int(np.diff(start[first : last + 1]).max(initial=0))
    stored = 1 + X.nnz // X.shape[0]  # per row
    step = max(1, int(math.sqrt(_NUMBERS / stored)) // members, _NUMBERS // (members * X.shape[1]))
    for a in range(first, last, step):
        yield a, min(a + step, last)


def joint_table(own: Any, points: Any, to: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return sparse rows and the points at ``to`` as one dense table of the columns in use, and the points' places."""
    used, places = np.unique(to, return_inverse=True)
    rows = scipy.sparse.vstack([scipy.sparse.csr_array(own), scipy.sparse.csr_array(points)[used]], format="csr")
    columns, place = np.unique(rows.indices, return_inverse=True)
    table = scipy.sparse.csr_array((rows.data, place, rows.indptr), shape=(rows.shape[0], max(1, len(columns))))
    return table.toarray(), (places + own.shape[0]).astype(np.int32)


# --- weights ----------------------------------------------------------------------------------------------------------


def reconstruction_weights(
    X: np.ndarray, points: np.ndarray, start: np.ndarray, to: np.ndarray, reg: float = 1e-3
) -> np.ndarray:
    """Return the reconstruction weights of the neighbors, (edges,), which sum to one for each row of X.

    For row x with neighbors p_j they minimize |x - sum_j w_j p_j|² + reg trace(G) |w|², G_ij = (p_i - x)'(p_j - x).
    If all neighbors coincide with x, the weights are equal. ``reg=0`` gives the limit for small ``reg``: of all
    weights with the same error, those of the smallest norm.
    """
    W = np.empty(len(to))
    for rows, _, C in of_one_size(X, points, start, to):
        W[start[rows][:, None] + np.arange(C.shape[1])] = weights_of(C, reg)
    return W


def weight_matrix(X: Array, graph: NeighborGraph, run: Run, *, reg: float = 1e-3) -> scipy.sparse.csr_array:
    """Return the reconstruction weights of all rows, sparse or not, as a sparse W (n, n) whose rows sum to one."""
    values = np.empty(len(graph.to))

    def work(first: int, last: int) -> None:
        for some in neighborhoods(X, graph, first, last):
            a, b = graph.start[some.first], graph.start[some.last]
            values[a:b] = reconstruction_weights(some.points, some.table, some.start, some.to, reg)

    run_blocks(graph.n, work, run, "computing weights")
    return graph.matrix(values)


@dataclass(frozen=True)
class LocalCoordinates:
    """Coordinates that minimize the sum of the local errors."""

    Z: np.ndarray  # (n, k) orthonormal columns, orthogonal to constants
    eigenvalues: np.ndarray  # (k,) ascending; their sum is tr Z'MZ
    outcome: Outcome


def lle_coordinates(
    weights: scipy.sparse.sparray | np.ndarray,
    k: int,
    run: Run | None = None,
    *,
    rng: np.random.Generator | None = None,
    solver: Solver = "auto",
    tol: float | None = None,
    max_iter: int | None = None,
    home: Array | None = None,
) -> LocalCoordinates:
    """Return the k coordinates that the reconstruction weights fit best: locally linear embedding.

    They minimize sum_i |z_i - sum_j w_ij z_j|² over orthonormal columns that sum to zero.

    Parameters
    ----------
    weights : (n, n) sparse matrix or array
        Row i holds the weights of the neighbors of point i, which sum to one.
    k : int
        The number of coordinates.
    run : Run, optional
        Threads, progress and memory budget, by default those of this machine.
    rng : Generator, optional
        Initialization of an iterative solver, by default a fixed seed.
    solver, tol, max_iter, home : optional
        As in ``trailing_eigenpairs``.

    Returns
    -------
    LocalCoordinates
        ``Z`` (n, k), ``eigenvalues`` (k,) and the ``outcome`` of the solver.

    Examples
    --------
    >>> import numpy as np
    >>> from lowland.math.graphs.locally_linear import lle_coordinates
    >>> W = np.array([[0, 1, 0], [0.5, 0, 0.5], [0, 1, 0]])  # three points on a line, the second between the others
    >>> (lle_coordinates(W, 1).Z[:, 0].round(4) + 0.0).tolist()
    [0.7071, 0.0, -0.7071]
    """
    W = scipy.sparse.csr_array(weights)
    E = (scipy.sparse.eye_array(W.shape[0], format="csr") - W).tocsr()  # maps v to its reconstruction errors
    M = (E.T.tocsr() @ E).tocsr()
    return coordinates_of_errors(M, k, run, rng=rng, root=E, solver=solver, tol=tol, max_iter=max_iter, home=home)


def coordinates_of_errors(
    M: scipy.sparse.csr_array,
    k: int,
    run: Run | None = None,
    *,
    rng: np.random.Generator | None = None,
    root: scipy.sparse.csr_array | None = None,
    solver: Solver = "auto",
    tol: float | None = None,
    max_iter: int | None = None,
    home: Array | None = None,
) -> LocalCoordinates:
    """Return the k coordinates that minimize v'Mv, except the constant; M (n, n) is positive semidefinite, M1 = 0.

    ``root`` is a sparse E with M = E'E, where it is known.
    """
    run, rng = run or Run(), rng or np.random.default_rng(0)
    pairs = trailing_eigenpairs(
        M, k, run, rng=rng, skip=1, root=root, solver=solver, tol=tol, max_iter=max_iter, home=home
    )
    return LocalCoordinates(pairs.vectors, pairs.values, pairs.outcome("smallest eigenvalues"))


@dataclass(frozen=True)
class WeightsOfNeighbors:
    """Out-of-sample extension of LLE: new rows by the weights of their neighbors; it can be sent to a worker.

    A training row keeps its coordinates, which regularized weights would smooth.
    """

    nearest: NearestAmong
    Z: Array  # (n, k) coordinates of the training points
    reg: float

    def __call__(self, X: Array) -> Array:
        """Return coordinates, (m, k)."""
        if not all_finite(X):  # the run reports where
            return like(np.full((X.shape[0], self.Z.shape[1]), np.nan), X)
        indices, _ = self.nearest(X)
        m, k = indices.shape
        start, to = np.arange(m + 1) * k, indices.ravel().astype(np.int32)
        if is_sparse(X) or is_sparse(self.nearest.points):
            w, fitted = self._of_sparse(X, start, to)
        else:
            rows, points = to_numpy(X), to_numpy(self.nearest.points)
            w = reconstruction_weights(rows, points, start, to, self.reg)
            fitted = np.all(points[indices[:, 0]] == rows, axis=1)
        Z = to_numpy(self.Z)
        placed = np.einsum("mk,mkc->mc", w.reshape(m, k), Z[indices].astype(np.float64))
        placed[fitted] = Z[indices[fitted, 0]]
        return like(placed, X)

    def _of_sparse(self, X: Any, start: np.ndarray, to: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The weights of the neighbors, and which rows equal their first neighbor, a few rows at a time."""
        X, points = scipy.sparse.csr_array(X), scipy.sparse.csr_array(self.nearest.points)
        w, fitted = np.empty(len(to)), np.empty(X.shape[0], dtype=bool)
        for a, b in pieces(X, start, 0, X.shape[0]):
            table, places = joint_table(X[a:b], points, to[start[a] : start[b]])
            mine, own = start[a : b + 1] - start[a], table[: b - a]
            w[start[a] : start[b]] = reconstruction_weights(own, table, mine, places, self.reg)
            fitted[a:b] = np.all(table[places[mine[:-1]]] == own, axis=1)
        return w, fitted


def run_blocks(n: int, work: Callable[[int, int], Any], run: Run, name: str) -> None:
    """Call ``work(first, last)`` for blocks of n points, on the run's threads; each writes to its own range."""
    if n <= BLOCK:
        work(0, n)
    else:
        run.each(name, slices(n, BLOCK), lambda part: work(part.start, part.stop))


# --- alignment --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class LocalMatrices:
    """A symmetric matrix for each set of points: that of set i, of m points, is the m² numbers from ``bases[i]``."""

    start: np.ndarray  # (sets + 1,) int64
    to: np.ndarray  # the points of the sets
    bases: np.ndarray  # (sets + 1,)
    values: np.ndarray  # flat, in float64
    columns: np.ndarray  # the point that each value belongs to

    @classmethod
    def empty(cls, graph: NeighborGraph) -> LocalMatrices:
        """Return zeros for each neighborhood of a graph."""
        bases = np.concatenate([[0], np.cumsum(np.diff(graph.start).astype(np.int64) ** 2)])
        return cls(graph.start, graph.to, bases, np.zeros(bases[-1]), np.zeros(bases[-1], dtype=np.int32))

    def put(self, sets: np.ndarray, matrices: np.ndarray) -> None:
        """Store the matrices (r, m, m) of some sets (r,)."""
        m = matrices.shape[1]
        at = self.bases[sets][:, None] + np.arange(m * m)
        self.values[at] = matrices.reshape(len(sets), -1)
        self.columns[at] = np.tile(self.to[self.start[sets][:, None] + np.arange(m)], m)

    def sum(self, n: int) -> scipy.sparse.csr_array:
        """Return the sum of the matrices over n points, each placed at the rows and columns of its set."""
        sizes, members = np.diff(self.start), len(self.to)
        ends = np.concatenate([[0], np.cumsum(np.repeat(sizes, sizes))])
        A = scipy.sparse.csr_array((self.values, self.columns, ends), shape=(members, n))  # a row for each member
        rows = scipy.sparse.csr_array((np.ones(members), self.to, np.arange(members + 1)), shape=(members, n))
        return (rows.T.tocsr() @ A).sorted_indices()


def tangent_alignment(
    X: Array, graph: NeighborGraph, k: int, run: Run, *, kind: Literal["ltsa", "hessian"]
) -> LocalMatrices:
    """Return the matrices of local tangent spaces (Zhang and Zha 2004) or of local Hessians (Donoho and Grimes 2003).

    v'Mv sums over the neighborhoods the squared part of v that is not linear in the k local coordinates (ltsa), or that
    is quadratic in them (hessian).
    """
    local = LocalMatrices.empty(graph)

    def work(first: int, last: int) -> None:
        for some in neighborhoods(X, graph, first, last):
            for points, members, C in some.of_one_size():
                local.put(points, tangent_matrices(C, members, k, hessian=kind == "hessian"))

    run_blocks(graph.n, work, run, "fitting tangent spaces" if kind == "ltsa" else "fitting quadratic functions")
    return local


def modified_alignment(X: Array, graph: NeighborGraph, k: int, run: Run, *, reg: float = 1e-3) -> LocalMatrices:
    """Return the matrices of modified LLE (Zhang and Wang 2006): several independent weight vectors per point.

    Their number: eta is the ratio of the squared singular values beyond the k-th to the first k, in the median
    neighborhood; a neighborhood uses as many trailing directions as keep its own ratio below eta.
    """
    local, squares = LocalMatrices.empty(graph_with_points(graph)), np.zeros((graph.n, 2))

    def extend(first: int, last: int) -> None:
        for some in neighborhoods(X, graph, first, last):
            for points, _, C in some.of_one_size():
                values = principal(C)[1]
                squares[points] = np.column_stack([values[:, :k].sum(axis=1), values[:, k:].sum(axis=1)])

    run_blocks(graph.n, extend, run, "fitting tangent spaces")
    inside, beyond = squares[squares[:, 0] > 0].T
    eta = float(np.median(beyond / inside)) if len(inside) else 0.0

    def weigh(first: int, last: int) -> None:
        for some in neighborhoods(X, graph, first, last):
            for points, _, C in some.of_one_size():
                local.put(points, modified_matrices(C, reg, eta))

    run_blocks(graph.n, weigh, run, "computing weights")
    return local


def graph_with_points(graph: NeighborGraph, which: np.ndarray | None = None) -> NeighborGraph:
    """Return the neighborhoods with their own point as first member, for the marked points or for all."""
    which = np.ones(graph.n, dtype=bool) if which is None else which
    points = np.flatnonzero(which)
    start = graph.start + np.concatenate([[0], np.cumsum(which)])
    to = np.insert(graph.to, graph.start[points], points.astype(graph.to.dtype))
    length = np.insert(graph.length, graph.start[points], np.zeros(1, dtype=graph.length.dtype))
    return NeighborGraph(start, to, length, graph.search, graph.recall)


# --- strong components ------------------------------------------------------------------------------------------------


def drop_self_loops(graph: NeighborGraph) -> NeighborGraph:
    """Return the graph without edges from a point to itself."""
    other = graph.to != graph.sources
    return graph if other.all() else graph.chosen(other)


def sink_components(graph: NeighborGraph) -> tuple[int, np.ndarray]:
    """Return the number of sink components, and which points cannot reach the largest of them.

    A sink is a strongly connected component without outgoing edges. Any constant on a sink satisfies its weights: with
    several sinks, each would collapse to a point.
    """
    count, label = connected_components(_ones(graph), directed=True, connection="strong")
    if count == 1:
        return 1, np.zeros(graph.n, dtype=bool)
    leaves = label[graph.sources] != label[graph.to]
    is_sink = np.ones(count, dtype=bool)
    is_sink[label[graph.sources[leaves]]] = False
    sizes = np.where(is_sink, np.bincount(label), 0)
    if is_sink.sum() == 1:
        return 1, np.zeros(graph.n, dtype=bool)
    towards = scipy.sparse.csr_array(
        (np.ones(int(leaves.sum()), dtype=np.int8), (label[graph.to[leaves]], label[graph.sources[leaves]])),
        shape=(count, count),
    )  # reversed edges between the components
    reached = scipy.sparse.csgraph.breadth_first_order(
        towards, int(np.argmax(sizes)), directed=True, return_predecessors=False
    )
    cut_off = np.ones(count, dtype=bool)
    cut_off[reached] = False
    return int(is_sink.sum()), cut_off[label]


def add_reverse_edges(graph: NeighborGraph, cut_off: np.ndarray) -> NeighborGraph:
    """Return the graph with the reverse of every edge that leads to a marked point from another component.

    In a connected graph, one sink component remains.
    """
    _, label = connected_components(_ones(graph), directed=True, connection="strong")
    back = cut_off[graph.to] & (label[graph.sources] != label[graph.to])
    i, j = graph.sources[back], graph.to[back]
    return graph.with_edges(i, j, graph.length[back])


def reinforce_bridges(graph: NeighborGraph, label: np.ndarray) -> NeighborGraph:
    """Return the graph with each bridge between components, (n,) ``label``, extended to the neighbors of its ends.

    A single edge hardly constrains the offset between components: in its neighborhood it is a dimension of its own. So
    each end, and the nearer half of its neighbors, get edges to those of the other end, with the length of the bridge.
    """
    joins = np.flatnonzero((label[graph.sources] != label[graph.to]) & (graph.sources < graph.to))
    ends = [(*(_around(graph, label, int(e)) for e in (graph.sources[a], graph.to[a])), graph.length[a]) for a in joins]
    i = np.concatenate([np.repeat(p, len(q)) for p, q, _ in ends])
    j = np.concatenate([np.tile(q, len(p)) for p, q, _ in ends])
    return graph.with_edges(i, j, np.concatenate([np.full(len(p) * len(q), length) for p, q, length in ends]))


def _around(graph: NeighborGraph, label: np.ndarray, i: int) -> np.ndarray:
    """Point i and the nearer half of its neighbors in its own component."""
    to, length = (each[graph.start[i] : graph.start[i + 1]] for each in (graph.to, graph.length))
    to, length = to[label[to] == label[i]], length[label[to] == label[i]]
    return np.append(to[np.argsort(length, kind="stable")][: (len(to) - 1) // 2], i).astype(np.int64)


def points_to_add(graph: NeighborGraph) -> np.ndarray:
    """Mark the points, (n,), that must be members of their own neighborhoods so that these are connected.

    Tangent spaces are aligned through shared points. A point in no neighborhood, or a group whose neighborhoods share
    no point with the others, would be unconstrained.
    """
    n = graph.n
    both = scipy.sparse.block_array([[None, _ones(graph)], [scipy.sparse.csr_array((n, n), dtype=np.int8), None]])
    _, label = connected_components(both, directed=False)  # neighborhoods, then points
    return label[:n] != label[n:]


def _ones(graph: NeighborGraph) -> scipy.sparse.csr_array:
    return graph.matrix(np.ones(len(graph.to), dtype=np.int8))

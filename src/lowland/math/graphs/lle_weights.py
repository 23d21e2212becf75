"""Locally linear embedding: weights that reconstruct each point from its neighbors (Saul and Roweis 2003)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse

from lowland.arrays.namespace import Array, is_sparse, like, to_numpy
from lowland.arrays.slices import slices
from lowland.kernels.local_problems import reconstruct, reconstruct_by_directions
from lowland.math.graphs.neighborhoods import joint_table, neighborhoods, pieces_of
from lowland.math.neighbors.graph import NeighborGraph
from lowland.math.neighbors.out_of_sample import NearestAmong
from lowland.math.optimize.outcome import Outcome
from lowland.math.spectra.trailing import Solver, trailing_eigenpairs
from lowland.run.local import LocalRun
from lowland.run.run import Run, all_finite

_DIRECT = 1e-8  # with less regularization than this, a Cholesky factorization loses too many digits
BLOCK = 4096  # neighborhoods a thread works on at a time


def reconstruction_weights(
    X: np.ndarray, points: np.ndarray, start: np.ndarray, to: np.ndarray, reg: float = 1e-3
) -> np.ndarray:
    """Return the reconstruction weights of the neighbors, (edges,), which sum to one for each row of X.

    For row x with neighbors p_j they minimize |x - sum_j w_j p_j|² + reg trace(G) |w|², G_ij = (p_i - x)'(p_j - x).
    If all neighbors coincide with x, the weights are equal. ``reg=0`` gives the limit for small ``reg``: of all
    weights with the same error, those of the smallest norm.
    """
    W = np.empty(len(to))
    weigh = reconstruct if reg >= _DIRECT else reconstruct_by_directions
    weigh(np.ascontiguousarray(X), np.ascontiguousarray(points), start, to, float(reg), W)
    return W


def weight_matrix(X: Array, graph: NeighborGraph, run: Run, *, reg: float = 1e-3) -> scipy.sparse.csr_array:
    """Return the reconstruction weights of all rows, sparse or not, as a sparse W (n, n) whose rows sum to one."""
    values = np.empty(len(graph.to))

    def work(first: int, last: int) -> None:
        for some in neighborhoods(X, graph, first, last):
            a, b = graph.start[some.first], graph.start[some.last]
            values[a:b] = reconstruction_weights(some.points, some.table, some.start, some.to, reg)

    in_blocks(graph.n, work, run, "computing weights")
    return graph.matrix(values)


def error_matrix(W: scipy.sparse.csr_array) -> scipy.sparse.csr_array:
    """Return M = (I - W)'(I - W): v'Mv is the sum of the squared errors when the weights reconstruct v."""
    E = _errors(W)
    return (E.T.tocsr() @ E).tocsr()


def _errors(W: scipy.sparse.csr_array) -> scipy.sparse.csr_array:
    """Return I - W, which maps v to its reconstruction errors."""
    return (scipy.sparse.eye_array(W.shape[0], format="csr") - W).tocsr()


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
        Threads, progress and memory budget; by default those of this machine.
    rng : Generator, optional
        Initialization of an iterative solver; by default a fixed seed.
    solver, tol, max_iter : optional
        As in ``trailing_eigenpairs``.

    Returns
    -------
    LocalCoordinates
        ``Z`` (n, k), ``eigenvalues`` (k,) and the ``outcome`` of the solver.

    Examples
    --------
    >>> import numpy as np
    >>> from lowland.math.graphs.lle_weights import lle_coordinates
    >>> W = np.array([[0, 1, 0], [0.5, 0, 0.5], [0, 1, 0]])  # three points on a line, the second between the others
    >>> (lle_coordinates(W, 1).Z[:, 0].round(4) + 0.0).tolist()
    [0.7071, 0.0, -0.7071]
    """
    W = scipy.sparse.csr_array(weights)
    how: dict[str, Any] = {"solver": solver, "tol": tol, "max_iter": max_iter}
    return coordinates_of_errors(error_matrix(W), k, run, rng=rng, root=_errors(W), **how)


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
) -> LocalCoordinates:
    """Return the k coordinates that minimize v'Mv, except the constant; M (n, n) is positive semidefinite, M1 = 0.

    ``root`` is a sparse E with M = E'E, where it is known.
    """
    run, rng = run or LocalRun(), rng or np.random.default_rng(0)
    pairs = trailing_eigenpairs(M, k, run, rng=rng, skip=1, root=root, solver=solver, tol=tol, max_iter=max_iter)
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
        Z = to_numpy(self.Z)
        w, fitted = self._of_sparse(X, start, to) if self._is_sparse(X) else self._of_dense(to_numpy(X), start, to)
        placed = np.einsum("mk,mkc->mc", w.reshape(m, k), Z[indices].astype(np.float64))
        placed[fitted] = Z[indices[fitted, 0]]
        return like(placed, X)

    def _is_sparse(self, X: Array) -> bool:
        return is_sparse(X) or is_sparse(self.nearest.points)

    def _of_dense(self, X: np.ndarray, start: np.ndarray, to: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The weights of the neighbors, and which rows equal their first neighbor."""
        points = to_numpy(self.nearest.points)
        fitted = np.all(points[to[start[:-1]]] == X, axis=1)
        return reconstruction_weights(X, points, start, to, self.reg), fitted

    def _of_sparse(self, X: Any, start: np.ndarray, to: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The same for sparse rows, a few at a time."""
        X, points = scipy.sparse.csr_array(X), scipy.sparse.csr_array(self.nearest.points)
        w, fitted = np.empty(len(to)), np.empty(X.shape[0], dtype=bool)
        for a, b in pieces_of(X, start, 0, X.shape[0]):
            table, places = joint_table(X[a:b], points, to[start[a] : start[b]])
            mine, own = start[a : b + 1] - start[a], table[: b - a]
            w[start[a] : start[b]] = reconstruction_weights(own, table, mine, places, self.reg)
            fitted[a:b] = np.all(table[places[mine[:-1]]] == own, axis=1)
        return w, fitted


def in_blocks(n: int, work: Callable[[int, int], Any], run: Run, name: str) -> None:
    """Call ``work(first, last)`` for blocks of n points, on the run's threads; each writes to its own range."""
    if n <= BLOCK:
        work(0, n)
    else:
        run.each(name, slices(n, BLOCK), lambda part: work(part.start, part.stop))

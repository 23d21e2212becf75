"""Graph Laplacians: Laplacian eigenmaps, the functions that vary least along the edges, and diffusion coordinates."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, Self

import numpy as np
import scipy.sparse

from lowland.arrays.blas_threads import blas_on_one_thread
from lowland.arrays.namespace import Array, as_double, is_sparse, like, to_numpy, xp_of
from lowland.data.rows import ArrayRows
from lowland.math.graphs.affinities import (
    affinity_components,
    diagonal,
    lossy_points,
    rows_without_loops,
    without_loops,
)
from lowland.math.optimize.outcome import Outcome
from lowland.math.spectra.leading import Iteration, fix_signs, leading_eigenpairs
from lowland.math.spectra.operators import times_rows
from lowland.math.spectra.trailing import Solver, trailing_eigenpairs
from lowland.run.progress import pulsed_slices
from lowland.run.run import Run

_SMALL = 1200  # dense affinities up to this size go to LAPACK, which is then faster than iterations
_STEPS, _SURE = 40, 1e-9  # iterations and tolerance of the iterative solver before LAPACK takes over
_WEAK = 1e-12  # an eigenvalue that is zero up to rounding error; the largest is at most 2
_MIXED = 1e-8  # component of the constant in other eigenvectors above which it is projected out


@dataclass(frozen=True)
class Laplacian:
    """L = I - D^(-1/2) W D^(-1/2) (normalized), or D - W, of symmetric affinities W with degrees D = diag(W 1).

    A point's affinity with itself is ignored unless ``loops``; it cancels in D - W. ``density`` (n,) multiplies rows
    and columns of W first: W_ij g_i g_j.
    """

    W: Any  # (n, n), sparse or not, as given
    degree: Array  # (n,) float64
    normalized: bool
    density: Array | None = None
    own: Array | None = None  # (n,) the diagonal that is ignored

    @classmethod
    def of(
        cls, W: Any, run: Run, *, normalized: bool = True, loops: bool = False, density: Array | None = None
    ) -> Self:
        """Compute the degrees."""
        g = None if density is None else density[:, None]
        if is_sparse(W):
            degree = W @ (np.ones(W.shape[0]) if g is None else g[:, 0])
        else:
            xp = xp_of(W)
            ones = xp.ones_like(as_double(W[:, :1])) if g is None else g
            degree = times_rows(ArrayRows(W), ones, run)[:, 0]
        own = None if loops else like(diagonal(W), degree)
        if own is not None:
            degree = without_loops(degree, W) if density is None else degree - own * density
        return cls(W, degree if g is None else degree * density, normalized, density, own)

    @property
    def root(self) -> Array:
        """The square roots of the degrees, (n,); 1 for points without edges, or if not normalized."""
        xp = xp_of(self.degree)
        ones = xp.ones_like(self.degree)
        return xp.where(self.degree > 0, xp.sqrt(xp.abs(self.degree)), ones) if self.normalized else ones

    @property
    def scale(self) -> Array:
        """The factors of the rows and columns of W, (n,)."""
        return 1 / self.root if self.density is None else self.density / self.root

    def matrix(self) -> Any:
        """Return L in float64, sparse if W is."""
        s = self.scale
        if is_sparse(self.W):
            W = self.W.tocsr()
            values = np.repeat(s, np.diff(W.indptr))
            values *= s[W.indices]  # first, so that both entries of a pair are equal to the last bit
            values *= W.data
            if self.own is not None and self.own.any():
                values[W.indices == np.repeat(np.arange(len(s)), np.diff(W.indptr))] = 0.0
            S = scipy.sparse.csr_array((values, W.indices, W.indptr), shape=W.shape)
            return (scipy.sparse.diags_array(self._diagonal()) - S).tocsr()
        return 0 - self.shifted(0.0)

    def shifted(self, c: float) -> Array:
        """Return cI - L of dense affinities, in float64."""
        xp, s, n = xp_of(self.W), self.scale, int(self.W.shape[0])
        diagonal = c - self._diagonal()
        if self.own is None:
            diagonal = diagonal + s * as_double(xp.linalg.diagonal(self.W)) * s
        blocks = []
        for rows in pulsed_slices(n, n):
            S = s[rows, None] * as_double(self.W[rows, :]) * s[None, :]
            on_diagonal = like(np.eye(rows.stop - rows.start, n, rows.start), S) > 0
            blocks.append(xp.where(on_diagonal, diagonal[None, :], S))
        return xp.concat(blocks)

    def _diagonal(self) -> Array:
        """The diagonal of D in L: 1 when normalized, 0 for a point without edges."""
        xp = xp_of(self.degree)
        return xp.astype(self.degree > 0, xp.float64) if self.normalized else self.degree

    def null_vectors(self, label: np.ndarray) -> np.ndarray:
        """Return an orthonormal basis of the null space of L, (n, components): one vector per connected component."""
        N = np.zeros((len(label), int(label.max()) + 1))
        N[np.arange(len(label)), label] = to_numpy(self.root)
        return N / np.linalg.norm(N, axis=0)


@dataclass(frozen=True)
class ShiftedLaplacian:
    """cI - L of dense affinities, applied without being formed: its leading eigenvectors are the smallest of L."""

    laplacian: Laplacian
    run: Run

    @property
    def shape(self) -> tuple[int, int]:
        """(n, n)."""
        n = int(self.laplacian.W.shape[0])
        return n, n

    @property
    def top(self) -> float:
        """The shift c: an upper bound of the eigenvalues of D - W; 1 if normalized, so that cI - L is D^-½ W D^-½."""
        return 1.0 if self.laplacian.normalized else 2 * float(xp_of(self.laplacian.degree).max(self.laplacian.degree))

    @cached_property
    def _lossy(self) -> np.ndarray:
        """The points whose ignored affinity with themselves is so large that its subtraction would lose digits."""
        return lossy_points(self.laplacian.degree, to_numpy(self.laplacian.own))

    def __matmul__(self, V: Array) -> Array:
        L = self.laplacian
        V = as_double(V)
        s = L.scale[:, None]
        P = times_rows(ArrayRows(L.W), V * s, self.run)
        if L.own is not None:
            P = P - V * (s * L.own[:, None])
            for now, rows in rows_without_loops(L.W, self._lossy):
                P[like(now, P, xp_of(P).int64), :] = rows @ (V * s)
        return P * s + V * (self.top - L._diagonal())[:, None]


@dataclass(frozen=True)
class Modes:
    """Eigenvectors of a Laplacian, smallest eigenvalues first."""

    values: np.ndarray  # (k,) eigenvalues of L, ascending
    vectors: np.ndarray  # (n, k) orthonormal; v / root are the coordinates
    outcome: Outcome
    n_weak: int = 0  # eigenvalues of almost zero within a component: their vectors only indicate groups of points


def slowest_modes(
    L: Laplacian, k: int, run: Run, *, label: np.ndarray, rng: np.random.Generator, drop_first: bool = True,
    solver: Solver = "auto", tol: float | None = None, home: Array | None = None,
) -> Modes:  # fmt: skip
    """Return the k eigenvectors of the smallest eigenvalues; ``drop_first`` leaves out the constant one.

    Those of sparse affinities are computed on the device of ``home``.

    With several connected components, as many eigenvalues are zero, and their eigenvectors indicate the components. The
    indicator of the largest component is dropped, since all indicators together span the constant.
    """
    N = L.null_vectors(label)  # (n, components)
    null = N[:, 1:] if drop_first else N
    left = k - min(k, null.shape[1])
    if not left:
        chosen = Outcome("component indicators", f"{N.shape[1]} connected components")
        return Modes(np.zeros(k), null[:, :k], chosen)
    values, vectors, chosen = _pairs(L, left + N.shape[1], run, rng, solver, tol, home)
    if N.shape[1] == 1 and np.linalg.norm(N.T @ vectors[:, 1:]) <= _MIXED:
        values, vectors = values[1:], vectors[:, 1:]
    else:
        values, vectors = (each[..., :left] for each in _without_null(values, vectors, N))
    n_weak = int(np.sum(values < _WEAK * (1.0 if L.normalized else float(xp_of(L.degree).max(L.degree)))))
    values = np.concatenate([np.zeros(null.shape[1]), values])
    return Modes(values, np.hstack([null, vectors]), chosen, n_weak)


def _without_null(values: np.ndarray, V: np.ndarray, N: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Eigenpairs orthogonal to the null vectors N, from vectors V that may contain parts of them.

    An iteration may have found fewer null vectors than there are: then more pairs remain.
    """
    _, sizes, right = np.linalg.svd(N.T @ V)
    Q = right[int(np.sum(sizes > 0.5)) :].T  # the part of V orthogonal to N
    within, turn = np.linalg.eigh(Q.T @ (values[:, None] * Q))
    beyond = V @ (Q @ turn)
    beyond = beyond - N @ (N.T @ beyond)
    return within, beyond / np.linalg.norm(beyond, axis=0)


def _pairs(
    L: Laplacian, m: int, run: Run, rng: np.random.Generator, solver: Solver, tol: float | None, home: Array | None
) -> tuple[np.ndarray, np.ndarray, Outcome]:
    """The m smallest eigenvalues of L and their vectors."""
    n = int(L.W.shape[0])
    if is_sparse(L.W):
        largest = 2.0 if L.normalized else 2 * float(L.degree.max())
        pairs = trailing_eigenpairs(L.matrix(), m, run, rng=rng, largest=largest, solver=solver, tol=tol, home=home)
        return to_numpy(pairs.values), to_numpy(pairs.vectors), pairs.outcome("sparse affinities")
    shifted = ShiftedLaplacian(L, run)
    if n > _SMALL and 20 * m <= n:
        with blas_on_one_thread():  # the products run on the run's own threads
            pairs = leading_eigenpairs(
                shifted, m, run=run, solver="krylov", definite=False,
                options=Iteration(rng, tol or _SURE, _STEPS, like_array=as_double(L.W[:1, :])),
            )  # fmt: skip
        if pairs.converged:
            chosen = pairs.outcome(f"{m} of {n} pairs")
            return shifted.top - to_numpy(pairs.values), to_numpy(pairs.vectors), chosen
    pairs = leading_eigenpairs(L.shifted(shifted.top), m, run=run, solver="eigh", definite=False)
    reason = f"{m} of {n} pairs" if n <= _SMALL or 20 * m > n else "the iterative solver did not converge"
    return shifted.top - to_numpy(pairs.values), to_numpy(pairs.vectors), pairs.outcome(reason)


def coordinates(modes: Modes, root: Array) -> np.ndarray:
    """Return y = D^(-1/2) v, (n, k), with Ly = λDy; the largest entry of each column is positive."""
    return fix_signs(modes.vectors / to_numpy(root)[:, None])


@dataclass(frozen=True)
class Eigenmaps:
    """Coordinates from the smallest eigenvectors of a graph Laplacian."""

    Z: np.ndarray  # (n, k)
    eigenvalues: np.ndarray  # (k,) of the Laplacian, ascending
    outcome: Outcome
    n_weak: int = 0  # coordinates that only indicate points with almost no affinity to the others


def laplacian_eigenmaps(
    W: Any,
    k: int,
    run: Run | None = None,
    *,
    normalized: bool = True,
    drop_first: bool = True,
    labels: np.ndarray | None = None,
    rng: np.random.Generator | None = None,
    solver: Solver = "auto",
    tol: float | None = None,
    home: Array | None = None,
) -> Eigenmaps:
    """Return k coordinates that vary least along the edges of a graph (Belkin and Niyogi 2003).

    They minimize sum_ij W_ij |y_i - y_j|² with Y'DY = I and Y'D1 = 0: the eigenvectors of Ly = λDy, L = D - W,
    D = diag(W1), after the constant one.

    Parameters
    ----------
    W : (n, n) sparse matrix or array
        Symmetric nonnegative affinities. The diagonal is ignored.
    k : int
        The number of coordinates.
    run : Run, optional
        Threads, progress and memory budget, by default those of this machine.
    normalized : bool
        Whether to solve Ly = λDy, or Ly = λy.
    drop_first : bool
        Whether the constant eigenvector is left out.
    labels : (n,) array of int, optional
        The connected component of each point, 0 for the largest, by default computed from W.
    rng : Generator, optional
        Initialization of an iterative solver, by default a fixed seed.
    solver, tol, home : optional
        As in ``trailing_eigenpairs``, for sparse W.

    Returns
    -------
    Eigenmaps
        ``Z`` (n, k), ``eigenvalues`` (k,) and the ``outcome`` of the solver.

    Examples
    --------
    >>> import numpy as np
    >>> from lowland.math.graphs.laplacian import laplacian_eigenmaps
    >>> path = np.array([[0.0, 1, 0], [1, 0, 1], [0, 1, 0]])
    >>> found = laplacian_eigenmaps(path, 1, normalized=False)
    >>> (found.Z[:, 0].round(4) + 0.0).tolist(), found.eigenvalues.round(4).tolist()
    ([0.7071, 0.0, -0.7071], [1.0])
    """
    run, rng = run or Run(), rng or np.random.default_rng(0)
    labels = affinity_components(W) if labels is None else labels
    L = Laplacian.of(W, run, normalized=normalized)
    modes = slowest_modes(L, k, run, label=labels, rng=rng, drop_first=drop_first, solver=solver, tol=tol, home=home)
    return Eigenmaps(coordinates(modes, L.root), modes.values, modes.outcome, modes.n_weak)


# --- diffusion --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class DiffusionCoordinates:
    """Coordinates whose Euclidean distances are diffusion distances."""

    Z: np.ndarray  # (n, k) λ^t ψ
    eigenvalues: np.ndarray  # (k,) λ of the random walk, after the first, which is 1
    time: float
    stationary: np.ndarray  # (n,) π, the stationary distribution of the random walk
    density: Array  # (n,) q^-α, by which rows and columns of the affinities were multiplied
    outcome: Outcome
    n_weak: int = 0  # coordinates that only indicate points with almost no affinity to the others


def diffusion_coordinates(
    W: Any,
    k: int,
    t: float | Literal["auto"] = 1.0,
    run: Run | None = None,
    *,
    alpha: float = 1.0,
    labels: np.ndarray | None = None,
    rng: np.random.Generator | None = None,
    home: Array | None = None,
) -> DiffusionCoordinates:
    """Return k coordinates in which Euclidean distances are diffusion distances (Coifman and Lafon 2006).

    With q = W1, K_ij = W_ij / (q_i q_j)^α, D = diag(K1) and P = D^(-1)K, the coordinates are λ^t ψ of Pψ = λψ, the
    largest λ after 1 first, where sum_i π_i ψ_i² = 1 and π = K1 / sum(K1).

    Parameters
    ----------
    W : (n, n) sparse matrix or array
        Symmetric nonnegative affinities. The diagonal counts.
    k : int
        The number of coordinates.
    t : float or "auto"
        Diffusion time, the number of steps of the random walk. "auto" means the smallest integer with (λ_(k+1) / λ_1)^t
        at most 0.1.
    run : Run, optional
        Threads, progress and memory budget, by default those of this machine.
    alpha : float
        Density normalization: 0 none, 1 full.
    labels : (n,) array of int, optional
        The connected component of each point, 0 for the largest, by default computed from W.
    rng : Generator, optional
        Initialization of an iterative solver, by default a fixed seed.
    home : array, optional
        An array on the device that computes the eigenvectors of a sparse W.

    Returns
    -------
    DiffusionCoordinates
        ``Z`` (n, k), ``eigenvalues`` (k,), ``time``, ``stationary`` (n,), ``density`` (n,) and the ``outcome``.

    Examples
    --------
    >>> import numpy as np
    >>> from lowland.math.graphs.laplacian import diffusion_coordinates
    >>> found = diffusion_coordinates(np.array([[3.0, 1], [1, 3]]), 1)  # stays with 3/4, moves with 1/4
    >>> found.eigenvalues.round(4).tolist(), found.Z[:, 0].round(4).tolist()
    ([0.5], [0.5, -0.5])
    """
    run, rng = run or Run(), rng or np.random.default_rng(0)
    labels = affinity_components(W, loops=True) if labels is None else labels
    g = Laplacian.of(W, run, loops=True).degree ** -alpha  # q^-α
    L = Laplacian.of(W, run, loops=True, density=g)  # I - D^(-1/2) K D^(-1/2)
    more = int(t == "auto" and k < W.shape[0] - 1)  # also the first one that is left out
    modes = slowest_modes(L, k + more, run, label=labels, rng=rng, home=home)
    values, Y, degree = 1 - modes.values, coordinates(modes, L.root), to_numpy(L.degree)
    time = diffusion_time(values, k) if t == "auto" else float(t)
    Psi = Y[:, :k] * np.sqrt(degree.sum())  # sum_i π_i ψ_i² = 1
    whole = time.is_integer()  # else negative λ count as zero
    Z = Psi * (values[:k] if whole else np.maximum(values[:k], 0.0)) ** time
    return DiffusionCoordinates(Z, values[:k], time, degree / degree.sum(), g, modes.outcome, modes.n_weak)


def diffusion_time(eigenvalues: np.ndarray, k: int) -> float:
    """Return the smallest integer t with (λ_(k+1) / λ_1)^t <= 0.1.

    At this time, k coordinates give diffusion distances to the relative accuracy δ of Coifman and Lafon 2006.
    """
    if len(eigenvalues) <= k or eigenvalues[k] <= 0:
        return 1.0
    ratio = float(eigenvalues[k] / eigenvalues[0])
    return float(max(1, math.ceil(math.log(0.1) / math.log(ratio)))) if ratio < 1 - 1e-9 else 1.0

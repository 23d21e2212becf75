"""Leading eigenpairs of a symmetric matrix or operator, with fixed signs and reported residuals.

The choice of the algorithm, the sign convention and the treatment of non-positive eigenvalues are defined only here.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from lowland.arrays.linalg import eigh, eigvalsh, on_one_thread_if_small, orthonormal
from lowland.arrays.namespace import Array, as_double, device_of, like, on_accelerator, to_numpy, xp_of
from lowland.arrays.random import standard_normal
from lowland.errors import ParameterError
from lowland.math.optimize.outcome import Outcome
from lowland.math.spectra.operators import Divided
from lowland.math.statistics.rescaling import ordinary_unit, unit_of
from lowland.run.progress import LAPACK
from lowland.run.run import Run

Solver = Literal["auto", "eigh", "krylov", "power", "subspace"]

ALL_PAIRS_UP_TO = 1200  # up to this size LAPACK is faster than any iteration
_LARGE = 2000  # size of a matrix from which LAPACK takes a second or more
_FEW = 0.15  # fraction of eigenpairs above which computing all of them costs no more
_QUICK_STEPS, _SURE = 8, 1e-9  # iterations and residual allowed before falling back to LAPACK
MOST_POWER_STEPS = 1000
ROUNDING = 2e-14  # relative to the first eigenvalue: rounding error of float64 products
_DEPENDENT = 1e-12  # squared distance of a unit vector from the span of others below which it counts as dependent
_TIE = 1e-6  # entries with a relative difference below this count as equal


@dataclass(frozen=True)
class Eigenpairs:
    """Eigenvalues in descending order, their eigenvectors, and their residuals."""

    values: Array  # (k,) float64
    vectors: Array  # (n, k), each with its largest entry positive
    residuals: np.ndarray  # (k,) |Av - λv|; zeros for a direct method
    solver: str
    iterations: int = 0
    converged: bool = True
    trace: tuple[float, ...] = ()  # largest residual relative to its eigenvalue after each iteration
    ritz: np.ndarray | None = (
        None  # all Ritz values of the Krylov space, descending: estimates of the other eigenvalues
    )

    def outcome(self, reason: str, name: str = "") -> Outcome:
        """Return the outcome of the solver."""
        return Outcome(name or self.solver, reason, self.iterations, self.converged, self.trace)


def fix_signs(vectors: Array) -> Array:
    """Return the columns with their largest entry positive; among equal ones (to rounding) the first decides."""
    xp = xp_of(vectors)
    size = xp.abs(vectors)
    large = size >= (1 - _TIE) * xp.max(size, axis=0)[None, :]
    first = xp.argmax(xp.astype(large, xp.int32), axis=0)  # the first of the largest
    chosen = xp.take_along_axis(vectors, first[None, :], axis=0)  # (1, k)
    return xp.where(chosen < 0, -vectors, vectors)


def all_eigenvalues(A: Array) -> Array:
    """Return all eigenvalues of a symmetric matrix, descending."""
    xp = xp_of(A)
    return xp.flip(eigvalsh(A), axis=0)


@dataclass(frozen=True)
class Iteration:
    """Options of the iterative solvers.

    Residuals below ``rounding`` times the first eigenvalue cannot be reduced. An iteration squares residuals, so an
    operator is divided by a power of two where those of order ``size`` would overflow or underflow.
    """

    rng: np.random.Generator | None = None  # draws the initial block; None: always the same one
    tol: float = 0.0  # residual relative to its eigenvalue; 0: the default of the solver
    max_iter: int | None = None
    oversamples: int = 10  # columns of the block beyond those requested
    like_array: Array | None = None  # of the library and on the device of an operator's vectors
    rounding: float = ROUNDING  # relative rounding error of the products
    size: float = 1.0  # order of magnitude of an operator

    def start(self, n: int, k: int) -> Array:
        """Return a random orthonormal block of k columns and the oversamples, (n, b)."""
        assert self.rng is not None
        assert self.like_array is not None
        b = min(k + self.oversamples, n)
        return orthonormal(standard_normal((n, b), self.rng, as_double(self.like_array[:1, ...])))


def leading_eigenpairs(
    A: Any, k: int, *, run: Run, solver: Solver = "auto", definite: bool = True, options: Iteration | None = None
) -> Eigenpairs:
    """Return the k largest eigenvalues of a symmetric A with their vectors.

    ``A`` is an array or an operator with ``shape`` and ``@``. If it is positive semi-definite, small negative values
    are rounding error and become zero; if not ``definite``, they are returned unchanged.
    """
    n = A.shape[0]
    if not 1 <= k <= n:
        raise ParameterError(f"{k} eigenpairs were requested from a matrix of size {n}. Request 1 to {n}.")
    dense, options = hasattr(A, "dtype"), options or Iteration()
    options = replace(options, like_array=A) if dense else options
    if solver == "auto":
        if dense and n > ALL_PAIRS_UP_TO and 20 * k <= n and (quick := _quickly(A, k, run, options)):
            return _finished(quick, definite)
        solver = "eigh" if dense else "krylov"
    if solver == "power":  # the textbook's block has k columns; two more guard against ties
        options = replace(options, oversamples=min(options.oversamples, 2))
    if k + options.oversamples >= n and solver != "eigh":  # an iteration on the whole space is a direct method
        A, dense, solver = _formed(A, options.like_array), True, "eigh"
    if solver == "eigh":
        if n < _LARGE:
            return _finished(_direct(A, k), definite)
        with run.stage(LAPACK) as stage:
            stage.announce()  # Ctrl-C must wait for LAPACK
            return _finished(_direct(A, k), definite)
    if options.rng is None:
        options = replace(options, rng=np.random.default_rng(0))
    unit = unit_of(A) if dense else ordinary_unit(options.size, single=False)
    if unit != 1:
        A = A / unit if dense else Divided(A, unit)
    with run.rounds():
        pairs = _ITERATIONS[solver](A, k, run, options)
    if unit != 1:
        ritz = None if pairs.ritz is None else pairs.ritz * unit
        pairs = replace(pairs, values=pairs.values * unit, residuals=pairs.residuals * unit, ritz=ritz)
    return _finished(pairs, definite)


def _quickly(A: Array, k: int, run: Run, options: Iteration) -> Eigenpairs | None:
    """A few pairs of a large matrix by a few block Krylov iterations; None where they do not converge."""
    if unit_of(A) != 1:
        return None  # squared residuals overflow or underflow
    few = Iteration(np.random.default_rng(0), _SURE, _QUICK_STEPS, options.oversamples, A)
    pairs = _krylov(A, k, run, few)
    return pairs if pairs.converged else None


def _finished(pairs: Eigenpairs, definite: bool) -> Eigenpairs:
    """Fix the signs; set negative values of a definite matrix, which are rounding error, to zero."""
    xp, values = xp_of(pairs.values), pairs.values
    if definite:
        values = xp.where(values > 0, values, xp.zeros_like(values))
    return replace(pairs, values=values, vectors=fix_signs(pairs.vectors))


def _formed(A: Any, like_array: Array) -> Array:
    """Form an operator as a matrix, by applying it to the identity."""
    if hasattr(A, "dtype"):
        return A
    n = A.shape[0]
    return as_double(A @ like(xp_of(like_array).eye(n, dtype=like_array.dtype), like_array))


def _direct(A: Array, k: int) -> Eigenpairs:
    """LAPACK: only the requested pairs where the library allows it, all of them otherwise."""
    A = as_double(A)
    n = A.shape[0]
    if isinstance(A, np.ndarray) and n > 64 and (used := np.flatnonzero(A.any(axis=0))).size < n:
        return _without_zero_columns(A, used, k)
    some = isinstance(A, np.ndarray) and n > 64 and k < _FEW * n
    if some:
        import scipy.linalg

        with on_one_thread_if_small(A):
            values, vectors = scipy.linalg.eigh(A, subset_by_index=(n - k, n - 1), check_finite=False)
    if not some or values.shape[0] < k:  # with nearly equal values, LAPACK may return fewer than requested
        values, vectors = eigh(A)
    xp = xp_of(values)
    return Eigenpairs(xp.flip(values, axis=0)[:k], xp.flip(vectors, axis=1)[:, :k], np.zeros(k), "eigh")


def _without_zero_columns(A: np.ndarray, used: np.ndarray, k: int) -> Eigenpairs:
    """The pairs of the other columns, and the axes of the zero columns with eigenvalue zero, in descending order."""
    n, zero = A.shape[0], np.setdiff1d(np.arange(A.shape[0]), used)
    found = _direct(A[np.ix_(used, used)], min(k, used.size)) if used.size else None
    values, vectors = np.zeros(k), np.zeros((n, k))
    nonnegative = int(np.sum(found.values >= 0)) if found else 0  # rounding error may leave small negative values
    first = min(k, nonnegative)
    rest = min(k - first, zero.size)
    if found:
        values[:first], vectors[used, :first] = found.values[:first], found.vectors[:, :first]
        last = k - first - rest
        values[first + rest :] = found.values[first : first + last]
        vectors[used, first + rest :] = found.vectors[:, first : first + last]
    vectors[zero[:rest], first + np.arange(rest)] = 1
    return Eigenpairs(values, vectors, np.zeros(k), "eigh")


def _ritz(Q: Array, AQ: Array, H: Array, k: int) -> tuple[Array, Array, np.ndarray, Array]:
    """Rayleigh-Ritz: the best k eigenpairs within the span of orthonormal Q, with H = Q'AQ.

    Returns the values, the vectors, their residuals |Av - λv|, and their images Av.
    """
    xp = xp_of(Q)
    values, W = _eigh_of_few((H + H.T) / 2)
    values, W = xp.flip(values, axis=0)[:k], xp.flip(W, axis=1)[:, :k]
    V, AV = Q @ W, AQ @ W
    residuals = xp.linalg.vector_norm(AV - V * values[None, :], axis=0)
    return values, V, to_numpy(residuals), AV


def _eigh_of_few(H: Array) -> tuple[Array, Array]:
    """All eigenpairs of a small matrix: on the host, where the latency is lower than on a device."""
    if not on_accelerator(H):
        return eigh(H)
    values, W = np.linalg.eigh(to_numpy(H))
    return like(values, H), like(W, H)


def _worst(residuals: np.ndarray, values: Array, rounding: float) -> float:
    """The largest residual relative to its eigenvalue; residuals within rounding error count as zero."""
    host = to_numpy(values)
    relative = residuals / np.maximum(host, np.finfo(np.float64).tiny)
    return float(np.where(residuals <= rounding * host[0], 0.0, relative).max())


def _power(A: Any, k: int, run: Run, options: Iteration) -> Eigenpairs:
    """Block power method: multiply, orthonormalize, repeat; with b columns the error falls by λ_{b+1}/λ_k per step."""
    tol, steps = options.tol or 1e-9, MOST_POWER_STEPS if options.max_iter is None else options.max_iter
    Q, trace = options.start(A.shape[0], k), []
    for _ in run.iterate("power method", steps):
        AQ = as_double(A @ Q)
        values, V, residuals, _ = _ritz(Q, AQ, Q.T @ AQ, k)
        trace.append(_worst(residuals, values, options.rounding))
        if trace[-1] <= tol:
            return Eigenpairs(values, V, residuals, "power", len(trace), True, tuple(trace))
        Q = orthonormal(AQ)
    AQ = as_double(A @ Q)
    values, V, residuals, _ = _ritz(Q, AQ, Q.T @ AQ, k)
    trace.append(_worst(residuals, values, options.rounding))
    return Eigenpairs(values, V, residuals, "power", steps, False, tuple(trace))


def _subspace(A: Any, k: int, run: Run, options: Iteration) -> Eigenpairs:
    """A given number of block power steps after the first product, as randomized range finders do."""
    steps = MOST_POWER_STEPS if options.max_iter is None else options.max_iter + 1
    Q = options.start(A.shape[0], k)
    for _ in run.iterate("power method", steps):
        Q = orthonormal(as_double(A @ Q))
    AQ = as_double(A @ Q)
    values, V, residuals, _ = _ritz(Q, AQ, Q.T @ AQ, k)
    return Eigenpairs(values, V, residuals, "subspace", steps, True, (_worst(residuals, values, options.rounding),))


def _krylov(A: Any, k: int, run: Run, options: Iteration) -> Eigenpairs:
    """Block Krylov with thick restarts: Rayleigh-Ritz over the span of Q, AQ, A²Q, … (Musco and Musco 2015).

    Of the iterations here it needs the fewest passes over the data. The error of an eigenvalue is about the square of
    its residual, so a residual of 1e-7 gives eigenvalues accurate to rounding error.
    """
    tol, steps = options.tol or 1e-7, 100 if options.max_iter is None else options.max_iter
    n, Q = A.shape[0], options.start(A.shape[0], k)
    xp = xp_of(Q)
    widest = min(n, max(8 * Q.shape[1], 2 * k))
    basis, image, H, block = Q[:, :0], Q[:, :0], Q[:0, :0], Q
    trace: list[float] = []
    values, V, residuals = Q[0, :0], Q[:, :0], np.empty(0)

    def found(iterations: int, converged: bool) -> Eigenpairs:
        ritz = np.linalg.eigvalsh(to_numpy(H))[::-1]
        return Eigenpairs(values, V, residuals, "krylov", iterations, converged, tuple(trace), ritz)

    for step in run.iterate("block Krylov", steps):
        if basis.shape[1] + block.shape[1] > widest:  # restart from the best Ritz vectors
            kept, basis, _, image = _ritz(basis, image, H, block.shape[1])
            H = xp.eye(kept.shape[0], dtype=kept.dtype, device=device_of(kept)) * kept[None, :]
        product = as_double(A @ block)
        edge = basis.T @ product  # H = basis' A basis grows by the new block's rows and columns
        H = xp.concat([xp.concat([H, edge], axis=1), xp.concat([edge.T, block.T @ product], axis=1)], axis=0)
        basis, image = xp.concat([basis, block], axis=1), xp.concat([image, product], axis=1)
        values, V, residuals, _ = _ritz(basis, image, H, k)
        trace.append(_worst(residuals, values, options.rounding))
        if trace[-1] <= tol or basis.shape[1] >= n:  # Rayleigh-Ritz over the whole space is a direct method
            return found(step + 1, True)
        block = _fresh_directions(product, basis, options.rounding * float(values[0]))
        if block.shape[1] == 0:  # the basis is invariant under A: no further improvement
            return found(step + 1, trace[-1] <= tol)
    return found(steps, False)


def _fresh_directions(product: Array, basis: Array, negligible: float) -> Array:
    """An orthonormal basis of what ``product`` adds to ``basis``; columns of only rounding error are dropped."""
    Q = _orthonormal_by_products(product - basis @ (basis.T @ product), negligible)
    # twice is enough (Kahan)
    return _orthonormal_by_products(Q - basis @ (basis.T @ Q), 0.5) if Q.shape[1] else Q


def _orthonormal_by_products(F: Array, negligible: float) -> Array:
    """An orthonormal basis of the columns of F, (n, b), from their Gram matrix: faster than QR.

    Columns shorter than ``negligible``, and nearly dependent directions of the normalized others, are dropped. A second
    call restores the digits that the first loses by squaring (Stathopoulos and Wu 2002).
    """
    G = to_numpy(F.T @ F)
    lengths = np.sqrt(np.diagonal(G))
    scale = np.where(lengths > negligible, 1 / np.where(lengths > negligible, lengths, 1.0), 0.0)
    values, U = np.linalg.eigh(G * scale[:, None] * scale[None, :])
    kept = values > _DEPENDENT * max(values[-1], np.finfo(np.float64).tiny)
    return F @ like(scale[:, None] * U[:, kept] / np.sqrt(values[kept])[None, :], F)


_ITERATIONS = {"krylov": _krylov, "power": _power, "subspace": _subspace}


def with_null_space(pairs: Eigenpairs, k: int, null_below: float) -> Eigenpairs:
    """Return k pairs, with a unique basis for eigenvalue zero (below ``null_below`` times the first).

    Any basis of the null space is valid. This one depends only on the space, so every solver, engine and chunking
    returns the same: the coordinate axes projected onto it, longest first.
    """
    if k == 0:
        return pairs
    values = to_numpy(pairs.values)[:k]
    rank = int(np.sum(values > null_below * values[0])) if values[0] > 0 else 0
    if rank >= k:
        return pairs
    V = to_numpy(pairs.vectors)[:, :rank]
    V = np.hstack([V, fix_signs(_null_axes(V, k - rank))])
    padded = np.zeros(k)
    padded[:rank] = values[:rank]
    residuals = np.zeros(k)
    residuals[:rank] = pairs.residuals[:rank]
    return replace(
        pairs, values=like(padded, pairs.values), vectors=like(V, pairs.vectors), residuals=residuals, ritz=None
    )


def _null_axes(V: np.ndarray, m: int) -> np.ndarray:
    """Return m orthonormal columns orthogonal to V: the longest projections of the coordinate axes."""
    d, rank = V.shape
    basis = np.empty((d, rank + m))
    basis[:, :rank] = V
    left = 1 - np.sum(V**2, axis=1)  # squared length of the projection of each axis
    for i in range(rank, rank + m):
        j = int(np.argmax(left >= left.max() - _TIE))
        known = basis[:, :i]
        q = -(known @ known[j])
        q[j] += 1
        q -= known @ (known.T @ q)  # twice is enough (Kahan)
        q /= np.linalg.norm(q)
        basis[:, i] = q
        left -= q**2
    return basis[:, rank:]

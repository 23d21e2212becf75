"""The bottom of the spectrum: the smallest eigenpairs of a sparse positive semi-definite matrix, residuals checked.

Two routes, and a prediction of what each costs decides. Shift-invert factorises A + εI and iterates with its inverse:
a few solves, however small the eigenvalues are, but a factor that fills up where the graph has no small separators: it
is then made with all its zeros, while these fit. A Chebyshev filter damps the rest of the spectrum by products with A
alone: no memory, but about √(λ_max/λ) products.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np

from lowland.arrays.linalg import orthonormal
from lowland.blocks.spectra.leading import Eigenpairs, fix_signs, leading_eigenpairs
from lowland.errors import DataError, ParameterError
from lowland.kernels.sparse_graphs import filter_step, level_shape
from lowland.run.local import blas_on_all_threads, blas_on_one_thread
from lowland.run.memory import show_bytes
from lowland.run.run import Run, RunsTogether

Solver = Literal["auto", "dense", "arpack", "filter", "flip", "lobpcg", "amg"]

_DENSE_UP_TO = 500  # up to this size LAPACK is as fast as anything
_SHIFT = 1e-14  # of the norm: below the eigenvalues of LLE, which are 1e-13 of it at 50,000 points on a surface
_LARGER_SHIFTS = (1e-11, 1e-8)  # where a factor breaks down
_NULL_GAP = 10.0  # what is not null lies this many shifts off
_NULL_STEPS = 3
_ROUNDING = 4e-15  # of the norm: a residual within it cannot be improved upon
_TOL = 1e-8  # residuals, beside the largest of the wanted eigenvalues
_BAD = 1e-4  # a residual above this would be a wrong picture
_INNER_TOL = 1e-7  # of the inverse's residuals; the last solve brings those of A well below
_GUARDS = 8  # columns of a filtered block beyond those wanted: convergence depends on the first eigenvalue outside
_SHARP = 4.0  # degree of the filter over √(λ_max/a); it lifts the wanted end by about cosh(2 · sharp) each time
_STEPS = 60  # blocks of solves, or filters, at most
_MOST_PRODUCTS = 100_000  # with the block, where no other route could take over
_NS_PER_PRODUCT = 0.5  # nanoseconds for each stored entry and column
_HOPELESS = 4 * 3600.0  # seconds predicted: only a factor would do, and more memory for it is the remedy
_INT32 = 2**31 - 1  # what SuperLU can count
_FULL_SECONDS = 6e-12  # for each n³ of a factor with all its zeros: 55 GFLOP/s
_WIDE = 0.2  # of the points in one level: beyond that the sparse factor fills up
_PANEL = 1024  # columns of it made at a time
_EPS = float(np.finfo(np.float64).eps)


def trailing_eigenpairs(
    A: Any,
    k: int,
    run: Run,
    *,
    rng: np.random.Generator,
    skip: int = 0,
    largest: float | None = None,
    solver: Solver = "auto",
    tol: float | None = None,
    max_iter: int | None = None,
) -> Eigenpairs:
    """Return the k smallest eigenvalues, after ``skip``, of a symmetric positive semi-definite A with their vectors.

    They ascend. ``A`` is a sparse matrix, or a small dense one. ``skip`` leaves out as many of the smallest: 1 where a
    constant vector of eigenvalue zero is known to be there. ``largest`` is a bound on the eigenvalues, 2 for a
    normalised Laplacian, and tells the cost of iterating apart from that of a squared operator, as LLE's is.
    ``solver`` is "dense" (LAPACK), "arpack" (shift-invert) or "filter" (products alone; "flip", scikit-learn's
    "lobpcg" and "amg" mean it too).
    ``tol`` bounds the residuals |Av - λv| beside the largest eigenvalue asked for. Where one solver fails "auto" tries
    the other; a residual that is bad in the end is an error.
    """
    from scipy import sparse

    n, m = A.shape[0], k + skip
    if k < 1 or m > n:
        raise ParameterError(f"{m} eigenpairs were asked of a matrix of size {n}. Ask for 1 to {n}.")
    if not np.isfinite(A.data if sparse.issparse(A) else A).all():
        raise DataError(
            "The matrix of the graph holds NaN or infinity. Look for repeated rows, or use more regularization."
        )
    if solver == "dense" or (solver == "auto" and (not sparse.issparse(A) or n <= _DENSE_UP_TO)) or 4 * m >= n:
        return _finished(_dense(A, m, run), A, skip)
    problem = TrailingProblem.of(A, m, largest, tol or _TOL, max_iter)
    with blas_on_one_thread():  # blocks are a few columns wide, where more threads only wait for each other
        return _finished(_solved(problem, solver, run, rng), problem.A, skip)


class Costs(NamedTuple):
    """What the two routes are predicted to take."""

    factor_seconds: float
    factor_bytes: float
    filter_seconds: float
    full: bool  # the factor would fill up: make it with all its zeros


@dataclass(frozen=True)
class TrailingProblem:
    """What is asked, and what the routes to it would cost."""

    A: Any  # (n, n) CSR, float64
    m: int  # eigenpairs, those to be skipped among them
    norm: float  # the largest sum of a row's sizes: no eigenvalue is larger
    largest: float | None
    tol: float
    max_iter: int | None

    @classmethod
    def of(cls, A: Any, m: int, largest: float | None, tol: float, max_iter: int | None) -> TrailingProblem:
        """Bring A into the form all routes take."""
        from scipy import sparse

        A = sparse.csr_array(A, dtype=np.float64)
        if not A.has_canonical_format:  # scipy would sort it in place, and it shares its arrays with the caller's
            A = A.copy()
            A.sum_duplicates()
        if A.indices.dtype != np.int32 and A.nnz < _INT32:
            A = sparse.csr_array((A.data, A.indices.astype(np.int32), A.indptr.astype(np.int32)), shape=A.shape)
        norm = float(abs(A).sum(axis=1).max())
        if norm == 0:
            raise DataError(
                "The matrix of the graph holds only zeros, and any vector would do. Look for repeated rows."
            )
        return cls(A, m, norm, largest, tol, max_iter)

    @property
    def width(self) -> int:
        """Columns of a filtered block."""
        return min(self.A.shape[0], self.m + _GUARDS)

    @cached_property
    def costs(self) -> Costs:
        """Predict the seconds of the factor, its bytes, and the seconds of the filter, from the shape of the graph.

        The levels of a breadth-first search are separators. The widest, w, becomes a full block of the factor; in two
        dimensions the many small ones make n log n. The number of levels is about the diameter ℓ, and the smallest
        eigenvalues of a Laplacian go like ℓ⁻², those of LLE, which is of fourth order, like ℓ⁻⁴. The constants are
        measured, on graphs of surfaces (2,000 to 500,000 points) and of 3 to 784 dimensions: SuperLU fills 0.15 to 1
        times what is said here, and takes 0.3 to 1 times as long; a filter is as long as is said, within 5. Between
        the routes there are mostly factors of 10 and more.
        """
        n, nnz = self.A.shape[0], self.A.nnz
        w, levels = level_shape(self.A.indices, self.A.indptr)
        fill = min(0.67 * nnz * np.log2(n) + 5.5 * float(w) ** 2, float(n) ** 2)
        per_root = 0.5 * levels if self.largest else 5.0 * levels**2  # √(λ_max/a)
        filter_seconds = 1e-9 * _NS_PER_PRODUCT * nnz * self.width * 5 * _SHARP * per_root
        size = 2 * 8 * fill if fill < _INT32 else np.inf  # SuperLU copies what it has when it grows
        seconds, full_seconds = 2e-7 * fill + 7e-10 * float(w) ** 3, _FULL_SECONDS * float(n) ** 3
        if full_seconds < seconds and w > _WIDE * n:
            return Costs(full_seconds, 8.0 * n * (n + 4 * _PANEL), filter_seconds, True)
        return Costs(seconds, size + 64 * nnz, filter_seconds, False)

    def require_factor(self, run: Run) -> None:
        """Refuse a factor beyond the budget."""
        what = f"The factor of the graph's matrix (size {self.A.shape[0]})"
        run.require(self.costs.factor_bytes, what, "Use fewer neighbors or rows")

    def excess(self, pairs: Eigenpairs) -> float:
        """The largest residual beside the largest wanted eigenvalue; one within rounding counts as none."""
        r = np.where(pairs.residuals <= _ROUNDING * self.norm, 0.0, pairs.residuals)
        return float(r.max() / max(float(pairs.values.max()), np.finfo(np.float64).tiny))

    def is_bad(self, pairs: Eigenpairs) -> bool:
        """Whether the vectors would show a wrong picture."""
        return not self.excess(pairs) <= max(_BAD, self.tol)

    def failure(self, pairs: Eigenpairs | None) -> DataError:
        """What to say where no route has come to an answer."""
        how = (
            "A factor could not be made"
            if pairs is None
            else f"After {pairs.iterations} steps their residual is {self.excess(pairs):.1g} of the eigenvalue"
        )
        return DataError(
            f"The {self.m} smallest eigenpairs of the graph's matrix (size {self.A.shape[0]}) were not found. {how}. "
            "Use more neighbors, more regularization, more iterations, or another solver."
        )


def _solved(problem: TrailingProblem, solver: Solver, run: Run, rng: np.random.Generator) -> Eigenpairs:
    """By the solver asked for, or an error."""
    if solver == "auto":
        return _cheapest_first(problem, run, rng)
    pairs = _by_factor(problem, run, rng) if solver == "arpack" else _by_filter(problem, run, rng)
    if pairs is None or problem.is_bad(pairs):
        raise problem.failure(pairs)
    return pairs


def _cheapest_first(problem: TrailingProblem, run: Run, rng: np.random.Generator) -> Eigenpairs:
    """The cheaper route by prediction; the other one if it fails."""
    factor_seconds, factor_bytes, filter_seconds, _ = problem.costs
    fits = factor_bytes <= run.budget
    if not fits and filter_seconds > _HOPELESS:
        problem.require_factor(run)
    if fits and factor_seconds <= filter_seconds:
        pairs = _by_factor(problem, run, rng)
        if pairs is not None and not problem.is_bad(pairs):
            return pairs
    product = 1e-9 * _NS_PER_PRODUCT * problem.A.nnz * problem.width
    enough = max(2000, int(min(factor_seconds / product, _MOST_PRODUCTS))) if fits else _MOST_PRODUCTS
    pairs = _by_filter(problem, run, rng, enough)
    if not problem.is_bad(pairs):
        return pairs
    again = _by_factor(problem, run, rng) if fits and factor_seconds > filter_seconds else None
    if again is not None and not problem.is_bad(again):
        return again
    error = problem.failure(pairs)
    if not fits:
        raise DataError(
            f"{error} A factor would need about {show_bytes(factor_bytes)}, and the budget is {show_bytes(run.budget)}."
        )
    raise error


def _finished(pairs: Eigenpairs, A: Any, skip: int) -> Eigenpairs:
    """The skipped are left out, signs fixed, negative values, which are rounding, set to zero."""
    V, values = pairs.vectors, pairs.values
    if skip:
        V = _constant_first(V, values, _ROUNDING * float(abs(A).sum(axis=1).max()))
    return replace(
        pairs, values=np.maximum(values[skip:], 0.0), vectors=fix_signs(V[:, skip:]), residuals=pairs.residuals[skip:]
    )


def _constant_first(V: np.ndarray, values: np.ndarray, zero: float) -> np.ndarray:
    """Turn the vectors of eigenvalue zero so that the first holds all that is constant, and can be skipped.

    A graph in several parts has one such vector for each, and a solver returns them in any mixture.
    """
    c = int(np.sum(values <= zero))
    constant = V[:, :c].sum(axis=0)  # the constant vector in this basis
    length = float(np.linalg.norm(constant))
    if c < 2 or length < 1e-8 * np.sqrt(len(V)):
        return V
    constant *= (1.0 if constant[0] >= 0 else -1.0) / length
    mirror = constant.copy()
    mirror[0] += 1.0  # Householder: the first axis goes to -constant, the others hardly move
    turned = V[:, :c] - np.outer(V[:, :c] @ mirror, mirror) * (2 / (mirror @ mirror))
    return np.hstack([turned, V[:, c:]])


def _with_residuals(
    A: Any, values: np.ndarray, V: np.ndarray, solver: str, steps: int, trace: tuple[float, ...]
) -> Eigenpairs:
    """With the residuals of A itself, whatever the solver worked on."""
    return Eigenpairs(values, V, np.linalg.norm(A @ V - V * values, axis=0), solver, steps, True, trace)


# --- LAPACK -----------------------------------------------------------------------------------------------------------


def _dense(A: Any, m: int, run: Run) -> Eigenpairs:
    import scipy.linalg
    from scipy import sparse

    n = A.shape[0]
    run.require(3 * 8 * n * n, f"The matrix of size {n} with all its zeros", "Let the solver be chosen")
    D = np.asarray(A.toarray() if sparse.issparse(A) else A, dtype=np.float64)
    with run.stage("eigenvectors"):
        values, V = scipy.linalg.eigh(D, subset_by_index=(0, m - 1), check_finite=False)
    return _with_residuals(D, values, V, "dense", 0, ())


# --- shift-invert -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Inverse:
    """(A + εI)⁻¹ on what is orthogonal to U."""

    solve: Callable[[np.ndarray], np.ndarray]
    shape: tuple[int, int]
    U: np.ndarray  # (n, c) orthonormal

    def __matmul__(self, X: np.ndarray) -> np.ndarray:
        return self._without(self.solve(np.asfortranarray(self._without(X))))

    def _without(self, X: np.ndarray) -> np.ndarray:
        return X - self.U @ (self.U.T @ X) if self.U.shape[1] else X


def _by_factor(problem: TrailingProblem, run: Run, rng: np.random.Generator) -> Eigenpairs | None:
    """Block Krylov with the inverse; None where no factor can be made."""
    A, m, n = problem.A, problem.m, problem.A.shape[0]
    problem.require_factor(run)
    shift, solve = _factor(problem, run)
    if solve is None:
        return None
    inverse = _Inverse(solve, A.shape, np.empty((n, 0)))
    with run.stage("null vectors"):
        U = _null_vectors(inverse, shift, rng.standard_normal((n, m + 2)))[:, :m]
    values, U = _split_from_zero(problem, U)
    inverse = replace(inverse, U=U)
    V, steps, converged = U, _NULL_STEPS, True
    trace: tuple[float, ...] = ()
    if (rest := m - U.shape[1]) > 0:
        inner = leading_eigenpairs(
            inverse, rest, run=run, solver="krylov", rng=rng, tol=max(problem.tol, _INNER_TOL),
            max_iter=problem.max_iter or _STEPS, oversamples=4, like_array=np.zeros((1, 1)),
        )  # fmt: skip
        # Ritz vectors hold a little of the rough vectors they began from, which A would magnify: one more solve
        V = orthonormal(np.hstack([U, inverse @ inner.vectors]))
        values = np.concatenate([values, 1 / np.maximum(inner.values, 1 / problem.norm) - shift])
        steps, trace, converged = steps + inner.iterations, inner.trace, inner.converged
    pairs = _with_residuals(A, np.maximum(values, 0.0), V, "arpack", steps, trace)
    return replace(pairs, converged=converged or problem.excess(pairs) <= problem.tol)


def _factor(problem: TrailingProblem, run: Run) -> tuple[float, Callable[[np.ndarray], np.ndarray] | None]:
    """The solver of (A + εI)x = b. A is semi-definite: εI makes the factor exist, and no rows need to be exchanged."""
    n = problem.A.shape[0]
    make, least = (_full_factor, max(_SHIFT, n * _EPS)) if problem.costs.full else (_sparse_factor, _SHIFT)
    for fraction in (least, *_LARGER_SHIFTS):
        shift = fraction * problem.norm
        solve = make(problem.A, shift, run)
        if solve is not None and np.isfinite(solve(np.ones(n))).all():
            return shift, solve
    return 0.0, None


def _sparse_factor(A: Any, shift: float, run: Run) -> Callable[[np.ndarray], np.ndarray] | None:
    """LU with pivots on the diagonal, in the order of least degree.

    SuperLU is then three times as fast as with its own choices (LLE of 60,000 points: 3.0 s against 9.5 s).
    """
    from scipy import sparse
    from scipy.sparse.linalg import splu

    with run.stage("factorizing"):
        try:
            lu = splu(
                (A + shift * sparse.eye_array(A.shape[0], format="csr")).tocsc(), permc_spec="MMD_AT_PLUS_A",
                diag_pivot_thresh=0.0, options={"SymmetricMode": True},
            )  # fmt: skip
        except (RuntimeError, MemoryError, SystemError):  # singular to rounding, or larger than SuperLU can hold
            return None
    solve: Callable[[np.ndarray], np.ndarray] = lu.solve
    return solve


def _full_factor(A: Any, shift: float, run: Run) -> Callable[[np.ndarray], np.ndarray] | None:
    """Cholesky's factor with all its zeros, a panel of columns at a time, so that it can be watched and stopped."""
    from scipy.linalg import lapack, solve_triangular

    n = A.shape[0]
    L = A.toarray(order="F")
    L.flat[:: n + 1] += shift
    with blas_on_all_threads(), run.stage("factorizing", float(n) ** 2) as stage:
        for first in range(0, n, _PANEL):
            last = min(first + _PANEL, n)
            L[first:, first:last] -= L[first:, :first] @ L[first:last, :first].T
            corner, failed = lapack.dpotrf(L[first:last, first:last], lower=1)
            if failed:
                return None
            L[first:last, first:last] = corner
            L[last:, first:last] = solve_triangular(corner, L[last:, first:last].T, lower=True, check_finite=False).T
            stage.advance(float(last) ** 2 - float(first) ** 2)

    def solve(B: np.ndarray) -> np.ndarray:
        found: np.ndarray = lapack.dpotrs(L, B, lower=1)[0]
        return found

    return solve


def _null_vectors(inverse: _Inverse, shift: float, X: np.ndarray) -> np.ndarray:
    """Orthonormal vectors of eigenvalue zero, (n, c), where they stand apart from the others.

    Beside 1/ε, which is theirs in the inverse, the others would drown in rounding. So they are found first, in a few
    steps, and taken out.
    """
    X = orthonormal(X)
    for _ in range(_NULL_STEPS - 1):
        X = orthonormal(inverse @ X)
    Y = inverse @ X
    H = X.T @ Y
    theta, W = np.linalg.eigh((H + H.T) / 2)
    theta, W = theta[::-1], W[:, ::-1]
    c = int(np.sum(theta * shift > 0.5))
    apart = c == len(theta) or theta[c] * _NULL_GAP < 1 / shift
    return orthonormal(Y @ W[:, :c]) if apart else X[:, :0]


def _split_from_zero(problem: TrailingProblem, U: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Zero and what only lies below the shift: the second eigenvalue of LLE does, at 500,000 points on a surface."""
    values, W = np.linalg.eigh(U.T @ (problem.A @ U))
    return np.where(values <= _ROUNDING * problem.norm, 0.0, values), U @ W


# --- products alone ---------------------------------------------------------------------------------------------------


def _by_filter(
    problem: TrailingProblem, run: Run, rng: np.random.Generator, most_products: int = _MOST_PRODUCTS
) -> Eigenpairs:
    """Subspace iteration with Chebyshev's polynomials of A, whose interval follows the block's own Ritz values.

    Everything between a, the largest Ritz value of the block, and the bound on the spectrum stays below one, the rest
    grows like cosh(2 · degree · √((a - λ)/λ_max)) (Zhou, Saad, Tiago and Chelikowsky 2006). A block finds
    multiple eigenvalues, which a single vector can miss.
    """
    A, m = problem.A, problem.m
    X = np.ascontiguousarray(orthonormal(rng.standard_normal((A.shape[0], problem.width))))
    values, X, residuals = _ritz(A, X)
    top = _upper_bound(A, X[:, -1], min(problem.norm, problem.largest or np.inf))
    trace: list[float] = []
    products = 0
    with run.rounds() as together:
        for _ in run.iterate("filtering", problem.max_iter or _STEPS):
            a = min(max(float(values[-1]), 1e-12 * top), top / 2)
            degree = int(np.ceil(_SHARP * np.sqrt(top / a)))
            if products + degree > most_products:
                break
            products += degree
            values, X, residuals = _ritz(A, orthonormal(_filtered(A, X, degree, a, top, together, run)))
            pairs = Eigenpairs(values[:m], X[:, :m], residuals[:m], "filter", len(trace) + 1)
            trace.append(problem.excess(pairs))
            if trace[-1] <= problem.tol:
                break
    pairs = Eigenpairs(values[:m], X[:, :m], residuals[:m], "filter", len(trace))
    return replace(pairs, converged=problem.excess(pairs) <= problem.tol, trace=tuple(trace))


def _ritz(A: Any, X: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rayleigh and Ritz: the eigenpairs of A within the span of X, ascending, with their residuals."""
    AX = A @ X
    H = X.T @ AX
    values, W = np.linalg.eigh((H + H.T) / 2)
    V = np.ascontiguousarray(X @ W)
    return values, V, np.linalg.norm(AX @ W - V * values, axis=0)


def _upper_bound(A: Any, v: np.ndarray, bound: float, steps: int = 12) -> float:
    """A bound on the largest eigenvalue from a few Lanczos steps (Zhou and Li 2011); the known one if that is less."""
    v = v / np.linalg.norm(v)
    before, beta = np.zeros_like(v), 0.0
    alphas: list[float] = []
    betas: list[float] = []
    for _ in range(steps):
        w = A @ v - beta * before
        alphas.append(float(w @ v))
        w -= alphas[-1] * v
        beta = float(np.linalg.norm(w))
        betas.append(beta)
        if beta <= _TOL * bound:
            return bound
        before, v = v, w / beta
    T = np.diag(alphas) + np.diag(betas[:-1], 1) + np.diag(betas[:-1], -1)
    reached = float(np.linalg.eigvalsh(T)[-1])
    if reached > (1 + _TOL) * bound:
        raise ParameterError(f"An eigenvalue of {reached:.4g} lies above largest={bound:.4g}. Give a larger bound.")
    return min(bound, reached + beta)


def _filtered(A: Any, X: np.ndarray, degree: int, a: float, top: float, together: RunsTogether, run: Run) -> np.ndarray:
    """T_degree of A, with [a, top] taken to [-1, 1], times X: by the recurrence, rows shared among threads."""
    center, half = (top + a) / 2, (top - a) / 2
    threads = run.settings.thread_count if A.nnz * X.shape[1] > 500_000 else 1  # below that a hand-over costs more
    cuts = np.searchsorted(A.indptr, np.linspace(0, A.nnz, threads + 1))
    cuts[0], cuts[-1] = 0, A.shape[0]

    def step(Y: np.ndarray, Z: np.ndarray, scale: float, back: float) -> None:
        def rows(t: int) -> None:
            filter_step(A.data, A.indices, A.indptr, cuts[t], cuts[t + 1], Y, Z, center, scale, back)

        together(range(threads), rows)

    Y, Z = X.copy(), np.zeros_like(X)
    step(Y, Z, 1 / half, 0.0)
    for _ in range(degree - 1):
        Y, Z = Z, Y
        step(Y, Z, 2 / half, 1.0)
    return Z

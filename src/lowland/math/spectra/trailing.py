"""The smallest eigenpairs of a sparse positive semi-definite matrix, with checked residuals.

There are two solvers, chosen by their predicted cost. Shift-invert factorizes A + εI and iterates with its inverse: a
few solves, however small the eigenvalues are. But the factor fills in where the graph has no small separators. Where
A = E'E, the sparser E is factorized instead. A Chebyshev filter damps the rest of the spectrum by products with A
alone: it needs no memory, but about √(λ_max/λ) products.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np

from lowland.arrays.blas_threads import blas_on_one_thread
from lowland.arrays.linalg import orthonormal
from lowland.arrays.namespace import Array, as_double, device_of, like, on_accelerator, slices, to_numpy, xp_of
from lowland.arrays.random import standard_normal
from lowland.errors import DataError, ParameterError, Stopped
from lowland.kernels.graphs import filter_steps, level_shape
from lowland.kernels.team import execute
from lowland.math.spectra.factors import LAST, BorderedFactor
from lowland.math.spectra.leading import Eigenpairs, Iteration, fix_signs, leading_eigenpairs
from lowland.math.spectra.operators import SparseOnDevice
from lowland.run.memory import show_bytes
from lowland.run.progress import LAPACK, in_one_call, pulse
from lowland.run.run import Run, RunsTogether

Solver = Literal["auto", "dense", "arpack", "filter", "flip", "lobpcg", "amg"]

_DENSE_UP_TO = 500  # up to this size LAPACK is as fast as anything
_SHIFT = 1e-14  # of the norm: below the eigenvalues of LLE, which are 1e-13 of it at 50,000 points on a surface
_LARGER_SHIFTS = (1e-11, 1e-8)  # if the factorization breaks down
_BLOCK = 1024  # rows of the diagonal blocks of a dense factorization
_NULL_GAP = 10.0  # nonzero eigenvalues are at least this many shifts from zero
_NULL_STEPS = 3
_ROUNDING = 4e-15  # of the norm: smaller residuals cannot be reduced
_TOL = 1e-8  # residuals relative to the largest requested eigenvalue
_BAD = 1e-4  # above this residual the embedding would be wrong
_INNER_TOL = 1e-7  # residuals of the inverse; the last solve reduces those of A well below
_GUARDS = 8  # additional columns of a filtered block: convergence depends on the first eigenvalue outside
_SHARP = 4.0  # degree of the filter over √(λ_max/a); each pass amplifies the requested end by about cosh(2 · sharp)
_LONG, _WIDEST = 100, 128  # degree above which a block is widened, and its most columns
_TOGETHER = 1 << 14  # rows of a product
_AT_ONCE = 1 << 28  # products of numbers in steps that no Ctrl-C interrupts
_COPIES = 3  # of a block, at most
_STEPS = 60  # blocks of solves, or filters, at most
_MOST_PRODUCTS = 100_000  # with the block, where there is no other solver to fall back to
_NS_PER_PRODUCT = 0.5  # nanoseconds for each stored entry and column
_HOPELESS = 4 * 3600.0  # predicted seconds: only a factorization is feasible, with more memory
_PRODUCTS_ON_DEVICE = 20_000  # a few seconds
_DENSE_ON_DEVICE = 40_000  # points whose dense matrix and its factor take 26 GB of a device
_INT32 = 2**31 - 1  # the index range of SuperLU
_WORTH_DENSE = 4000  # points from which a factor that fills in is partly dense
_WIDEST_LEVEL = 0.25  # fraction of the points: separators are no larger, however wide a level is


def trailing_eigenpairs(
    A: Any,
    k: int,
    run: Run,
    *,
    rng: np.random.Generator,
    skip: int = 0,
    largest: float | None = None,
    root: Any = None,
    solver: Solver = "auto",
    tol: float | None = None,
    max_iter: int | None = None,
    home: Array | None = None,
) -> Eigenpairs:
    """Return the k smallest eigenvalues, after ``skip``, of a symmetric positive semi-definite A with their vectors.

    They are in ascending order. ``A`` is a sparse matrix, or a small dense one. ``skip`` drops that many of the
    smallest: 1 where the constant vector is known to have eigenvalue zero. ``largest`` is a bound on the eigenvalues, 2
    for a normalized Laplacian; without it the matrix is taken for a squared operator, as in LLE, which needs more
    iterations. ``root`` is a sparse E with A = E'E and E1 = 0, where it is known. ``solver`` is "dense" (LAPACK),
    "arpack" (shift-invert) or "filter" (Chebyshev filter; "flip" and scikit-learn's "lobpcg" and "amg" are synonyms).
    ``tol`` bounds the residuals |Av - λv| relative to the largest requested eigenvalue. ``home`` is an array on a
    device, which filters with A, or factorizes a squared operator as a dense matrix. Where one solver fails, "auto"
    tries the other; residuals that stay large raise an error.
    """
    from scipy import sparse

    n, m = A.shape[0], k + skip
    if k < 1 or m > n:
        raise ParameterError(f"{m} eigenpairs were requested from a matrix of size {n}. Request 1 to {n}.")
    if not np.isfinite(A.data if sparse.issparse(A) else A).all():
        raise DataError(
            "The matrix of the neighbor graph contains NaN or infinity. Check for duplicate rows, or increase the "
            "regularization."
        )
    if solver == "dense" or (solver == "auto" and (not sparse.issparse(A) or n <= _DENSE_UP_TO)) or 4 * m >= n:
        return _finished(_dense(A, m, run), A, skip)
    device = home if on_accelerator(home) and (largest is not None or n <= _DENSE_ON_DEVICE) else None
    problem = replace(TrailingProblem.of(A, m, largest, tol or _TOL, max_iter), root=root, home=device)
    with blas_on_one_thread():  # blocks have few columns, for which one thread is fastest
        if problem.home is not None:
            found = _on_device(problem, run, rng, solver)
            if found is not None and not problem.is_bad(found):
                return _finished(found, problem.A, skip)
            problem = replace(problem, home=None)
        if solver == "auto":
            return _finished(_cheapest_first(problem, run, rng), problem.A, skip)
        pairs = _by_factor(problem, run, rng) if solver == "arpack" else _by_filter(problem, run, rng)
        if pairs is None or problem.is_bad(pairs):
            raise problem.failure(pairs)
        return _finished(pairs, problem.A, skip)


class Costs(NamedTuple):
    """Predicted costs of the two solvers."""

    factor_seconds: float
    factor_bytes: float
    filter_seconds: float
    root: bool  # factorize E instead of A = E'E


@dataclass(frozen=True)
class TrailingProblem:
    """The eigenproblem, and the predicted costs of its solvers."""

    A: Any  # (n, n) CSR, float64
    m: int  # eigenpairs, including those to be skipped
    norm: float  # the largest sum of absolute values in a row: a bound on the eigenvalues
    largest: float | None
    tol: float
    max_iter: int | None
    root: Any = None  # (n, n) sparse E with A = E'E and E1 = 0
    home: Array | None = None  # on the device that solves it; None: this machine does

    @classmethod
    def of(cls, A: Any, m: int, largest: float | None, tol: float, max_iter: int | None) -> TrailingProblem:
        """Convert A to the form that all solvers accept."""
        from scipy import sparse

        A = sparse.csr_array(A, dtype=np.float64)
        if not A.has_canonical_format:  # scipy would sort it in place, and its arrays are those of the caller
            A = A.copy()
            A.sum_duplicates()
        if A.indices.dtype != np.int32 and A.nnz < _INT32:
            A = sparse.csr_array((A.data, A.indices.astype(np.int32), A.indptr.astype(np.int32)), shape=A.shape)
        norm = float(abs(A).sum(axis=1).max())
        if norm == 0:
            raise DataError(
                "The matrix of the neighbor graph contains only zeros, so its eigenvectors are arbitrary. Check for "
                "duplicate rows."
            )
        return cls(A, m, norm, largest, tol, max_iter)

    @property
    def width(self) -> int:
        """Columns of a filtered block."""
        return min(self.A.shape[0], self.m + _GUARDS)

    @cached_property
    def costs(self) -> Costs:
        """Predict the time and memory of the factorization and the time of the filter from the shape of the graph.

        The levels of a breadth-first search are separators. The widest, w, becomes a dense block of the factor; in two
        dimensions the many small ones add n log n. The number of levels is about the diameter ℓ. The smallest
        eigenvalues of a Laplacian decrease like ℓ⁻², those of LLE, which is of fourth order, like ℓ⁻⁴. The constants
        were measured on graphs of surfaces (2,000 to 500,000 points) and of data in 3 to 784 dimensions: SuperLU needs
        0.15 to 1 times the predicted fill-in and 0.3 to 1 times the predicted time, and those of a root are within a
        factor of 3; the time of the filter is within a factor of 5. The two solvers mostly differ by factors of 10 and
        more.
        """
        n, nnz = self.A.shape[0], self.A.nnz
        w, levels = level_shape(self.A.indices, self.A.indptr)
        w = min(float(w), _WIDEST_LEVEL * n)
        per_root = 0.5 * levels if self.largest else 5.0 * levels**2  # √(λ_max/a)
        filter_seconds = 1e-9 * _NS_PER_PRODUCT * nnz * self.width * 5 * _SHARP * per_root
        fill = 0.67 * nnz * np.log2(n) + 5.5 * w**2
        seconds = 2e-7 * fill + 7e-10 * w**3
        size = 2 * 8 * fill if fill < _INT32 else np.inf  # SuperLU copies the factor when it grows
        if self.root is not None:
            P = (abs(self.root) + abs(self.root).T).tocsr()
            w = min(float(level_shape(P.indices, P.indptr)[0]), _WIDEST_LEVEL * n)
            fill = 0.35 * P.nnz * np.log2(n) + 3 * w**2
            if 5e-8 * fill + 2e-10 * w**3 < seconds:
                return Costs(5e-8 * fill + 2e-10 * w**3, 2 * 12 * fill + 64 * nnz, filter_seconds, True)
        return Costs(seconds, size + 64 * nnz, filter_seconds, False)

    def require_factor(self, run: Run) -> None:
        """Raise an error for a factorization beyond the memory budget."""
        what = f"The factorization of the neighbor graph's matrix (size {self.A.shape[0]})"
        run.require(self.costs.factor_bytes, what, "Use fewer neighbors or rows")

    def excess(self, pairs: Eigenpairs) -> float:
        """The largest residual relative to the largest requested eigenvalue; rounding error counts as zero."""
        r = np.where(pairs.residuals <= _ROUNDING * self.norm, 0.0, pairs.residuals)
        return float(r.max() / max(float(pairs.values.max()), np.finfo(np.float64).tiny))

    def is_bad(self, pairs: Eigenpairs) -> bool:
        """Whether the eigenvectors are too inaccurate to use."""
        return not self.excess(pairs) <= max(_BAD, self.tol)

    def failure(self, pairs: Eigenpairs | None) -> DataError:
        """The error where no solver succeeded."""
        how = (
            "The factorization failed"
            if pairs is None
            else f"After {pairs.iterations} iterations the relative residual is {self.excess(pairs):.1g}"
        )
        return DataError(
            f"The solver for the {self.m} smallest eigenpairs of the neighbor graph's matrix (size {self.A.shape[0]}) "
            f"did not converge. {how}. Use more neighbors, more regularization, more iterations, or another solver."
        )


def _on_device(problem: TrailingProblem, run: Run, rng: np.random.Generator, solver: Solver) -> Eigenpairs | None:
    """Solve on the device of ``home``; None where it cannot, having too little memory or no float64."""
    try:
        if problem.largest is not None:
            return _by_filter(problem, run, rng, _PRODUCTS_ON_DEVICE) if solver in ("auto", "filter") else None
        return _by_factor(problem, run, rng) if solver in ("auto", "arpack") else None
    except (RuntimeError, TypeError) as error:
        if isinstance(error, Stopped):
            raise
        return None


def _cheapest_first(problem: TrailingProblem, run: Run, rng: np.random.Generator) -> Eigenpairs:
    """Solve by the solver of lower predicted cost; by the other one if it fails."""
    factor_seconds, factor_bytes, filter_seconds, *_ = problem.costs
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
            f"{error.marked} A factorization needs about {show_bytes(factor_bytes)}, but the memory budget is "
            f"{show_bytes(run.budget)}."
        )
    raise error


def _finished(pairs: Eigenpairs, A: Any, skip: int) -> Eigenpairs:
    """Drop the skipped pairs, fix the signs, set negative values, which are rounding error, to zero."""
    V, values = pairs.vectors, pairs.values
    if skip:
        V = _constant_first(V, values, _ROUNDING * float(abs(A).sum(axis=1).max()))
    return replace(
        pairs, values=np.maximum(values[skip:], 0.0), vectors=fix_signs(V[:, skip:]), residuals=pairs.residuals[skip:]
    )


def _constant_first(V: np.ndarray, values: np.ndarray, zero: float) -> np.ndarray:
    """Rotate the eigenvectors of eigenvalue zero so that the first is the constant vector, which can be skipped.

    A disconnected graph has one eigenvalue zero per connected component, and a solver returns any basis of them.
    """
    c = int(np.sum(values <= zero))
    constant = V[:, :c].sum(axis=0)  # the constant vector in this basis
    length = float(np.linalg.norm(constant))
    if c < 2 or length < 1e-8 * np.sqrt(len(V)):
        return V
    constant *= (1.0 if constant[0] >= 0 else -1.0) / length
    mirror = constant.copy()
    mirror[0] += 1.0  # Householder: the first axis goes to -constant, the others change little
    turned = V[:, :c] - np.outer(V[:, :c] @ mirror, mirror) * (2 / (mirror @ mirror))
    return np.hstack([turned, V[:, c:]])


def _with_residuals(
    A: Any, values: np.ndarray, V: np.ndarray, solver: str, steps: int, trace: tuple[float, ...]
) -> Eigenpairs:
    """Add the residuals with respect to A itself."""
    return Eigenpairs(values, V, np.linalg.norm(A @ V - V * values, axis=0), solver, steps, True, trace)


# --- LAPACK -----------------------------------------------------------------------------------------------------------


def _dense(A: Any, m: int, run: Run) -> Eigenpairs:
    import scipy.linalg
    from scipy import sparse

    D = np.asarray(A.toarray() if sparse.issparse(A) else A, dtype=np.float64)
    with run.stage(LAPACK) as stage:
        stage.announce()
        values, V = scipy.linalg.eigh(D, subset_by_index=(0, m - 1), check_finite=False)
    return _with_residuals(D, values, V, "dense", 0, ())


# --- shift-invert -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Inverse:
    """(A + εI)⁻¹ on the orthogonal complement of U."""

    solve: Callable[[np.ndarray], np.ndarray]
    shape: tuple[int, int]
    U: np.ndarray  # (n, c) orthonormal

    def __matmul__(self, X: np.ndarray) -> np.ndarray:
        return self._without(self.solve(np.asfortranarray(self._without(X))))

    def _without(self, X: np.ndarray) -> np.ndarray:
        return X - self.U @ (self.U.T @ X) if self.U.shape[1] else X


def _by_factor(problem: TrailingProblem, run: Run, rng: np.random.Generator) -> Eigenpairs | None:
    """Block Krylov iteration with the inverse; None where the factorization fails."""
    A, m, n = problem.A, problem.m, problem.A.shape[0]
    if problem.home is None:
        problem.require_factor(run)
    if problem.home is None and problem.costs.root:
        pairs = _by_root(problem, run, rng)
        return _by_factor(replace(problem, root=None), run, rng) if pairs is None else pairs
    shift, solve = _factor(problem, run)
    if solve is None:
        return None
    inverse = _Inverse(solve, A.shape, np.empty((n, 0)))
    with run.stage("null space"):
        U = _null_vectors(inverse, shift, rng.standard_normal((n, m + 2)))[:, :m]
    # separate zero from nonzero eigenvalues below the shift, as LLE has with 500,000 points on a surface
    values, W = np.linalg.eigh(U.T @ (A @ U))
    values = np.where(values <= _ROUNDING * problem.norm, 0.0, values)
    pairs = _iterated(problem, replace(inverse, U=U @ W), values, shift, run, rng)
    return replace(pairs, iterations=pairs.iterations + _NULL_STEPS)


def _by_root(problem: TrailingProblem, run: Run, rng: np.random.Generator) -> Eigenpairs | None:
    """The same with the factor of E, A = E'E; None where it fails or an eigenvalue is not well separated from zero."""
    n = problem.A.shape[0]
    solve = root_inverse(problem.root, run)
    if solve is None:
        return None
    inverse = _Inverse(solve, (n, n), np.full((n, 1), n**-0.5))
    pairs = _iterated(problem, inverse, np.zeros(1), 0.0, run, rng)
    separated = bool(np.all(pairs.values[1:] > _NULL_GAP * _ROUNDING * problem.norm))
    return None if problem.is_bad(pairs) or not separated else pairs


def _iterated(
    problem: TrailingProblem, inverse: _Inverse, values: np.ndarray, shift: float, run: Run, rng: np.random.Generator
) -> Eigenpairs:
    """The null vectors U of the inverse, of the given eigenvalues, and as many others as are missing."""
    V, iterations, converged = inverse.U, 0, True
    trace: tuple[float, ...] = ()
    if (rest := problem.m - V.shape[1]) > 0:
        tol, steps = max(problem.tol, _INNER_TOL), problem.max_iter or _STEPS
        options = Iteration(rng, tol, steps, oversamples=4, like_array=np.zeros((1, 1)))
        inner = leading_eigenpairs(inverse, rest, run=run, solver="krylov", options=options)
        # Ritz vectors contain a remainder of the random initialization, which A would amplify: one more solve
        V = orthonormal(np.hstack([V, inverse @ inner.vectors]))
        values = np.concatenate([values, 1 / np.maximum(inner.values, 1 / problem.norm) - shift])
        iterations, trace, converged = inner.iterations, inner.trace, inner.converged
    pairs = _with_residuals(problem.A, np.maximum(values, 0.0), V, "arpack", iterations, trace)
    return replace(pairs, converged=converged or problem.excess(pairs) <= problem.tol)


def _factor(problem: TrailingProblem, run: Run) -> tuple[float, Callable[[np.ndarray], np.ndarray] | None]:
    """Return ε and the solver of (A + εI)x = b. A is semi-definite, so εI makes pivoting unnecessary."""
    n = problem.A.shape[0]
    for fraction in (_SHIFT, *_LARGER_SHIFTS):
        shift = fraction * problem.norm
        if problem.home is None:
            lu = _sparse_lu(problem.A, np.full(n, shift), 0.0, run)
            solve = None if lu is None else lu.solve
        else:
            solve = _dense_lu(problem.A, shift, problem.home)
        if solve is not None and np.isfinite(solve(np.ones(n))).all():
            return shift, solve
    return 0.0, None


def _dense_lu(A: Any, shift: float, home: Array) -> Callable[[np.ndarray], np.ndarray]:
    """Return the solver of (A + εI)x = b by a dense factorization on the device of ``home``.

    Its 2/3 n³ operations take a GPU less time than a sparse factorization takes here.
    """
    xp, n = xp_of(home), A.shape[0]
    row, each = np.repeat(np.arange(n), np.diff(A.indptr)), np.arange(n)
    D = xp.zeros((n, n), dtype=xp.float64, device=device_of(home))
    row, column, each = (like(places, D, xp.int64) for places in (row, A.indices, each))
    D[row, column] = like(A.data, D)
    D[each, each] += shift
    factors = DenseFactors.of(D)
    del D
    return lambda B: np.reshape(to_numpy(factors.solve(like(np.reshape(B, (n, -1)), factors.both))), B.shape)


@dataclass(frozen=True)
class DenseFactors:
    """L and U of a dense matrix on a device, for solves with few columns.

    A triangular solve goes row by row, and a device waits at each of them. So the blocks on the diagonal are inverted
    once, and everything else is products.
    """

    both: Array  # (n, n), L below the diagonal
    order: Array  # (n,) rows of the matrix in the order of those of L
    blocks: list[tuple[slice, Array, Array]]  # rows, and the inverses of their blocks of L and U

    @classmethod
    def of(cls, D: Array) -> DenseFactors:
        """Factorize D (n, n) with partial pivoting."""
        xp, n = xp_of(D), D.shape[0]
        both, pivots = xp.linalg.lu_factor(D)
        order = np.arange(n)
        for i, j in enumerate(to_numpy(pivots).tolist()):  # they count from 1
            order[i], order[j - 1] = order[j - 1], order[i]
        blocks = []
        for rows in slices(n, _BLOCK):
            own, one = both[rows, rows], xp.eye(rows.stop - rows.start, dtype=D.dtype, device=device_of(D))
            L = xp.linalg.solve_triangular(own, one, upper=False, unitriangular=True)
            blocks.append((rows, L, xp.linalg.solve_triangular(own, one, upper=True)))
        return cls(both, like(order, D, xp.int64), blocks)

    def solve(self, B: Array) -> Array:
        """Return X with D X = B, (n, c)."""
        X = B[self.order]
        for rows, L, _ in self.blocks:
            X[rows] = L @ (X[rows] - self.both[rows, : rows.start] @ X[: rows.start])
        for rows, _, U in reversed(self.blocks):
            X[rows] = U @ (X[rows] - self.both[rows, rows.stop :] @ X[rows.stop :])
        return X


def _sparse_lu(A: Any, diagonal: np.ndarray, pivot: float, run: Run, *, fills_in: bool = False) -> Any:
    """LU of A plus a diagonal in minimum degree ordering, without pivoting where the diagonal is at least ``pivot``.

    SuperLU is then three times as fast as with its defaults (LLE of 60,000 points: 3.0 s instead of 9.5 s). Where it
    ``fills_in``, the last unknowns have a dense factor, which all threads compute.
    """
    from scipy import sparse
    from scipy.sparse.linalg import splu

    settings = {"permc_spec": "MMD_AT_PLUS_A", "diag_pivot_thresh": pivot, "options": {"SymmetricMode": True}}
    with run.stage("factorizing"):
        try:
            matrix = (A + sparse.diags_array(diagonal)).tocsc()
            if fills_in:
                return BorderedFactor.of(matrix, run, **settings)
            return in_one_call(lambda: splu(matrix, **settings))
        except Stopped:  # also a RuntimeError
            raise
        except (RuntimeError, MemoryError, SystemError):  # numerically singular, or too large for SuperLU
            return None


def _null_vectors(inverse: _Inverse, shift: float, X: np.ndarray) -> np.ndarray:
    """Orthonormal vectors of eigenvalue zero, (n, c), where these are well separated from the others.

    Their eigenvalue in the inverse, 1/ε, would bury the others in rounding error. So they are computed first, in a few
    steps, and projected out.
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


# --- Chebyshev filter ------------------------------------------------------------------------------------------------


def _by_filter(
    problem: TrailingProblem, run: Run, rng: np.random.Generator, most_products: int = _MOST_PRODUCTS
) -> Eigenpairs:
    """Subspace iteration with Chebyshev polynomials of A, whose interval follows the Ritz values of the block.

    Between a, the largest Ritz value of the block, and the bound on the spectrum the polynomial stays below one; below
    a it grows like cosh(2 · degree · √((a - λ)/λ_max)) (Zhou, Saad, Tiago and Chelikowsky 2006). A block finds
    multiple eigenvalues, which a single vector may miss.

    A graph of c weakly connected clusters has c eigenvalues near zero. A block that holds only some of them needs long
    polynomials, so it is doubled until its largest Ritz value lies beyond them.
    """
    A, m, home = problem.A, problem.m, np.empty(0)
    if problem.home is not None:
        A, home = SparseOnDevice.of(problem.A, problem.home), as_double(problem.home[:1, ...])

    def block(width: int) -> Array:
        return standard_normal((A.shape[0], width), rng, home)

    top = min(problem.norm, problem.largest or np.inf)
    trace: list[float] = []
    products = 0
    with run.rounds() as together:
        rows = None if problem.home is not None else _SharedRows(A, together, run.settings.thread_count)
        values, X, residuals = _ritz(A, orthonormal(block(problem.width)), rows)
        for _ in run.iterate("Chebyshev filter", problem.max_iter or _STEPS):
            a = min(max(float(values[-1]), 1e-12 * top), top / 2)
            degree = int(np.ceil(_SHARP * np.sqrt(top / a)))
            room = 2 * _COPIES * 8 * A.shape[0] * X.shape[1] <= run.budget / 2
            if degree > _LONG and room and 2 * X.shape[1] <= min(_WIDEST, A.shape[0] // 4):
                values, X, residuals = _ritz(A, orthonormal(xp_of(X).concat([X, block(X.shape[1])], axis=1)), rows)
                continue
            if products + degree > most_products:
                break
            products += degree
            X = _filtered(A, X, degree, a, top, rows)
            X = orthonormal(X) if rows is None else rows.orthonormal(X)
            values, X, residuals = _ritz(A, X, rows)
            trace.append(problem.excess(Eigenpairs(values[:m], X[:0], residuals[:m], "filter")))
            if trace[-1] <= problem.tol:
                break
    pairs = Eigenpairs(values[:m], to_numpy(X[:, :m]), residuals[:m], "filter", len(trace))
    return replace(pairs, converged=problem.excess(pairs) <= problem.tol, trace=tuple(trace))


@dataclass(frozen=True)
class _SharedRows:
    """Products of a sparse A with few columns, whose rows are split among threads."""

    A: Any
    together: RunsTogether
    threads: int

    def steps(self, Y: np.ndarray, Z: np.ndarray, scale: float, center: float, back: float, count: int = 1) -> None:
        """Replace Z by scale (A - center) Y - back Z, then Y in the same way, and so on."""
        A = self.A
        threads = self.threads if A.nnz * Y.shape[1] > 500_000 else 1  # below that, the overhead is larger
        at_once = max(1, _AT_ONCE // max(1, A.nnz * Y.shape[1]))  # Ctrl-C waits for their end
        for done in range(0, count, at_once):
            pulse()
            pair, some = ((Y, Z) if done % 2 == 0 else (Z, Y)), min(at_once, count - done)
            execute(
                self.together,
                threads,
                len(Y),
                lambda team, threads, _, pair=pair, some=some: filter_steps(
                    team, threads, A.data, A.indices, A.indptr, *pair, scale, center, back, some
                ),
            )

    def orthonormal(self, X: np.ndarray) -> np.ndarray:
        """Return an orthonormal basis of the columns of X: bases of blocks of rows, then one of their triangles."""
        cuts = np.linspace(0, len(X), max(1, len(X) // _TOGETHER) + 1).astype(int)
        blocks = [X[a:b] for a, b in itertools.pairwise(cuts)]
        with blas_on_one_thread():
            factors = self.together(blocks, np.linalg.qr)
            Q, width = np.linalg.qr(np.concatenate([block.R for block in factors])).Q, X.shape[1]
            turns = [Q[i : i + width] for i in range(0, len(Q), width)]
            return np.concatenate(
                self.together(list(zip(factors, turns, strict=True)), lambda each: each[0][0] @ each[1])
            )

    def turn(self, X: np.ndarray, AX: np.ndarray, W: np.ndarray, values: np.ndarray) -> np.ndarray:
        """Replace X by XW, in place, since the block of millions of points is large; return |AXW - XW diag(values)|."""

        def turned(rows: slice) -> np.ndarray:
            X[rows] = X[rows] @ W
            squares: np.ndarray = np.sum((AX[rows] @ W - X[rows] * values) ** 2, axis=0)
            return squares

        with blas_on_one_thread():
            return np.sqrt(np.sum(self.together(list(slices(len(X), _TOGETHER)), turned), axis=0))


def _ritz(A: Any, X: Array, rows: _SharedRows | None) -> tuple[np.ndarray, Array, np.ndarray]:
    """Rayleigh-Ritz: the eigenpairs of A within the span of X, ascending, with their residuals."""
    if rows is not None:
        X, AX = np.ascontiguousarray(X), np.zeros(X.shape)
        rows.steps(X, AX, 1.0, 0.0, 0.0)
    else:
        AX = A @ X
    H = to_numpy(X.T @ AX)
    values, W = np.linalg.eigh((H + H.T) / 2)
    if rows is not None:
        return values, X, rows.turn(X, AX, W, values)
    turn = like(W, X)
    V = X @ turn
    return values, V, to_numpy(xp_of(X).linalg.vector_norm(AX @ turn - V * like(values, X), axis=0))


def _filtered(A: Any, X: Array, degree: int, a: float, top: float, rows: _SharedRows | None) -> Array:
    """T_degree of A, with [a, top] mapped to [-1, 1], times X, which is overwritten."""
    center, half = (top + a) / 2, (top - a) / 2
    if rows is None:
        Y, Z = X, (A @ X - center * X) / half
        for _ in range(degree - 1):
            pulse()
            Y, Z = Z, (2 / half) * (A @ Z - center * Z) - Y
        return Z
    Y = np.zeros_like(X)
    rows.steps(X, Y, 1 / half, center, 0.0)
    rows.steps(Y, X, 2 / half, center, 1.0, degree - 1)
    return X if degree % 2 == 0 else Y


# --- factor of a root: A = E'E ----------------------------------------------------------------------------------------


_PIVOT = 0.01  # a pivot off the diagonal is chosen only where the diagonal is this much smaller
_CONSTANT = 1e-6  # error of the known null vector at which the factor is unusable


def root_inverse(E: Any, run: Run) -> Callable[[np.ndarray], np.ndarray] | None:
    """Return x = A⁺b for b that sums to zero, where E1 = 0; None where E has further null vectors.

    E + e e' is invertible for a unit vector e of a point p that all others depend on. Let π'E = 0. Then y from
    (E + e e')'y = b satisfies E'y = b. Without its component along π it is in the range of E, and x from
    (E + e e')x = y satisfies Ex = y. So E'Ex = b.
    """
    p = _sink(E)
    if p is None:
        return None
    e = np.zeros(E.shape[0])
    e[p] = 1.0
    lu = _sparse_lu(E, e, _PIVOT, run, fills_in=_fills_in(E, run))
    if lu is None:
        return None
    pi = lu.solve(e, trans="T")
    pi /= np.linalg.norm(pi)
    if not np.abs(lu.solve(e) - 1).max() <= _CONSTANT or not np.isfinite(pi).all():
        return None

    def solve(B: np.ndarray) -> np.ndarray:
        Y = lu.solve(B, trans="T")
        found: np.ndarray = lu.solve(Y - np.multiply.outer(pi, pi @ Y))
        return found

    return solve


def _fills_in(E: Any, run: Run) -> bool:
    """Whether the graph of E is large and has no small separators, and the dense part of a factor fits in memory."""
    n = E.shape[0]
    if n < _WORTH_DENSE or 8 * (LAST * n) ** 2 > run.budget / 4:
        return False
    P = (abs(E) + abs(E).T).tocsr()
    return bool(level_shape(P.indices, P.indptr)[0] > _WIDEST_LEVEL * n)


def _sink(E: Any) -> int | None:
    """Return the point on which most others depend, in the only strongly connected component without outgoing edges."""
    from scipy.sparse.csgraph import connected_components

    count, label = connected_components(E, directed=True, connection="strong")
    C = E.tocoo()
    leaves = label[C.row] != label[C.col]
    is_sink = np.ones(count, dtype=bool)
    is_sink[label[C.row[leaves]]] = False
    if is_sink.sum() != 1:
        return None
    sums = np.bincount(C.col, np.abs(C.data), minlength=E.shape[0])
    return int(np.argmax(np.where(is_sink[label], sums, -1.0)))

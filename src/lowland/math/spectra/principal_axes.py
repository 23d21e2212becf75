"""Principal axes of rows: the solvers for the eigenpairs of the covariance of a table, and the choice among them.

Every solver returns the same ``Axes``. It forms the d x d covariance of the columns, the n x n Gram matrix of the rows
(with the same eigenvalues), or a triangular factor (nothing is squared), or only computes products (matrix-free).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from lowland.arrays.linalg import orthonormal, svd
from lowland.arrays.namespace import Array, as_double, in_range_of_single, rounding_of, to_numpy, xp_of
from lowland.data.rows import ArrayRows, Rows
from lowland.errors import DataTypeError, ParameterError
from lowland.math.optimize.outcome import Outcome
from lowland.math.spectra.component_rules import ComponentChoice, Fixed, Rule, Spectrum
from lowland.math.spectra.leading import (
    ALL_PAIRS_UP_TO,
    ROUNDING,
    Eigenpairs,
    Iteration,
    Solver,
    all_eigenvalues,
    fix_signs,
    leading_eigenpairs,
    with_null_space,
)
from lowland.math.spectra.operators import (
    Divided,
    RowsGram,
    centered_gram_of_rows,
    centered_transposed_by_columns,
    divided_columns,
)
from lowland.math.statistics.moments import (
    ColumnMoments,
    Moments,
    Triangle,
    refuse_overflow,
    refuse_tiny_columns,
    without_zero_weights,
)
from lowland.math.statistics.rescaling import in_range
from lowland.run.memory import show_bytes
from lowland.run.run import Run

_SMALL = 500  # rows and columns up to which the cost of a full decomposition is negligible
_WIDE = 2000  # smaller dimension above which an iteration may pay off for few components
_FAR = 1e3  # ratio of squared mean to scatter above which the eigenproblem of their sum loses too many digits
_FAINT = 1e-4  # eigenvalues below this fraction of the first are too inaccurate from float32 products
_AS_ARPACK = 1e-11  # residual where ARPACK, which computes to machine precision, was asked for
_CANCELLATION = 1e-8  # a remainder below this fraction of the total has lost too many digits by cancellation


@dataclass(frozen=True)
class SolverOptions:
    """Options of the iterative solvers."""

    rng: Callable[[], np.random.Generator] = lambda: np.random.default_rng(0)  # made only if it is needed
    tol: float = 0.0
    power_steps: int | None = None
    oversamples: int = 10


@dataclass(frozen=True)
class AxesRequest:
    """The requested axes: rule for their number, solver, scaling and weights."""

    rule: Rule
    solver: Outcome
    scale: bool = False
    weights: np.ndarray | None = None
    options: SolverOptions = field(default_factory=SolverOptions)
    dtype: Any = np.float64  # dtype of the rows and of their products


@dataclass(frozen=True)
class ColumnSummary:
    """Mean, scale and variance of the columns."""

    n: float  # rows, or the sum of their weights
    rows: int  # rows of positive weight
    mean: Array  # (d,) float64
    variances: Array  # (d,) float64, divisor n - 1, after scaling
    scale: Array | None = None  # (d,) float64: divisor of the columns

    def scaled(self) -> ColumnSummary:
        """The summary of the standardized columns; a constant column is left unchanged."""
        refuse_tiny_columns(self.variances, self.mean)
        xp = xp_of(self.variances)
        scale = xp.sqrt(xp.where(self.variances > 0, self.variances, xp.ones_like(self.variances)))
        return replace(self, variances=self.variances / scale**2, scale=scale)

    @property
    def most(self) -> int:
        """The maximal number of components: a weight counts repetitions, so weighted rows may count more than once."""
        return min(max(self.rows, int(self.n)), self.mean.shape[0])


@dataclass(frozen=True)
class Axes:
    """Eigenpairs of the covariance (divisor n - 1) of rows, and the choice of their number."""

    columns: ColumnSummary
    pairs: Eigenpairs  # at least those kept
    choice: ComponentChoice
    outcome: Outcome
    spectrum: Spectrum
    discarded: float  # total variance of the discarded components


def choose_solver(asked: str, rows: Rows, k: int | None, budget: int) -> Outcome:
    """Return the solver to use: the requested one, or the cheapest within the memory budget, with the reason.

    The costs compared are multiplications: n d² to form the covariance (n² d for the Gram matrix of the rows) plus nine
    times the cube of its size to solve it, against about 40 n d (k + 10) for a matrix-free iteration.
    """
    if asked != "auto":
        return Outcome(asked, "requested")
    n, d = rows.n, rows.d
    if n is not None and max(n, d) <= _SMALL and n < 10 * d and not rows.is_sparse:
        return Outcome("full", f"the {n} x {d} table is small, so a full decomposition is cheap")
    side = n if n is not None and _rows_are_fewer(rows) else d
    needed = bytes_to_form(side) if side == d else _bytes_by_rows(rows)
    if needed > budget:
        size = show_bytes(needed)
        reason = f"the {side} x {side} covariance matrix needs {size}, more than the memory budget"
        return Outcome("randomized", f"matrix-free, since {reason}")
    if k is not None and n is not None and side > _WIDE:
        formed, applied = float(n) * d * side + 9.0 * side**3, 40.0 * n * d * (k + 10)
        if applied < formed:
            reason = f"matrix-free products cost less than the {side} x {side} covariance matrix for {k} components"
            return Outcome("randomized", reason)
    matrix = "covariance of the columns" if side == d else "Gram matrix of the rows"
    return Outcome("covariance_eigh", f"the {side} x {side} {matrix} costs least")


def _rows_are_fewer(rows: Rows) -> bool:
    """Whether to use the Gram matrix of the rows: they are in memory and fewer than the columns."""
    return rows.in_memory and rows.n is not None and rows.n < rows.d


def bytes_to_form(side: int) -> int:
    """Return the memory for a symmetric matrix and its eigenvectors."""
    return 3 * 8 * side * side  # the matrix in float64, a copy for LAPACK, its vectors


def _bytes_by_rows(rows: Rows) -> int:
    n = int(rows.n or 0)
    return bytes_to_form(n) + (0 if isinstance(rows, ArrayRows) else n * rows.d * rows.dtype.itemsize)


def principal_axes(
    rows: Rows,
    run: Run,
    rule: Rule,
    *,
    solver: str = "auto",
    scale: bool = False,
    weights: np.ndarray | None = None,
    options: SolverOptions | None = None,
) -> Axes:
    """Return the principal axes of the rows, as many as the rule keeps."""
    if rule == Fixed(0) and solver in ("power", "arpack", "randomized"):
        raise ParameterError(
            f"it must be between 1 and min(n_samples, n_features) with the solver {solver!r}.",
            "Choose another solver, or at least 1.",
            n_components=0,
        )
    chosen = choose_solver(solver, rows, rule.count if isinstance(rule, Fixed) else None, run.budget)
    wanted = AxesRequest(rule, chosen, scale, weights, options or SolverOptions(), rows.dtype)
    if chosen.name == "full":
        return _by_triangle(rows, run, wanted)
    if chosen.name == "covariance_eigh" and _rows_are_fewer(rows):
        return _by_rows(rows, run, wanted)
    too_large = chosen.name != "covariance_eigh" and bytes_to_form(rows.d) > run.budget
    if chosen.name == "randomized" or too_large:
        return _matrix_free(rows, run, wanted)
    moments = run.fold(rows, Moments.of, weights, name="summing moments")
    if moments.lost_digits:
        reason = "matrix-free, since the sparse rows lie so far from the origin that their covariance loses digits"
        return _matrix_free(rows, run, replace(wanted, solver=Outcome("randomized", reason)))
    return axes_of_moments(moments, run, wanted)


def principal_axes_of_covariance(
    S: Array,
    k: int | None = None,
    *,
    solver: str = "auto",
    options: SolverOptions | None = None,
    run: Run | None = None,
) -> Eigenpairs:
    """Return the principal axes of a covariance or correlation matrix: S u = λ u, largest λ first.

    Parameters
    ----------
    S
        A symmetric, positive semi-definite matrix, (d, d).
    k
        Number of axes. None keeps all.
    solver
        "auto" (LAPACK, or an iteration where it is faster), "covariance_eigh", "power", "arpack" or "randomized".
    options
        Tolerance, power iterations and random numbers of an iterative solver.
    run
        Shows progress and can be canceled.

    Returns
    -------
    Eigenpairs
        ``values`` (k,) the variances λ, ``vectors`` (d, k) the axes u, each with its largest entry positive.

    Examples
    --------
    >>> import numpy as np
    >>> axes = principal_axes_of_covariance(np.array([[2.0, 1.0], [1.0, 2.0]]), 1)
    >>> axes.values.round(12), axes.vectors[:, 0].round(4)
    (array([3.]), array([0.7071, 0.7071]))
    """
    wanted = AxesRequest(Fixed(k), Outcome(solver), options=options or SolverOptions())
    return _eigenpairs(S, S.shape[0] if k is None else k, Run() if run is None else run, wanted)


def axes_of_moments(moments: Moments, run: Run, wanted: AxesRequest) -> Axes:
    """Return the principal axes of a table from its moments."""
    columns = ColumnSummary(moments.n, moments.rows, moments.mean, moments.variances)
    S = moments.covariance
    if wanted.scale:
        columns = columns.scaled()
        S = S / (columns.scale[:, None] * columns.scale[None, :])  # type: ignore[index]
    return _decided(columns, wanted, partial(_eigenpairs, S, run=run, wanted=wanted), lambda: all_eigenvalues(S))


def _by_triangle(rows: Rows, run: Run, wanted: AxesRequest) -> Axes:
    """Singular values of the triangular factor: accurate also for the smallest components."""
    if rows.is_sparse:
        raise DataTypeError(
            "The solver 'full' would convert the sparse rows to dense ones. "
            "Choose the solver 'covariance_eigh', 'arpack', 'randomized' or 'auto'."
        )
    triangle = run.fold(rows, Triangle.of, wanted.weights, name="factorizing rows")
    columns = ColumnSummary(triangle.n, triangle.rows, triangle.mean, triangle.variances)
    R = as_double(triangle.R)
    if wanted.scale:
        columns = columns.scaled()
        R = R / columns.scale[None, :]  # type: ignore[index]
    _, s, Vt = svd(R)
    with np.errstate(over="ignore"):
        variances = s**2 / (triangle.n - 1)
    if not np.isfinite(float(xp_of(variances).sum(variances))):
        raise rows.non_finite_error()
    pairs = Eigenpairs(variances, fix_signs(Vt.T), np.zeros(s.shape[0]), "svd")
    null_below = rounding_of(wanted.dtype) ** 2  # squares of singular values keep twice the digits
    return _decided(columns, wanted, lambda k: pairs, lambda: pairs.values, null_below)


def _by_rows(rows: Rows, run: Run, wanted: AxesRequest) -> Axes:
    """Fewer rows than columns: CC' is n x n and has the same nonzero eigenvalues; the axes are C'U, normalized."""
    n = int(rows.n or 0)
    columns = _columns_of(rows, run, wanted)
    X, weights = without_zero_weights(rows.to_array(), wanted.weights)
    if wanted.dtype == np.float32 and not in_range_of_single(float(xp_of(columns.mean).max(columns.variances))):
        X, wanted = as_double(X), replace(wanted, dtype=np.float64)
    n, mean = X.shape[0], columns.mean
    if columns.scale is not None:
        X, mean = divided_columns(X, columns.scale), mean / columns.scale
    w = np.ones(n) if weights is None else weights
    divisor, rule = columns.n - 1, wanted.rule
    K = centered_gram_of_rows(X, mean, w, run) / divisor  # (n, n)
    dual = _eigenpairs(K, min(n, rule.count), run, wanted) if isinstance(rule, Fixed) and rule.count else None
    if wanted.dtype == np.float32 and (dual is None or float(dual.values[-1]) < _FAINT * float(dual.values[0])):
        wanted = replace(wanted, dtype=np.float64)
        K, dual = centered_gram_of_rows(X, mean, w, run, double=True) / divisor, None

    def solve(k: int) -> Eigenpairs:
        pairs = dual or _eigenpairs(K, min(k, n), run, wanted)
        V = centered_transposed_by_columns(X, mean, w, pairs.vectors, double=wanted.dtype == np.float64)  # (d, k)
        return replace(pairs, vectors=fix_signs(orthonormal(V)))

    return _decided(columns, wanted, solve, lambda: all_eigenvalues(K))


def _matrix_free(rows: Rows, run: Run, wanted: AxesRequest) -> Axes:
    """Matrix-free: one pass for the moments of the columns, then one pass per product."""
    columns = _columns_of(rows, run, wanted)
    size = float(xp_of(columns.mean).max(columns.variances))
    rows = in_range(rows, size)
    covariance = Divided(RowsGram(rows, run, columns.mean, columns.scale, wanted.weights), columns.n - 1)
    return _decided(columns, wanted, lambda k: _eigenpairs(covariance, k, run, wanted, columns.mean[None, :], size))


def _columns_of(rows: Rows, run: Run, wanted: AxesRequest) -> ColumnSummary:
    found = run.fold(rows, ColumnMoments.of, wanted.weights, name="summing columns")
    columns = ColumnSummary(found.n, found.rows, found.mean, found.variances)
    return columns.scaled() if wanted.scale else columns


def _eigenpairs(
    S: Any, k: int, run: Run, wanted: AxesRequest, like_array: Array | None = None, size: float = 1.0
) -> Eigenpairs:
    """The leading eigenpairs of a covariance by the chosen solver; "arpack" is the Krylov method to more digits."""
    solvers: dict[str, Solver] = {"power": "power", "arpack": "krylov", "randomized": "krylov"}
    solver, options = solvers.get(wanted.solver.name, "auto"), wanted.options
    if wanted.solver.name == "randomized" and options.power_steps is not None:
        solver = "subspace"
    iteration = Iteration(
        None if solver == "auto" and hasattr(S, "dtype") else options.rng(),
        options.tol or (_AS_ARPACK if wanted.solver.name == "arpack" else 0.0),
        options.power_steps if solver == "subspace" else None,
        options.oversamples,
        like_array,
        ROUNDING if like_array is None else max(ROUNDING, rounding_of(wanted.dtype)),
        size,
    )
    return leading_eigenpairs(S, k, run=run, solver=solver, options=iteration)


def _decided(
    columns: ColumnSummary,
    wanted: AxesRequest,
    solve: Callable[[int], Eigenpairs],
    all_values: Callable[[], Array] | None = None,
    null_below: float | None = None,
) -> Axes:
    """Apply the rule, and compute the pairs that it keeps.

    ``solve(k)`` returns the k leading pairs, or all there are. Without ``all_values``, the number of pairs is doubled
    until the rule can decide.
    """
    rule, variances = wanted.rule, to_numpy(columns.variances)
    most, d = columns.most, len(variances)
    if isinstance(rule, Fixed) and rule.count is not None and rule.count > most:
        raise ParameterError(
            f"the number of components must be between 1 and {most} (`min(n_samples, n_features)={most}`): "
            f"the data has {columns.rows} rows and {d} columns.",
            f"Choose at most {most}.",
            n_components=rule.count,
        )
    rounding = rounding_of(wanted.dtype)  # fraction of the first eigenvalue below which another is rounding error
    null_below = rounding if null_below is None else null_below

    def spectrum(values: Array, asked: int) -> Spectrum:
        found = np.maximum(to_numpy(values)[:most], 0.0)
        found = np.where(found > null_below * (found[0] if len(found) else 0.0), found, 0.0)
        if len(found) < asked:  # there are no more; the missing ones are zero
            found = np.concatenate([found, np.zeros(most - len(found))])
        return Spectrum(found, float(variances.sum()), most, columns.n, d, variances=variances, rounding=rounding)

    choice = everything = None
    k = min(16, most)
    if isinstance(rule, Fixed):
        k = most if rule.count is None else max(rule.count, 1)  # no solver computes none
    if not isinstance(rule, Fixed):
        if all_values is not None and most <= ALL_PAIRS_UP_TO:
            k = most  # the values need most of the work of the vectors
        elif all_values is not None:
            everything = spectrum(all_values(), most)
            choice = rule.decide(everything)
            assert choice is not None
            k = choice.n_components
    while True:
        pairs = solve(k)
        known = everything or spectrum(pairs.values, k)
        choice = choice or rule.decide(known)
        if choice is not None:
            break
        k = min(most, 2 * k)
    k = choice.n_components
    discarded = known.total - float(known.values[:k].sum())
    if discarded < _CANCELLATION * known.total and not known.whole and all_values is not None:
        known = spectrum(all_values(), most)
    discarded = float(known.values[k:].sum()) if known.whole else max(discarded, 0.0)
    outcome = pairs.outcome(wanted.solver.reason, wanted.solver.name)
    return Axes(columns, with_null_space(pairs, k, null_below), choice, outcome, known, discarded)


def _uncentered_pairs(moments: Moments, k: int, run: Run, wanted: AxesRequest) -> Eigenpairs:
    """Leading eigenpairs of X'X = S + nμμ'.

    Far from the origin the sum loses the digits of S. There the singular values of S^1/2 stacked on √n μ' are computed
    instead: nothing is squared.
    """
    moments.check_uncentered()
    xp = xp_of(moments.mean)
    S = as_double(moments.scatter)
    if moments.n * float(xp.sum(moments.mean**2)) < _FAR * float(xp.sum(xp.linalg.diagonal(S))):
        return _eigenpairs(moments.uncentered, k, run, wanted)
    own = leading_eigenpairs(S, S.shape[0], run=run, solver="eigh")
    root = own.vectors.T * xp.sqrt(own.values)[:, None]  # (d, d), root' root = S
    root = xp.concat([root, moments.mean[None, :] * moments.n**0.5], axis=0)
    _, s, Vt = svd(root)
    return Eigenpairs(s[:k] ** 2, fix_signs(Vt[:k, :].T), np.zeros(k), "svd")


def singular_axes(
    rows: Rows, run: Run, k: int, *, solver: str, options: SolverOptions
) -> tuple[Eigenpairs, ColumnMoments | Moments, Outcome]:
    """Return the leading eigenpairs of X'X, not centered: right singular vectors and squared singular values."""
    if k > rows.d:
        raise ParameterError(
            f"the data has {rows.d} columns (`must be <= n_features({rows.d})`).",
            f"Choose at most {rows.d}.",
            n_components=k,
        )
    if rows.d <= _WIDE and bytes_to_form(rows.d) <= run.budget:
        moments = run.fold(rows, Moments.of, name="summing moments")
        chosen = Outcome("covariance_eigh", f"the {rows.d} x {rows.d} Gram matrix costs least")
        pairs = _uncentered_pairs(moments, k, run, AxesRequest(Fixed(k), chosen, options=options))
    else:
        moments = run.fold(rows, ColumnMoments.of, name="summing columns")
        limit = (
            f"there are more than {_WIDE} columns" if rows.d > _WIDE else "the Gram matrix exceeds the memory budget"
        )
        chosen = Outcome(solver, f"matrix-free, since {limit}")
        xp = xp_of(moments.mean)
        with np.errstate(over="ignore"):
            squares = moments.mean**2 + (moments.variances if moments.rows > 1 else 0.0)
            refuse_overflow(squares * moments.n)
        size = float(xp.max(squares))
        rows = in_range(rows, size if moments.rows > 1 else 1.0)
        gram, wanted = (
            RowsGram(rows, run, None, None, None),
            AxesRequest(Fixed(k), chosen, options=options, dtype=rows.dtype),
        )
        pairs = _eigenpairs(gram, k, run, wanted, moments.mean[None, :], size)
    rounding = rounding_of(rows.dtype)
    pairs = with_null_space(pairs, k, rounding**2 if pairs.solver == "svd" else rounding)
    return pairs, moments, pairs.outcome(chosen.reason, chosen.name)

"""Principal axes of rows: the routes from a table to the eigenpairs of its covariance, and the choice among them.

Every route returns the same ``Axes``. The covariance may be formed on the side of the columns (d x d), on the side of the
rows (n x n: the same eigenvalues), kept as a triangular factor (never squared), or only applied (matrix-free).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from lowland.arrays.linalg import svd
from lowland.arrays.namespace import Array, is_sparse, like, to_numpy, xp_of
from lowland.arrays.precision import as_double
from lowland.blocks.moments import ColumnMoments, Moments, Triangle
from lowland.blocks.operators import RowsGram, dual_gram
from lowland.blocks.rules import GRAM, VARIANCE, Choice, Fixed, Rule, Spectrum
from lowland.blocks.spectral import Eigenpairs, all_eigenvalues, fix_signs, leading_eigenpairs
from lowland.data.rows import Rows
from lowland.errors import ParameterError
from lowland.run.memory import show_bytes
from lowland.run.run import Run

_SMALL = 500  # rows and columns up to which a full decomposition costs nothing worth saving
_WIDE_ENOUGH = 2000  # a smaller side above this makes few components worth an iteration


@dataclass(frozen=True)
class SolverChoice:
    """Which solver was used and why."""

    name: str
    reason: str

    def __str__(self) -> str:
        return f"{self.name}: {self.reason}"


@dataclass(frozen=True)
class SolverOptions:
    """What the caller asked of the iterative solvers."""

    rng: np.random.Generator
    tol: float = 0.0
    power_steps: int | None = None
    oversamples: int = 10


@dataclass(frozen=True)
class Axes:
    """Eigenpairs of the covariance (divisor n - 1) of rows, and the choice of how many to keep."""

    n: float  # rows, or the sum of their weights
    rows: int
    mean: Array  # (d,) float64
    scale: Array | None  # (d,) float64: the columns were divided by it
    variances: Array  # (d,) float64, after scaling
    pairs: Eigenpairs  # at least the kept ones
    choice: Choice
    solver: SolverChoice
    spectrum: Spectrum

    @property
    def total(self) -> float:
        """The total variance."""
        return self.spectrum.total


def choose_solver(asked: str, rows: Rows, k: int | None, budget: int) -> SolverChoice:
    """Return the solver to use: the one asked for, or the cheapest that fits the budget, with the reason in words.

    The costs compared are multiplications: n d² to form the covariance (n² d on the side of the rows) plus the cube of
    its size to solve it, against about 40 n d (k + 10) for an iteration that only multiplies.
    """
    n, d = rows.n, rows.d
    if asked != "auto":
        return SolverChoice(asked, "asked for")
    few = k is not None
    side = d if n is None else min(n, d)
    needed = 3 * 8 * side * side
    if n is not None and max(n, d) <= _SMALL and n < 10 * d and not rows.is_sparse:
        return SolverChoice("full", f"{n} x {d} is small, so the exact decomposition costs nothing worth saving")
    if rows.is_sparse or n is None or not rows.in_memory:
        side, needed = d, 3 * 8 * d * d  # only columns can be summed over rows that are read once
    if needed > budget:
        return SolverChoice(
            "randomized", f"a {side} x {side} covariance needs {show_bytes(needed)}, more than the budget: matrix-free"
        )
    if few and n is not None and k is not None and side > _WIDE_ENOUGH:
        formed = float(n) * d * side + 9.0 * side**3
        applied = 40.0 * n * d * (k + 10)
        if applied < formed:
            return SolverChoice(
                "randomized", f"{k} of {side} components: applying the covariance costs less than forming it"
            )
    of = "columns" if side == d else "rows"
    return SolverChoice(
        "covariance_eigh", f"the {side} x {side} covariance of the {of} fits the budget and costs least"
    )


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
    options = options or SolverOptions(np.random.default_rng(0))
    k = rule.count if isinstance(rule, Fixed) else None
    chosen = choose_solver(solver, rows, k, run.budget)
    if chosen.name == "full":
        return _by_triangle(rows, run, rule, chosen, scale, weights)
    if chosen.name == "covariance_eigh" and _rows_are_fewer(rows, run):
        return _by_rows(rows, run, rule, chosen, scale, weights, options)
    if chosen.name == "randomized" or _too_wide(rows, run):
        if chosen.name == "covariance_eigh":
            run.require(3 * 8 * rows.d**2, f"The {rows.d} x {rows.d} covariance", "Choose svd_solver='randomized'")
        return _matrix_free(rows, run, rule, chosen, scale, weights, options)
    moments = run.fold(rows, Moments.of, weights, name="summing moments")
    return axes_of_moments(moments, rule, run, chosen=chosen, scale=scale, options=options)


def _rows_are_fewer(rows: Rows, run: Run) -> bool:
    return rows.in_memory and not rows.is_sparse and rows.n is not None and rows.n < rows.d


def _too_wide(rows: Rows, run: Run) -> bool:
    return 3 * 8 * rows.d**2 > run.budget


def axes_of_moments(
    moments: Moments,
    rule: Rule,
    run: Run,
    *,
    chosen: SolverChoice | None = None,
    scale: bool = False,
    options: SolverOptions | None = None,
) -> Axes:
    """Return the axes of a table of which only the moments are at hand."""
    chosen = chosen or SolverChoice("covariance_eigh", "from merged moments")
    _need_two_rows(moments.n, moments.rows)
    S = moments.covariance
    variances, deviations = moments.variances, None
    if scale:
        deviations = _deviations(variances)
        S = S / (deviations[:, None] * deviations[None, :])
        variances = variances / deviations**2
    total = float(xp_of(variances).sum(variances))
    length = min(moments.rows, S.shape[0])
    return _decided(
        rule, moments.n, moments.rows, moments.mean, deviations, variances, total, length, chosen,
        lambda k: _eigenpairs(S, k, chosen, run, options), lambda: all_eigenvalues(S),
    )  # fmt: skip


def _eigenpairs(
    S: Array, k: int, chosen: SolverChoice, run: Run, options: SolverOptions | None, like_array: Array | None = None
) -> Eigenpairs:
    """The leading eigenpairs of a covariance by the solver that was chosen."""
    options = options or SolverOptions(np.random.default_rng(0))
    solvers: dict[str, Any] = {"power": "power", "arpack": "arpack", "randomized": "krylov"}
    solver = solvers.get(chosen.name, "auto")
    if solver == "krylov" and options.power_steps is not None:
        solver = "subspace"
    return leading_eigenpairs(
        S, k, run=run, solver=solver, rng=options.rng, tol=options.tol, max_iter=options.power_steps if solver != "auto" else None,
        oversamples=options.oversamples, like_array=like_array,
    )  # fmt: skip


def _decided(
    rule: Rule, n: float, rows: int, mean: Array, scale: Array | None, variances: Array, total: float, length: int,
    chosen: SolverChoice, solve: Any, spectrum_of_all: Any = None,
) -> Axes:  # fmt: skip
    """Find how many components the rule keeps, solving for more leading pairs until it can tell."""
    host = to_numpy(variances)
    check_count(rule, rows, len(host), length)

    def spectrum(values: Array) -> Spectrum:
        return Spectrum(to_numpy(values)[:length], total, length, n, len(host), VARIANCE, host)

    k = rule.count if isinstance(rule, Fixed) and rule.count is not None else length
    if not isinstance(rule, Fixed):
        rule.check(spectrum(host[:0]))
        k = min(length, 16)
        if spectrum_of_all is not None:
            choice = rule.decide(spectrum(spectrum_of_all()))
            assert choice is not None
            k = choice.n_components
    while True:
        pairs = solve(k)
        known = spectrum(pairs.values)
        choice = rule.decide(known) if isinstance(rule, Fixed) or spectrum_of_all is None else choice
        if choice is not None:
            return Axes(n, rows, mean, scale, variances, pairs, choice, chosen, known)
        k = min(length, 2 * k)


def check_count(rule: Rule, n: int, d: int, length: int) -> None:
    """Refuse more components than there are."""
    if isinstance(rule, Fixed) and rule.count is not None and rule.count > length:
        raise ParameterError(
            f"n_components={rule.count} must be between 1 and min(n_samples, n_features)={length}: the data has {n} rows and "
            f"{d} columns. Choose at most {length}."
        )


def _need_two_rows(n: float, rows: int) -> None:
    if rows < 2 or n <= 1:
        from lowland.errors import DataError

        raise DataError(
            "There is only one row (n_samples=1, 1 sample), and one point has no variance. Pass at least 2 rows."
        )


def _deviations(variances: Array) -> Array:
    """Standard deviations to divide by; a constant column is left as it is."""
    xp = xp_of(variances)
    return xp.sqrt(xp.where(variances > 0, variances, xp.ones_like(variances)))


def _by_triangle(
    rows: Rows, run: Run, rule: Rule, chosen: SolverChoice, scale: bool, weights: np.ndarray | None
) -> Axes:
    """Singular values of the triangular factor: exact to the last digit of the smallest component."""
    if rows.is_sparse:
        raise ParameterError(
            "PCA with svd_solver='full' would make the sparse rows dense. Choose 'covariance_eigh', 'arpack', 'randomized' or 'auto'."
        )
    triangle = run.fold(rows, Triangle.of, weights, name="factoring rows")
    _need_two_rows(triangle.n, triangle.rows)
    xp = xp_of(triangle.R)
    R = as_double(triangle.R)
    variances, deviations = xp.sum(R**2, axis=0) / (triangle.n - 1), None
    if scale:
        deviations = _deviations(variances)
        R, variances = R / deviations[None, :], variances / deviations**2
    _, s, Vt = svd(R)
    length = min(triangle.rows, R.shape[1])
    pairs = Eigenpairs(s**2 / (triangle.n - 1), fix_signs(Vt.T), np.zeros(s.shape[0]), "svd")
    total = float(xp.sum(pairs.values))
    return _decided(
        rule,
        triangle.n,
        triangle.rows,
        triangle.mean,
        deviations,
        variances,
        total,
        length,
        chosen,
        lambda k: pairs,
        lambda: pairs.values,
    )


def _by_rows(
    rows: Rows,
    run: Run,
    rule: Rule,
    chosen: SolverChoice,
    scale: bool,
    weights: np.ndarray | None,
    options: SolverOptions,
) -> Axes:
    """Fewer rows than columns: CC' is n x n and has the same eigenvalues; the axes are C'U/s."""
    X = run.to_array(rows, "PCA of fewer rows than columns")
    run.require(
        3 * 8 * rows.n**2 + 2 * rows.n * rows.d * rows.dtype.itemsize,
        f"The {rows.n} x {rows.n} Gram matrix",
        "Choose svd_solver='randomized'",
    )  # type: ignore[operator]
    xp = xp_of(X)
    columns = run.fold(rows, ColumnMoments.of, weights, name="summing columns")
    _need_two_rows(columns.n, columns.rows)
    variances, deviations = columns.variances, None
    Y = X - like(columns.mean, X)[None, :]
    if scale:
        deviations = _deviations(variances)
        Y, variances = Y / like(deviations, Y)[None, :], variances / deviations**2
    if weights is not None:
        Y = Y * xp.sqrt(like(weights, Y))[:, None]
    K = dual_gram(Y, run) / (columns.n - 1)  # (n, n)

    def solve(k: int) -> Eigenpairs:
        dual = _eigenpairs(K, k, chosen, run, options)
        V = Y.T @ like(dual.vectors, Y)  # (d, k), each column as long as its singular value
        length = xp.linalg.vector_norm(as_double(V), axis=0)
        V = as_double(V) / xp.where(length > 0, length, xp.ones_like(length))[None, :]
        return Eigenpairs(dual.values, fix_signs(_repaired(V, dual.values)), dual.residuals, dual.solver)

    total = float(xp.sum(variances))
    return _decided(
        rule, columns.n, columns.rows, columns.mean, deviations, variances, total, min(columns.rows, rows.d), chosen, solve,
        lambda: all_eigenvalues(K),
    )  # fmt: skip


def _repaired(V: Array, values: Array) -> Array:
    """Axes of vanishing variance come out of C'U as noise: make them orthonormal to the rest."""
    xp = xp_of(V)
    if float(values[-1]) > 1e-10 * float(values[0]):
        return V
    Q, R = xp.linalg.qr(V)
    return Q * xp.where(xp.linalg.diagonal(R) < 0, -1.0, 1.0)[None, :]


def _matrix_free(
    rows: Rows,
    run: Run,
    rule: Rule,
    chosen: SolverChoice,
    scale: bool,
    weights: np.ndarray | None,
    options: SolverOptions,
) -> Axes:
    """The covariance is only applied: one pass for the columns' moments, then one for each product."""
    columns = run.fold(rows, ColumnMoments.of, weights, name="summing columns")
    _need_two_rows(columns.n, columns.rows)
    variances, deviations = columns.variances, None
    if scale:
        deviations = _deviations(variances)
        variances = variances / deviations**2
    scatter = RowsGram(rows, run, columns.mean, deviations, weights)
    covariance = _Divided(scatter, columns.n - 1)
    example = columns.mean[None, :]

    def solve(k: int) -> Eigenpairs:
        return _eigenpairs(covariance, k, chosen, run, options, example)  # type: ignore[arg-type]

    total = float(xp_of(variances).sum(variances))
    return _decided(
        rule,
        columns.n,
        columns.rows,
        columns.mean,
        deviations,
        variances,
        total,
        min(columns.rows, rows.d),
        chosen,
        solve,
    )


@dataclass(frozen=True)
class _Divided:
    """An operator over a number."""

    operator: Any
    divisor: float

    @property
    def shape(self) -> tuple[int, int]:
        return self.operator.shape

    def __matmul__(self, V: Array) -> Array:
        return (self.operator @ V) / self.divisor


def singular_axes(
    rows: Rows, run: Run, k: int, *, solver: str, options: SolverOptions
) -> tuple[Eigenpairs, ColumnMoments | Moments, SolverChoice]:
    """Return the leading eigenpairs of X'X, not centered: right singular vectors and squared singular values."""
    if 3 * 8 * rows.d**2 <= run.budget and rows.d <= _WIDE_ENOUGH:
        moments = run.fold(rows, Moments.of, name="summing moments")
        _need(k, moments.rows, rows.d)
        chosen = SolverChoice(solver, f"the {rows.d} x {rows.d} Gram matrix fits the budget")
        return (
            _eigenpairs(
                moments.uncentered,
                k,
                SolverChoice("arpack" if solver == "arpack" else "covariance_eigh", ""),
                run,
                options,
            ),
            moments,
            chosen,
        )
    columns = run.fold(rows, ColumnMoments.of, name="summing columns")
    _need(k, columns.rows, rows.d)
    gram = RowsGram(rows, run, None, None, None)
    chosen = SolverChoice(solver, f"{rows.d} columns: matrix-free")
    return _eigenpairs(gram, k, chosen, run, options, columns.mean[None, :]), columns, chosen  # type: ignore[arg-type]


def _need(k: int, n: int, d: int) -> None:
    if k > d:
        raise ParameterError(f"n_components({k}) must be <= n_features({d}). Choose at most {min(n, d)}.")


__all__ = [
    "GRAM",
    "Axes",
    "SolverChoice",
    "SolverOptions",
    "axes_of_moments",
    "choose_solver",
    "is_sparse",
    "principal_axes",
    "singular_axes",
]

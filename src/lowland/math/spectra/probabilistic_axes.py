"""Principal axes of rows with missing values: probabilistic PCA (Tipping and Bishop 1999)."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from lowland.data.rows import Rows
from lowland.errors import DataError
from lowland.math.optimize.outcome import Outcome
from lowland.math.spectra.component_rules import Fixed, Rule
from lowland.math.spectra.leading import leading_eigenpairs
from lowland.math.spectra.principal_axes import Axes, AxesRequest, axes_of_moments
from lowland.math.statistics.available_cases import AvailableColumns
from lowland.math.statistics.latent_gaussian import (
    LatentModel,
    LikelihoodFit,
    expectation_maximization,
    warn_of_empty_rows,
)
from lowland.math.statistics.moments import Moments
from lowland.run.run import Run

_LEAST_NOISE = 1e-10  # fraction of the mean variance below which the noise is not estimated


@dataclass(frozen=True)
class FitComponents:
    """The M-step: k principal components of the moments of standardized columns, and isotropic noise."""

    k: int
    scale: np.ndarray  # (d,) divisors of the columns
    run: Run

    def __call__(self, moments: Moments) -> LatentModel:
        """Return the model of greatest likelihood."""
        S = moments.scatter / np.outer(self.scale, self.scale) / moments.n
        pairs = leading_eigenpairs(S, self.k, run=self.run) if self.k else None
        values, vectors = (pairs.values, pairs.vectors) if pairs else (np.zeros(0), np.zeros((len(S), 0)))
        d, total = len(S), float(np.trace(S))
        noise = (total - float(values.sum())) / (d - self.k) if self.k < d else float(values[-1])
        return components_model(vectors, values, noise, moments.mean, self.scale)


def components_model(
    vectors: np.ndarray, values: np.ndarray, noise: float, mean: np.ndarray, scale: np.ndarray
) -> LatentModel:
    """Return the model with principal axes (d, k), variances (k,) and noise variance, of columns divided by scale."""
    largest = float(values[0]) if len(values) else noise
    noise = max(noise, _LEAST_NOISE * largest, np.finfo(np.float64).tiny)
    L = vectors * np.sqrt(np.maximum(values / noise - 1, 0.0))
    return LatentModel(mean, scale * np.sqrt(noise), np.ascontiguousarray(L))


def available_columns(rows: Rows, run: Run, weights: np.ndarray | None = None) -> AvailableColumns:
    """Count the values of each column; raise an error for columns without any, warn of rows without any."""
    found: AvailableColumns = run.fold(rows, AvailableColumns.of, weights, name="counting missing values")
    nothing = np.flatnonzero(found.cells == 0)
    if nothing.size:
        names = ", ".join(rows.column_name(j) for j in nothing[:5]) + (" and more" if nothing.size > 5 else "")
        raise DataError(
            f"Column{'s' * (nothing.size > 1)} {names} of {rows.source}: every value is missing. Drop "
            f"{'these columns' if nothing.size > 1 else 'this column'}."
        )
    if not found.complete:
        found.refuse_lost_squares()
    warn_of_empty_rows(found.empty_rows)
    return found


def independent_columns(found: AvailableColumns) -> LatentModel:
    """Return the model of independent columns, the most likely one: means and variances of the observed values."""
    variances = found.squares / np.where(found.weight > 0, found.weight, 1.0)
    deviations = np.sqrt(np.where(found.variances > 0, variances, 1.0))
    return LatentModel(found.mean, deviations, np.zeros((len(deviations), 0)))


def deviations_of(found: AvailableColumns) -> np.ndarray:
    """Return the standard deviations of the observed values, (d,); 1 for a constant column."""
    return np.sqrt(np.where(found.variances > 0, found.variances, 1.0))


def saturated_fit(
    rows: Rows, run: Run, found: AvailableColumns, *, weights: np.ndarray | None = None, tol: float
) -> LikelihoodFit:
    """Return the fit of an unrestricted mean and covariance: components in all directions."""
    start, fit = independent_columns(found), FitComponents(rows.d - 1, deviations_of(found), run)
    return expectation_maximization(rows, run, start, fit, weights=weights, tol=tol)


def axes_of_incomplete_rows(
    rows: Rows,
    run: Run,
    rule: Rule,
    found: AvailableColumns,
    *,
    scale: bool = False,
    weights: np.ndarray | None = None,
    tol: float,
) -> Axes:
    """Return the principal axes of rows with missing values, by maximum likelihood.

    A rule that needs the spectrum sees that of the unrestricted covariance, of d - 1 components and noise.
    """
    start = independent_columns(found)
    units = deviations_of(found) if scale else np.ones(rows.d)
    count = rule.count if isinstance(rule, Fixed) else None
    k = rows.d - 1 if count is None else min(count, rows.d - 1)

    def maximize(k: int, first: LatentModel) -> LikelihoodFit:
        return expectation_maximization(rows, run, first, FitComponents(k, units, run), weights=weights, tol=tol)

    fitted = maximize(k, start)
    reason = f"{found.missing_fraction:.1%} of the values are missing"
    wanted = AxesRequest(rule, Outcome("covariance_eigh"), dtype=rows.dtype)
    axes = axes_of_moments(_standardized(fitted.moments, units), run, wanted)
    chosen = axes.choice.n_components
    if not isinstance(rule, Fixed) and chosen < k:
        fitted = maximize(chosen, FitComponents(chosen, units, run)(fitted.moments))
        final = replace(wanted, rule=Fixed(chosen))
        kept = axes_of_moments(_standardized(fitted.moments, units), run, final)
        axes = replace(kept, choice=axes.choice)
    columns = replace(axes.columns, mean=fitted.moments.mean, scale=units if scale else None)
    return replace(axes, columns=columns, outcome=replace(fitted.outcome, reason=reason))


def _standardized(moments: Moments, units: np.ndarray) -> Moments:
    """The moments of the columns divided by their units."""
    return replace(moments, mean=moments.mean / units, scatter=moments.scatter / np.outer(units, units))

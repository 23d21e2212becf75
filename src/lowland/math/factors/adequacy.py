"""Adequacy of correlations for factor analysis, and goodness of fit of the model."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from lowland.arrays.records import record
from lowland.math.factors.correlations import Correlations, listed
from lowland.math.factors.likelihood_searches import FactorEstimate
from lowland.math.factors.maximum_likelihood import degrees_of_freedom, free_parameters, most_factors
from lowland.math.factors.model import NO_NOISE

_NOTHING = 1e-14  # a sum of squared correlations below this is rounding


@record
@dataclass(frozen=True)
class ChiSquare:
    """A chi-square test: the statistic, its degrees of freedom and the p-value."""

    statistic: float
    dof: int
    p_value: float


@record
@dataclass(frozen=True)
class Adequacy:
    """Kaiser-Meyer-Olkin measure of sampling adequacy: of all columns together and of each."""

    overall: float
    columns: np.ndarray  # (d,)


@dataclass(frozen=True)
class GoodnessOfFit:
    """The log-likelihood of a factor model, information criteria and tests."""

    loglike: list[float]  # after each iteration
    start_loglike: list[float]  # at the end of each initialization
    aic: float
    bic: float
    dof: int
    fit_test: ChiSquare | None
    kmo: Adequacy | None
    sphericity: ChiSquare | None


def goodness_of_fit(correlations: Correlations, found: FactorEstimate, k: int) -> GoodnessOfFit:
    """Return how well k factors fit the rows behind the correlations; constant columns have a tiny noise variance."""
    n, variances, varying = correlations.n, correlations.variances, correlations.varying
    d, v = len(varying), len(correlations.R)
    constant = d * math.log(2 * math.pi) + float(np.sum(np.log(np.where(varying, variances, NO_NOISE))))
    loglike = [-n / 2 * (deviance + constant) for deviance in found.outcome.trace]
    parameters = free_parameters(v, min(k, v))
    return GoodnessOfFit(
        loglike,
        [-n / 2 * (deviance + constant) for deviance in found.start_deviances],
        2 * parameters - 2 * loglike[-1],
        math.log(n) * parameters - 2 * loglike[-1],
        degrees_of_freedom(v, k),
        fit_test(correlations, found.deviance, k),
        kmo(correlations),
        sphericity(correlations),
    )


@dataclass(frozen=True)
class LikelihoodTests:
    """Information criteria and tests from the likelihood of the observed values of incomplete rows."""

    aic: float
    bic: float
    fit_test: ChiSquare | None
    sphericity: ChiSquare | None


def likelihood_tests(d: int, k: int, n: float, independent: float, free: float, factors: float) -> LikelihoodTests:
    """Return likelihood ratio tests of k factors, and of independent columns, against an unrestricted covariance.

    ``independent``, ``free`` and ``factors`` are the log-likelihoods of the three models.
    """
    parameters, dof = free_parameters(d, min(k, d)), degrees_of_freedom(d, k)
    return LikelihoodTests(
        2 * parameters - 2 * factors,
        math.log(n) * parameters - 2 * factors,
        _tested(max(2 * (free - factors), 0.0), dof) if dof > 0 and n > d else None,
        _tested(max(2 * (free - independent), 0.0), d * (d - 1) // 2) if d > 1 and n > d else None,
    )


def kmo(correlations: Correlations) -> Adequacy | None:
    """Return Σr² / (Σr² + Σp²) with the correlations r and the partial correlations p; None where R is singular.

    Near 1, correlations are shared by many columns, as common factors imply; below 0.5, factor analysis is inadequate.
    """
    inverse = correlations.inverse
    if inverse is None or len(inverse) < 2:
        return None
    scale = 1 / np.diagonal(inverse)
    partial = (np.einsum("ij,ij,j->i", inverse, inverse, scale) * scale) - 1  # (d,) sums of squares, the diagonal's 1
    plain = np.einsum("ij,ij->i", correlations.R, correlations.R) - 1
    partial, plain = (np.where(sums > _NOTHING, sums, 0.0) for sums in (partial, plain))
    both = plain + partial
    columns = np.divide(plain, both, out=np.zeros(len(both)), where=both > 0)
    return Adequacy(float(np.sum(plain) / np.sum(both)) if np.sum(both) > 0 else 0.0, columns)


def sphericity(correlations: Correlations) -> ChiSquare | None:
    """Bartlett's test that no columns are correlated; None with too few rows or columns, or where R is singular."""
    d = len(correlations.R)
    factor = correlations.n - 1 - (2 * d + 5) / 6
    unknown = d < 2 or factor <= 0 or not math.isfinite(correlations.log_det)
    return None if unknown else _tested(-factor * correlations.log_det, d * (d - 1) // 2)


def fit_test(correlations: Correlations, deviance: float, k: int) -> ChiSquare | None:
    """Test that k factors suffice, with Bartlett's correction; None without degrees of freedom or enough rows.

    The statistic is that of the discrepancy log|Σ| + tr Σ^-1 R - log|R| - d, which is infinite for a singular R.
    """
    d = len(correlations.R)
    dof = degrees_of_freedom(d, k)
    factor = correlations.n - 1 - (2 * d + 5) / 6 - 2 * k / 3
    if dof <= 0 or factor <= 0 or not math.isfinite(correlations.log_det):
        return None
    return _tested(factor * max(deviance - correlations.log_det - d, 0.0), dof)


def _tested(statistic: float, dof: int) -> ChiSquare:
    import scipy.special

    return ChiSquare(float(statistic), dof, float(scipy.special.chdtrc(dof, statistic)))


def too_many_factors(d: int, k: int) -> str | None:
    """Return the message that k factors are not identified with d columns; None where they are."""
    dof, most = degrees_of_freedom(d, k), most_factors(d)
    if dof >= 0:
        return None
    remedy = f"Choose at most {most}." if most else "Factor analysis needs at least 3 columns."
    return f"{k} factors are not identified with {d} columns (degrees of freedom {dof}). {remedy}"


def concerns(correlations: Correlations, k: int, held: Sequence[int], rounding: float, names: Any) -> list[str]:
    """Return warnings about the model, one message each.

    ``held`` are the positions of uniquenesses at their lower bound, ``rounding`` the precision of the rows.
    """
    d, messages = len(correlations.R), []
    if not correlations.varying.all():
        messages.append(
            f"{listed(np.flatnonzero(~correlations.varying), names)} constant. Remove constant columns, which no "
            "factor explains."
        )
    collinear = correlations.collinear(rounding) if correlations.n > d else np.empty(0, dtype=int)
    if collinear.size:
        messages.append(
            f"{listed(collinear, names)} perfectly collinear: the likelihood is unbounded, and uniquenesses reach "
            "their lower bound. Remove one of these columns."
        )
    if (many := too_many_factors(d, k)) is not None:
        messages.append(many)
    if held and not collinear.size:
        messages.append(
            f"{listed(held, names)} at the lower bound of the uniqueness (Heywood case). Keep fewer factors, or remove "
            f"the column{'s' * (len(held) > 1)}."
        )
    return messages

"""Correlations before and after a factor analysis: are they worth analysing, and does the model fit them?"""

from __future__ import annotations

import math
import numbers
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np

from lowland.arrays.linalg import eigh
from lowland.arrays.namespace import to_numpy
from lowland.arrays.precision import as_double
from lowland.blocks.factors import degrees_of_freedom, most_factors
from lowland.blocks.moments import Moments
from lowland.blocks.rules import Spectrum
from lowland.errors import DataError, ParameterError

_SINGULAR = 1e-10  # an eigenvalue of a correlation matrix below this is zero
_ALIKE = 1e-8  # share of the largest entry by which the two halves of a covariance may differ


@dataclass(frozen=True)
class ChiSquare:
    """A test: the statistic, its degrees of freedom, and how often chance alone gives as much."""

    statistic: float
    dof: int
    p_value: float


@dataclass(frozen=True)
class Adequacy:
    """Kaiser, Meyer and Olkin's measure of sampling adequacy: of all columns and of each."""

    overall: float
    columns: np.ndarray  # (d,)


@dataclass(frozen=True)
class Correlations:
    """The correlations of the columns that vary, their variances, and of how many rows."""

    R: np.ndarray  # (v, v)
    variances: np.ndarray  # (d,) divisor n; zero for a constant column
    n: float

    @classmethod
    def of(cls, moments: Moments) -> Self:
        """Return the correlations behind moments."""
        S = to_numpy(as_double(moments.scatter)) / moments.n
        variances = np.where(to_numpy(moments.variances) > 0, np.diagonal(S), 0.0)
        varying = variances > 0
        deviations = np.sqrt(variances[varying])
        R = np.clip(S[np.ix_(varying, varying)] / np.outer(deviations, deviations), -1.0, 1.0)
        np.fill_diagonal(R, 1.0)
        return cls(R, variances, moments.n)

    @property
    def varying(self) -> np.ndarray:
        """Which columns are not constant, (d,)."""
        return self.variances > 0

    @cached_property
    def pairs(self) -> tuple[np.ndarray, np.ndarray]:
        """Eigenvalues, ascending, and eigenvectors."""
        return eigh(self.R)

    @property
    def log_det(self) -> float:
        """The logarithm of the determinant; minus infinity where the columns are collinear."""
        values = self.pairs[0]
        return float(np.sum(np.log(values))) if values[0] >= _SINGULAR else -math.inf

    @property
    def spectrum(self) -> Spectrum:
        """The eigenvalues, for rules that say how many to keep."""
        v = len(self.R)
        values = np.maximum(self.pairs[0][::-1], 0.0)
        return Spectrum(values, float(v), v, self.n, v, variances=np.ones(v))

    def collinear(self, rounding: float = _SINGULAR) -> np.ndarray:
        """The positions of columns that are an exact combination of others, (m,)."""
        values, vectors = self.pairs
        null = vectors[:, values < max(rounding, _SINGULAR)]
        return np.flatnonzero(self.varying)[np.sum(null**2, axis=1) > 1e-6]


def kmo(correlations: Correlations) -> Adequacy | None:
    """Return the share of squared correlations in squared correlations and partial ones; None where R is singular.

    Near 1, what pairs of columns share is shared by more of them, as factors would have it; below 0.5 there is little.
    """
    values, vectors = correlations.pairs
    if len(values) < 2 or values[0] < _SINGULAR:
        return None
    inverse = (vectors / values) @ vectors.T
    scale = np.sqrt(np.diagonal(inverse))
    partial = (inverse / np.outer(scale, scale)) ** 2
    plain = correlations.R**2
    np.fill_diagonal(partial, 0.0)
    np.fill_diagonal(plain, 0.0)
    both = np.sum(plain + partial, axis=0)
    columns = np.divide(np.sum(plain, axis=0), both, out=np.zeros(len(both)), where=both > 0)
    return Adequacy(float(np.sum(plain) / np.sum(both)) if np.sum(both) > 0 else 0.0, columns)


def sphericity(correlations: Correlations) -> ChiSquare | None:
    """Bartlett's test that no columns are correlated; None where there are too few rows or columns."""
    d = len(correlations.R)
    factor = correlations.n - 1 - (2 * d + 5) / 6
    return None if d < 2 or factor <= 0 else _tested(-factor * correlations.log_det, d * (d - 1) // 2)


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
    """Say that a covariance of d columns cannot determine k factors; None where it can."""
    dof, most = degrees_of_freedom(d, k), most_factors(d)
    if dof >= 0:
        return None
    remedy = f"Choose at most {most}." if most else "Factor analysis needs at least 3 columns."
    return (
        f"n_components={k} with {d} columns means more parameters than variances and covariances (degrees of freedom "
        f"{dof}): loadings and uniquenesses are not determined. {remedy}"
    )


def concerns(correlations: Correlations, k: int, held: Sequence[int], rounding: float, names: Any) -> list[str]:
    """Say what keeps a model from meaning what it seems to, a sentence each.

    ``held`` are the positions of uniquenesses on their bound, ``rounding`` the precision of the rows.
    """
    d, said = len(correlations.R), []
    if not correlations.varying.all():
        said.append(
            f"{_listed(np.flatnonzero(~correlations.varying), names)} constant: no factor explains a column that does "
            "not vary. Leave it out."
        )
    collinear = correlations.collinear(rounding) if correlations.n > d else np.empty(0, dtype=int)
    if collinear.size:
        said.append(
            f"{_listed(collinear, names)} perfectly collinear, each a combination of others: the likelihood has no "
            "maximum, and uniquenesses end at min_uniqueness. Leave one of them out."
        )
    if (many := too_many_factors(d, k)) is not None:
        said.append(many)
    if held and not collinear.size:
        said.append(
            f"{_listed(held, names)} without noise where the likelihood is largest (a Heywood case), so the uniqueness "
            "is held at min_uniqueness. Keep fewer factors, gather more rows, or leave the column out."
        )
    return said


def named(j: Any, names: Any) -> str:
    """The name of a column in quotes, or its number."""
    return f"column {j}" if names is None else repr(str(names[j]))


def _listed(columns: Any, names: Any) -> str:
    words = ", ".join(named(j, names) for j in columns[:5]) + (", …" if len(columns) > 5 else "")
    return f"{words} {'is' if len(columns) == 1 else 'are'}"


def moments_of_covariance(S: Any, n: float, mean: np.ndarray | None, names: Any) -> Moments:
    """Return moments that have S as their covariance, or say what keeps S from being one of n rows."""
    if not isinstance(n, numbers.Real) or not n >= 2:
        raise ParameterError(f"n_samples={n!r}: a covariance needs at least 2 rows. Say how many rows S was made from.")
    S = checked_covariance(S, names)
    mean = np.zeros(len(S)) if mean is None else np.asarray(mean, dtype=np.float64)
    if not np.isfinite(mean).all():
        raise DataError("The mean contains NaN or infinity. Give a finite number for every column.")
    return Moments(float(n), int(n), mean, S * n, 0.0)


def checked_covariance(S: Any, names: Any) -> np.ndarray:
    """Return a covariance or correlation matrix as float64, or say what keeps it from being one."""
    S = np.asarray(S, dtype=np.float64)
    if S.shape[0] != S.shape[1]:
        raise DataError(
            f"A covariance has as many rows as columns; this table is {S.shape[0]} x {S.shape[1]}. "
            "Pass the covariance matrix, or call fit with the rows themselves."
        )
    apart = np.abs(S - S.T)
    if apart.max() > _ALIKE * np.abs(S).max():
        i, j = np.unravel_index(np.argmax(apart), S.shape)
        raise DataError(
            f"The covariance is not symmetric: {named(i, names)} with {named(j, names)} is {S[i, j]:.6g}, and the "
            f"other way round {S[j, i]:.6g}. Pass (S + S.T) / 2 if that is rounding."
        )
    S = (S + S.T) / 2
    flat = np.flatnonzero(np.diagonal(S) <= 0)
    if flat.size:
        raise DataError(
            f"{_listed(flat, names)} of no variance: no factor explains a column that does not vary. Leave it out."
        )
    scale = np.sqrt(np.diagonal(S))
    correlations = Correlations(S / np.outer(scale, scale), np.diagonal(S), 0.0)
    least = float(correlations.pairs[0][0])
    if least < -_ALIKE:
        raise DataError(
            f"The covariance is not positive: its correlations have the eigenvalue {least:.3g}, and no rows have such "
            "a covariance. If it was put together from pairs of columns, use the rows that are complete."
        )
    collinear = correlations.collinear()
    if collinear.size:
        raise DataError(
            f"{_listed(collinear, names)} perfectly collinear, each a combination of others: the likelihood has no "
            "maximum. Leave one of them out."
        )
    return S

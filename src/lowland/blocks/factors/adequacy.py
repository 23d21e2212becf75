"""Correlations before and after a factor analysis: are they worth analysing, and does the model fit them?"""

from __future__ import annotations

import math
import numbers
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
import scipy.linalg

from lowland.arrays.linalg import eigh
from lowland.arrays.namespace import is_array, is_sparse, to_numpy
from lowland.arrays.precision import as_double
from lowland.blocks.factors.maximum_likelihood import degrees_of_freedom, inverse_of, most_factors
from lowland.blocks.factors.wide_tables import MANY, Root
from lowland.blocks.spectra.component_rules import ComponentChoice, ParallelAnalysis, Rule, Spectrum
from lowland.blocks.spectra.leading import all_eigenvalues
from lowland.blocks.statistics.moments import Moments
from lowland.errors import DataError, ParameterError
from lowland.run.run import Run

_SINGULAR = 1e-10  # an eigenvalue of a correlation matrix below this is zero
_NOTHING = 1e-14  # a sum of squared correlations below this is rounding
_LEFT = 1e-5  # share of a column's variance that a root of low rank may leave out: the rounding of float32 rows
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
    rows: int | None = None  # where it differs from n, which may be a sum of weights

    @classmethod
    def of(cls, moments: Moments) -> Self:
        """Return the correlations behind moments."""
        S = to_numpy(as_double(moments.scatter))
        variances = np.where(to_numpy(moments.variances) > 0, np.diagonal(S) / moments.n, 0.0)
        varying = variances > 0
        deviations = np.sqrt(variances[varying] * moments.n)
        R = S.copy() if varying.all() else S[np.ix_(varying, varying)]
        R /= deviations[:, None]  # in place: of many columns every copy counts
        R /= deviations
        np.clip(R, -1.0, 1.0, out=R)
        np.fill_diagonal(R, 1.0)
        return cls(R, variances, moments.n, moments.rows)

    @property
    def varying(self) -> np.ndarray:
        """Which columns are not constant, (d,)."""
        return self.variances > 0

    @cached_property
    def pairs(self) -> tuple[np.ndarray, np.ndarray]:
        """Eigenvalues, ascending, and eigenvectors."""
        return eigh(self.R)

    @cached_property
    def root(self) -> Root:
        """The correlations for a search of factors: of many columns and few rows by a root of low rank."""
        v, most = len(self.R), (self.n if self.rows is None else self.rows) - 1
        return Root(self.R, low_root(self.R, int(most)) if v >= MANY and 1 <= most <= v / 2 else None)

    @cached_property
    def inverse(self) -> np.ndarray | None:
        """The inverse of R; None where the columns are collinear, as those of fewer rows always are."""
        return None if self.root.Z is not None else inverse_of(self.R)

    @cached_property
    def log_det(self) -> float:
        """The logarithm of the determinant; minus infinity where the columns are collinear."""
        return -math.inf if self.inverse is None else float(np.linalg.slogdet(self.R)[1])

    @property
    def spectrum(self) -> Spectrum:
        """The eigenvalues, for rules that say how many to keep."""
        v, Z = len(self.R), self.root.Z
        known = self.pairs[0][::-1] if Z is None else all_eigenvalues(Z @ Z.T)
        values = np.concatenate([np.maximum(known, 0.0), np.zeros(v - len(known))])
        return Spectrum(values, float(v), v, self.n, v, variances=np.ones(v))

    def decide(self, rule: Rule, run: Run) -> ComponentChoice:
        """Return how many factors a rule keeps by the eigenvalues."""
        spectrum = self.spectrum
        rule.check(spectrum)
        if isinstance(rule, ParallelAnalysis):
            choice = rule.decide(spectrum, run.iterate("parallel analysis", rule.trials))
        else:
            choice = rule.decide(spectrum)
        assert choice is not None  # the whole spectrum is at hand
        return choice

    def collinear(self, rounding: float = _SINGULAR) -> np.ndarray:
        """The positions of columns that are an exact combination of others, (m,)."""
        bar = max(rounding, _SINGULAR)
        if self.inverse is not None and float(np.trace(self.inverse)) < 1 / bar:  # then no eigenvalue is below the bar
            return np.empty(0, dtype=int)
        values, vectors = self.pairs
        null = vectors[:, values < bar]
        return np.flatnonzero(self.varying)[np.sum(null**2, axis=1) > 1e-6]


def kmo(correlations: Correlations) -> Adequacy | None:
    """Return the share of squared correlations in squared correlations and partial ones; None where R is singular.

    Near 1, what pairs of columns share is shared by more of them, as factors would have it; below 0.5 there is little.
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


def low_root(R: np.ndarray, most: int) -> np.ndarray | None:
    """Return Z (r, d) with R = Z'Z of a rank of at most ``most``, by a pivoted Cholesky factor; None where it is more.

    What float32 rows leave beyond that rank is their rounding.
    """
    C, pivots, rank, _ = scipy.linalg.lapack.dpstrf(R)
    rank = min(rank, most)
    Z = np.empty((rank, len(R)))
    Z[:, pivots - 1] = np.triu(C[:rank])
    return Z if np.max(1 - np.einsum("ij,ij->j", Z, Z)) <= _LEFT else None


def sphericity(correlations: Correlations) -> ChiSquare | None:
    """Bartlett's test that no columns are correlated; None with too few rows or columns, or where R is singular."""
    d = len(correlations.R)
    factor = correlations.n - 1 - (2 * d + 5) / 6
    untold = d < 2 or factor <= 0 or not math.isfinite(correlations.log_det)
    return None if untold else _tested(-factor * correlations.log_det, d * (d - 1) // 2)


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
    return f"{k} factors of {d} columns are not determined (degrees of freedom {dof}). {remedy}"


def concerns(correlations: Correlations, k: int, held: Sequence[int], rounding: float, names: Any) -> list[str]:
    """Say what keeps a model from meaning what it seems to, a sentence each.

    ``held`` are the positions of uniquenesses on their bound, ``rounding`` the precision of the rows.
    """
    d, said = len(correlations.R), []
    if not correlations.varying.all():
        said.append(
            f"{_listed(np.flatnonzero(~correlations.varying), names)} constant, which no factor explains. Leave it out."
        )
    collinear = correlations.collinear(rounding) if correlations.n > d else np.empty(0, dtype=int)
    if collinear.size:
        said.append(
            f"{_listed(collinear, names)} perfectly collinear: the likelihood has no maximum, and uniquenesses end at "
            "min_uniqueness. Leave one of them out."
        )
    if (many := too_many_factors(d, k)) is not None:
        said.append(many)
    if held and not collinear.size:
        said.append(
            f"{_listed(held, names)} without noise (a Heywood case) and held at min_uniqueness. Keep fewer factors, or "
            "leave the column out."
        )
    return said


def looks_like_covariance(X: Any) -> bool:
    """Whether a table is square and symmetric, with a positive diagonal that bounds the rest."""
    if X.shape[0] != X.shape[1] or X.shape[0] < 2:
        return False
    S = to_numpy(X.toarray() if is_sparse(X) else X)
    diagonal = np.diagonal(S)
    near = _ALIKE * float(diagonal.max())
    if not diagonal.min() > 0 or not np.allclose(S[0], S[:, 0], rtol=0, atol=near):  # most tables end here
        return False
    bound = np.sqrt(diagonal.astype(np.float64))
    return np.allclose(S, S.T, rtol=0, atol=near) and bool(np.all(np.abs(S) <= np.outer(bound, bound) + near))


def named(j: Any, names: Any) -> str:
    """The name of a column in quotes, or its number."""
    return f"column {j}" if names is None else repr(str(names[j]))


def _listed(columns: Any, names: Any) -> str:
    words = ", ".join(named(j, names) for j in columns[:5]) + (", …" if len(columns) > 5 else "")
    return f"{words} {'is' if len(columns) == 1 else 'are'}"


def noise_of_columns(values: Any, d: int) -> np.ndarray:
    """Return noise variances to start from, (d,), or say what is wrong with them."""
    psi = np.asarray(to_numpy(values) if is_array(values) else values, dtype=np.float64)
    if psi.shape != (d,):
        raise DataError(
            f"noise_variance_init has the shape {psi.shape}; X has {d} columns. Give one noise variance a column."
        )
    if not np.isfinite(psi).all() or (psi < 0).any():
        raise DataError("noise_variance_init has NaN, infinity or negative values. Give variances of zero or more.")
    return psi


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

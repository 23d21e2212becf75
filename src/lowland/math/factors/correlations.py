"""Correlations of the columns, which factor analysis explains: of rows, or of a given covariance matrix."""

from __future__ import annotations

import math
import numbers
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
import scipy.linalg

from lowland.arrays.linalg import eigh
from lowland.arrays.namespace import Array, as_double, dense, is_array, on_accelerator, to_numpy, xp_of
from lowland.errors import DataError, ParameterError
from lowland.math.factors.likelihood_searches import MANY, Root
from lowland.math.factors.maximum_likelihood import inverse_of
from lowland.math.spectra.component_rules import ComponentChoice, ParallelAnalysis, Rule, Spectrum
from lowland.math.spectra.leading import all_eigenvalues
from lowland.math.statistics.moments import Moments, refuse_tiny_columns
from lowland.run.run import Run

_ALIKE = 1e-8  # fraction of the largest entry by which the two halves of a covariance may differ
_SINGULAR = 1e-10  # an eigenvalue of a correlation matrix below this is zero
_LEFT = 1e-5  # fraction of a column's variance that a root of low rank may leave out: the rounding of float32 rows


@dataclass(frozen=True)
class Correlations:
    """The correlations of the columns that are not constant, all variances, and the number of rows."""

    R: np.ndarray  # (v, v)
    variances: np.ndarray  # (d,) divisor n; zero for a constant column
    n: float
    rows: int | None = None  # where it differs from n, which may be a sum of weights
    home: Array | None = None  # an array on the device of the rows

    @classmethod
    def of(cls, moments: Moments) -> Self:
        """Return the correlations from moments."""
        refuse_tiny_columns(moments.variances, moments.mean)
        S = to_numpy(as_double(moments.scatter))
        home = (
            moments.mean if on_accelerator(moments.mean) and moments.mean.dtype == xp_of(moments.mean).float64 else None
        )
        variances = np.where(to_numpy(moments.variances) > 0, np.diagonal(S) / moments.n, 0.0)
        varying = variances > 0
        deviations = np.sqrt(variances[varying] * moments.n)
        R = S.copy() if varying.all() else S[np.ix_(varying, varying)]
        R /= deviations[:, None]  # in place, since copies are large with many columns
        R /= deviations
        np.clip(R, -1.0, 1.0, out=R)
        np.fill_diagonal(R, 1.0)
        return cls(R, variances, moments.n, moments.rows, home)

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
        """The correlations for the search of factors; with many columns and few rows as a root of low rank."""
        v, most = len(self.R), int(self.n if self.rows is None else self.rows) - 1
        return Root(self.R, low_root(self.R, most) if v >= MANY and 1 <= most <= v / 2 else None, self.home)

    @cached_property
    def inverse(self) -> np.ndarray | None:
        """The inverse of R; None where the columns are collinear, as always with fewer rows than columns."""
        return None if self.root.Z is not None else inverse_of(self.R)

    @cached_property
    def log_det(self) -> float:
        """The logarithm of the determinant; minus infinity where the columns are collinear."""
        return -math.inf if self.inverse is None else float(np.linalg.slogdet(self.R)[1])

    @property
    def spectrum(self) -> Spectrum:
        """The eigenvalues, for rules that choose the number of factors."""
        v, Z = len(self.R), self.root.Z
        known = self.pairs[0][::-1] if Z is None else all_eigenvalues(Z @ Z.T)
        values = np.concatenate([np.maximum(known, 0.0), np.zeros(v - len(known))])
        return Spectrum(values, float(v), v, self.n, v, variances=np.ones(v))

    def decide(self, rule: Rule, run: Run) -> ComponentChoice:
        """Return the number of factors that a rule chooses from the eigenvalues."""
        spectrum = self.spectrum
        if isinstance(rule, ParallelAnalysis):
            choice = rule.decide(spectrum, run.iterate("parallel analysis", rule.trials))
        else:
            choice = rule.decide(spectrum)
        assert choice is not None  # the whole spectrum is known
        return choice

    def collinear(self, rounding: float = _SINGULAR) -> np.ndarray:
        """The positions of columns that are linear combinations of others, (m,)."""
        bar = max(rounding, _SINGULAR)
        if self.inverse is not None and float(np.trace(self.inverse)) < 1 / bar:  # then all eigenvalues are larger
            return np.empty(0, dtype=int)
        values, vectors = self.pairs
        null = vectors[:, values < bar]
        return np.flatnonzero(self.varying)[np.sum(null**2, axis=1) > 1e-6]


def low_root(R: np.ndarray, most: int) -> np.ndarray | None:
    """Return Z (r, d) with R = Z'Z of rank at most ``most``, by a pivoted Cholesky factor; None for larger ranks.

    Beyond that rank, float32 rows have only rounding error.
    """
    C, pivots, rank, _ = scipy.linalg.lapack.dpstrf(R)
    rank = min(rank, most)
    Z = np.empty((rank, len(R)))
    Z[:, pivots - 1] = np.triu(C[:rank])
    return Z if np.max(1 - np.einsum("ij,ij->j", Z, Z)) <= _LEFT else None


# --- a covariance or correlation matrix in place of rows --------------------------------------------------------------


def looks_like_covariance(X: Any) -> bool:
    """Whether a table is square and symmetric, with a positive diagonal that bounds the rest."""
    if X.shape[0] != X.shape[1] or X.shape[0] < 2:
        return False
    S = dense(X)
    diagonal = np.diagonal(S)
    near = _ALIKE * float(diagonal.max())
    if not diagonal.min() > 0 or not np.allclose(S[0], S[:, 0], rtol=0, atol=near):  # most tables end here
        return False
    bound = np.sqrt(diagonal.astype(np.float64))
    return np.allclose(S, S.T, rtol=0, atol=near) and bool(np.all(np.abs(S) <= np.outer(bound, bound) + near))


def checked_noise(values: Any, d: int) -> np.ndarray:
    """Return checked initial noise variances, (d,)."""
    psi = np.asarray(to_numpy(values) if is_array(values) else values, dtype=np.float64)
    if psi.shape != (d,):
        raise DataError(f"The initial noise variances have shape {psi.shape}, but there are {d} columns.")
    if not np.isfinite(psi).all() or (psi < 0).any():
        raise DataError("The initial noise variances contain NaN, infinity or negative values.")
    return psi


def moments_of_covariance(S: Any, n: float, mean: np.ndarray | None, names: Any) -> Moments:
    """Return moments with the covariance S of n rows, checked."""
    if not isinstance(n, numbers.Real) or not n >= 2:
        raise ParameterError(
            f"a covariance needs at least 2 rows, not {n!r}. Pass the number of rows that it was computed from."
        )
    S = checked_covariance(S, names)
    mean = np.zeros(len(S)) if mean is None else np.asarray(mean, dtype=np.float64)
    if not np.isfinite(mean).all():
        raise DataError("The mean contains NaN or infinity. Pass one finite number per column.")
    return Moments(float(n), int(n), mean, S * n, 0.0)


def checked_covariance(S: Any, names: Any) -> np.ndarray:
    """Return a covariance or correlation matrix as float64, checked."""
    S = np.asarray(S, dtype=np.float64)
    if S.shape[0] != S.shape[1]:
        raise DataError(
            f"The covariance matrix is {S.shape[0]} x {S.shape[1]}, but it must be square. "
            "Pass a square matrix, or fit to rows instead."
        )
    apart = np.abs(S - S.T)
    if apart.max() > _ALIKE * np.abs(S).max():
        i, j = np.unravel_index(np.argmax(apart), S.shape)
        raise DataError(
            f"The covariance matrix is not symmetric: the entry of {named(i, names)} with {named(j, names)} is "
            f"{S[i, j]:.6g}, its transpose {S[j, i]:.6g}. If this is rounding error, average it with its transpose "
            "(`(S + S.T) / 2`)."
        )
    S = (S + S.T) / 2
    flat = np.flatnonzero(np.diagonal(S) <= 0)
    if flat.size:
        raise DataError(f"{listed(flat, names)} constant: the variance is not positive. Remove constant columns.")
    scale = np.sqrt(np.diagonal(S))
    correlations = Correlations(S / np.outer(scale, scale), np.diagonal(S), 0.0)
    least = float(correlations.pairs[0][0])
    if least < -_ALIKE:
        raise DataError(
            f"The covariance matrix is not positive semidefinite: its correlation matrix has the eigenvalue "
            f"{least:.3g}. If it was computed with pairwise deletion of missing values, use complete rows only."
        )
    collinear = correlations.collinear()
    if collinear.size:
        raise DataError(
            f"{listed(collinear, names)} perfectly collinear, so the likelihood is unbounded. Remove one of these "
            "columns."
        )
    return S


def named(j: Any, names: Any) -> str:
    """The name of a column in quotes, or its number."""
    return f"column {j}" if names is None else repr(str(names[j]))


def listed(columns: Any, names: Any) -> str:
    """The subject of a sentence: 'Column 4 is', or 'Columns "a", "b" are'."""
    words = ", ".join(str(j) if names is None else named(j, names) for j in columns[:5])
    return f"Column {words} is" if len(columns) == 1 else f"Columns {words}{', …' if len(columns) > 5 else ''} are"

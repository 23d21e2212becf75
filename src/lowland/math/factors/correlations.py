"""The correlations of the columns, which factor analysis explains."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
import scipy.linalg

from lowland.arrays.linalg import eigh
from lowland.arrays.namespace import to_numpy
from lowland.arrays.precision import as_double
from lowland.math.factors.maximum_likelihood import inverse_of
from lowland.math.factors.wide_tables import MANY, Root
from lowland.math.spectra.component_rules import ComponentChoice, ParallelAnalysis, Rule, Spectrum
from lowland.math.spectra.leading import all_eigenvalues
from lowland.math.statistics.moments import Moments, refuse_tiny_columns
from lowland.run.run import Run

_SINGULAR = 1e-10  # an eigenvalue of a correlation matrix below this is zero
_LEFT = 1e-5  # fraction of a column's variance that a root of low rank may leave out: the rounding of float32 rows


@dataclass(frozen=True)
class Correlations:
    """The correlations of the columns that are not constant, all variances, and the number of rows."""

    R: np.ndarray  # (v, v)
    variances: np.ndarray  # (d,) divisor n; zero for a constant column
    n: float
    rows: int | None = None  # where it differs from n, which may be a sum of weights

    @classmethod
    def of(cls, moments: Moments) -> Self:
        """Return the correlations from moments."""
        refuse_tiny_columns(moments.variances, moments.mean)
        S = to_numpy(as_double(moments.scatter))
        variances = np.where(to_numpy(moments.variances) > 0, np.diagonal(S) / moments.n, 0.0)
        varying = variances > 0
        deviations = np.sqrt(variances[varying] * moments.n)
        R = S.copy() if varying.all() else S[np.ix_(varying, varying)]
        R /= deviations[:, None]  # in place, since copies are large with many columns
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
        """The correlations for the search of factors; with many columns and few rows as a root of low rank."""
        v, most = len(self.R), (self.n if self.rows is None else self.rows) - 1
        return Root(self.R, low_root(self.R, int(most)) if v >= MANY and 1 <= most <= v / 2 else None)

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
        rule.check(spectrum)
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

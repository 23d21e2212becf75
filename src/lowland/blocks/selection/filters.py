"""Scores of single columns from statistics of one pass: variance, correlation, analysis of variance, chi-square."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import chdtrc, fdtrc

from lowland.arrays.namespace import to_numpy
from lowland.blocks.selection.column_statistics import ClassColumns, ClassSums, TargetColumns
from lowland.blocks.selection.columns import listed
from lowland.blocks.statistics.moments import ColumnMoments
from lowland.errors import DataError

_SINGLE = 1e-20  # squared roundings above this are those of float32


@dataclass(frozen=True)
class FilterScores:
    """A score for every column, its p-value where there is one, and which columns do not vary."""

    values: np.ndarray  # (d,)
    pvalues: np.ndarray | None  # (d,)
    constant: np.ndarray  # (d,) bool
    n: int  # rows
    signed: bool = False  # whether the sign is a direction: then the size counts

    @property
    def strength(self) -> np.ndarray:
        """What columns are ranked by, (d,): the more the better."""
        return np.abs(self.values) if self.signed else self.values

    @classmethod
    def of(
        cls, values: np.ndarray, pvalues: np.ndarray | None, constant: np.ndarray, n: int, *, signed: bool = False
    ) -> FilterScores:
        """Scores in which a constant column has zero, and p-value one."""
        values = np.where(constant, 0.0, values)
        return cls(values, None if pvalues is None else np.where(constant, 1.0, pvalues), constant, n, signed)


def check_squares(n: float, mean: np.ndarray, squares: np.ndarray, rounding: float, *, double: bool = False) -> None:
    """Refuse columns so small that their squares have lost digits, or are zero; ``double``: summed in float64."""
    kind = np.finfo(np.float64 if double or rounding < _SINGLE else np.float32)
    least = float(kind.tiny) / float(kind.eps)
    varies = squares > rounding * n * mean**2
    if ((squares < least) & (varies | ((mean != 0) & (mean**2 < least)))).any():
        raise DataError(
            "Some columns are too small to be squared: their values differ by less than "
            f"{np.sqrt(least):.0e}. Multiply them by a large number, or leave them out."
        )


def variance_scores(columns: ColumnMoments) -> FilterScores:
    """The variances, divisor n; they have no p-value."""
    check_squares(columns.n, to_numpy(columns.mean), to_numpy(columns.squares), columns.rounding)
    variances = to_numpy(columns.variances) * ((columns.n - 1) / columns.n)
    return FilterScores.of(variances, None, variances == 0, columns.rows)


def pearson_scores(columns: TargetColumns) -> FilterScores:
    """The correlations with the target, and their p-values by the t test."""
    mean, squares, products = (to_numpy(a) for a in (columns.mean, columns.squares, columns.products))
    check_squares(columns.n, mean, squares, columns.rounding, double=True)
    constant = ~(squares > columns.rounding * columns.n * mean**2)
    with np.errstate(divide="ignore", invalid="ignore"):
        r = np.clip(products / (np.sqrt(squares) * np.sqrt(columns.y_squares)), -1, 1)
    return FilterScores.of(
        r, correlation_pvalues(np.where(constant, 0.0, r), columns.n), constant, columns.n, signed=True
    )


def correlation_pvalues(r: np.ndarray, n: int) -> np.ndarray:
    """The chance of so large a correlation among n rows that have nothing to do with each other, by the t test."""
    if n < 3:
        return np.ones_like(r)
    with np.errstate(divide="ignore"):
        F = r**2 * (n - 2) / ((1 - r) * (1 + r))
    return np.where(np.isinf(F), 0.0, fdtrc(1, n - 2, np.minimum(F, np.finfo(np.float64).max)))


def anova_scores(columns: ClassColumns) -> FilterScores:
    """The F ratios, variance of the class means over that within the classes, and their p-values."""
    n, C = int(columns.n.sum()), len(columns.n)
    if n <= C:
        raise DataError(
            f"There are {C} classes and {n} rows, so nothing varies within the classes. Pass more rows of each class; "
            "if y holds quantities, use a correlation."
        )
    within, between, mean = (to_numpy(a) for a in (columns.within, columns.between, columns.mean))
    largest = np.abs(mean).max(axis=0)
    check_squares(n, largest, within + between, columns.rounding, double=True)
    least = columns.rounding * n * largest**2  # what rounding leaves
    constant = ~(within + between > least)
    within = np.where(within > least, within, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        F = (between / (C - 1)) / (within / (n - C))
    F = np.where(constant, 0.0, F)
    p = np.where(np.isinf(F), 0.0, fdtrc(C - 1, n - C, np.minimum(F, np.finfo(np.float64).max)))
    return FilterScores.of(F, p, constant, n)


def correlation_ratios(columns: ClassColumns) -> np.ndarray:
    """The root of the fraction of each column's variance that lies between classes, (d,): |r| if there are two."""
    within, between = to_numpy(columns.within), to_numpy(columns.between)
    with np.errstate(invalid="ignore"):
        eta = np.sqrt(between / (within + between))
    return np.where(anova_scores(columns).constant, 0.0, eta)


def chi2_scores(sums: ClassSums, names: Sequence[str]) -> FilterScores:
    """The chi-square distances of the sums by class from what the fractions of the classes lead one to expect."""
    observed, least, largest = (to_numpy(a) for a in (sums.sums, sums.least, sums.largest))
    if (least < 0).any():
        wrong = np.flatnonzero(least < 0)
        raise DataError(
            f"Negative values in data passed to chi2: column{'s' * (len(wrong) > 1)} {listed(names, wrong)}. It "
            "compares counts or frequencies, which are zero or more. Use anova for measurements."
        )
    fractions = sums.n / sums.n.sum()
    expected = fractions[:, None] * observed.sum(axis=0)[None, :]  # (C, d)
    with np.errstate(divide="ignore", invalid="ignore"):
        chi2 = ((observed - expected) * ((observed - expected) / expected)).sum(axis=0)
    constant = least == largest
    chi2 = np.where(constant, 0.0, chi2)
    return FilterScores.of(chi2, chdtrc(len(sums.n) - 1, chi2), constant, int(sums.n.sum()))

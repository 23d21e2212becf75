"""Univariate scores from one-pass statistics: variance, Pearson correlation, analysis of variance, chi-square."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import chdtrc, fdtrc

from lowland.arrays.namespace import to_numpy
from lowland.errors import DataError
from lowland.math.optimize.outcome import Accuracy, Promise
from lowland.math.selection.column_statistics import ClassColumns, ClassSums, TargetColumns
from lowland.math.selection.columns import listed
from lowland.math.statistics.moments import ColumnMoments

_SINGLE = 1e-20  # squared roundings above this are those of float32


IN_RANGE = Promise(
    "fraction of columns whose score is NaN or whose p-value is no probability",
    "0; none for a function",
    "a comparison per column",
)


@dataclass(frozen=True)
class FilterScores:
    """A score for every column, its p-value where there is one, and which columns are constant."""

    values: np.ndarray  # (d,)
    pvalues: np.ndarray | None  # (d,)
    constant: np.ndarray  # (d,) bool
    n: int  # rows
    signed: bool = False  # whether the sign is a direction; columns are then ranked by the absolute value

    @property
    def strength(self) -> np.ndarray:
        """The values that rank the columns, (d,); larger is better."""
        return np.abs(self.values) if self.signed else self.values

    @classmethod
    def of(
        cls, values: np.ndarray, pvalues: np.ndarray | None, constant: np.ndarray, n: int, *, signed: bool = False
    ) -> FilterScores:
        """Return scores with 0 and p-value 1 for constant columns."""
        values = np.where(constant, 0.0, values)
        return cls(values, None if pvalues is None else np.where(constant, 1.0, pvalues), constant, n, signed)

    def accuracy(self, values: np.ndarray, *, bound: float = 0.0) -> Accuracy:
        """Return the fraction of columns whose value is NaN, or whose p-value is no probability."""
        wrong = np.isnan(values) & ~self.constant
        if self.pvalues is not None:
            wrong |= ~((self.pvalues >= 0) & (self.pvalues <= 1))
        return IN_RANGE.checked(float(np.mean(wrong)), bound)


def joined_scores(parts: list[tuple[np.ndarray, FilterScores]], d: int, n: int) -> FilterScores:
    """Return the scores of groups of columns, each given with its positions, as those of all d columns."""
    values, constant, pvalues = np.zeros(d), np.zeros(d, dtype=bool), np.ones(d)
    for columns, found in parts:
        values[columns], constant[columns] = found.values, found.constant
        if found.pvalues is not None:
            pvalues[columns] = found.pvalues
    tested = any(found.pvalues is not None for _, found in parts)
    return FilterScores(values, pvalues if tested else None, constant, n, any(found.signed for _, found in parts))


def check_squares(n: float, mean: np.ndarray, squares: np.ndarray, rounding: float, *, double: bool = False) -> None:
    """Refuse columns whose squares underflow or lose digits; ``double``: summed in float64."""
    kind = np.finfo(np.float64 if double or rounding < _SINGLE else np.float32)
    least = float(kind.tiny) / float(kind.eps)
    varies = squares > rounding * n * mean**2
    if ((squares < least) & (varies | ((mean != 0) & (mean**2 < least)))).any():
        raise DataError(
            "Some columns are too small: their values differ by less than "
            f"{np.sqrt(least):.0e}, so their squares underflow. Rescale these columns, or drop them."
        )


def variance_scores(columns: ColumnMoments) -> FilterScores:
    """Return the variances, with divisor n; they have no p-value."""
    check_squares(columns.n, to_numpy(columns.mean), to_numpy(columns.squares), columns.rounding)
    variances = to_numpy(columns.variances) * ((columns.n - 1) / columns.n)
    return FilterScores.of(variances, None, variances == 0, columns.rows)


def pearson_scores(columns: TargetColumns) -> FilterScores:
    """Return the Pearson correlations with the target, and their p-values by the t test."""
    mean, squares, products = (to_numpy(a) for a in (columns.mean, columns.squares, columns.products))
    check_squares(columns.n, mean, squares, columns.rounding, double=True)
    constant = ~(squares > columns.rounding * columns.n * mean**2)
    with np.errstate(divide="ignore", invalid="ignore"):
        r = np.clip(products / (np.sqrt(squares) * np.sqrt(columns.y_squares)), -1, 1)
    return FilterScores.of(
        r, correlation_pvalues(np.where(constant, 0.0, r), columns.n), constant, columns.n, signed=True
    )


def correlation_pvalues(r: np.ndarray, n: int) -> np.ndarray:
    """Return the two-sided p-values of correlations r over n rows, by the t test."""
    if n < 3:
        return np.ones_like(r)
    with np.errstate(divide="ignore"):
        F = r**2 * (n - 2) / ((1 - r) * (1 + r))
    return np.where(np.isinf(F), 0.0, fdtrc(1, n - 2, np.minimum(F, np.finfo(np.float64).max)))


def anova_scores(columns: ClassColumns) -> FilterScores:
    """Return the F statistics, variance between classes over variance within classes, and their p-values."""
    n, C = int(columns.n.sum()), len(columns.n)
    if n <= C:
        raise DataError(
            f"There are {C} classes and {n} rows, so there is no variance within classes. Pass more rows per class. "
            "If `y` holds numbers, use a correlation."
        )
    within, between, mean = (to_numpy(a) for a in (columns.within, columns.between, columns.mean))
    largest = np.abs(mean).max(axis=0)
    check_squares(n, largest, within + between, columns.rounding, double=True)
    least = columns.rounding * n * largest**2  # rounding error
    constant = ~(within + between > least)
    within = np.where(within > least, within, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        F = (between / (C - 1)) / (within / (n - C))
    F = np.where(constant, 0.0, F)
    p = np.where(np.isinf(F), 0.0, fdtrc(C - 1, n - C, np.minimum(F, np.finfo(np.float64).max)))
    return FilterScores.of(F, p, constant, n)


def correlation_ratios(columns: ClassColumns) -> np.ndarray:
    """Return the correlation ratios η, (d,): η² is the fraction of variance between classes; |r| for two classes."""
    within, between = to_numpy(columns.within), to_numpy(columns.between)
    with np.errstate(invalid="ignore"):
        eta = np.sqrt(between / (within + between))
    return np.where(anova_scores(columns).constant, 0.0, eta)


def chi2_scores(sums: ClassSums, names: Sequence[str]) -> FilterScores:
    """Return the chi-square statistics of the sums per class against those expected under independence."""
    observed, least, largest = (to_numpy(a) for a in (sums.sums, sums.least, sums.largest))
    if (least < 0).any():
        wrong = np.flatnonzero(least < 0)
        raise DataError(
            f"Negative values in data passed to chi2: column{'s' * (len(wrong) > 1)} {listed(names, wrong)}. The "
            "chi-square statistic needs nonnegative counts or frequencies. Use anova for measurements."
        )
    fractions = sums.n / sums.n.sum()
    expected = fractions[:, None] * observed.sum(axis=0)[None, :]  # (C, d)
    with np.errstate(divide="ignore", invalid="ignore"):
        chi2 = ((observed - expected) * ((observed - expected) / expected)).sum(axis=0)
    constant = least == largest
    chi2 = np.where(constant, 0.0, chi2)
    return FilterScores.of(chi2, chdtrc(len(sums.n) - 1, chi2), constant, int(sums.n.sum()))

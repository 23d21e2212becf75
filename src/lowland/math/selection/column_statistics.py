"""Univariate scores in one pass over the rows: variance, Pearson correlation, analysis of variance, chi-square.

The statistics of columns and a target merge as ``Moments`` do: each chunk is shifted by a point near its mean, and
summed in float64.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy.special import chdtrc, fdtrc

from lowland.arrays.linalg import column_squares
from lowland.arrays.namespace import Array, as_double, device_of, eps_of, is_sparse, like, to_numpy, xp_of
from lowland.errors import DataError
from lowland.math.selection.columns import listed
from lowland.math.statistics.class_moments import sums_by_class
from lowland.math.statistics.moments import ColumnMoments, Moments, Sums, shift_of
from lowland.run.run import all_finite

_SINGLE = 1e-20  # squared roundings above this are those of float32
_DIGITS = 1e-3  # fraction of the squares within classes below which a difference would lose more than three digits


@dataclass(frozen=True)
class TargetColumns:
    """Columns and a target y: means, sums of squares, and sums of products with y, all centered."""

    n: int
    mean: Array  # (d,) float64
    squares: Array  # (d,) sum of (x - mean)²
    y_mean: float
    y_squares: float
    products: Array  # (d,) sum of (x - mean)(y - mean of y)
    rounding: float  # as in Moments

    @classmethod
    def of(cls, X: Array, y: np.ndarray) -> Self:
        """Return the sums of one chunk."""
        n, y_mean = X.shape[0], float(y.mean()) if len(y) else 0.0
        z = y - y_mean
        if is_sparse(X):
            columns = ColumnMoments.of(X)
            products = X.T.astype(np.float64) @ z
            return cls(n, columns.mean, columns.squares, y_mean, float(z @ z), products, columns.rounding)
        shift = shift_of(X) if n else None
        Y = _shifted(X, shift)
        squares, products = column_squares(Y), like(z, Y) @ Y  # z sums to zero: the shift changes no product
        offset = xp_of(Y).sum(Y, axis=0) / max(n, 1)
        mean = offset if shift is None else as_double(shift) + offset
        rounding = (8 * eps_of(X)) ** 2
        return cls(n, mean, squares - n * offset**2, y_mean, float(z @ z), products, rounding)

    def __add__(self, other: Self) -> Self:
        n = max(self.n + other.n, 1)
        fraction = self.n * other.n / n
        delta, y_delta = other.mean - self.mean, other.y_mean - self.y_mean
        return type(self)(
            self.n + other.n,
            self.mean + delta * (other.n / n),
            self.squares + other.squares + delta**2 * fraction,
            self.y_mean + y_delta * (other.n / n),
            self.y_squares + other.y_squares + y_delta**2 * fraction,
            self.products + other.products + delta * (y_delta * fraction),
            max(self.rounding, other.rounding),
        )

    def is_finite(self) -> bool:
        """Whether NaN, infinity or an overflow is absent."""
        return all_finite(self.mean) and all_finite(self.squares)


@dataclass(frozen=True)
class ClassColumns:
    """Counts and means of the classes, and the squares of each column within them."""

    n: np.ndarray  # (C,)
    mean: Array  # (C, d) float64; zero for a class without rows
    within: Array  # (d,) sum of (x - mean of its class)²
    rounding: float  # as in Moments

    @classmethod
    def of(cls, X: Array, y: np.ndarray, classes: int) -> Self:
        """Return the sums of one chunk; y holds the class index of each row."""
        n = np.bincount(y, minlength=classes).astype(np.float64)
        if is_sparse(X):
            return cls._of_sparse(X, y, n)
        shift = shift_of(X) if len(y) else None
        Y = _shifted(X, shift)
        sums, squares = sums_by_class(Y, y, classes), column_squares(Y)
        seen = sums / like(np.maximum(n, 1), sums)[:, None]  # the class means, relative to the shift
        within = squares - like(n, seen) @ seen**2
        xp = xp_of(seen)
        if bool(xp.any(within < _DIGITS * squares)):  # class means far apart relative to the spread within classes
            within = column_squares(Y - xp.take(seen, xp.asarray(y, device=device_of(seen)), axis=0))
        mean = seen if shift is None else (seen + as_double(shift)[None, :]) * like(n > 0, seen)[:, None]
        return cls(n, mean, within, (8 * eps_of(X)) ** 2)

    @classmethod
    def _of_sparse(cls, X: Any, y: np.ndarray, n: np.ndarray) -> Self:
        """Squared distances from the class mean: of the stored values, and of the implicit zeros."""
        wide, rounding = X.astype(np.float64), (8 * float(np.finfo(np.float64).eps)) ** 2
        mean = sums_by_class(wide, y, len(n)) / np.maximum(n, 1)[:, None]
        filled = wide.copy()
        filled.data = np.ones_like(filled.data)
        zeros = n[:, None] - sums_by_class(filled, y, len(n))  # (C, d)
        own = mean[np.repeat(y, np.diff(X.indptr)), X.indices]
        within = np.bincount(X.indices, (wide.data - own) ** 2, X.shape[1]) + (zeros * mean**2).sum(axis=0)
        return cls(n, mean, within, rounding)

    def __add__(self, other: Self) -> Self:
        n = self.n + other.n
        fraction = other.n / np.maximum(n, 1)  # (C,)
        delta = other.mean - self.mean
        within = self.within + other.within + like(self.n * fraction, delta) @ delta**2
        mean = self.mean + delta * like(fraction, delta)[:, None]
        return type(self)(n, mean, within, max(self.rounding, other.rounding))

    def is_finite(self) -> bool:
        """Whether NaN, infinity or an overflow is absent."""
        return all_finite(self.mean) and all_finite(self.within)

    @property
    def between(self) -> Array:
        """The squares of the class means about the mean of all rows, (d,)."""
        weights = like(self.n, self.mean)
        center = weights @ self.mean / float(self.n.sum())
        return weights @ (self.mean - center[None, :]) ** 2


@dataclass(frozen=True)
class ClassSums:
    """Sums of the columns over the rows of each class, and the smallest and largest value of each column."""

    n: np.ndarray  # (C,)
    sums: Array  # (C, d) float64
    least: Array  # (d,)
    largest: Array  # (d,)

    @classmethod
    def of(cls, X: Array, y: np.ndarray, classes: int) -> Self:
        """Return the sums of one chunk; y holds the class index of each row."""
        n = np.bincount(y, minlength=classes).astype(np.float64)
        if X.shape[0] == 0:
            d = X.shape[1]
            return cls(n, np.zeros((classes, d)), np.full(d, np.inf), np.full(d, -np.inf))
        if is_sparse(X):
            least, largest = (np.asarray(v.toarray()).ravel() for v in (X.min(axis=0), X.max(axis=0)))
            return cls(n, sums_by_class(X.astype(np.float64), y, classes), least, largest)
        xp, sums = xp_of(X), sums_by_class(as_double(X), y, classes)
        return cls(n, sums, xp.min(X, axis=0), xp.max(X, axis=0))

    def __add__(self, other: Self) -> Self:
        xp = xp_of(self.sums)
        least, largest = xp.minimum(self.least, other.least), xp.maximum(self.largest, other.largest)
        return type(self)(self.n + other.n, self.sums + other.sums, least, largest)

    def is_finite(self) -> bool:
        """Whether NaN, infinity or an overflow is absent."""
        return all_finite(self.sums)


@dataclass(frozen=True)
class ColumnsAndMoments(Sums):
    """The moments of the columns and their sums with a target, from one pass over the rows."""

    moments: Moments
    columns: TargetColumns | ClassColumns

    @classmethod
    def of(cls, X: Array, y: np.ndarray, classes: int | None) -> Self:
        """Return the statistics of one chunk; ``classes`` is None where the target is a number."""
        columns = TargetColumns.of(X, y) if classes is None else ClassColumns.of(X, y, classes)
        return cls(Moments.of(X), columns)

    def is_finite(self) -> bool:
        """Whether NaN, infinity or an overflow is absent."""
        return self.moments.is_finite() and self.columns.is_finite()


# --- sums of one chunk ---


def _shifted(X: Array, shift: Array | None) -> Array:
    """The rows in float64, minus the shift."""
    return as_double(X) if shift is None else as_double(X) - as_double(shift)[None, :]


# --- scores ---


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

"""Scores of single columns that one pass over the rows gives, and which columns to keep by their scores.

The statistics merge as in ``moments``: each slab is seen from a point near its mean, and summed in float64.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy.special import chdtrc, fdtrc

from lowland.arrays.linalg import column_squares
from lowland.arrays.namespace import Array, device_of, is_sparse, like, to_numpy, xp_of
from lowland.arrays.precision import as_double, rounding_in, rounding_of
from lowland.blocks.statistics.class_moments import membership
from lowland.blocks.statistics.moments import ColumnMoments, Moments, shift_of
from lowland.errors import DataError

_RUN_BYTES = 2**20  # of rows summed at a time: they stay in the cache between one sum and the next
_LARGE, _ROWS = 1_000_000, 4096  # numbers from which on loops are compiled, and rows summed at a time there
_DIGITS = 1e-3  # share of squares within classes below which a difference would lose more than three digits
_SINGLE = 1e-20  # squared roundings above this are those of float32
_TIE = 1e-10  # scores nearer than this share are equal, and the first column comes first


@dataclass(frozen=True)
class Scores:
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
    ) -> Scores:
        """Scores in which a constant column has zero, and p-value one."""
        values = np.where(constant, 0.0, values)
        return cls(values, None if pvalues is None else np.where(constant, 1.0, pvalues), constant, n, signed)


# --- statistics -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class TargetColumns:
    """Columns beside a target y: means, sums of squares, and sums of products with y, all centered."""

    n: int
    mean: Array  # (d,) float64
    squares: Array  # (d,) sum of (x - mean)²
    y_mean: float
    y_squares: float
    products: Array  # (d,) sum of (x - mean)(y - mean of y)
    rounding: float  # as in Moments

    @classmethod
    def of(cls, X: Array, y: np.ndarray) -> Self:
        """Return the sums of one slab."""
        n, y_mean = X.shape[0], float(y.mean()) if len(y) else 0.0
        z = y - y_mean
        if is_sparse(X):
            columns = ColumnMoments.of(X)
            products = X.T.astype(np.float64) @ z
            return cls(n, columns.mean, columns.squares, y_mean, float(z @ z), products, columns.rounding)
        shift = _shift(X)
        sums, squares, products = _beside(X, shift, z)  # z adds up to zero, so the shift leaves nothing in the products
        offset = sums / max(n, 1)
        mean = offset if shift is None else as_double(shift) + offset
        rounding = rounding_in(X) ** 2
        return cls(n, mean, squares - n * offset**2, y_mean, float(z @ z), products, rounding)

    def __add__(self, other: Self) -> Self:
        """Merge two parts."""
        n = max(self.n + other.n, 1)
        share = self.n * other.n / n
        delta, y_delta = other.mean - self.mean, other.y_mean - self.y_mean
        return type(self)(
            self.n + other.n,
            self.mean + delta * (other.n / n),
            self.squares + other.squares + delta**2 * share,
            self.y_mean + y_delta * (other.n / n),
            self.y_squares + other.y_squares + y_delta**2 * share,
            self.products + other.products + delta * (y_delta * share),
            max(self.rounding, other.rounding),
        )

    def is_finite(self) -> bool:
        """Whether NaN, infinity or an overflow is absent."""
        return _finite(self.mean, self.squares)


@dataclass(frozen=True)
class ClassColumns:
    """Counts and means of the classes, and the squares of each column within them."""

    n: np.ndarray  # (C,)
    mean: Array  # (C, d) float64; zero for a class without rows
    within: Array  # (d,) sum of (x - mean of its class)²
    rounding: float  # as in Moments

    def __add__(self, other: Self) -> Self:
        """Merge two parts, class by class."""
        n = self.n + other.n
        share = other.n / np.maximum(n, 1)  # (C,)
        delta = other.mean - self.mean
        within = self.within + other.within + like(self.n * share, delta) @ delta**2
        mean = self.mean + delta * like(share, delta)[:, None]
        return type(self)(n, mean, within, max(self.rounding, other.rounding))

    def is_finite(self) -> bool:
        """Whether NaN, infinity or an overflow is absent."""
        return _finite(self.mean, self.within)

    @property
    def between(self) -> Array:
        """The squares of the class means about the mean of all rows, (d,)."""
        weights = like(self.n, self.mean)
        centre = weights @ self.mean / float(self.n.sum())
        return weights @ (self.mean - centre[None, :]) ** 2


@dataclass(frozen=True)
class ColumnsByClass:
    """Makes ClassColumns of a slab and the classes of its rows; an object, so that it can travel to a worker."""

    classes: int

    def __call__(self, X: Array, y: np.ndarray) -> ClassColumns:
        """Return the sums of one slab; y holds the number of each row's class."""
        n = np.bincount(y, minlength=self.classes).astype(np.float64)
        if is_sparse(X):
            return self._of_sparse(X, y, n)
        shift = _shift(X)
        sums, squares = _by_class(X, shift, y, self.classes)
        seen = sums / like(np.maximum(n, 1), sums)[:, None]  # the class means, from the shift
        within = squares - like(n, seen) @ seen**2
        xp = xp_of(seen)
        if bool(xp.any(within < _DIGITS * squares)):  # classes far apart beside their spread
            within = self._about(seen, X, y, shift)
        mean = seen if shift is None else (seen + as_double(shift)[None, :]) * like(n > 0, seen)[:, None]
        return ClassColumns(n, mean, within, rounding_in(X) ** 2)

    def _about(self, seen: Array, X: Array, y: np.ndarray, shift: Array | None) -> Array:
        """The squares about the class means, from a second look at the slab."""
        xp = xp_of(seen)
        within = _zeros(seen, X.shape[1])
        for part, run in _runs(X, shift):
            places = xp.asarray(y[part], device=device_of(seen))
            within = within + column_squares(run - xp.take(seen, places, axis=0))
        return within

    def _of_sparse(self, X: Any, y: np.ndarray, n: np.ndarray) -> ClassColumns:
        """Squared distances of the stored values from their class's mean, and of the zeros, each as it is."""
        wide, rounding = X.astype(np.float64), rounding_of(np.float64) ** 2
        mean = sums_by_class(wide, y, self.classes) / np.maximum(n, 1)[:, None]
        filled = wide.copy()
        filled.data = np.ones_like(filled.data)
        zeros = n[:, None] - sums_by_class(filled, y, self.classes)  # (C, d)
        own = mean[np.repeat(y, np.diff(X.indptr)), X.indices]
        within = np.bincount(X.indices, (wide.data - own) ** 2, X.shape[1]) + (zeros * mean**2).sum(axis=0)
        return ClassColumns(n, mean, within, rounding)


@dataclass(frozen=True)
class ClassSums:
    """Sums of the columns over the rows of each class, and the least and the largest value of each column."""

    n: np.ndarray  # (C,)
    sums: Array  # (C, d) float64
    least: Array  # (d,)
    largest: Array  # (d,)

    def __add__(self, other: Self) -> Self:
        """Merge two parts."""
        xp = xp_of(self.sums)
        least, largest = xp.minimum(self.least, other.least), xp.maximum(self.largest, other.largest)
        return type(self)(self.n + other.n, self.sums + other.sums, least, largest)

    def is_finite(self) -> bool:
        """Whether NaN, infinity or an overflow is absent."""
        return _finite(self.sums)


@dataclass(frozen=True)
class SumsByClass:
    """Makes ClassSums of a slab and the classes of its rows."""

    classes: int

    def __call__(self, X: Array, y: np.ndarray) -> ClassSums:
        """Return the sums of one slab."""
        n = np.bincount(y, minlength=self.classes).astype(np.float64)
        if X.shape[0] == 0:
            d = X.shape[1]
            return ClassSums(n, np.zeros((self.classes, d)), np.full(d, np.inf), np.full(d, -np.inf))
        if is_sparse(X):
            least, largest = (np.asarray(v.toarray()).ravel() for v in (X.min(axis=0), X.max(axis=0)))
            return ClassSums(n, sums_by_class(X.astype(np.float64), y, self.classes), least, largest)
        xp, (sums, _) = xp_of(X), _by_class(X, None, y, self.classes)
        return ClassSums(n, sums, xp.min(X, axis=0), xp.max(X, axis=0))


@dataclass(frozen=True)
class Both:
    """The moments of the columns and their sums beside a target, from one reading of the rows."""

    moments: Moments
    columns: TargetColumns | ClassColumns

    def __add__(self, other: Self) -> Self:
        """Merge two parts."""
        return type(self)(self.moments + other.moments, self.columns + other.columns)  # type: ignore[operator]

    def is_finite(self) -> bool:
        """Whether NaN, infinity or an overflow is absent."""
        return self.moments.is_finite() and self.columns.is_finite()


@dataclass(frozen=True)
class MomentsAndTarget:
    """Makes Both of a slab and its target."""

    classes: int | None  # None: the target is a number

    def __call__(self, X: Array, y: np.ndarray) -> Both:
        """Return the statistics of one slab."""
        of = TargetColumns.of if self.classes is None else ColumnsByClass(self.classes)
        return Both(Moments.of(X), of(X, y))


def sums_by_class(X: Any, y: np.ndarray, classes: int) -> Array:
    """Return the sums of the rows of each class, (C, d) float64; y holds the number of each row's class."""
    if is_sparse(X):
        return (membership(y, classes).T @ X).toarray()
    if isinstance(X, np.ndarray):
        return membership(y, classes).T @ X
    return like(y[None, :] == np.arange(classes)[:, None], X) @ X


def _beside(X: Array, shift: Array | None, z: np.ndarray) -> tuple[Array, Array, Array]:
    """The sums of x - shift, of its squares, and of its products with z, each (d,) float64."""
    d = X.shape[1]
    sums, squares, products = _zeros(X, d), _zeros(X, d), _zeros(X, d)
    if _is_large(X):
        from lowland.kernels.column_sums import add_beside

        for part in _parts(X):
            own = np.zeros((3, d))  # short sums, which are then added: long ones would lose digits
            add_beside(X[part], _as_shift(X, shift), z[part], *own)
            sums, squares, products = sums + own[0], squares + own[1], products + own[2]
        return sums, squares, products
    for part, run in _runs(X, shift):
        sums = sums + xp_of(run).sum(run, axis=0)
        squares = squares + column_squares(run)
        products = products + like(z[part], run) @ run
    return sums, squares, products


def _by_class(X: Array, shift: Array | None, y: np.ndarray, classes: int) -> tuple[Array, Array]:
    """The sums of x - shift over each class, (C, d) float64, and of its squares over all, (d,)."""
    sums, squares = _zeros(X, classes, X.shape[1]), _zeros(X, X.shape[1])
    if _is_large(X):
        from lowland.kernels.column_sums import add_by_class

        for part in _parts(X):
            own, own_squares = np.zeros(sums.shape), np.zeros(squares.shape)
            add_by_class(X[part], _as_shift(X, shift), y[part], own, own_squares)
            sums, squares = sums + own, squares + own_squares
        return sums, squares
    for part, run in _runs(X, shift):
        sums = sums + sums_by_class(run, y[part], classes)
        squares = squares + column_squares(run)
    return sums, squares


def _is_large(X: Array) -> bool:
    """Whether compiled loops over the rows are worth loading, and can go along them."""
    return isinstance(X, np.ndarray) and X.flags.c_contiguous and X.size >= _LARGE


def _parts(X: Array) -> Iterator[slice]:
    return (slice(start, start + _ROWS) for start in range(0, X.shape[0], _ROWS))


def _as_shift(X: np.ndarray, shift: np.ndarray | None) -> np.ndarray:
    return np.zeros(X.shape[1]) if shift is None else shift.astype(np.float64)


def _runs(X: Array, shift: Array | None) -> Iterator[tuple[slice, Array]]:
    """Short runs of rows in float64, seen from the shift; of tensors all at once, a device being no cache."""
    n, d = X.shape
    step = max(1, min(n, _RUN_BYTES // (8 * d))) if isinstance(X, np.ndarray) else max(1, n)
    for start in range(0, n, step):
        part = slice(start, min(start + step, n))
        run = as_double(X[part, :])
        yield part, run if shift is None else run - as_double(shift)[None, :]


def _shift(X: Array) -> Array | None:
    """A point near the rows; None where the origin is near enough, or where there are none."""
    return shift_of(X) if X.shape[0] else None


def _zeros(X: Array, *shape: int) -> Array:
    """Zeros in the library and on the device of X, in float64."""
    return as_double(xp_of(X).zeros(shape, dtype=X.dtype, device=device_of(X)))


def _finite(*arrays: Array) -> bool:
    return all(bool(xp_of(a).all(xp_of(a).isfinite(a))) for a in arrays)


# --- scores -----------------------------------------------------------------------------------------------------------


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


def variance_scores(columns: ColumnMoments) -> Scores:
    """The variances, divisor n; they have no p-value."""
    check_squares(columns.n, to_numpy(columns.mean), to_numpy(columns.squares), columns.rounding)
    variances = to_numpy(columns.variances) * ((columns.n - 1) / columns.n)
    return Scores.of(variances, None, variances == 0, columns.rows)


def pearson_scores(columns: TargetColumns) -> Scores:
    """The correlations with the target, and their p-values by the t test."""
    mean, squares, products = (to_numpy(a) for a in (columns.mean, columns.squares, columns.products))
    check_squares(columns.n, mean, squares, columns.rounding, double=True)
    constant = ~(squares > columns.rounding * columns.n * mean**2)
    with np.errstate(divide="ignore", invalid="ignore"):
        r = np.clip(products / (np.sqrt(squares) * np.sqrt(columns.y_squares)), -1, 1)
    return Scores.of(r, correlation_pvalues(np.where(constant, 0.0, r), columns.n), constant, columns.n, signed=True)


def correlation_pvalues(r: np.ndarray, n: int) -> np.ndarray:
    """The chance of so large a correlation among n rows that have nothing to do with each other, by the t test."""
    if n < 3:
        return np.ones_like(r)
    with np.errstate(divide="ignore"):
        F = r**2 * (n - 2) / ((1 - r) * (1 + r))
    return np.where(np.isinf(F), 0.0, fdtrc(1, n - 2, np.minimum(F, np.finfo(np.float64).max)))


def anova_scores(columns: ClassColumns) -> Scores:
    """The F ratios, variance of the class means over that within the classes, and their p-values."""
    n, C = int(columns.n.sum()), len(columns.n)
    if n <= C:
        raise DataError(
            f"There are {C} classes and {n} rows, so nothing varies within the classes. Pass more rows of each class; "
            "if y holds quantities, choose statistic='pearson'."
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
    return Scores.of(F, p, constant, n)


def correlation_ratios(columns: ClassColumns) -> np.ndarray:
    """The root of the share of each column's variance that lies between classes, (d,): |r| if there are two."""
    within, between = to_numpy(columns.within), to_numpy(columns.between)
    with np.errstate(invalid="ignore"):
        eta = np.sqrt(between / (within + between))
    return np.where(anova_scores(columns).constant, 0.0, eta)


def chi2_scores(sums: ClassSums, names: list[str]) -> Scores:
    """The chi-square distances of the sums by class from what the shares of the classes lead one to expect."""
    observed, least, largest = (to_numpy(a) for a in (sums.sums, sums.least, sums.largest))
    if (least < 0).any():
        wrong = [repr(names[j]) for j in np.flatnonzero(least < 0)]
        listed = ", ".join(wrong[:5]) + ", …" * (len(wrong) > 5)
        raise DataError(
            f"Negative values in data passed to chi2: column{'s' * (len(wrong) > 1)} {listed}. It compares counts or "
            "frequencies, which are zero or more. Choose statistic='anova' for measurements."
        )
    shares = sums.n / sums.n.sum()
    expected = shares[:, None] * observed.sum(axis=0)[None, :]  # (C, d)
    with np.errstate(divide="ignore", invalid="ignore"):
        chi2 = ((observed - expected) * ((observed - expected) / expected)).sum(axis=0)
    constant = least == largest
    chi2 = np.where(constant, 0.0, chi2)
    return Scores.of(chi2, chdtrc(len(sums.n) - 1, chi2), constant, int(sums.n.sum()))


# --- which to keep ----------------------------------------------------------------------------------------------------


def ranked(strength: np.ndarray) -> np.ndarray:
    """Return the columns from the best to the worst, (d,); of equal ones the first comes first, NaN last."""
    largest = float(np.finfo(np.float64).max) / 2
    key = np.nan_to_num(strength, nan=-largest, posinf=largest, neginf=-largest)
    order = np.argsort(-key, kind="stable")
    falling = key[order]
    lower = falling[1:] < falling[:-1] - _TIE * np.abs(falling[:-1])
    group = np.concatenate([[0], np.cumsum(lower)])
    return order[np.lexsort((order, group))]


def discoveries(pvalues: np.ndarray, rate: float, *, any_dependence: bool = False) -> np.ndarray:
    """Return which columns, (d,) bool, are found so that a share of at most ``rate`` of them is expected to be false.

    Benjamini and Hochberg 1995; with any dependence between the columns Benjamini and Yekutieli 2001.
    """
    d = len(pvalues)
    ranks = np.arange(1, d + 1)
    if any_dependence:
        rate = rate / float(np.sum(1.0 / ranks))
    p = np.sort(pvalues)
    passing = p[p <= rate / d * ranks]
    return pvalues <= passing[-1] if len(passing) else np.zeros(d, dtype=bool)

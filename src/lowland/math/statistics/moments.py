"""Mergeable statistics of rows: means and scatters, and triangular factors.

Two parts a and b with counts n, means μ and scatters S merge exactly (Chan, Golub and LeVeque 1983):
n = n_a + n_b,  δ = μ_b − μ_a,  μ = μ_a + (n_b/n) δ,  S = S_a + S_b + (n_a n_b/n) δδ'.
Every chunk is shifted close to its mean before it is multiplied: x'x/n − μμ' loses digits by cancellation far from the
origin.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Self

import numpy as np

from lowland.arrays.linalg import (
    add_outer,
    column_squares,
    column_sums,
    gram,
    triangle,
)
from lowland.arrays.namespace import (
    Array,
    as_double,
    device_of,
    in_range_of_single,
    is_sparse,
    like,
    rounding_in,
    take,
    xp_of,
)
from lowland.arrays.records import record
from lowland.errors import DataError
from lowland.run.run import all_finite

_DIGITS_WANTED = 1e-6  # relative error of a sparse variance above which its scatter is not trusted
_SHIFT_ROWS = 64  # rows whose mean is the shift; any point within about a standard deviation of the mean works
_NEAR = {4: 1, 8: 8}  # bytes of a number -> standard deviations between mean and origin that cost few digits
_LEAST = {4: 2.0**-100, 8: 2.0**-1010}  # bytes of a number -> variance below which squares lose digits to underflow
_OVERFLOW = 4.0  # reserve between a sum of squares and the largest number, for rounding and sums of two
_COPY_FREELY = 1024  # rows; the cost of copying fewer is negligible


class Sums:
    """Base of the statistics, dataclasses, whose parts merge by adding each field."""

    def __add__(self, other: Self) -> Self:
        """Merge two parts."""
        names = [each.name for each in fields(self)]  # type: ignore[arg-type]
        return type(self)(*(getattr(self, name) + getattr(other, name) for name in names))

    def is_finite(self) -> bool:
        """Whether NaN, infinity or an overflow is absent: as here where an earlier pass has checked the rows."""
        return True


class Scattered:
    """Base of the statistics with a scatter matrix. A subclass implements ``_merged``."""

    scatter: Array

    def __add__(self, other: Self) -> Self:
        """Merge two parts."""
        return self._merged(other, as_double(self.scatter) + other.scatter)

    def __iadd__(self, other: Self) -> Self:
        """Merge another part into this scatter, in place and in float64."""
        scatter = as_double(self.scatter)
        scatter += other.scatter
        return self._merged(other, scatter)

    def _merged(self, other: Self, scatter: Array) -> Self:
        raise NotImplementedError


@record
@dataclass(frozen=True)
class Moments(Scattered):
    """Count, mean and scatter of rows. With weights, ``n`` is their sum: a weight counts repetitions."""

    n: float
    rows: int  # rows of positive weight
    mean: Array  # (d,) float64
    scatter: Array  # (d, d) sum of (x - mean)(x - mean)'
    rounding: float  # a column whose variance is below this fraction of its squared mean is constant
    lost_digits: bool = False  # whether sparse rows far from the origin lost too many digits
    underflow: bool = False  # whether columns vary by so little that their squares underflow

    @classmethod
    def of(cls, X: Array, weights: np.ndarray | None = None) -> Self:
        """Return the moments of one chunk."""
        if weights is not None:
            X, weights = without_zero_weights(X, weights)
        if is_sparse(X):
            return cls._of_sparse(X, weights)
        shift = shift_of(X) if X.shape[0] else None
        shift, Y, total, n = _shifted(X, weights, shift)
        scatter = gram(Y)
        offset = total / n if n else total  # (d,) float64: mean of the chunk relative to the shift
        scatter = add_outer(scatter, like(offset * -n, scatter), like(offset, scatter))
        host = isinstance(scatter, np.ndarray)
        lost = loses_squares(X, scatter.diagonal() if host else xp_of(scatter).linalg.diagonal(scatter), n)
        if lost and is_single(X):
            return cls.of(as_double(X), weights)
        return cls(n, X.shape[0], as_double(shift) + offset, scatter, rounding_in(X) ** 2, underflow=lost)

    @classmethod
    def _of_sparse(cls, X: Array, weights: np.ndarray | None) -> Self:
        """Float64 Gram matrix minus nμμ', since shifting would fill in the zeros."""
        from lowland.kernels.csr import add_gram

        columns = ColumnMoments.of(X, weights)
        w = np.ones(X.shape[0]) if weights is None else weights
        G = np.zeros((X.shape[1], X.shape[1]))
        add_gram(X.data, X.indices, X.indptr, w, G)
        G += np.tril(G, -1).T
        G -= columns.n * np.outer(columns.mean, columns.mean)
        lost = np.any(np.abs(G.diagonal() - columns.squares) > _DIGITS_WANTED * columns.squares)
        np.fill_diagonal(G, columns.squares)
        return cls(columns.n, columns.rows, columns.mean, G, columns.rounding, bool(lost), columns.underflow)

    def _merged(self, other: Self, scatter: Array) -> Self:
        """The merged moments, given the sum of the scatters; the scatter of the two means is added in place."""
        n = self.n + other.n
        if n == 0:
            return self
        delta = other.mean - self.mean
        scatter = add_outer(scatter, delta * (self.n * other.n / n), delta)
        mean = self.mean + delta * (other.n / n)
        rounding, lost = max(self.rounding, other.rounding), self.lost_digits or other.lost_digits
        underflow = self.underflow or other.underflow or difference_underflows(delta, mean, rounding)
        return type(self)(n, self.rows + other.rows, mean, scatter, rounding, lost, underflow)

    def is_finite(self) -> bool:
        """Whether NaN, infinity or an overflow is absent."""
        return all_finite(self.mean) and all_finite(xp_of(self.scatter).linalg.diagonal(self.scatter))

    @property
    def covariance(self) -> Array:
        """The covariance with divisor n - 1, (d, d) float64."""
        if self.underflow:
            refuse_underflow(self.scatter, self.n)
        return as_double(self.scatter) / _degrees_of_freedom(self.n, self.rows)

    @property
    def variances(self) -> Array:
        """The variance of each column, divisor n - 1, (d,) float64; zero where it is only rounding error."""
        if self.underflow:
            refuse_underflow(self.scatter, self.n)
        return _variances(self, as_double(xp_of(self.scatter).linalg.diagonal(self.scatter)))

    def check_uncentered(self) -> None:
        """Raise an error if the squares of all values underflow, or if their sum overflows."""
        xp = xp_of(self.mean)
        largest = float(xp.max(xp.abs(self.mean)))
        if largest < math.sqrt(_LEAST[8]) and (self.underflow or largest > 0):
            refuse_underflow(self.scatter, self.n)
        with np.errstate(over="ignore"):
            squares = self.mean**2 * self.n + as_double(xp_of(self.scatter).linalg.diagonal(self.scatter))
        refuse_overflow(squares)

    @property
    def uncentered(self) -> Array:
        """The raw second moments, sum of xx', (d, d) float64."""
        self.check_uncentered()
        return as_double(self.scatter) + (self.mean * self.n)[:, None] * self.mean[None, :]


@dataclass(frozen=True)
class ColumnMoments:
    """Count, mean and sum of squares of each column: for tables too wide for a d x d scatter."""

    n: float
    rows: int
    mean: Array  # (d,) float64
    squares: Array  # (d,) float64, sum of (x - mean)^2
    rounding: float  # as in Moments
    underflow: bool = False  # as in Moments

    @classmethod
    def of(cls, X: Array, weights: np.ndarray | None = None) -> Self:
        """Return the moments of the columns of one chunk."""
        X, weights = without_zero_weights(X, weights)
        if is_sparse(X):
            return cls._of_sparse(X, weights)
        shift, Y, total, n = _shifted(X, weights, shift_of(X) if X.shape[0] else None)
        offset = total / n if n else total
        squares = column_squares(Y) - n * offset**2
        lost = loses_squares(X, squares, n)
        if lost and is_single(X):
            return cls.of(as_double(X), weights)
        return cls(n, X.shape[0], as_double(shift) + offset, squares, rounding_in(X) ** 2, lost)

    @classmethod
    def _of_sparse(cls, X: Array, weights: np.ndarray | None) -> Self:
        """Sum the squared distances from the mean of the stored values and of the zeros separately."""
        rows, d = X.shape
        w = np.ones(rows) if weights is None else weights
        n, wide = float(w.sum()), X.astype(np.float64)
        mean = (w @ wide) / n if n else np.zeros(d)
        each = np.repeat(w, np.diff(X.indptr))  # the weight of every stored value
        stored = np.bincount(X.indices, each, d)  # (d,) weight of the stored values; the rest are zeros
        squares = np.bincount(X.indices, each * (wide.data - mean[X.indices]) ** 2, d) + (n - stored) * mean**2
        return cls(n, rows, mean, squares, rounding_in(wide.data) ** 2, loses_squares(X, squares, n))

    def __add__(self, other: Self) -> Self:
        """Merge two parts."""
        n = self.n + other.n
        if n == 0:
            return self
        delta = other.mean - self.mean
        squares = self.squares + other.squares + delta**2 * (self.n * other.n / n)
        mean, rounding = self.mean + delta * (other.n / n), max(self.rounding, other.rounding)
        underflow = self.underflow or other.underflow or difference_underflows(delta, mean, rounding)
        return type(self)(n, self.rows + other.rows, mean, squares, rounding, underflow)

    def is_finite(self) -> bool:
        """Whether NaN, infinity or an overflow is absent."""
        return all_finite(self.mean) and all_finite(self.squares)

    @property
    def variances(self) -> Array:
        """The variance of each column, divisor n - 1; zero where it is only rounding error."""
        if self.underflow:
            refuse_underflow(self.squares, self.n)
        return _variances(self, self.squares)


@dataclass(frozen=True)
class Triangle:
    """Count, mean and triangular factor R of the centered rows, R'R = scatter: accurate, since nothing is squared.

    Merging stacks the two factors over the row sqrt(n_a n_b/n) δ' and computes a QR factorization again.
    """

    n: float
    rows: int
    mean: Array  # (d,) float64
    R: Array  # (min(rows, d), d)
    rounding: float  # as in Moments

    @classmethod
    def of(cls, X: Array, weights: np.ndarray | None = None) -> Self:
        """Return the factor of one chunk."""
        X, weights = without_zero_weights(X, weights)
        xp = xp_of(X)
        shift, Y, total, n = _shifted(X, weights, shift_of(X) if X.shape[0] else None)
        offset = total / n if n else total
        back = like(offset, Y)[None, :]
        Y = Y - (back if weights is None else xp.sqrt(like(weights, Y))[:, None] * back)
        R = triangle(Y)
        if is_single(X) and 0 not in R.shape and not in_range_of_single(float(xp.max(xp.abs(R))) ** 2):
            return cls.of(as_double(X), weights)
        return cls(n, X.shape[0], as_double(shift) + offset, R, rounding_in(X) ** 2)

    def __add__(self, other: Self) -> Self:
        """Merge two parts."""
        xp = xp_of(self.R)
        n = self.n + other.n
        if n == 0:
            return self
        delta = other.mean - self.mean
        between = delta[None, :] * math.sqrt(self.n * other.n / n)
        R = triangle(xp.concat([as_double(self.R), as_double(other.R), between], axis=0))
        rounding = max(self.rounding, other.rounding)
        return type(self)(n, self.rows + other.rows, self.mean + delta * (other.n / n), R, rounding)

    def is_finite(self) -> bool:
        """Whether NaN, infinity or an overflow is absent."""
        return all_finite(self.mean) and all_finite(self.R)

    @property
    def variances(self) -> Array:
        """The variance of each column, divisor n - 1; zero where it is only rounding error."""
        with np.errstate(over="ignore"):
            squares = xp_of(self.R).sum(as_double(self.R) ** 2, axis=0)
        if float(xp_of(self.R).max(xp_of(self.R).abs(self.R))) > 0:
            refuse_underflow(squares, self.n)
        return _variances(self, squares)


@dataclass(frozen=True)
class Total:
    """A plain sum of arrays, in float64."""

    value: Array

    def __add__(self, other: Self) -> Self:
        """Add."""
        return type(self)(as_double(self.value) + as_double(other.value))

    def is_finite(self) -> bool:
        """Whether NaN, infinity or an overflow is absent."""
        return all_finite(self.value)


def is_single(X: Array) -> bool:
    """Whether X is in float32."""
    return bool(X.dtype == (np if isinstance(X, np.ndarray) or is_sparse(X) else xp_of(X)).float32)


def loses_squares(X: Array, squares: Array, n: float) -> bool:
    """Whether the sums of squares of the columns of X, (d,), overflow float32 or lose digits to underflow.

    In float64, whether all of them do so, since a sum is then useless. Constant columns do not count.
    """
    if isinstance(squares, np.ndarray) and X.dtype == np.float64 and squares.max(initial=0.0) >= _LEAST[8] * n:
        return False  # the usual case, at once
    xp, single = xp_of(squares), is_single(X)
    low = squares < _LEAST[4 if single else 8] * n
    if single and not bool(xp.all(xp.isfinite(squares))):
        return True
    if not bool(xp.any(low) if single else xp.all(low)) or n == 0:
        return False
    if is_sparse(X):
        return bool(np.any(low[X.indices] & (X.data != 0)))
    columns = X if not single or bool(xp.all(low)) else xp.take(X, xp.nonzero(low)[0], axis=1)
    return bool(xp_of(X).any(columns != columns[:1, :]))


def loses_observed_squares(X: np.ndarray, squares: np.ndarray) -> bool:
    """Whether columns vary, but the sums of squares of all, (d,), are lost to underflow; NaN is a missing value."""
    if squares.max(initial=0.0) >= _LEAST[8] * len(X) or not len(X):
        return False
    return bool((np.fmax.reduce(X, axis=0) > np.fmin.reduce(X, axis=0)).any())


def refuse_overflow(squares: Array) -> None:
    """Raise an error if the sum of the squares of all columns, (d,), overflows: no eigenvalue is larger than it."""
    with np.errstate(over="ignore"):
        total = float(xp_of(squares).sum(squares))
    if not math.isfinite(_OVERFLOW * total):
        raise DataError("The values are too large: their squares overflow to infinity. Rescale the columns.")


def refuse_underflow(squares: Array, n: float) -> None:
    """Raise an error if the squares of columns that vary are lost to underflow; they may be a scatter matrix."""
    xp = xp_of(squares)
    largest = float(xp.max(xp.linalg.diagonal(squares) if squares.ndim == 2 else squares))
    if largest < _LEAST[8] * n:
        raise DataError(
            "The values are too small: their differences are below 1e-151, so their squares underflow. "
            "Rescale them (`X * 2.0**500`)."
        )


def refuse_tiny_columns(variances: Array, mean: Array) -> None:
    """Raise an error if columns to be standardized are so small that their variances, (d,), underflow."""
    xp = xp_of(variances)
    size = xp.abs(mean)
    if bool(xp.any((variances < _LEAST[8]) & (size > 0) & (size < math.sqrt(_LEAST[8])))):
        raise DataError(
            "Some columns are too small to be standardized: their values are below 1e-151, so their variances "
            "underflow. Rescale these columns, or drop them."
        )


def difference_underflows(delta: Array, mean: Array, rounding: float) -> bool:
    """Whether the means of two parts differ, beyond rounding error, by so little that the squares underflow."""
    xp = xp_of(delta)
    sizes = xp.abs(delta)
    if delta.shape[0] == 0 or not 0 < float(xp.max(sizes)) < math.sqrt(_LEAST[8]):
        return False
    return bool(xp.any(sizes > math.sqrt(rounding) * xp.abs(mean)))


def without_zero_weights(X: Array, weights: np.ndarray | None) -> tuple[Array, np.ndarray | None]:
    """Return the rows of positive weight; others must not affect even the shift."""
    if weights is None or np.all(weights > 0):
        return X, weights
    kept = np.flatnonzero(weights)
    return take(X, kept), weights[kept]


def shift_of(X: Array, near: float | None = None) -> Array | None:
    """Return a point near the mean of the rows, (d,), to subtract from them; None where the origin is near enough.

    ``near`` is the distance in standard deviations that is near enough. The default costs few digits.
    """
    xp = xp_of(X)
    sample = X[
        :: max(1, X.shape[0] // _SHIFT_ROWS), :
    ]  # spread over the chunk: its first rows may differ from the rest
    shift = xp.mean(sample, axis=0)  # (d,)
    near = near or _NEAR[4 if X.dtype == xp.float32 else 8]
    if X.shape[0] <= _COPY_FREELY:
        return shift
    if bool(xp.all(xp.abs(shift) <= near * xp.sqrt(xp.mean((sample - shift) ** 2, axis=0)))):
        return None  # the copy would gain less than a bit, of 24, or six bits, of 53
    return shift


def _shifted(X: Array, weights: np.ndarray | None, shift: Array | None) -> tuple[Array, Array, Array, float]:
    """Return the shift, the shifted rows (times the root of their weights), their weighted sum in float64, and n."""
    xp = xp_of(X)
    zeros = xp.zeros(X.shape[1], dtype=X.dtype, device=device_of(X))
    if X.shape[0] == 0:
        return zeros, X, as_double(zeros), 0.0
    if shift is None:
        shift, Y, sums = zeros, X, column_sums(X)
    else:
        Y = X - shift[None, :]
        sums = column_sums(Y)
    if weights is None:
        return shift, Y, sums, float(X.shape[0])
    root = xp.sqrt(like(weights, X))  # (m,)
    Y = Y * root[:, None]
    return shift, Y, as_double(root @ Y), float(weights.sum())


def _degrees_of_freedom(n: float, rows: int) -> float:
    """The divisor of a variance, n - 1; undefined for one row."""
    if rows < 2:
        raise DataError(
            "There is only one row (`n_samples=1, 1 sample`), so the variance is undefined. Pass at least 2 rows."
        )
    if n < 1 + 1e-6 * rows:
        raise DataError(
            f"`sample_weight` sums to {n:g} over {rows} rows. Weights count repetitions, and variances are divided "
            "by their sum minus one. Do not normalize them: multiply them by the number of rows."
        )
    return n - 1


def _variances(part: Moments | ColumnMoments | Triangle, squares: Array) -> Array:
    """The variances from the sums of squares, zero where they are only rounding error."""
    refuse_overflow(squares)
    variances, xp = squares / _degrees_of_freedom(part.n, part.rows), xp_of(squares)
    deviations = xp.sqrt(xp.where(variances > 0, variances, xp.zeros_like(variances)))  # the squared mean may overflow
    return xp.where(deviations > math.sqrt(part.rounding) * xp.abs(part.mean), variances, xp.zeros_like(variances))

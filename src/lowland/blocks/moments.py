"""Mergeable statistics of rows: means and scatters, and triangular factors.

Two parts a and b with counts n, means μ and scatters S merge without loss (Chan, Golub and LeVeque 1983):
n = n_a + n_b,  δ = μ_b − μ_a,  μ = μ_a + (n_b/n) δ,  S = S_a + S_b + (n_a n_b/n) δδ'.
Every slab is shifted close to its own mean before it is multiplied: x'x/n − μμ' would lose ten digits far from
the origin.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Self

import numpy as np

from lowland.arrays.linalg import column_squares, column_sums, gram, triangle
from lowland.arrays.namespace import Array, is_sparse, like, xp_of
from lowland.arrays.precision import as_double
from lowland.arrays.scratch import shifted_with_sums
from lowland.errors import DataError

_SHIFT_ROWS = 64  # rows whose mean serves as the shift; any shift within a deviation or so of the mean will do
_COPY_FREELY = 1024  # rows; copying fewer costs nothing worth saving


@dataclass(frozen=True)
class Moments:
    """Count, mean and scatter of rows. With weights, ``n`` is their sum: a weight counts repetitions."""

    n: float
    rows: int
    mean: Array  # (d,) float64
    scatter: Array  # (d, d) sum of (x - mean)(x - mean)'

    @classmethod
    def of(cls, X: Array, weights: np.ndarray | None = None) -> Self:
        """Return the moments of one slab."""
        if is_sparse(X):
            return cls._of_sparse(X, weights)
        rows = _weighing(X, weights)
        shift, Y, total, n = _shifted(X, weights)
        offset = total / n if n else total  # (d,) float64: the slab's mean, seen from the shift
        scatter = gram(Y)
        scatter -= like(offset * n, scatter)[:, None] * like(offset, scatter)[None, :]
        return cls(n, rows, as_double(shift) + offset, scatter)

    @classmethod
    def _of_sparse(cls, X: Array, weights: np.ndarray | None) -> Self:
        """Float64 Gram minus nμμ': the exception, since shifting would fill the zeros."""
        from lowland.kernels.sparse import add_gram

        rows, d = X.shape
        w = np.ones(rows) if weights is None else np.asarray(weights, dtype=np.float64)
        n = float(w.sum())
        mean = (w @ X.astype(np.float64)) / n if n else np.zeros(d)
        G = np.zeros((d, d))
        add_gram(X.data, X.indices, X.indptr, w, G)
        G += np.tril(G, -1).T
        G -= n * np.outer(mean, mean)
        return cls(n, _weighing(X, weights), mean, G)

    def __add__(self, other: Self) -> Self:
        """Merge two parts."""
        fresh = type(self)(self.n, self.rows, self.mean, as_double(self.scatter) + 0.0)
        fresh += other
        return fresh

    def __iadd__(self, other: Self) -> Self:
        """Merge another part into this one's scatter, in place and in float64."""
        n = self.n + other.n
        if n == 0:
            return self
        delta = other.mean - self.mean
        scatter = as_double(self.scatter)
        scatter += other.scatter
        scatter += (delta * (self.n * other.n / n))[:, None] * delta[None, :]
        return type(self)(n, self.rows + other.rows, self.mean + delta * (other.n / n), scatter)

    def is_finite(self) -> bool:
        """Whether NaN, infinity or an overflow is absent."""
        return _finite(self.mean) and _finite(xp_of(self.scatter).linalg.diagonal(self.scatter))

    @property
    def covariance(self) -> Array:
        """The covariance with divisor n - 1, (d, d) float64."""
        return as_double(self.scatter) / _freedom(self.n, self.rows)

    @property
    def variances(self) -> Array:
        """The variance of each column, divisor n - 1, (d,) float64."""
        return as_double(xp_of(self.scatter).linalg.diagonal(self.scatter)) / _freedom(self.n, self.rows)

    @property
    def uncentered(self) -> Array:
        """The raw second moments, sum of xx', (d, d) float64."""
        return as_double(self.scatter) + (self.mean * self.n)[:, None] * self.mean[None, :]


@dataclass(frozen=True)
class ColumnMoments:
    """Count, mean and sum of squares of each column: for tables too wide for a d x d scatter."""

    n: float
    rows: int
    mean: Array  # (d,) float64
    squares: Array  # (d,) float64, sum of (x - mean)^2

    @classmethod
    def of(cls, X: Array, weights: np.ndarray | None = None) -> Self:
        """Return the moments of one slab's columns."""
        if is_sparse(X):
            w = np.ones(X.shape[0]) if weights is None else weights
            n, wide = float(w.sum()), X.astype(np.float64)
            mean = (w @ wide) / n if n else np.zeros(X.shape[1])
            return cls(n, _weighing(X, weights), mean, w @ wide.multiply(wide).tocsr() - n * mean**2)
        shift, Y, total, n = _shifted(X, weights)
        offset = total / n if n else total
        squares = column_squares(Y) - n * offset**2
        return cls(n, _weighing(X, weights), as_double(shift) + offset, squares)

    def __add__(self, other: Self) -> Self:
        """Merge two parts."""
        n = self.n + other.n
        if n == 0:
            return self
        delta = other.mean - self.mean
        squares = self.squares + other.squares + delta**2 * (self.n * other.n / n)
        return type(self)(n, self.rows + other.rows, self.mean + delta * (other.n / n), squares)

    def is_finite(self) -> bool:
        """Whether NaN, infinity or an overflow is absent."""
        return _finite(self.mean) and _finite(self.squares)

    @property
    def variances(self) -> Array:
        """The variance of each column, divisor n - 1."""
        return self.squares / _freedom(self.n, self.rows)


@dataclass(frozen=True)
class Triangle:
    """Count, mean and triangular factor R of the centered rows, R'R = scatter: its square root, never squared.

    Merging stacks the two factors over the row sqrt(n_a n_b/n) δ' and triangularises again.
    """

    n: float
    rows: int
    mean: Array  # (d,) float64
    R: Array  # (min(rows, d), d)

    @classmethod
    def of(cls, X: Array, weights: np.ndarray | None = None) -> Self:
        """Return the factor of one slab."""
        xp = xp_of(X)
        shift, Y, total, n = _shifted(X, weights)
        offset = total / n if n else total
        back = like(offset, Y)[None, :]
        Y = Y - (back if weights is None else xp.sqrt(like(weights, Y))[:, None] * back)
        return cls(n, _weighing(X, weights), as_double(shift) + offset, triangle(Y))

    def __add__(self, other: Self) -> Self:
        """Merge two parts."""
        xp = xp_of(self.R)
        n = self.n + other.n
        if n == 0:
            return self
        delta = other.mean - self.mean
        between = delta[None, :] * math.sqrt(self.n * other.n / n)
        R = triangle(xp.concat([as_double(self.R), as_double(other.R), between], axis=0))
        return type(self)(n, self.rows + other.rows, self.mean + delta * (other.n / n), R)

    def is_finite(self) -> bool:
        """Whether NaN, infinity or an overflow is absent."""
        return _finite(self.mean) and _finite(self.R)

    @property
    def variances(self) -> Array:
        """The variance of each column, divisor n - 1."""
        return xp_of(self.R).sum(as_double(self.R) ** 2, axis=0) / _freedom(self.n, self.rows)


@dataclass(frozen=True)
class Total:
    """A plain sum of arrays, in float64."""

    value: Array

    def __add__(self, other: Self) -> Self:
        """Add."""
        return type(self)(as_double(self.value) + as_double(other.value))

    def is_finite(self) -> bool:
        """Whether NaN, infinity or an overflow is absent."""
        return _finite(self.value)


def _shifted(X: Array, weights: np.ndarray | None) -> tuple[Array, Array, Array, float]:
    """Return the shift, the shifted rows (times the root of their weights), their weighted sum in float64, and n."""
    xp = xp_of(X)
    first = X[: min(_SHIFT_ROWS, X.shape[0]), :]
    shift = xp.mean(first, axis=0)  # (d,)
    if X.shape[0] > _COPY_FREELY and bool(xp.all(xp.abs(shift) <= xp.std(first, axis=0))):
        # every mean is near the origin: the copy would gain less than a bit
        shift, Y, sums = xp.zeros_like(shift), X, column_sums(X)
    else:
        Y, sums = shifted_with_sums(X, shift)
    if weights is None:
        return shift, Y, sums, float(X.shape[0])
    root = xp.sqrt(like(weights, X))  # (m,)
    Y = Y * root[:, None]
    return shift, Y, as_double(root @ Y), float(weights.sum())


def _freedom(n: float, rows: int) -> float:
    """The divisor of a variance, n - 1; one row has none."""
    if rows < 2 or n <= 1:
        raise DataError(
            "There is only one row (n_samples=1, 1 sample), and one point has no variance. Pass at least 2 rows "
            "(weights count repetitions: they must add up to more than 1)."
        )
    return n - 1


def _weighing(X: Array, weights: np.ndarray | None) -> int:
    """How many rows count: those with a weight above zero."""
    return int(X.shape[0] if weights is None else np.count_nonzero(weights))


def _finite(values: Array) -> bool:
    return bool(xp_of(values).all(xp_of(values).isfinite(values)))

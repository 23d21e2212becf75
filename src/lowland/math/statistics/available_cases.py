"""Statistics of the observed values: NaN is a missing value, and each column counts its own."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, Self

import numpy as np

from lowland.arrays.namespace import Array, dense, like, rounding_of, xp_of
from lowland.data.rows import Rows
from lowland.errors import DataError
from lowland.math.statistics.class_moments import ClassMoments, membership
from lowland.math.statistics.moments import (
    Sums,
    difference_underflows,
    loses_observed_squares,
    refuse_overflow,
    refuse_underflow,
    without_zero_weights,
)
from lowland.run.run import Run

_SHIFT_ROWS = 64  # rows whose mean is the shift
_ROUNDING = float(np.finfo(np.float64).eps) ** 2


@dataclass(frozen=True)
class AvailableColumns:
    """Count, mean and sum of squares of the observed values of each column, and the number of missing ones."""

    rows: int
    empty_rows: int  # rows without any value
    cells: np.ndarray  # (d,) observed values
    weight: np.ndarray  # (d,) sum of the weights of the observed values
    mean: np.ndarray  # (d,) zero where nothing is observed
    squares: np.ndarray  # (d,) sum of (x - mean)²
    underflow: bool = False  # whether some of them may be lost to underflow

    @classmethod
    def of(cls, X: Any, weights: np.ndarray | None = None) -> Self:
        """Return the statistics of one chunk."""
        X, weights = without_zero_weights(X, weights)
        X = np.ascontiguousarray(dense(X), dtype=np.float64)
        n = len(X)
        # a point near the mean of the observed values: that of some rows spread over the chunk
        sample = X[:: max(1, n // _SHIFT_ROWS)]
        observed = ~np.isnan(sample)
        shift = np.where(observed, sample, 0.0).sum(axis=0) / np.maximum(observed.sum(axis=0), 1)
        shift = np.where(np.isfinite(shift), shift, 0.0)
        w = np.ones((n, 1)) if weights is None else np.asarray(weights, dtype=np.float64)[:, None]
        known = ~np.isnan(X)
        D = np.where(known, X - shift, 0.0)
        with np.errstate(over="ignore", invalid="ignore"):  # an overflow is reported by ``is_finite``
            cells, weight, squares = known.sum(axis=0), (w * known).sum(axis=0), (w * D * D).sum(axis=0)
            offset = (w * D).sum(axis=0) / np.where(weight > 0, weight, 1)
            mean = np.where(weight > 0, shift + offset, 0.0)
            squares = np.maximum(squares - weight * offset**2, 0.0)
        empty = int((~known.any(axis=1)).sum())
        return cls(n, empty, cells, weight, mean, squares, loses_observed_squares(X, squares))

    def __add__(self, other: Self) -> Self:
        weight = self.weight + other.weight
        fraction = other.weight / np.where(weight > 0, weight, 1)
        delta = other.mean - self.mean
        return type(self)(
            self.rows + other.rows, self.empty_rows + other.empty_rows, self.cells + other.cells, weight,
            self.mean + delta * fraction, self.squares + other.squares + delta**2 * self.weight * fraction,
            self.underflow or other.underflow or difference_underflows(delta, self.mean, _ROUNDING),
        )  # fmt: skip

    def is_finite(self) -> bool:
        """Whether infinity or an overflow is absent."""
        return bool(np.isfinite(self.mean).all() and np.isfinite(self.squares).all())

    def refuse_lost_squares(self) -> None:
        """Raise an error if the squares of the values overflow, or are lost to underflow."""
        refuse_overflow(self.squares)
        if self.underflow:
            refuse_underflow(self.squares, self.rows)

    @property
    def missing_fraction(self) -> float:
        """The fraction of the values that are missing."""
        return 1 - float(self.cells.sum()) / max(1, self.rows * len(self.cells))

    @property
    def complete(self) -> bool:
        """Whether no value is missing."""
        return bool((self.cells == self.rows).all())

    @property
    def variances(self) -> np.ndarray:
        """The variance of the observed values of each column, divisor n - 1; zero for one value."""
        return np.where(self.weight > 1, self.squares / np.maximum(self.weight - 1, 1e-300), 0.0)


# --- classes: means of the observed values, covariances of the rows that have both columns ----------------------------


@dataclass(frozen=True)
class AvailableSums(Sums):
    """Sums of observed values and their counts: matrices of the same shape."""

    n: np.ndarray  # (C,) rows
    counts: np.ndarray
    sums: np.ndarray

    def is_finite(self) -> bool:
        """Whether infinity or an overflow is absent."""
        return bool(np.isfinite(self.sums).all())


def _sums_by_class(X: Any, y: np.ndarray, classes: int, shift: np.ndarray) -> AvailableSums:
    """Sums of x - shift over the observed values of each class and column, (C, d); y holds the class numbers."""
    E, observed = _differences(X, shift)
    member = membership(y, classes)
    return AvailableSums(np.bincount(y, minlength=classes), member.T @ observed, member.T @ E)


def _sums_of_products(X: Any, y: np.ndarray, means: np.ndarray) -> AvailableSums:
    """Products of the differences from the class means, (C, d), over the rows that have both columns, (d, d)."""
    E, observed = _differences(X, means[y])
    return AvailableSums(np.bincount(y, minlength=len(means)), observed.T @ observed, E.T @ E)


def _differences(X: Any, center: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    X = np.asarray(dense(X), dtype=np.float64)
    observed = ~np.isnan(X)
    return np.where(observed, X - center, 0.0), observed.astype(np.float64)


def available_class_moments(
    rows: Rows, run: Run, codes: np.ndarray, labels: np.ndarray, center: np.ndarray
) -> tuple[ClassMoments, float]:
    """Return the moments of the classes in two passes, and the least eigenvalue of the pairwise correlations."""
    by_class = partial(_sums_by_class, classes=len(labels), shift=center)
    first = run.fold(rows, by_class, codes, name="summing classes")
    if not (first.counts > 0).all():
        c, j = np.argwhere(first.counts == 0)[0]
        raise DataError(
            f"Class {labels.tolist()[c]!r} has no value in column {rows.column_name(int(j))}. Drop the column, or "
            "impute it."
        )
    means = center + first.sums / first.counts
    second = run.fold(rows, partial(_sums_of_products, means=means), codes, name="summing products")
    n = float(first.n.sum())
    S = second.sums / np.maximum(second.counts, 1.0)  # zero where no row has both
    deviations = np.sqrt(np.where(np.diagonal(S) > 0, np.diagonal(S), 1.0))
    units = np.outer(deviations, deviations)
    values, vectors = np.linalg.eigh(S / units)
    if values[0] < 0:
        S = (vectors * np.maximum(values, 0.0)) @ vectors.T * units
    return ClassMoments(first.n.astype(np.float64), means, S * n, rounding_of(rows.dtype) ** 2), float(values[0])


@dataclass(frozen=True)
class FilledThen:
    """Rows to a function of the rows with ``values`` (d,) for the missing ones."""

    values: np.ndarray
    then: Any

    def __call__(self, X: Any) -> Array:
        """Map one slab."""
        xp = xp_of(X)
        return self.then(xp.where(xp.isnan(X), like(self.values, X)[None, :], X))

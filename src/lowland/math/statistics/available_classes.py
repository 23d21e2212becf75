"""Moments of labeled rows with missing values, by available cases.

The mean of a class in a column is that of its observed values; the covariance of two columns is that of the rows that
have both (pairwise). Such a matrix may have negative eigenvalues, which are set to zero.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from lowland.arrays.namespace import Array, is_sparse, like, to_numpy, xp_of
from lowland.arrays.precision import rounding_of
from lowland.data.rows import Rows
from lowland.errors import DataError
from lowland.math.statistics.class_moments import ClassMoments, membership
from lowland.run.run import Run


@dataclass(frozen=True)
class AvailableSums:
    """Sums of observed values and their counts: matrices of the same shape."""

    n: np.ndarray  # (C,) rows
    counts: np.ndarray
    sums: np.ndarray

    def __add__(self, other: Self) -> Self:
        """Merge two parts."""
        return type(self)(self.n + other.n, self.counts + other.counts, self.sums + other.sums)

    def is_finite(self) -> bool:
        """Whether infinity or an overflow is absent."""
        return bool(np.isfinite(self.sums).all())


@dataclass(frozen=True)
class SumByClass:
    """Sums of x - shift over the observed values of each class and column, (C, d)."""

    classes: int
    shift: np.ndarray  # (d,)

    def __call__(self, X: Any, y: np.ndarray) -> AvailableSums:
        """Return the sums of one chunk; y is the class number of each row."""
        E, observed = _differences(X, self.shift)
        member = membership(y, self.classes)
        return AvailableSums(np.bincount(y, minlength=self.classes), member.T @ observed, member.T @ E)


@dataclass(frozen=True)
class SumProducts:
    """Products of the differences from the class means, over the rows that have both columns, (d, d)."""

    means: np.ndarray  # (C, d)

    def __call__(self, X: Any, y: np.ndarray) -> AvailableSums:
        """Return the sums of one chunk."""
        E, observed = _differences(X, self.means[y])
        return AvailableSums(np.bincount(y, minlength=len(self.means)), observed.T @ observed, E.T @ E)


def _differences(X: Any, center: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    X = np.asarray(X.toarray() if is_sparse(X) else to_numpy(X), dtype=np.float64)
    observed = ~np.isnan(X)
    return np.where(observed, X - center, 0.0), observed.astype(np.float64)


def available_class_moments(
    rows: Rows, run: Run, codes: np.ndarray, labels: np.ndarray, center: np.ndarray
) -> tuple[ClassMoments, float]:
    """Return the moments of the classes in two passes, and the least eigenvalue of the pairwise correlations."""
    first = run.fold(rows, SumByClass(len(labels), center), codes, name="summing classes")
    if not (first.counts > 0).all():
        c, j = np.argwhere(first.counts == 0)[0]
        raise DataError(
            f"Class {labels.tolist()[c]!r} has no value in column {rows.column_name(int(j))}. Drop the column, or "
            "impute it."
        )
    means = center + first.sums / first.counts
    second = run.fold(rows, SumProducts(means), codes, name="summing products")
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

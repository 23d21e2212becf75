"""Statistics of the observed values: NaN is a missing value, and each column counts its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from lowland.arrays.namespace import is_sparse, to_numpy
from lowland.blocks.statistics.moments import without_zero_weights


@dataclass(frozen=True)
class AvailableColumns:
    """Count, mean and sum of squares of the observed values of each column, and the number of missing ones."""

    rows: int
    empty_rows: int  # rows without any value
    cells: np.ndarray  # (d,) observed values
    weight: np.ndarray  # (d,) sum of the weights of the observed values
    mean: np.ndarray  # (d,) zero where nothing is observed
    squares: np.ndarray  # (d,) sum of (x - mean)²

    @classmethod
    def of(cls, X: Any, weights: np.ndarray | None = None) -> Self:
        """Return the statistics of one chunk."""
        X, weights = without_zero_weights(X, weights)
        X = np.asarray(X.toarray() if is_sparse(X) else to_numpy(X), dtype=np.float64)
        observed = ~np.isnan(X)
        cells = observed.sum(axis=0)
        weight = cells.astype(np.float64) if weights is None else weights @ observed
        mean = _weighted_sums(np.where(observed, X, 0.0), weights) / np.where(weight > 0, weight, 1)
        C = np.where(observed, X - mean, 0.0)
        offset = _weighted_sums(C, weights) / np.where(weight > 0, weight, 1)  # the rounding error of the mean
        squares = _weighted_sums(C * C, weights) - weight * offset**2
        return cls(len(X), int(np.sum(~observed.any(axis=1))), cells, weight, mean + offset, squares)

    def __add__(self, other: Self) -> Self:
        """Merge two parts."""
        weight = self.weight + other.weight
        fraction = other.weight / np.where(weight > 0, weight, 1)
        delta = other.mean - self.mean
        return type(self)(
            self.rows + other.rows, self.empty_rows + other.empty_rows, self.cells + other.cells, weight,
            self.mean + delta * fraction, self.squares + other.squares + delta**2 * self.weight * fraction,
        )  # fmt: skip

    def is_finite(self) -> bool:
        """Whether infinity or an overflow is absent."""
        return bool(np.isfinite(self.mean).all() and np.isfinite(self.squares).all())

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


def _weighted_sums(X: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
    return X.sum(axis=0) if weights is None else weights @ X

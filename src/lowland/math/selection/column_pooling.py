"""Pooling of columns by cluster: one number per cluster, and the inverse."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import numpy as np

from lowland.arrays.namespace import Array, like, to_numpy, xp_of
from lowland.errors import ParameterError
from lowland.run.run import all_finite

_FUNCTIONS: dict[str, Any] = {"mean": np.mean, "median": np.median, "max": np.max, "min": np.min}
_AT_ONCE: dict[str, Any] = {"mean": np.add, "max": np.maximum, "min": np.minimum}


@dataclass(frozen=True)
class PoolColumns:
    """One number per cluster of columns, (m, k); an object, so that it can be sent to a worker."""

    labels: np.ndarray  # (d,)
    pooling: Any  # 'mean', 'median', 'max', 'min', or a function of columns (m, g) and axis=1

    def __call__(self, X: Array) -> Array:
        """Return the pooled values of one chunk; a row with NaN or infinity is NaN, whatever the function returns."""
        Z = self._on_host(X) if isinstance(X, np.ndarray) else self._elsewhere(X)
        return Z if all_finite(X) else Z + xp_of(X).sum(X * 0, axis=1)[:, None]

    @property
    def name(self) -> Any:
        """The name of a known function, otherwise the function."""
        return next((name for name, function in _FUNCTIONS.items() if self.pooling is function), self.pooling)

    def _on_host(self, X: np.ndarray) -> np.ndarray:
        if self.name not in _AT_ONCE:
            return self._one_by_one(X)
        order = np.argsort(self.labels, kind="stable")
        sizes = np.bincount(self.labels)
        Z = _AT_ONCE[self.name].reduceat(np.take(X, order, axis=1), np.cumsum(sizes) - sizes, axis=1)
        return Z / sizes.astype(X.dtype) if self.name == "mean" else Z

    def _one_by_one(self, X: np.ndarray) -> np.ndarray:
        function = _FUNCTIONS.get(self.name, self.pooling) if isinstance(self.name, str) else self.pooling
        Z = np.empty((len(X), int(self.labels.max()) + 1), dtype=X.dtype)
        for group in range(Z.shape[1]):
            pooled = np.asarray(function(X[:, self.labels == group], axis=1))
            if pooled.shape != (len(X),):
                raise ParameterError(
                    f"The pooling function returned shape {pooled.shape} for {len(X)} rows. It receives the columns of "
                    "a cluster and axis=1, and must return one number per row."
                )
            Z[:, group] = pooled
        return Z

    def _elsewhere(self, X: Array) -> Array:
        xp = xp_of(X)
        if self.name == "mean":
            M = (self.labels[:, None] == np.arange(self.labels.max() + 1)).astype(np.float64)
            return X @ like(M / M.sum(axis=0), X)
        if self.name not in _AT_ONCE:
            return like(self._one_by_one(to_numpy(X)), X)
        groups = (like(np.flatnonzero(self.labels == g), X, xp.int64) for g in range(int(self.labels.max()) + 1))
        return xp.stack([getattr(xp, self.name)(xp.take(X, group, axis=1), axis=1) for group in groups], axis=1)


@dataclass(frozen=True)
class SpreadGroups:
    """The value of its cluster in every column, (m, d)."""

    labels: np.ndarray  # (d,)

    def __call__(self, Z: Array) -> Array:
        """Return the full-width rows of one chunk."""
        return xp_of(Z).take(Z, like(self.labels, Z, xp_of(Z).int64), axis=1)


def named_groups(labels: np.ndarray, names: Collection[str]) -> dict[int, list[str]]:
    """Return the names of the columns in each cluster."""
    groups: dict[int, list[str]] = {group: [] for group in range(int(labels.max()) + 1)}
    for group, name in zip(labels.tolist(), names, strict=True):
        groups[group].append(str(name))
    return groups

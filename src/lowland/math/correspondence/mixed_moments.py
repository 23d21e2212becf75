"""Moments of numbers and indicators of categories together, for the analysis of mixed tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from lowland.arrays.namespace import Array, like, to_numpy
from lowland.math.correspondence.coding import PASSIVE, UNKNOWN, Coding
from lowland.math.correspondence.indicator_points import refuse_unknown
from lowland.math.statistics.moments import Moments

_BLOCK_BYTES = 2**23  # of a block of indicators


@dataclass(frozen=True)
class Expanded:
    """The map from a slab to its columns of numbers and the indicators of its categories."""

    numbers: tuple[int, ...]  # columns of numbers
    coding: Coding
    names: tuple[str, ...]  # of the columns, for messages
    refuse_missing: bool = True
    remedy: str | None = None  # for the error about values that are no level; None: such values are left out

    @property
    def width(self) -> int:
        """The number of columns of the result."""
        return len(self.numbers) + self.coding.length

    def __call__(self, X: Any) -> np.ndarray:
        """Map one slab."""
        Y = np.zeros((X.shape[0], self.width))
        for i, j in enumerate(self.numbers):
            Y[:, i] = to_numpy(X[:, j])
        rows = np.arange(X.shape[0])
        codes = self.coding.codes(X)
        if self.remedy is not None:
            refuse_unknown(self.coding, codes, self.names, self.remedy, missing_first=self.refuse_missing)
        for start, code in zip(self.coding.starts, codes, strict=True):
            given = code >= 0
            Y[rows[given], len(self.numbers) + start + code[given]] = 1.0
            if self.refuse_missing:
                Y[code == PASSIVE] = np.nan  # reported by the run, with the names of the columns
        return Y

    def blocks(self, X: Any) -> Sequence[Any]:
        """Split a slab into blocks whose indicators are small."""
        height = max(1, _BLOCK_BYTES // (8 * max(1, self.width)))
        return [X[start : min(start + height, X.shape[0]), :] for start in range(0, X.shape[0], height)]


@dataclass(frozen=True)
class MixedMomentsOf:
    """The moments of the expanded columns of a slab."""

    expanded: Expanded

    def __call__(self, X: Any) -> Moments:
        """Return those of one slab."""
        total: Moments | None = None
        for block in self.expanded.blocks(X):
            part = Moments.of(self.expanded(block))
            total = part if total is None else total + part
        return Moments.of(self.expanded(X)) if total is None else total


@dataclass(frozen=True)
class MixedPoints:
    """The map from a slab to coordinates: expanded columns, centered, divided by a scale, times the axes.

    The indicators of a category that is no level are those of the mean row.
    """

    expanded: Expanded
    mean: np.ndarray  # (K,)
    A: np.ndarray  # (K, k) axes divided by the scales

    def __call__(self, X: Any) -> Array:
        """Map one slab."""
        parts = [self._centered(block) @ self.A for block in self.expanded.blocks(X)]
        return like(np.concatenate(parts) if parts else np.empty((0, self.A.shape[1])), X)

    def _centered(self, X: Any) -> np.ndarray:
        Y = self.expanded(X) - self.mean
        coding, first = self.expanded.coding, len(self.expanded.numbers)
        for start, size, code in zip(coding.starts, coding.sizes, coding.codes(X), strict=True):
            left_out = code == UNKNOWN if self.expanded.refuse_missing else code < 0
            Y[left_out, first + start : first + start + size] = 0.0
        return Y

    def squared_norms(self, X: Any, scale: np.ndarray) -> np.ndarray:
        """Return the squared distance of each row to the centroid."""
        return np.concatenate([((self._centered(block) / scale) ** 2).sum(axis=1) for block in self.expanded.blocks(X)])

"""Rows shifted by one point and divided by one number: ratios of distances are unchanged, products are accurate."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lowland.arrays.namespace import Array, like
from lowland.arrays.precision import as_double


@dataclass(frozen=True)
class UniformScaling:
    """The map x -> (x - shift) / unit."""

    shift: np.ndarray  # (d,)
    unit: float = 1.0

    def apply(self, X: Array) -> Array:
        """Return scaled rows, (m, d) float64."""
        if isinstance(X, np.ndarray):
            Y = np.empty(X.shape)  # row-major, whatever the layout of X
            np.subtract(X, self.shift, out=Y)
            if self.unit != 1:
                Y /= self.unit
            return Y
        Y = as_double(X)
        return (Y - like(self.shift, Y)[None, :]) / self.unit

    def invert(self, Y: np.ndarray) -> np.ndarray:
        """Return scaled rows in their original unit, (m, d) float64."""
        return self.shift + self.unit * Y

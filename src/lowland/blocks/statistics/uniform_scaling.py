"""Rows about one point, divided by one number: distances keep their proportions, and products their digits."""

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
            Y = np.empty(X.shape)  # by rows, however X lies
            np.subtract(X, self.shift, out=Y)
            if self.unit != 1:
                Y /= self.unit
            return Y
        Y = as_double(X)
        return (Y - like(self.shift, Y)[None, :]) / self.unit

    def invert(self, Y: np.ndarray) -> np.ndarray:
        """Return scaled rows in their own unit, (m, d) float64."""
        return self.shift + self.unit * Y

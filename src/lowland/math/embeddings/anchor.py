"""A global term for neighbor embeddings: the squared distance to a reference map, at the best scale.

(1 - weight) * loss + weight / n * |Z - s A|², where A is the reference, such as principal components, and
s = <Z, A> / <A, A> the scale that fits best. The neighbor term keeps neighborhoods, the anchor their arrangement
(Kury et al. 2025, DREAMS).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from lowland.arrays.namespace import Array, xp_of
from lowland.math.embeddings.tensor_edges import on_device


@dataclass(frozen=True)
class Anchor:
    """A reference map and the weight of the distance to it."""

    A: Array  # (n, k) float64, centered
    weight: float  # between 0 and 1

    @classmethod
    def aligned(cls, A: np.ndarray, weight: float, Z: np.ndarray) -> Anchor:
        """The anchor after the rotation or reflection that brings it nearest to the start Z (orthogonal Procrustes)."""
        A, Z = A - A.mean(axis=0), Z - Z.mean(axis=0)
        U, _, V = np.linalg.svd(A.T @ Z)
        return cls(A @ (U @ V), weight)

    def on_device(self, home: Array) -> Anchor:
        """Return the anchor as a tensor beside ``home``."""
        return replace(self, A=on_device(self.A, home))

    def scale(self, Z: Array) -> float:
        """Return the scale of the reference that fits Z best; never negative."""
        xp = xp_of(self.A)
        squares = float(xp.sum(self.A * self.A))
        return max(0.0, float(xp.sum(Z * self.A)) / squares) if squares > 0 else 0.0

    def add_gradient(self, Z: Array, G: Array) -> None:
        """Replace the gradient G of the loss by that of the weighted sum; the best scale adds no term of its own."""
        G *= 1 - self.weight
        G += (2 * self.weight / len(Z)) * (Z - self.scale(Z) * self.A)

    def with_value(self, Z: Array, loss: float) -> float:
        """Return the weighted sum of the loss and the squared distance."""
        rest = Z - self.scale(Z) * self.A
        return (1 - self.weight) * loss + self.weight / len(Z) * float(xp_of(rest).sum(rest * rest))

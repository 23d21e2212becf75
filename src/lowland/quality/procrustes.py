"""Procrustes analysis: the rotation, reflection, scaling and translation that align one set of points with another."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lowland.math.statistics.rescaling import power_of_two


@dataclass(frozen=True)
class Procrustes:
    """The least-squares map A -> scale (A - source) R + target that aligns A with B, and the variance it explains."""

    scale: float
    R: np.ndarray  # (k, k) rotation, possibly with a reflection
    source: np.ndarray  # (k,) mean of A
    target: np.ndarray  # (k,) mean of B
    explained: float  # fraction of the variance of B, 0 to 1

    @classmethod
    def onto(cls, A: np.ndarray, B: np.ndarray) -> Procrustes:
        """Align A with B, both (n, k).

        R = UV' of the singular value decomposition of A'B, scale = sum(s) / |A|², both centered (Schönemann 1966,
        doi:10.1007/BF02289451; Gower 1975, doi:10.1007/BF02291478). Both are rescaled first: squares of 1e-200 would
        underflow,
        squares of 1e200 overflow.
        """
        (A, down), (B, up) = in_own_unit(A), in_own_unit(B)
        source, target = A.mean(axis=0), B.mean(axis=0)
        A, B = A - source, B - target
        U, s, V = np.linalg.svd(A.T @ B)
        a2, b2 = float(np.sum(A * A)), float(np.sum(B * B))
        total = float(s.sum())
        scale = (total / a2 if a2 > 0 else 1.0) * (up / down)
        explained = min(1.0, total**2 / (a2 * b2)) if a2 * b2 > 0 else 0.0
        return cls(scale, U @ V, source * down, target * up, explained)

    def __call__(self, A: np.ndarray) -> np.ndarray:
        """Map points, (m, k)."""
        return self.scale * (A - self.source) @ self.R + self.target


def in_own_unit(A: np.ndarray) -> tuple[np.ndarray, float]:
    """Return A divided by a power of two so that its largest entry is between one and two, and that power; exact."""
    A = np.asarray(A, dtype=np.float64)
    unit = float(power_of_two(np.abs(A).max(initial=0.0)))
    return A / unit, unit

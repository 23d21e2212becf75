"""Procrustes: the turn, mirror, scale and shift that lay one set of points onto another."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lowland.blocks.statistics.rescaling import power_of_two


@dataclass(frozen=True)
class Procrustes:
    """The map A -> scale (A - from) R + to that lays A onto B with the least squares, and how much it explains."""

    scale: float
    R: np.ndarray  # (k, k) a turn, or a turn and a mirror
    source: np.ndarray  # (k,) mean of A
    target: np.ndarray  # (k,) mean of B
    explained: float  # share of the squares of B about its mean, 0 to 1

    @classmethod
    def onto(cls, A: np.ndarray, B: np.ndarray) -> Procrustes:
        """Lay A onto B, both (n, k).

        R = UV' of the singular value decomposition of A'B, scale = sum(s) / |A|², centered (Schönemann 1966,
        doi:10.1007/BF02289451; Gower 1975, doi:10.1007/BF02291478). Both are worked in a unit of their own: squares of
        1e-200 would be 0, of 1e200 infinite.
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
        """Lay points, (m, k)."""
        return self.scale * (A - self.source) @ self.R + self.target


def in_own_unit(A: np.ndarray) -> tuple[np.ndarray, float]:
    """Return A in a unit in which its largest number is between one and two, and that unit; no digit is lost."""
    A = np.asarray(A, dtype=np.float64)
    unit = float(power_of_two(np.abs(A).max(initial=0.0)))
    return A / unit, unit

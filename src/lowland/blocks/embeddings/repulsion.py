"""Repulsion of t-SNE between all pairs of points: exact or on a grid, by predicted cost."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from lowland.blocks.embeddings.grid_repulsion import GridRepulsion
from lowland.blocks.embeddings.row_blocks import Together
from lowland.blocks.optimize.outcome import Outcome

_FEW_ROWS = {1: 1000, 2: 3500, 3: 20_000}  # up to which the exact sum is as fast as the grid, by dimension
_POWERS = 12  # how much slower the exact sum is if dof is not 1


class Repulsion(Protocol):
    """The repulsive forces of a map and the normalization of its similarities."""

    def __call__(self, Z: np.ndarray, G: np.ndarray, together: Together) -> float:
        """Write sum_j u w (z_i - z_j) to G (n, k); return the sum of w over all ordered pairs of different rows."""
        ...


@dataclass(frozen=True)
class ExactRepulsion:
    """The sum over all pairs."""

    dof: float = 1.0

    def __call__(self, Z: np.ndarray, G: np.ndarray, together: Together) -> float:
        """Write sum_j u w (z_i - z_j) to G (n, k); return the sum of w over all ordered pairs of different rows."""
        from lowland.kernels.tsne_forces import repel_all

        T = np.ascontiguousarray(Z.T)
        return together.sum(Z.shape[0], lambda a, b: repel_all(T, self.dof, a, b, G)) - Z.shape[0]


def choose_repulsion(n: int, k: int, dof: float, *, exact: bool = False) -> tuple[Repulsion, Outcome]:
    """Return the repulsion for n points of k dimensions, with the name of the algorithm and the reason for it."""
    if exact:
        return ExactRepulsion(dof), Outcome("exact", "requested")
    if k > 3:
        return ExactRepulsion(dof), Outcome("exact", f"a grid of {k} dimensions has too many nodes")
    if n <= _FEW_ROWS[k] / (1 if dof == 1 else math.sqrt(_POWERS)):
        return ExactRepulsion(dof), Outcome("exact", f"all pairs of {n:,} rows take less time than a grid")
    return GridRepulsion(dof), Outcome("interpolation by FFT", f"faster than all pairs of {n:,} rows")

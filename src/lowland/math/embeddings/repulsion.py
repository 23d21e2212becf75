"""Repulsion of t-SNE between all pairs of points: exact, on a grid, by a tree or from a sample, by predicted cost."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import scipy.sparse

from lowland.math.embeddings.grid_repulsion import GridRepulsion
from lowland.math.embeddings.row_blocks import Together
from lowland.math.embeddings.sampled_repulsion import SampledRepulsion
from lowland.math.embeddings.tree_repulsion import TreeRepulsion
from lowland.math.optimize.outcome import Outcome

# Seconds of one processor for one iteration, measured. They only need to have the right ratios.
_PAIR = (0.20e-9, 0.085e-9)  # a pair of points, and for each dimension
_POWER = 4.8e-9  # more for a pair, if dof is not 1
_TREE = 130  # pairs for a row and a doubling of the number of rows, at theta 0.5
_GRID = {1: (0.24e-3, 0.04e-6), 2: (4.2e-3, 0.2e-6)}  # the transforms, and a row
_EDGE = 7e-9
_SAMPLE = 2000  # rows: MNIST (up to 20,000 rows) reaches a divergence within 1 % of that with the exact sum
_WORTH = 5  # how many times as long all pairs must take, for a sample with its noise to be taken


class Repulsion(Protocol):
    """The repulsive forces of a map and the normalization of its similarities."""

    def __call__(self, Z: np.ndarray, G: np.ndarray, together: Together, iteration: int = -1) -> float:
        """Write sum_j u w (z_i - z_j) to G (n, k); return the sum of w over all ordered pairs of different rows.

        An estimate from a sample depends on the iteration; -1 is for values of the objective.
        """
        ...


@dataclass(frozen=True)
class ExactRepulsion:
    """The sum over all pairs."""

    dof: float = 1.0

    def __call__(self, Z: np.ndarray, G: np.ndarray, together: Together, iteration: int = -1) -> float:
        """Write sum_j u w (z_i - z_j) to G (n, k); return the sum of w over all ordered pairs of different rows."""
        from lowland.kernels.tsne_forces import repel_all

        T = np.ascontiguousarray(Z.T)
        return together.sum(Z.shape[0], lambda a, b: repel_all(T, self.dof, a, b, G)) - Z.shape[0]


def choose_repulsion(
    P: scipy.sparse.csr_array, k: int, dof: float, *, exact: bool = False, theta: float = 0.5, seed: int = 0
) -> tuple[Repulsion, Outcome]:
    """Return the repulsion for a map of k dimensions, with the name of the algorithm and the reason for it.

    ``P`` (n, n) are the affinities, whose edges a sample takes exactly. ``theta`` is the accuracy of a tree: the ratio
    of the side of a cell to its distance, below which the cell is one point.
    """
    n = P.shape[0]
    pair = _PAIR[0] + _PAIR[1] * k + (0 if dof == 1 else _POWER)
    all_pairs = pair * n * n
    if exact:
        return ExactRepulsion(dof), Outcome("exact", "requested")
    if k == 3 and theta == 0:
        return ExactRepulsion(dof), Outcome("exact", "a tree without tolerance takes all pairs")
    if k > 3:
        seconds, few = _WORTH * (pair * n * _SAMPLE + _EDGE * P.nnz), f"at most {_WORTH} times as long as a sample"
    elif k == 3:
        seconds, few = pair * _TREE * n * math.log2(max(n, 2)) * 0.5 / theta, "less time than a tree"
    else:
        seconds, few = _GRID[k][0] + _GRID[k][1] * n, "less time than a grid"
    if all_pairs <= seconds:
        return ExactRepulsion(dof), Outcome("exact", f"all pairs of {n:,} rows take {few}")
    if k > 3:
        why = f"all pairs of {n:,} rows take {_WORTH * all_pairs / seconds:.0f} times as long as {_SAMPLE:,} per row"
        return SampledRepulsion.of(P, _SAMPLE, dof, seed), Outcome("sampled", why)
    why = f"faster than all pairs of {n:,} rows"
    if k == 3:
        return TreeRepulsion(dof, theta), Outcome("Barnes-Hut", why)
    return GridRepulsion(dof), Outcome("interpolation by FFT", why)

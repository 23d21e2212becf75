"""Weights by which the neighbours of a point give it back (Saul and Roweis 2003)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse

from lowland.arrays.namespace import Array, like, to_numpy
from lowland.blocks.neighbors.exact_search import blocks, over_blocks
from lowland.blocks.neighbors.graph import NearestAmong, NeighborGraph
from lowland.kernels.local_problems import reconstruct, reconstruct_by_directions
from lowland.run.run import Run, all_finite

_DIRECT = 1e-8  # with less regularisation than this a factorisation is no longer sure of its digits
BLOCK = 4096  # neighbourhoods a thread works on at a time


def reconstruction_weights(
    X: np.ndarray, points: np.ndarray, start: np.ndarray, to: np.ndarray, reg: float = 1e-3
) -> np.ndarray:
    """Return the weights of the neighbours, (links,), which add up to one for each row of X.

    For row x with neighbours p_j they minimise |x - sum_j w_j p_j|² + reg trace(G) |w|², G_ij = (p_i - x)'(p_j - x).
    Neighbours that all coincide with x weigh the same. With ``reg`` zero they are the limit of small ones: of all
    weights that give x back equally well the shortest.
    """
    W = np.empty(len(to))
    weigh = reconstruct if reg >= _DIRECT else reconstruct_by_directions
    weigh(np.ascontiguousarray(X), np.ascontiguousarray(points), start, to, float(reg), W)
    return W


def weight_matrix(X: np.ndarray, graph: NeighborGraph, run: Run, *, reg: float = 1e-3) -> scipy.sparse.csr_array:
    """Return the weights of every row's neighbours, a sparse W (n, n) whose rows add up to one."""
    values = np.empty(len(graph.to))

    def work(first: int, last: int) -> None:
        a, b = graph.start[first], graph.start[last]
        values[a:b] = reconstruction_weights(X[first:last], X, graph.start[first : last + 1] - a, graph.to[a:b], reg)

    in_blocks(graph.n, work, run, "weighing neighbours")
    return graph.matrix(values)


def error_matrix(W: scipy.sparse.csr_array) -> scipy.sparse.csr_array:
    """Return M = (I - W)'(I - W): v'Mv sums the squared errors with which the weights give v back."""
    E = (scipy.sparse.eye_array(W.shape[0], format="csr") - W).tocsr()
    return (E.T.tocsr() @ E).tocsr()


@dataclass(frozen=True)
class Weighing:
    """Places new rows where the weights of their neighbours put them; an object that can travel to a worker.

    A row that was fitted keeps its place, which regularised weights would blur.
    """

    nearest: NearestAmong
    Z: Array  # (n, k) places of the points
    reg: float

    def __call__(self, X: Array) -> Array:
        """Return coordinates, (m, k)."""
        if not all_finite(X):  # the run tells where
            return like(np.full((X.shape[0], self.Z.shape[1]), np.nan), X)
        indices, _ = self.nearest(X)
        m, k = indices.shape
        start, to = np.arange(m + 1) * k, indices.ravel().astype(np.int32)
        points, Z = to_numpy(self.nearest.points), to_numpy(self.Z)
        rows = to_numpy(X)
        w = reconstruction_weights(rows, points, start, to, self.reg).reshape(m, k)
        placed = np.einsum("mk,mkc->mc", w, Z[indices].astype(np.float64))
        fitted = np.all(points[indices[:, 0]] == rows, axis=1)
        placed[fitted] = Z[indices[fitted, 0]]
        return like(placed, X)


def in_blocks(n: int, work: Callable[[int, int], Any], run: Run, name: str) -> None:
    """Call ``work(first, last)`` for blocks of n points, on the run's threads; each writes to a place of its own."""
    if n <= BLOCK:
        work(0, n)
    else:
        over_blocks(run, name, blocks(n, BLOCK), lambda part: work(part.start, part.stop))

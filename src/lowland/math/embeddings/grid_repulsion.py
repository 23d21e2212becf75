"""Repulsion of t-SNE on a grid: particle-mesh sums by the fast Fourier transform, in 1 to 3 dimensions.

The repulsion is the gradient of one potential, phi(z) = sum_j w(|z - z_j|), and the normalization is the sum of the
same potential. So one convolution suffices:

1. Spread a unit charge per point to the nodes around it, by cubic B-splines.
2. Convolve with the similarity w (``grid_convolution``): the result interpolates w at the nodes.
3. Read the potential and its gradient at the points, by the same splines.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from lowland.math.embeddings.grid_convolution import GridConvolution, fast_length
from lowland.math.embeddings.row_blocks import Together

_SPACING = {1: 0.3, 2: 0.4, 3: 0.5}  # of the nodes, in units of the similarity's width
_CELLS = {1: 64, 2: 64, 3: 32}  # wanted along an axis: a small map has a finer grid, down to a quarter of the spacing
_MOST_NODES = {1: 2**16, 2: 2048, 3: 160}  # along an axis
_BAND = 8  # cells or more: the nodes touched by two bands of the same parity are disjoint
_BANDS = 16  # or fewer
_THREADS = 4  # that share the work of _FEW_ROWS rows or more
_FEW_ROWS = 50_000
_MARGIN = 8  # nodes between the farthest two points and the place where the transform wraps around


@dataclass(frozen=True)
class SplineGrid:
    """Regular nodes around the points of a map."""

    origin: np.ndarray  # (k,) place of node 0
    spacing: float
    nodes: tuple[int, ...]  # along each axis

    @classmethod
    def around(cls, Z: np.ndarray, dof: float) -> SplineGrid:
        """The grid for a map: a fixed spacing, wider if the map is so large that it would need too many nodes.

        Numbers of nodes and spacings come from a short list, so that the transform of w is rarely computed again.
        """
        from lowland.kernels.spline_grid import extent

        n, k = Z.shape
        low, high = np.empty(k), np.empty(k)
        extent(Z, low, high)
        most = min(_MOST_NODES[k], max(64, int(6 * n ** (1 / k))))
        spacing, span = _SPACING[k] * math.sqrt(min(dof, 1.0)), float(np.max(high - low))
        if span > most * spacing:
            spacing *= 1.05 ** math.ceil(math.log(span / (most * spacing)) / math.log(1.05))
        elif span < _CELLS[k] * spacing:
            spacing *= max(0.25, 2 ** -math.floor(math.log2(_CELLS[k] * spacing / max(span, 1e-9))))
        nodes = tuple(fast_length(int(each / spacing) + 6 + _MARGIN) for each in high - low)
        cells = np.floor((high - low) / spacing)
        return cls((low + high) / 2 - spacing * (cells / 2 + 2), spacing, nodes)

    @property
    def steps(self) -> np.ndarray:
        """The distance in memory of two nodes along each axis, (k,)."""
        return np.array([math.prod(self.nodes[c + 1 :]) for c in range(len(self.nodes))], dtype=np.int64)


@dataclass
class GridRepulsion:
    """The repulsive forces of a map and the normalization of its similarities."""

    dof: float = 1.0
    _convolution: GridConvolution = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Keep the transforms of w, and room for those of the charges, for all iterations."""
        self._convolution = GridConvolution(self.dof)

    def is_for_one_thread(self, n: int, threads: int) -> bool:
        """Whether to leave it to one of several threads: in short rounds, they would wait longer than they work."""
        return threads > 1 and (threads < _THREADS or n < _FEW_ROWS)

    def __call__(self, Z: np.ndarray, G: np.ndarray, together: Together, iteration: int = -1) -> float:
        """Write sum_j u w (z_i - z_j) to G (n, k); return the sum of w over all ordered pairs of different rows."""
        from lowland.kernels.spline_grid import read_potential

        grid, together = SplineGrid.around(Z, self.dof), together.limited(_THREADS)
        potential = self.potential(Z, grid, together).ravel()
        steps, inverse = grid.steps, 1 / grid.spacing
        n = Z.shape[0]
        return together.sum(n, lambda a, b: read_potential(Z, a, b, grid.origin, inverse, steps, potential, G)) - n

    def potential(self, Z: np.ndarray, grid: SplineGrid, together: Together) -> np.ndarray:
        """Return the coefficients of the splines whose sum is the potential of the points, one per node.

        They are overwritten by the next call.
        """
        charges = _spread(Z, grid, self._convolution.room("charges", grid.nodes, Z.dtype), together)
        return self._convolution(charges, grid.spacing, together)


def _spread(Z: np.ndarray, grid: SplineGrid, charges: np.ndarray, together: Together) -> np.ndarray:
    """Spread the points to the nodes. Even bands first, then odd ones: no two threads write to the same node."""
    from lowland.kernels import spline_grid

    charges[:], steps, inverse = 0, grid.steps, 1 / grid.spacing
    height = max(_BAND, -(-grid.nodes[0] // _BANDS))
    flat, bands = charges.ravel(), -(-grid.nodes[0] // height)
    start, rows = np.empty(bands + 1, dtype=np.int64), np.empty(Z.shape[0], dtype=np.int32)
    spline_grid.sort_by_bands(Z, grid.origin, inverse, height, start, rows)
    for parity in (0, 1):

        def work(half: int, parity: int = parity) -> None:
            band = 2 * half + parity
            spline_grid.spread(Z, rows[start[band] : start[band + 1]], grid.origin, inverse, steps, flat)

        together(-(-(bands - parity) // 2), work)
    return charges

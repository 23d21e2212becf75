"""Repulsion of t-SNE on a grid: particle-mesh sums by the fast Fourier transform, in 1 to 3 dimensions.

The repulsion is the gradient of one potential, phi(z) = sum_j w(|z - z_j|), and the normalization is the sum of the
same potential. So one convolution suffices:

1. Spread a unit charge per point to the nodes around it, by cubic B-splines.
2. Convolve with the similarity w, sampled at the nodes and divided by the splines' own transform: the result
   interpolates w at the nodes. The transform is twice as long as the grid, so that the ends do not touch.
3. Read the potential and its gradient at the points, by the same splines.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.fft

from lowland.blocks.embeddings.row_blocks import Together

_SPACING = {1: 0.3, 2: 0.4, 3: 0.5}  # of the nodes, in units of the similarity's width
_CELLS = {1: 64, 2: 64, 3: 32}  # wanted along an axis: a small map has a finer grid, down to a quarter of the spacing
_MOST_NODES = {1: 2**16, 2: 2048, 3: 160}  # along an axis
_BAND = 8  # cells: the nodes touched by two bands of the same parity are disjoint
_LINES = 32  # 1-D transforms of one block
_MARGIN = 8  # nodes between the farthest two points and the place where the transform wraps around


@dataclass(frozen=True)
class SplineGrid:
    """Regular nodes around the points of a map."""

    origin: np.ndarray  # (k,) place of node 0
    spacing: float
    nodes: tuple[int, ...]  # along each axis; the transform has twice as many

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
        nodes = tuple(_rounded_up(int(each / spacing) + 6 + _MARGIN) for each in high - low)
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
    _spectra: dict[Any, np.ndarray] = field(default_factory=dict)  # transforms of w by grid

    def __call__(self, Z: np.ndarray, G: np.ndarray, together: Together, iteration: int = -1) -> float:
        """Write sum_j u w (z_i - z_j) to G (n, k); return the sum of w over all ordered pairs of different rows."""
        from lowland.kernels.spline_grid import read_potential

        grid = SplineGrid.around(Z, self.dof)
        potential = self.potential(Z, grid, together).ravel()
        steps, inverse = grid.steps, 1 / grid.spacing
        n = Z.shape[0]
        return together.sum(n, lambda a, b: read_potential(Z, a, b, grid.origin, inverse, steps, potential, G)) - n

    def potential(self, Z: np.ndarray, grid: SplineGrid, together: Together) -> np.ndarray:
        """Return the coefficients of the splines whose sum is the potential of the points, one per node."""
        charges = _charges(Z, grid, together)
        return _convolved(charges, self._spectrum(grid, charges.dtype), together)

    def _spectrum(self, grid: SplineGrid, dtype: np.dtype) -> np.ndarray:
        """The transform of w, divided by that of the splines, (nodes + 1 along each axis): it is even and real."""
        key = (grid.spacing, grid.nodes, dtype)
        if key not in self._spectra:
            if len(self._spectra) > 3:
                self._spectra.clear()
            numbers = np.ogrid[tuple(slice(m + 1) for m in grid.nodes)]
            squares = sum(((i * grid.spacing) ** 2 for i in numbers), start=np.zeros(()))
            spectrum = scipy.fft.dctn((1 + squares / self.dof) ** -self.dof, type=1)
            for i, m in zip(numbers, grid.nodes, strict=True):
                spectrum /= ((2 + np.cos(np.pi * i / m)) / 3) ** 2
            self._spectra[key] = spectrum.astype(dtype)
        return self._spectra[key]


def _rounded_up(nodes: int) -> int:
    """A number of nodes that is fast to transform, from a list with steps of about 6 %."""
    step = 1 << max(0, nodes.bit_length() - 5)
    return int(scipy.fft.next_fast_len(-(-nodes // step) * step, real=True))


def _charges(Z: np.ndarray, grid: SplineGrid, together: Together) -> np.ndarray:
    """Spread the points to the nodes. Even bands first, then odd ones: no two threads write to the same node."""
    from lowland.kernels import spline_grid

    charges, steps, inverse = np.zeros(grid.nodes, dtype=Z.dtype), grid.steps, 1 / grid.spacing
    flat, bands = charges.ravel(), -(-grid.nodes[0] // _BAND)
    start, rows = np.empty(bands + 1, dtype=np.int64), np.empty(Z.shape[0], dtype=np.int32)
    spline_grid.sort_by_bands(Z, grid.origin, inverse, _BAND, start, rows)
    for parity in (0, 1):

        def work(half: int, parity: int = parity) -> None:
            band = 2 * half + parity
            spline_grid.spread(Z, rows[start[band] : start[band + 1]], grid.origin, inverse, steps, flat)

        together(-(-(bands - parity) // 2), work)
    return charges


def _convolved(charges: np.ndarray, spectrum: np.ndarray, together: Together) -> np.ndarray:
    """The charges convolved with the function of this spectrum, on the nodes of the charges."""
    *outer, m = charges.shape
    if not outer:
        return scipy.fft.irfft(scipy.fft.rfft(charges, 2 * m) * spectrum, 2 * m)[:m]
    A = np.empty((*outer, m + 1), dtype=np.result_type(charges.dtype, np.complex64))

    def forward(a: int, b: int) -> None:
        A[a:b] = scipy.fft.rfft(charges[a:b], 2 * m, axis=-1)

    def across(a: int, b: int) -> None:
        A[..., a:b] = _convolved_lines(A[..., a:b], spectrum[..., a:b])

    def back(a: int, b: int) -> None:
        charges[a:b] = scipy.fft.irfft(A[a:b], 2 * m, axis=-1)[..., :m]

    block = max(1, _LINES // math.prod(outer[1:]))
    _in_blocks(outer[0], block, forward, together)
    _in_blocks(m + 1, block, across, together)
    _in_blocks(outer[0], block, back, together)
    return charges


def _in_blocks(count: int, size: int, work: Callable[[int, int], None], together: Together) -> None:
    """Call work(a, b) for blocks of ``size`` out of ``count``."""
    together(-(-count // size), lambda i: work(i * size, min(count, (i + 1) * size)))


def _convolved_lines(A: np.ndarray, spectrum: np.ndarray) -> np.ndarray:
    """Transform along all axes but the last, multiply, and transform back."""
    nodes = A.shape[:-1]
    F = A
    for c in range(len(nodes))[::-1]:
        F = scipy.fft.fft(F, 2 * nodes[c], axis=c)
    for mirrored in itertools.product((False, True), repeat=len(nodes)):  # the spectrum is even
        part = tuple(slice(m + 1, None) if over else slice(m + 1) for m, over in zip(nodes, mirrored, strict=True))
        same = tuple(slice(m - 1, 0, -1) if over else slice(None) for m, over in zip(nodes, mirrored, strict=True))
        F[part] *= spectrum[same]
    for c in range(len(nodes)):
        F = scipy.fft.ifft(F, axis=c, overwrite_x=True)[(slice(None),) * c + (slice(nodes[c]),)]
    return F

"""Repulsion of t-SNE between all pairs of points: exact, on a grid, by a tree or from a sample, by predicted cost.

Grid: the repulsion is the gradient of one potential, phi(z) = sum_j w(|z - z_j|), whose sum is the normalization. Unit
charges are spread to nodes by cubic B-splines, convolved with w by fast Fourier transforms, and read by the same
splines; w is divided by their transform twice, so that the result interpolates it.

Tree, in up to 3 dimensions (Barnes-Hut): far from a point, a cell of an octree acts as one point at its center of mass.

Sample: rows at the ends of edges, whose forces are strongest, are summed exactly, all others estimated without bias.
The sample is kept for some iterations: new noise in each would change the signs of the gradient.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import scipy.fft
import scipy.sparse

from lowland.kernels.repulsion import (
    LEVELS,
    build_octree,
    extent,
    morton_codes,
    read_potential,
    repel_by_octree,
    repel_by_sample,
    sort_by_bands,
    spread,
)
from lowland.kernels.tsne import repel_all
from lowland.math.embeddings.descent import RowBlocks
from lowland.math.optimize.outcome import Outcome

_LINES = 16  # 1-D transforms that are vectorized together: ranges of lines begin at multiples
_AT_ONCE = 4 * _LINES  # lines whose transforms are allocated at once: larger arrays come from the system, page by page
_SPACING = {1: 0.3, 2: 0.4, 3: 0.5}  # of the nodes, in units of the similarity's width
_CELLS = {1: 64, 2: 64, 3: 32}  # wanted along an axis: a small map has a finer grid, down to a quarter of the spacing
_WIDEST = 2.0**40  # nodes along an axis: far more than are ever used
CROWD = 2.0  # similarity of a row to all others, on average: below, the error of its own potential counts
_BAND = 8  # cells or more: the nodes touched by two bands of the same parity are disjoint
_BANDS = 16  # or fewer
_THREADS = 4, 8  # that share the work of _FEW_ROWS rows or more: fewer wait longer than they work, more add nothing
_FEW_ROWS = 50_000
_MARGIN = 8  # nodes between the farthest two points and the place where the transform wraps around
_KEPT = 250  # iterations with the same sample
# Seconds of one processor for one iteration, measured. They only need to have the right ratios.
_PAIR = (0.20e-9, 0.085e-9)  # a pair of points, and for each dimension
_POWER = 4.8e-9  # more for a pair, if dof is not 1
_TREE = {1: 100, 2: 100, 3: 130}  # pairs for a row and a doubling of the number of rows, at theta 0.5
_NODE = 25e-9  # of a grid
_GRID = {1: (0.24e-3, 0.04e-6), 2: (3.0e-3, 0.4e-6)}  # the transforms of a usual map, and a row
_EDGE = 7e-9
_CHECK = 0.15  # for a check of a map
_SAMPLE = 2000  # rows: MNIST (up to 20,000 rows) reaches a divergence within 1 % of that with the exact sum
_WORTH, _WORTH_SAMPLE = 2, 5  # how many times as long all pairs must take for an approximation; for one with noise


# --- convolution on a grid --------------------------------------------------------------------------------------------


@dataclass
class GridConvolution:
    """Convolution with w = (1 + d²/dof)^-dof."""

    dof: float = 1.0
    _spectra: dict[Any, np.ndarray] = field(default_factory=dict)
    _scratch: dict[str, np.ndarray] = field(default_factory=dict)

    def __call__(self, charges: np.ndarray, spacing: float, blocks: RowBlocks) -> np.ndarray:
        """Return the coefficients on the nodes of the charges, which are overwritten."""
        spectrum = self._spectrum(tuple(2 * m for m in charges.shape), spacing, charges.dtype)
        if charges.ndim == 1:
            period = 2 * (len(spectrum) - 1)
            return scipy.fft.irfft(scipy.fft.rfft(charges, period) * spectrum, period)[: len(charges)]
        transforms = self._transforms(charges, spectrum)
        m, lines, block = len(charges), transforms.A.shape[-1], max(1, _LINES // math.prod(charges.shape[1:-1]))
        blocks.ranges(m, block, transforms.forward)
        blocks.ranges(lines, block, transforms.across)
        blocks.ranges(m, block, transforms.back)
        return charges

    def _spectrum(self, periods: tuple[int, ...], spacing: float, dtype: np.dtype) -> np.ndarray:
        """The transform of w, divided by that of the splines, (period / 2 + 1,): it is even and real."""
        key = (periods, spacing, dtype)
        if key not in self._spectra:
            if len(self._spectra) > 5:
                self._spectra.clear()
            numbers = np.ogrid[tuple(slice(period // 2 + 1) for period in periods)]
            squares = sum(((i * spacing) ** 2 for i in numbers), start=np.zeros(()))
            spectrum = scipy.fft.dctn((1 + squares / self.dof) ** -self.dof, type=1)
            for i, period in zip(numbers, periods, strict=True):
                spectrum /= ((2 + np.cos(2 * np.pi * i / period)) / 3) ** 2
            self._spectra[key] = spectrum.astype(dtype)
        return self._spectra[key]

    def _transforms(self, charges: np.ndarray, spectrum: np.ndarray) -> _LineTransforms:
        *periods, _ = (2 * (m - 1) for m in spectrum.shape)
        dtype = np.result_type(charges.dtype, np.complex64)
        return _LineTransforms(charges, spectrum, self.room("transforms", (*periods, spectrum.shape[-1]), dtype))

    def room(self, name: str, shape: tuple[int, ...], dtype: Any) -> np.ndarray:
        """Return an array with any content, the same one in the next iterations."""
        found = self._scratch.get(name)
        if found is None or found.shape != shape or found.dtype != dtype:
            self._scratch[name] = found = np.empty(shape, dtype=dtype)
        return found


def fast_length(count: int) -> int:
    """A number that is fast to transform, from a list with steps of about 6 %."""
    step = 1 << max(0, count.bit_length() - 5)
    return int(scipy.fft.next_fast_len(-(-count // step) * step, real=True))


@dataclass(frozen=True)
class _LineTransforms:
    """The steps of a convolution, for ranges of lines.

    Large arrays are transformed in place: new ones would come from the system, page by page.
    """

    charges: np.ndarray
    spectrum: np.ndarray
    A: np.ndarray  # transforms along the last axis, in room for those along the others

    @property
    def period(self) -> int:
        return 2 * (self.spectrum.shape[-1] - 1)

    @property
    def corner(self) -> tuple[slice, ...]:
        """The nodes of the charges within A, but for the first and the last axis."""
        return tuple(slice(m) for m in self.charges.shape[1:-1])

    def forward(self, a: int, b: int) -> None:
        """Transform the charges a to b along the last axis."""
        for i, j in _pieces(a, b):
            self.A[(slice(i, j), *self.corner)] = scipy.fft.rfft(self.charges[i:j], self.period, axis=-1)

    def across(self, a: int, b: int) -> None:
        """Transform the lines a to b of the last axis along all other axes, multiply, and transform back."""
        F, spectrum = self.A[..., a:b], self.spectrum[..., a:b]
        nodes, halves = self.charges.shape[:-1], [m - 1 for m in self.spectrum.shape[:-1]]
        for c, m in enumerate(nodes):
            F[(slice(None),) * c + (slice(m, None),)] = 0
            F = scipy.fft.fft(F, axis=c, overwrite_x=True)
        for mirrored in itertools.product((False, True), repeat=len(nodes)):  # the spectrum is even
            part = tuple(slice(m + 1, None) if over else slice(m + 1) for m, over in zip(halves, mirrored, strict=True))
            same = tuple(slice(m - 1, 0, -1) if over else slice(None) for m, over in zip(halves, mirrored, strict=True))
            F[part] *= spectrum[same]
        for c in range(len(nodes)):
            F = scipy.fft.ifft(F, axis=c, overwrite_x=True)
        if not np.may_share_memory(F, self.A):
            self.A[..., a:b] = F

    def back(self, a: int, b: int) -> None:
        """Transform the charges a to b back along the last axis."""
        for i, j in _pieces(a, b):
            lines = scipy.fft.irfft(self.A[(slice(i, j), *self.corner)], self.period, axis=-1)
            self.charges[i:j] = lines[..., : self.charges.shape[-1]]


def _pieces(a: int, b: int) -> Iterator[tuple[int, int]]:
    return ((i, min(b, i + _AT_ONCE)) for i in range(a, b, _AT_ONCE))


# --- grid -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class SplineGrid:
    """Regular nodes around the points of a map."""

    origin: np.ndarray  # (k,) place of node 0
    spacing: float
    nodes: tuple[int, ...]  # along each axis

    @classmethod
    def around(cls, Z: np.ndarray, dof: float) -> SplineGrid:
        """The grid for a map: a fixed spacing, finer for a small map.

        Numbers of nodes and spacings come from a short list, so that the transform of w is rarely computed again.
        """
        k = Z.shape[1]
        low, high = np.empty(k), np.empty(k)
        extent(Z, low, high)
        spacing, span = _SPACING[k] * math.sqrt(min(dof, 1.0)), float(np.max(high - low))
        if span < _CELLS[k] * spacing:
            spacing *= max(0.25, 2 ** -math.floor(math.log2(_CELLS[k] * spacing / max(span, 1e-9))))
        nodes = tuple(fast_length(int(min(each / spacing, _WIDEST)) + 6 + _MARGIN) for each in high - low)
        cells = np.floor((high - low) / spacing)
        return cls((low + high) / 2 - spacing * (cells / 2 + 2), spacing, nodes)

    @property
    def size(self) -> int:
        """The number of nodes."""
        return math.prod(self.nodes)

    @property
    def steps(self) -> np.ndarray:
        """The distance in memory of two nodes along each axis, (k,)."""
        return np.array([math.prod(self.nodes[c + 1 :]) for c in range(len(self.nodes))], dtype=np.int64)


@dataclass
class GridRepulsion:
    """The repulsive forces of a map and the normalization of its similarities.

    A tree takes over where a grid fails: a map so wide that it needs too many nodes, as that of a table of repeated
    rows, and rows so far apart that the sum of their similarities is lost in the error of their own potential.
    """

    dof: float = 1.0
    theta: float = 0.5  # of the tree

    @cached_property
    def _convolution(self) -> GridConvolution:
        """It keeps the transforms of w, and room for those of the charges, for all iterations."""
        return GridConvolution(self.dof)

    def is_for_one_thread(self, n: int, threads: int) -> bool:
        """Whether to leave it to one of several threads: in short rounds, they would wait longer than they work."""
        return threads > 1 and (threads < _THREADS[0] or n < _FEW_ROWS)

    def __call__(self, Z: np.ndarray, G: np.ndarray, blocks: RowBlocks, iteration: int = -1) -> float:
        """Write sum_j u w (z_i - z_j) to G (n, k); return the sum of w over all ordered pairs of different rows."""
        grid, few, (n, k) = SplineGrid.around(Z, self.dof), blocks.limited(_THREADS[1]), Z.shape
        if _NODE * grid.size < _tree_seconds(n, k, self.dof, self.theta):
            potential = self.potential(Z, grid, few).ravel()
            steps, inverse = grid.steps, 1 / grid.spacing
            total = few.sum(n, lambda a, b: read_potential(Z, a, b, grid.origin, inverse, steps, potential, G))
            if total - n > CROWD * n:
                return total - n
        return TreeRepulsion(self.dof, self.theta)(Z, G, blocks)

    def potential(self, Z: np.ndarray, grid: SplineGrid, blocks: RowBlocks) -> np.ndarray:
        """Return the coefficients of the splines whose sum is the potential of the points, one per node.

        They are overwritten by the next call. Points are spread to the nodes in even bands first, then in odd ones: no
        two threads write to the same node.
        """
        charges = self._convolution.room("charges", grid.nodes, Z.dtype)
        charges[:], steps, inverse = 0, grid.steps, 1 / grid.spacing
        height = max(_BAND, -(-grid.nodes[0] // _BANDS))
        flat, bands = charges.ravel(), -(-grid.nodes[0] // height)
        start, rows = np.empty(bands + 1, dtype=np.int64), np.empty(Z.shape[0], dtype=np.int32)
        sort_by_bands(Z, grid.origin, inverse, height, start, rows)
        for parity in (0, 1):

            def work(half: int, parity: int = parity) -> None:
                band = 2 * half + parity
                spread(Z, rows[start[band] : start[band + 1]], grid.origin, inverse, steps, flat)

            blocks(-(-(bands - parity) // 2), work)
        return self._convolution(charges, grid.spacing, blocks)


# --- tree -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Octree:
    """Cells of points, in depth-first order."""

    order: np.ndarray  # (n,) row of each point: the points are sorted along the Morton curve
    points: np.ndarray  # (3, n), sorted
    cells: np.ndarray  # (cells, 4): first point, the point after the last, level, the cell after the descendants
    centers: np.ndarray  # (cells, 3) of mass
    sides: np.ndarray  # (cells,)
    starts: np.ndarray  # (groups + 1,) first point of each group of neighboring points

    @classmethod
    def of(cls, Z: np.ndarray) -> Octree:
        """Divide the rows of Z (n, 3)."""
        n = len(Z)
        low, high = np.empty(3), np.empty(3)
        extent(Z, low, high)
        span = max(float(np.max(high - low)), 1e-30)
        codes, cells, groups = np.empty(n, np.uint64), np.empty((2 * n, 4), np.int64), np.empty(n + 1, np.int64)
        morton_codes(Z, low, 2.0**LEVELS / span, codes)
        order = np.argsort(codes, kind="stable")
        count, n_groups = build_octree(codes[order], cells, groups)
        cells, groups[n_groups] = cells[:count].copy(), n
        T = np.ascontiguousarray(Z[order].T)
        sums = np.zeros((n + 1, 3))
        np.cumsum(T.T, axis=0, dtype=np.float64, out=sums[1:])
        first, last = cells[:, 0], cells[:, 1]
        centers = (sums[last] - sums[first]) / (last - first)[:, None]
        return cls(order, T, cells, centers, span * 0.5 ** cells[:, 2], groups[: n_groups + 1].copy())


@dataclass(frozen=True)
class TreeRepulsion:
    """The repulsive forces of a map of 1 to 3 dimensions. A cell is one point if side / distance is below ``theta``."""

    dof: float = 1.0
    theta: float = 0.5

    def __call__(self, Z: np.ndarray, G: np.ndarray, blocks: RowBlocks, iteration: int = -1) -> float:
        """Write sum_j u w (z_i - z_j) to G (n, k); return the sum of w over all ordered pairs of different rows."""
        n, k = Z.shape
        if k < 3:  # a plane or a line in space
            forces = np.empty((n, 3), Z.dtype)
            total = self(np.pad(Z, ((0, 0), (0, 3 - k))), forces, blocks)
            G[:] = forces[:, :k]
            return total
        tree = Octree.of(Z)

        def repel(a: int, b: int) -> float:
            i, j = np.searchsorted(tree.starts, (a, b))  # the groups that begin in the block
            starts = tree.starts[i : min(j, len(tree.starts) - 1) + 1]
            if len(starts) < 2:
                return 0.0
            return repel_by_octree(
                tree.points, tree.order, tree.cells, tree.centers, tree.sides, starts, self.theta, self.dof, G
            )

        return blocks.sum(n, repel)


# --- sample -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class SampledRepulsion:
    """Estimates of the repulsive forces of a map and of the normalization of its similarities."""

    start: np.ndarray  # (n + 1,) where the edges of each row begin, int64
    to: np.ndarray  # (edges,) the rows that are summed exactly, uint32
    size: int  # of the sample, which the rows of a block share
    dof: float = 1.0
    seed: int = 0

    @classmethod
    def of(cls, P: scipy.sparse.csr_array, size: int, dof: float, seed: int) -> SampledRepulsion:
        """Sum exactly where P (n, n) has entries. It has none on the diagonal."""
        return cls(P.indptr.astype(np.int64), P.indices.astype(np.uint32), size, dof, seed)

    def __call__(self, Z: np.ndarray, G: np.ndarray, blocks: RowBlocks, iteration: int = -1) -> float:
        """Write an estimate of sum_j u w (z_i - z_j) to G (n, k); return one of the sum of w over all ordered pairs."""
        size = min(self.size, len(Z))
        of_edges, of_draws = (self.start, self.to, Z, self.dof), (self.seed, iteration // _KEPT, size)
        return blocks.sum(len(Z), lambda a, b: repel_by_sample(*of_edges, *of_draws, a, b, G))


# --- all pairs, and the choice ----------------------------------------------------------------------------------------


class Repulsion(Protocol):
    """The repulsive forces of a map and the normalization of its similarities."""

    def __call__(self, Z: np.ndarray, G: np.ndarray, blocks: RowBlocks, iteration: int = -1) -> float:
        """Write sum_j u w (z_i - z_j) to G (n, k); return the sum of w over all ordered pairs of different rows.

        An estimate from a sample depends on the iteration; -1 is for values of the objective.
        """
        ...


@dataclass(frozen=True)
class ExactRepulsion:
    """The sum over all pairs."""

    dof: float = 1.0

    def __call__(self, Z: np.ndarray, G: np.ndarray, blocks: RowBlocks, iteration: int = -1) -> float:
        """Write sum_j u w (z_i - z_j) to G (n, k); return the sum of w over all ordered pairs of different rows."""
        T = np.ascontiguousarray(Z.T)
        return blocks.sum(Z.shape[0], lambda a, b: repel_all(T, self.dof, a, b, G))


def choose_repulsion(
    P: scipy.sparse.csr_array, k: int, dof: float, *, exact: bool = False, theta: float = 0.5, seed: int = 0
) -> tuple[Repulsion, Outcome]:
    """Return the repulsion for a map of k dimensions, with the name of the algorithm and the reason for it.

    ``P`` (n, n) are the affinities, whose edges a sample takes exactly. ``theta`` is the accuracy of a tree: the ratio
    of the side of a cell to its distance, below which the cell is one point.
    """
    n = P.shape[0]
    pair = _pair_seconds(k, dof)
    all_pairs = pair * n * n
    if exact:
        return ExactRepulsion(dof), Outcome("exact", "requested")
    if k <= 3 and theta == 0:
        return ExactRepulsion(dof), Outcome("exact", "a tree without tolerance takes all pairs")
    if k > 3:
        seconds, worth = pair * n * _SAMPLE + _EDGE * P.nnz, _WORTH_SAMPLE
    else:
        tree, (transforms, row) = _tree_seconds(n, k, dof, theta), _GRID.get(k, (math.inf, 0))
        seconds, worth = min(tree, transforms + row * n), _WORTH
    if all_pairs <= worth * seconds:
        why = f"an approximation would not be {worth} times as fast as all pairs of {n:,} rows"
        return ExactRepulsion(dof), Outcome("exact", why)
    why = f"faster than all pairs of {n:,} rows"
    if k > 3:
        return SampledRepulsion.of(P, _SAMPLE, dof, seed), Outcome("sampled", why)
    if seconds < tree:
        return GridRepulsion(dof, theta), Outcome("interpolation by FFT", why)
    return TreeRepulsion(dof, theta), Outcome("Barnes-Hut", why)


def sample_total(Z: np.ndarray, dof: float) -> tuple[float, bool]:
    """Return the sum of w over all ordered pairs of different rows, exactly or from a sample of rows, and which."""
    n, k = Z.shape
    size = min(n, math.ceil(_CHECK / (_pair_seconds(k, dof) * n)))
    T, force = np.ascontiguousarray(Z.T), np.empty_like(Z)
    rows = np.random.default_rng(0).permutation(n)[:size]
    return n / size * math.fsum(repel_all(T, dof, i, i + 1, force) for i in rows), size == n


def _pair_seconds(k: int, dof: float) -> float:
    return _PAIR[0] + _PAIR[1] * k + (0 if dof == 1 else _POWER)


def _tree_seconds(n: int, k: int, dof: float, theta: float) -> float:
    return _pair_seconds(k, dof) * _TREE[k] * n * math.log2(max(n, 2)) * 0.5 / theta

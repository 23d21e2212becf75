"""Repulsion of t-SNE between all pairs of points: exact, on a grid, by a tree or from a sample, by predicted cost.

Grid: the repulsion is the gradient of one potential, phi(z) = sum_j w(|z - z_j|), whose sum is the normalization. Unit
charges are spread to nodes by cubic B-splines, convolved with w by fast Fourier transforms, and read by the same
splines; w is divided by their transform twice, so that the result interpolates it.

Tree, in up to 3 dimensions (Barnes-Hut): far from a point, a cell of an octree acts as one point at its center of mass.

Sample: rows at the ends of edges, whose forces are strongest, are summed exactly, all others estimated without bias.
The sample is kept for some iterations: new noise in each would change the signs of the gradient.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import scipy.fft
import scipy.sparse

from lowland.kernels import grid as kernels
from lowland.kernels.repulsion import LEVELS, build_octree, morton_codes, repel_by_octree, repel_by_sample
from lowland.kernels.tsne import repel_all
from lowland.math.embeddings.descent import RowBlocks, State
from lowland.math.optimize.outcome import Outcome

_SPACING = {1: 0.3, 2: 0.4, 3: 0.5}  # of the nodes, in units of the similarity's width
_CELLS = {1: 64, 2: 64, 3: 32}  # wanted along an axis: a small map has a finer grid, down to a quarter of the spacing
_KEPT = 250  # iterations with the same sample
# Seconds of one processor for one iteration, measured. They only need to have the right ratios.
_PAIR = (0.20e-9, 0.085e-9)  # a pair of points, and for each dimension
_POWER = 4.8e-9  # more for a pair, if dof is not 1
_TREE = {1: 100, 2: 100, 3: 130}  # pairs for a row and a doubling of the number of rows, at theta 0.5
_NODE = 15e-9  # of a grid
_GRID = {1: (0.24e-3, 0.04e-6), 2: (0.5e-3, 0.14e-6)}  # the transforms of a usual map, and a row
_EDGE = 7e-9
_CHECK = 0.15  # for a check of a map
_SAMPLE = 2000  # rows: MNIST (up to 20,000 rows) reaches a divergence within 1 % of that with the exact sum
_WORTH, _WORTH_SAMPLE = 2, 5  # how many times as long all pairs must take for an approximation; for one with noise


# --- grid -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class SplineGrid:
    """Regular nodes around the points of a map."""

    origin: np.ndarray  # (k,) place of node 0
    spacing: float
    nodes: tuple[int, ...]  # along each axis

    @classmethod
    def around(cls, Z: np.ndarray, dof: float) -> SplineGrid:
        """The grid for a map: a fixed spacing, finer for a small map."""
        k = Z.shape[1]
        low, high, origin, nodes = np.empty(k), np.empty(k), np.empty(k), np.empty(k, np.int64)
        kernels.extent(Z, low, high)
        spacing = kernels.choose_grid(low, high, _spacing(k, dof), _CELLS[k], origin, nodes)
        return cls(origin, spacing, tuple(nodes.tolist()))

    @property
    def size(self) -> int:
        """The number of nodes."""
        return math.prod(self.nodes)

    @property
    def steps(self) -> np.ndarray:
        """The distance in memory of two nodes along each axis, (k,)."""
        return np.array([math.prod(self.nodes[c + 1 :]) for c in range(len(self.nodes))], dtype=np.int64)


def _spacing(k: int, dof: float) -> float:
    return _SPACING[k] * math.sqrt(min(dof, 1.0))


def spectrum(nodes: tuple[int, ...], spacing: float, dof: float) -> np.ndarray:
    """Return the transform of w = (1 + d²/dof)^-dof on twice the nodes along each axis, over that of the splines.

    It is even and real: only its first half along each axis is returned, (nodes + 1 along each axis).
    """
    numbers = np.ogrid[tuple(slice(m + 1) for m in nodes)]
    squares = sum(((i * spacing) ** 2 for i in numbers), start=np.zeros(()))
    found = scipy.fft.dctn((1 + squares / dof) ** -dof, type=1)
    for i, m in zip(numbers, nodes, strict=True):
        found /= ((2 + np.cos(np.pi * i / m)) / 3) ** 2
    return found


def convolve(charges: np.ndarray, spacing: float, dof: float) -> np.ndarray:
    """Return the coefficients of the splines whose sum is the potential of the charges: their convolution with w."""
    periods = [2 * m for m in charges.shape]
    halves = [np.minimum(np.arange(period), period - np.arange(period)) for period in periods[:-1]]
    factors = spectrum(charges.shape, spacing, dof)[np.ix_(*halves, np.arange(charges.shape[-1] + 1))]
    found = scipy.fft.irfftn(scipy.fft.rfftn(charges, periods) * factors.astype(charges.dtype), periods)
    return found[tuple(slice(m) for m in charges.shape)]


@dataclass(frozen=True)
class _Plane:
    """What a descent on a plane needs for one grid, and for many iterations."""

    grid: tuple[Any, ...]
    rooms: tuple[np.ndarray, ...]

    @classmethod
    def of(cls, grid: SplineGrid, n: int, dof: float) -> _Plane:
        nodes = np.array(grid.nodes)
        columns = -(-(grid.nodes[1] + 1) // kernels.LANES) * kernels.LANES
        padded = np.zeros((grid.nodes[0] + 1, columns), np.float32)
        padded[:, : grid.nodes[1] + 1] = spectrum(grid.nodes, grid.spacing, dof) / (4 * grid.size)
        waves = np.zeros((2, 2, 2 * max(grid.nodes)), np.float32)
        for axis, m in enumerate(grid.nodes):
            angles = -np.pi / m * np.arange(2 * m)
            waves[axis, 0, : 2 * m], waves[axis, 1, : 2 * m] = np.cos(angles), np.sin(angles)
        return cls((grid.spacing, nodes, padded, waves), kernels.rooms_of(n, nodes, columns))


@dataclass
class GridRepulsion:
    """The repulsive forces of a map and the normalization of its similarities.

    A tree takes over where a grid fails: a map so wide that it needs too many nodes, as that of a table of repeated
    rows, and rows so far apart that the sum of their similarities is lost in the error of their own potential.
    """

    dof: float = 1.0
    theta: float = 0.5  # of the tree
    _planes: dict[Any, _Plane] = field(default_factory=dict)

    def __call__(self, Z: np.ndarray, G: np.ndarray, blocks: RowBlocks, iteration: int = -1) -> float:
        """Write sum_j u w (z_i - z_j) to G (n, k); return the sum of w over all ordered pairs of different rows."""
        n, k = Z.shape
        if k == 2 and Z.dtype == np.float32:
            none = np.empty(0, np.int64), np.empty(0, np.uint32), np.empty(0, np.float32)
            total = self._on_plane(Z, none, np.empty(0), np.empty((0, 4)), (G, G, G, G), blocks)[:, 0].sum()
        else:
            total = self._read(Z, G)
        return total - n if total - n > kernels.CROWD * n else TreeRepulsion(self.dof, self.theta)(Z, G, blocks)

    def iterate(
        self, Z: np.ndarray, edges: tuple[np.ndarray, ...], strengths: np.ndarray, how: np.ndarray, state: State,
        blocks: RowBlocks,
    ) -> np.ndarray:  # fmt: skip
        """Do iterations of a map on a plane, as ``descent.Iterates`` says; none where a tree takes over."""
        return self._on_plane(Z, edges, strengths, how, (*state, np.empty_like(Z)), blocks)

    def potential(self, Z: np.ndarray, grid: SplineGrid) -> np.ndarray:
        """Return the coefficients of the splines whose sum is the potential of the points, one per node."""
        charges = np.zeros(grid.nodes, Z.dtype)
        kernels.spread(Z, grid.origin, 1 / grid.spacing, grid.steps, charges.ravel())
        return convolve(charges, grid.spacing, self.dof)

    def _fits(self, grid: SplineGrid, n: int) -> bool:
        return _NODE * grid.size < _tree_seconds(n, len(grid.nodes), self.dof, self.theta)

    def _read(self, Z: np.ndarray, G: np.ndarray) -> float:
        grid = SplineGrid.around(Z, self.dof)
        if not self._fits(grid, len(Z)):
            return 0.0
        potential = self.potential(Z, grid).ravel()
        return float(kernels.read_potential(Z, grid.origin, 1 / grid.spacing, grid.steps, potential, G))

    def _on_plane(
        self, Z: np.ndarray, edges: tuple[np.ndarray, ...], strengths: np.ndarray, how: np.ndarray,
        state: tuple[np.ndarray, ...], blocks: RowBlocks,
    ) -> np.ndarray:  # fmt: skip
        """Return the sums of the iterations that were done; without any to do, the sum of w, with rows themselves."""
        n, grid = len(Z), SplineGrid.around(Z, self.dof)
        if not self._fits(grid, n):
            return np.empty((0, 2))
        key = n, grid.nodes, grid.spacing
        if key not in self._planes:
            if len(self._planes) > 5:
                self._planes.clear()
            self._planes[key] = _Plane.of(grid, n, self.dof)
        plane, sums = self._planes[key], np.zeros((max(1, len(how)), 2))
        curve = self.dof, _spacing(2, self.dof), _CELLS[2]
        done = blocks.together(
            n,
            lambda *who: kernels.iterate_on_plane(
                *who, Z, *edges, *curve, strengths, how, state, plane.grid, plane.rooms, sums
            ),
        )
        return sums[:done] if len(how) else sums


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
        kernels.extent(Z, low, high)
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


def sample_total(Z: np.ndarray, dof: float, blocks: RowBlocks) -> tuple[float, bool]:
    """Return the sum of w over all ordered pairs of different rows, exactly or from a sample of rows, and which."""
    n, k = Z.shape
    size = min(n, math.ceil(_CHECK / (_pair_seconds(k, dof) * n)))
    T, force, found = np.ascontiguousarray(Z.T), np.empty_like(Z), np.empty(size)
    rows = np.random.default_rng(0).permutation(n)[:size]

    def add_up(a: int, b: int) -> None:
        found[a:b] = [repel_all(T, dof, i, i + 1, force) for i in rows[a:b]]

    blocks.rows(size, add_up)
    return n / size * math.fsum(found), size == n


def _pair_seconds(k: int, dof: float) -> float:
    return _PAIR[0] + _PAIR[1] * k + (0 if dof == 1 else _POWER)


def _tree_seconds(n: int, k: int, dof: float, theta: float) -> float:
    return _pair_seconds(k, dof) * _TREE[k] * n * math.log2(max(n, 2)) * 0.5 / theta

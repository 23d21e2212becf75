"""Repulsion of t-SNE in 3 dimensions by an octree: Barnes-Hut sums, in time proportional to n log n.

1. Sort the points along the Morton curve and divide them into the cells of an octree.
2. Each cell has a center of mass and a side. Far from a point, a cell acts as one heavy point at its center.
3. Neighboring points share one list of such cells, and each sums the forces of the list.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lowland.math.embeddings.row_blocks import Together


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
        from lowland.kernels.octree import LEVELS, build_octree, morton_codes
        from lowland.kernels.spline_grid import extent

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
    """The repulsive forces of a map of 3 dimensions. A cell is one point if side / distance is less than ``theta``."""

    dof: float = 1.0
    theta: float = 0.5

    def __call__(self, Z: np.ndarray, G: np.ndarray, together: Together, iteration: int = -1) -> float:
        """Write sum_j u w (z_i - z_j) to G (n, 3); return the sum of w over all ordered pairs of different rows."""
        from lowland.kernels.octree import repel_by_octree

        tree, n = Octree.of(Z), len(Z)

        def repel(a: int, b: int) -> float:
            i, j = np.searchsorted(tree.starts, (a, b))  # the groups that begin in the block
            starts = tree.starts[i : min(j, len(tree.starts) - 1) + 1]
            if len(starts) < 2:
                return 0.0
            return repel_by_octree(
                tree.points, tree.order, tree.cells, tree.centers, tree.sides, starts, self.theta, self.dof, G
            )

        return together.sum(n, repel) - n

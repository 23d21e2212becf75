"""Grids of units in the plane: positions, neighbors, and smoothing along the grid."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np

Topology = Literal["hexagonal", "rectangular"]
Neighborhood = Literal["gaussian", "bubble"]

_STRIPE = 1 << 21  # neighborhood weights held in memory at a time
_NEIGHBOR_DISTANCE = {"hexagonal": 1.1, "rectangular": 1.5}  # six neighbors, or eight with those at the corners

_HEIGHT = {"hexagonal": math.sqrt(0.75), "rectangular": 1.0}
_CELL_NORMALS = {  # directions from a unit to the midpoints of the sides of its cell, one per pair of opposite sides
    "hexagonal": np.array([[1.0, 0.0], [0.5, math.sqrt(0.75)], [0.5, -math.sqrt(0.75)]]),
    "rectangular": np.array([[1.0, 0.0], [0.0, 1.0]]),
}


@dataclass(frozen=True)
class Grid:
    """Units in rows and columns, numbered row by row. In a hexagonal grid every other row is shifted by half a unit."""

    rows: int
    columns: int
    topology: Topology = "hexagonal"

    @property
    def units(self) -> int:
        """Number of units."""
        return self.rows * self.columns

    @cached_property
    def positions(self) -> np.ndarray:
        """Positions of the units, (u, 2): along the columns first, then along the rows; neighbors are 1 apart."""
        row, column = np.divmod(np.arange(self.units), self.columns)
        if self.topology == "rectangular":
            return np.column_stack([column, row]).astype(np.float64)
        return np.column_stack([column + row % 2 / 2, row * self.height])

    @property
    def height(self) -> float:
        """Distance between two rows of the grid."""
        return _HEIGHT[self.topology]

    @property
    def cell_normals(self) -> np.ndarray:
        """Unit normals of the sides of a cell, (s, 2): inside the cell all products with them are at most 1/2."""
        return _CELL_NORMALS[self.topology]

    @property
    def neighbor_distance(self) -> float:
        """Largest distance between two neighboring units."""
        return _NEIGHBOR_DISTANCE[self.topology]

    @cached_property
    def neighbors(self) -> np.ndarray:
        """Neighbors of each unit, (u, 6 or 8); at the border missing neighbors are replaced by the unit itself."""
        own = np.arange(self.units)
        row, column = np.divmod(own, self.columns)
        hexagonal, found = self.topology == "hexagonal", []
        steps = [(down, across) for down in (-1, 0, 1) for across in (-1, 0, 1) if (down, across) != (0, 0)]
        if hexagonal:  # those of an even row; the rows between are shifted by half a unit
            steps = [(0, 1), (0, -1), (1, 0), (1, -1), (-1, 0), (-1, -1)]
        for down, across in steps:
            r, c = row + down, column + across + (row % 2 if hexagonal and down else 0)
            inside = (r >= 0) & (r < self.rows) & (c >= 0) & (c < self.columns)
            found.append(np.where(inside, r * self.columns + c, own))
        return np.stack(found, axis=1)

    @cached_property
    def slopes(self) -> np.ndarray:
        """Q (u, s, 2): if f is linear over the grid, f(z) = f_b + sum_j (Q_j · (z - z_b)) (f_j - f_b) near unit b.

        Least squares over the neighbors j of b, Q_j = (sum ee')⁺ e_j with e_j = z_j - z_b.
        """
        E = self.positions[self.neighbors] - self.positions[:, None, :]  # (u, s, 2)
        return E @ np.linalg.pinv(np.einsum("usi,usj->uij", E, E), hermitian=True)

    def smoothed(self, A: np.ndarray, radius: float, kind: Neighborhood) -> np.ndarray:
        """Return HA, (u, p): the sum over all units with neighborhood weights, some rows of H at a time."""
        out = np.empty_like(A)
        x, y = self.positions.T
        step = max(1, _STRIPE // self.units)
        for start in range(0, self.units, step):
            some = slice(start, start + step)
            far = (x[some, None] - x[None, :]) ** 2 + (y[some, None] - y[None, :]) ** 2
            out[some] = nearness(far, radius, kind) @ A
        return out

    def gaps(self, prototypes: np.ndarray) -> np.ndarray:
        """Return the distances between the prototypes of neighboring units, (u, s); NaN for a missing neighbor."""
        gaps = np.linalg.norm(prototypes[self.neighbors] - prototypes[:, None, :], axis=2)
        return np.where(self.neighbors == np.arange(self.units)[:, None], np.nan, gaps)

    def u_matrix(self, prototypes: np.ndarray) -> np.ndarray:
        """Return the mean distance of each prototype to those of the neighboring units, (rows, columns)."""
        gaps = self.gaps(prototypes)
        count = np.maximum(1, np.sum(~np.isnan(gaps), axis=1))
        return (np.nansum(gaps, axis=1) / count).reshape(self.rows, self.columns)


def nearness(squares: Any, radius: float, kind: Neighborhood) -> Any:
    """Return the neighborhood weights for squared distances on the grid."""
    if kind == "bubble":
        return (squares <= radius**2 * (1 + 1e-9)).astype(np.float64)
    return np.exp(squares / (-2 * radius**2))


def usual_grid(n: int, variances: np.ndarray, topology: Topology) -> tuple[int, int]:
    """Return rows and columns by Vesanto's rule: 5√n units, sides in the ratio of the principal standard deviations.

    Small tables get at most one unit for every two rows: otherwise most units would be dead.
    """
    units = min(5 * math.sqrt(n), max(2.0, n / 2))
    height = _HEIGHT[topology]
    first, second = variances[0], variances[1] if len(variances) > 1 else 0.0
    ratio = math.sqrt(first / second) if second > 0 else math.inf if first > 0 else 1.0
    rows = max(1, round(math.sqrt(units / (height * ratio))))
    return rows, max(1, round(units / rows))

"""Grids of units in the plane: where the units lie, which are neighbours, and maps that are smooth along the grid."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np

from lowland.errors import ParameterError

Topology = Literal["hexagonal", "rectangular"]
Neighborhood = Literal["gaussian", "bubble"]

_STRIPE = 1 << 21  # weights of the neighbourhood that are held at a time
_REACH = {"hexagonal": 1.1, "rectangular": 1.5}  # six neighbours, or eight: those that touch at a side or a corner

_HEIGHT = {"hexagonal": math.sqrt(0.75), "rectangular": 1.0}
_ACROSS = {  # directions from a unit to the middles of its cell's sides; those opposite are the same
    "hexagonal": np.array([[1.0, 0.0], [0.5, math.sqrt(0.75)], [0.5, -math.sqrt(0.75)]]),
    "rectangular": np.array([[1.0, 0.0], [0.0, 1.0]]),
}


@dataclass(frozen=True)
class Grid:
    """Units in rows and columns, numbered row by row. In a hexagonal grid every other row is moved by half a unit."""

    rows: int
    columns: int
    topology: Topology = "hexagonal"

    @property
    def units(self) -> int:
        """How many units there are."""
        return self.rows * self.columns

    @cached_property
    def places(self) -> np.ndarray:
        """Where the units lie, (u, 2): across the columns first, then across the rows; neighbours are 1 apart."""
        row, column = np.divmod(np.arange(self.units), self.columns)
        if self.topology == "rectangular":
            return np.column_stack([column, row]).astype(np.float64)
        return np.column_stack([column + row % 2 / 2, row * self.height])

    @property
    def height(self) -> float:
        """How far two rows of the grid are apart."""
        return _HEIGHT[self.topology]

    @property
    def across(self) -> np.ndarray:
        """Unit vectors across the sides of a cell, (s, 2): the cell is where none has a product beyond a half."""
        return _ACROSS[self.topology]

    @property
    def reach(self) -> float:
        """How far apart two units may lie and still be neighbours."""
        return _REACH[self.topology]

    @cached_property
    def neighbors(self) -> np.ndarray:
        """The neighbours of each unit, (u, 6 or 8); a unit stands for itself where it has fewer."""
        row, column = np.divmod(np.arange(self.units), self.columns)
        own = np.arange(self.units)
        found = []
        for down, across in _steps(self.topology):
            # a step to the next row of a hexagonal grid also goes half a unit to the side, which depends on the row
            sideways = across + (row % 2 if self.topology == "hexagonal" and down else 0)
            r, c = row + down, column + sideways
            inside = (r >= 0) & (r < self.rows) & (c >= 0) & (c < self.columns)
            found.append(np.where(inside, r * self.columns + c, own))
        return np.stack(found, axis=1)

    @cached_property
    def slopes(self) -> np.ndarray:
        """Q (u, s, 2): if f is linear over the grid, f(z) = f_b + sum_j (Q_j · (z - z_b)) (f_j - f_b) near unit b.

        Least squares over the neighbours j of b, Q_j = (sum ee')⁺ e_j with e_j = z_j - z_b.
        """
        E = self.places[self.neighbors] - self.places[:, None, :]  # (u, s, 2)
        return E @ np.linalg.pinv(np.einsum("usi,usj->uij", E, E), hermitian=True)

    def smoothed(self, A: np.ndarray, radius: float, kind: Neighborhood) -> np.ndarray:
        """Return HA, (u, p): the sum over all units, each weighted by its nearness, a stripe of H at a time."""
        out = np.empty_like(A)
        x, y = self.places.T
        step = max(1, _STRIPE // self.units)
        for start in range(0, self.units, step):
            some = slice(start, start + step)
            far = (x[some, None] - x[None, :]) ** 2 + (y[some, None] - y[None, :]) ** 2
            out[some] = nearness(far, radius, kind) @ A
        return out

    def gaps(self, units: np.ndarray) -> np.ndarray:
        """Return the distance of each unit's prototype to that of each neighbour, (u, s); NaN where there is none."""
        gaps = np.linalg.norm(units[self.neighbors] - units[:, None, :], axis=2)
        return np.where(self.neighbors == np.arange(self.units)[:, None], np.nan, gaps)

    def u_matrix(self, units: np.ndarray) -> np.ndarray:
        """Return the mean distance of each unit's prototype to those of its neighbours, (rows, columns)."""
        gaps = self.gaps(units)
        count = np.maximum(1, np.sum(~np.isnan(gaps), axis=1))
        return (np.nansum(gaps, axis=1) / count).reshape(self.rows, self.columns)


def nearness(squares: Any, radius: float, kind: Neighborhood) -> Any:
    """Return how much of a row another unit takes, by its squared distance on the grid from the one that won it."""
    if kind == "bubble":
        return (squares <= radius**2 * (1 + 1e-9)).astype(np.float64)
    return np.exp(squares / (-2 * radius**2))


def _steps(topology: Topology) -> list[tuple[int, int]]:
    """Rows down and columns across to each neighbour; in hexagonal grids as from an even row."""
    if topology == "hexagonal":
        return [(0, 1), (0, -1), (1, 0), (1, -1), (-1, 0), (-1, -1)]
    return [(down, across) for down in (-1, 0, 1) for across in (-1, 0, 1) if (down, across) != (0, 0)]


def asked_grid(grid: Any, owner: str) -> tuple[int, int] | None:
    """Return rows and columns as they were asked for: two whole numbers, or a text such as '20x20'."""
    if grid is None:
        return None
    parts: Any = grid.tolist() if isinstance(grid, np.ndarray) else grid
    if isinstance(grid, str):
        parts = re.split(r"\s*[x×,]\s*", grid.strip().lower())
    try:
        sides = [float(part) for part in parts]
    except (TypeError, ValueError):
        sides = []
    if len(sides) != 2 or any(not math.isfinite(side) or side != int(side) or side < 1 for side in sides):
        raise ParameterError(
            f"{owner}(grid={grid!r}): give rows and columns, two whole numbers of at least 1, such as (20, 30) or "
            "'20x30'."
        )
    return int(sides[0]), int(sides[1])


def usual_grid(n: int, variances: np.ndarray, topology: Topology) -> tuple[int, int]:
    """Return rows and columns by Vesanto's rule: 5√n units, the sides as the first two principal deviations.

    Few rows get one unit for two of them: with more, most units would win none.
    """
    units = min(5 * math.sqrt(n), max(2.0, n / 2))
    height = _HEIGHT[topology]
    first, second = variances[0], variances[1] if len(variances) > 1 else 0.0
    ratio = math.sqrt(first / second) if second > 0 else math.inf if first > 0 else 1.0
    rows = max(1, round(math.sqrt(units / (height * ratio))))
    return rows, max(1, round(units / rows))

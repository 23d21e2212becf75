"""Self-organizing maps as coordinates: transform rows to grid positions, and inverse transform."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from lowland.arrays.namespace import Array, like, xp_of
from lowland.math.prototypes.codebook import Codebook, Nearest, joined, nan_where_not_finite
from lowland.math.prototypes.grids import Grid

_INSIDE = 0.499  # largest distance from the center of a cell: a margin at the border for float32 rounding error


@dataclass(frozen=True)
class GridPosition:
    """Position of the best-matching unit, (m, 2); smooth: position of the row inside the cell of the unit."""

    book: Codebook
    grid: Grid
    smooth: bool = False

    def __call__(self, X: Array) -> Array:
        """Map one slab."""
        return joined([nan_where_not_finite(like(self._position(near), X), near.Y) for near in self.book.search(X)])

    def _position(self, near: Nearest) -> Array:
        xp = xp_of(near.Y)
        Z = xp.take(like(self.grid.positions, near.Y), near.first, axis=0)
        if not self.smooth:
            return Z
        off = near.Y - xp.take(like(self.book.W, near.Y), near.first, axis=0)  # (m, d)
        projections = xp.take(like(self._projections, near.Y), near.first, axis=0)  # (m, 2, d)
        step = xp.sum(projections * off[:, None, :], axis=2)  # (m, 2)
        far = xp.max(
            xp.abs(step @ like(self.grid.cell_normals, step).T), axis=1
        )  # beyond the cell, steps are shortened
        return Z + step * (_INSIDE / xp.where(far > _INSIDE, far, xp.full_like(far, _INSIDE)))[:, None]

    @cached_property
    def _projections(self) -> np.ndarray:
        """(JJ')⁺J of each unit, (u, 2, d): least-squares coordinates of a row on the tangent plane."""
        J = tangents(self.grid, self.book.W)
        return np.linalg.pinv(J @ J.swapaxes(1, 2), rcond=1e-10, hermitian=True) @ J


@dataclass(frozen=True)
class PrototypeAt:
    """Prototype of the unit nearest to a position, (m, d); smooth: moved along its tangent plane to the position."""

    prototypes: np.ndarray  # (u, d)
    grid: Grid
    smooth: bool = False

    def __call__(self, Z: Array) -> Array:
        """Map one slab."""
        book = Codebook.of(self.grid.positions)
        return joined([nan_where_not_finite(like(self._row(near, book), Z), near.Y) for near in book.search(Z)])

    def _row(self, near: Nearest, book: Codebook) -> Array:
        xp = xp_of(near.Y)
        X = xp.take(like(self.prototypes, near.Y), near.first, axis=0)
        if not self.smooth:
            return X
        off = book.scaling.unit * (near.Y - xp.take(like(book.W, near.Y), near.first, axis=0))  # (m, 2)
        J = xp.take(like(tangents(self.grid, self.prototypes), near.Y), near.first, axis=0)  # (m, 2, d)
        return X + xp.sum(off[:, :, None] * J, axis=1)


def tangents(grid: Grid, prototypes: np.ndarray) -> np.ndarray:
    """Return J (u, 2, d): derivatives of the prototypes along the grid, by least squares over the neighbors."""
    return grid.slopes.swapaxes(1, 2) @ (prototypes[grid.neighbors] - prototypes[:, None, :])

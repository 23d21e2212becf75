"""Self-organizing maps as coordinates: rows to positions on the grid, and positions back to rows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from lowland.arrays.namespace import Array, like, xp_of
from lowland.blocks.codebooks.codebook import Codebook, Nearest, joined, nan_where_not_finite
from lowland.blocks.codebooks.grids import Grid

_INSIDE = 0.499  # of a unit from its cell's middle: off the border by more than float32 rounds a position


@dataclass(frozen=True)
class GridPosition:
    """Where the nearest unit lies, (m, 2); smooth: where within its cell the row lies, never on the border."""

    book: Codebook
    grid: Grid
    smooth: bool = False

    def __call__(self, X: Array) -> Array:
        """Of one slab."""
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
        )  # beyond the cell it ends on the way there
        return Z + step * (_INSIDE / xp.where(far > _INSIDE, far, xp.full_like(far, _INSIDE)))[:, None]

    @cached_property
    def _projections(self) -> np.ndarray:
        """(JJ')⁺J of each unit, (u, 2, d): a row's least-squares coordinates on the tangent plane."""
        J = tangents(self.grid, self.book.W)
        return np.linalg.pinv(J @ J.swapaxes(1, 2), rcond=1e-10, hermitian=True) @ J


@dataclass(frozen=True)
class PrototypeAt:
    """The prototype of the unit nearest to a position, (m, d); smooth: along its tangent plane to the position."""

    prototypes: np.ndarray  # (u, d)
    grid: Grid
    smooth: bool = False

    def __call__(self, Z: Array) -> Array:
        """Of one slab."""
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
    """Return J (u, 2, d): how the prototypes change along the grid, by least squares over the neighbors."""
    return grid.slopes.swapaxes(1, 2) @ (prototypes[grid.neighbors] - prototypes[:, None, :])

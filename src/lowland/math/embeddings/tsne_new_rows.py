"""New rows in a map by t-SNE: the training rows stay, and each new row finds its own place among them.

A row minimizes the KL divergence with only its own coordinates free: it is attracted to its nearest training rows and
repelled by the field of all training rows, which is tabulated once. So its place depends on the row and the model
alone.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from lowland.arrays.namespace import Array, is_sparse, like, to_numpy
from lowland.errors import DataError
from lowland.math.embeddings.grid_repulsion import GridRepulsion, SplineGrid
from lowland.math.embeddings.repulsion import ExactRepulsion
from lowland.math.embeddings.row_blocks import Together

NEW_NEIGHBORS = 30  # nearest training rows that attract a new row
NEW_PERPLEXITY = 10.0  # of a new row: it is placed by its nearest training rows
_EXAGGERATION = 1.5  # of its attraction
_RATE, _ROUNDS = 0.5, 100
_MARGIN = 0.05  # of the tabulated field around the map, in units of its extent
_SERIAL = Together(None, 1)
_tabulating = threading.Lock()  # several threads may need the same field at once


@dataclass(frozen=True)
class NearestByDistances:
    """The k nearest training rows of new rows whose distances to all training rows are given."""

    k: int
    kept: np.ndarray  # (n,) bool: training rows that have coordinates

    def __call__(self, X: Array) -> tuple[np.ndarray, np.ndarray]:
        """Return indices and distances, both (m, k), nearest first; ties go to the lower index."""
        if is_sparse(X):
            raise DataError(
                "transform needs the distances of the new rows to all training rows, and a sparse matrix lacks some. "
                "Pass them as a dense array."
            )
        D = to_numpy(X)[:, self.kept]
        to = np.argsort(D, axis=1, kind="stable")[:, : self.k]
        return to, np.take_along_axis(D, to, axis=1)


@dataclass(frozen=True)
class TSNEPlacing:
    """Maps a slab of new rows to coordinates."""

    nearest: Callable[[Any], tuple[np.ndarray, np.ndarray]]
    Y: Array  # (n, k) training map
    dof: float = 1.0
    perplexity: float = NEW_PERPLEXITY
    exaggeration: float = _EXAGGERATION

    def __call__(self, X: Array) -> Array:
        """Return coordinates, (m, k). A row equal to a training row has the coordinates of that row."""
        to, length = self.nearest(X)
        out = np.full((len(to), self._map.shape[1]), np.nan)
        known = np.isfinite(length).all(axis=1)
        out[known] = self._placed(to[known], np.ascontiguousarray(length[known], dtype=np.float64))
        return like(out, X.data if is_sparse(X) else X)

    def _placed(self, to: np.ndarray, length: np.ndarray) -> np.ndarray:
        """The coordinates of rows with these nearest training rows, (m, k)."""
        from lowland.kernels.perplexity import calibrate
        from lowland.kernels.tsne_forces import start_at_best_neighbor

        m, k = to.shape
        Z, P = np.empty((m, self._map.shape[1])), np.zeros(m * k)
        if m == 0:
            return Z
        to = to.astype(np.int64)
        calibrate(np.arange(m + 1) * k, length.ravel(), math.log(self.perplexity), 1e-7, 0, m, P)
        start_at_best_neighbor(self._map, to, P.reshape(m, k), self.dof, Z)
        self._descend(to, self.exaggeration * P.reshape(m, k), Z)
        equal = length[:, 0] == 0
        Z[equal] = self._map[to[equal, 0]]
        return Z

    def _descend(self, to: np.ndarray, P: np.ndarray, Z: np.ndarray) -> None:
        """Move the rows of Z to their places."""
        if self._map.shape[1] > 3:
            from lowland.kernels.tsne_forces import place_among_all

            place_among_all(self._map, to, P, self.dof, 1 / self._mean_similarity, _RATE, _ROUNDS, Z)
            return
        from lowland.kernels.spline_grid import place_in_field

        with _tabulating:
            grid, potential = self._field
        cells = np.array([m - 4 for m in grid.nodes], dtype=np.float64)
        place_in_field(
            self._map, to, P, 1 / self.dof, grid.origin, 1 / grid.spacing, grid.steps, potential, cells,
            1 / self._mean_similarity, _RATE, _ROUNDS, Z,
        )  # fmt: skip

    @cached_property
    def _map(self) -> np.ndarray:
        return np.ascontiguousarray(to_numpy(self.Y), dtype=np.float64)

    @cached_property
    def _mean_similarity(self) -> float:
        """The sum of w over the other training rows, on average over the training rows."""
        Y = self._map
        repulsion = ExactRepulsion(self.dof) if Y.shape[1] > 3 else GridRepulsion(self.dof)
        return repulsion(Y, np.empty_like(Y), _SERIAL) / len(Y)

    @cached_property
    def _field(self) -> tuple[SplineGrid, np.ndarray]:
        """The potential of the training rows, on a grid somewhat wider than the map."""
        low, high = self._map.min(axis=0), self._map.max(axis=0)
        wider = _MARGIN * float(np.max(high - low)) + 1.0
        grid = SplineGrid.around(np.concatenate([self._map, [low - wider, high + wider]]), self.dof)
        return grid, GridRepulsion(self.dof).potential(self._map, grid, _SERIAL).ravel()

    def __getstate__(self) -> dict[str, Any]:
        """What a worker needs; the field is tabulated there."""
        return {name: self.__dict__[name] for name in ("nearest", "Y", "dof", "perplexity", "exaggeration")}

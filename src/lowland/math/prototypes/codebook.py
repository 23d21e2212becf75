"""Code books: the prototypes nearest to each row, and sums of the rows by prototype.

Squared distances are computed as float32 products, |w|² - 2 y'w. Where the two nearest prototypes differ by less than
the rounding error, the distances are computed again in float64. Ties in float64 go to the lowest index. Rounding error
therefore never decides: all array libraries, chunk sizes and precisions find the same prototype.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Self

import numpy as np

from lowland.arrays.namespace import Array, device_of, like, on_accelerator, to_numpy, xp_of
from lowland.data.rows import ArrayRows, Rows, sliced
from lowland.errors import DataError
from lowland.kernels import prototypes as kernels
from lowland.math.distances.metrics import squared_euclidean
from lowland.math.prototypes.grids import Grid
from lowland.math.statistics.moments import Sums, without_zero_weights
from lowland.math.statistics.rescaling import UniformScaling, power_of_two

_TILE = 1 << 17  # distances computed at a time: they stay in the cache of a core
_ACCELERATOR_TILE = 1 << 26
_LEAST_TILE = 64  # rows; matrix products of fewer rows are slow
_SLAB_ROWS = 1 << 14  # rows per slab of an array in memory: the cost per row is high, so small slabs suffice
_TIE = 1e-9  # relative difference below which squared distances count as equal
_COINCIDENT = 1e-30  # squared distance, scaled, of two points that coincide


def centering_scaling(points: np.ndarray) -> UniformScaling:
    """Return the scaling that centers points at their mean and brings the largest coordinate to about one."""
    shift = points.mean(axis=0)
    return UniformScaling(shift, float(power_of_two(np.abs(points - shift).max())))


def in_small_slabs(rows: Rows) -> Rows:
    """Split an array in memory into slabs small enough for all threads. Their size does not depend on the machine."""
    return sliced(rows, _SLAB_ROWS) if isinstance(rows, ArrayRows) and isinstance(rows.X, np.ndarray) else rows


# --- the nearest prototypes -------------------------------------------------------------------------------------------


class Nearest(NamedTuple):
    """The nearest and the second nearest prototype of each row."""

    first: Array  # (m,) int64
    second: Array  # (m,)
    Y: Array  # (m, d) float64, the rows, scaled


@dataclass(frozen=True)
class Codebook:
    """Prototypes prepared for the nearest-prototype search."""

    scaling: UniformScaling
    W: np.ndarray  # (u, d) float64, scaled

    @classmethod
    def of(cls, prototypes: Array) -> Self:
        """Build from prototypes in the space of the rows."""
        host = np.asarray(to_numpy(prototypes), dtype=np.float64)
        scaling = centering_scaling(host)
        return cls(scaling, scaling.apply(host))

    @property
    def prototypes(self) -> np.ndarray:
        """The prototypes in the space of the rows, (u, d) float64."""
        return self.scaling.invert(self.W)

    @cached_property
    def squares(self) -> np.ndarray:
        """|w|² of each prototype, (u,)."""
        return np.einsum("ij,ij->i", self.W, self.W)

    @cached_property
    def single(self) -> np.ndarray:
        """-2W' above |w|² in float32, (d + 1, u): the product of [y, 1] with it is |y - w|² - |y|²."""
        return np.vstack([-2 * self.W.T, self.squares[None, :]]).astype(np.float32)

    @property
    def rounding(self) -> float:
        """Relative error of a squared distance by float32 products."""
        return (4 * math.sqrt(self.W.shape[1]) + 8) * float(np.finfo(np.float32).eps)

    def tile_rows(self, *, accelerator: bool = False) -> int:
        """Return the number of rows that are searched at a time."""
        return max(_LEAST_TILE, (_ACCELERATOR_TILE if accelerator else _TILE) // len(self.W))

    def search(self, X: Array) -> Iterator[Nearest]:
        """Yield the nearest prototypes of the rows, tile by tile."""
        step = self.tile_rows(accelerator=on_accelerator(X))
        for start in range(0, max(1, X.shape[0]), step):
            yield self.nearest(self.scaling.apply(X[start : min(start + step, X.shape[0]), :]))

    def map_nearest(self, X: Array, of: Callable[[Nearest], Array]) -> Array:
        """Return a function of the nearest prototypes for all rows; NaN for a row that is not finite."""
        xp, parts = xp_of(X), []
        for near in self.search(X):
            Z, finite = like(of(near), X), xp.isfinite(xp.sum(near.Y, axis=1))
            parts.append(Z if bool(xp.all(finite)) else xp.where(finite[:, None], Z, xp.full_like(Z, xp.nan)))
        return parts[0] if len(parts) == 1 else xp.concat(parts, axis=0)

    def nearest(self, Y: Array) -> Nearest:
        """Return the nearest prototypes of a tile of scaled rows."""
        xp = xp_of(Y)
        ones = xp.ones((Y.shape[0], 1), dtype=xp.float32, device=device_of(Y))
        single = xp.concat([xp.astype(Y, xp.float32), ones], axis=1)
        first, second, _, _, sure = self.nearest_by_products(single, xp.linalg.vecdot(Y, Y))
        if bool(xp.all(sure)):
            return Nearest(first, second, Y)
        unsure = xp.nonzero(~sure)[0]
        again = self.nearest_in_double(xp.take(Y, unsure, axis=0))
        places = xp.searchsorted(unsure, xp.arange(Y.shape[0], device=device_of(Y)))  # of the unsure rows among them
        positions = xp.where(sure, 0, places)
        first, second = (
            xp.where(sure, a, xp.take(b, positions)) for a, b in zip((first, second), again[:2], strict=True)
        )
        return Nearest(first, second, Y)

    def nearest_by_products(self, single: Array, lengths: Array) -> tuple[Array, Array, Array, Array, Array]:
        """Return the two nearest prototypes of rows y by float32 products, with bounds, all (m,).

        ``single`` is [Y, 1] in float32, and ``lengths`` is |y|². The bounds are an upper one of the squared distance to
        the first prototype, and a lower one of those to all others. The last result tells whether the first is sure.
        """
        xp = xp_of(single)
        first, second, least, next_least = _two_smallest(like(self.single, single, xp.float32).T @ single.T)
        least, next_least = (xp.astype(a, lengths.dtype) for a in (least, next_least))
        margins = (lengths + float(self.squares.max())) * self.rounding
        return first, second, least + lengths + margins, next_least + lengths - margins, next_least - least > margins

    def nearest_in_double(self, Y: Array) -> tuple[Array, Array, Array, Array]:
        """Return the two nearest prototypes by float64 distances, and the squares of these distances."""
        xp = xp_of(Y)
        S = squared_euclidean(Y, like(self.W, Y))
        numbers = xp.arange(len(self.W), device=device_of(Y))[None, :]
        found, squares = [], []
        for _ in range(2):
            least = xp.min(S, axis=1)
            equal = (least * (1 + _TIE) + _COINCIDENT)[:, None] >= S
            found.append(xp.argmax(xp.astype(equal, xp.int8), axis=1))
            squares.append(least)
            S = xp.where(numbers == found[-1][:, None], xp.full_like(S, xp.inf), S)
        return *found, *squares


def _two_smallest(D: Array) -> tuple[Array, Array, Array, Array]:
    """Return the positions of the two smallest entries in each column of D, and these entries."""
    if isinstance(D, np.ndarray):
        places, least = np.zeros((2, D.shape[1]), dtype=np.int32), np.empty((2, D.shape[1]), dtype=D.dtype)
        least[0], least[1] = D[0], np.inf
        kernels.two_smallest(D, places[0], places[1], least[0], least[1])
        first, second = places.astype(np.int64)
        return first, second, least[0], least[1]
    xp = xp_of(D)
    first, least = xp.argmin(D, axis=0), xp.min(D, axis=0)
    numbers = xp.arange(D.shape[0], device=device_of(D))[:, None]
    D = xp.where(numbers == first[None, :], xp.full_like(D, xp.inf), D)
    return first, xp.argmin(D, axis=0), least, xp.min(D, axis=0)


# --- sums by prototype ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class PrototypeSums(Sums):
    """Weighted sum and count of the rows nearest to each prototype, and the errors of the prototypes."""

    sums: np.ndarray  # (u, d) float64, scaled
    counts: np.ndarray  # (u,)
    squares: float  # sum of squared distances of the rows to their prototypes, scaled
    distances: float = 0.0  # sum of these distances, scaled
    torn: float = 0.0  # number of rows whose two nearest units are not neighbors on the grid

    def is_finite(self) -> bool:
        """Whether the sums contain no NaN, infinity or overflow."""
        return math.isfinite(self.squares)

    @property
    def rows(self) -> float:
        """Number of rows, or the sum of their weights."""
        return float(self.counts.sum())


@dataclass(frozen=True)
class SumByPrototype:
    """Statistic of a pass: the ``PrototypeSums`` of a slab. Only a map on a grid can be torn."""

    book: Codebook
    grid: Grid | None = None

    def __call__(self, X: Array, weights: np.ndarray | None = None) -> PrototypeSums:
        """Compute for one slab."""
        X, weights = without_zero_weights(X, weights)
        sums, counts, errors, start = np.zeros(self.book.W.shape), np.zeros(len(self.book.W)), np.zeros(3), 0
        for near in self.book.search(X):
            stop = start + near.Y.shape[0]
            errors += self._add_tile(near, None if weights is None else weights[start:stop], sums, counts)
            start = stop
        return PrototypeSums(sums, counts, *errors.tolist())

    def _add_tile(
        self, near: Nearest, weights: np.ndarray | None, sums: np.ndarray, counts: np.ndarray
    ) -> tuple[float, float, float]:
        """Add the rows of a tile to the sums; return their squared distances, their distances, and the torn rows."""
        xp, Y, torn = xp_of(near.Y), near.Y, 0.0
        if isinstance(Y, np.ndarray):
            w = np.ones(len(Y)) if weights is None else weights
            squares, distances = kernels.add_by_label(Y, near.first, w, self.book.W, sums, counts)
        else:  # a dense product, whose order of summation is fixed on every device
            numbers = xp.arange(len(sums), device=device_of(Y))[None, :]
            M = xp.astype(near.first[:, None] == numbers, Y.dtype)  # (m, u)
            w = xp.ones(Y.shape[0], dtype=Y.dtype, device=device_of(Y)) if weights is None else like(weights, Y)
            M = M * w[:, None]
            sums += to_numpy(M.T @ Y)
            counts += to_numpy(xp.sum(M, axis=0))
            off = Y - xp.take(like(self.book.W, Y), near.first, axis=0)
            error = xp.linalg.vecdot(off, off)
            squares, distances = float(xp.sum(w * error)), float(xp.sum(w * xp.sqrt(error)))
        if self.grid is not None:
            places = like(self.grid.positions, Y)
            apart = xp.take(places, near.first, axis=0) - xp.take(places, near.second, axis=0)
            beyond = xp.linalg.vecdot(apart, apart) > self.grid.neighbor_distance**2
            torn = float(xp.sum(xp.astype(beyond, xp.int64)))
        return squares, distances, torn


# --- rows to code book indices and back -------------------------------------------------------------------------------


@dataclass(frozen=True)
class NearestIndex:
    """The index of the nearest prototype of each row, (m, 1); NaN for a row that is not finite."""

    book: Codebook

    def __call__(self, X: Array) -> Array:
        """Map one slab."""
        return self.book.map_nearest(X, lambda near: near.first[:, None])


@dataclass(frozen=True)
class CodeLookup:
    """Map a code book index, or distances to all code vectors, to the nearest code vector, (m, d)."""

    codes: Array  # (k, d)
    by_index: bool

    def __call__(self, Z: Array) -> Array:
        """Map one slab; a row that is not finite gives NaN."""
        xp, k = xp_of(Z), self.codes.shape[0]
        finite = xp.all(xp.isfinite(Z), axis=1)
        Z = xp.where(finite[:, None], Z, xp.zeros_like(Z))
        if self.by_index:
            numbers = xp.astype(Z[:, 0], xp.int64)
            valid = (numbers >= 0) & (numbers < k) & (xp.astype(numbers, Z.dtype) == Z[:, 0])
            if not bool(xp.all(valid)):
                wrong = float(to_numpy(Z[:, 0])[~to_numpy(valid)][0])
                raise DataError(
                    f"{wrong:g} is not a code book index: valid indices are 0 to {k - 1}. Use what `transform` "
                    "returned."
                )
        else:
            numbers = xp.argmin(Z, axis=1)
        X = xp.take(like(self.codes, Z), numbers, axis=0)
        return X if bool(xp.all(finite)) else xp.where(finite[:, None], X, xp.full_like(X, xp.nan))

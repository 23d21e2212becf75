"""Code books: search for the nearest prototypes of rows.

Squared distances are computed as float32 products, |w|² - 2 y'w. Where the two nearest prototypes differ by less than
the rounding error, the distances are computed again in float64. Ties in float64 go to the lowest index. Rounding error
therefore never decides: all array libraries, chunk sizes and precisions find the same prototype.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple, Self

import numpy as np

from lowland.arrays.namespace import Array, device_of, like, on_accelerator, to_numpy, xp_of
from lowland.data.rows import ArrayRows, Rows
from lowland.errors import DataError
from lowland.math.distances.to_points import squared_euclidean
from lowland.math.statistics.rescaling import power_of_two
from lowland.math.statistics.uniform_scaling import UniformScaling

_TILE = 1 << 17  # distances computed at a time: they stay in the cache of a core
_NEAREST_TILE = 1 << 15  # the same for the compiled loop that finds the nearest only
_ACCELERATOR_TILE = 1 << 26
_LEAST_TILE = 64  # rows; matrix products of fewer rows are slow
_SLAB_ROWS = 1 << 14  # rows per slab of an array in memory: the cost per row is high, so small slabs suffice
_TIE = 1e-9  # relative difference below which squared distances count as equal
_COINCIDENT = 1e-30  # squared distance, scaled, of two points that coincide


def centering_scaling(points: np.ndarray) -> UniformScaling:
    """Return the scaling that centers points at their mean and brings the largest coordinate to about one."""
    shift = points.mean(axis=0)
    return UniformScaling(shift, float(power_of_two(np.abs(points - shift).max())))


def in_low_slabs(rows: Rows) -> Rows:
    """Split an array in memory into slabs small enough for all threads. Their size does not depend on the machine."""
    if isinstance(rows, ArrayRows) and isinstance(rows.X, np.ndarray) and rows.slab > _SLAB_ROWS:
        return replace(rows, most_rows=_SLAB_ROWS)
    return rows


# --- the two nearest --------------------------------------------------------------------------------------------------


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

    def search(self, X: Array) -> Iterator[Nearest]:
        """Yield the nearest prototypes of the rows, tile by tile."""
        most = _ACCELERATOR_TILE if on_accelerator(X) else _TILE
        step = max(_LEAST_TILE, most // len(self.W))
        for start in range(0, max(1, X.shape[0]), step):
            Y = self.scaling.apply(X[start : min(start + step, X.shape[0]), :])
            yield Nearest(*self._two_nearest(Y), Y)

    def _two_nearest(self, Y: Array) -> tuple[Array, Array]:
        xp = xp_of(Y)
        ones = xp.ones((Y.shape[0], 1), dtype=xp.float32, device=device_of(Y))
        D = xp.concat([xp.astype(Y, xp.float32), ones], axis=1) @ like(self.single, Y, xp.float32)  # (m, u)
        lengths = xp.linalg.vecdot(Y, Y) + float(self.squares.max())
        margins = lengths * ((4 * math.sqrt(Y.shape[1]) + 8) * float(np.finfo(np.float32).eps))
        first, second, sure = _two_smallest(D, margins)
        if bool(xp.all(sure)):
            return first, second
        again = self._in_double(xp.take(Y, xp.nonzero(~sure)[0], axis=0))
        positions = xp.where(sure, 0, xp.cumulative_sum(xp.astype(~sure, xp.int64)) - 1)  # index among them
        first, second = (xp.where(sure, a, xp.take(b, positions)) for a, b in zip((first, second), again, strict=True))
        return first, second

    def _in_double(self, Y: Array) -> tuple[Array, Array]:
        """Return the two nearest prototypes by float64 distances; ties go to the lowest index."""
        xp = xp_of(Y)
        S = squared_euclidean(Y, like(self.W, Y))
        numbers = xp.arange(len(self.W), device=device_of(Y))[None, :]
        found = []
        for _ in range(2):
            equal = (xp.min(S, axis=1) * (1 + _TIE) + _COINCIDENT)[:, None] >= S
            best = xp.argmax(xp.astype(equal, xp.int8), axis=1)
            found.append(best)
            S = xp.where(numbers == best[:, None], xp.full_like(S, xp.inf), S)
        return found[0], found[1]


def _two_smallest(D: Array, margins: Array) -> tuple[Array, Array, Array]:
    """Return the positions of the two smallest entries per row of D, and whether they differ by more than a margin.

    D is overwritten.
    """
    if isinstance(D, np.ndarray):
        rows = np.arange(len(D))
        first = D.argmin(axis=1)
        least = D[rows, first]  # in numpy argmin is faster than min
        D[rows, first] = np.inf
        second = D.argmin(axis=1)
        return first, second, D[rows, second] - least > margins
    xp = xp_of(D)
    first, least = xp.argmin(D, axis=1), xp.min(D, axis=1)
    numbers = xp.arange(D.shape[1], device=device_of(D))[None, :]
    D = xp.where(numbers == first[:, None], xp.full_like(D, xp.inf), D)
    return first, xp.argmin(D, axis=1), xp.astype(xp.min(D, axis=1) - least, margins.dtype) > margins


# --- the nearest alone ------------------------------------------------------------------------------------------------


class NearestCodebook(Codebook):
    """Prototypes of which only the nearest is searched for, on the CPU by a compiled loop."""

    def search(self, X: Array) -> Iterator[Nearest]:
        """Yield the nearest code vectors tile by tile. The rows of a tile are overwritten by the next one."""
        if not isinstance(X, np.ndarray):
            yield from super().search(X)
            return
        from lowland.kernels.kmeans import scale_rows

        (n, d), k = X.shape, len(self.W)
        step = min(max(_LEAST_TILE, _NEAREST_TILE // k), max(1, n))
        # allocated once for all tiles: new pages would cost more than the computation
        Y, single, D = np.empty((step, d)), np.ones((step, d + 1), np.float32), np.empty(k * step, np.float32)
        for start in range(0, max(1, n), step):
            m = min(step, n - start)
            scale_rows(np.ascontiguousarray(X[start : start + m]), self.scaling.shift, 1 / self.scaling.unit, Y, single)
            first, _ = self.nearest_in_tile(Y[:m], single[:m], D)
            yield Nearest(first, first, Y[:m])

    def nearest_in_tile(self, Y: np.ndarray, single: np.ndarray, D: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the nearest code vectors of scaled rows and a lower bound of the distances to all others, (m,) both.

        ``single`` is [Y, 1] in float32, and D has room for the products.
        """
        from lowland.kernels.kmeans import nearest_codes, resolve_codes

        m, k = len(Y), len(self.W)
        products = np.matmul(self.single.T, single.T, out=D[: k * m].reshape(k, m))
        first, unsure, others = nearest_codes(Y, products, self._slack, self._rounding)
        if unsure.any():
            resolve_codes(Y, self.W, _TIE, _COINCIDENT, first, unsure, others)
        return first, others

    def _two_nearest(self, Y: Array) -> tuple[Array, Array]:
        """Return the nearest twice: the second nearest is not needed."""
        first = self._resolved(Y, *self._by_array_library(Y))
        return first, first

    def _resolved(self, Y: Array, first: Array, unsure: Array) -> Array:
        """Return the nearest code vectors; ambiguous ones are searched again in float64."""
        xp = xp_of(Y)
        if not bool(xp.any(unsure)):
            return first
        again = self._in_double(xp.take(Y, xp.nonzero(unsure)[0], axis=0))[0]
        positions = xp.where(unsure, xp.cumulative_sum(xp.astype(unsure, xp.int64)) - 1, 0)  # index among them
        return xp.where(unsure, xp.take(again, positions), first)

    @cached_property
    def _slack(self) -> np.ndarray:
        """The part of the error of a product that depends on the code vector, (k,)."""
        return (self._rounding * self.squares).astype(np.float32)

    @cached_property
    def _rounding(self) -> float:
        """Bound on the error of a float32 product, as a fraction of |y|² + |w|²."""
        return (4 * math.sqrt(self.W.shape[1]) + 8) * float(np.finfo(np.float32).eps)

    def _by_array_library(self, Y: Array) -> tuple[Array, Array]:
        xp = xp_of(Y)
        ones = xp.ones((Y.shape[0], 1), dtype=xp.float32, device=device_of(Y))
        D = xp.concat([xp.astype(Y, xp.float32), ones], axis=1) @ like(self.single, Y, xp.float32)  # (m, k)
        slack = like(self._slack, Y, xp.float32)
        first, least = xp.argmin(D, axis=1), xp.min(D, axis=1)
        numbers = xp.arange(D.shape[1], device=device_of(D))[None, :]
        low = xp.min(xp.where(numbers == first[:, None], xp.full_like(D, xp.inf), D - slack[None, :]), axis=1)
        bound = xp.astype(xp.take(slack, first), Y.dtype) + 2 * self._rounding * xp.linalg.vecdot(Y, Y)
        return first, ~(xp.astype(low - least, Y.dtype) > bound)


# --- rows to code book indices and back -------------------------------------------------------------------------------


@dataclass(frozen=True)
class NearestIndex:
    """The index of the nearest prototype of each row, (m, 1); NaN for a row that is not finite."""

    book: Codebook

    def __call__(self, X: Array) -> Array:
        """Map one slab."""
        return joined(
            [
                nan_where_not_finite(xp_of(X).astype(near.first, X.dtype)[:, None], near.Y)
                for near in self.book.search(X)
            ]
        )


def entropy_in_bits(counts: np.ndarray) -> float:
    """Return the entropy of the usage in bits: the mean code length per row with entropy coding."""
    fractions = counts[counts > 0] / counts.sum()
    return float(abs(np.sum(fractions * np.log2(fractions))))


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
            fine = (numbers >= 0) & (numbers < k) & (xp.astype(numbers, Z.dtype) == Z[:, 0])
            if not bool(xp.all(fine)):
                wrong = float(to_numpy(Z[:, 0])[~to_numpy(fine)][0])
                raise DataError(
                    f"{wrong:g} is not a code book index: valid indices are 0 to {k - 1}. Use what `transform` "
                    "returned."
                )
        else:
            numbers = xp.argmin(Z, axis=1)
        X = xp.take(like(self.codes, Z), numbers, axis=0)
        return X if bool(xp.all(finite)) else xp.where(finite[:, None], X, xp.full_like(X, xp.nan))


def nan_where_not_finite(Z: Array, Y: Array) -> Array:
    """Return Z, with NaN for rows Y that are not finite."""
    xp = xp_of(Z)
    finite = xp.isfinite(xp.sum(Y, axis=1))
    return Z if bool(xp.all(finite)) else xp.where(finite[:, None], Z, xp.full_like(Z, xp.nan))


def joined(parts: list[Array]) -> Array:
    """Return the parts concatenated along the rows."""
    return parts[0] if len(parts) == 1 else xp_of(parts[0]).concat(parts, axis=0)

"""Code books: the nearest prototypes of rows.

Prototypes are searched by products in float32, |w|² - 2 y'w. Where the two nearest lie within the rounding of that,
float64 decides; where they are equally far even there, the first of them wins. So rounding never chooses a prototype:
all array libraries, chunkings and precisions find the same one.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple, Self

import numpy as np

from lowland.arrays.namespace import Array, device_of, like, on_accelerator, to_numpy, xp_of
from lowland.blocks.distances.to_points import squared_euclidean
from lowland.blocks.statistics.rescaling import power_of_two
from lowland.blocks.statistics.uniform_scaling import UniformScaling
from lowland.data.rows import ArrayRows, Rows
from lowland.errors import DataError

_TILE = 1 << 17  # distances held at a time: they stay in the cache of a core
_NEAREST_TILE = 1 << 15  # the same where a compiled loop finds the nearest
_ACCELERATOR_TILE = 1 << 26
_LEAST_TILE = 64  # rows; fewer make poor products
_SLAB_ROWS = (
    1 << 14
)  # rows of a slab of an array in memory: the work of a row is that of many numbers, so slabs are low
_TIE = 1e-9  # fraction by which squared distances differ that are equal
_COINCIDENT = 1e-30  # squared distance, scaled, of two points that coincide


def scaling_amid(points: np.ndarray) -> UniformScaling:
    """Return the scaling about the mean of points, of which the largest coordinate becomes about one."""
    shift = points.mean(axis=0)
    return UniformScaling(shift, float(power_of_two(np.abs(points - shift).max())))


def in_low_slabs(rows: Rows) -> Rows:
    """An array in memory in slabs that give every thread some: their number of rows is the same on any machine."""
    if isinstance(rows, ArrayRows) and isinstance(rows.X, np.ndarray) and rows.slab > _SLAB_ROWS:
        return replace(rows, most_rows=_SLAB_ROWS)
    return rows


# --- the two nearest --------------------------------------------------------------------------------------------------


class Nearest(NamedTuple):
    """The nearest prototype of each row and the next."""

    first: Array  # (m,) int64
    second: Array  # (m,)
    Y: Array  # (m, d) float64, the rows, scaled


@dataclass(frozen=True)
class Codebook:
    """Prototypes made ready for the search."""

    scaling: UniformScaling
    W: np.ndarray  # (u, d) float64, scaled

    @classmethod
    def of(cls, prototypes: Array) -> Self:
        """Of prototypes as they stand in the space of the rows."""
        host = np.asarray(to_numpy(prototypes), dtype=np.float64)
        scaling = scaling_amid(host)
        return cls(scaling, scaling.apply(host))

    @property
    def prototypes(self) -> np.ndarray:
        """The prototypes in the space of the rows, (u, d) float64."""
        return self.scaling.invert(self.W)

    @cached_property
    def squares(self) -> np.ndarray:
        """|w|² of each, (u,)."""
        return np.einsum("ij,ij->i", self.W, self.W)

    @cached_property
    def single(self) -> np.ndarray:
        """-2W' above |w|² in float32, (d + 1, u): a row with a one behind it, times this, is |y - w|² less |y|²."""
        return np.vstack([-2 * self.W.T, self.squares[None, :]]).astype(np.float32)

    def search(self, X: Array) -> Iterator[Nearest]:
        """Yield the nearest prototypes of the rows, a tile of them after the other."""
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
        positions = xp.where(sure, 0, xp.cumulative_sum(xp.astype(~sure, xp.int64)) - 1)  # where among those
        first, second = (xp.where(sure, a, xp.take(b, positions)) for a, b in zip((first, second), again, strict=True))
        return first, second

    def _in_double(self, Y: Array) -> tuple[Array, Array]:
        """The two nearest by distances that keep their digits, the first of those that are equally far."""
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
    """Where each row of D is smallest and where next, and whether more than a margin lies between; D is overwritten."""
    if isinstance(D, np.ndarray):
        rows = np.arange(len(D))
        first = D.argmin(axis=1)
        least = D[rows, first]  # numpy finds where the smallest is faster than what it is
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
    """Prototypes of which only the nearest is asked for; on the host a compiled loop finds it."""

    def search(self, X: Array) -> Iterator[Nearest]:
        """Yield the nearest codes of the rows, a tile after the other; its rows are for use before the next."""
        if not isinstance(X, np.ndarray):
            yield from super().search(X)
            return
        from lowland.kernels.kmeans import nearest_codes, scale_rows

        (n, d), k = X.shape, len(self.W)
        step = min(max(_LEAST_TILE, _NEAREST_TILE // k), max(1, n))
        # made once for all tiles: fresh pages would cost more than the work
        Y, single, D = np.empty((step, d)), np.ones((step, d + 1), np.float32), np.empty(k * step, np.float32)
        slack = (self._rounding * self.squares).astype(np.float32)
        for start in range(0, max(1, n), step):
            m = min(step, n - start)
            scale_rows(np.ascontiguousarray(X[start : start + m]), self.scaling.shift, 1 / self.scaling.unit, Y, single)
            products = np.matmul(self.single.T, single[:m].T, out=D[: k * m].reshape(k, m))
            first = self._resolved(Y[:m], *nearest_codes(Y[:m], products, slack, self._rounding))
            yield Nearest(first, first, Y[:m])

    def _two_nearest(self, Y: Array) -> tuple[Array, Array]:
        """The nearest, twice: there is no use for the next."""
        first = self._resolved(Y, *self._by_array_library(Y))
        return first, first

    def _resolved(self, Y: Array, first: Array, unsure: Array) -> Array:
        """The nearest, with those found again that were in doubt."""
        xp = xp_of(Y)
        if not bool(xp.any(unsure)):
            return first
        again = self._in_double(xp.take(Y, xp.nonzero(unsure)[0], axis=0))[0]
        positions = xp.where(unsure, xp.cumulative_sum(xp.astype(unsure, xp.int64)) - 1, 0)  # where among those
        return xp.where(unsure, xp.take(again, positions), first)

    @property
    def _rounding(self) -> float:
        """By what fraction of |y|² + |w|² a float32 product may be off."""
        return (4 * math.sqrt(self.W.shape[1]) + 8) * float(np.finfo(np.float32).eps)

    def _by_array_library(self, Y: Array) -> tuple[Array, Array]:
        xp = xp_of(Y)
        ones = xp.ones((Y.shape[0], 1), dtype=xp.float32, device=device_of(Y))
        D = xp.concat([xp.astype(Y, xp.float32), ones], axis=1) @ like(self.single, Y, xp.float32)  # (m, k)
        slack = like(self._rounding * self.squares, Y, xp.float32)
        first, least = xp.argmin(D, axis=1), xp.min(D, axis=1)
        numbers = xp.arange(D.shape[1], device=device_of(D))[None, :]
        low = xp.min(xp.where(numbers == first[:, None], xp.full_like(D, xp.inf), D - slack[None, :]), axis=1)
        bound = xp.astype(xp.take(slack, first), Y.dtype) + 2 * self._rounding * xp.linalg.vecdot(Y, Y)
        return first, ~(xp.astype(low - least, Y.dtype) > bound)


# --- rows to code numbers and back ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class NearestIndex:
    """The number of the nearest prototype of each row, (m, 1); NaN for a row that is not finite."""

    book: Codebook

    def __call__(self, X: Array) -> Array:
        """Of one slab."""
        return joined(
            [
                nan_where_not_finite(xp_of(X).astype(near.first, X.dtype)[:, None], near.Y)
                for near in self.book.search(X)
            ]
        )


def entropy_in_bits(counts: np.ndarray) -> float:
    """Return the bits a row needs on average if frequent codes are given short names."""
    fractions = counts[counts > 0] / counts.sum()
    return float(abs(np.sum(fractions * np.log2(fractions))))


@dataclass(frozen=True)
class CodeLookup:
    """The code of a row's number, or that of its least distance, (m, d)."""

    codes: Array  # (k, d)
    by_number: bool

    def __call__(self, Z: Array) -> Array:
        """Of one slab; NaN for a row that is not finite."""
        xp, k = xp_of(Z), self.codes.shape[0]
        finite = xp.all(xp.isfinite(Z), axis=1)
        Z = xp.where(finite[:, None], Z, xp.zeros_like(Z))
        if self.by_number:
            numbers = xp.astype(Z[:, 0], xp.int64)
            fine = (numbers >= 0) & (numbers < k) & (xp.astype(numbers, Z.dtype) == Z[:, 0])
            if not bool(xp.all(fine)):
                wrong = float(to_numpy(Z[:, 0])[~to_numpy(fine)][0])
                raise DataError(
                    f"{wrong:g} is no number of a code: there are {k}, counted from 0. Pass what transform returned."
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
    """Return parts one below the other."""
    return parts[0] if len(parts) == 1 else xp_of(parts[0]).concat(parts, axis=0)

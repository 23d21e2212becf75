"""Rescaling: values whose squares or cubes would overflow or underflow are divided by a power of two."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from lowland.arrays.namespace import Array, as_double, in_range_of_single, is_sparse, like, xp_of
from lowland.data.rows import ArrayRows, DaskRows, MappedRows, Rows

_SINGLE, _DOUBLE = (-16, 30), (-200, 200)  # exponents of two between which the largest value needs no rescaling


def power_of_two(size: Any) -> Any:
    """Return the power of two next below each magnitude, 1 where it is zero or not finite: division by it is exact."""
    return np.ldexp(1.0, np.frexp(np.where((size > 0) & np.isfinite(size), size, 1.0))[1] - 1)


def unit_of(A: Array, *, single: bool = False) -> float:
    """Return the power of two to divide A by so that its largest absolute value is of order one; division is exact.

    It is 1 where squares and cubes neither overflow nor underflow in the precision of A, or in float32 if ``single``.
    """
    return ordinary_unit(largest_of(A), single=single or A.dtype == xp_of(A).float32)


def ordinary_unit(largest: float, *, single: bool) -> float:
    """Return the unit of values whose largest magnitude is known."""
    lowest, highest = _SINGLE if single else _DOUBLE
    exponent = math.frexp(largest)[1] - 1
    return 1.0 if largest == 0 or lowest <= exponent <= highest else 2.0**exponent


def largest_of(A: Array) -> float:
    """Return the largest finite absolute value in A; 0 if there is none."""
    if isinstance(A, np.ndarray):
        largest = max(float(A.max()), -float(A.min()))
        if math.isfinite(largest):
            return largest
    largest = 0.0
    for block in ArrayRows(A).chunks():
        xp = xp_of(block)
        sizes = xp.abs(block)
        largest = max(largest, float(xp.max(xp.where(xp.isfinite(sizes), sizes, xp.zeros_like(sizes)))))
    return largest


@dataclass(frozen=True)
class ValueRange:
    """Smallest and largest value of the table; a mergeable statistic."""

    low: float
    high: float

    @classmethod
    def of(cls, X: Array) -> Self:
        """Compute for one slab."""
        xp = xp_of(X)
        return cls(float(xp.min(X)), float(xp.max(X)))

    def __add__(self, other: Self) -> Self:
        return type(self)(min(self.low, other.low), max(self.high, other.high))

    def is_finite(self) -> bool:
        """Whether both are finite."""
        return math.isfinite(self.low) and math.isfinite(self.high)


def in_range(rows: Rows, square: float) -> Rows:
    """Return the rows, in float64 if they are float32 and their largest mean square leaves its range."""
    if rows.dtype != np.float32 or in_range_of_single(square):
        return rows
    if isinstance(rows, DaskRows):
        return DaskRows(rows.X.astype(np.float64))
    wide = MappedRows(rows, lambda piece: piece.astype(np.float64) if is_sparse(piece) else as_double(piece))
    wide.dtype = np.dtype(np.float64)
    return wide


def divided_rows(rows: Rows, unit: float) -> Rows:
    """Return the rows divided by a unit."""
    if isinstance(rows, DaskRows):
        return DaskRows(rows.X / unit)
    if isinstance(rows, ArrayRows) and not rows.is_sparse:
        return ArrayRows(rows.to_array() / unit, rows.names, rows.source)
    return MappedRows(rows, lambda piece: piece / unit)


@dataclass(frozen=True)
class UniformScaling:
    """The map x -> (x - shift) / unit."""

    shift: np.ndarray  # (d,)
    unit: float = 1.0

    def apply(self, X: Array) -> Array:
        """Return scaled rows, (m, d) float64."""
        if isinstance(X, np.ndarray):
            Y = np.empty(X.shape)  # row-major, whatever the layout of X
            np.subtract(X, self.shift, out=Y)
            if self.unit != 1:
                Y /= self.unit
            return Y
        Y = as_double(X)
        return (Y - like(self.shift, Y)[None, :]) / self.unit

    def invert(self, Y: np.ndarray) -> np.ndarray:
        """Return scaled rows in their original unit, (m, d) float64."""
        return self.shift + self.unit * Y

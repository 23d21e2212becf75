"""Mini-batches: rows in standard units, some held out for validation, the rest shuffled.

Which rows are held out, and which make a batch, depends on the seed and the shape alone: a file, chunks or an array
give the same batches.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np

from lowland.arrays.engines import Engine
from lowland.arrays.namespace import Array, like, to_numpy, xp_of
from lowland.arrays.precision import as_double
from lowland.blocks.statistics.moments import ColumnMoments
from lowland.blocks.statistics.uniform_scaling import UniformScaling
from lowland.data.rows import Rows
from lowland.run.run import Run

WINDOW_BYTES = 2**27  # of rows that are shuffled among each other
_FEW = 5  # rows held out: fewer say nothing of the others
_COARSE = 2.0**-12


def double_moments(X: Array) -> ColumnMoments:
    """Return the moments of a slab's columns, summed in float64 whatever its precision."""
    return ColumnMoments.of(as_double(X))


def rounded_scaling(columns: ColumnMoments) -> UniformScaling:
    """Return the scaling to standard units: rows about their center, the mean square of all values about one.

    Center and unit are rounded to four digits. The network makes up for it, and other chunks, whose sums differ in the
    last digit, are trained on the same bits.
    """
    mean, squares = to_numpy(columns.mean), to_numpy(columns.variances) * (columns.n - 1) / columns.n
    deviation = math.sqrt(float(squares.mean()))  # zero too where values are too small to be squared
    grain = 2.0 ** math.floor(math.log2(deviation)) * _COARSE if deviation > 0 else 1.0
    center = np.round(mean / grain) * grain if deviation > 0 else mean
    return UniformScaling(center, round(deviation / grain) * grain or 1.0)


@dataclass(frozen=True)
class _ScaledAs:
    """A scaling in the precision of the training; an object, so that it can travel to a worker."""

    scaling: UniformScaling
    dtype: str

    def __call__(self, X: Array) -> Array:
        """Map one slab."""
        Y = self.scaling.apply(X)
        xp = xp_of(Y)
        return xp.astype(Y, getattr(xp, self.dtype), copy=False)


@dataclass(frozen=True)
class ValueRange:
    """The least and the largest value of all. Parts of it add up."""

    low: float
    high: float

    @classmethod
    def of(cls, X: Array) -> Self:
        """Look at one slab."""
        xp = xp_of(X)
        return cls(float(xp.min(X)), float(xp.max(X)))

    def __add__(self, other: Self) -> Self:
        """Merge two parts."""
        return type(self)(min(self.low, other.low), max(self.high, other.high))

    def is_finite(self) -> bool:
        """Whether both are numbers."""
        return math.isfinite(self.low) and math.isfinite(self.high)


@dataclass(frozen=True)
class Noise:
    """Corruption of the rows that a denoising network learns to undo (Vincent et al. 2010)."""

    kind: Literal["gaussian", "masking"]
    level: float  # gaussian: standard deviation, in standard units; masking: fraction of the values

    def corrupted(self, Y: Array, rng: np.random.Generator) -> Array:
        """Return the rows with noise, drawn on the host so that a seed means the same on every device."""
        if self.kind == "gaussian":
            return Y + like(self.level * rng.standard_normal(tuple(Y.shape), dtype=np.float32), Y)
        return Y * like((rng.random(tuple(Y.shape), dtype=np.float32) >= self.level).astype(np.float32), Y)


def choose_validation_rows(n: int, fraction: float, most: int, rng: np.random.Generator) -> np.ndarray:
    """Return which of n rows are held out, ascending; at least five, but no more than a fifth of few rows."""
    count = min(max(int(fraction * n), min(_FEW, n // 5)), most) if fraction > 0 else 0
    if count < 2:
        return np.empty(0, dtype=np.int64)
    return np.sort(rng.choice(n, count, replace=False, shuffle=False))


@dataclass(frozen=True)
class MiniBatches:
    """The rows to train with, a batch at a time, and those held out."""

    rows: Rows
    run: Run
    n: int  # rows, those held out included
    scaling: UniformScaling
    engine: Engine
    validation: np.ndarray  # which rows are held out, ascending
    size: int  # rows in a batch, about

    @property
    def n_training(self) -> int:
        """How many rows are trained with."""
        return self.n - len(self.validation)

    @property
    def window(self) -> int:
        """How many rows are shuffled among each other; windows are about even, as batches are."""
        windows = math.ceil(self.n_training / max(self.size, WINDOW_BYTES // (4 * self.rows.d)))
        return math.ceil(self.n_training / windows)

    @property
    def steps_per_epoch(self) -> int:
        """Batches in an epoch."""
        whole, rest = divmod(self.n_training, self.window)
        return whole * _cuts(self.window, self.size) + (_cuts(rest, self.size) if rest else 0)

    def validation_rows(self) -> Array | None:
        """Return the rows held out, (v, d); None if there are none."""
        if not len(self.validation):
            return None
        parts = [V for _, V in self._read() if V is not None]
        return _joined(parts)

    def training_rows(self) -> Array:
        """Return the rows to train with, (n - v, d)."""
        Y = self.engine.empty((self.n_training, self.rows.d))
        start = 0
        for part, _ in self._read():
            Y[start : start + part.shape[0], :] = part
            start += part.shape[0]
        return Y

    def training_slabs(self, whole: Array | None) -> Iterator[Array]:
        """Yield all rows to train with once, in their order; ``whole``: what ``training_rows`` gave."""
        yield from (Y for Y, _ in self._read()) if whole is None else (whole,)

    def epoch(self, rng: np.random.Generator, whole: Array | None) -> Iterator[Array]:
        """Yield all rows once, shuffled window by window; ``whole``: what ``training_rows`` gave; None: read again.

        A window is cut into batches as even as can be: a last one of few rows would pull as hard as the others.
        """
        if whole is not None:
            for start in range(0, self.n_training, self.window):
                yield from self._cut(whole[start : start + self.window, :], rng)
            return
        for Y in windows((Y for Y, _ in self._read()), self.window):
            yield from self._cut(Y, rng)

    def _cut(self, Y: Array, rng: np.random.Generator) -> Iterator[Array]:
        xp, m = xp_of(Y), Y.shape[0]
        order = like(rng.permutation(m), Y, xp.int64)
        borders = np.linspace(0, m, _cuts(m, self.size) + 1).round().astype(int)
        for start, stop in zip(borders[:-1].tolist(), borders[1:].tolist(), strict=True):
            yield xp.take(Y, order[start:stop], axis=0)

    def _read(self) -> Iterator[tuple[Array, Array | None]]:
        """Yield slab by slab the rows to train with and those held out, where the engine works."""
        start = 0
        for X in self.run.map_rows(_ScaledAs(self.scaling, self.engine.dtype), self.rows, name="one epoch"):
            Y = self.engine.array(X)
            here = self.validation[slice(*np.searchsorted(self.validation, [start, start + Y.shape[0]]))] - start
            start += Y.shape[0]
            if len(here):
                rest = np.delete(np.arange(Y.shape[0]), here)
                yield _taken(Y, rest), _taken(Y, here)
            else:
                yield Y, None


def windows(slabs: Iterable[Array], size: int) -> Iterator[Array]:
    """Yield the rows of slabs ``size`` at a time, in order; the last window holds what is left."""
    held: list[Array] = []
    count = 0
    for X in slabs:
        start = 0
        while start < X.shape[0]:
            part = X[start : min(start + size - count, X.shape[0]), :]
            held.append(part)
            start, count = start + part.shape[0], count + part.shape[0]
            if count == size:
                yield _joined(held)
                held, count = [], 0
    if held:
        yield _joined(held)


def _joined(parts: list[Array]) -> Array:
    return parts[0] if len(parts) == 1 else xp_of(parts[0]).concat(parts, axis=0)


def _cuts(m: int, size: int) -> int:
    return max(1, round(m / size))


def _taken(Y: Array, which: np.ndarray) -> Any:
    xp = xp_of(Y)
    return xp.take(Y, like(which, Y, xp.int64), axis=0)

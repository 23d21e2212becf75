"""Mini-batches: rows in standard units, some held out for validation, the rest shuffled.

The validation rows and the mini-batches depend only on the seed and the shape: a file, chunks or an array give the same
mini-batches.
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
from lowland.data.rows import Rows
from lowland.math.statistics.moments import ColumnMoments
from lowland.math.statistics.rescaling import UniformScaling
from lowland.run.run import Run

WINDOW_BYTES = 2**27  # size of a window of rows within which they are shuffled
_FEW = 5  # validation rows: fewer are not representative
_COARSE = 2.0**-12


def double_moments(X: Array) -> ColumnMoments:
    """Return the moments of the columns of a slab, summed in float64 for any precision of the rows."""
    return ColumnMoments.of(as_double(X))


def rounded_scaling(columns: ColumnMoments) -> UniformScaling:
    """Return the scaling to standard units: rows are centered, and the mean square of all values is about one.

    Center and unit are rounded to four digits. The network compensates for it, and other chunk sizes, whose sums differ
    in the last digit, train on the same bits.
    """
    mean, squares = to_numpy(columns.mean), to_numpy(columns.variances) * (columns.n - 1) / columns.n
    spread = math.sqrt(float(squares.mean()))  # also zero where squares underflow
    grain = 2.0 ** math.floor(math.log2(spread)) * _COARSE if spread > 0 else 1.0
    center = np.round(mean / grain) * grain if spread > 0 else mean
    return UniformScaling(center, round(spread / grain) * grain or 1.0)


@dataclass(frozen=True)
class _ScaledAs:
    """A scaling in the precision of the training; an object, so that it can be sent to a worker."""

    scaling: UniformScaling
    dtype: str

    def __call__(self, X: Array) -> Array:
        """Map one slab."""
        Y = self.scaling.apply(X)
        xp = xp_of(Y)
        return xp.astype(Y, getattr(xp, self.dtype), copy=False)


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
        """Merge two parts."""
        return type(self)(min(self.low, other.low), max(self.high, other.high))

    def is_finite(self) -> bool:
        """Whether both are finite."""
        return math.isfinite(self.low) and math.isfinite(self.high)


@dataclass(frozen=True)
class Noise:
    """Corruption of the rows for a denoising autoencoder (Vincent et al. 2010)."""

    kind: Literal["gaussian", "masking"]
    level: float  # gaussian: standard spread, in standard units; masking: fraction of the values

    def corrupted(self, Y: Array, rng: np.random.Generator) -> Array:
        """Return the rows with noise, drawn on the CPU so that a seed gives the same noise on every device."""
        if self.kind == "gaussian":
            return Y + like(self.level * rng.standard_normal(tuple(Y.shape), dtype=np.float32), Y)
        return Y * like((rng.random(tuple(Y.shape), dtype=np.float32) >= self.level).astype(np.float32), Y)


def choose_validation_rows(n: int, fraction: float, most: int, rng: np.random.Generator) -> np.ndarray:
    """Return the indices of the validation rows, ascending: at least five, but at most a fifth of a small table."""
    count = min(max(int(fraction * n), min(_FEW, n // 5)), most) if fraction > 0 else 0
    if count < 2:
        return np.empty(0, dtype=np.int64)
    return np.sort(rng.choice(n, count, replace=False, shuffle=False))


@dataclass(frozen=True)
class MiniBatches:
    """Training rows in mini-batches, and validation rows."""

    rows: Rows
    run: Run
    n: int  # rows, validation rows included
    scaling: UniformScaling
    engine: Engine
    validation: np.ndarray  # indices of the validation rows, ascending
    size: int  # approximate number of rows per mini-batch

    @property
    def n_training(self) -> int:
        """Number of training rows."""
        return self.n - len(self.validation)

    @property
    def window(self) -> int:
        """Number of rows that are shuffled together; windows are of about equal size, as mini-batches are."""
        windows = math.ceil(self.n_training / max(self.size, WINDOW_BYTES // (4 * self.rows.d)))
        return math.ceil(self.n_training / windows)

    @property
    def steps_per_epoch(self) -> int:
        """Mini-batches per epoch."""
        whole, rest = divmod(self.n_training, self.window)
        return whole * _cuts(self.window, self.size) + (_cuts(rest, self.size) if rest else 0)

    def validation_rows(self) -> Array | None:
        """Return the validation rows, (v, d); None if there are none."""
        if not len(self.validation):
            return None
        parts = [V for _, V in self._read() if V is not None]
        return _joined(parts)

    def training_rows(self) -> Array:
        """Return the training rows, (n - v, d)."""
        Y = self.engine.empty((self.n_training, self.rows.d))
        start = 0
        for part, _ in self._read():
            Y[start : start + part.shape[0], :] = part
            start += part.shape[0]
        return Y

    def training_slabs(self, whole: Array | None) -> Iterator[Array]:
        """Yield all training rows once, in order; ``whole``: the result of ``training_rows``."""
        yield from (Y for Y, _ in self._read()) if whole is None else (whole,)

    def epoch(self, rng: np.random.Generator, whole: Array | None) -> Iterator[Array]:
        """Yield all training rows once, shuffled window by window.

        ``whole`` is the result of ``training_rows``; None: read the rows again. A window is split into mini-batches of
        about equal size: a small last one would have the same influence as the others.
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
        """Yield the training and the validation rows slab by slab, on the device of the engine."""
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
    """Yield the rows of slabs ``size`` at a time, in order; the last window holds the rest."""
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

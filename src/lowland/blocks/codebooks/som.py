"""Self-organizing maps: the nearest units of rows, what a pass over them sums, and training by passes or row by row.

Units are searched by products in float32, |w|² - 2 y'w. Where the two nearest lie within the rounding of that, float64
decides; where they are equally far even there, the first of them wins. So rounding never chooses a unit: all array
libraries, chunkings and precisions find the same one.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, NamedTuple, Self

import numpy as np

from lowland.arrays.namespace import Array, device_of, like, on_accelerator, to_numpy, xp_of
from lowland.arrays.precision import as_double
from lowland.blocks.codebooks.grids import Grid, Neighborhood
from lowland.blocks.distances.to_points import squared_euclidean
from lowland.blocks.statistics.rescaling import power_of_two
from lowland.data.rows import ArrayRows, Rows
from lowland.run.local import blas_on_one_thread
from lowland.run.run import Run

Decay = Literal["exponential", "linear", "inverse"]

_TILE = 1 << 17  # distances held at a time: they stay in the cache of a core
_ACCELERATOR_TILE = 1 << 26
_LEAST_TILE = 64  # rows; fewer make poor products
_SHARE = 1 << 14  # rows of a slab of an array in memory: the work of a row is that of many numbers, so slabs are low
_TIE = 1e-9  # share by which squared distances differ that are equal
_NOUGHT = 1e-30  # squared distance, in the frame, of two places that are one
_SAME = 1e-13  # share by which the errors of the same map may differ
_INSIDE = 0.499  # of a unit from its cell's middle: off the border by more than float32 rounds a place
_STEPS = 1 << 14  # rows learnt one by one between two looks at whether to stop


# --- the nearest units ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class CodebookScaling:
    """The point and the unit of length in which rows are seen, so that products keep their digits."""

    shift: np.ndarray  # (d,)
    unit: float = 1.0

    @classmethod
    def of(cls, units: np.ndarray) -> Self:
        """Amid the prototypes of units."""
        shift = units.mean(axis=0)
        return cls(shift, float(power_of_two(np.abs(units - shift).max())))

    def seen(self, X: Array) -> Array:
        """Return rows as seen from here, (m, d) float64."""
        if isinstance(X, np.ndarray):
            Y = np.empty(X.shape)  # by rows, however X lies
            np.subtract(X, self.shift, out=Y)
            if self.unit != 1:
                Y /= self.unit
            return Y
        Y = as_double(X)
        return (Y - like(self.shift, Y)[None, :]) / self.unit


class Nearest(NamedTuple):
    """The nearest unit of each row and the next."""

    first: Array  # (m,) int64
    second: Array  # (m,)
    Y: Array  # (m, d) float64, the rows as they are seen


@dataclass(frozen=True)
class Codebook:
    """Prototypes made ready for the search."""

    frame: CodebookScaling
    W: np.ndarray  # (u, d) float64, in the frame

    @classmethod
    def of(cls, units: Array) -> Self:
        """Of prototypes as they stand in the space of the rows."""
        host = np.asarray(to_numpy(units), dtype=np.float64)
        frame = CodebookScaling.of(host)
        return cls(frame, frame.seen(host))

    @property
    def units(self) -> np.ndarray:
        """The prototypes in the space of the rows, (u, d) float64."""
        return self.frame.shift + self.frame.unit * self.W

    @cached_property
    def squares(self) -> np.ndarray:
        """|w|² of each, (u,)."""
        return np.einsum("ij,ij->i", self.W, self.W)

    @cached_property
    def single(self) -> np.ndarray:
        """-2W' above |w|² in float32, (d + 1, u): a row with a one behind it, times this, is |y - w|² less |y|²."""
        return np.vstack([-2 * self.W.T, self.squares[None, :]]).astype(np.float32)

    def search(self, X: Array) -> Iterator[Nearest]:
        """Yield the nearest units of the rows, a tile of them after the other."""
        most = _ACCELERATOR_TILE if on_accelerator(X) else _TILE
        step = max(_LEAST_TILE, most // len(self.W))
        for start in range(0, max(1, X.shape[0]), step):
            Y = self.frame.seen(X[start : min(start + step, X.shape[0]), :])
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
        spots = xp.where(sure, 0, xp.cumulative_sum(xp.astype(~sure, xp.int64)) - 1)  # where among those
        first, second = (xp.where(sure, a, xp.take(b, spots)) for a, b in zip((first, second), again, strict=True))
        return first, second

    def _in_double(self, Y: Array) -> tuple[Array, Array]:
        """The two nearest by distances that keep their digits, the first of those that are equally far."""
        xp = xp_of(Y)
        S = squared_euclidean(Y, like(self.W, Y))
        numbers = xp.arange(len(self.W), device=device_of(Y))[None, :]
        found = []
        for _ in range(2):
            equal = (xp.min(S, axis=1) * (1 + _TIE) + _NOUGHT)[:, None] >= S
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


# --- what a pass sums -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class UnitSums:
    """The rows that each unit has won: their sum and count; and how well the units stand for the rows."""

    sums: np.ndarray  # (u, d) float64, in the frame
    counts: np.ndarray  # (u,)
    error: float  # sum of the distances of rows to their units
    astray: float  # rows whose two nearest units are no neighbours on the grid

    def __add__(self, other: Self) -> Self:
        """Of two parts."""
        return type(self)(
            self.sums + other.sums, self.counts + other.counts, self.error + other.error, self.astray + other.astray
        )

    def is_finite(self) -> bool:
        """Whether NaN, infinity or an overflow is absent."""
        return math.isfinite(self.error)

    @property
    def rows(self) -> float:
        """How many rows there are."""
        return float(self.counts.sum())


@dataclass(frozen=True)
class SumByUnit:
    """What is folded: a slab becomes its ``UnitSums``."""

    book: Codebook
    grid: Grid

    def __call__(self, X: Array) -> UnitSums:
        """Of one slab."""
        on_host = isinstance(X, np.ndarray)
        sums, counts, error, astray = np.zeros(self.book.W.shape), np.zeros(self.grid.units), 0.0, 0.0
        for near in self.book.search(X):
            add = self._add_on_host if on_host else self._add
            e, a = add(near, sums, counts)
            error, astray = error + e, astray + a
        return UnitSums(sums, counts, error * self.book.frame.unit, astray)

    def _add_on_host(self, near: Nearest, sums: np.ndarray, counts: np.ndarray) -> tuple[float, float]:
        """By runs of rows that one unit has won: numba would take memory that a file's slabs need more."""
        first, second, Y = near
        if not len(Y):
            return 0.0, 0.0
        order = np.argsort(first, kind="stable")
        winners = first[order]
        starts = np.flatnonzero(np.diff(winners, prepend=-1))
        sums[winners[starts]] += np.add.reduceat(Y[order], starts, axis=0)
        counts += np.bincount(first, minlength=len(counts))
        off = Y - self.book.W[first]
        apart = self.grid.places[first] - self.grid.places[second]
        astray = np.count_nonzero(np.vecdot(apart, apart) > self.grid.reach**2)
        return float(np.sqrt(np.vecdot(off, off)).sum()), float(astray)

    def _add(self, near: Nearest, sums: np.ndarray, counts: np.ndarray) -> tuple[float, float]:
        """By a product with the table of who won whom, whose order of summation is fixed on every device."""
        xp = xp_of(near.Y)
        numbers = xp.arange(self.grid.units, device=device_of(near.Y))[None, :]
        M = xp.astype(near.first[:, None] == numbers, near.Y.dtype)  # (m, u)
        sums += to_numpy(M.T @ near.Y)
        counts += to_numpy(xp.sum(M, axis=0))
        off = near.Y - xp.take(like(self.book.W, near.Y), near.first, axis=0)
        places = like(self.grid.places, near.Y)
        apart = xp.take(places, near.first, axis=0) - xp.take(places, near.second, axis=0)
        beyond = xp.sum(apart * apart, axis=1) > self.grid.reach**2
        return float(xp.sum(xp.sqrt(xp.sum(off * off, axis=1)))), float(xp.sum(xp.astype(beyond, near.Y.dtype)))


def in_low_slabs(rows: Rows) -> Rows:
    """An array in memory in slabs that give every thread some: their number of rows is the same on any machine."""
    if isinstance(rows, ArrayRows) and isinstance(rows.X, np.ndarray) and rows.slab > _SHARE:
        return replace(rows, most_rows=_SHARE)
    return rows


def judged(rows: Rows, run: Run, units: Array, grid: Grid) -> UnitSums:
    """Return what a map sums over rows: what its units win, and how well they stand for it."""
    with blas_on_one_thread():
        return run.fold(in_low_slabs(rows), SumByUnit(Codebook.of(units), grid), name="judging the map")


# --- training ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Schedule:
    """How the radius, and the rate of online training, fall from first to last."""

    epochs: int
    radius: tuple[float, float]
    rate: tuple[float, float] = (0.05, 0.01)
    decay: Decay = "exponential"
    neighborhood: Neighborhood = "gaussian"
    settling: int = 0  # further epochs of batch training at the last radius, at most
    tol: float = 0.0


@dataclass(frozen=True)
class SomTraining:
    """A trained map, what it sums over the rows, and how it got there."""

    units: np.ndarray  # (u, d) in the precision of the rows
    sums: UnitSums
    trace: tuple[float, ...]  # quantisation error at the start and after each epoch; online: in each, and at the end
    radii: tuple[float, ...]
    converged: bool
    reason: str


def decayed(ends: tuple[float, float], t: Any, decay: Decay) -> Any:
    """Return the value at t between 0 and 1, on its way from the first to the last."""
    first, last = ends
    match decay:
        case "linear":
            return first + (last - first) * t
        case "inverse":
            return first / (1 + (first / last - 1) * t)
        case _:
            return first * (last / first) ** t


def train_by_batches(
    rows: Rows, run: Run, grid: Grid, frame: CodebookScaling, start: np.ndarray, schedule: Schedule
) -> SomTraining:
    """Train with all rows at once: one fold an epoch finds who won what, the grid smooths it.

    The fold also tells the quantisation error of the map it began with, so that the last one judges the result. Units
    are float64, in the frame, until the end; where rows are float32 the rounded ones are judged once more.
    """
    with blas_on_one_thread():  # a tile is too small to be shared: threads would wait for each other at every product
        return _trained(in_low_slabs(rows), run, grid, frame, start, schedule)


def _trained(
    rows: Rows, run: Run, grid: Grid, frame: CodebookScaling, start: np.ndarray, schedule: Schedule
) -> SomTraining:
    W, trace, radii = frame.seen(start), [], []
    most = schedule.epochs + schedule.settling
    converged, reason = schedule.settling == 0, "the schedule has ended"
    for epoch in run.iterate("training the map", most + 1):
        book = Codebook(frame, W)
        sums: UnitSums = run.fold(rows, SumByUnit(book, grid), name="one epoch")
        trace.append(sums.error / sums.rows)
        if epoch > schedule.epochs and abs(trace[-1] - trace[-2]) <= schedule.tol * trace[-1]:
            converged, reason = True, f"an epoch changed the quantisation error by less than {schedule.tol:g} of it"
            break
        if any(abs(trace[-1] - q) <= _SAME * q for q in trace[schedule.epochs : -1]):
            converged, reason = (
                False,
                "its epochs began to repeat themselves",
            )  # two maps or more that lead to each other
            break
        if epoch == most:
            if schedule.settling:
                reason = f"{most} epochs were over"
            break
        t = min(1.0, epoch / max(1, schedule.epochs - 1))
        radii.append(float(decayed(schedule.radius, t, schedule.decay)))
        W = smoothed_means(sums, W, grid, radii[-1], schedule.neighborhood)
    units = book.units.astype(rows.dtype)
    if units.dtype != np.float64:
        sums = judged(rows, run, units, grid)
        trace[-1] = sums.error / sums.rows
    return SomTraining(units, sums, tuple(trace), tuple(radii), converged, reason)


def smoothed_means(sums: UnitSums, W: np.ndarray, grid: Grid, radius: float, neighborhood: Neighborhood) -> np.ndarray:
    """Return HS / Hc, (u, d): the mean of the rows won nearby; a unit that none were won near to stays where it is."""
    both = grid.smoothed(np.column_stack([sums.sums, sums.counts]), radius, neighborhood)
    weight = both[:, -1:]
    some = weight > np.finfo(np.float64).tiny * 1e16
    return np.where(some, both[:, :-1] / np.where(some, weight, 1.0), W)


def train_online(
    X: np.ndarray,
    run: Run,
    grid: Grid,
    frame: CodebookScaling,
    start: np.ndarray,
    schedule: Schedule,
    rng: np.random.Generator,
) -> tuple[np.ndarray, list[float]]:
    """Train with one row after the other, shuffled anew each epoch; return the units and the errors met on the way."""
    from lowland.kernels.som import learn_rows

    W = np.ascontiguousarray(frame.seen(start).T, dtype=X.dtype)  # (d, u)
    row, column = np.divmod(np.arange(grid.units), grid.columns)
    halves = 2 * column + (row % 2 if grid.topology == "hexagonal" else 0)
    n, steps = len(X), max(1, len(X) * schedule.epochs - 1)
    bubble, trace = schedule.neighborhood == "bubble", []
    for epoch in run.iterate("training the map", schedule.epochs):
        order, error = rng.permutation(n), 0.0
        with run.stage("one epoch", n) as stage:
            for begin in range(0, n, _STEPS):
                some = order[begin : begin + _STEPS]
                t = (epoch * n + begin + np.arange(len(some))) / steps
                radii, rates = (decayed(ends, t, schedule.decay) for ends in (schedule.radius, schedule.rate))
                error += learn_rows(X, some, frame.shift, frame.unit, W, halves, row, grid.height, radii, rates, bubble)
                stage.advance(len(some))
        trace.append(error * frame.unit / n)
    return Codebook(frame, W.T.astype(np.float64)).units.astype(X.dtype), trace


def principal_plane(grid: Grid, mean: np.ndarray, axes: np.ndarray, deviations: np.ndarray) -> np.ndarray:
    """Return units laid out on the plane of the first two axes, (u, d), two deviations to each side.

    The longer side of the grid lies along the first axis; ``axes`` is (d, k), k at most 2.
    """
    extent = grid.places.max(axis=0)
    sides = np.where(extent > 0, 4 * grid.places / np.where(extent > 0, extent, 1.0) - 2, 0.0)  # (u, 2)
    if extent[1] > extent[0]:
        sides = sides[:, ::-1]
    k = axes.shape[1]
    return mean + (sides[:, :k] * deviations[:k]) @ axes.T


# --- rows on the grid and back ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class UnitOf:
    """The number of the nearest unit of each row, (m, 1); NaN for a row that is not finite."""

    book: Codebook

    def __call__(self, X: Array) -> Array:
        """Of one slab."""
        return _joined([_told(xp_of(X).astype(near.first, X.dtype)[:, None], near.Y) for near in self.book.search(X)])


@dataclass(frozen=True)
class PlaceOnGrid:
    """Where the nearest unit lies, (m, 2); smooth: where within its cell the row lies, never on the border."""

    book: Codebook
    grid: Grid
    smooth: bool = False

    def __call__(self, X: Array) -> Array:
        """Of one slab."""
        return _joined([_told(like(self._place(near), X), near.Y) for near in self.book.search(X)])

    def _place(self, near: Nearest) -> Array:
        xp = xp_of(near.Y)
        Z = xp.take(like(self.grid.places, near.Y), near.first, axis=0)
        if not self.smooth:
            return Z
        off = near.Y - xp.take(like(self.book.W, near.Y), near.first, axis=0)  # (m, d)
        readers = xp.take(like(self._readers, near.Y), near.first, axis=0)  # (m, 2, d)
        step = xp.sum(readers * off[:, None, :], axis=2)  # (m, 2)
        far = xp.max(xp.abs(step @ like(self.grid.across, step).T), axis=1)  # beyond the cell it ends on the way there
        return Z + step * (_INSIDE / xp.where(far > _INSIDE, far, xp.full_like(far, _INSIDE)))[:, None]

    @cached_property
    def _readers(self) -> np.ndarray:
        """(JJ')⁺J of each unit, (u, 2, d): a row's least-squares coordinates on the tangent plane."""
        J = tangents(self.grid, self.book.W)
        return np.linalg.pinv(J @ J.swapaxes(1, 2), rcond=1e-10, hermitian=True) @ J


@dataclass(frozen=True)
class FromGrid:
    """The prototype of the unit nearest to a place, (m, d); smooth: along its tangent plane to the place itself."""

    units: np.ndarray  # (u, d)
    grid: Grid
    smooth: bool = False

    def __call__(self, Z: Array) -> Array:
        """Of one slab."""
        book = Codebook.of(self.grid.places)
        return _joined([_told(like(self._row(near, book), Z), near.Y) for near in book.search(Z)])

    def _row(self, near: Nearest, book: Codebook) -> Array:
        xp = xp_of(near.Y)
        X = xp.take(like(self.units, near.Y), near.first, axis=0)
        if not self.smooth:
            return X
        off = book.frame.unit * (near.Y - xp.take(like(book.W, near.Y), near.first, axis=0))  # (m, 2)
        J = xp.take(like(tangents(self.grid, self.units), near.Y), near.first, axis=0)  # (m, 2, d)
        return X + xp.sum(off[:, :, None] * J, axis=1)


def tangents(grid: Grid, units: np.ndarray) -> np.ndarray:
    """Return J (u, 2, d): how the prototypes change along the grid, by least squares over the neighbours."""
    return grid.slopes.swapaxes(1, 2) @ (units[grid.neighbors] - units[:, None, :])


def _told(Z: Array, Y: Array) -> Array:
    """Z, with NaN for rows that are not finite: they must be told."""
    xp = xp_of(Z)
    finite = xp.isfinite(xp.sum(Y, axis=1))
    return Z if bool(xp.all(finite)) else xp.where(finite[:, None], Z, xp.full_like(Z, xp.nan))


def _joined(parts: list[Array]) -> Array:
    return parts[0] if len(parts) == 1 else xp_of(parts[0]).concat(parts, axis=0)

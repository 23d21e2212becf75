"""Self-organizing maps in batches: all rows are assigned to their nearest units, then the grid smooths the means."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np

from lowland.arrays.namespace import Array, device_of, like, to_numpy, xp_of
from lowland.blocks.codebooks.codebook import Codebook, Nearest, in_low_slabs
from lowland.blocks.codebooks.grids import Grid, Neighborhood
from lowland.blocks.optimize.outcome import Outcome
from lowland.blocks.statistics.uniform_scaling import UniformScaling
from lowland.data.rows import Rows
from lowland.run.local import blas_on_one_thread
from lowland.run.run import Run

Decay = Literal["exponential", "linear", "inverse"]

_SAME = 1e-13  # fraction by which the errors of the same map may differ


# --- the schedule and the start ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Schedule:
    """How the radius, and the rate of online training, fall from first to last."""

    epochs: int
    radius: tuple[float, float]
    rate: tuple[float, float] = (0.05, 0.01)
    decay: Decay = "exponential"
    neighborhood: Neighborhood = "gaussian"
    convergence_epochs: int = 0  # further epochs of batch training at the last radius, at most
    tol: float = 0.0


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


def principal_plane(grid: Grid, mean: np.ndarray, axes: np.ndarray, deviations: np.ndarray) -> np.ndarray:
    """Return prototypes laid out on the plane of the first two axes, (u, d), two standard deviations to each side.

    The longer side of the grid lies along the first axis; ``axes`` is (d, k), k at most 2.
    """
    extent = grid.positions.max(axis=0)
    sides = np.where(extent > 0, 4 * grid.positions / np.where(extent > 0, extent, 1.0) - 2, 0.0)  # (u, 2)
    if extent[1] > extent[0]:
        sides = sides[:, ::-1]
    k = axes.shape[1]
    return mean + (sides[:, :k] * deviations[:k]) @ axes.T


# --- what a pass sums -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class UnitSums:
    """The rows nearest to each unit: their sum and count; and the errors of the map."""

    sums: np.ndarray  # (u, d) float64, scaled
    counts: np.ndarray  # (u,)
    error: float  # sum of the distances of rows to their units
    torn: float  # rows whose two nearest units are no neighbors on the grid

    def __add__(self, other: Self) -> Self:
        """Of two parts."""
        return type(self)(
            self.sums + other.sums, self.counts + other.counts, self.error + other.error, self.torn + other.torn
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
        sums, counts, error, torn = np.zeros(self.book.W.shape), np.zeros(self.grid.units), 0.0, 0.0
        for near in self.book.search(X):
            add = self._add_on_host if on_host else self._add
            e, a = add(near, sums, counts)
            error, torn = error + e, torn + a
        return UnitSums(sums, counts, error * self.book.scaling.unit, torn)

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
        apart = self.grid.positions[first] - self.grid.positions[second]
        torn = np.count_nonzero(np.vecdot(apart, apart) > self.grid.neighbor_distance**2)
        return float(np.sqrt(np.vecdot(off, off)).sum()), float(torn)

    def _add(self, near: Nearest, sums: np.ndarray, counts: np.ndarray) -> tuple[float, float]:
        """By a product with the table of who won whom, whose order of summation is fixed on every device."""
        xp = xp_of(near.Y)
        numbers = xp.arange(self.grid.units, device=device_of(near.Y))[None, :]
        M = xp.astype(near.first[:, None] == numbers, near.Y.dtype)  # (m, u)
        sums += to_numpy(M.T @ near.Y)
        counts += to_numpy(xp.sum(M, axis=0))
        off = near.Y - xp.take(like(self.book.W, near.Y), near.first, axis=0)
        places = like(self.grid.positions, near.Y)
        apart = xp.take(places, near.first, axis=0) - xp.take(places, near.second, axis=0)
        beyond = xp.sum(apart * apart, axis=1) > self.grid.neighbor_distance**2
        return float(xp.sum(xp.sqrt(xp.sum(off * off, axis=1)))), float(xp.sum(xp.astype(beyond, near.Y.dtype)))


def quantization_sums(rows: Rows, run: Run, prototypes: Array, grid: Grid) -> UnitSums:
    """Return what a map sums over rows: those nearest to each unit, and the errors of the map."""
    with blas_on_one_thread():
        return run.fold(in_low_slabs(rows), SumByUnit(Codebook.of(prototypes), grid), name="judging the map")


# --- training ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class TrainedMap:
    """A trained map, what it sums over the rows, and how it got there."""

    prototypes: np.ndarray  # (u, d) in the precision of the rows
    sums: UnitSums
    radii: tuple[float, ...]  # of each epoch; online: the first and the last
    outcome: (
        Outcome  # the trace holds the quantization error at the start and after each epoch; online: in each, at the end
    )


def train_in_batches(
    rows: Rows, run: Run, grid: Grid, scaling: UniformScaling, start: np.ndarray, schedule: Schedule
) -> TrainedMap:
    """Train with all rows at once: one fold per epoch finds the nearest units, and the grid smooths the means.

    The fold also gives the quantization error of the map it began with, so that the last one is that of the result.
    Prototypes are float64, scaled, until the end; where rows are float32 the rounded ones are measured once more.
    """
    with blas_on_one_thread():  # a tile is too small to be divided: threads would wait for each other at every product
        return _trained(in_low_slabs(rows), run, grid, scaling, start, schedule)


def _trained(
    rows: Rows, run: Run, grid: Grid, scaling: UniformScaling, start: np.ndarray, schedule: Schedule
) -> TrainedMap:
    W, trace, radii = scaling.apply(start), [], []
    most = schedule.epochs + schedule.convergence_epochs
    converged, why = schedule.convergence_epochs == 0, "the schedule has ended"
    for epoch in run.iterate("training the map", most + 1):
        book = Codebook(scaling, W)
        sums: UnitSums = run.fold(rows, SumByUnit(book, grid), name="one epoch")
        trace.append(sums.error / sums.rows)
        if epoch > schedule.epochs and abs(trace[-1] - trace[-2]) <= schedule.tol * trace[-1]:
            converged, why = True, f"an epoch changed the quantisation error by less than {schedule.tol:g} of it"
            break
        if any(abs(trace[-1] - q) <= _SAME * q for q in trace[schedule.epochs : -1]):
            converged, why = False, "its epochs began to repeat themselves"  # maps that lead to each other
            break
        if epoch == most:
            if schedule.convergence_epochs:
                why = f"{most} epochs were over"
            break
        t = min(1.0, epoch / max(1, schedule.epochs - 1))
        radii.append(float(decayed(schedule.radius, t, schedule.decay)))
        W = smoothed_means(sums, W, grid, radii[-1], schedule.neighborhood)
    prototypes = book.prototypes.astype(rows.dtype)
    if prototypes.dtype != np.float64:
        sums = quantization_sums(rows, run, prototypes, grid)
        trace[-1] = sums.error / sums.rows
    outcome = Outcome.of_trace("batch", trace, why, converged=converged)
    return TrainedMap(prototypes, sums, tuple(radii), outcome)


def smoothed_means(sums: UnitSums, W: np.ndarray, grid: Grid, radius: float, neighborhood: Neighborhood) -> np.ndarray:
    """Return HS / Hc, (u, d): the mean of the rows won nearby; a unit that none were won near to stays where it is."""
    both = grid.smoothed(np.column_stack([sums.sums, sums.counts]), radius, neighborhood)
    weight = both[:, -1:]
    some = weight > np.finfo(np.float64).tiny * 1e16
    return np.where(some, both[:, :-1] / np.where(some, weight, 1.0), W)

"""Batch training of self-organizing maps: assign all rows to their best-matching units, then smooth the means."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np

from lowland.arrays.blas_threads import blas_on_one_thread
from lowland.arrays.namespace import Array, device_of, like, to_numpy, xp_of
from lowland.data.rows import Rows
from lowland.math.optimize.outcome import STOPPED, Outcome, Watch
from lowland.math.prototypes.codebook import Codebook, Nearest, in_low_slabs
from lowland.math.prototypes.grids import Grid, Neighborhood
from lowland.math.statistics.rescaling import UniformScaling
from lowland.run.run import Run

Decay = Literal["exponential", "linear", "inverse"]

_SAME = 1e-13  # relative difference of the errors of equal maps


# --- schedule and initialization --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Schedule:
    """Decay of the radius and, in online training, of the learning rate."""

    epochs: int
    radius: tuple[float, float]
    rate: tuple[float, float] = (0.05, 0.01)
    decay: Decay = "exponential"
    neighborhood: Neighborhood = "gaussian"
    convergence_epochs: int = 0  # maximum number of further batch epochs at the final radius
    tol: float = 0.0


def decayed(ends: tuple[float, float], t: Any, decay: Decay) -> Any:
    """Return the value at time t, from the initial one at t = 0 to the final one at t = 1."""
    first, last = ends
    match decay:
        case "linear":
            return first + (last - first) * t
        case "inverse":
            return first / (1 + (first / last - 1) * t)
        case _:
            return first * (last / first) ** t


def principal_plane(grid: Grid, mean: np.ndarray, axes: np.ndarray, deviations: np.ndarray) -> np.ndarray:
    """Return prototypes on the plane of the first two axes, (u, d), up to two standard deviations from the mean.

    The longer side of the grid follows the first axis. ``axes`` is (d, k) with k at most 2.
    """
    extent = grid.positions.max(axis=0)
    sides = np.where(extent > 0, 4 * grid.positions / np.where(extent > 0, extent, 1.0) - 2, 0.0)  # (u, 2)
    if extent[1] > extent[0]:
        sides = sides[:, ::-1]
    k = axes.shape[1]
    return mean + (sides[:, :k] * deviations[:k]) @ axes.T


# --- statistics of a pass ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class UnitSums:
    """Sum and count of the rows of each unit, and the errors of the map."""

    sums: np.ndarray  # (u, d) float64, scaled
    counts: np.ndarray  # (u,)
    error: float  # sum of distances of the rows to their prototypes
    torn: float  # number of rows whose two nearest units are not neighbors on the grid

    def __add__(self, other: Self) -> Self:
        """Merge two parts."""
        return type(self)(
            self.sums + other.sums, self.counts + other.counts, self.error + other.error, self.torn + other.torn
        )

    def is_finite(self) -> bool:
        """Whether the sums contain no NaN, infinity or overflow."""
        return math.isfinite(self.error)

    @property
    def rows(self) -> float:
        """Number of rows."""
        return float(self.counts.sum())


@dataclass(frozen=True)
class SumByUnit:
    """Statistic of a pass: the ``UnitSums`` of a slab."""

    book: Codebook
    grid: Grid

    def __call__(self, X: Array) -> UnitSums:
        """Compute for one slab."""
        on_host = isinstance(X, np.ndarray)
        sums, counts, error, torn = np.zeros(self.book.W.shape), np.zeros(self.grid.units), 0.0, 0.0
        for near in self.book.search(X):
            add = self._add_on_host if on_host else self._add
            e, a = add(near, sums, counts)
            error, torn = error + e, torn + a
        return UnitSums(sums, counts, error * self.book.scaling.unit, torn)

    def _add_on_host(self, near: Nearest, sums: np.ndarray, counts: np.ndarray) -> tuple[float, float]:
        """Add rows sorted by unit. A numba kernel would need memory that the slabs of a file need more."""
        first, second, Y = near
        if not len(Y):
            return 0.0, 0.0
        order = np.argsort(first, kind="stable")
        units = first[order]
        starts = np.flatnonzero(np.diff(units, prepend=-1))
        sums[units[starts]] += np.add.reduceat(Y[order], starts, axis=0)
        counts += np.bincount(first, minlength=len(counts))
        off = Y - self.book.W[first]
        apart = self.grid.positions[first] - self.grid.positions[second]
        torn = np.count_nonzero(np.vecdot(apart, apart) > self.grid.neighbor_distance**2)
        return float(np.sqrt(np.vecdot(off, off)).sum()), float(torn)

    def _add(self, near: Nearest, sums: np.ndarray, counts: np.ndarray) -> tuple[float, float]:
        """Add by a product with the assignment matrix: its order of summation is fixed on every device."""
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
    """Return the sums by unit and the errors of a map on the rows."""
    with blas_on_one_thread():
        return run.fold(in_low_slabs(rows), SumByUnit(Codebook.of(prototypes), grid), name="evaluating the map")


# --- training ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class TrainedMap:
    """A trained map, its sums over the rows, and the outcome of training."""

    prototypes: np.ndarray  # (u, d) in the precision of the rows
    sums: UnitSums
    radii: tuple[float, ...]  # of each epoch; online: the initial and the final one
    outcome: Outcome  # trace: quantization error at the initialization and after each epoch; online: in each epoch


def train_in_batches(
    rows: Rows,
    run: Run,
    grid: Grid,
    scaling: UniformScaling,
    start: np.ndarray,
    schedule: Schedule,
    watch: Watch | None = None,
) -> TrainedMap:
    """Train with all rows: one pass per epoch finds the best-matching units, then the means are smoothed on the grid.

    A pass also gives the quantization error of the map it started with, so the last pass evaluates the result.
    Prototypes are kept in float64, scaled. For float32 rows the rounded prototypes are evaluated in one more pass.
    ``watch`` sees the prototypes and their error after each epoch, and stops by returning False.
    """
    with blas_on_one_thread():  # tiles are too small to be split among BLAS threads
        return _trained(in_low_slabs(rows), run, grid, scaling, start, schedule, watch)


def _trained(
    rows: Rows,
    run: Run,
    grid: Grid,
    scaling: UniformScaling,
    start: np.ndarray,
    schedule: Schedule,
    watch: Watch | None,
) -> TrainedMap:
    W, trace, radii = scaling.apply(start), [], []
    most = schedule.epochs + schedule.convergence_epochs
    converged, why = schedule.convergence_epochs == 0, "the schedule ended"
    for epoch in run.iterate("training the map", most + 1):
        book = Codebook(scaling, W)
        sums: UnitSums = run.fold(rows, SumByUnit(book, grid), name="one epoch")
        trace.append(sums.error / sums.rows)
        if watch is not None and watch(epoch, book.prototypes, trace[-1]) is False:
            converged, why = False, STOPPED
            break
        if epoch > schedule.epochs and abs(trace[-1] - trace[-2]) <= schedule.tol * trace[-1]:
            converged, why = True, f"an epoch changed the quantization error by less than the fraction {schedule.tol:g}"
            break
        if any(abs(trace[-1] - q) <= _SAME * q for q in trace[schedule.epochs : -1]):
            converged, why = False, "the epochs repeat a cycle of maps"
            break
        if epoch == most:
            if schedule.convergence_epochs:
                why = f"it stopped after {most} epochs"
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
    """Return HS / Hc, (u, d): weighted means of the rows of nearby units. Without any, a prototype stays in place."""
    both = grid.smoothed(np.column_stack([sums.sums, sums.counts]), radius, neighborhood)
    weight = both[:, -1:]
    some = weight > np.finfo(np.float64).tiny * 1e16
    return np.where(some, both[:, :-1] / np.where(some, weight, 1.0), W)

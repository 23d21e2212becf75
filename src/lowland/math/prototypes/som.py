"""Self-organizing maps: batch and online training, and rows as positions on the grid."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np

from lowland.arrays.blas_threads import blas_on_one_thread
from lowland.arrays.namespace import Array, like, to_numpy, xp_of
from lowland.data.rows import Rows
from lowland.math.optimize.outcome import STOPPED, Outcome, Watch
from lowland.math.prototypes.codebook import Codebook, Nearest, PrototypeSums, SumByPrototype, in_small_slabs
from lowland.math.prototypes.grids import Grid, Neighborhood
from lowland.math.statistics.rescaling import UniformScaling
from lowland.run.run import Run

Decay = Literal["exponential", "linear", "inverse"]

_SAME = 1e-13  # relative difference of the errors of equal maps
_STEPS = 1 << 14  # rows of online training between two checks for a stop
_INSIDE = 0.499  # largest distance from the center of a cell: a margin at the border for float32 rounding error


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


def decay_value(ends: tuple[float, float], t: Any, decay: Decay) -> Any:
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


# --- training ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class TrainedMap:
    """A trained map, its sums over the rows, and the outcome of training."""

    prototypes: np.ndarray  # (u, d) in the precision of the rows
    errors: MapErrors
    radii: tuple[float, ...]  # of each epoch; online: the initial and the final one
    outcome: Outcome  # trace: quantization error at the initialization and after each epoch; online: in each epoch


@dataclass(frozen=True)
class MapErrors:
    """How well a map fits the rows."""

    hits: np.ndarray  # (u,) number of rows of each unit
    quantization: float  # mean distance of a row to the prototype of its best-matching unit
    topographic: float  # fraction of rows whose two nearest units are not neighbors on the grid

    @classmethod
    def of(cls, sums: PrototypeSums, unit: float) -> MapErrors:
        """Return the errors from sums over the rows, which are divided by ``unit``."""
        return cls(sums.counts, sums.distances * unit / sums.rows, sums.torn / sums.rows)


def map_errors(rows: Rows, run: Run, prototypes: Array, grid: Grid) -> MapErrors:
    """Return the errors of a map on the rows."""
    book = Codebook.of(prototypes)
    with blas_on_one_thread():
        sums = run.fold(in_small_slabs(rows), SumByPrototype(book, grid), name="evaluating the map")
    return MapErrors.of(sums, book.scaling.unit)


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
    W, trace, radii = scaling.apply(start), [], []
    rows = in_small_slabs(rows)
    most = schedule.epochs + schedule.convergence_epochs
    converged, why = schedule.convergence_epochs == 0, "the schedule ended"
    with blas_on_one_thread():  # tiles are too small to be split among BLAS threads
        for epoch in run.iterate("training the map", most + 1):
            book = Codebook(scaling, W)
            sums: PrototypeSums = run.fold(rows, SumByPrototype(book, grid), name="one epoch")
            errors = MapErrors.of(sums, scaling.unit)
            trace.append(errors.quantization)
            if watch is not None and watch(epoch, book.prototypes, trace[-1]) is False:
                converged, why = False, STOPPED
                break
            if epoch > schedule.epochs and abs(trace[-1] - trace[-2]) <= schedule.tol * trace[-1]:
                converged = True
                why = f"an epoch changed the quantization error by less than the fraction {schedule.tol:g}"
                break
            if any(abs(trace[-1] - q) <= _SAME * q for q in trace[schedule.epochs : -1]):
                converged, why = False, "the epochs repeat a cycle of maps"
                break
            if epoch == most:
                if schedule.convergence_epochs:
                    why = f"it stopped after {most} epochs"
                break
            t = min(1.0, epoch / max(1, schedule.epochs - 1))
            radii.append(float(decay_value(schedule.radius, t, schedule.decay)))
            W = smoothed_means(sums, W, grid, radii[-1], schedule.neighborhood)
    prototypes = book.prototypes.astype(rows.dtype)
    if prototypes.dtype != np.float64:
        errors = map_errors(rows, run, prototypes, grid)
        trace[-1] = errors.quantization
    outcome = Outcome.of_trace("batch", trace, why, converged=converged)
    return TrainedMap(prototypes, errors, tuple(radii), outcome)


def smoothed_means(
    sums: PrototypeSums, W: np.ndarray, grid: Grid, radius: float, neighborhood: Neighborhood
) -> np.ndarray:
    """Return HS / Hc, (u, d): weighted means of the rows of nearby units. Without any, a prototype stays in place."""
    both = grid.smoothed(np.column_stack([sums.sums, sums.counts]), radius, neighborhood)
    weight = both[:, -1:]
    some = weight > np.finfo(np.float64).tiny * 1e16
    return np.where(some, both[:, :-1] / np.where(some, weight, 1.0), W)


def train_online(
    rows: Rows,
    run: Run,
    grid: Grid,
    scaling: UniformScaling,
    start: np.ndarray,
    schedule: Schedule,
    rng: np.random.Generator,
    watch: Watch | None = None,
) -> TrainedMap:
    """Train with one row at a time, shuffled in each epoch: it moves its best-matching unit and the units near it."""
    from lowland.kernels.prototypes import learn_rows

    X = to_numpy(run.to_array(rows, "Online training"))
    W = np.ascontiguousarray(scaling.apply(start).T, dtype=X.dtype)  # (d, u)
    row, column = np.divmod(np.arange(grid.units), grid.columns)
    halves = 2 * column + (row % 2 if grid.topology == "hexagonal" else 0)
    n, steps = len(X), max(1, len(X) * schedule.epochs - 1)

    def prototypes() -> np.ndarray:
        return Codebook(scaling, W.T.astype(np.float64)).prototypes

    bubble, trace = schedule.neighborhood == "bubble", []
    for epoch in run.iterate("training the map", schedule.epochs):
        order, error = rng.permutation(n), 0.0
        with run.stage("one epoch", n) as stage:
            for begin in range(0, n, _STEPS):
                some = order[begin : begin + _STEPS]
                t = (epoch * n + begin + np.arange(len(some))) / steps
                radii, rates = (decay_value(ends, t, schedule.decay) for ends in (schedule.radius, schedule.rate))
                error += learn_rows(
                    X, some, scaling.shift, scaling.unit, W, halves, row, grid.height, radii, rates, bubble
                )
                stage.advance(len(some))
        trace.append(error * scaling.unit / n)
        if watch is not None and watch(epoch + 1, prototypes(), trace[-1]) is False:
            break
    stopped = len(trace) < schedule.epochs
    found = prototypes().astype(X.dtype)
    errors = map_errors(rows, run, found, grid)
    trace.append(errors.quantization)
    why = STOPPED if stopped else "the schedule ended"
    outcome = Outcome.of_trace("online", trace, why, converged=not stopped)
    return TrainedMap(found, errors, schedule.radius, outcome)


# --- rows to positions on the grid and back ---------------------------------------------------------------------------


@dataclass(frozen=True)
class GridPosition:
    """Position of the best-matching unit, (m, 2); smooth: position of the row inside the cell of the unit."""

    book: Codebook
    grid: Grid
    smooth: bool = False

    def __call__(self, X: Array) -> Array:
        """Map one slab."""
        return self.book.map_nearest(X, self._position)

    def _position(self, near: Nearest) -> Array:
        xp = xp_of(near.Y)
        Z = xp.take(like(self.grid.positions, near.Y), near.first, axis=0)
        if not self.smooth:
            return Z
        off = near.Y - xp.take(like(self.book.W, near.Y), near.first, axis=0)  # (m, d)
        projections = xp.take(like(self._projections, near.Y), near.first, axis=0)  # (m, 2, d)
        step = xp.sum(projections * off[:, None, :], axis=2)  # (m, 2)
        far = xp.max(xp.abs(step @ like(self.grid.cell_normals, step).T), axis=1)  # longer steps leave the cell
        return Z + step * (_INSIDE / xp.where(far > _INSIDE, far, xp.full_like(far, _INSIDE)))[:, None]

    @cached_property
    def _projections(self) -> np.ndarray:
        """(JJ')⁺J of each unit, (u, 2, d): least-squares coordinates of a row on the tangent plane."""
        J = tangents(self.grid, self.book.W)
        return np.linalg.pinv(J @ J.swapaxes(1, 2), rcond=1e-10, hermitian=True) @ J


@dataclass(frozen=True)
class PrototypeAt:
    """Prototype of the unit nearest to a position, (m, d); smooth: moved along its tangent plane to the position."""

    prototypes: np.ndarray  # (u, d)
    grid: Grid
    smooth: bool = False

    def __call__(self, Z: Array) -> Array:
        """Map one slab."""
        book, xp = Codebook.of(self.grid.positions), xp_of(Z)

        def prototype(near: Nearest) -> Array:
            X = xp.take(like(self.prototypes, near.Y), near.first, axis=0)
            if not self.smooth:
                return X
            off = book.scaling.unit * (near.Y - xp.take(like(book.W, near.Y), near.first, axis=0))  # (m, 2)
            J = xp.take(like(tangents(self.grid, self.prototypes), near.Y), near.first, axis=0)  # (m, 2, d)
            return X + xp.sum(off[:, :, None] * J, axis=1)

        return book.map_nearest(Z, prototype)


def tangents(grid: Grid, prototypes: np.ndarray) -> np.ndarray:
    """Return J (u, 2, d): derivatives of the prototypes along the grid, by least squares over the neighbors."""
    return grid.slopes.swapaxes(1, 2) @ (prototypes[grid.neighbors] - prototypes[:, None, :])

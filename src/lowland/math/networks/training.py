"""Training of networks: with all rows by limited-memory BFGS, or with mini-batches by Adam.

Rows are in standard units, some of them are held out for validation, and the rest are shuffled. The validation rows and
the mini-batches depend only on the seed and the shape: a file, chunks or an array give the same mini-batches.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

import numpy as np

from lowland.arrays.blas_threads import blas_on_one_thread
from lowland.arrays.engines import AdamSteps, Engine, torch_on
from lowland.arrays.namespace import Array, as_double, like, on_accelerator, take, to_numpy, xp_of
from lowland.data.rows import Rows
from lowland.math.networks.network import NetworkLoss
from lowland.math.optimize.outcome import STOPPED, Divergence, Outcome, Watch
from lowland.math.statistics.moments import ColumnMoments
from lowland.math.statistics.rescaling import UniformScaling
from lowland.run.run import Run

WINDOW_BYTES = 2**27  # size of a window of rows within which they are shuffled
_FEWEST = 5  # validation rows: fewer are not representative
_GRAIN = 2.0**-12  # to which center and unit are rounded, as a fraction of the spread
_MEMORY = 20  # correction pairs kept by L-BFGS
_LEAST = 1e-10  # relative decrease of the loss below which L-BFGS stops
_FLAT = 1e-9  # largest entry of the gradient at which L-BFGS stops
LITTLE = 2**25  # weights times rows per step up to which numpy on one thread is the fastest
_AT_ONCE, _AT_ONCE_ON_CPU = 8192, 512  # rows evaluated at a time: many fill a device, few stay in the cache of a core
_WATCHED = 10  # iterations of L-BFGS between two looks at the weights
_WARM = 0.15  # fraction of the epochs in which the one-cycle learning rate increases
_SLOW = 0.1  # fraction of the maximum learning rate below which the loss hardly changes


# --- rows in standard units -------------------------------------------------------------------------------------------


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
    grain = 2.0 ** math.floor(math.log2(spread)) * _GRAIN if spread > 0 else 1.0
    center = np.round(mean / grain) * grain if spread > 0 else mean
    return UniformScaling(center, round(spread / grain) * grain or 1.0)


def _scaled_rows(X: Array, scaling: UniformScaling, dtype: str) -> Array:
    """Scale rows, in the precision of the training."""
    Y = scaling.apply(X)
    xp = xp_of(Y)
    return xp.astype(Y, getattr(xp, dtype), copy=False)


@dataclass(frozen=True)
class Noise:
    """Corruption of the rows for a denoising autoencoder (Vincent et al. 2010)."""

    kind: Literal["gaussian", "masking"]
    level: float  # gaussian: standard deviation, in standard units; masking: fraction of the values

    def corrupt(self, Y: Array, rng: np.random.Generator) -> Array:
        """Return the rows with noise, drawn on the CPU so that a seed gives the same noise on every device."""
        if self.kind == "gaussian":
            return Y + like(self.level * rng.standard_normal(tuple(Y.shape), dtype=np.float32), Y)
        return Y * like((rng.random(tuple(Y.shape), dtype=np.float32) >= self.level).astype(np.float32), Y)


# --- mini-batches -----------------------------------------------------------------------------------------------------


def choose_validation_rows(n: int, fraction: float, most: int, rng: np.random.Generator) -> np.ndarray:
    """Return the indices of the validation rows, ascending: at least five, but at most a fifth of a small table."""
    count = min(max(int(fraction * n), min(_FEWEST, n // 5)), most) if fraction > 0 else 0
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
        count = math.ceil(self.n_training / max(self.size, WINDOW_BYTES // (4 * self.rows.d)))
        return math.ceil(self.n_training / count)

    @property
    def steps_per_epoch(self) -> int:
        """Mini-batches per epoch."""
        whole, rest = divmod(self.n_training, self.window)
        return whole * self._batches_of(self.window) + (self._batches_of(rest) if rest else 0)

    def validation_rows(self) -> Array | None:
        """Return the validation rows, (v, d); None if there are none."""
        if not len(self.validation):
            return None
        return _join([V for _, V in self._read() if V is not None])

    def training_rows(self) -> Array:
        """Return the training rows, (n - v, d)."""
        return _join([Y for Y, _ in self._read()])

    def training_slabs(self, whole: Array | None) -> Iterator[Array]:
        """Yield all training rows once, in order; ``whole``: the result of ``training_rows``."""
        yield from (Y for Y, _ in self._read()) if whole is None else (whole,)

    def epoch(self, rng: np.random.Generator, whole: Array | None) -> Iterator[Array]:
        """Yield all training rows once, shuffled window by window.

        ``whole`` is the result of ``training_rows``. None means read the rows again. A window is split into
        mini-batches of about equal size: a small last one would have the same influence as the others.
        """
        for Y in windows(self.training_slabs(whole), self.window):
            xp, m = xp_of(Y), Y.shape[0]
            order = like(rng.permutation(m), Y, xp.int64)
            borders = np.linspace(0, m, self._batches_of(m) + 1).round().astype(int)
            for start, stop in zip(borders[:-1].tolist(), borders[1:].tolist(), strict=True):
                yield xp.take(Y, order[start:stop], axis=0)

    def _batches_of(self, m: int) -> int:
        return max(1, round(m / self.size))

    def _read(self) -> Iterator[tuple[Array, Array | None]]:
        """Yield the training and the validation rows slab by slab, on the device of the engine."""
        start = 0
        scale = partial(_scaled_rows, scaling=self.scaling, dtype=self.engine.dtype)
        for X in self.run.map_rows(scale, self.rows, name="one epoch"):
            Y = self.engine.array(X)
            here = self.validation[slice(*np.searchsorted(self.validation, [start, start + Y.shape[0]]))] - start
            start += Y.shape[0]
            if len(here):
                rest = np.delete(np.arange(Y.shape[0]), here)
                yield take(Y, rest), take(Y, here)
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
                yield _join(held)
                held, count = [], 0
    if held:
        yield _join(held)


def _join(parts: list[Array]) -> Array:
    return parts[0] if len(parts) == 1 else xp_of(parts[0]).concat(parts, axis=0)


# --- early stopping ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class TrainingSchedule:
    """Learning rate schedule and stopping rule."""

    max_iter: int  # epochs, or iterations with all rows
    patience: int  # iterations without improvement before stopping
    tol: float  # relative decrease of the loss that counts as an improvement
    rate: float = 1e-3
    decay: Literal["one-cycle", "cosine", "constant"] = "one-cycle"

    def rate_at(self, part: float) -> float:
        """Return the learning rate after a fraction of all epochs, from 0 to 1."""
        if self.decay == "constant":
            return self.rate
        if self.decay == "cosine":
            return self.rate * 0.5 * (1 + math.cos(math.pi * part))
        if part < _WARM:
            return self.rate * (0.05 + 0.95 * part / _WARM)
        return self.rate * 0.5 * (1 + math.cos(math.pi * (part - _WARM) / (1 - _WARM)))


@dataclass(frozen=True)
class TrainingResult:
    """Weights and the outcome of training; losses are fractions of the variance."""

    theta: Array
    loss: float  # mean squared reconstruction error of the training rows
    validation_loss: float | None  # the same of the validation rows
    validation_losses: tuple[float, ...]  # after each iteration; empty without validation rows
    best: int  # the iteration whose weights these are, counted from 1
    outcome: Outcome  # the trace holds what each iteration minimized


class _Monitor:
    """Losses after each iteration, the weights with the lowest validation loss, and early stopping."""

    def __init__(self, loss: NetworkLoss, schedule: TrainingSchedule, batches: MiniBatches, watch: Watch | None):
        self.loss, self.schedule, self.engine, self.watch = loss, schedule, batches.engine, watch
        self.held = batches.validation_rows()
        self.trace: list[float] = []
        self.validation_losses: list[float] = []
        self.best, self.anchor, self.waited, self.when = math.inf, math.inf, 0, 0
        self.theta: Any = None
        self.stopped = False  # by the caller's watch

    @property
    def watched(self) -> list[float]:
        """The losses that early stopping looks at."""
        return self.trace if self.held is None else self.validation_losses

    @property
    def patience_ended(self) -> bool:
        return self.waited >= self.schedule.patience

    def record(self, value: float, theta: Any, *, every: int = 1, informative: bool = True) -> bool:
        """Record the losses of an iteration; return whether training should stop."""
        self.trace.append(value)
        if self.held is not None:
            self.validation_losses.append(mean_loss(self.loss, self.engine.array(theta), [self.held]))
        value, when = self.watched[-1], len(self.trace)
        if value < self.best:
            self.best, self.when = value, when
            if self.held is not None:
                self.theta = theta.copy() if isinstance(theta, np.ndarray) else theta.clone()
        if value < self.anchor * (1 - self.schedule.tol) or self.anchor == math.inf:
            self.anchor, self.waited = value, 0
        elif informative:
            self.waited += 1
        if self.watch is not None and (when - 1) % every == 0:
            self.stopped = self.watch(when, self.engine.array(theta), self.trace[-1]) is False
        return self.stopped or self.patience_ended

    def result(self, solver: str, theta: Any, parts: Iterable[Array], why: str, *, converged: bool) -> TrainingResult:
        """Return the best weights and the outcome; ``why`` training ended unless it was stopped before."""
        if self.patience_ended:
            which = "training loss" if self.held is None else "validation loss"
            why = f"the {which} did not decrease for {self.schedule.patience} iterations"
        if self.stopped:
            why, converged = STOPPED, False
        theta, when = (theta, len(self.trace)) if self.theta is None else (self.theta, self.when)
        plain, weights = replace(self.loss, sparsity=None), self.engine.array(theta)
        validation = None if self.held is None else mean_loss(plain, weights, [self.held])
        outcome = Outcome(solver, "", len(self.trace), converged, tuple(self.trace), why)
        error = mean_loss(plain, weights, parts)
        return TrainingResult(theta, error, validation, tuple(self.validation_losses), when, outcome)


def mean_loss(loss: NetworkLoss, theta: Array, parts: Iterable[Array]) -> float:
    """Return the mean loss of the rows, evaluated in parts."""
    total, count = 0.0, 0
    for Y in parts:
        lost: Any = 0.0
        size = _AT_ONCE if on_accelerator(Y) else _AT_ONCE_ON_CPU
        for start in range(0, Y.shape[0], size):
            rows = Y[start : start + size, :]
            lost = lost + loss.value(theta, rows) * rows.shape[0]  # no synchronization with a device
        total, count = total + float(lost), count + Y.shape[0]
    return total / count


# --- the two solvers --------------------------------------------------------------------------------------------------


@contextmanager
def threads_for(engine: Engine, work: int, run: Run) -> Iterator[None]:
    """Let the engine use the threads of the run, or one thread for small steps, where waiting would dominate."""
    threads = run.settings.thread_count if work > LITTLE else 1
    if engine.name == "numpy":
        with blas_on_one_thread() if threads == 1 else nullcontext():
            yield
    else:
        with torch_on(threads):
            yield


def train_by_lbfgs(
    start: np.ndarray,
    loss: NetworkLoss,
    batches: MiniBatches,
    schedule: TrainingSchedule,
    run: Run,
    watch: Watch | None = None,
) -> TrainingResult:
    """Minimize with all rows in every step by L-BFGS (Liu and Nocedal 1989), with early stopping.

    ``watch`` sees the weights and the loss every few iterations, and stops by returning False.
    """
    from scipy.optimize import minimize

    engine, Y = batches.engine, batches.training_rows()
    monitor = _Monitor(loss, schedule, batches, watch)

    def evaluate(theta: np.ndarray) -> tuple[float, np.ndarray]:
        value, g = loss.gradient(engine.array(theta), Y)
        return float(value), np.asarray(to_numpy(g), dtype=np.float64)

    with run.stage("training by L-BFGS", schedule.max_iter) as stage:

        def after_iteration(intermediate_result: Any) -> None:
            ends = monitor.record(float(intermediate_result.fun), intermediate_result.x, every=_WATCHED)
            stage.advance()
            if ends:
                stage.finish()
                raise StopIteration

        most = {"maxiter": schedule.max_iter, "maxfun": 4 * schedule.max_iter + 20}
        options = {**most, "maxcor": _MEMORY, "ftol": _LEAST, "gtol": _FLAT}
        found = minimize(evaluate, start, jac=True, method="L-BFGS-B", callback=after_iteration, options=options)
    out_of_steps = found.status == 1 and not monitor.patience_ended
    if not monitor.trace:  # the initialization is already a minimum
        monitor.record(float(found.fun), found.x)
    why = f"it reached the limit of {schedule.max_iter} iterations" if out_of_steps else "the loss no longer decreased"
    return monitor.result("lbfgs", found.x, [Y], why, converged=not out_of_steps)


def train_by_adam(
    start: np.ndarray,
    loss: NetworkLoss,
    batches: MiniBatches,
    noise: Noise | None,
    rng: np.random.Generator,
    schedule: TrainingSchedule,
    run: Run,
    watch: Watch | None = None,
) -> TrainingResult:
    """Minimize by Adam (Kingma and Ba 2015), one step per mini-batch; keep those with the lowest validation loss.

    ``watch`` sees the weights and the loss after each epoch, and stops by returning False.
    """
    theta = batches.engine.copy(start)
    adam, g, steps = AdamSteps(theta), xp_of(theta).empty_like(theta), batches.steps_per_epoch
    monitor = _Monitor(loss, schedule, batches, watch)
    whole = batches.training_rows() if batches.n_training * batches.rows.d * 4 <= run.budget / 4 else None
    with run.stage("training by Adam", schedule.max_iter) as stage, np.errstate(over="ignore", invalid="ignore"):
        for epoch in range(schedule.max_iter):
            total: Any = 0.0
            for i, Y in enumerate(batches.epoch(rng, whole)):
                value, _ = loss.gradient(theta, Y, None if noise is None else noise.corrupt(Y, rng), out=g)
                adam.step(g, schedule.rate_at((epoch + i / steps) / schedule.max_iter))
                total = total + value * Y.shape[0]  # a scalar of the library: no synchronization with a device
                stage.advance(1 / steps)
            # early stopping does not count epochs while the learning rate still increases or is close to zero
            part = epoch / schedule.max_iter
            informative = (schedule.decay != "one-cycle" or part >= _WARM) and (
                schedule.rate_at(part) >= _SLOW * schedule.rate
            )
            ends = monitor.record(float(total) / batches.n_training, theta, informative=informative)
            if not math.isfinite(monitor.watched[-1]):
                raise Divergence(f"the loss diverged in epoch {epoch + 1}")
            if ends:
                stage.finish()
                break
    planned = schedule.decay != "constant"  # a schedule ends as planned
    why = "the learning rate schedule ended" if planned else f"it reached the limit of {schedule.max_iter} epochs"
    return monitor.result(
        "adam", theta, batches.training_slabs(whole), why, converged=planned or monitor.patience_ended
    )

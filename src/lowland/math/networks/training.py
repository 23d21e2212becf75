"""Training of networks: with all rows by limited-memory BFGS, or with mini-batches by Adam."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from lowland.arrays.blas_threads import blas_on_one_thread
from lowland.arrays.engines import Engine, torch_on
from lowland.arrays.namespace import Array, on_accelerator, to_numpy
from lowland.math.networks.batches import MiniBatches, Noise
from lowland.math.networks.layers import NetworkLoss
from lowland.math.optimize.outcome import STOPPED, Divergence, Outcome, Watch
from lowland.run.run import Run

_MEMORY = 20  # correction pairs kept by L-BFGS
_LEAST = 1e-10  # relative decrease of the loss below which L-BFGS stops
_FLAT = 1e-9  # largest entry of the gradient at which L-BFGS stops
LITTLE = 2**25  # weights times rows per step up to which numpy on one thread is the fastest
_AT_ONCE, _AT_ONCE_ON_CPU = 8192, 512  # rows evaluated at a time: many fill a device, few stay in the cache of a core
_WATCHED = 10  # iterations of L-BFGS between two looks at the weights
_WARM = 0.15  # fraction of the epochs in which the one-cycle learning rate increases
_SLOW = 0.1  # fraction of the maximum learning rate below which the loss hardly changes


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

    def is_informative(self, part: float) -> bool:
        """Whether early stopping counts the epoch: not while the learning rate still increases or is close to zero."""
        return (self.decay != "one-cycle" or part >= _WARM) and self.rate_at(part) >= _SLOW * self.rate


@dataclass(frozen=True)
class TrainingResult:
    """Weights and the outcome of training; losses are fractions of the variance."""

    theta: Array
    loss: float  # mean squared reconstruction error of the training rows
    validation_loss: float | None  # the same of the validation rows
    validation_losses: tuple[float, ...]  # after each iteration; empty without validation rows
    best: int  # the iteration whose weights these are, counted from 1
    outcome: Outcome  # the trace holds what each iteration minimized


class _EarlyStopping:
    """The lowest loss so far, and the number of iterations without improvement."""

    def __init__(self, schedule: TrainingSchedule) -> None:
        self.schedule = schedule
        self.best, self.anchor, self.waited, self.when = math.inf, math.inf, 0, 0
        self.theta: Any = None

    def update(self, value: float, theta: Any, when: int, *, keep: bool, informative: bool = True) -> None:
        """Record the monitored loss; keep a copy of the weights if they are the best so far."""
        if value < self.best:
            self.best, self.when = value, when
            if keep:
                self.theta = theta.copy() if isinstance(theta, np.ndarray) else theta.clone()
        if value < self.anchor * (1 - self.schedule.tol) or self.anchor == math.inf:
            self.anchor, self.waited = value, 0
        elif informative:
            self.waited += 1

    @property
    def is_due(self) -> bool:
        return self.waited >= self.schedule.patience


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

    engine, Y, held = batches.engine, batches.training_rows(), batches.validation_rows()
    trace: list[float] = []
    validation_losses: list[float] = []
    stopping = _EarlyStopping(schedule)
    stopped: list[bool] = []

    def evaluate(theta: np.ndarray) -> tuple[float, np.ndarray]:
        value, g = loss.gradient(engine.array(theta), Y)
        return float(value), np.asarray(to_numpy(g), dtype=np.float64)

    with run.stage("training by L-BFGS", schedule.max_iter) as stage:

        def after_iteration(intermediate_result: Any) -> None:
            theta = intermediate_result.x
            trace.append(float(intermediate_result.fun))
            if held is not None:
                validation_losses.append(mean_loss(loss, engine.array(theta), [held]))
            stopping.update((validation_losses or trace)[-1], theta, len(trace), keep=held is not None)
            stage.advance()
            if watch is not None and len(trace) % _WATCHED == 1:
                stopped.append(watch(len(trace), engine.array(theta), trace[-1]) is False)
            if stopping.is_due or any(stopped):
                stage.finish()
                raise StopIteration

        most = {"maxiter": schedule.max_iter, "maxfun": 4 * schedule.max_iter + 20}
        options = {**most, "maxcor": _MEMORY, "ftol": _LEAST, "gtol": _FLAT}
        found = minimize(evaluate, start, jac=True, method="L-BFGS-B", callback=after_iteration, options=options)
    out_of_steps = found.status == 1 and not stopping.is_due and not any(stopped)
    if not trace:  # the initialization is already a minimum
        trace.append(float(found.fun))
    why = _no_gain(stopping, held) if stopping.is_due else "the loss no longer decreased"
    if out_of_steps:
        why = f"it reached the limit of {schedule.max_iter} iterations"
    if any(stopped):
        why = STOPPED
    theta, when = (found.x, len(trace)) if stopping.theta is None else (stopping.theta, stopping.when)
    errors = _errors(loss, engine.array(theta), [Y], held)
    outcome = Outcome("lbfgs", "", len(trace), not out_of_steps and not any(stopped), tuple(trace), why)
    return TrainingResult(theta, *errors, tuple(validation_losses), when, outcome)


def bytes_of_lbfgs(batches: MiniBatches, p: int) -> int:
    """Return the memory for training p weights with all rows in every step."""
    return 8 * (2 * batches.n * batches.rows.d + (2 * _MEMORY + 10) * p)


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
    needed = 4 * (2 * batches.window * batches.rows.d + 6 * len(start))
    run.require(needed, "A window of rows and the weights", "Choose narrower layers")
    engine = batches.engine
    theta, held = engine.copy(start), batches.validation_rows()
    whole = batches.training_rows() if batches.n_training * batches.rows.d * 4 <= run.budget / 4 else None
    adam, g = engine.adam(theta), engine.empty(theta.shape)
    steps, stopping, stopped = batches.steps_per_epoch, _EarlyStopping(schedule), False
    trace: list[float] = []
    validation_losses: list[float] = []
    with run.stage("training by Adam", schedule.max_iter) as stage, np.errstate(over="ignore", invalid="ignore"):
        for epoch in range(schedule.max_iter):
            total: Any = 0.0
            for i, Y in enumerate(batches.epoch(rng, whole)):
                value, _ = loss.gradient(theta, Y, None if noise is None else noise.corrupted(Y, rng), out=g)
                adam.step(g, schedule.rate_at((epoch + i / steps) / schedule.max_iter))
                total = total + value * Y.shape[0]  # a scalar of the library: no synchronization with a device
                stage.advance(1 / steps)
            trace.append(float(total) / batches.n_training)
            if held is not None:
                validation_losses.append(mean_loss(loss, theta, [held]))
            watched = (validation_losses or trace)[-1]
            if not math.isfinite(watched):
                raise Divergence(f"the loss diverged in epoch {epoch + 1}")
            informative = schedule.is_informative(epoch / schedule.max_iter)
            stopping.update(watched, theta, epoch + 1, keep=held is not None, informative=informative)
            stopped = watch is not None and watch(epoch + 1, theta, trace[-1]) is False
            if stopping.is_due or stopped:
                stage.finish()
                break
    best, when = (theta, len(trace)) if stopping.theta is None else (stopping.theta, stopping.when)
    ended = schedule.decay != "constant"
    why = "the learning rate schedule ended" if ended else f"it reached the limit of {schedule.max_iter} epochs"
    why = STOPPED if stopped else _no_gain(stopping, held) if stopping.is_due else why
    errors = _errors(loss, best, batches.training_slabs(whole), held)
    converged = (stopping.is_due or ended) and not stopped
    outcome = Outcome("adam", "", len(trace), converged, tuple(trace), why)
    return TrainingResult(best, *errors, tuple(validation_losses), when, outcome)


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


def _errors(loss: NetworkLoss, theta: Array, parts: Iterable[Array], held: Array | None) -> tuple[float, float | None]:
    """Return the training and the validation error without noise and sparsity penalty."""
    plain = replace(loss, sparsity=None)
    return mean_loss(plain, theta, parts), None if held is None else mean_loss(plain, theta, [held])


def _no_gain(stopping: _EarlyStopping, held: Array | None) -> str:
    which = "training loss" if held is None else "validation loss"
    return f"the {which} did not decrease for {stopping.schedule.patience} iterations"

"""Training a network: with all rows by limited-memory BFGS, or by Adam's steps with one batch after the other."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from lowland.arrays.engines import Engine, torch_on
from lowland.arrays.namespace import Array, to_numpy
from lowland.blocks.networks.batches import Feed, Noise
from lowland.blocks.networks.layers import NetworkLoss
from lowland.errors import ParameterError
from lowland.run.local import blas_on_one_thread
from lowland.run.run import Run

_MEMORY = 20  # pairs of steps and changes of gradient that are remembered
_LEAST = 1e-10  # of the variance: an iteration that gains less has arrived
_FLAT = 1e-9  # largest entry of a gradient that is none
LITTLE = 2**25  # products of a weight and a row in a step, up to which one thread of numpy is the fastest
_AT_ONCE = 8192  # rows judged at a time
_WARM = 0.15  # share of the epochs in which a one-cycle rate rises
_SLOW = 0.1  # share of the learning rate at which nothing is gained whatever there is to gain


@dataclass(frozen=True)
class TrainingSchedule:
    """How far to go at a time, and until when."""

    most: int  # epochs, or iterations with all rows
    patience: int  # iterations without gain after which training is over
    tol: float  # share of the loss so far that is a gain
    rate: float = 1e-3
    schedule: Literal["one-cycle", "cosine", "constant"] = "one-cycle"

    def rate_at(self, part: float) -> float:
        """Return the learning rate after a part of all epochs, from 0 to 1."""
        if self.schedule == "constant":
            return self.rate
        if self.schedule == "cosine":
            return self.rate * 0.5 * (1 + math.cos(math.pi * part))
        if part < _WARM:
            return self.rate * (0.05 + 0.95 * part / _WARM)
        return self.rate * 0.5 * (1 + math.cos(math.pi * (part - _WARM) / (1 - _WARM)))

    def tells(self, part: float) -> bool:
        """Whether a loss that does not fall there says anything: not while the rate still rises or is next to none."""
        return (self.schedule != "one-cycle" or part >= _WARM) and self.rate_at(part) >= _SLOW * self.rate


@dataclass(frozen=True)
class TrainingResult:
    """Weights and how they were found; losses are shares of the variance."""

    theta: Array
    lost: float  # mean squared error of the rows trained with, as these weights give them back
    held_lost: float | None  # the same of the rows held out
    trace: tuple[float, ...]  # what was minimised, of the rows trained with, an entry an iteration
    held_trace: tuple[float, ...]  # of the rows held out; empty where there are none
    best: int  # the iteration whose weights these are, counted from 1
    converged: bool
    reason: str

    @property
    def iterations(self) -> int:
        """How many there were."""
        return len(self.trace)


class _EarlyStopping:
    """The best so far, and how long there has been no gain worth the name."""

    def __init__(self, pace: TrainingSchedule) -> None:
        self.pace = pace
        self.best, self.anchor, self.waited, self.when = math.inf, math.inf, 0, 0
        self.theta: Any = None

    def look(self, value: float, theta: Any, when: int, *, keep: bool, tells: bool = True) -> None:
        """Note the loss of the rows that are watched; keep a copy of the weights where they are the best."""
        if value < self.best:
            self.best, self.when = value, when
            if keep:
                self.theta = theta.copy() if isinstance(theta, np.ndarray) else theta.clone()
        if value < self.anchor * (1 - self.pace.tol) or self.anchor == math.inf:
            self.anchor, self.waited = value, 0
        elif tells:
            self.waited += 1

    @property
    def tired(self) -> bool:
        return self.waited >= self.pace.patience


@contextmanager
def threads_for(engine: Engine, work: int, run: Run) -> Iterator[None]:
    """Let the engine use the threads of the run; for a step of little work one: waking others costs more than it."""
    threads = run.settings.thread_count if work > LITTLE else 1
    if engine.name == "numpy":
        with blas_on_one_thread() if threads == 1 else nullcontext():
            yield
    else:
        with torch_on(threads):
            yield


def train_whole(start: np.ndarray, loss: NetworkLoss, feed: Feed, pace: TrainingSchedule, run: Run) -> TrainingResult:
    """Minimise with all rows at every step by L-BFGS (Liu and Nocedal 1989), until the rows held out gain no more."""
    from scipy.optimize import minimize

    needed = 8 * (2 * feed.n * feed.rows.d + (2 * _MEMORY + 10) * len(start))
    run.require(needed, "Training with all rows at every step", "Choose solver='adam'")
    engine, Y, held = feed.engine, feed.all_rows(), feed.held_rows()
    trace: list[float] = []
    held_trace: list[float] = []
    watch = _EarlyStopping(pace)

    def evaluate(theta: np.ndarray) -> tuple[float, np.ndarray]:
        value, g = loss.gradient(engine.array(theta), Y)
        return float(value), np.asarray(to_numpy(g), dtype=np.float64)

    with run.stage("descending", pace.most) as stage:

        def told(intermediate_result: Any) -> None:
            theta = intermediate_result.x
            trace.append(float(intermediate_result.fun))
            if held is not None:
                held_trace.append(mean_loss(loss, engine.array(theta), [held]))
            watch.look((held_trace or trace)[-1], theta, len(trace), keep=held is not None)
            stage.advance()
            if watch.tired:
                stage.finish()
                raise StopIteration

        options = {"maxiter": pace.most, "maxfun": 4 * pace.most + 20, "maxcor": _MEMORY, "ftol": _LEAST, "gtol": _FLAT}
        found = minimize(evaluate, start, jac=True, method="L-BFGS-B", callback=told, options=options)
    out_of_steps = found.status == 1 and not watch.tired
    if not trace:  # nothing to gain from the start
        trace.append(float(found.fun))
    reason = _reason(watch, held) if watch.tired else "the loss falls no further"
    if out_of_steps:
        reason = f"max_iter={pace.most} iterations were done"
    theta, when = (found.x, len(trace)) if watch.theta is None else (watch.theta, watch.when)
    lost, held_lost = _errors(loss, engine.array(theta), [Y], held)
    return TrainingResult(theta, lost, held_lost, tuple(trace), tuple(held_trace), when, not out_of_steps, reason)


def train_by_batches(
    start: np.ndarray,
    loss: NetworkLoss,
    feed: Feed,
    noise: Noise | None,
    rng: np.random.Generator,
    pace: TrainingSchedule,
    run: Run,
) -> TrainingResult:
    """Minimise by Adam (Kingma and Ba 2015), a step a batch; the weights best for the rows held out are kept."""
    needed = 4 * (2 * feed.window * feed.rows.d + 6 * len(start))
    run.require(needed, "A window of rows and the weights", "Choose narrower layers")
    engine = feed.engine
    theta, held = engine.copy(start), feed.held_rows()
    whole = feed.all_rows() if feed.count * feed.rows.d * 4 <= run.budget / 4 else None
    adam, g = engine.adam(theta), engine.empty(theta.shape)
    steps, watch = feed.steps, _EarlyStopping(pace)
    trace: list[float] = []
    held_trace: list[float] = []
    with run.stage("training by epochs", pace.most) as stage, np.errstate(over="ignore", invalid="ignore"):
        for epoch in range(pace.most):
            lost: Any = 0.0
            for i, Y in enumerate(feed.batches(rng, whole)):
                value, _ = loss.gradient(theta, Y, None if noise is None else noise.on(Y, rng), out=g)
                adam.step(g, pace.rate_at((epoch + i / steps) / pace.most))
                lost = lost + value * Y.shape[0]  # a number of the library: a device is not waited for
                stage.advance(1 / steps)
            trace.append(float(lost) / feed.count)
            if held is not None:
                held_trace.append(mean_loss(loss, theta, [held]))
            watched = (held_trace or trace)[-1]
            if not math.isfinite(watched):
                raise ParameterError(
                    f"learning_rate={pace.rate:g}: the loss grew beyond all bounds in epoch {epoch + 1}. Choose a "
                    "smaller learning_rate."
                )
            tells = pace.tells(epoch / pace.most)
            watch.look(watched, theta, epoch + 1, keep=held is not None, tells=tells)
            if watch.tired:
                stage.finish()
                break
    best, when = (theta, len(trace)) if watch.theta is None else (watch.theta, watch.when)
    ended = pace.schedule != "constant"
    reason = "the schedule of the learning rate has ended" if ended else f"max_iter={pace.most} epochs were done"
    reason = _reason(watch, held) if watch.tired else reason
    left, held_left = _errors(loss, best, feed.parts(whole), held)
    return TrainingResult(best, left, held_left, tuple(trace), tuple(held_trace), when, watch.tired or ended, reason)


def mean_loss(loss: NetworkLoss, theta: Array, parts: Iterable[Array]) -> float:
    """Return the loss of rows, some at a time."""
    total, count = 0.0, 0
    for Y in parts:
        lost: Any = 0.0
        for start in range(0, Y.shape[0], _AT_ONCE):
            rows = Y[start : start + _AT_ONCE, :]
            lost = lost + loss.value(theta, rows) * rows.shape[0]  # a device is not waited for
        total, count = total + float(lost), count + Y.shape[0]
    return total / count


def _errors(loss: NetworkLoss, theta: Array, parts: Iterable[Array], held: Array | None) -> tuple[float, float | None]:
    """Mean squared errors with neither noise nor the price of codes."""
    plain = replace(loss, sparsity=None)
    return mean_loss(plain, theta, parts), None if held is None else mean_loss(plain, theta, [held])


def _reason(watch: _EarlyStopping, held: Array | None) -> str:
    whose = "the rows trained with" if held is None else "the rows held out"
    return f"the loss of {whose} has not fallen for {watch.pace.patience} iterations"

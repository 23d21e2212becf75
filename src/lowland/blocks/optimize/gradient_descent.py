"""Gradient descent: the accelerated kind on a loss that is known whole, and the variance-reduced kind over batches."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from lowland.arrays.namespace import Array, xp_of
from lowland.errors import ParameterError
from lowland.run.run import Run


class Objective(Protocol):
    """What is minimised."""

    def __call__(self, theta: Array) -> float:
        """Return the loss."""
        ...

    def gradient(self, theta: Array) -> Array:
        """Return its gradient."""
        ...

    def faintest(self, theta: Array) -> float:
        """Return the least curvature that matters here: beside it a gradient is small or not."""
        ...


class MeanObjective(Objective, Protocol):
    """A mean over rows, of which some can be asked alone."""

    def gradient_of_batch(self, Y: Array) -> Callable[[Array], Array]:
        """Return the gradient of the mean over these rows."""
        ...


_NOISE = 64 * float(np.finfo(np.float64).eps)  # of a gradient, as a share of the largest curvature
_ROUNDING = 1e-13  # share of the first loss by which rounding may let the loss grow


@dataclass(frozen=True)
class Descent:
    """Where a descent ended and how it went."""

    theta: Array
    trace: tuple[float, ...]  # the loss at the start and after each iteration
    converged: bool
    step: float  # the length of the last step, per unit of gradient

    @property
    def iterations(self) -> int:
        """How many there were."""
        return len(self.trace) - 1


@dataclass(frozen=True)
class StepSize:
    """How far to go at a time, and until when."""

    step: float
    asked: float | None  # the step a user gave, in units of the rows: never halved, and a loss that grows is told
    tol: float  # the norm of the gradient at which the descent has arrived, as a share of the curvature
    largest: float  # the largest curvature
    most: int  # iterations

    def arrived(self, slope: float, theta: Array, loss: Objective) -> bool:
        """Whether the gradient is small, also for what curves least: on a plateau it is small for the rest only."""
        if slope > self.tol * self.largest:
            return False
        return slope <= max(self.tol * loss.faintest(theta), _NOISE * self.largest)

    def shorter(self, step: float, before: float, after: float) -> float:
        """Return half the step where the loss has grown, or tell."""
        if self.asked is not None:
            raise ParameterError(
                f"learning_rate={self.asked:g}: the loss grew from {before:.3g} to {after:.3g} of the variance. "
                "Choose a smaller learning_rate, or 'auto'."
            )
        return step / 2


def descend(theta: Array, loss: Objective, pace: StepSize, run: Run) -> Descent:
    """Minimise by Nesterov's accelerated gradients (1983), starting the momentum anew where it points uphill.

    The restart is that of O'Donoghue and Candès (2015, doi:10.1007/s10208-013-9150-3). A step that would raise the loss
    is not taken, so the trace falls.
    """
    xp = xp_of(theta)
    step, momentum = pace.step, 1.0
    trace, ahead = [loss(theta)], theta
    slack = _ROUNDING * trace[0]
    with np.errstate(over="ignore", invalid="ignore"):
        for _ in run.iterate("descending", pace.most):
            g = loss.gradient(ahead)
            new = ahead - step * g
            value = loss(new)
            if not value <= trace[-1] + slack:
                # a step of at most 1/curvature gains half of step |g|² on where it starts; else momentum is to blame
                if not value <= loss(ahead) - step * float(xp.sum(g * g)) / 4:
                    step = pace.shorter(step, trace[-1], value)
                ahead, momentum = theta, 1.0
                trace.append(trace[-1])
                continue
            move, theta = new - theta, new
            trace.append(min(value, trace[-1]))
            if pace.arrived(float(xp.linalg.vector_norm(g)), theta, loss):
                return Descent(theta, tuple(trace), True, step)
            uphill = float(xp.sum(g * move)) > 0
            longer = 1.0 if uphill else (1 + math.sqrt(1 + 4 * momentum**2)) / 2
            ahead = theta if uphill else theta + ((momentum - 1) / longer) * move
            momentum = longer
    return Descent(theta, tuple(trace), False, step)


def descend_by_batches(
    theta: Array, loss: MeanObjective, batches: Callable[[], Iterator[Array]], size: int, pace: StepSize, run: Run
) -> Descent:
    """Minimise a mean over rows by stochastic gradients of reduced variance, an epoch an iteration.

    A batch's gradient is corrected by what the same batch says at the anchor, where the gradient of all rows is known:
    g = g_batch(θ) - g_batch(anchor) + g_all(anchor). Its noise vanishes as both approach the minimum, so a constant
    step arrives, where plain stochastic steps would hover about (Johnson and Zhang 2013). ``batches`` reads the rows
    anew, ``size`` at a time; a last batch of fewer makes a shorter step. An epoch that raised the loss is undone.
    """
    xp = xp_of(theta)
    step = pace.step
    trace = [loss(theta)]
    slack = _ROUNDING * trace[0]
    with np.errstate(over="ignore", invalid="ignore"):
        for _ in run.iterate("descending by epochs", pace.most):
            anchor, g_all = theta, loss.gradient(theta)
            if pace.arrived(float(xp.linalg.vector_norm(g_all)), theta, loss):
                return Descent(theta, tuple(trace), True, step)
            for Y in batches():
                g_batch = loss.gradient_of_batch(Y)
                theta = theta - (step * Y.shape[0] / size) * (g_batch(theta) - g_batch(anchor) + g_all)
            value = loss(theta)
            if not value <= trace[-1] + slack:
                step, theta = pace.shorter(step, trace[-1], value), anchor
                value = trace[-1]
            trace.append(min(value, trace[-1]))
    return Descent(theta, tuple(trace), False, step)

"""Gradient descent: accelerated on a full loss, and variance-reduced over mini-batches."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from lowland.arrays.namespace import Array, xp_of
from lowland.math.optimize.outcome import STOPPED, Divergence, Outcome, Watch, iteration_limit
from lowland.run.run import Run

_NOISE = 64 * float(np.finfo(np.float64).eps)  # of a gradient, as a fraction of the largest curvature
_ROUNDING = 1e-13  # fraction of the first loss by which rounding may let the loss grow
_FLAT = "the gradient is zero"


class Objective(Protocol):
    """What is minimized."""

    def __call__(self, theta: Array) -> float:
        """Return the loss."""

    def gradient(self, theta: Array) -> Array:
        """Return its gradient."""

    def least_curvature(self, theta: Array) -> float:
        """Return the smallest relevant curvature here, which the gradient is compared with."""


class MeanObjective(Objective, Protocol):
    """A mean over rows that can also be evaluated on mini-batches."""

    def gradient_of_batch(self, Y: Array) -> Callable[[Array], Array]:
        """Return the gradient of the mean over these rows."""


@dataclass(frozen=True)
class Descent:
    """The result of a descent, its last step size, and its convergence."""

    theta: Array
    step: float
    outcome: Outcome  # the trace holds the initial loss and that after each iteration


@dataclass(frozen=True)
class StepSize:
    """The step size and the stopping rule."""

    step: float
    tol: float  # norm of the gradient, as a fraction of the curvature, at which the descent has converged
    largest_curvature: float
    max_iter: int
    fixed: bool = False  # whether the step is never halved, and an increasing loss is an error

    def converged(self, g: Array, theta: Array, loss: Objective) -> bool:
        """Whether the gradient is small, also relative to the smallest curvature: on a plateau it is not."""
        norm = float(xp_of(g).linalg.vector_norm(g))
        if norm > self.tol * self.largest_curvature:
            return False
        return norm <= max(self.tol * loss.least_curvature(theta), _NOISE * self.largest_curvature)

    def shorten(self, step: float, before: float, after: float) -> float:
        """Return half the step where the loss has increased; raise an error if the step is fixed."""
        if self.fixed:
            raise Divergence(f"the loss grew from {before:.3g} to {after:.3g}")
        return step / 2


def descend(theta: Array, loss: Objective, step_size: StepSize, run: Run, watch: Watch | None = None) -> Descent:
    """Minimize by Nesterov's accelerated gradient descent (1983), resetting the momentum where it points uphill.

    The restart is that of O'Donoghue and Candès (2015, doi:10.1007/s10208-013-9150-3). A step that would increase
    the loss is not taken, so the trace never increases. ``watch`` sees each iteration, and stops by returning False.
    """
    xp, name = xp_of(theta), "accelerated gradient"
    step, momentum = step_size.step, 1.0
    trace, ahead = [loss(theta)], theta
    slack = _ROUNDING * trace[0]
    with np.errstate(over="ignore", invalid="ignore"):
        for _ in run.iterate("gradient descent", step_size.max_iter):
            g = loss.gradient(ahead)
            new = ahead - step * g
            value = loss(new)
            if not value <= trace[-1] + slack:
                # a step of at most 1/curvature decreases the loss by step |g|²/2; else the momentum is the cause
                if not value <= loss(ahead) - step * float(xp.sum(g * g)) / 4:
                    step = step_size.shorten(step, trace[-1], value)
                ahead, momentum = theta, 1.0
                trace.append(trace[-1])
                continue
            move, theta = new - theta, new
            trace.append(min(value, trace[-1]))
            if step_size.converged(g, theta, loss):
                return Descent(theta, step, Outcome.of_trace(name, trace, _FLAT))
            if watch is not None and watch(len(trace) - 1, theta, trace[-1]) is False:
                return Descent(theta, step, Outcome.of_trace(name, trace, STOPPED, converged=False))
            uphill = float(xp.sum(g * move)) > 0
            longer = 1.0 if uphill else (1 + math.sqrt(1 + 4 * momentum**2)) / 2
            ahead = theta if uphill else theta + ((momentum - 1) / longer) * move
            momentum = longer
    why = iteration_limit(step_size.max_iter)
    return Descent(theta, step, Outcome.of_trace(name, trace, why, converged=False))


def descend_by_batches(
    theta: Array, loss: MeanObjective, batches: Callable[[], Iterator[Array]], size: int, step_size: StepSize, run: Run
) -> Descent:
    """Minimize a mean over rows by variance-reduced stochastic gradients (SVRG), one epoch per iteration.

    The gradient of a mini-batch is corrected by its gradient at an anchor, where the gradient of all rows is known:
    g = g_batch(θ) - g_batch(anchor) + g_all(anchor). Its noise vanishes as both approach the minimum, so a constant
    step size converges, unlike plain stochastic gradients (Johnson and Zhang 2013). ``batches`` reads the rows again,
    ``size`` at a time; a smaller last batch makes a shorter step. An epoch that increased the loss is undone.
    """
    name, step = "variance-reduced gradient", step_size.step
    trace = [loss(theta)]
    slack = _ROUNDING * trace[0]
    with np.errstate(over="ignore", invalid="ignore"):
        for _ in run.iterate("stochastic gradient descent", step_size.max_iter):
            anchor, g_all = theta, loss.gradient(theta)
            if step_size.converged(g_all, theta, loss):
                return Descent(theta, step, Outcome.of_trace(name, trace, _FLAT))
            for Y in batches():
                g_batch = loss.gradient_of_batch(Y)
                theta = theta - (step * Y.shape[0] / size) * (g_batch(theta) - g_batch(anchor) + g_all)
            value = loss(theta)
            if not value <= trace[-1] + slack:
                step, theta = step_size.shorten(step, trace[-1], value), anchor
                value = trace[-1]
            trace.append(min(value, trace[-1]))
    why = iteration_limit(step_size.max_iter)
    return Descent(theta, step, Outcome.of_trace(name, trace, why, converged=False))

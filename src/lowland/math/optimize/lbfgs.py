"""Limited-memory BFGS over a preconditioner that is itself a step which lowers the objective."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from lowland.arrays.namespace import Array, like, to_numpy, xp_of
from lowland.math.optimize.outcome import STOPPED, Outcome, Watch, iteration_limit
from lowland.run.progress import pulse
from lowland.run.run import Run

_MEMORY = 10  # pairs of steps and changes of the gradient that are remembered
_ENOUGH = 1e-4  # fraction of the decrease predicted by the gradient that a step must achieve (Armijo)
_SHORTEST = 40  # halvings of the safe step after which only rounding error is left
_TRIES = 2  # shortened quasi-Newton steps before the safe step is taken instead
_FAR = 0.05  # relative decrease per step far from the minimum: longer steps could reach another local minimum
_CURVED = 1e-10  # cosine between step and change of the gradient below which a pair is ignored


@dataclass(frozen=True)
class Evaluation:
    """The objective at one configuration: its value, its gradient, and the scale of the method's own step."""

    Z: Array  # (n, k) float64
    value: float
    gradient: Array  # (n, k)
    preconditioner: Array  # (n, 1) or (n, k), positive: -preconditioner * gradient is a step that lowers the value
    scale: float  # scale that a change of the value is relative to


@dataclass(frozen=True)
class Minimum:
    """The result of a minimization and its convergence."""

    at: Evaluation
    outcome: Outcome


Evaluate = Callable[[Array], Evaluation]
StoppingRule = Callable[[Evaluation, Evaluation], bool]  # of the evaluations before and after an iteration


def safeguarded_lbfgs(
    Z: Array,
    evaluate: Evaluate,
    stop: StoppingRule,
    *,
    max_iter: int,
    run: Run,
    accelerate: bool = True,
    watch: Watch | None = None,
) -> Minimum:
    """Minimize from Z; the value never increases. ``watch`` sees each iteration, and stops by returning False.

    Steps are those of limited-memory BFGS (Liu and Nocedal 1989, doi:10.1007/BF01589116) over the method's own scale.
    One that does not lower the value enough is shortened, then replaced by the method's own step, which is halved until
    it lowers the value. ``stop(before, after)`` must hold twice in succession, since a single short step may occur by
    chance. Steps are the method's own while they lower a large value by a twentieth and more; without ``accelerate``
    all of them are.
    """
    here = evaluate(Z)
    memory = _Memory()
    solver = "L-BFGS" if accelerate else "preconditioned gradient descent"
    trace, short = [here.value], 0  # short: successive iterations at which the stopping rule held
    for _ in run.iterate("minimizing stress", max_iter):
        there = _step(here, memory, evaluate, accelerate)
        if there is None:  # no step lowers the value: only rounding error is left
            return Minimum(here, Outcome.of_trace(solver, trace, "no step decreases the objective further"))
        trace.append(there.value)
        short = short + 1 if stop(here, there) else 0
        gain = here.value - there.value
        if accelerate and (gain < _FAR * here.value or gain < _FAR / 10 * there.scale):
            memory.add(here, there)
        else:
            memory.clear()
        here = there
        if watch is not None and watch(len(trace) - 1, here.Z, here.value) is False:
            return Minimum(here, Outcome.of_trace(solver, trace, STOPPED, converged=False))
        if short == (2 if accelerate else 1):
            return Minimum(here, Outcome.of_trace(solver, trace, "the tolerance was reached"))
    why = iteration_limit(max_iter)
    return Minimum(here, Outcome.of_trace(solver, trace, why, converged=False))


def _step(here: Evaluation, memory: _Memory, evaluate: Evaluate, accelerate: bool) -> Evaluation | None:
    """Evaluate the next configuration; None where nothing lower was found."""
    xp = xp_of(here.Z)
    if accelerate and memory.pairs:
        P = memory.direction(here)
        promise = float(xp.sum(P * here.gradient))
        length = 1.0
        for _ in range(_TRIES if promise < 0 else 0):
            pulse()
            there = evaluate(here.Z + length * P)
            if there.value <= here.value + _ENOUGH * length * promise and math.isfinite(there.value):
                return there
            # minimum of the parabola through the known values, within bounds
            curvature = there.value - here.value - length * promise
            lowest = -promise * length * length / (2 * curvature) if math.isfinite(curvature) and curvature > 0 else 0.0
            length = min(max(lowest, length / 10), length / 2)
        memory.clear()
    P = -here.preconditioner * here.gradient
    promise = float(xp.sum(P * here.gradient))
    for halvings in range(_SHORTEST):
        length = 0.5**halvings
        if not promise * length < 0:
            break
        pulse()
        there = evaluate(here.Z + length * P)
        if there.value < here.value:
            return there
        if -promise * length <= 1e-16 * abs(here.value):
            break
    return None


class _Memory:
    """The last few steps s and changes of the gradient y."""

    def __init__(self) -> None:
        self.pairs: deque[tuple[Array, Array]] = deque(maxlen=_MEMORY)

    def clear(self) -> None:
        self.pairs.clear()

    def add(self, here: Evaluation, there: Evaluation) -> None:
        xp = xp_of(here.Z)
        s, y = there.Z - here.Z, there.gradient - here.gradient
        sy, ss, yy = to_numpy(xp.stack([xp.sum(s * y), xp.sum(s * s), xp.sum(y * y)]))
        if sy > _CURVED * math.sqrt(ss * yy):
            self.pairs.append((xp.reshape(s, (-1,)), xp.reshape(y, (-1,))))

    def direction(self, here: Evaluation) -> Array:
        """The two-loop recursion of L-BFGS in the coefficients, with one synchronization of a device."""
        xp = xp_of(here.Z)
        S, Y = (xp.stack(list(side), axis=0) for side in zip(*self.pairs, strict=True))  # (m, nk)
        g = xp.reshape(here.gradient, (-1,))
        scale = xp.reshape(xp.broadcast_to(here.preconditioner, here.Z.shape), (-1,))
        HY = Y * scale[None, :]
        table = to_numpy(xp.concat([S @ Y.T, HY @ Y.T, (S @ g)[:, None], (HY @ g)[:, None]], axis=1))  # (m, 2m + 2)
        m = len(self.pairs)
        SY, YHY, Sg, YHg = table[:, :m], table[:, m : 2 * m], table[:, -2], table[:, -1]
        a, b = np.zeros(m), np.zeros(m)  # of q = g - a'Y, then of the direction gammaHq + b'S
        for i in reversed(range(m)):
            a[i] = (Sg[i] - SY[i] @ a) / SY[i, i]
        gamma = float(SY[-1, -1] / YHY[-1, -1])
        for i in range(m):
            b[i] = a[i] - (gamma * (YHg[i] - YHY[i] @ a) + b[:i] @ SY[:i, i]) / SY[i, i]
        a, b = (like(values, g) for values in (a, b))
        return xp.reshape(-(gamma * scale * (g - a @ Y) + b @ S), here.Z.shape)

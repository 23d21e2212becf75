"""Quasi-Newton descent: a method's own safe step, bent by the curvature that was met on the way."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from lowland.arrays.namespace import Array, like, to_numpy, xp_of
from lowland.run.run import Run

_MEMORY = 10  # pairs of steps and changes of slope that are remembered
_ENOUGH = 1e-4  # share of the decrease that the slope promises, which a step must keep (Armijo)
_SHORTEST = 40  # halvings of the safe step after which the value is as low as its digits can tell
_TRIES = 2  # shortened quasi-Newton steps before the safe step is taken instead
_FAR = 0.05  # share by which a step lowers a large value while it is far: bold steps would choose another valley
_CURVED = 1e-10  # cosine between step and change of slope below which a pair says nothing


@dataclass(frozen=True)
class Spot:
    """A configuration, what the objective is there, its slope, and the scale by which the method steps."""

    Z: Array  # (n, k) float64
    value: float
    slope: Array  # (n, k) the gradient
    inverse: Array  # (n, 1) or (n, k), positive: -inverse * slope is the method's own step, which lowers the value
    size: float  # what a change of the value is compared with


@dataclass(frozen=True)
class Course:
    """Where it ended and how it went."""

    spot: Spot
    trace: tuple[float, ...]  # the value at the start and after each iteration
    converged: bool
    passes: int  # evaluations of the objective

    @property
    def iterations(self) -> int:
        """How many there were."""
        return len(self.trace) - 1


Evaluate = Callable[[Array], Spot]
Settled = Callable[[Spot, Spot], bool]


def descend_safely(
    Z: Array,
    evaluate: Evaluate,
    settled: Settled,
    *,
    max_iter: int,
    run: Run,
    name: str = "majorizing",
    accelerate: bool = True,
) -> Course:
    """Minimise from Z; the value never rises.

    Steps are those of limited-memory BFGS (Liu and Nocedal 1989, doi:10.1007/BF01589116) over the method's own scale.
    One that does not lower the value enough is shortened, then replaced by the method's own step, which is halved until
    it lowers the value. ``settled(before, after)`` says when to stop; it must hold twice in a row, since a single short
    step may be an accident. Steps are the method's own while they lower a large value by a twentieth and more; without
    ``accelerate`` all of them are.
    """
    here = evaluate(Z)
    memory = _Memory()
    trace, passes, quiet = [here.value], 1, 0
    for _ in run.iterate(name, max_iter):
        there, count = _step(here, memory, evaluate, accelerate)
        passes += count
        if there is None:  # no step lowers the value: it is as low as its digits can tell
            return Course(here, tuple(trace), True, passes)
        trace.append(there.value)
        quiet = quiet + 1 if settled(here, there) else 0
        gain = here.value - there.value
        if accelerate and (gain < _FAR * here.value or gain < _FAR / 10 * there.size):
            memory.add(here, there)
        else:
            memory.clear()
        here = there
        if quiet == (2 if accelerate else 1):
            return Course(here, tuple(trace), True, passes)
    return Course(here, tuple(trace), False, passes)


def _step(here: Spot, memory: _Memory, evaluate: Evaluate, accelerate: bool) -> tuple[Spot | None, int]:
    """The next spot and how many evaluations it took; None where nothing lower was found."""
    xp = xp_of(here.Z)
    count = 0
    if accelerate and memory.pairs:
        P = memory.direction(here)
        promise = float(xp.sum(P * here.slope))
        length = 1.0
        for _ in range(_TRIES if promise < 0 else 0):
            there = evaluate(here.Z + length * P)
            count += 1
            if there.value <= here.value + _ENOUGH * length * promise and math.isfinite(there.value):
                return there, count
            # the lowest point of the parabola through what is known, within reason
            bend = there.value - here.value - length * promise
            lowest = -promise * length * length / (2 * bend) if math.isfinite(bend) and bend > 0 else 0.0
            length = min(max(lowest, length / 10), length / 2)
        memory.clear()
    P = -here.inverse * here.slope
    promise = float(xp.sum(P * here.slope))
    for halvings in range(_SHORTEST):
        length = 0.5**halvings
        if not promise * length < 0:
            break
        there = evaluate(here.Z + length * P)
        count += 1
        if there.value < here.value:
            return there, count
        if -promise * length <= 1e-16 * abs(here.value):
            break
    return None, count


class _Memory:
    """Steps s and changes of slope y, the last few."""

    def __init__(self) -> None:
        self.pairs: deque[tuple[Array, Array]] = deque(maxlen=_MEMORY)

    def clear(self) -> None:
        self.pairs.clear()

    def add(self, here: Spot, there: Spot) -> None:
        xp = xp_of(here.Z)
        s, y = there.Z - here.Z, there.slope - here.slope
        sy, ss, yy = to_numpy(xp.stack([xp.sum(s * y), xp.sum(s * s), xp.sum(y * y)]))
        if sy > _CURVED * math.sqrt(ss * yy):
            self.pairs.append((xp.reshape(s, (-1,)), xp.reshape(y, (-1,))))

    def direction(self, here: Spot) -> Array:
        """The two loops of limited-memory BFGS, in the coefficients: a device is asked for products once."""
        xp = xp_of(here.Z)
        S, Y = (xp.stack(list(side), axis=0) for side in zip(*self.pairs, strict=True))  # (m, nk)
        g = xp.reshape(here.slope, (-1,))
        scale = xp.reshape(xp.broadcast_to(here.inverse, here.Z.shape), (-1,))
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

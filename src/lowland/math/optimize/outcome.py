"""The outcome of a solver: one record for every method, with its convergence."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Self

from lowland.arrays.namespace import Array
from lowland.arrays.records import record
from lowland.errors import ParameterError


class Divergence(ParameterError):
    """The objective increased, since the steps are too long. The caller adds the cause and the remedy."""


def iteration_limit(n: int) -> str:
    """Return the reason of a solver that stopped without convergence."""
    return f"the limit of {n} iteration{'s' * (n != 1)} was reached"


STOPPED = "the callback returned False"
Watch = Callable[[int, Array, float], Any]  # sees the iteration, what is minimized over, and the objective


@dataclass(frozen=True)
class Snapshot:
    """The map during the descent, as the callback of a fit receives it."""

    iteration: int
    total: int
    embedding: Array  # (n, k), a copy
    value: float  # of the objective
    gradient_norm: float = float("nan")  # where the solver computes it


@record
@dataclass(frozen=True)
class Outcome:
    """Which solver was used and why; its convergence, and why it stopped."""

    name: str
    reason: str = ""  # why this solver was chosen
    iterations: int = 0
    converged: bool = True
    trace: tuple[float, ...] = ()  # the objective, or the largest relative residual, after each iteration
    stopped_because: str = ""  # why an iterative solver stopped

    @classmethod
    def of_trace(cls, name: str, trace: Sequence[float], stopped_because: str, *, converged: bool = True) -> Self:
        """Return the outcome of iterations, from the initial objective and that after each iteration."""
        steps = len(trace) - 1
        return cls(name, iterations=steps, converged=converged, trace=tuple(trace), stopped_because=stopped_because)

    def __str__(self) -> str:
        return ": ".join(filter(None, (self.name, self.reason)))

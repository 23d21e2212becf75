"""The outcome of a solver: one record for every iterative method and every choice of an algorithm."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from lowland.arrays.records import record
from lowland.errors import ParameterError


class Divergence(ParameterError):
    """The objective increased, since the steps are too long. The caller adds the cause and the remedy."""


def iteration_limit(n: int) -> str:
    """Return the reason of a solver that stopped without convergence."""
    return f"the limit of {n} iteration{'s' * (n != 1)} was reached"


@record
@dataclass(frozen=True)
class Outcome:
    """Which solver was used and why; for an iterative one, its convergence and why it stopped."""

    name: str
    reason: str = ""  # why this solver was chosen
    iterations: int = 0
    converged: bool = True
    trace: tuple[float, ...] = ()  # the objective, or the largest relative residual, after each iteration
    stopped_because: str = ""  # why an iterative solver stopped

    @classmethod
    def of_trace(cls, name: str, trace: Sequence[float], stopped_because: str, *, converged: bool = True) -> Self:
        """Return the outcome of iterations, from the initial objective and that after each iteration."""
        return cls(
            name,
            iterations=len(trace) - 1,
            converged=converged,
            trace=tuple(trace),
            stopped_because=stopped_because,
        )

    def __str__(self) -> str:
        return f"{self.name}: {self.reason}"

"""How a solver went: one record for every iteration and every choice of an algorithm."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from lowland.arrays.records import record
from lowland.errors import ParameterError


class Divergence(ParameterError):
    """The objective grew: steps are too long. What made them so is for the caller to say."""


@record
@dataclass(frozen=True)
class Outcome:
    """Which solver was used and why; for an iterative one, how it went and why it stopped."""

    name: str
    reason: str = ""  # why this solver was chosen
    iterations: int = 0
    converged: bool = True
    trace: tuple[float, ...] = ()  # the objective, or the largest relative residual, after each iteration
    stopped_because: str = ""  # in words, where an iteration ended

    @classmethod
    def of_trace(cls, name: str, trace: Sequence[float], stopped_because: str, *, converged: bool = True) -> Self:
        """Describe an iteration by the objective at its start and after each step."""
        return cls(
            name,
            iterations=len(trace) - 1,
            converged=converged,
            trace=tuple(trace),
            stopped_because=stopped_because,
        )

    def __str__(self) -> str:
        return f"{self.name}: {self.reason}"

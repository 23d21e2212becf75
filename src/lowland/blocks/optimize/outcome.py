"""How a solver went: one record for every iteration and every choice of an algorithm."""

from __future__ import annotations

from dataclasses import dataclass

from lowland.arrays.records import record


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

    def __str__(self) -> str:
        return f"{self.name}: {self.reason}"

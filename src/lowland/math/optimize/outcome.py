"""The outcome of a solver: one record for every method, with its convergence and its checked accuracy."""

from __future__ import annotations

import math
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


PROMISES: dict[str, Promise] = {}  # by what is measured


@record
@dataclass(frozen=True)
class Accuracy:
    """What a solver measured at its result, and the bound that it promises."""

    measure: str
    value: float
    bound: float  # infinite where the user, or a schedule, set the number of steps

    @property
    def met(self) -> bool:
        """Whether the value is within the bound; NaN is not."""
        return self.value <= self.bound

    def __str__(self) -> str:
        limit = f"bound {self.bound:.1e}" if math.isfinite(self.bound) else "no bound"
        return f"{self.measure}: {self.value:.1e} ({limit})"


@dataclass(frozen=True)
class Promise:
    """A numerical promise of a solver: what it measures, the bound and the cost in words, for docs/reliability.md."""

    measure: str
    bound: str
    cost: str

    def __post_init__(self) -> None:
        if PROMISES.setdefault(self.measure, self) != self:
            raise TypeError(f"There are two promises about {self.measure!r}.")

    def checked(self, value: float, bound: float) -> Accuracy:
        """Return the record of a check."""
        return Accuracy(self.measure, value, bound)


@record
@dataclass(frozen=True)
class Outcome:
    """Which solver was used and why; its convergence, why it stopped, and the accuracy that was checked."""

    name: str
    reason: str = ""  # why this solver was chosen
    iterations: int = 0
    converged: bool = True
    trace: tuple[float, ...] = ()  # the objective, or the largest relative residual, after each iteration
    stopped_because: str = ""  # why an iterative solver stopped
    accuracy: Accuracy | None = None

    @classmethod
    def of_trace(
        cls,
        name: str,
        trace: Sequence[float],
        stopped_because: str,
        *,
        converged: bool = True,
        accuracy: Accuracy | None = None,
    ) -> Self:
        """Return the outcome of iterations, from the initial objective and that after each iteration."""
        return cls(
            name,
            iterations=len(trace) - 1,
            converged=converged,
            trace=tuple(trace),
            stopped_because=stopped_because,
            accuracy=accuracy,
        )

    def __str__(self) -> str:
        parts = (self.name, self.reason, "" if self.accuracy is None else str(self.accuracy))
        return ": ".join(filter(None, parts[:2])) + (f"; {parts[2]}" if parts[2] else "")

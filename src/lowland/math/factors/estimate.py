"""The result of a search for factors: loadings, uniquenesses and convergence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from lowland.math.optimize.outcome import Outcome, iteration_limit

FLATTEST = 1e-6  # gradient of the deviance, per log uniqueness, that Newton's method promises
FLATTEST_OF_MANY = 1e-5  # the same for L-BFGS, where rounding error prevents further descent


@dataclass(frozen=True)
class FactorEstimate:
    """Loadings and uniquenesses of standardized columns, and how they were found."""

    loadings: np.ndarray  # (d, k), with L'Ψ^-1 L diagonal and decreasing
    uniquenesses: np.ndarray  # (d,)
    outcome: Outcome  # its trace is the deviance after each iteration
    start_deviances: tuple[float, ...] = ()  # final deviance of each initialization

    @property
    def deviance(self) -> float:
        """The final value of log|Σ| + tr Σ^-1 R."""
        return self.outcome.trace[-1]


class Profile(Protocol):
    """A point of the search over log uniquenesses."""

    @property
    def x(self) -> np.ndarray:
        """The log uniquenesses, (d,)."""
        ...

    def loadings(self, k: int) -> np.ndarray:
        """The best loadings there, (d, k)."""
        ...

    def steepest(self, bottom: float) -> float:
        """The largest derivative of the deviance by a uniqueness that is not at a bound."""
        ...

    @property
    def rounding(self) -> float:
        """The rounding error of the derivatives."""
        ...


def estimate_at(
    end: Profile,
    k: int,
    trace: Sequence[float],
    reason: str,
    max_iter: int,
    *,
    solver: str,
) -> FactorEstimate:
    """Return the estimate where a search over log uniquenesses ended; ``reason`` is "" if it did not converge."""
    why = reason
    if not reason:
        limit = len(trace) >= max_iter
        why = iteration_limit(len(trace)) if limit else "no step increased the likelihood, but the gradient is not zero"
    outcome = Outcome(solver, "", len(trace), bool(reason), tuple(trace), why)
    return FactorEstimate(end.loadings(k), np.exp(end.x), outcome)

"""What a search for factors returns: loadings, uniquenesses, and how the search went."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from lowland.blocks.optimize.outcome import Outcome


@dataclass(frozen=True)
class FactorEstimate:
    """Loadings and uniquenesses of standardized columns, and how they were found."""

    loadings: np.ndarray  # (d, k), with L'Ψ^-1 L diagonal and falling
    uniquenesses: np.ndarray  # (d,)
    outcome: Outcome  # its trace is the deviance after each iteration
    start_deviances: tuple[float, ...] = ()  # the deviance at the end of each start

    @property
    def deviance(self) -> float:
        """log|Σ| + tr Σ^-1 R at the end."""
        return self.outcome.trace[-1]


class Profile(Protocol):
    """A place of the search over log uniquenesses."""

    @property
    def x(self) -> np.ndarray:
        """The log uniquenesses, (d,)."""
        ...

    def loadings(self, k: int) -> np.ndarray:
        """The best loadings there, (d, k)."""
        ...


def estimate_at(
    end: Profile, k: int, trace: Sequence[float], reason: str, max_iter: int, *, solver: str
) -> FactorEstimate:
    """Return the estimate where a search over log uniquenesses ended; ``reason`` is "" short of the maximum."""
    why = reason
    if not reason:
        why = "it had not converged" if len(trace) >= max_iter else "no step led further, short of the maximum,"
        why = f"{why} after {len(trace)} iteration{'s' * (len(trace) != 1)}"
    outcome = Outcome(solver, "", len(trace), bool(reason), tuple(trace), why)
    return FactorEstimate(end.loadings(k), np.exp(end.x), outcome)

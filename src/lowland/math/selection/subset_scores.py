"""The interface of scorers of subsets, which the searches use, and the count of scored subsets."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

TIE = 1e-10  # scores of least squares closer than this are tied: rounding must not decide


class SubsetScores(Protocol):
    """A scorer of subsets of columns; higher is better."""

    @property
    def d(self) -> int:
        """The number of columns."""

    @property
    def tie(self) -> float:
        """Scores closer than this are tied, and the first column is selected."""

    @property
    def unit(self) -> float:
        """The divisor of the scores, so that they are of order one whatever the unit of y."""

    def with_each(self, S: tuple[int, ...], J: np.ndarray) -> np.ndarray:
        """Return the scores of S with each column of J."""

    def without_each(self, S: tuple[int, ...]) -> np.ndarray:
        """Return the scores of S without each of its columns."""

    def many(self, subsets: np.ndarray) -> np.ndarray:
        """Return the scores of subsets of one size, (B, k)."""


class Refit(Protocol):
    """A scorer that fits the model to each subset."""

    def many(self, subsets: Any) -> np.ndarray:
        """Return the scores of subsets."""


@dataclass
class Tally:
    """Counts the scored subsets, and reports progress."""

    advance: Callable[[float], Any] = field(default=lambda _: None)
    n: int = 0
    failures: list[str] = field(default_factory=list)  # messages of models that could not be fitted

    def __call__(self, n: int) -> None:
        """Count n more."""
        self.n += n
        self.advance(n)

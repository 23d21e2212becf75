"""What scores subsets of columns: the interface that searches use, and the count of what was scored."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

TIE = 1e-10  # scores of least squares nearer than this are one: rounding must not choose


class SubsetScores(Protocol):
    """What scores subsets of columns; higher is better."""

    @property
    def d(self) -> int:
        """The number of columns."""

    @property
    def tie(self) -> float:
        """Scores nearer than this are equal, and the first column wins."""

    @property
    def unit(self) -> float:
        """What scores are divided by, so that they are of the order of one whatever the unit of y."""

    def with_each(self, S: tuple[int, ...], J: np.ndarray) -> np.ndarray:
        """Return the scores of S with each column of J."""

    def without_each(self, S: tuple[int, ...]) -> np.ndarray:
        """Return the scores of S without each of its columns."""

    def many(self, subsets: np.ndarray) -> np.ndarray:
        """Return the scores of subsets of one size, (B, k)."""


class Refit(Protocol):
    """The long way: fits the model to each subset."""

    def many(self, subsets: Any) -> np.ndarray:
        """Return the scores of subsets."""


@dataclass
class Tally:
    """Counts the subsets that were scored, and shows progress."""

    advance: Callable[[float], Any] = field(default=lambda _: None)
    n: int = 0
    failures: list[str] = field(default_factory=list)  # what was said by models that could not be fitted

    def __call__(self, n: int) -> None:
        """Count n more."""
        self.n += n
        self.advance(n)

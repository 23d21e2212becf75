"""All pairs of some rows: their distances, and how far sums over them would be off had other rows been drawn."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from lowland.blocks.ranks import Side
from lowland.quality.measure import NORMAL, Better, Measure
from lowland.quality.sides import Looked
from lowland.run.run import Run


@dataclass(frozen=True, eq=False)
class Pairs:
    """The pairs i < j of the rows looked at, and their distances in the data."""

    side: Side
    looked: Looked
    run: Run

    @cached_property
    def rows(self) -> np.ndarray:
        """The rows whose pairs these are, (m,)."""
        return np.arange(self.side.n) if self.looked.rows is None else self.looked.rows

    @property
    def m(self) -> int:
        """How many rows."""
        return len(self.rows)

    @cached_property
    def ends(self) -> tuple[np.ndarray, np.ndarray]:
        """The two rows of each pair, as places among ``rows``, (p,) each."""
        self.run.require(64 * self.m**2, f"All pairs of {self.m:,} rows", "Choose a sample of fewer rows")
        return np.triu_indices(self.m, 1)

    @cached_property
    def original(self) -> np.ndarray:
        """The distances in the data, (p,) float64."""
        return self.of(self.side)

    @cached_property
    def original_ranks(self) -> np.ndarray:
        """The ranks of these distances, equal ones sharing theirs, (p,) float64."""
        from scipy.stats import rankdata

        return rankdata(self.original)

    def of(self, side: Side) -> np.ndarray:
        """The distances of the pairs on a side, (p,) float64."""
        ends = self.ends
        return side.distances_among(self.rows)[ends]

    def row_sums(self, values: np.ndarray) -> np.ndarray:
        """The sum over the pairs of each row, (m,)."""
        i, j = self.ends
        return np.bincount(i, values, self.m) + np.bincount(j, values, self.m)

    def measure(
        self, name: str, value: float, better: Better, about: str, of_sums: Callable[..., np.ndarray],
        *parts: np.ndarray, each: Callable[[], np.ndarray] | None = None,
    ) -> Measure:  # fmt: skip
        """A measure that ``of_sums`` makes of sums over pairs, with its interval where rows were drawn.

        The interval is a jackknife over the rows: each is left out in turn with all its pairs, which share it.
        """
        low = high = None
        if self.looked.rows is not None:
            sums = [float(part.sum()) - self.row_sums(part) for part in parts]
            left = of_sums(*sums)
            m, n = self.m, self.side.n
            error = np.sqrt((m - 1) / m * np.sum((left - left.mean()) ** 2) * (1 - m / n))
            low, high = value - NORMAL * float(error), value + NORMAL * float(error)
        per_row = None if each is None else self.looked.spread(each())
        return Measure(name, value, per_row, better, about, low, high, self.looked.sample, self.looked.left_out)

"""All pairs of sampled rows: their distances, sums over them, and jackknife intervals of these sums."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from lowland.arrays.slices import slices
from lowland.math.neighbors.ranks import PointSet
from lowland.quality.inputs import EvaluatedRows
from lowland.quality.measure import Better, Bounds, Measure, confidence_interval
from lowland.run.local import serial_run
from lowland.run.run import Run

KEPT_BYTES = 1 << 25  # bytes of distances to keep; larger tables are computed again for each sum
_BLOCK = 1 << 19  # distances per thread

Table = Callable[[slice], np.ndarray]  # block of rows -> their values with all rows, (b, m)


@dataclass(frozen=True, eq=False)
class SampledPairs:
    """The pairs of the sampled rows, and their distances in the data; each pair counts in the rows of both."""

    side: PointSet
    evaluated: EvaluatedRows
    run: Run
    rows: np.ndarray = field(init=False)  # (m,) the sampled rows
    m: int = field(init=False)

    def __post_init__(self) -> None:
        rows = np.arange(len(self.side.X)) if self.evaluated.rows is None else self.evaluated.rows
        object.__setattr__(self, "rows", rows)
        object.__setattr__(self, "m", len(rows))

    @cached_property
    def original(self) -> Table:
        """The distances in the data, in the unit of their side."""
        return self.of(self.side)

    @cached_property
    def original_ranks(self) -> Table:
        """The ranks of these distances among all pairs; ties have the mean rank."""
        return self.ranks(self.original)

    def of(self, side: PointSet) -> Table:
        """The distances on one side, in its unit."""
        few = side.alone(self.rows)

        def measured(block: slice) -> np.ndarray:
            return (
                side.distances(self.rows[block])[:, self.rows]
                if few is None
                else few.distances(np.arange(self.m)[block])
            )

        if 8 * self.m**2 > KEPT_BYTES:
            return measured
        return self._whole(measured, side).__getitem__

    def ranks(self, table: Table) -> Table:
        """The ranks of the values of all pairs; ties have the mean rank."""
        from scipy.spatial.distance import squareform
        from scipy.stats import rankdata

        return squareform(rankdata(self.once(table)), checks=False).__getitem__

    def once(self, table: Table) -> np.ndarray:
        """The values of all pairs i < j, each once, (p,)."""
        self.run.require(64 * self.m**2, f"All pairs of {self.m:,} rows at once", "Choose a smaller sample")
        return self._whole(table, None)[np.triu_indices(self.m, 1)]

    def _whole(self, table: Table, side: PointSet | None) -> np.ndarray:
        out = np.empty((self.m, self.m))

        def work(block: slice) -> None:
            out[block] = table(block)

        self._each("computing distances", side, work)
        return out

    @cached_property
    def _blocks(self) -> list[slice]:
        return slices(self.m, max(1, _BLOCK // self.m))

    def _each(self, name: str, side: PointSet | None, work: Callable[[slice], None]) -> None:
        """Process every block of rows on the threads that a side allows; a single block without threads or progress."""
        if len(self._blocks) == 1:
            work(self._blocks[0])
        else:
            run = serial_run() if side is None else side.threads(self.run)
            run.each(name, self._blocks, work)

    def sums(self, A: Table, B: Table, *of: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> np.ndarray:
        """For each row, sums of functions of two tables over its pairs, (f, m); a row and itself are not a pair."""
        out = np.empty((len(of), self.m))

        def work(block: slice) -> None:
            a, b = A(block), B(block)
            own = np.arange(len(a))
            with np.errstate(over="ignore"):  # callers check for infinite values
                for f, sums in zip(of, out, strict=True):
                    values = f(a, b)
                    values[own, own + block.start] = 0.0
                    sums[block] = values.sum(axis=1)

        self._each("comparing distances", self.side, work)
        return out

    def measure(
        self, name: str, value: float, better: Better, about: str, left: Callable[[], np.ndarray], *, ends: Bounds,
        shared: int = 2, of: Callable[[float], float] = float, each: Callable[[], np.ndarray] | None = None,
    ) -> Measure:  # fmt: skip
        """A measure, ``of`` a value between two ends, with its confidence interval if the rows are a sample.

        The interval is a jackknife over the rows: ``left`` returns the values with each row and its pairs left out in
        turn.
        If a few rows make up most of the value, the interval is too narrow, since a sample may miss all of them.
        """
        low = high = None
        if self.evaluated.rows is not None:
            without, m = left(), self.m
            spread = (m - 1) * float(np.sqrt(np.mean((without - without.mean()) ** 2) * m / (m - 1)))
            low, high = (
                of(float(e)) for e in confidence_interval(value, spread, m, self.side.n, ends=ends, shared=shared)
            )
        per_row = None if each is None else self.evaluated.spread(each())
        return Measure(
            name, of(value), per_row, better, about, low, high, self.evaluated.sample, self.evaluated.left_out
        )

"""Original data prepared once for comparison with many embeddings: a sample, its ranks, and distances of pairs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Self

import numpy as np

from lowland.arrays.namespace import slices
from lowland.docstrings import with_parameters
from lowland.errors import ParameterError
from lowland.math.distances.metrics import Metric
from lowland.math.neighbors.ranks import PointSet
from lowland.math.statistics.intervals import Bounds
from lowland.quality.inputs import (
    SHARED,
    EvaluatedRows,
    Kind,
    Sample,
    check_same_rows,
    class_strata,
    interval_of_sample,
    open_coordinates,
    open_original,
    sample_rows,
)
from lowland.quality.measure import Better, Measure
from lowland.run.run import Run, serial_run

ORDERED = 1 << 24  # pairs of rows that "auto" ranks: all of 4,096 rows
PAIRED = 1024  # rows of which "auto" compares all pairs, half a million
KEPT_RANKS = 1 << 28  # bytes of ranks to keep; larger ones are computed again for each embedding
KEPT_DISTANCES = 1 << 25  # bytes of distances to keep; larger tables are computed again for each sum
_RANKS = 1 << 21  # per thread
_DISTANCES = 1 << 19  # per thread

Table = Callable[[slice], np.ndarray]  # block of rows -> their values with all rows, (b, m)


@dataclass(frozen=True, eq=False)
class OriginalSpace:
    """Points of X, prepared once for comparison with many embeddings.

    Create it with ``OriginalSpace.of(X)``. Ranks and distances are computed when they are first needed, and kept.

    Examples
    --------
    >>> from lowland import PCA, data, quality
    >>> X = data.load_dataset("iris").X
    >>> high = quality.OriginalSpace.of(X)
    >>> [round(quality.co_ranking(high, PCA(k).fit_transform(X)).area.value, 2) for k in (1, 2, 3)]
    [0.48, 0.69, 0.87]
    """

    source: Any  # the rows as passed by the user
    side: PointSet
    evaluated: EvaluatedRows
    sample: Sample
    random_state: Any
    strata: np.ndarray | None  # (n,) class indices, if labels were passed
    run: Run
    scaled: bool = False  # whether the columns were divided by scale factors
    found: dict[int, np.ndarray] = field(default_factory=dict)  # nearest neighbors, by k

    @property
    def n(self) -> int:
        """Number of points."""
        return len(self.side.X)

    @property
    def m(self) -> int:
        """Number of evaluated points."""
        return len(self.places)

    @property
    def places(self) -> np.ndarray:
        """The indices of the evaluated points, (m,)."""
        return self.evaluated.places

    @property
    def step(self) -> int:
        """Number of points per thread."""
        return max(1, _RANKS // self.n)

    @classmethod
    @with_parameters(SHARED)
    def of(
        cls, X: Any, *, labels: Any = None, metric: Metric = "euclidean", scale: Any = None, sample: Sample = "auto",
        random_state: Any = None,
    ) -> Self:  # fmt: skip
        """Prepare points.

        Parameters
        ----------
        X : array-like of shape (n, d) or path
            Original data, in any form that methods accept. With ``metric="precomputed"``: their distances, shape (n,
            n).
        labels : array-like of shape (n,) or None, default None
            Class labels by which the sample is stratified. Missing labels are a further class.
        metric : str or function, default "euclidean"
            Distance metric in X.
        scale : array-like of shape (d,), True or None, default None
            Scale factors by which the columns are divided first, such as ``scale_`` of a model. True means the standard
            deviations of the columns. Constant columns are not divided.

        Returns
        -------
        OriginalSpace
            The prepared points.
        """
        side = open_original(X, metric, scale)
        strata = None if labels is None else class_strata(labels, side.n)
        scaled = scale is not None
        return cls._sampled(X, side, np.ones(side.n, dtype=bool), sample, random_state, strata, scaled)

    @classmethod
    def _sampled(
        cls, source: Any, side: PointSet, kept: np.ndarray, sample: Sample, random_state: Any,
        strata: np.ndarray | None, scaled: bool,
    ) -> Self:  # fmt: skip
        rows = sample_rows(side, sample, ORDERED, random_state, strata, most=PAIRED)
        return cls(source, side, EvaluatedRows(kept, rows), sample, random_state, strata, Run(), scaled)

    @classmethod
    def open_pair(
        cls, X: Any, Z: Any, *, labels: Any = None, metric: Metric = "euclidean", scale: Any = None,
        sample: Sample = "auto", random_state: Any = None,
    ) -> tuple[Self, PointSet]:  # fmt: skip
        """Prepare points, or reuse prepared ones, with coordinates. Points without coordinates are left out of both."""
        if isinstance(X, cls):
            X._check_the_same(metric, sample, random_state)
            high = X
        else:
            high = cls.of(X, labels=labels, metric=metric, scale=scale, sample=sample, random_state=random_state)
        C, kept = open_coordinates(Z)
        check_same_rows(high.n, kept)
        return (high if kept.all() else high.among(kept)), PointSet.of(C)

    def _check_the_same(self, metric: Metric, sample: Sample, random_state: Any) -> None:
        """Raise an error if a parameter contradicts the one used to prepare the points; defaults always agree."""
        made = {"metric": self.side.metric, "sample": self.sample, "random_state": self.random_state}
        asked = {"metric": metric, "sample": sample, "random_state": random_state}
        left = {"metric": "euclidean", "sample": "auto", "random_state": None}
        for name, value in asked.items():
            if value is not left[name] and value != left[name] and value is not made[name] and value != made[name]:
                raise ParameterError(
                    f"{name}={value!r}: this OriginalSpace was created with {name}={made[name]!r}. "
                    f"Pass {name} to OriginalSpace.of only."
                )

    def among(self, kept: np.ndarray) -> Self:
        """Prepare only the marked points: their ranks among themselves differ."""
        strata = None if self.strata is None else self.strata[kept]
        side = self.side.among(kept)
        return self._sampled(self.source, side, kept, self.sample, self.random_state, strata, self.scaled)

    def compute_ranks(self) -> None:
        """Compute the ranks now, on all threads, unless they are too many to keep."""
        if 4 * self.m * self.n <= KEPT_RANKS:
            _ = self._kept_ranks

    def ranks(self, block: slice) -> np.ndarray:
        """The ranks of all points as neighbors of a block of the evaluated points, (b, n) int32."""
        if 4 * self.m * self.n > KEPT_RANKS:
            return self.side.all_ranks(self.places[block])
        return self._kept_ranks[block]

    @cached_property
    def _kept_ranks(self) -> np.ndarray:
        out = np.empty((self.m, self.n), dtype=np.int32)

        def work(block: slice) -> None:
            out[block] = self.side.all_ranks(self.places[block])

        self.side.threads(self.run).each("ranking neighbors", slices(self.m, self.step), work)
        return out

    def nearest(self, k: int) -> np.ndarray:
        """The k nearest neighbors of the evaluated points, (m, k), computed once."""
        if k not in self.found:
            self.found[k] = self.side.nearest(k, self.run, self.evaluated.rows)
        return self.found[k]

    @cached_property
    def pairs(self) -> SampledPairs:
        """The points of which all pairs are compared, and their distances. If there are few, these are all points."""
        sample = PAIRED if self.sample == "auto" else self.sample
        evaluated = EvaluatedRows(
            self.evaluated.kept, sample_rows(self.side, sample, 0, self.random_state, self.strata)
        )
        return SampledPairs(self.side, evaluated, self.run)


def mean_ranks(values: np.ndarray) -> np.ndarray:
    """Return the ranks of nonnegative values, (p,), from 1; those that differ in their last bits only share the mean.

    An index replaces the last bits of each value, since sorting numbers is faster than sorting indices.
    """
    last = np.uint64((1 << (len(values) - 1).bit_length()) - 1)
    keys = np.abs(values).view(np.uint64) & ~last | np.arange(len(values), dtype=np.uint64)
    keys.sort()
    ends = 1 + np.flatnonzero(np.diff(keys | last, append=np.uint64(0)))  # of the runs of equal values
    sizes = np.diff(ends, prepend=0)
    ranks = np.empty(len(values))
    ranks[keys & last] = np.repeat(ends - (sizes - 1) / 2, sizes)
    return ranks


@dataclass(frozen=True, eq=False)
class SampledPairs:
    """The pairs of the sampled points, and their distances in the data; each pair counts in the points of both."""

    side: PointSet
    evaluated: EvaluatedRows
    run: Run

    @property
    def m(self) -> int:
        """Number of sampled points."""
        return len(self.evaluated.places)

    @cached_property
    def original(self) -> Table:
        """The distances in the data, in the unit of their side."""
        return self.of(self.side)

    @cached_property
    def original_once(self) -> np.ndarray:
        """The distances in the data, each once, (p,)."""
        return self.once(self.original)

    @cached_property
    def original_ranks(self) -> Table:
        """The ranks of these distances among all pairs; ties have the mean rank."""
        return self.ranks(self.original)

    def of(self, side: PointSet) -> Table:
        """The distances on one side, in its unit."""
        rows = self.evaluated.places
        few = side.alone(rows)

        def measured(block: slice) -> np.ndarray:
            own = np.arange(self.m)[block]
            D = side.distances(rows[block])[:, rows] if few is None else few.distances(own)
            D[np.arange(len(own)), own] = 0.0  # not a pair
            return D

        if 8 * self.m**2 > KEPT_DISTANCES:
            return measured
        return self._whole(measured, side).__getitem__

    def ranks(self, table: Table) -> Table:
        """The ranks of the values of all pairs; ties have the mean rank."""
        from scipy.spatial.distance import squareform

        return squareform(mean_ranks(self.once(table)), checks=False).__getitem__

    def once(self, table: Table) -> np.ndarray:
        """The values of all pairs i < j, each once, (p,)."""
        from scipy.spatial.distance import squareform

        self.run.require(64 * self.m**2, f"All pairs of {self.m:,} rows at once", "Choose a smaller sample")
        is_kept = 8 * self.m**2 <= KEPT_DISTANCES
        return squareform(table(slice(None)) if is_kept else self._whole(table, None), checks=False)

    def _whole(self, table: Table, side: PointSet | None) -> np.ndarray:
        out = np.empty((self.m, self.m))

        def work(block: slice) -> None:
            out[block] = table(block)

        self._each("computing distances", side, work)
        return out

    @cached_property
    def _blocks(self) -> list[slice]:
        return slices(self.m, max(1, _DISTANCES // self.m))

    def _each(self, name: str, side: PointSet | None, work: Callable[[slice], None]) -> None:
        """Process every block of points on the threads that a side allows, or a single block without threads."""
        if len(self._blocks) == 1:
            work(self._blocks[0])
        else:
            run = serial_run() if side is None else side.threads(self.run)
            run.each(name, self._blocks, work)

    def sums(self, A: Table, B: Table, of: Callable[[np.ndarray, np.ndarray], list[np.ndarray]]) -> np.ndarray:
        """Sums over the pairs of each point in two tables, (sums, m): ``of`` returns those of a block of rows."""
        found: dict[int, np.ndarray] = {}

        def work(block: slice) -> None:
            with np.errstate(all="ignore"):  # the measures refuse what is not finite
                found[block.start] = np.stack(of(A(block), B(block)))

        self._each("comparing distances", self.side, work)
        return np.concatenate([found[block.start] for block in self._blocks], axis=1)

    def measure(
        self, name: str, value: float, better: Better, about: str, left: Callable[[], np.ndarray], *, ends: Bounds,
        kind: Kind = "sum over pairs", of: Callable[[float], float] = float,
        each: Callable[[], np.ndarray] | None = None,
    ) -> Measure:  # fmt: skip
        """A measure, ``of`` a value between two ends, with its confidence interval if the points are a sample.

        The interval is a jackknife over the points: ``left`` returns the values with each point and its pairs left out
        in turn. If a few points make up most of the value, the interval is too narrow, since a sample may miss all of
        them.
        """
        low = high = None
        if self.evaluated.rows is not None:
            pseudo = self.m * value - (self.m - 1) * left()
            found = interval_of_sample(value, pseudo, self.side.n, ends, kind)
            low, high = (of(end) for end in found)
        per_row = None if each is None else self.evaluated.spread(each())
        return Measure(
            name, of(value), per_row, better, about, low, high, self.evaluated.sample, self.evaluated.left_out
        )

"""Rows prepared once to be compared with many embeddings: a sample of them, their ranks and distances."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Self

import numpy as np

from lowland.arrays.slices import slices
from lowland.blocks.distances.metrics import Metric
from lowland.blocks.neighbors.ranks import PointSet
from lowland.errors import DataError, ParameterError
from lowland.quality.inputs import EvaluatedRows, Sample, class_strata, open_coordinates, open_original, sample_rows
from lowland.quality.sampled_pairs import SampledPairs
from lowland.run.local import LocalRun
from lowland.run.run import Run

ORDERED = 1 << 24  # pairs of rows that "auto" puts in order: all of 4,096 rows
PAIRED = 1448  # rows of which "auto" compares all pairs, a million
KEPT_BYTES = 1 << 28  # ranks that are kept; more are found again for every embedding
_BLOCK = 1 << 21  # ranks that a thread has in hand


@dataclass(frozen=True, eq=False)
class OriginalSpace:
    """The rows of X, prepared once to be compared with many embeddings by ``evaluate`` and ``co_ranking``.

    Make it with ``OriginalSpace.of(X)``.

    Examples
    --------
    >>> from lowland import PCA, quality
    >>> from lowland.data import load_dataset
    >>> X = load_dataset("iris").X
    >>> high = quality.OriginalSpace.of(X)
    >>> [round(quality.co_ranking(high, PCA(k).fit_transform(X)).area.value, 2) for k in (1, 2, 3)]
    [0.48, 0.69, 0.87]
    """

    source: Any  # the rows as they were given
    side: PointSet
    evaluated: EvaluatedRows
    sample: Sample
    random_state: Any
    strata: np.ndarray | None  # (n,) numbers of classes, where labels were given
    run: Run
    found: dict[int, np.ndarray] = field(default_factory=dict)  # the nearest, for every k that was asked for
    n: int = field(init=False)  # rows that are compared
    m: int = field(init=False)  # rows that are looked at
    places: np.ndarray = field(init=False)  # (m,) which these are
    step: int = field(init=False)  # rows that a thread has in hand

    def __post_init__(self) -> None:
        n = len(self.side.X)
        places = np.arange(n) if self.evaluated.rows is None else self.evaluated.rows
        for name, value in {"n": n, "m": len(places), "places": places, "step": max(1, _BLOCK // n)}.items():
            object.__setattr__(self, name, value)

    @classmethod
    def of(
        cls, X: Any, *, labels: Any = None, metric: Metric = "euclidean", sample: Sample = "auto",
        random_state: Any = None,
    ) -> Self:  # fmt: skip
        """Prepare rows.

        Parameters
        ----------
        X : rows, as any method takes them; with metric "precomputed" their distances, (n, n).
        labels : one a row, of which the sample takes even shares, those without one too; None: no labels.
        metric : how rows are compared.
        sample : how many rows are compared with all others; "auto": all of up to 4,096; None: all.
        random_state : seed of what is drawn; None draws the same each time.
        """
        side = open_original(X, metric)
        strata = None if labels is None else class_strata(labels, side.n)
        return cls._drawn(X, side, np.ones(side.n, dtype=bool), sample, random_state, strata)

    @classmethod
    def _drawn(
        cls, source: Any, side: PointSet, kept: np.ndarray, sample: Sample, random_state: Any, strata: np.ndarray | None
    ) -> Self:
        rows = sample_rows(side, sample, ORDERED, random_state, strata)
        return cls(source, side, EvaluatedRows(kept, rows), sample, random_state, strata, LocalRun())

    @classmethod
    def beside(
        cls, X: Any, Z: Any, *, metric: Metric = "euclidean", sample: Sample = "auto", random_state: Any = None
    ) -> tuple[Self, PointSet]:
        """Open rows, or take those prepared, with the coordinates of the same; rows without are left out of both."""
        high = cls.prepared_once(X, metric=metric, sample=sample, random_state=random_state)
        return high.paired(*open_coordinates(Z))

    @classmethod
    def prepared_once(
        cls, X: Any, *, labels: Any = None, metric: Metric = "euclidean", sample: Sample = "auto",
        random_state: Any = None,
    ) -> Self:  # fmt: skip
        """Prepare rows, or take those that were, if the choices do not contradict them."""
        if not isinstance(X, cls):
            return cls.of(X, labels=labels, metric=metric, sample=sample, random_state=random_state)
        X._check_the_same(metric, sample, random_state)
        return X

    def paired(self, C: np.ndarray, kept: np.ndarray) -> tuple[Self, PointSet]:
        """These rows and their coordinates; ``kept`` marks the rows that have some, (n,), and C holds them."""
        if self.n != len(kept):
            raise DataError(
                f"X has {self.n:,} rows and Z has {len(kept):,}. Pass the coordinates of the rows of X, in order."
            )
        return (self if kept.all() else self.among(kept)), PointSet.of(C)

    def _check_the_same(self, metric: Metric, sample: Sample, random_state: Any) -> None:
        """Refuse choices that contradict those with which the rows were prepared; what is left as it is agrees."""
        made = {"metric": self.side.metric, "sample": self.sample, "random_state": self.random_state}
        asked = {"metric": metric, "sample": sample, "random_state": random_state}
        left = {"metric": "euclidean", "sample": "auto", "random_state": None}
        for name, value in asked.items():
            if value is not left[name] and value != left[name] and value is not made[name] and value != made[name]:
                raise ParameterError(
                    f"{name}={value!r}: this OriginalSpace was made with {name}={made[name]!r}. "
                    "Say it to OriginalSpace.of alone."
                )

    def among(self, kept: np.ndarray) -> Self:
        """Prepare the marked rows alone: ranks among them are other ones."""
        strata = None if self.strata is None else self.strata[kept]
        return self._drawn(self.source, self.side.among(kept), kept, self.sample, self.random_state, strata)

    def prepared(self) -> Self:
        """Find the ranks now, on all threads, unless they are too many to keep."""
        if 4 * self.m * self.n <= KEPT_BYTES:
            _ = self._kept_ranks
        return self

    def ranks(self, block: slice) -> np.ndarray:
        """The ranks of all points among the neighbours of some of the rows looked at, (b, n) int32."""
        if 4 * self.m * self.n > KEPT_BYTES:
            return self.side.all_ranks(self.places[block])
        return self._kept_ranks[block]

    @cached_property
    def _kept_ranks(self) -> np.ndarray:
        out = np.empty((self.m, self.n), dtype=np.int32)

        def work(block: slice) -> None:
            out[block] = self.side.all_ranks(self.places[block])

        self.side.threads(self.run).each("ranking neighbours", slices(self.m, self.step), work)
        return out

    def nearest(self, k: int) -> np.ndarray:
        """The k nearest of the rows that are looked at, (m, k), found once."""
        if k not in self.found:
            self.found[k] = self.side.nearest(k, self.run, self.evaluated.rows)
        return self.found[k]

    @cached_property
    def pairs(self) -> SampledPairs:
        """Rows of which all pairs are compared, and their distances; every row where there are few enough."""
        sample = PAIRED if self.sample == "auto" else self.sample
        evaluated = EvaluatedRows(
            self.evaluated.kept, sample_rows(self.side, sample, 0, self.random_state, self.strata)
        )
        return SampledPairs(self.side, evaluated, self.run)

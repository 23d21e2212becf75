"""Original rows prepared once for comparison with many embeddings: a sample, its ranks and distances."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Self

import numpy as np

from lowland.arrays.slices import slices
from lowland.errors import DataError, ParameterError
from lowland.math.distances.metrics import Metric
from lowland.math.neighbors.ranks import PointSet
from lowland.quality.inputs import EvaluatedRows, Sample, class_strata, open_coordinates, open_original, sample_rows
from lowland.quality.sampled_pairs import SampledPairs
from lowland.run.local import LocalRun
from lowland.run.run import Run

ORDERED = 1 << 24  # pairs of rows that "auto" ranks: all of 4,096 rows
PAIRED = 1448  # rows of which "auto" compares all pairs, a million
KEPT_BYTES = 1 << 28  # bytes of ranks to keep; larger ones are computed again for each embedding
_BLOCK = 1 << 21  # ranks per thread


@dataclass(frozen=True, eq=False)
class OriginalSpace:
    """Rows of X, prepared once for comparison with many embeddings by ``evaluate`` and ``co_ranking``.

    Create it with ``OriginalSpace.of(X)``. Ranks and distances are computed when they are first needed, and kept.

    Examples
    --------
    >>> from lowland import PCA, quality
    >>> from lowland.data import load_dataset
    >>> X = load_dataset("iris").X
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
    n: int = field(init=False)  # number of rows
    m: int = field(init=False)  # number of evaluated rows
    places: np.ndarray = field(init=False)  # (m,) their indices
    step: int = field(init=False)  # rows per thread

    def __post_init__(self) -> None:
        n = len(self.side.X)
        places = np.arange(n) if self.evaluated.rows is None else self.evaluated.rows
        for name, value in {"n": n, "m": len(places), "places": places, "step": max(1, _BLOCK // n)}.items():
            object.__setattr__(self, name, value)

    @classmethod
    def of(
        cls, X: Any, *, labels: Any = None, metric: Metric = "euclidean", scale: Any = None, sample: Sample = "auto",
        random_state: Any = None,
    ) -> Self:  # fmt: skip
        """Prepare rows.

        Parameters
        ----------
        X : array-like of shape (n, d) or path
            Original rows, in any form that methods accept. With ``metric="precomputed"``: their distances, shape (n,
            n).
        labels : array-like of shape (n,) or None, default None
            Class labels by which the sample is stratified. Missing labels are a class of their own.
        metric : str or function, default "euclidean"
            Distance metric in X.
        scale : array-like of shape (d,), True or None, default None
            Scale factors by which the columns are divided first, such as ``scale_`` of a model. True: the standard
            deviations of the columns; constant columns are not divided.
        sample : int, "auto" or None, default "auto"
            Number of sampled rows that are compared with all others. "auto": all rows up to 4,096. None: all rows.
        random_state : int, Generator or None, default None
            Seed of the sample. None draws the same sample every time.

        Returns
        -------
        OriginalSpace
            The prepared rows.
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
        rows = sample_rows(side, sample, ORDERED, random_state, strata)
        return cls(source, side, EvaluatedRows(kept, rows), sample, random_state, strata, LocalRun(), scaled)

    @classmethod
    def beside(
        cls, X: Any, Z: Any, *, metric: Metric = "euclidean", sample: Sample = "auto", random_state: Any = None
    ) -> tuple[Self, PointSet]:
        """Open or reuse prepared rows, with their coordinates; rows without coordinates are left out of both."""
        high = cls.prepared_once(X, metric=metric, sample=sample, random_state=random_state)
        return high.paired(*open_coordinates(Z))

    @classmethod
    def prepared_once(
        cls, X: Any, *, labels: Any = None, metric: Metric = "euclidean", scale: Any = None, sample: Sample = "auto",
        random_state: Any = None,
    ) -> Self:  # fmt: skip
        """Prepare rows, or reuse prepared ones if the parameters do not contradict them."""
        if not isinstance(X, cls):
            return cls.of(X, labels=labels, metric=metric, scale=scale, sample=sample, random_state=random_state)
        X._check_the_same(metric, sample, random_state)
        return X

    def paired(self, C: np.ndarray, kept: np.ndarray) -> tuple[Self, PointSet]:
        """These rows and their coordinates C; ``kept`` is the mask of the rows that have some, (n,)."""
        if self.n != len(kept):
            raise DataError(
                f"`X` has {self.n:,} rows and `Z` has {len(kept):,}. Pass the coordinates of the rows of `X`, in the "
                "same order."
            )
        return (self if kept.all() else self.among(kept)), PointSet.of(C)

    def _check_the_same(self, metric: Metric, sample: Sample, random_state: Any) -> None:
        """Raise an error if a parameter contradicts the one used to prepare the rows; defaults always agree."""
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
        """Prepare only the marked rows: their ranks among themselves differ."""
        strata = None if self.strata is None else self.strata[kept]
        side = self.side.among(kept)
        return self._sampled(self.source, side, kept, self.sample, self.random_state, strata, self.scaled)

    def prepared(self) -> Self:
        """Compute the ranks now, on all threads, unless they are too many to keep."""
        if 4 * self.m * self.n <= KEPT_BYTES:
            _ = self._kept_ranks
        return self

    def ranks(self, block: slice) -> np.ndarray:
        """The ranks of all points as neighbors of a block of the evaluated rows, (b, n) int32."""
        if 4 * self.m * self.n > KEPT_BYTES:
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
        """The k nearest neighbors of the evaluated rows, (m, k), computed once."""
        if k not in self.found:
            self.found[k] = self.side.nearest(k, self.run, self.evaluated.rows)
        return self.found[k]

    @cached_property
    def pairs(self) -> SampledPairs:
        """The rows of which all pairs are compared, and their distances; all rows if there are few enough."""
        sample = PAIRED if self.sample == "auto" else self.sample
        evaluated = EvaluatedRows(
            self.evaluated.kept, sample_rows(self.side, sample, 0, self.random_state, self.strata)
        )
        return SampledPairs(self.side, evaluated, self.run)

"""Dependence of the columns of a table in memory on a target, one column at a time.

A measure is an object that stores what it needs of the target: Spearman correlation, distance correlation, mutual
information. None needs more than a few numbers per row.
"""

from __future__ import annotations

from typing import ClassVar, Protocol

import numpy as np

from lowland.math.selection.columns import ColumnReader
from lowland.math.selection.distance_correlation import DistanceCorrelation
from lowland.math.selection.filters import FilterScores
from lowland.math.selection.mutual_information import MutualInformation
from lowland.math.selection.rank_correlation import Spearman
from lowland.math.statistics.labels import Target
from lowland.run.run import Run

_PERMUTATIONS = 999
_SMALL = 50_000  # numbers; smaller tables are not worth threads


class DependenceMeasure(Protocol):
    """A measure of the dependence of a column on the target."""

    least_rows: ClassVar[int]  # with fewer rows its p-value is not valid, and permutations replace it
    signed: ClassVar[bool]  # whether the sign of the score is a direction

    def prepare(self, x: np.ndarray, j: int) -> np.ndarray:
        """Return column j as the measure needs it; this must not depend on the order of the rows."""

    def __call__(self, x: np.ndarray, j: int) -> tuple[float, float]:
        """Return the score of a prepared column, and its p-value; NaN where it has none."""


def column_scores(
    columns: ColumnReader,
    measure: DependenceMeasure,
    run: Run,
    n_permutations: int = 0,
    seed: int = 0,
) -> FilterScores:
    """Return the score of every column; permutation p-values where asked for, or where there are too few rows.

    All columns use the same permutations.
    """
    if not n_permutations and columns.n < measure.least_rows:
        n_permutations, seed = _PERMUTATIONS, 0
    seeds = np.random.default_rng(seed).integers(2**63, size=n_permutations)

    def work(j: int) -> tuple[float, float, bool]:
        x = columns[j]
        if x.min() == x.max():
            return 0.0, 1.0, True
        x = measure.prepare(x, j)
        value, p = measure(x, j)
        if n_permutations:
            least = abs(value) * (1 - 1e-12)  # rounding must not decide
            more = sum(abs(measure(x[np.random.default_rng(s).permutation(len(x))], j)[0]) >= least for s in seeds)
            p = (1 + more) / (1 + n_permutations)
        return value, p, False

    small = columns.n * columns.d * (1 + n_permutations) < _SMALL
    found = [work(j) for j in range(columns.d)] if small else run.each("scoring columns", range(columns.d), work)
    values, p, constant = (np.array(each) for each in zip(*found, strict=True))
    return FilterScores.of(values, None if np.isnan(p).any() else p, constant, columns.n, signed=measure.signed)


def measure_for(statistic: str, target: Target, discrete: np.ndarray, k: int, seed: int) -> DependenceMeasure:
    """Return the measure with this name; the last three arguments are for mutual information."""
    if statistic == "spearman":
        return Spearman.to(target.values)
    if statistic == "distance-correlation":
        return DistanceCorrelation.to(target)
    return MutualInformation.to(target, discrete, k, seed)

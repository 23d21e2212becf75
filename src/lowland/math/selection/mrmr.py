"""Minimum redundancy, maximum relevance (mRMR): columns associated with the target and not with each other.

Ding and Peng 2005; Peng, Long and Ding 2005.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from lowland.arrays.namespace import to_numpy
from lowland.errors import DataError
from lowland.math.selection.column_statistics import ClassColumns, ColumnsAndMoments
from lowland.math.selection.columns import ColumnReader
from lowland.math.selection.filters import check_squares, correlation_ratios, pearson_scores
from lowland.math.selection.greedy_search import first_best
from lowland.math.selection.mutual_information import MutualInformation
from lowland.math.selection.selection_path import Move
from lowland.math.statistics.moments import Moments
from lowland.math.statistics.targets import Target
from lowland.run.run import Run

_LEAST = 1e-3  # smallest redundancy in a quotient, which would otherwise amplify noise
_TIE = 1e-10  # criteria closer than this are tied, and the first column is selected

Redundancy = Callable[[int], np.ndarray]  # of each column with column j, (d,)


@dataclass(frozen=True)
class Relevance:
    """The relevance of each column for the target, and the redundancy of any two columns."""

    values: np.ndarray  # (d,)
    redundancy: Redundancy
    constant: np.ndarray  # (d,) bool
    n: int  # rows


class GreedyChoice:
    """The state of the search: the selected columns, and the current criterion of each column."""

    def __init__(self, relevance: Relevance, *, quotient: bool) -> None:
        self.relevance, self.redundancy, self.constant = relevance.values, relevance.redundancy, relevance.constant
        self.quotient = quotient
        self.chosen: list[int] = []
        self.scores = relevance.values.copy()  # of a selected column: the criterion when it was selected
        self._redundancies = np.zeros(len(self.scores))  # summed over the selected columns

    def moves(self, k: int) -> Iterator[Move]:
        """Add the column with the best relevance relative to its mean redundancy, until there are k."""
        d = len(self.relevance)
        while len(self.chosen) < k:
            left = np.setdiff1d(np.arange(d), self.chosen)
            varying = left[~self.constant[left]]
            J = varying if len(varying) else left
            j = int(J[first_best(self.scores[J], _TIE)])
            self.chosen.append(j)
            yield Move("add", j, float(self.scores[j]), tuple(sorted(self.chosen)))
            if len(self.chosen) == d:
                return
            self._redundancies += self.redundancy(j)
            left = left[left != j]
            mean = self._redundancies[left] / len(self.chosen)
            relevance = self.relevance[left]
            self.scores[left] = relevance / np.maximum(mean, _LEAST) if self.quotient else relevance - mean

    def ranking(self) -> np.ndarray:
        """Return the columns in the order of selection, then the rest by criterion, constant ones last."""
        left = np.setdiff1d(np.arange(len(self.scores)), self.chosen)
        rest = left[np.lexsort((left, -self.scores[left], self.constant[left]))]
        return np.concatenate([np.array(self.chosen, dtype=int), rest])


def by_correlation(found: ColumnsAndMoments) -> Relevance:
    """Return relevance and redundancy from the moments of one pass.

    Relevance is the absolute correlation with numbers, or the correlation ratio with classes, which is the same for
    two classes. Redundancy is the absolute correlation of two columns.
    """
    if found.moments.lost_digits:
        raise DataError(
            "The means of the sparse columns are too large relative to their standard deviations: the correlations "
            "lose too many digits. Make them dense (`X.toarray()`), or measure redundancy by mutual information."
        )
    m = found.moments
    check_squares(m.n, to_numpy(m.mean), np.diagonal(to_numpy(m.scatter)), m.rounding)
    constant = ~(to_numpy(m.variances) > 0)
    if isinstance(found.columns, ClassColumns):
        relevance = correlation_ratios(found.columns)
    else:
        relevance = np.abs(pearson_scores(found.columns).values)
    C = np.abs(correlations(found.moments))
    return Relevance(np.where(constant, 0.0, relevance), lambda j: C[j], constant, int(found.moments.n))


def correlations(moments: Moments) -> np.ndarray:
    """Return the correlations of the columns, (d, d), zero for constant columns."""
    S = to_numpy(moments.scatter).astype(np.float64)
    deviations = np.sqrt(np.where(to_numpy(moments.variances) > 0, np.diagonal(S), np.inf))
    return S / deviations[:, None] / deviations[None, :]


def by_information(
    columns: ColumnReader, target: Target, discrete: np.ndarray, k: int, seed: int, run: Run
) -> Relevance:
    """Return relevance and redundancy as mutual information in nats, from rows in memory; redundancy when needed."""
    constant = columns.constant()

    def informations(to: Target) -> np.ndarray:
        measure = MutualInformation.to(to, discrete, k, seed)

        def work(j: int) -> float:
            return 0.0 if constant[j] else measure(measure.prepare(columns[j], j), j)[0]

        return np.array(run.each("comparing columns", range(columns.d), work))

    def redundancy(j: int) -> np.ndarray:
        if constant[j]:
            return np.zeros(columns.d)
        x = columns[j]
        kinds, codes = np.unique(x, return_inverse=True) if discrete[j] else (None, x)
        return informations(Target(codes, kinds))

    return Relevance(informations(target), redundancy, constant, columns.n)

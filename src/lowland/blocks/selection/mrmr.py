"""Columns that tell much of the target and little of each other: minimum redundancy, maximum relevance.

Ding and Peng 2005; Peng, Long and Ding 2005.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from lowland.arrays.namespace import to_numpy
from lowland.blocks.selection.dependence import ColumnReader, MutualInformation
from lowland.blocks.selection.filters import Both, ClassColumns, check_squares, correlation_ratios, pearson_scores
from lowland.blocks.selection.subset_search import Move, first_best
from lowland.blocks.statistics.moments import Moments
from lowland.blocks.statistics.targets import Target
from lowland.errors import DataError
from lowland.run.run import Run

_LEAST = 1e-3  # redundancy below this counts as this, or the quotient would follow noise
_TIE = 1e-10  # criteria nearer than this are equal, and the first column wins

Redundancy = Callable[[int], np.ndarray]  # of each column with column j, (d,)


class GreedyChoice:
    """The state of the search: what was chosen, and what each column would bring."""

    def __init__(self, relevance: np.ndarray, redundancy: Redundancy, constant: np.ndarray, *, quotient: bool) -> None:
        self.relevance, self.redundancy, self.constant, self.quotient = relevance, redundancy, constant, quotient
        self.chosen: list[int] = []
        self.scores = relevance.copy()  # of a chosen column, as it was when it was chosen
        self._shared = np.zeros(len(relevance))  # the sum of redundancies with the chosen

    def moves(self, k: int) -> Iterator[Move]:
        """Add the column whose relevance most exceeds its mean redundancy with the chosen, until there are k."""
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
            self._shared += self.redundancy(j)
            left = left[left != j]
            mean = self._shared[left] / len(self.chosen)
            relevance = self.relevance[left]
            self.scores[left] = relevance / np.maximum(mean, _LEAST) if self.quotient else relevance - mean

    def ranking(self) -> np.ndarray:
        """Return the columns from the first chosen to the worst of the rest, constant ones last."""
        left = np.setdiff1d(np.arange(len(self.scores)), self.chosen)
        rest = left[np.lexsort((left, -self.scores[left], self.constant[left]))]
        return np.concatenate([np.array(self.chosen, dtype=int), rest])


def by_correlation(found: Both) -> tuple[np.ndarray, Redundancy, np.ndarray, int]:
    """Relevance, redundancy, constant columns and the number of rows from sums of one pass.

    Relevance is the size of the correlation with numbers, or the correlation ratio with classes, which is the same if
    there are two; redundancy the size of the correlation of two columns.
    """
    if found.moments.lost_digits:
        raise DataError(
            "The sparse rows lie too far from the origin for their correlations to be trusted. Pass X.toarray(), or "
            "choose mrmr_redundancy='mutual-information'."
        )
    m = found.moments
    check_squares(m.n, to_numpy(m.mean), np.diagonal(to_numpy(m.scatter)), m.rounding)
    constant = ~(to_numpy(m.variances) > 0)
    if isinstance(found.columns, ClassColumns):
        relevance = correlation_ratios(found.columns)
    else:
        relevance = np.abs(pearson_scores(found.columns).values)
    C = np.abs(correlations(found.moments))
    return np.where(constant, 0.0, relevance), lambda j: C[j], constant, int(found.moments.n)


def correlations(moments: Moments) -> np.ndarray:
    """Return the correlations of the columns, (d, d), zero for those that do not vary."""
    S = to_numpy(moments.scatter).astype(np.float64)
    deviations = np.sqrt(np.where(to_numpy(moments.variances) > 0, np.diagonal(S), np.inf))
    return S / deviations[:, None] / deviations[None, :]


def by_information(
    columns: ColumnReader, target: Target, discrete: np.ndarray, k: int, seed: int, run: Run
) -> tuple[np.ndarray, Redundancy, np.ndarray, int]:
    """The same from mutual information, in nats, of rows in memory; columns are compared when one is chosen."""
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

    return informations(target), redundancy, constant, columns.n

"""Stability selection: columns that the lasso selects repeatedly on random halves of the rows."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from lowland.math.selection.lasso_data import LassoData
from lowland.math.selection.lasso_path import first_to_enter


@dataclass(frozen=True)
class StableColumns:
    """The selection frequency of each column, and the bound on false positives."""

    frequencies: np.ndarray  # (d,) fraction of the halves that select a column
    q: int  # number of columns that each half may select
    error_bound: float  # on the expected number of false positives

    @classmethod
    def of(
        cls,
        sample: LassoData,
        fractions: np.ndarray,
        *,
        threshold: float,
        expected_false_positives: float,
        at_least: int,
        tol: float,
        max_iter: int,
        tick: Callable[[], Any],
    ) -> StableColumns:
        """Compute the path of every half; each half may select ``at_least`` this many columns in any case."""
        d = int((sample.scale > 0).sum())  # columns that are not constant
        q = max(entrants_allowed(d, threshold, expected_false_positives), at_least)
        frequencies = selection_frequencies(sample, min(q, d), fractions, tol, max_iter, tick)
        return cls(frequencies, q, error_bound(d, threshold, q))

    def ranked(self, sizes: np.ndarray) -> list[int]:
        """Return the columns that some half selects, the most stable first, then by ``sizes``."""
        order = np.lexsort((-sizes, -self.frequencies)).tolist()
        return [j for j in order if self.frequencies[j] > 0]


def selection_frequencies(
    sample: LassoData, q: int, fractions: np.ndarray, tol: float, max_iter: int, tick: Callable[[], Any]
) -> np.ndarray:
    """Return the fraction of the halves in which each column is among the first q to enter, (d,).

    ``fractions`` are the penalties of a grid, as fractions of the largest of each half.
    """
    counts = np.zeros(len(sample.scale))
    for pair in range(len(sample.layout.splits)):
        for side in (0, 1):
            problem = sample.part(pair, side)
            if problem is not None and problem.alpha_max > 0:
                counts[first_to_enter(problem, problem.alpha_max * fractions, q, tol, max_iter)[0]] += 1
            tick()
    return counts / (2 * len(sample.layout.splits))


def entrants_allowed(d: int, threshold: float, expected_false_positives: float) -> int:
    """Return how many columns each half may select, so that the bound on false positives holds."""
    return max(1, min(d, math.floor(math.sqrt(expected_false_positives * (2 * threshold - 1) * d) + 1e-9)))


def error_bound(d: int, threshold: float, q: int) -> float:
    """Return the bound on the expected number of false positives, q²/((2π - 1)d).

    Meinshausen and Bühlmann (2010) for exchangeable noise columns. Shah and Samworth (2013), with complementary pairs
    of halves, without that condition: for columns that a half selects less often than at random.
    """
    return q**2 / ((2 * threshold - 1) * d)

"""Monotone (isotonic) regression: the values closest to given ones that have a prescribed order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from lowland.arrays.namespace import Array, like, to_numpy

Ties = Literal["primary", "secondary"]

_EQUAL = (
    1e-12  # fraction of the largest value within which successive values are tied, so that rounding does not rank them
)


@dataclass(frozen=True)
class Ranking:
    """The order of some values, and which of them are tied."""

    order: np.ndarray  # (p,) positions of the known values, ascending
    borders: np.ndarray  # (g + 1,) where each group of equal values begins in ``order``, and its end

    @property
    def has_ties(self) -> bool:
        """Whether any two values are equal."""
        return len(self.borders) <= len(self.order)


def rank(values: np.ndarray) -> Ranking:
    """Rank values; NaN is left out."""
    order = np.argsort(values, kind="stable")  # NaN comes last
    order = order[: len(order) - int(np.isnan(values).sum())]
    if len(values) < 2**31:
        order = order.astype(np.int32)  # half the memory
    ranked = values[order]
    new = np.ones(len(ranked) + 1, dtype=bool)
    new[1:-1] = np.diff(ranked) > _EQUAL * (ranked[-1] if len(ranked) else 0.0)
    return Ranking(order, np.flatnonzero(new))


def monotone_regression(
    d: np.ndarray, ranking: Ranking, ties: Ties = "primary", weights: np.ndarray | None = None
) -> np.ndarray:
    """Return the values closest to d, (p,), that are monotone in a ranking; values without a rank are NaN.

    ``ties``: tied ranks may get different values (primary: they are sorted by d first), or must be equal (secondary).
    Kruskal 1964, doi:10.1007/BF02289694.
    """
    from scipy.optimize import isotonic_regression

    order = ranking.order
    fitted = np.full(len(d), np.nan)
    if ties == "secondary" and ranking.has_ties:
        starts, sizes = ranking.borders[:-1], np.diff(ranking.borders)
        w = np.ones(len(order)) if weights is None else weights[order]
        sums = np.add.reduceat(w, starts)
        means = np.add.reduceat(w * d[order], starts) / sums
        fitted[order] = np.repeat(isotonic_regression(means, weights=sums).x, sizes)
        return fitted
    if ranking.has_ties:
        sizes = np.diff(ranking.borders)
        tied = np.repeat(sizes > 1, sizes)
        some, group = order[tied], np.repeat(np.arange(len(sizes)), sizes)[tied]
        order = order.copy()
        order[tied] = some[np.lexsort((d[some], group))]
    fitted[order] = isotonic_regression(d[order], weights=None if weights is None else weights[order]).x
    return fitted


@dataclass(frozen=True)
class IsotonicCurve:
    """A nondecreasing piecewise linear curve, constant beyond its ends."""

    x: np.ndarray  # (m,) increasing
    y: np.ndarray  # (m,) nondecreasing

    def __call__(self, values: Array) -> Array:
        """Evaluate the curve at some values, of any array library and shape; NaN stays NaN."""
        return like(np.interp(to_numpy(values), self.x, self.y), values)


def curve_through(x: np.ndarray, fitted: np.ndarray, ranking: Ranking) -> IsotonicCurve:
    """Return the curve of a monotone regression: its knots are the ends of its constant segments.

    Where tied values got different disparities, their mean is used.
    """
    starts, sizes = ranking.borders[:-1], np.diff(ranking.borders)
    at = x[ranking.order][starts]
    level = np.add.reduceat(fitted[ranking.order], starts) / sizes
    edge = np.ones(len(level), dtype=bool)
    edge[1:-1] = (level[1:-1] != level[:-2]) | (level[1:-1] != level[2:])
    at, level = at[edge], np.maximum.accumulate(level[edge])
    if len(at) == 1:  # a single value: a constant
        at, level = np.array([at[0], at[0] + 1.0]), np.repeat(level, 2)
    return IsotonicCurve(at.astype(np.float64), level)

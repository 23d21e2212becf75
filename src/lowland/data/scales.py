"""Whether the columns of a table have different units, so that they need a common scale."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

MAX_RATIO = 10.0  # of standard deviations: above it, columns in large units dominate
_BLOCK = 2**19  # numbers that are looked at together
MANY_COLUMNS, MANY_ZEROS = 16, 0.2  # columns, and fraction of zeros: pixels or counts
MOSTLY_ZEROS, LARGE_COUNT = 0.5, 5  # fraction of zeros, and a value that answers on a short scale do not reach


def are_counts(X: Any) -> bool:
    """Whether X (n, d), dense or sparse, counts words, species or events: many columns of integers, mostly zeros.

    Ones are the most frequent of the other values. They are rare among pixels, whose largest values are frequent.
    """
    n, d = X.shape
    values = X.data if hasattr(X, "tocsr") else X[X != 0]
    values = values[values != 0]
    if d < MANY_COLUMNS or not len(values) or len(values) > (1 - MOSTLY_ZEROS) * n * d:
        return False
    if not (values.min() >= 1 and LARGE_COUNT <= values.max() < 2**53 and (values % 1 == 0).all()):
        return False
    counts = np.unique(values, return_counts=True)[1]
    return bool(counts[0] == counts.max() and values.min() == 1)


def scales_differ(X: np.ndarray) -> bool:
    """Whether the standard deviations of the columns of X (n, d), NaN where missing, differ by more than ten times.

    Pixels and counts share one unit, although the standard deviations of rare ones are small: see ``units_differ``.
    """
    spread, low, high, integer, zeros = _spreads(X)
    varies = low < high
    share = float(zeros[varies].mean()) if varies.any() else 0.0
    return units_differ(spread[varies], low[varies], high[varies], integer[varies] > 0, share)


def standard_deviation_ratio(X: np.ndarray) -> float:
    """Return the ratio of the largest to the smallest standard deviation of the columns that are not constant."""
    spread, low, high, *_ = _spreads(X)
    spread = spread[low < high]
    return float(spread.max() / spread.min()) if len(spread) else 1.0


def _spreads(X: np.ndarray) -> np.ndarray:
    """Standard deviation, minimum, maximum, whether all are integers, and fraction of zeros of each column, (5, d).

    NaN and infinity do not count. A few columns at a time, since the temporary arrays are larger than the columns.
    """
    X = np.asarray(X)
    step = max(1, _BLOCK // max(1, len(X)))
    return np.hstack([np.zeros((5, 0)), *(_spreads_of(X[:, j : j + step]) for j in range(0, X.shape[1], step))])


def _spreads_of(X: np.ndarray) -> np.ndarray:
    X = X.astype(np.float64, copy=False)
    known = np.isfinite(X)
    low = np.where(known, X, np.inf).min(axis=0, initial=np.inf)
    high = np.where(known, X, -np.inf).max(axis=0, initial=-np.inf)
    top = np.maximum(np.abs(low), np.abs(high))
    top[~np.isfinite(top) | (top == 0)] = 1.0
    values = np.where(known, X, 0.0)
    U = values / top  # squares of very large and very small values would be lost
    n = np.maximum(known.sum(axis=0), 1)
    spread = top * np.sqrt((np.where(known, U - U.sum(axis=0) / n, 0.0) ** 2).sum(axis=0) / n)
    zeros = np.count_nonzero(X == 0, axis=0) / max(1, len(X))
    return np.array([spread, low, high, (values % 1 == 0).all(axis=0), zeros])


def kinds_differ(columns: Iterable[Any]) -> bool:
    """Return the same for columns whose kinds were found, where some may not be numbers."""
    columns = list(columns)
    if columns and columns[0].vector and all(c.vector == columns[0].vector for c in columns):
        return False  # the numbers of a vector share one unit
    if any(c.sd is None for c in columns):
        return True
    found = np.array([(c.sd, c.min, c.max, c.kind != "number", c.zeros / max(c.n, 1)) for c in columns if c.sd])
    if len(found) < 2:
        return False
    spread, low, high, integer, zeros = found.T
    return units_differ(spread, low, high, integer > 0, float(zeros.mean()))


def units_differ(spread: np.ndarray, low: np.ndarray, high: np.ndarray, integer: np.ndarray, zeros: float) -> bool:
    """Whether standard deviations (d,) of columns that vary differ by more than ten times, except of pixels and counts.

    Those are many columns without negative values that do not exceed 1, or of integers with many zeros. ``zeros`` is
    the fraction of zeros.
    """
    if len(spread) < 2 or spread.max() <= MAX_RATIO * spread.min():
        return False
    same_range = bool(high.max() <= 1 or (integer.all() and zeros >= MANY_ZEROS))
    return not (len(spread) >= MANY_COLUMNS and low.min() >= 0 and same_range)

"""Whether the columns of a table have different units, so that they need a common scale."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

MAX_RATIO = 10.0  # of standard deviations: above it, columns in large units dominate
MANY_COLUMNS = 16  # of which most begin at 0: pixels or counts


def scales_differ(X: np.ndarray) -> bool:
    """Whether the standard deviations of the columns of X (n, d), NaN where missing, differ by more than ten times.

    Pixels and counts share one unit, although the standard deviations of rare ones are small: see ``units_differ``.
    """
    X = np.asarray(X, dtype=np.float64)
    known = np.isfinite(X)
    low = np.where(known, X, np.inf).min(axis=0, initial=np.inf)
    high = np.where(known, X, -np.inf).max(axis=0, initial=-np.inf)
    top = np.maximum(np.abs(low), np.abs(high))
    top[~np.isfinite(top) | (top == 0)] = 1.0
    U = np.where(known, X / top, 0.0)  # squares of very large and very small values would be lost
    n = np.maximum(known.sum(axis=0), 1)
    spread = top * np.sqrt((np.where(known, U - U.sum(axis=0) / n, 0.0) ** 2).sum(axis=0) / n)
    integer = np.where(known, X % 1 == 0, True).all(axis=0)
    return units_differ(spread[low < high], low[low < high], high[low < high], integer[low < high])


def kinds_differ(columns: Iterable[Any]) -> bool:
    """Return the same for columns whose kinds were found, where some may not be numbers."""
    columns = list(columns)
    if any(c.sd is None for c in columns):
        return True
    found = np.array([(c.sd, c.min, c.max, c.kind != "number") for c in columns if c.sd]).reshape(-1, 4)
    return units_differ(found[:, 0], found[:, 1], found[:, 2], found[:, 3] > 0)


def units_differ(spread: np.ndarray, low: np.ndarray, high: np.ndarray, integer: np.ndarray) -> bool:
    """Whether standard deviations (d,) of columns that vary differ by more than ten times, except of pixels and counts.

    Those are many columns without negative values, most of which begin at 0, that are integers or do not exceed 1.
    """
    if len(spread) < 2 or spread.max() <= MAX_RATIO * spread.min():
        return False
    one_unit = len(spread) >= MANY_COLUMNS and low.min() >= 0 and np.mean(low == 0) > 0.9
    return not (one_unit and (high.max() <= 1 or integer.all()))

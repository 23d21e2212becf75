"""Whether two scores differ by more than chance: what advice may call better, and what it may not."""

from __future__ import annotations

import math

import numpy as np

from lowland.study.result import Score

MARGIN = 0.02  # by which scores must differ where nothing says by how much chance moves them


def ties(a: Score, b: Score) -> bool:
    """Whether two scores cannot be told apart: fold by fold, else by their intervals, else by the margin."""
    if len(a.folds) == len(b.folds) > 1:
        return not surely_above_zero(np.abs(np.mean(a.folds) - np.mean(b.folds)), np.subtract(a.folds, b.folds))
    low, high = (a, b) if a.value <= b.value else (b, a)
    if low.high is not None and high.low is not None:
        return low.high >= high.low
    return high.value - low.value <= MARGIN


def worse(a: Score, b: Score) -> bool:
    """Whether a is surely below b."""
    return a.value < b.value and not ties(a, b)


def above(a: Score, level: float) -> bool:
    """Whether a score of held-out rows is surely above a level, such as that of guessing."""
    if len(a.folds) > 1:
        return surely_above_zero(float(np.mean(a.folds)) - level, np.subtract(a.folds, level))
    return a.low is not None and a.low > level


def surely_above_zero(mean: float, differences: np.ndarray) -> bool:
    """Whether the mean of folds lies beyond a 95 % interval about zero.

    Folds share what they learn from, for which the variance is widened (Nadeau and Bengio 2003,
    doi:10.1023/A:1024068626366).
    """
    from scipy.stats import t

    folds = len(differences)
    spread = math.sqrt((1 / folds + 1 / (folds - 1)) * float(np.var(differences, ddof=1)))
    return mean > 1e-12 and mean > float(t.ppf(0.975, folds - 1)) * spread


def because(a: Score, b: Score) -> str:
    """Why two scores that differ in digits count as equal."""
    if len(a.folds) == len(b.folds) > 1:
        return "fold by fold"
    return "as their intervals meet" if a.low is not None and b.low is not None else f"as it lies within {MARGIN:g}"

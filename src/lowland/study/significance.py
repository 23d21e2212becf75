"""Whether two scores differ significantly."""

from __future__ import annotations

import numpy as np

from lowland.trial.records import Score

MARGIN = 0.02  # equivalence margin for scores without a confidence interval
EQUAL = 0.05  # scores that differ by more are not tied, even if the difference is not significant
ALPHA = 0.05  # significance level


def correct_only_in(a: Score, b: Score) -> tuple[int, int]:
    """Return how many of the held-out rows only a classifies correctly, and how many only b."""
    A, B = (np.unpackbits(np.frombuffer(bytes.fromhex(score.correct_bits), dtype=np.uint8)) for score in (a, b))
    return int(np.sum(A > B)), int(np.sum(B > A))


def differ(a: Score, b: Score) -> bool | None:
    """Whether two scores differ significantly; None if there is no confidence interval to decide.

    Accuracies on the same held-out rows are compared by the exact McNemar test (1947, doi:10.1007/BF02295996) on the
    rows that only one of the two classifies correctly. Other scores differ if their intervals do not overlap.
    """
    from scipy.special import bdtr

    if a.n_tested and a.n_tested == b.n_tested:
        only_a, only_b = correct_only_in(a, b)
        return bool(2 * bdtr(min(only_a, only_b), only_a + only_b, 0.5) < ALPHA) if only_a + only_b else False
    low, high = (a, b) if a.value <= b.value else (b, a)
    if low.high is None or high.low is None:
        return None
    return low.high < high.low


def ties(a: Score, b: Score) -> bool:
    """Whether two scores are tied: a small difference that is not significant."""
    significant = differ(a, b)
    return abs(a.value - b.value) <= (MARGIN if significant is None else EQUAL) and not significant


def worse(a: Score, b: Score) -> bool:
    """Whether a is significantly below b."""
    significant = differ(a, b)
    return a.value < b.value - (MARGIN if significant is None else 0.0) and significant is not False


def above(a: Score, level: float, tried: int = 1) -> bool:
    """Whether an accuracy is significantly above a baseline: one-sided binomial test, Bonferroni-corrected."""
    from scipy.special import bdtrc

    correct = round(a.value * a.n_tested)
    return correct > 0 and bool(bdtrc(correct - 1, a.n_tested, level) < ALPHA / 2 / tried)

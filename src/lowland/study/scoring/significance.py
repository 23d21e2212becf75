"""Whether two scores differ by more than chance: what advice may call better, and what it may not."""

from __future__ import annotations

import numpy as np

from lowland.study.result import Score

MARGIN = 0.02  # by which scores must differ where nothing says by how much chance moves them
EQUAL = 0.05  # beyond which scores do not count as equal, however few rows there are to decide
ALPHA = 0.05  # how often chance alone may be taken for a difference


def correct_only_in(a: Score, b: Score) -> tuple[int, int]:
    """Return how many of the held-out rows only a classifies correctly, and how many only b."""
    A, B = (np.unpackbits(np.frombuffer(bytes.fromhex(score.correct_bits), dtype=np.uint8)) for score in (a, b))
    return int(np.sum(A > B)), int(np.sum(B > A))


def differ(a: Score, b: Score) -> bool | None:
    """Whether chance would hardly make such a difference; None where nothing says what chance does.

    Of the same held-out rows, those that only one of the two classifies correctly would fall to either alike (McNemar
    1947, doi:10.1007/BF02295996, exactly). Otherwise intervals decide that do not meet.
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
    """Whether two scores count as equal: hardly different, and not significantly so."""
    significant = differ(a, b)
    return abs(a.value - b.value) <= (MARGIN if significant is None else EQUAL) and not significant


def worse(a: Score, b: Score) -> bool:
    """Whether a is significantly below b."""
    significant = differ(a, b)
    return a.value < b.value - (MARGIN if significant is None else 0.0) and significant is not False


def above(a: Score, level: float, tried: int = 1) -> bool:
    """Whether an accuracy is significantly above a level, such as that of guessing; Bonferroni corrects for many."""
    from scipy.special import bdtrc

    correct = round(a.value * a.n_tested)
    return correct > 0 and bool(bdtrc(correct - 1, a.n_tested, level) < ALPHA / 2 / tried)

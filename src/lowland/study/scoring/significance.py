"""Whether two scores differ by more than chance: what advice may call better, and what it may not."""

from __future__ import annotations

import numpy as np

from lowland.study.result import Score

MARGIN = 0.02  # by which scores must differ where nothing says by how much chance moves them
EQUAL = 0.05  # beyond which scores do not count as equal, however few rows there are to tell
CHANCE = 0.05  # how often chance alone may be taken for a difference


def packed(right: np.ndarray) -> str:
    """Return whether each row was named rightly, (n,), as bits in hex."""
    return np.packbits(right > 0).tobytes().hex()


def only_one(a: Score, b: Score) -> tuple[int, int]:
    """Return how many of the rows held out only a names rightly, and how many only b."""
    A, B = (np.unpackbits(np.frombuffer(bytes.fromhex(score.right), dtype=np.uint8)) for score in (a, b))
    return int(np.sum(A > B)), int(np.sum(B > A))


def apart(a: Score, b: Score) -> bool | None:
    """Whether chance would hardly make such a difference; None where nothing says what chance does.

    Of the same rows held out, those that only one of the two names rightly would fall to either alike (McNemar 1947,
    doi:10.1007/BF02295996, exactly). Otherwise intervals tell that do not meet.
    """
    from scipy.special import bdtr

    if a.asked and a.asked == b.asked:
        one, other = only_one(a, b)
        return bool(2 * bdtr(min(one, other), one + other, 0.5) < CHANCE) if one + other else False
    low, high = (a, b) if a.value <= b.value else (b, a)
    if low.high is None or high.low is None:
        return None
    return low.high < high.low


def ties(a: Score, b: Score) -> bool:
    """Whether two scores count as equal: hardly different, and not surely so."""
    told = apart(a, b)
    return abs(a.value - b.value) <= (MARGIN if told is None else EQUAL) and not told


def worse(a: Score, b: Score) -> bool:
    """Whether a is surely below b."""
    told = apart(a, b)
    return a.value < b.value - (MARGIN if told is None else 0.0) and told is not False


def above(a: Score, level: float, tried: int = 1) -> bool:
    """Whether an accuracy is surely above a level, such as that of guessing; where many were tried, more surely."""
    from scipy.special import bdtrc

    right = round(a.value * a.asked)
    return right > 0 and bool(bdtrc(right - 1, a.asked, level) < CHANCE / 2 / tried)


def because(a: Score, b: Score) -> str:
    """Why two scores that differ in digits count as equal."""
    return f"as it lies within {MARGIN:g}" if apart(a, b) is None else "as their intervals meet"

"""Whether two scores differ significantly, and the score of a choice among many."""

from __future__ import annotations

import math
from collections.abc import Callable
from statistics import NormalDist

import numpy as np

from lowland.math.statistics.intervals import student_quantile, wilson_interval
from lowland.trial.prediction import r2_of_folds
from lowland.trial.records import Score

MARGIN = 0.02  # equivalence margin for scores without a confidence interval
EQUAL = 0.05  # scores that differ by more are not tied, even if the difference is not significant
ALPHA = 0.05  # significance level
PARTS, DIVISIONS = 3, 10  # of the held-out rows: each part is scored by what the others choose, for every division


def _correct(score: Score) -> np.ndarray:
    """Which of the held-out rows are classified correctly, (m,) bool; their number is rounded up to a multiple of 8."""
    return np.unpackbits(np.frombuffer(bytes.fromhex(score.correct_bits), dtype=np.uint8)) > 0


def correct_only_in(a: Score, b: Score) -> tuple[int, int]:
    """Return how many of the held-out rows only a classifies correctly, and how many only b."""
    A, B = _correct(a), _correct(b)
    return int(np.sum(A & ~B)), int(np.sum(B & ~A))


def differ(a: Score, b: Score, tried: int = 1) -> bool | None:
    """Whether two scores differ significantly; None if there is no confidence interval to decide.

    Accuracies on the same held-out rows are compared by the exact McNemar test (1947, doi:10.1007/BF02295996) on the
    rows that only one of the two classifies correctly. Other scores differ if their intervals do not overlap.
    ``tried`` is the number of comparisons, for Bonferroni's correction.
    """
    from scipy.special import bdtr

    if a.n_tested and a.n_tested == b.n_tested:
        only_a, only_b = correct_only_in(a, b)
        return bool(2 * bdtr(min(only_a, only_b), only_a + only_b, 0.5) < ALPHA / tried) if only_a + only_b else False
    low, high = (a, b) if a.value <= b.value else (b, a)
    if low.high is None or high.low is None:
        return None
    wider = NormalDist().inv_cdf(1 - ALPHA / 2 / tried) / NormalDist().inv_cdf(1 - ALPHA / 2)
    return wider * (low.high - low.value + high.value - high.low) < high.value - low.value


def differ_again(a: Score, b: Score) -> bool | None:
    """Whether a is significantly above b when both maps are made again; None if they were not, or only once.

    The maps are made from the same subsamples, so their differences are compared with 0 by a t-test. They overlap:
    the variance of the mean is corrected as by Nadeau and Bengio (2003, doi:10.1023/A:1024068626366), for subsamples
    that leave out a quarter as many rows as they contain.
    """
    if len(a.by_fold) < 2 or len(a.by_fold) != len(b.by_fold):
        return None
    d = np.array(a.by_fold) - np.array(b.by_fold)
    return bool(d.mean() > student_quantile(len(d) - 1) * np.std(d, ddof=1) * math.sqrt(1 / len(d) + 1 / 4))


def score_of_choice(choose: Callable[[Callable[[Score], Score]], Score], example: Score) -> Score:
    """Return the score of what ``choose`` chooses, without the optimism of choosing and scoring by the same rows.

    The held-out rows are divided into parts. Each part is scored by what is chosen from the scores of the other parts
    (nested cross-validation, without new fits; Tsamardinos et al. 2018, doi:10.1007/s10994-018-5714-4). The score is
    the mean over several divisions. Its interval is Wilson's for a variance that adds the one between the divisions,
    which is large where methods are nearly equal. ``choose`` receives a function that restricts a score to the other
    parts, and returns one of the restricted scores. For R² the parts are the folds. ``example``: any of the scores.
    """
    if not example.n_tested:
        folds = np.arange(len(example.by_fold))
        return r2_of_folds(_values_of_choices(choose, folds).tolist(), "")
    n, rng = example.n_tested, np.random.default_rng(0)
    values = [_values_of_choices(choose, rng.permutation(n) % PARTS).mean() for _ in range(DIVISIONS)]
    value, between = float(np.mean(values)), float(np.var(values, ddof=1))
    variance = value * (1 - value) / n
    low, high = wilson_interval(value, n * variance / (variance + between) if variance else n)
    return Score(value, "higher", "", low, high, n)


def _values_of_choices(choose: Callable[[Callable[[Score], Score]], Score], part: np.ndarray) -> np.ndarray:
    """The values of rows or folds, (n,), each part from the score that the other parts choose."""
    values = np.empty(len(part))
    for p in np.unique(part):
        values[part == p] = _units(_chosen_from(choose, part != p))[part == p]
    return values


def _chosen_from(choose: Callable[[Callable[[Score], Score]], Score], kept: np.ndarray) -> Score:
    """The score that is chosen by its values on the rows or folds that are kept."""
    pairs = []

    def restrict(score: Score) -> Score:
        units = _units(score)[kept]
        if score.n_tested:  # without an interval, which no comparison of accuracies reads
            bits = np.packbits(units).tobytes().hex()
            fewer = Score(np.count_nonzero(units) / len(units), "higher", score.about, None, None, len(units), bits)
        else:
            fewer = r2_of_folds(units.tolist(), score.about)
        pairs.append((fewer, score))
        return fewer

    found = choose(restrict)
    return next(score for restricted, score in pairs if restricted is found)


def _units(score: Score) -> np.ndarray:
    """What a score is the mean of: whether each held-out row is classified correctly, or the R² of each fold."""
    return _correct(score)[: score.n_tested] if score.n_tested else np.array(score.by_fold)


def ties(a: Score, b: Score) -> bool:
    """Whether two scores are tied: a small difference that is not significant."""
    significant = differ(a, b)
    return abs(a.value - b.value) <= (MARGIN if significant is None else EQUAL) and not significant


def worse(a: Score, b: Score, tried: int = 1) -> bool:
    """Whether a is significantly below b; ``tried``: the number of comparisons, as of ``differ``."""
    significant = differ(a, b, tried)
    return a.value < b.value - (MARGIN if significant is None else 0.0) and significant is not False


def above(a: Score, level: float, tried: int = 1) -> bool:
    """Whether an accuracy is significantly above a baseline: one-sided binomial test, Bonferroni-corrected."""
    from scipy.special import bdtrc

    correct = round(a.value * a.n_tested)
    return correct > 0 and bool(bdtrc(correct - 1, a.n_tested, level) < ALPHA / 2 / tried)

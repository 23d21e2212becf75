"""Significance of differences."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from lowland.study.result import Score
from lowland.study.scoring.significance import above, correct_only_in, differ, ties, worse


def score(value, low=None, high=None):
    return Score(value, "higher", "About it.", low, high)


def accuracy(n_correct, only=0, n=200):
    """An accuracy of n held-out rows: the first are classified correctly, and some more at the end, only here."""
    rows = np.zeros(n, dtype=bool)
    rows[:n_correct], rows[n - only :] = True, True
    return Score(float(rows.mean()), "higher", "About it.", 0.0, 1.0, n, np.packbits(rows).tobytes().hex())


def test_significance_depends_on_rows_that_only_one_trial_classifies_correctly():
    a, b = accuracy(150, 2), accuracy(160)
    assert correct_only_in(a, b) == (2, 10)
    assert differ(a, b)  # exactly 0.039
    assert worse(a, b)
    assert not worse(b, a)
    assert differ(accuracy(150, 3), accuracy(160)) is False  # 0.09
    assert ties(accuracy(150, 3), accuracy(160))
    assert not ties(accuracy(150, 5), accuracy(170))  # 0.075 apart
    assert ties(a, a)


def test_others_differ_by_their_intervals_or_by_the_margin():
    assert differ(score(0.5, 0.4, 0.6), score(0.65, 0.61, 0.7))
    assert differ(score(0.5, 0.4, 0.6), score(0.55, 0.5, 0.6)) is False
    assert differ(score(0.5), score(0.55)) is None
    assert worse(score(0.5), score(0.55))
    assert ties(score(0.5), score(0.51))
    assert not worse(score(0.5), score(0.51))


@given(st.integers(1, 60), st.data())
def test_counts_agree_with_the_rows(n, data):
    a, b = (np.array(data.draw(st.lists(st.booleans(), min_size=n, max_size=n))) for _ in range(2))
    scores = [Score(float(r.mean()), "higher", "", None, None, n, np.packbits(r).tobytes().hex()) for r in (a, b)]
    assert correct_only_in(*scores) == (int(np.sum(a & ~b)), int(np.sum(b & ~a)))
    exact = binomtest(int(np.sum(a & ~b)), max(1, int(np.sum(a ^ b))), 0.5).pvalue < 0.05 if (a ^ b).any() else False
    assert differ(*scores) == exact
    assert above(scores[0], 0.3) == (binomtest(int(a.sum()), n, 0.3, alternative="greater").pvalue < 0.025)

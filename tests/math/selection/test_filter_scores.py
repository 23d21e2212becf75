"""Scores by name, user functions, discoveries, and mRMR."""

import numpy as np
import pytest
import scipy.sparse
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

from lowland.errors import DataError, ParameterError
from lowland.math.selection.filter_scores import (
    Relevance,
    choose_statistic,
    discoveries,
    filter_scores,
    function_scores,
    mrmr,
    ranked,
)
from lowland.run.run import Run


def test_the_statistic_is_chosen_by_the_target():
    classes, numbers = np.arange(60) % 3, np.linspace(0.1, 1, 60)
    assert choose_statistic("auto", classes, "auto", for_numbers="")[0] == "anova"
    assert choose_statistic("auto", classes, "numbers", for_numbers="")[0] == "pearson"
    assert choose_statistic("auto", numbers, "auto", for_numbers="")[0] == "pearson"
    assert choose_statistic(np.var, numbers, "auto", for_numbers="") == ("var()", None)
    with pytest.raises(DataError, match=r"3 classes.*set it"):
        choose_statistic("pearson", classes, "auto", for_numbers="it")
    with pytest.raises(ParameterError, match="compares classes"):
        choose_statistic("anova", classes, "numbers", for_numbers="")
    with pytest.raises(DataError, match="y is None"):
        filter_scores(np.eye(3), statistic="spearman")


def test_ties_are_ranked_by_the_first_column():
    strength = np.array([1.0, 3.0, np.nan, 3.0 * (1 + 1e-14), np.inf, np.inf, -2.0])
    assert ranked(strength).tolist() == [4, 5, 1, 3, 0, 6, 2]


@settings(max_examples=25, deadline=None)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=30), st.floats(0.001, 1))
def test_false_discovery_rates_agree_with_scipy(p, rate):
    for any_dependence in (False, True):
        adjusted = scipy.stats.false_discovery_control(p, method="by" if any_dependence else "bh")
        clear = np.abs(adjusted - rate) > 1e-9
        found = discoveries(np.array(p), rate, any_dependence=any_dependence)
        np.testing.assert_array_equal(found[clear], (adjusted <= rate)[clear])


X, Y = np.array([[1.0, 4.0, 7.0], [2.0, 4.0, 1.0], [3.0, 4.0, 2.0]]), np.array([1.0, 2.0, 3.0])


def covariances(X, y):
    return (y - y.mean()) @ X


def test_scores_and_p_values():
    found = function_scores(covariances, X, Y, Run())
    assert found.values.tolist() == [2, 0, -5]
    assert found.pvalues is None
    assert found.constant.tolist() == [False, True, False]
    with_p = function_scores(lambda X, y: (covariances(X, y), np.array([0.1, np.nan, 0.9])), X, Y, Run())
    assert with_p.pvalues.tolist() == [0.1, 1, 0.9]
    permuted = function_scores(covariances, X, Y, Run(), 600)
    assert permuted.pvalues[0] == pytest.approx(1 / 6, abs=0.05)  # one of six permutations scores as high


def greedy(relevance, C, k, quotient):
    """The criterion by its definition."""
    chosen = [int(np.argmax(relevance))]
    while len(chosen) < k:
        scores = {}
        for j in set(range(len(relevance))) - set(chosen):
            shared = np.mean([C[j, i] for i in chosen])
            scores[j] = relevance[j] / max(shared, 1e-3) if quotient else relevance[j] - shared
        chosen.append(max(scores, key=scores.get))
    return chosen


@pytest.mark.parametrize("quotient", [False, True])
def test_mrmr_is_greedy(quotient):
    rng = np.random.default_rng(0)
    for _ in range(5):
        relevance, C = rng.random(9), rng.random((9, 9))
        C = (C + C.T) / 2
        found = Relevance(relevance, lambda j, C=C: C[j], np.zeros(9, dtype=bool), 50)
        moves, _, ranking = mrmr(found, range(5), quotient=quotient)
        assert [move.feature for move in moves] == greedy(relevance, C, 5, quotient)
        assert ranking[:5].tolist() == [move.feature for move in moves]
        assert sorted(ranking) == list(range(9))

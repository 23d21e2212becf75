"""Scores by name, user functions, discoveries, mRMR, and helpers for columns."""

import numpy as np
import pytest
import scipy.sparse
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import spearmanr
from sklearn.feature_selection import f_classif

from lowland.data.open import open_rows
from lowland.errors import DataError, ParameterError
from lowland.math.selection.columns import rows_in_memory
from lowland.math.selection.dependence import dot, standardized
from lowland.math.selection.filter_scores import (
    Relevance,
    choose_statistic,
    correlations,
    discoveries,
    filter_scores,
    function_scores,
    mrmr,
    ranked,
)
from lowland.math.statistics.moments import Moments
from lowland.run.local import LocalRun


@pytest.mark.parametrize("wrap", [np.asarray, scipy.sparse.csr_array], ids=["dense", "sparse"])
def test_scores_agree_with_other_libraries(wrap):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((50, 4)), np.arange(50) % 3
    np.testing.assert_allclose(filter_scores(wrap(X), y).values, f_classif(X, y)[0])
    z = X[:, 1] ** 3 + rng.standard_normal(50)
    theirs = [spearmanr(X[:, j], z).statistic for j in range(4)]
    np.testing.assert_allclose(filter_scores(wrap(X), z, "spearman").values, theirs)
    assert np.argmax(filter_scores(X, z, "distance-correlation").values) == 1
    assert np.argmax(filter_scores(X, z, "mutual-information").values) == 1


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


@settings(max_examples=50, deadline=None)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=30), st.floats(0.001, 1))
def test_false_discovery_rate_by_its_definition(p, rate):
    p = np.array(p)
    adjusted = scipy.stats.false_discovery_control(p, method="bh")
    clear = np.abs(adjusted - rate) > 1e-9
    np.testing.assert_array_equal(discoveries(p, rate)[clear], (adjusted <= rate)[clear])
    adjusted = scipy.stats.false_discovery_control(p, method="by")
    clear = np.abs(adjusted - rate) > 1e-9
    found = discoveries(p, rate, any_dependence=True)
    np.testing.assert_array_equal(found[clear], (adjusted <= rate)[clear])


def test_false_discovery_rate_by_hand():
    """Of three p-values the k-th smallest may be k/3 of the rate."""
    assert discoveries(np.array([0.06, 0.01, 0.9]), 0.09).tolist() == [True, True, False]
    assert discoveries(np.array([0.07, 0.01, 0.9]), 0.09).tolist() == [False, True, False]
    assert not discoveries(np.array([0.04, 0.5]), 0.05).any()


X, Y = np.array([[1.0, 4.0, 7.0], [2.0, 4.0, 1.0], [3.0, 4.0, 2.0]]), np.array([1.0, 2.0, 3.0])


def covariances(X, y):
    return (y - y.mean()) @ X


def test_scores_and_p_values():
    found = function_scores(covariances, X, Y, LocalRun())
    assert found.values.tolist() == [2, 0, -5]
    assert found.pvalues is None
    assert found.constant.tolist() == [False, True, False]
    with_p = function_scores(lambda X, y: (covariances(X, y), np.array([0.1, np.nan, 0.9])), X, Y, LocalRun())
    assert with_p.pvalues.tolist() == [0.1, 1, 0.9]
    permuted = function_scores(covariances, X, Y, LocalRun(), 600)
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
    for _ in range(20):
        relevance, C = rng.random(9), rng.random((9, 9))
        C = (C + C.T) / 2
        found = Relevance(relevance, lambda j, C=C: C[j], np.zeros(9, dtype=bool), 50)
        moves, _, ranking = mrmr(found, range(5), quotient=quotient)
        assert [move.feature for move in moves] == greedy(relevance, C, 5, quotient)
        assert ranking[:5].tolist() == [move.feature for move in moves]
        assert sorted(ranking) == list(range(9))


def test_correlations_of_constant_columns_are_zero():
    X = np.random.default_rng(0).standard_normal((50, 4)) + 7
    X[:, 2] = 3
    C = correlations(Moments.of(X))
    kept = [0, 1, 3]
    np.testing.assert_allclose(C[np.ix_(kept, kept)], np.corrcoef(X[:, kept].T), atol=1e-12)
    assert not C[2].any()


def test_standardized_columns_also_where_squares_would_underflow():
    for unit in (1.0, 1e-200, 1e200):
        z = standardized(np.array([1.0, 2.0, 6.0]) * unit)
        assert dot(z, z) == pytest.approx(3)
        assert z.mean() == pytest.approx(0, abs=1e-15)


def test_rows_and_target_must_have_the_same_length():
    rows = open_rows(np.eye(3))
    np.testing.assert_array_equal(rows_in_memory(rows, LocalRun(), 3, "A test"), np.eye(3))
    with pytest.raises(DataError, match="3 rows and y has 4"):
        rows_in_memory(rows, LocalRun(), 4, "A test")

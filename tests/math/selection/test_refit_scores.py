"""Scores by refitting compared with scikit-learn's cross-validation."""

import math

import numpy as np
import pytest
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LinearRegression
from sklearn.metrics import get_scorer
from sklearn.model_selection import KFold, cross_val_score

from lowland.errors import DataError, ParameterError
from lowland.math.selection.refit_scores import Refitted, score_of
from lowland.math.selection.subset_scores import Tally


def refitted(model, scorer, n_jobs=None):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 4))
    y = X @ [1.0, 0.5, 0.0, -2.0] + rng.standard_normal(30)
    return Refitted(model, scorer, X, y, list(KFold(3).split(X)), n_jobs, Tally()), X, y


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_scores_agree_with_cross_validation(n_jobs):
    scores, X, y = refitted(LinearRegression(), get_scorer("r2"), n_jobs)

    def truth(*S):
        return cross_val_score(LinearRegression(), X[:, S], y, cv=KFold(3)).mean()

    np.testing.assert_allclose(scores.with_each((0,), np.array([1, 3])), [truth(0, 1), truth(0, 3)])
    np.testing.assert_allclose(scores.without_each((0, 2, 3)), [truth(2, 3), truth(0, 3), truth(0, 2)])
    assert scores.d == 4
    assert scores.tally.n == 5


class FailsWithoutColumnTwo(LinearRegression):
    def fit(self, X, y):
        if X.shape[1] == 1:
            raise ValueError("too narrow")
        return super().fit(X, y)


def test_subsets_on_which_the_model_fails_are_skipped():
    scores, *_ = refitted(FailsWithoutColumnTwo(), get_scorer("r2"))
    values = scores.many([[0], [0, 1]])
    assert math.isnan(values[0])
    assert math.isfinite(values[1])
    assert "too narrow" in scores.tally.failures[0]
    with pytest.raises(DataError, match="too narrow"):
        scores.many([[0], [1]])


def test_a_scorer_must_return_a_number():
    fitted = DummyClassifier().fit([[0.0], [1.0]], [0, 1])
    assert score_of(fitted, lambda model, X, y: 1, np.zeros((1, 1)), np.zeros(1)) == 1
    with pytest.raises(ParameterError, match="not a number"):
        score_of(fitted, lambda model, X, y: "good", np.zeros((1, 1)), np.zeros(1))

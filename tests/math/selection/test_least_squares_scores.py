"""Least squares from the moments of folds compared with fitted models."""

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.model_selection import ShuffleSplit, cross_val_score

from lowland.math.selection.least_squares_scores import LeastSquaresScores

from .cases import by, rows


@pytest.mark.parametrize("model", [LinearRegression(), LinearRegression(fit_intercept=False), Ridge(5.0)])
@pytest.mark.parametrize("scoring", [None, "neg_mean_squared_error", "neg_root_mean_squared_error"])
def test_least_squares_from_moments_agrees_with_least_squares(model, scoring):
    X, y = rows()
    X = X * np.geomspace(1e-2, 1e2, 7)
    cv = ShuffleSplit(3, test_size=0.3, random_state=0)  # overlapping folds
    scores = by(model, X, y, scoring=scoring, cv=cv)
    assert type(scores).__name__ == "LeastSquaresScores"

    def truth(S):
        return cross_val_score(model, X[:, S], y, cv=cv, scoring=scoring).mean() / scores.unit

    J = np.array([0, 4, 6])
    np.testing.assert_allclose(scores.with_each((1, 3), J), [truth([1, 3, j]) for j in J], rtol=1e-9)
    np.testing.assert_allclose(scores.with_each((), J), [truth([j]) for j in J], rtol=1e-9)
    np.testing.assert_allclose(scores.without_each((1, 3, 4)), [truth([3, 4]), truth([1, 4]), truth([1, 3])], rtol=1e-9)
    np.testing.assert_allclose(scores.many(np.array([[0, 1], [2, 6]])), [truth([0, 1]), truth([2, 6])], rtol=1e-9)


def test_r2_of_a_constant_test_fold_agrees_with_scikit_learn():
    X, y = rows(20, 3)
    y[:5] = 1.0
    folds = [(np.arange(5, 20), np.arange(5)), (np.arange(5), np.arange(5, 20))]
    truth = [cross_val_score(LinearRegression(), X[:, [j]], y, cv=folds).mean() for j in range(3)]
    np.testing.assert_allclose(by(LinearRegression(), X, y, cv=folds).with_each((), np.arange(3)), truth, rtol=1e-9)


def test_backward_scores_with_more_columns_than_rows_skip_the_rank_search(monkeypatch):
    X, y = np.random.default_rng(0).standard_normal((12, 20)), np.random.default_rng(1).standard_normal(12)
    scores = by(LinearRegression(), X, y, cv=3)
    monkeypatch.setattr(LeastSquaresScores, "_independent", None)  # the search for columns that add nothing, one by one
    assert len(scores.without_each(tuple(range(20)))) == 20
    assert scores.tally.n == 20

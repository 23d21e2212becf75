"""Scores of subsets: refitted, in closed form, by Wilks' lambda, and which is used for a model."""

import numpy as np
import pytest
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import Lasso, LinearRegression, Ridge
from sklearn.model_selection import KFold, ShuffleSplit, cross_val_score
from sklearn.tree import DecisionTreeClassifier

from lowland import SequentialFeatureSelector
from lowland.errors import DataWarning
from lowland.math.selection.model_scores import scores_for
from lowland.math.selection.subset_scores import RefitScores, Tally, Wilks
from lowland.math.selection.subset_search import exhaustive_search

from .cases import by, rows


def test_scores_agree_with_cross_validation():
    X, y = rows(30, 4)
    scores = by(LinearRegression(), X, y, closed=False, cv=3)

    def truth(*S):
        return cross_val_score(LinearRegression(), X[:, S], y, cv=KFold(3)).mean()

    np.testing.assert_allclose(scores.with_each((0,), np.array([1, 3])), [truth(0, 1), truth(0, 3)])
    np.testing.assert_allclose(scores.without_each((0, 2, 3)), [truth(2, 3), truth(0, 3), truth(0, 2)])
    assert scores.d == 4
    assert scores.tally.n == 5


@pytest.mark.parametrize(
    ("model", "scoring"),
    [
        (LinearRegression(), None),
        (LinearRegression(fit_intercept=False), "neg_mean_squared_error"),
        (Ridge(5.0), "neg_root_mean_squared_error"),
    ],
)
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


def test_updated_discriminants_classify_like_fitted_ones():
    X, y = rows(120, 7, 3, classes=4)
    scores = by(LinearDiscriminantAnalysis(), X, y)
    assert type(scores).__name__ == "DiscriminantScores"

    def truth(*subsets):  # a mean of fractions, which another order of the sum may round differently
        means = [cross_val_score(LinearDiscriminantAnalysis(), X[:, S], y, cv=4).mean() for S in subsets]
        return pytest.approx(means, abs=1e-12)

    J = np.array([0, 4, 6])
    assert scores.with_each((1, 3), J) == truth(*([1, 3, j] for j in J))
    assert scores.with_each((), J) == truth(*([j] for j in J))
    assert scores.without_each((1, 3, 4)) == truth([3, 4], [1, 4], [1, 3])
    assert scores.many(np.array([[0, 1], [2, 6]])) == truth([0, 1], [2, 6])


def test_wilks_equals_training_r2_and_the_ratio_of_determinants():
    X, y = rows()
    S = (1, 3, 4)
    criterion = Wilks.of(X, y, None, Tally())
    assert criterion.value(S) == pytest.approx(LinearRegression().fit(X[:, S], y).score(X[:, S], y), abs=1e-12)
    X, y = rows(classes=3)
    criterion = Wilks.of(X, y, 3, Tally())
    Y = X[:, S]
    C, R = Y - Y.mean(0), Y - np.stack([Y[y == c].mean(0) for c in range(3)])[y]
    ratio = np.linalg.det(R.T @ R) / np.linalg.det(C.T @ C)
    assert criterion.value(S) == pytest.approx(1 - ratio, abs=1e-12)
    J = np.array([0, 2, 6])
    np.testing.assert_allclose(criterion.with_each(S, J), [criterion.value((*S, j)) for j in J], atol=1e-12)
    np.testing.assert_allclose(criterion.without_each(S), criterion.many([(3, 4), (1, 4), (1, 3)]), atol=1e-12)


def test_covariances_give_the_same_scores_as_rows():
    X, y = rows()
    S = np.cov(np.column_stack([X, y]).T)
    ours, truth = Wilks.of_covariances(S[:-1, :-1], S[:-1, -1], S[-1, -1]), Wilks.of(X, y, None, Tally())
    for subset in ((2,), (0, 3), (1, 2, 4, 6)):
        assert ours.value(subset) == pytest.approx(truth.value(subset), abs=1e-12)


def test_wilks_of_collinear_columns_counts_them_once():
    X, y = rows()
    criterion = Wilks.of(np.column_stack([X, X[:, 0]]), y, None, Tally())
    assert not criterion.is_regular
    assert criterion.value((0, 7)) == pytest.approx(criterion.value((0,)), abs=1e-12)
    assert criterion.with_each((0, 1), np.array([7]))[0] == pytest.approx(criterion.value((0, 1)), abs=1e-12)
    *_, found = exhaustive_search(criterion, 2)
    assert found.score >= max(criterion.value((0, j)) for j in range(1, 7))


RNG = np.random.default_rng(0)
X, NUMBERS, CLASSES = RNG.standard_normal((40, 3)), RNG.standard_normal(40), np.arange(40) % 2


@pytest.mark.parametrize(
    ("model", "y", "scoring", "route"),
    [
        (LinearRegression(), NUMBERS, None, "LeastSquaresScores"),
        (Ridge(), NUMBERS, "neg_mean_squared_error", "LeastSquaresScores"),
        (LinearRegression(positive=True), NUMBERS, None, "RefitScores"),
        (LinearRegression(), NUMBERS, "neg_mean_absolute_error", "RefitScores"),
        (Lasso(), NUMBERS, None, "RefitScores"),
        (LinearDiscriminantAnalysis(), CLASSES, None, "DiscriminantScores"),
        (LinearDiscriminantAnalysis(), CLASSES, "wilks", "Wilks"),
        (DecisionTreeClassifier(), CLASSES, None, "RefitScores"),
    ],
)
def test_the_scorer_is_chosen_by_model_and_scoring(model, y, scoring, route):
    scores, outcome = scores_for(
        model, X, y, scoring=scoring, cv=4, n_jobs=None, closed=True, tally=Tally(), for_numbers=""
    )
    assert type(scores).__name__ == route
    assert outcome.name == ("refitting" if route == "RefitScores" else "closed form")


def test_a_column_that_is_constant_in_one_fold_refits_nothing(monkeypatch):
    rng = np.random.default_rng(0)
    y = np.arange(120) % 3
    X = rng.standard_normal((120, 6))
    X[:, 0] += y
    X[:, 5] = 0.0
    X[:24:2, 5] = 1.0  # varies in the first fifth of the rows alone: constant where the model is fitted to the others
    cv = KFold(5)
    with pytest.warns(DataWarning, match="skipped"):  # scikit-learn cannot fit the constant column alone
        slow = SequentialFeatureSelector(n_features_to_select=5, cv=cv, closed_form=False).fit(X, y)

    def never(self, subsets):
        raise AssertionError("a model was refitted")

    monkeypatch.setattr(RefitScores, "many", never)
    fast = SequentialFeatureSelector(n_features_to_select=5, cv=cv).fit(X, y)
    assert [step.features for step in fast.path_] == [step.features for step in slow.path_]
    np.testing.assert_allclose([s.score for s in fast.path_], [s.score for s in slow.path_], rtol=1e-12)

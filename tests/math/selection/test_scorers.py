"""Which scorer is used for a model, and the common folds."""

import numpy as np
import pytest
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import Lasso, LinearRegression, Ridge
from sklearn.model_selection import KFold
from sklearn.tree import DecisionTreeClassifier

from lowland.errors import DataError, DataWarning, ParameterError
from lowland.math.selection.scorers import folds_of, has_wilks, model_of, scorer_of, scores_for, warn_of_constants
from lowland.math.selection.subset_scores import Tally

RNG = np.random.default_rng(0)
X, NUMBERS, CLASSES = RNG.standard_normal((40, 3)), RNG.standard_normal(40), np.arange(40) % 2


@pytest.mark.parametrize(
    ("model", "y", "scoring", "route"),
    [
        (LinearRegression(), NUMBERS, None, "LeastSquaresScores"),
        (Ridge(), NUMBERS, "neg_mean_squared_error", "LeastSquaresScores"),
        (LinearRegression(positive=True), NUMBERS, None, "Refitted"),
        (LinearRegression(), NUMBERS, "neg_mean_absolute_error", "Refitted"),
        (Lasso(), NUMBERS, None, "Refitted"),
        (LinearDiscriminantAnalysis(), CLASSES, None, "DiscriminantScores"),
        (LinearDiscriminantAnalysis(), CLASSES, "wilks", "Wilks"),
        (DecisionTreeClassifier(), CLASSES, None, "Refitted"),
    ],
)
def test_the_scorer_is_chosen_by_model_and_scoring(model, y, scoring, route):
    scores, outcome = scores_for(
        model, X, y, scoring=scoring, cv=4, n_jobs=None, closed=True, tally=Tally(), for_numbers=""
    )
    assert type(scores).__name__ == route
    assert outcome.name == ("refitting" if route == "Refitted" else "closed form")


def test_models_by_name():
    assert isinstance(model_of(None, CLASSES, for_numbers=""), LinearDiscriminantAnalysis)
    assert isinstance(model_of(None, NUMBERS, for_numbers=""), LinearRegression)
    assert isinstance(model_of("tree", CLASSES, for_numbers=""), DecisionTreeClassifier)
    assert has_wilks(LinearRegression(), X, NUMBERS)
    assert not has_wilks(DecisionTreeClassifier(), X, CLASSES)


def test_folds_agree_with_scikit_learn():
    for ours, theirs in zip(folds_of(4, X, NUMBERS, classifier=False, for_numbers=""), KFold(4).split(X), strict=True):
        np.testing.assert_array_equal(ours[0], theirs[0])
        np.testing.assert_array_equal(ours[1], theirs[1])
    with pytest.raises(DataError, match=r"fewer folds.*set it"):
        folds_of(41, X, NUMBERS, classifier=False, for_numbers="it")
    with pytest.raises(ParameterError, match="from 0 to 39"):
        folds_of([([0, 99], [1])], X, NUMBERS, classifier=False, for_numbers="")


def test_scorers_by_name_and_constant_columns():
    assert scorer_of(LinearRegression(), "r2")(LinearRegression().fit(X, NUMBERS), X, NUMBERS) <= 1
    with pytest.raises(ParameterError, match="Did you mean 'r2'"):
        scorer_of(LinearRegression(), "r22")
    with pytest.warns(DataWarning, match="Column 'b' is constant"):
        warn_of_constants(np.column_stack([X[:, 0], np.ones(40)]), ["a", "b"])

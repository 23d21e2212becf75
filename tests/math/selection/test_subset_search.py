"""Searches by name: every direction on plain scores, and both kinds of scores with the same path."""

import numpy as np
import pytest
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LinearRegression

from lowland.math.selection.selection_path import Move, numbered
from lowland.math.selection.subset_search import final_step, n_scores, search
from lowland.math.selection.wilks import Wilks

from .cases import by


def awkward(y=None):
    """A repeated column, a sum of two, one of zeros, one that is constant in most training sets."""
    rng = np.random.default_rng(5)
    X = rng.standard_normal((40, 5))
    X = np.column_stack([X, X[:, 0], X[:, 1] + X[:, 2], np.zeros(40), np.arange(40) < 10])
    return X, X[:, :5] @ rng.standard_normal(5) + 0.5 * rng.standard_normal(40)


@pytest.mark.parametrize("direction", ["forward", "backward"])
@pytest.mark.parametrize("kind", ["numbers", "few rows", "units", "classes"])
def test_closed_form_and_refitted_scores_give_the_same_path_on_hard_columns(direction, kind):
    X, y = awkward()
    model = LinearRegression()
    if kind == "few rows":
        X, y = np.random.default_rng(1).standard_normal((10, 9)), y[:10]
    if kind == "units":
        X = X * np.geomspace(1e-5, 1e5, X.shape[1])
    if kind == "classes":
        model, y = LinearDiscriminantAnalysis(), (y > 0) + 0
        X = np.delete(X, 7, axis=1)  # scikit-learn cannot fit a column of zeros alone
    k = X.shape[1] if direction == "forward" else 1
    short, long = (list(search(by(model, X, y, closed), k, direction)) for closed in (True, False))
    assert [m.feature for m in short] == [m.feature for m in long]
    np.testing.assert_allclose([m.score for m in short], [m.score for m in long], atol=1e-9)


@pytest.mark.parametrize("direction", ["forward", "backward", "floating-forward", "floating-backward", "exhaustive"])
def test_every_search_finds_the_best_of_uncorrelated_columns(direction):
    r = np.array([0.1, 0.6, 0.3, 0.5])
    *_, last = search(Wilks.of_covariances(np.eye(4), r), 2, direction)
    assert last.features == (1, 3)
    assert last.score == pytest.approx(0.36 + 0.25)


@pytest.mark.parametrize("direction", ["forward", "backward"])
def test_the_number_of_scores_is_known_in_advance(direction):
    scores = Wilks.of_covariances(np.eye(6), np.linspace(0.1, 0.3, 6))
    moves = list(search(scores, 2, direction))
    assert len(moves) == (2 if direction == "forward" else 4)
    assert scores.tally.n == n_scores(6, 2, direction)
    assert n_scores(6, 2, "exhaustive") is None


def test_the_result_is_the_best_of_the_last_size():
    moves = [
        Move("add", 0, 5.0, (0,)),
        Move("add", 1, 3.0, (0, 1)),
        Move("remove", 0, 2.0, (1,)),
        Move("add", 2, 4.0, (1, 2)),
    ]
    path = list(numbered(moves, ["a", "b", "c"]))
    assert final_step(path, "floating-forward").features == (1, 2)
    assert final_step(path, "backward").features == (0,)

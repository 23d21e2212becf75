"""Wilks' lambda compared with its definitions, from covariances and from rows."""

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

from lowland.math.selection.exhaustive_search import exhaustive
from lowland.math.selection.subset_scores import Tally
from lowland.math.selection.wilks import Wilks

from .cases import rows


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


def test_wilks_of_collinear_columns_counts_them_once():
    X, y = rows()
    criterion = Wilks.of(np.column_stack([X, X[:, 0]]), y, None, Tally())
    assert not criterion.is_regular
    assert criterion.value((0, 7)) == pytest.approx(criterion.value((0,)), abs=1e-12)
    assert criterion.with_each((0, 1), np.array([7]))[0] == pytest.approx(criterion.value((0, 1)), abs=1e-12)
    *_, found = exhaustive(criterion, 2)
    assert found.score >= max(criterion.value((0, j)) for j in range(1, 7))


def test_covariances_give_the_same_scores_as_rows():
    X, y = rows()
    S = np.cov(np.column_stack([X, y]).T)
    ours, truth = Wilks.of_covariances(S[:-1, :-1], S[:-1, -1], S[-1, -1]), Wilks.of(X, y, None, Tally())
    np.testing.assert_allclose(ours.W, truth.W, atol=1e-12)
    for S_ in ((2,), (0, 3), (1, 2, 4, 6)):
        assert ours.value(S_) == pytest.approx(truth.value(S_), abs=1e-12)
        np.testing.assert_allclose(ours.with_each(S_, np.array([5])), truth.with_each(S_, np.array([5])), atol=1e-12)

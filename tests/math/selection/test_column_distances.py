"""Distances of columns from moments against distances of the columns themselves."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from lowland.data.open import open_rows
from lowland.errors import DataError, DataWarning, ParameterError
from lowland.math.selection.column_distances import column_distances
from lowland.run.local import LocalRun


def distances(X, metric, **options):
    return column_distances(open_rows(X), LocalRun(), metric, **options)


def test_by_hand():
    D, n = distances(np.array([[0.0, 3.0], [0.0, 4.0]]), "euclidean")
    assert D.tolist() == [[0, 5], [5, 0]]
    assert n == 2
    assert distances(np.array([[0.0, 3.0], [0.0, 4.0]]), "manhattan")[0].tolist() == [[0, 7], [7, 0]]


@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "cosine", "correlation", "chebyshev"])
def test_distances_agree_with_the_definition(metric):
    X = np.random.default_rng(0).standard_normal((40, 6)) + 3
    name = {"manhattan": "cityblock"}.get(metric, metric)
    np.testing.assert_allclose(distances(X, metric)[0], cdist(X.T, X.T, name), atol=1e-12)


def test_absolute_and_euclidean_forms_of_correlation():
    x = np.arange(5.0)
    X = np.column_stack([x, -2 * x + 1, x**2])
    r = np.corrcoef(X.T)
    np.testing.assert_allclose(distances(X, "absolute-correlation")[0], 1 - np.abs(r), atol=1e-12)
    np.testing.assert_allclose(distances(X, "correlation", as_euclidean=True)[0], np.sqrt(2 - 2 * r), atol=1e-7)


def test_nearly_equal_columns_keep_accurate_distances():
    x = np.random.default_rng(0).standard_normal(50)
    X = np.column_stack([x, x + 1e-9]) + 100
    np.testing.assert_allclose(distances(X, "euclidean")[0][0, 1], np.linalg.norm(X[:, 0] - X[:, 1]), rtol=1e-9)


def test_columns_without_a_distance_are_reported():
    X = np.column_stack([np.zeros(4), np.arange(4.0), np.ones(4)])
    with pytest.raises(DataError, match="zero in every row"):
        distances(X, "cosine")
    with pytest.warns(DataWarning, match="constant"):
        assert distances(X, "correlation")[0][0, 1] == 1
    with pytest.raises(ParameterError, match=r"shape \(3,\)"):
        distances(X, lambda columns: np.zeros(3))

"""Neighbors of new rows among training points, and given distances to them."""

import numpy as np
import pytest
import scipy.sparse
from scipy.spatial.distance import cdist

from lowland.errors import DataError, ParameterError
from lowland.math.neighbors.out_of_sample import ByGivenDistances, NearestAmong

SEARCHES = ["auto", "tree", "products"]


@pytest.mark.parametrize(("points", "rows"), [(1e-100, 1), (1, 1e100), (1e-30, 1e30), (1e-140, 1e140)])
def test_new_rows_may_have_another_scale(rng, points, rows):
    X, Y = rng.standard_normal((60, 40)) * points, rng.standard_normal((4, 40)) * rows
    by_tree, by_products = NearestAmong(X, 5, search="tree")(Y), NearestAmong(X, 5, search="products")(Y)
    np.testing.assert_array_equal(by_products[0], by_tree[0])
    np.testing.assert_array_equal(by_products[1], by_tree[1])


def test_rows_with_nan_have_no_neighbors(rng):
    X, Y = rng.standard_normal((50, 3)), rng.standard_normal((4, 3))
    Y[1, 0], Y[2, 1] = np.nan, np.inf
    indices, distances = NearestAmong(X, 5)(Y)
    assert np.isnan(distances).all(axis=1).tolist() == [False, True, True, False]
    assert indices.min() >= 0


@pytest.mark.parametrize("search", SEARCHES)
def test_new_rows_are_searched_like_training_rows(rng, search):
    X, Y = rng.standard_normal((300, 5)), rng.standard_normal((40, 5))
    for metric in ("euclidean", "manhattan", "cosine"):
        D = cdist(Y, X, {"manhattan": "cityblock"}.get(metric, metric))
        indices, distances = NearestAmong(X, 6, metric, search=search)(Y)
        np.testing.assert_array_equal(indices, np.argsort(D, axis=1)[:, :6])
        np.testing.assert_allclose(distances, np.sort(D, axis=1)[:, :6], atol=1e-12)
    with pytest.raises(ParameterError, match="at most 300"):
        NearestAmong(X, 301)(Y)


def test_stored_distances_of_new_rows_count_up_to_k_or_within_the_radius():
    X = scipy.sparse.csr_array(np.array([[3.0, 1, 0, 2], [0, 9, 8, 0]]))
    kept = np.array([True, True, True, False])

    def chosen(**options):
        return ByGivenDistances(lambda rows: rows.toarray(), kept, **options)(X).tolist()

    assert chosen() == [[3, 1, 0, 0], [0, 9, 8, 0]]
    assert chosen(k=1) == [[0, 1, 0, 0], [0, 0, 8, 0]]
    assert chosen(radius=2.0) == [[0, 1, 0, 0], [0, 0, 8, 0]]  # the nearest one where none is within
    with pytest.raises(DataError, match="no stored distance"):
        ByGivenDistances(lambda rows: rows, ~kept)(X)
    with pytest.raises(DataError, match=r"negative length: -1, to training row 1"):
        ByGivenDistances(lambda rows: rows, kept)(scipy.sparse.csr_array(np.array([[0.0, -1]])))

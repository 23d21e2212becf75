"""Neighbors of sparse rows are those of the dense rows, in every metric."""

import numpy as np
import pytest
import scipy.sparse

from lowland.errors import DataError
from lowland.math.neighbors.out_of_sample import NearestAmong
from lowland.math.neighbors.search import choose_searcher, nearest_neighbors, neighbors_within
from lowland.math.neighbors.sparse_search import SparseSearch
from lowland.run.local import LocalRun

METRICS = ["euclidean", "sqeuclidean", "cosine", "manhattan", "chebyshev", "correlation", "hamming", "canberra"]


def sparse(n=150, d=40, density=0.15, seed=0, integers=False):
    rng = np.random.default_rng(seed)
    X = scipy.sparse.random_array((n, d), density=density, rng=rng, format="csr")
    if integers:
        X.data = np.ceil(3 * X.data)
    return X


def city_block(a, b):
    return float(np.abs(a - b).sum())


@pytest.mark.parametrize("kind", [scipy.sparse.csr_array, scipy.sparse.csr_matrix])
@pytest.mark.parametrize("metric", [*METRICS, city_block])
def test_the_nearest_are_those_of_dense_rows(metric, kind):
    X = sparse()
    found, dense = (nearest_neighbors(rows, 7, metric=metric) for rows in (kind(X), X.toarray()))
    if metric != "hamming":  # has many ties up to rounding
        np.testing.assert_array_equal(found.to, dense.to)
    np.testing.assert_allclose(found.length, dense.length, atol=1e-14)
    radius = float(dense.length.max()) * (1 + 1e-9)
    found, dense = (neighbors_within(rows, radius, metric=metric) for rows in (kind(X), X.toarray()))
    np.testing.assert_array_equal(found.start, dense.start)
    np.testing.assert_allclose(found.length, dense.length, atol=1e-14)


@pytest.mark.parametrize("metric", ["euclidean", "manhattan"])
def test_ties_and_duplicates_of_counts_go_to_the_lower_row(metric):
    X = sparse(200, 12, 0.2, integers=True)
    X = scipy.sparse.vstack([X, X[:30]], format="csr")
    found, dense = (nearest_neighbors(rows, 9, metric=metric) for rows in (X, X.toarray()))
    np.testing.assert_array_equal(found.to, dense.to)
    np.testing.assert_array_equal(found.length, dense.length)


def test_near_rows_far_from_the_origin_keep_their_order():
    """|a|² + |b|² - 2a'b has lost the digits that tell the distances of these rows."""
    far = 1e7 * (1 + sparse(1, 50, 0.9).toarray())
    X = far + 1e-3 * np.random.default_rng(1).standard_normal((120, 50))
    found, dense = (nearest_neighbors(rows, 5) for rows in (scipy.sparse.csr_array(X), X))
    np.testing.assert_array_equal(found.to, dense.to)
    np.testing.assert_allclose(found.length, dense.length, rtol=1e-12)


@pytest.mark.parametrize("metric", ["euclidean", "cosine", "manhattan", "chebyshev"])
def test_new_rows_sparse_or_dense(metric):
    X, new = sparse(), sparse(20, seed=1)
    want = NearestAmong(X.toarray(), 4, metric)(new.toarray())
    for rows in (new, new.toarray()):
        indices, distances = NearestAmong(X, 4, metric)(rows)
        np.testing.assert_array_equal(indices, want[0])
        np.testing.assert_allclose(distances, want[1], atol=1e-14)


def test_new_rows_that_are_not_finite_have_no_neighbors():
    X, new = sparse(), sparse(3, seed=1)
    new.data[new.indptr[1]] = np.nan
    _, distances = NearestAmong(X, 4)(new)
    np.testing.assert_array_equal(np.isnan(distances).all(axis=1), [False, True, False])


def test_other_labels_and_other_components():
    X = sparse()
    labels = np.arange(150) % 3
    run, rows = LocalRun(), np.arange(0, 150, 7)
    found, dense = (choose_searcher(each, "euclidean", {}, "auto", 1) for each in (X, X.toarray()))
    assert isinstance(found, SparseSearch)
    for a, b in zip(*(s.nearest(2, run, rows=rows, labels=labels) for s in (found, dense)), strict=True):
        np.testing.assert_allclose(a, b)
    for a, b in zip(*(s.nearest_in_other_component(rows, labels, run) for s in (found, dense)), strict=True):
        np.testing.assert_allclose(a, b)


def test_rows_of_zeros_are_orthogonal_to_all_others():
    X = sparse(60, 20, 0.3).tolil()
    X[[3, 8]] = 0
    found, dense = (nearest_neighbors(rows, 3, metric="cosine") for rows in (X.tocsr(), X.toarray()))
    np.testing.assert_array_equal(found.to, dense.to)
    np.testing.assert_allclose(found.length, dense.length, atol=1e-14)


def test_what_cannot_be_searched_is_refused():
    with pytest.raises(DataError, match="All rows are equal"):
        nearest_neighbors(scipy.sparse.csr_array(np.tile([[0.0, 2, 0]], (9, 1))), 2)
    with pytest.raises(DataError, match="too large to be squared"):
        nearest_neighbors(sparse() * 1e200, 2)
    with pytest.raises(DataError, match=r"'seuclidean'.*V.*sparse"):
        nearest_neighbors(sparse(), 2, metric="seuclidean")
    V = np.ones(40)
    found, dense = (
        nearest_neighbors(X, 3, metric="seuclidean", params={"V": V}) for X in (sparse(), sparse().toarray())
    )
    np.testing.assert_array_equal(found.to, dense.to)


def test_float32_lengths_for_float32_rows():
    assert nearest_neighbors(sparse().astype(np.float32), 3).length.dtype == np.float32

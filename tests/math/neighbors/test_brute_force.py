"""Comparing every pair, by any metric."""

import numpy as np
import pytest
import scipy.sparse
from scipy.spatial.distance import cdist

import lowland
from lowland.errors import DataError
from lowland.math.neighbors.brute_force import BruteForce, SparseSearch
from lowland.math.neighbors.search import NearestAmong, choose_searcher, nearest_neighbors, neighbors_within
from lowland.run.local import LocalRun

METRICS = ["euclidean", "cosine", "manhattan", "correlation", "hamming"]


# --- any metric -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("metric", ["euclidean", "canberra", "precomputed"])
def test_the_nearest_of_another_label(rng, metric):
    X = rng.random((40, 3))
    D = cdist(X, X, "euclidean" if metric == "precomputed" else metric)
    labels = rng.integers(0, 5, 40)
    masked = np.where(labels[:, None] == labels[None, :], np.inf, D)
    search = BruteForce(D if metric == "precomputed" else X, metric)
    indices, lengths = search.nearest(3, LocalRun(), labels=labels)
    np.testing.assert_array_equal(indices, np.argsort(masked, axis=1, kind="stable")[:, :3])
    np.testing.assert_allclose(lengths, np.sort(masked, axis=1)[:, :3], rtol=1e-12)
    np.testing.assert_array_equal(
        search.nearest_in_other_component(np.arange(40), labels, LocalRun())[0], indices[:, 0]
    )


def test_a_function_of_two_rows_is_called_on_one_thread(rng):
    import threading

    seen = set()

    def metric(a, b):
        seen.add(threading.get_ident())
        return abs(a[0] - b[0])

    with lowland.config(threads=3):
        BruteForce(rng.random((30, 2)), metric).nearest(2, LocalRun())
    assert seen == {threading.get_ident()}


# --- matrix products --------------------------------------------------------------------------------------------------


def brute(D, k):
    """The k smallest of each row but the diagonal, ties by index: the reference in numpy for all kernels."""
    D = D.copy()
    np.fill_diagonal(D, np.inf)
    order = np.argsort(D, axis=1, kind="stable")[:, :k]
    return order, np.take_along_axis(D, order, axis=1)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_products_are_accurate_far_from_the_origin(rng, dtype):
    X = (1e4 + rng.standard_normal((700, 40))).astype(dtype)
    X[350:] += 1e4  # and no shift helps two distant clusters
    indices, distances = nearest_neighbors(X, 5, LocalRun(), search="products").table()
    order, D = brute(cdist(X.astype(float), X.astype(float)), 5)
    np.testing.assert_array_equal(indices, order)
    np.testing.assert_allclose(distances, D, rtol=1e-6 if dtype == np.float32 else 1e-12)
    assert distances.dtype == dtype


# --- sparse rows ------------------------------------------------------------------------------------------------------


def sparse(n=150, d=40, density=0.15, seed=0, integers=False):
    rng = np.random.default_rng(seed)
    X = scipy.sparse.random_array((n, d), density=density, rng=rng, format="csr")
    if integers:
        X.data = np.ceil(3 * X.data)
    return X


def city_block(a, b):
    return float(np.abs(a - b).sum())


@pytest.mark.parametrize("metric", [*METRICS, city_block])
def test_the_nearest_are_those_of_dense_rows(metric):
    X = sparse()
    kind = scipy.sparse.csr_matrix if metric == "manhattan" else scipy.sparse.csr_array
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


@pytest.mark.parametrize("metric", ["cosine", "manhattan"])
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

"""Neighbors against brute force: every search gives the same result, including ties and duplicates."""

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.spatial.distance import cdist

import lowland
from lowland.errors import DataError, DataWarning, MemoryBudgetError, ParameterError
from lowland.math.neighbors.search import ByGivenDistances, NearestAmong, nearest_neighbors, neighbors_within
from lowland.run.local import LocalRun

METRICS = ["euclidean", "manhattan", "chebyshev", "cosine", "correlation", "sqeuclidean"]
SEARCHES = ["auto", "tree", "products"]


def brute(D, k):
    """The k smallest of each row but the diagonal, ties by index: the reference in numpy for all kernels."""
    D = D.copy()
    np.fill_diagonal(D, np.inf)
    order = np.argsort(D, axis=1, kind="stable")[:, :k]
    return order, np.take_along_axis(D, order, axis=1)


def whole_numbers(most_rows=60, most=4):
    shapes = st.tuples(st.integers(8, most_rows), st.integers(1, 6))
    return shapes.flatmap(lambda shape: arrays(np.float64, shape, elements=st.integers(0, most).map(float)))


@pytest.mark.parametrize("search", SEARCHES)
@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("d", [3, 20])
def test_nearest_neighbors_agree_with_brute_force(rng, metric, search, d):
    X = rng.standard_normal((400, d)) + 2
    graph = nearest_neighbors(X, 7, LocalRun(), metric=metric, search=search)
    indices, distances = graph.table()
    order, D = brute(cdist(X, X, {"manhattan": "cityblock"}.get(metric, metric)), 7)
    np.testing.assert_array_equal(indices, order)
    np.testing.assert_allclose(distances, D, rtol=1e-9, atol=1e-14)
    assert graph.recall == 1


@settings(max_examples=30, deadline=None)
@given(X=whole_numbers(), k=st.integers(1, 7), metric=st.sampled_from(["euclidean", "manhattan", "chebyshev"]))
def test_ties_go_to_the_lower_index_in_every_search(X, k, metric):
    if np.all(X[0] == X):
        X[0] += 1
    order, D = brute(cdist(X, X, {"manhattan": "cityblock"}.get(metric, metric)), k)
    for search in SEARCHES:
        indices, distances = nearest_neighbors(X, k, LocalRun(), metric=metric, search=search).table()
        np.testing.assert_array_equal(distances, D)  # integers are exact
        np.testing.assert_array_equal(indices, order)


@pytest.mark.parametrize("search", SEARCHES)
@pytest.mark.parametrize("d", [3, 40])
def test_values_whose_squares_overflow_are_refused(rng, search, d):
    X = rng.standard_normal((60, d))
    one_cell, Y = X.copy(), X[:4].copy()
    one_cell[5, 1] = Y[2, 0] = 1e200
    for broken in (one_cell, X * 1e155, X * 1e180):
        with pytest.raises(DataError, match=r"too large to be squared.*Rescale the columns"):
            nearest_neighbors(broken, 5, LocalRun(), search=search)
        with pytest.raises(DataError, match="too large to be squared"):
            neighbors_within(broken, 1e160, LocalRun(), search=search)
        with pytest.raises(DataError, match="too large to be squared"):
            NearestAmong(broken, 5, search=search)(X)
    with pytest.raises(DataError, match="too large to be squared"):
        NearestAmong(X, 5, search=search)(Y)
    for scale in (1e-165, 1e-162):
        with pytest.raises(DataError, match=r"too small to be squared.*Rescale the columns"):
            nearest_neighbors(X * scale, 5, LocalRun(), search=search)
        with pytest.raises(DataError, match="too small to be squared"):
            neighbors_within(X * scale, scale, LocalRun(), search=search)
    expected = nearest_neighbors(X, 5, LocalRun(), metric="cosine", search=search)
    for scale in (1e-165, 1e180):  # angles have no scale, and values that are only added may be large
        np.testing.assert_array_equal(
            nearest_neighbors(X * scale, 5, LocalRun(), metric="cosine", search=search).to, expected.to
        )
        nearest_neighbors(X * scale, 5, LocalRun(), metric="manhattan", search=search)
    with pytest.raises(DataError, match="too large to be raised to the power 3"):
        nearest_neighbors(X * 1e110, 5, LocalRun(), metric="minkowski", params={"p": 3}, search=search)


@pytest.mark.parametrize("search", SEARCHES)
@pytest.mark.parametrize("d", [3, 40])
def test_float32_is_squared_in_float64(rng, search, d):
    X = rng.standard_normal((60, d)).astype(np.float32)
    one = nearest_neighbors(X, 5, LocalRun(), search=search)
    for scale in (2.0**-100, 2.0**90):
        other = nearest_neighbors(X * np.float32(scale), 5, LocalRun(), search=search)
        np.testing.assert_array_equal(other.to, one.to)
        np.testing.assert_array_equal(other.length, one.length * np.float32(scale))
    with pytest.raises(DataError, match="too large for float32"):
        nearest_neighbors(X * np.float32(2.0**90), 5, LocalRun(), metric="sqeuclidean", search=search)


@pytest.mark.parametrize("d", [3, 40])
def test_the_number_of_threads_changes_no_bit(rng, d):
    X = rng.standard_normal((9000, d)).astype(np.float32)
    answers = []
    for threads in (1, 3):
        with lowland.config(threads=threads):
            answers.append(nearest_neighbors(X, 5, LocalRun()))
    np.testing.assert_array_equal(answers[1].to, answers[0].to)
    np.testing.assert_array_equal(answers[1].length, answers[0].length)


@pytest.mark.parametrize("search", SEARCHES)
def test_many_duplicate_rows_are_handled(rng, search):
    X = np.repeat(rng.standard_normal((12, 5)), 100, axis=0)[rng.permutation(1200)]
    indices, distances = nearest_neighbors(X, 9, LocalRun(), search=search).table()
    assert not distances.any()
    order, _ = brute(np.round(cdist(X, X), 12), 9)
    np.testing.assert_array_equal(
        indices, order
    )  # all have edges to the same first duplicates, so that each group is one component
    assert not np.any(indices == np.arange(1200)[:, None])


def test_auto_chooses_the_tree_where_it_saves_distances(rng):
    plane = rng.standard_normal((4000, 2)) @ rng.standard_normal((2, 20))
    assert nearest_neighbors(plane, 5, LocalRun()).search == "tree"
    assert nearest_neighbors(rng.standard_normal((4000, 20)), 5, LocalRun()).search == "products"


def test_any_metric_and_given_distances(rng):
    X = rng.integers(0, 3, (50, 6)).astype(float)

    def gap(a, b, weight=1.0):
        return weight * abs(a[0] - b[0]) + abs(a[1] - b[1]) / 8

    w = np.array([1.0, 2, 0, 1, 5, 1])
    for metric, params in (
        ("hamming", {}), ("minkowski", {"p": 3}), ("minkowski", {"p": 2, "w": w}), ("seuclidean", {"V": 1 + w}),
        ("mahalanobis", {"VI": np.linalg.inv(np.cov(X.T))}), (gap, {"weight": 2.0}),
    ):  # fmt: skip
        D = cdist(X, X, metric, **params)
        order, lengths = brute(D, 4)
        found = nearest_neighbors(X, 4, LocalRun(), metric=metric, params=params).table()
        np.testing.assert_allclose(found[1], lengths, atol=1e-12)
        given_ones = nearest_neighbors(D, 4, LocalRun(), metric="precomputed")
        assert given_ones.search == "given distances"
        np.testing.assert_array_equal(given_ones.table()[0], order)


def test_n_neighbors_must_be_less_than_the_number_of_rows(rng):
    with pytest.raises(ParameterError, match=r"9 neighbors per row: the data has 9 rows. Choose at most 8\."):
        nearest_neighbors(rng.random((9, 2)), 9, LocalRun())


@pytest.mark.parametrize("search", SEARCHES)
def test_equal_rows_are_refused(search):
    X = np.full((30, 3), 2.5)
    with pytest.raises(DataError, match="All rows are equal"):
        nearest_neighbors(X, 3, LocalRun(), search=search)
    with pytest.raises(DataError, match="All rows are equal"):
        neighbors_within(X, 1.0, LocalRun(), search=search)
    with pytest.raises(DataError, match="All given distances are zero"):
        nearest_neighbors(np.zeros((9, 9)), 3, LocalRun(), metric="precomputed")


def test_searching_can_be_stopped(rng):
    events = []

    def stop(event):
        events.append(event.stage)
        return False

    with lowland.config(progress=stop), pytest.raises(lowland.errors.Stopped):
        nearest_neighbors(rng.standard_normal((9000, 3)), 5, LocalRun())
    assert events == ["searching neighbors"]


def test_tensors_on_the_host_are_searched_as_arrays(rng):
    torch = pytest.importorskip("torch")
    X = rng.standard_normal((200, 4))
    one, other = nearest_neighbors(X, 5, LocalRun()), nearest_neighbors(torch.asarray(X), 5, LocalRun())
    np.testing.assert_array_equal(one.to, other.to)
    np.testing.assert_array_equal(one.length, other.length)


@pytest.mark.parametrize("search", SEARCHES)
@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "cosine", "hamming"])
def test_exactly_the_points_within_the_radius(rng, metric, search):
    X = rng.integers(0, 5, (150, 4)).astype(float) + 1
    D = cdist(X, X, {"manhattan": "cityblock"}.get(metric, metric))
    radius = float(np.quantile(D, 0.4)) + 1e-9
    graph = neighbors_within(X, radius, LocalRun(), metric=metric, search=search)
    inside = (radius >= D) & ~np.eye(150, dtype=bool)
    np.testing.assert_array_equal(np.diff(graph.start), inside.sum(axis=1))
    for i in range(150):
        mine = slice(graph.start[i], graph.start[i + 1])
        assert set(graph.to[mine]) == set(np.flatnonzero(inside[i]))
        np.testing.assert_allclose(graph.length[mine], np.sort(D[i][inside[i]]), atol=1e-12)


@pytest.mark.parametrize("search", SEARCHES)
def test_a_radius_that_isolates_points_is_reported_with_a_sufficient_one(rng, search):
    X = np.vstack([rng.random((60, 2)), [[3.0, 3.0]]])
    with pytest.warns(DataWarning, match=r"radius 0.5, 1 of 61 rows has no neighbor. Within (\S+), every") as caught:
        neighbors_within(X, 0.5, LocalRun(), search=search)
    enough = float(str(caught[0].message).rpartition("Within ")[2].split(",")[0])
    assert np.diff(neighbors_within(X, enough, LocalRun(), search=search).start).min() == 1
    with pytest.raises(DataError, match=r"radius.*no row has a neighbor"):
        neighbors_within(X, 1e-9, LocalRun(), search=search)


@pytest.mark.parametrize("search", ["tree", "products"])
def test_a_radius_beyond_the_memory_budget_is_refused_before_the_search(rng, search):
    X = rng.random((3000, 3))
    with lowland.config(memory="50MB"), pytest.raises(MemoryBudgetError, match="smaller radius"):
        neighbors_within(X, 5.0, LocalRun(), search=search)


# --- new points -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("points", "rows"), [(1e-30, 1e30), (1e-140, 1e140)])
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

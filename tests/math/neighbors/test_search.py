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
from lowland.math.neighbors.brute_force import BruteForce, SparseSearch
from lowland.math.neighbors.kd_tree import KDTree
from lowland.math.neighbors.search import (
    ByGivenDistances,
    NearestAmong,
    choose_searcher,
    inverse_distances,
    nearest_neighbors,
    neighbors_within,
)
from lowland.math.neighbors.searcher import MetricSpace
from lowland.math.neighbors.torch_search import TorchSearch
from lowland.run.run import Run, serial_run

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
    graph = nearest_neighbors(X, 7, Run(), metric=metric, search=search)
    indices, distances = graph.table()
    order, D = brute(cdist(X, X, {"manhattan": "cityblock"}.get(metric, metric)), 7)
    np.testing.assert_array_equal(indices, order)
    np.testing.assert_allclose(distances, D, rtol=1e-9, atol=1e-14)
    assert graph.recall == 1


@settings(max_examples=15, deadline=None)
@given(X=whole_numbers(), k=st.integers(1, 7), metric=st.sampled_from(["euclidean", "manhattan", "chebyshev"]))
def test_ties_go_to_the_lower_index_in_every_search(X, k, metric):
    if np.all(X[0] == X):
        X[0] += 1
    order, D = brute(cdist(X, X, {"manhattan": "cityblock"}.get(metric, metric)), k)
    for search in SEARCHES:
        indices, distances = nearest_neighbors(X, k, Run(), metric=metric, search=search).table()
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
            nearest_neighbors(broken, 5, Run(), search=search)
        with pytest.raises(DataError, match="too large to be squared"):
            neighbors_within(broken, 1e160, Run(), search=search)
        with pytest.raises(DataError, match="too large to be squared"):
            NearestAmong(broken, 5, search=search)(X)
    with pytest.raises(DataError, match="too large to be squared"):
        NearestAmong(X, 5, search=search)(Y)
    for scale in (1e-165, 1e-162):
        with pytest.raises(DataError, match=r"too small to be squared.*Rescale the columns"):
            nearest_neighbors(X * scale, 5, Run(), search=search)
        with pytest.raises(DataError, match="too small to be squared"):
            neighbors_within(X * scale, scale, Run(), search=search)
    expected = nearest_neighbors(X, 5, Run(), search=search)
    for scale in (1e-150, 1e150):  # these squares neither overflow nor underflow
        np.testing.assert_array_equal(nearest_neighbors(X * scale, 5, Run(), search=search).to, expected.to)
    expected = nearest_neighbors(X, 5, Run(), metric="cosine", search=search)
    for scale in (1e-165, 1e180):  # angles have no scale, and values that are only added may be large
        np.testing.assert_array_equal(
            nearest_neighbors(X * scale, 5, Run(), metric="cosine", search=search).to, expected.to
        )
        nearest_neighbors(X * scale, 5, Run(), metric="manhattan", search=search)
    with pytest.raises(DataError, match="too large to be raised to the power 3"):
        nearest_neighbors(X * 1e110, 5, Run(), metric="minkowski", params={"p": 3}, search=search)


@pytest.mark.parametrize("search", SEARCHES)
@pytest.mark.parametrize("d", [3, 40])
def test_float32_is_squared_in_float64(rng, search, d):
    X = rng.standard_normal((60, d)).astype(np.float32)
    one = nearest_neighbors(X, 5, Run(), search=search)
    for scale in (2.0**-100, 2.0**90):
        other = nearest_neighbors(X * np.float32(scale), 5, Run(), search=search)
        np.testing.assert_array_equal(other.to, one.to)
        np.testing.assert_array_equal(other.length, one.length * np.float32(scale))
    with pytest.raises(DataError, match="too large for float32"):
        nearest_neighbors(X * np.float32(2.0**90), 5, Run(), metric="sqeuclidean", search=search)


@pytest.mark.parametrize("d", [3, 40])
def test_the_number_of_threads_changes_no_bit(rng, d):
    X = rng.standard_normal((9000, d)).astype(np.float32)
    answers = []
    for threads in (1, 3):
        with lowland.config(threads=threads):
            answers.append(nearest_neighbors(X, 5, Run()))
    np.testing.assert_array_equal(answers[1].to, answers[0].to)
    np.testing.assert_array_equal(answers[1].length, answers[0].length)


@pytest.mark.parametrize("search", SEARCHES)
def test_many_duplicate_rows_are_handled(rng, search):
    X = np.repeat(rng.standard_normal((12, 5)), 100, axis=0)[rng.permutation(1200)]
    indices, distances = nearest_neighbors(X, 9, Run(), search=search).table()
    assert not distances.any()
    order, _ = brute(np.round(cdist(X, X), 12), 9)
    np.testing.assert_array_equal(
        indices, order
    )  # all have edges to the same first duplicates, so that each group is one component
    assert not np.any(indices == np.arange(1200)[:, None])


def test_auto_chooses_the_tree_where_it_saves_distances(rng):
    plane = rng.standard_normal((4000, 2)) @ rng.standard_normal((2, 20))
    assert nearest_neighbors(plane, 5, Run()).search == "tree"
    assert nearest_neighbors(rng.standard_normal((4000, 20)), 5, Run()).search == "products"


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
        found = nearest_neighbors(X, 4, Run(), metric=metric, params=params).table()
        np.testing.assert_allclose(found[1], lengths, atol=1e-12)
        given_ones = nearest_neighbors(D, 4, Run(), metric="precomputed")
        assert given_ones.search == "given distances"
        np.testing.assert_array_equal(given_ones.table()[0], order)


@pytest.mark.parametrize(
    ("broken", "words"), [(np.nan, "missing"), (np.inf, "infinite"), (-1.0, "negative"), (9.0, "not symmetric")]
)
def test_given_distances_are_checked(rng, broken, words):
    D = cdist(*[rng.random((9, 2))] * 2)
    D[2, 5] = broken
    with pytest.raises(DataError, match=words):
        nearest_neighbors(D, 3, Run(), metric="precomputed")


def test_n_neighbors_must_be_less_than_the_number_of_rows(rng):
    with pytest.raises(ParameterError, match=r"9 neighbors per point: the data has 9 points. Choose at most 8\."):
        nearest_neighbors(rng.random((9, 2)), 9, Run())


@pytest.mark.parametrize("search", SEARCHES)
def test_equal_rows_are_refused(search):
    X = np.full((30, 3), 2.5)
    with pytest.raises(DataError, match="All rows are equal"):
        nearest_neighbors(X, 3, Run(), search=search)
    with pytest.raises(DataError, match="All rows are equal"):
        neighbors_within(X, 1.0, Run(), search=search)
    with pytest.raises(DataError, match="All distances are zero"):
        nearest_neighbors(np.zeros((9, 9)), 3, Run(), metric="precomputed")


def test_searching_can_be_stopped(rng):
    events = []

    def stop(event):
        events.append(event.stage)
        return False

    with lowland.config(progress=stop), pytest.raises(lowland.errors.Stopped):
        nearest_neighbors(rng.standard_normal((9000, 3)), 5, Run())
    assert events == ["searching neighbors"]


def test_tensors_on_the_host_are_searched_as_arrays(rng):
    torch = pytest.importorskip("torch")
    X = rng.standard_normal((200, 4))
    one, other = nearest_neighbors(X, 5, Run()), nearest_neighbors(torch.asarray(X), 5, Run())
    np.testing.assert_array_equal(one.to, other.to)
    np.testing.assert_array_equal(one.length, other.length)


@pytest.mark.parametrize("search", SEARCHES)
@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "cosine", "hamming"])
def test_exactly_the_points_within_the_radius(rng, metric, search):
    X = rng.integers(0, 5, (150, 4)).astype(float) + 1
    D = cdist(X, X, {"manhattan": "cityblock"}.get(metric, metric))
    radius = float(np.quantile(D, 0.4)) + 1e-9
    graph = neighbors_within(X, radius, Run(), metric=metric, search=search)
    inside = (radius >= D) & ~np.eye(150, dtype=bool)
    np.testing.assert_array_equal(np.diff(graph.start), inside.sum(axis=1))
    for i in range(150):
        mine = slice(graph.start[i], graph.start[i + 1])
        assert set(graph.to[mine]) == set(np.flatnonzero(inside[i]))
        np.testing.assert_allclose(graph.length[mine], np.sort(D[i][inside[i]]), atol=1e-12)


@pytest.mark.parametrize("search", SEARCHES)
def test_a_radius_that_isolates_points_is_reported_with_a_sufficient_one(rng, search):
    X = np.vstack([rng.random((60, 2)), [[3.0, 3.0]]])
    with pytest.warns(DataWarning, match=r"radius 0.5, 1 of 61 points has no neighbor. Within (\S+), every") as caught:
        neighbors_within(X, 0.5, Run(), search=search)
    enough = float(str(caught[0].message).rpartition("Within ")[2].split(",")[0])
    assert np.diff(neighbors_within(X, enough, Run(), search=search).start).min() == 1
    with pytest.raises(DataError, match=r"radius.*no point has a neighbor"):
        neighbors_within(X, 1e-9, Run(), search=search)


@pytest.mark.parametrize("search", ["tree", "products"])
def test_a_radius_beyond_the_memory_budget_is_refused_before_the_search(rng, search):
    X = rng.random((1200, 3))
    with lowland.config(memory="50MB"), pytest.raises(MemoryBudgetError, match="smaller radius"):
        neighbors_within(X, 5.0, Run(), search=search)


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


def test_rows_of_zeros_are_orthogonal_to_others_and_equal_to_each_other():
    X = np.array([[1.0, 0], [2, 0], [0, 0], [0, 0], [0, 3], [1, 3]])
    indices, distances = nearest_neighbors(X, 2, Run(), metric="cosine").table()
    assert indices[0, 0] == 1
    assert distances[0, 0] == 0
    assert indices[2, 0] == 3
    assert distances[2].tolist() == [0, 1]


@pytest.fixture
def both(rng):
    X = rng.integers(0, 6, (300, 3)).astype(float)  # many ties and duplicates
    return KDTree(X, MetricSpace("euclidean", 2.0)), BruteForce(X, "euclidean")


def test_the_tree_agrees_with_brute_force(both, rng):
    tree, brute = both
    labels, rows = rng.integers(0, 4, 300), rng.permutation(300)[:50]
    for options in ({}, {"rows": rows}, {"labels": labels}, {"rows": rows, "labels": labels}):
        for mine, theirs in zip(tree.nearest(5, Run(), **options), brute.nearest(5, Run(), **options), strict=True):
            np.testing.assert_array_equal(mine, theirs)
    Y = rng.random((7, 3)) * 6
    np.testing.assert_array_equal(tree.nearest_to(Y, 4)[0], brute.nearest_to(Y, 4)[0])
    for mine, theirs in zip(tree.within(1.5, Run()), brute.within(1.5, Run()), strict=True):
        np.testing.assert_array_equal(mine, theirs)


def test_the_shortest_edge_from_each_label_to_another(both, rng):
    labels, rows = rng.integers(0, 4, 300), np.arange(300)
    mine, theirs = (each.nearest_in_other_component(rows, labels, Run())[1] for each in both)
    for label in range(4):
        assert mine[labels == label].min() == theirs[labels == label].min()


def test_a_tree_computes_few_of_the_distances(rng):
    plane = KDTree(rng.random((3000, 2)), MetricSpace("euclidean", 2.0))
    assert plane.points_measured(5) < 300
    with lowland.config(threads=3):
        several = plane.nearest(5, Run())
    np.testing.assert_array_equal(several[0], plane.nearest(5, serial_run())[0])


@pytest.mark.parametrize("metric", ["euclidean", "cosine", "manhattan", "precomputed"])
def test_torch_agrees_with_the_host(rng, metric):
    torch = pytest.importorskip("torch")
    X = (100 + rng.standard_normal((300, 20))).astype(np.float32)
    X[200:210] = X[0]
    if metric == "precomputed":
        X = cdist(X, X).astype(np.float32)
        X = (X + X.T) / 2
    device = TorchSearch(torch.asarray(X), metric)  # the search for tensors on an accelerator
    host = choose_searcher(X, metric, {}, "products", 6)
    indices, lengths = device.nearest(6, Run())
    expected = host.nearest(6, Run())
    np.testing.assert_array_equal(indices, expected[0])
    np.testing.assert_allclose(lengths, expected[1], rtol=1e-6, atol=1e-12)
    new = device.nearest_to(torch.asarray(X[:5]), 3), host.nearest_to(X[:5], 3)
    np.testing.assert_array_equal(new[0][0], new[1][0])
    radius = float(np.median(lengths[:, -1]))
    for mine, theirs in zip(device.within(radius, Run()), host.within(radius, Run()), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-6, atol=1e-12)
    labels = np.arange(300) // 100
    rows = np.arange(150)
    np.testing.assert_array_equal(
        device.nearest_in_other_component(rows, labels, Run())[0],
        host.nearest_in_other_component(rows, labels, Run())[0],
    )


SPARSE_METRICS = ["euclidean", "cosine", "manhattan", "correlation", "hamming"]


# --- any metric -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("metric", ["euclidean", "canberra", "precomputed"])
def test_the_nearest_of_another_label(rng, metric):
    X = rng.random((40, 3))
    D = cdist(X, X, "euclidean" if metric == "precomputed" else metric)
    labels = rng.integers(0, 5, 40)
    masked = np.where(labels[:, None] == labels[None, :], np.inf, D)
    search = BruteForce(D if metric == "precomputed" else X, metric)
    indices, lengths = search.nearest(3, Run(), labels=labels)
    np.testing.assert_array_equal(indices, np.argsort(masked, axis=1, kind="stable")[:, :3])
    np.testing.assert_allclose(lengths, np.sort(masked, axis=1)[:, :3], rtol=1e-12)
    np.testing.assert_array_equal(search.nearest_in_other_component(np.arange(40), labels, Run())[0], indices[:, 0])
    indices, lengths = search.nearest(1, Run(), labels=np.zeros_like(labels))  # no row has another label
    assert np.all(indices == -1)
    assert np.all(np.isinf(lengths))


def test_a_function_of_two_rows_is_called_on_one_thread(rng):
    import threading

    seen = set()

    def metric(a, b):
        seen.add(threading.get_ident())
        return abs(a[0] - b[0])

    with lowland.config(threads=3):
        BruteForce(rng.random((30, 2)), metric).nearest(2, Run())
    assert seen == {threading.get_ident()}


# --- matrix products --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_products_are_accurate_far_from_the_origin(rng, dtype):
    X = (1e4 + rng.standard_normal((700, 40))).astype(dtype)
    X[350:] += 1e4  # and no shift helps two distant clusters
    indices, distances = nearest_neighbors(X, 5, Run(), search="products").table()
    order, D = brute(cdist(X.astype(float), X.astype(float)), 5)
    np.testing.assert_array_equal(indices, order)
    np.testing.assert_allclose(distances, D, rtol=1e-6 if dtype == np.float32 else 1e-12)
    assert distances.dtype == dtype


# --- sparse rows ------------------------------------------------------------------------------------------------------


def sparse(n=150, d=40, density=0.15, seed=0, integers=False):
    rng = np.random.default_rng(seed)
    X = scipy.sparse.random_array((n, d), density=density, random_state=rng, format="csr")
    if integers:
        X.data = np.ceil(3 * X.data)
    return X


def city_block(a, b):
    return float(np.abs(a - b).sum())


@pytest.mark.parametrize("metric", [*SPARSE_METRICS, city_block])
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
    run, rows = Run(), np.arange(0, 150, 7)
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


def test_weights_by_inverse_distances_are_one_for_the_nearest():
    weights = inverse_distances(np.array([0, 3, 5]), np.array([1.0, 2.0, 4.0, 3.0, 0.5]))
    np.testing.assert_allclose(weights, [1, 1 / 2, 1 / 4, 1 / 6, 1])

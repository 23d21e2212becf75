"""Neighbours against brute force: every way to search gives the same answer, ties and twins included."""

import sys

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.spatial.distance import cdist

import lowland
from lowland.blocks.neighbors.exact_search import Space
from lowland.blocks.neighbors.graph import (
    NearestAmong,
    NeighborGraph,
    given_graph,
    nearest_neighbors,
    neighbors_within,
    searcher_of,
)
from lowland.blocks.neighbors.hnsw import Approximate
from lowland.blocks.neighbors.matrix_products import Products
from lowland.blocks.neighbors.torch_search import OnDevice
from lowland.errors import DataError, DataWarning, MemoryBudgetError, MissingExtra, ParameterError
from lowland.run.local import LocalRun

METRICS = ["euclidean", "manhattan", "chebyshev", "cosine", "correlation", "sqeuclidean"]
SEARCHES = ["auto", "tree", "products"]


def brute(D, k):
    """The k smallest of each row but the diagonal, ties by index: the numpy twin of all kernels."""
    D = D.copy()
    np.fill_diagonal(D, np.inf)
    order = np.argsort(D, axis=1, kind="stable")[:, :k]
    return order, np.take_along_axis(D, order, axis=1)


def whole_numbers(most_rows=60, most=4):
    shapes = st.tuples(st.integers(8, most_rows), st.integers(1, 6))
    return shapes.flatmap(lambda shape: arrays(np.float64, shape, elements=st.integers(0, most).map(float)))


# --- k nearest ---


@pytest.mark.parametrize("search", SEARCHES)
@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("d", [3, 20])
def test_the_nearest_are_those_of_brute_force(rng, metric, search, d):
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
        np.testing.assert_array_equal(distances, D)  # whole numbers are exact
        np.testing.assert_array_equal(indices, order)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_far_from_the_origin_products_lose_nothing(rng, dtype):
    X = (1e4 + rng.standard_normal((700, 40))).astype(dtype)
    X[350:] += 1e4  # and no centre helps two heaps
    indices, distances = nearest_neighbors(X, 5, LocalRun(), search="products").table()
    order, D = brute(cdist(X.astype(float), X.astype(float)), 5)
    np.testing.assert_array_equal(indices, order)
    np.testing.assert_allclose(distances, D, rtol=1e-6 if dtype == np.float32 else 1e-12)
    assert distances.dtype == dtype


@pytest.mark.parametrize("scale", [1e-150, 1e150])
def test_squares_neither_overflow_nor_vanish(rng, scale):
    X = rng.standard_normal((200, 40))
    one = nearest_neighbors(X, 5, LocalRun(), search="products")
    other = nearest_neighbors(X * scale, 5, LocalRun(), search="products")
    np.testing.assert_array_equal(other.to, one.to)


@pytest.mark.parametrize("search", SEARCHES)
@pytest.mark.parametrize("d", [3, 40])
def test_what_cannot_be_squared_is_refused(rng, search, d):
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
    for scale in (1e-165, 1e180):  # angles have no size, and what is only added may be large
        np.testing.assert_array_equal(
            nearest_neighbors(X * scale, 5, LocalRun(), metric="cosine", search=search).to, expected.to
        )
        nearest_neighbors(X * scale, 5, LocalRun(), metric="manhattan", search=search)
    with pytest.raises(DataError, match="too large to be raised to the power 3"):
        nearest_neighbors(X * 1e110, 5, LocalRun(), metric="minkowski", params={"p": 3}, search=search)


@pytest.mark.parametrize("search", SEARCHES)
@pytest.mark.parametrize("d", [3, 40])
@pytest.mark.parametrize("metric", ["euclidean", "manhattan"])
def test_float32_is_squared_in_float64(rng, search, d, metric):
    X = rng.standard_normal((60, d)).astype(np.float32)
    one = nearest_neighbors(X, 5, LocalRun(), metric=metric, search=search)
    for scale in (2.0**-100, 2.0**90):
        other = nearest_neighbors(X * np.float32(scale), 5, LocalRun(), metric=metric, search=search)
        np.testing.assert_array_equal(other.to, one.to)
        np.testing.assert_array_equal(other.length, one.length * np.float32(scale))
    with pytest.raises(DataError, match="too large for float32"):
        nearest_neighbors(X * np.float32(2.0**90), 5, LocalRun(), metric="sqeuclidean", search=search)


@pytest.mark.parametrize(("points", "rows"), [(1e-100, 1), (1, 1e100), (1e-30, 1e30), (1e-140, 1e140)])
def test_new_rows_may_lie_in_another_world(rng, points, rows):
    X, Y = rng.standard_normal((60, 40)) * points, rng.standard_normal((4, 40)) * rows
    by_tree, by_products = NearestAmong(X, 5, search="tree")(Y), NearestAmong(X, 5, search="products")(Y)
    np.testing.assert_array_equal(by_products[0], by_tree[0])
    np.testing.assert_array_equal(by_products[1], by_tree[1])


def test_rows_that_are_no_numbers_are_near_none(rng):
    X, Y = rng.standard_normal((50, 3)), rng.standard_normal((4, 3))
    Y[1, 0], Y[2, 1] = np.nan, np.inf
    indices, distances = NearestAmong(X, 5)(Y)
    assert np.isnan(distances).all(axis=1).tolist() == [False, True, True, False]
    assert indices.min() >= 0


@pytest.mark.parametrize("d", [3, 40])
def test_the_number_of_threads_changes_no_bit(rng, d):
    X = rng.standard_normal((9000, d)).astype(np.float32)
    answers = []
    for threads in (1, 2, 3):
        with lowland.config(threads=threads):
            answers.append(nearest_neighbors(X, 5, LocalRun()))
    for other in answers[1:]:
        np.testing.assert_array_equal(other.to, answers[0].to)
        np.testing.assert_array_equal(other.length, answers[0].length)


@pytest.mark.parametrize("search", SEARCHES)
def test_crowds_of_twins_break_nothing(rng, search):
    X = np.repeat(rng.standard_normal((12, 5)), 100, axis=0)[rng.permutation(1200)]
    indices, distances = nearest_neighbors(X, 9, LocalRun(), search=search).table()
    assert not distances.any()
    order, _ = brute(np.round(cdist(X, X), 12), 9)
    np.testing.assert_array_equal(indices, order)  # all link to the same first twins, so that each crowd is one part
    assert not np.any(indices == np.arange(1200)[:, None])


def test_auto_takes_the_tree_where_it_spares_pairs(rng):
    plane = rng.standard_normal((4000, 2)) @ rng.standard_normal((2, 20))
    assert nearest_neighbors(plane, 5, LocalRun()).search == "tree"
    assert nearest_neighbors(rng.standard_normal((4000, 20)), 5, LocalRun()).search == "products"


def test_rows_without_direction_are_square_to_others_and_twins_of_each_other():
    X = np.array([[1.0, 0], [2, 0], [0, 0], [0, 0], [0, 3], [1, 3]])
    indices, distances = nearest_neighbors(X, 2, LocalRun(), metric="cosine").table()
    assert indices[0, 0] == 1
    assert distances[0, 0] == 0
    assert indices[2, 0] == 3
    assert distances[2].tolist() == [0, 1]


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


@pytest.mark.parametrize("search", SEARCHES)
def test_new_rows_are_looked_up_as_the_old_ones(rng, search):
    X, Y = rng.standard_normal((300, 5)), rng.standard_normal((40, 5))
    for metric in ("euclidean", "manhattan", "cosine"):
        D = cdist(Y, X, {"manhattan": "cityblock"}.get(metric, metric))
        indices, distances = NearestAmong(X, 6, metric, search=search)(Y)
        np.testing.assert_array_equal(indices, np.argsort(D, axis=1)[:, :6])
        np.testing.assert_allclose(distances, np.sort(D, axis=1)[:, :6], atol=1e-12)
    with pytest.raises(ParameterError, match="at most 300"):
        NearestAmong(X, 301)(Y)


@pytest.mark.parametrize(
    ("broken", "words"),
    [
        (np.nan, "missing"),
        (np.inf, "infinite"),
        (-1.0, "negative"),
        (9.0, "not symmetric"),
    ],
)
def test_given_distances_are_checked(rng, broken, words):
    D = cdist(rng.random((9, 2)), rng.random((9, 2)))
    D = D + D.T
    np.fill_diagonal(D, 0)
    D[2, 5] = broken
    with pytest.raises(DataError, match=words):
        nearest_neighbors(D, 3, LocalRun(), metric="precomputed")


def test_as_many_neighbours_as_rows_are_refused(rng):
    with pytest.raises(ParameterError, match=r"n_neighbors=9: the data has 9 rows. Choose at most 8\."):
        nearest_neighbors(rng.random((9, 2)), 9, LocalRun())


@pytest.mark.parametrize("search", SEARCHES)
def test_equal_rows_are_refused(search):
    X = np.full((30, 3), 2.5)
    with pytest.raises(DataError, match="All rows are equal"):
        nearest_neighbors(X, 3, LocalRun(), search=search)
    with pytest.raises(DataError, match="All rows are equal"):
        neighbors_within(X, 1.0, LocalRun(), search=search)
    with pytest.raises(DataError, match="All rows are equal"):
        nearest_neighbors(np.zeros((9, 9)), 3, LocalRun(), metric="precomputed")


def test_searching_can_be_stopped(rng):
    events = []

    def stop(event):
        events.append(event.stage)
        return False

    with lowland.config(progress=stop), pytest.raises(lowland.errors.Stopped):
        nearest_neighbors(rng.standard_normal((9000, 3)), 5, LocalRun())
    assert events == ["searching neighbours"]


# --- devices ---


@pytest.mark.parametrize("metric", ["euclidean", "cosine", "manhattan", "precomputed"])
def test_torch_finds_what_the_host_finds(rng, metric):
    torch = pytest.importorskip("torch")
    X = (100 + rng.standard_normal((300, 20))).astype(np.float32)
    X[200:210] = X[0]
    if metric == "precomputed":
        X = cdist(X, X).astype(np.float32)
        X = (X + X.T) / 2
    device = OnDevice(torch.asarray(X), metric)  # what a tensor on an accelerator is searched by
    host = searcher_of(X, metric, {}, "products", 6)
    indices, lengths = device.nearest(6, LocalRun())
    expected = host.nearest(6, LocalRun())
    np.testing.assert_array_equal(indices, expected[0])
    np.testing.assert_allclose(lengths, expected[1], rtol=1e-6, atol=1e-12)
    new = device.nearest_to(torch.asarray(X[:5]), 3), host.nearest_to(X[:5], 3)
    np.testing.assert_array_equal(new[0][0], new[1][0])
    radius = float(np.median(lengths[:, -1]))
    for mine, theirs in zip(device.within(radius, LocalRun()), host.within(radius, LocalRun()), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-6, atol=1e-12)
    labels = np.arange(300) // 100
    rows = np.arange(150)
    np.testing.assert_array_equal(
        device.outward(rows, labels, LocalRun())[0], host.outward(rows, labels, LocalRun())[0]
    )


def test_tensors_on_the_host_are_searched_as_arrays(rng):
    torch = pytest.importorskip("torch")
    X = rng.standard_normal((200, 4))
    one, other = nearest_neighbors(X, 5, LocalRun()), nearest_neighbors(torch.asarray(X), 5, LocalRun())
    np.testing.assert_array_equal(one.to, other.to)
    np.testing.assert_array_equal(one.length, other.length)


# --- approximate ---


def test_approximate_search_measures_what_it_finds_and_what_it_misses(rng):
    pytest.importorskip("faiss")
    X = rng.standard_normal((3000, 24))
    exact = nearest_neighbors(X, 8, LocalRun(), search="products")
    graph = nearest_neighbors(X, 8, LocalRun(), search="approximate", rng=rng)
    assert graph.search == "approximate"
    found = graph.table()[0]
    shares = [len(set(a) & set(b)) / 8 for a, b in zip(found, exact.table()[0], strict=True)]
    assert graph.recall == pytest.approx(np.mean(shares), abs=0.02)
    assert graph.recall > 0.95
    assert not np.any(found == np.arange(3000)[:, None])
    np.testing.assert_allclose(graph.length, np.linalg.norm(X[graph.sources] - X[graph.to], axis=1), rtol=1e-12)
    again = nearest_neighbors(X, 8, LocalRun(), search="approximate", rng=rng)
    np.testing.assert_array_equal(again.to, graph.to)


def test_low_recall_is_told(rng):
    pytest.importorskip("faiss")
    search = Approximate(rng.standard_normal((400, 6)), Space("euclidean", 2))
    lengths = np.full((400, 3), 9.0)  # as if only far points had been found
    with pytest.warns(DataWarning, match=r"found 0% of the true neighbours of 300 rows. Say .*'brute'"):
        assert search.recall(lengths, LocalRun(), rng) == 0


def test_twins_beyond_what_is_asked_for_are_found_exactly_too(rng):
    pytest.importorskip("faiss")
    X = np.repeat(rng.standard_normal((20, 6)), 30, axis=0)
    indices, distances = nearest_neighbors(X, 5, LocalRun(), search="approximate").table()
    assert not distances.any()
    assert not np.any(indices == np.arange(600)[:, None])


def test_what_cannot_be_approximated_is_refused(rng, monkeypatch):
    X = rng.standard_normal((50, 3))
    with pytest.raises(ParameterError, match="does not know metric='manhattan'"):
        nearest_neighbors(X, 5, LocalRun(), metric="manhattan", search="approximate")
    monkeypatch.setitem(sys.modules, "faiss", None)
    with pytest.raises(MissingExtra, match=r'pip install "lowland\[neighbors\]"'):
        nearest_neighbors(X, 5, LocalRun(), search="approximate")


# --- within a radius ---


@pytest.mark.parametrize("search", SEARCHES)
@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "cosine", "hamming"])
def test_all_within_the_radius_and_no_others(rng, metric, search):
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
def test_a_radius_that_leaves_points_alone_is_told_with_one_that_does_not(rng, search):
    X = np.vstack([rng.random((60, 2)), [[3.0, 3.0]]])
    with pytest.warns(DataWarning, match=r"leaves 1 row of 61 without a neighbour; with radius=(\S+) every") as told:
        neighbors_within(X, 0.5, LocalRun(), search=search)
    enough = float(str(told[0].message).partition("with radius=")[2].split()[0])
    assert np.diff(neighbors_within(X, enough, LocalRun(), search=search).start).min() == 1
    with pytest.raises(DataError, match="leaves every row without a neighbour"):
        neighbors_within(X, 1e-9, LocalRun(), search=search)


@pytest.mark.parametrize("search", ["tree", "products"])
def test_a_radius_that_takes_all_pairs_is_refused_before_they_are_made(rng, search):
    X = rng.random((3000, 3))
    with lowland.config(memory="50MB"), pytest.raises(MemoryBudgetError, match="smaller radius"):
        neighbors_within(X, 5.0, LocalRun(), search=search)


# --- graphs ---


def links(graph):
    return {(int(i), int(j)): float(w) for i, j, w in zip(graph.sources, graph.to, graph.length, strict=True)}


@settings(max_examples=30, deadline=None)
@given(data=st.data(), n=st.integers(2, 30))
def test_symmetric_holds_every_link_in_both_directions_and_the_shorter_length(data, n):
    pairs = data.draw(st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)), max_size=60, unique=True))
    pairs = [(i, j) for i, j in pairs if i != j]
    i, j = (np.array([pair[side] for pair in pairs], dtype=int) for side in (0, 1))
    w = np.array([data.draw(st.integers(0, 3)) for _ in pairs], dtype=float)
    graph = given_graph(scipy.sparse.coo_array((w, (i, j)), shape=(n, n)))
    before, after = links(graph), links(graph.symmetric())
    assert set(after) == set(before) | {(b, a) for a, b in before}
    for (a, b), length in after.items():
        assert length == min(before.get((a, b), np.inf), before.get((b, a), np.inf)) == after[b, a]
    assert links(graph.symmetric().symmetric()) == after
    kept = np.array([data.draw(st.booleans()) for _ in range(n)])
    kept[0] = True
    number = np.cumsum(kept) - 1
    inner = {(number[a], number[b]): x for (a, b), x in before.items() if kept[a] and kept[b]}
    assert links(graph.among(kept)) == inner


def test_zeros_that_are_stored_are_links_and_the_diagonal_is_none():
    G = scipy.sparse.csr_array((np.array([0.0, 2, 5, 1]), ([0, 1, 1, 2], [1, 2, 1, 1])), shape=(3, 3))
    assert links(given_graph(G)) == {(0, 1): 0, (1, 2): 2, (2, 1): 1}
    assert links(given_graph(G).symmetric()) == {(0, 1): 0, (1, 0): 0, (1, 2): 1, (2, 1): 1}
    D = np.array([[0, 1.5, np.inf], [1.5, 0, 0], [np.inf, 0, 0]])
    assert links(given_graph(D)) == {(0, 1): 1.5, (1, 0): 1.5}
    assert links(given_graph(np.array([[False, True], [True, False]]))) == {(0, 1): 1, (1, 0): 1}


def test_what_is_stored_twice_is_added_up():
    G = scipy.sparse.coo_array((np.array([1.0, 2, 0, 0, 3, 3]), ([0, 0, 1, 1, 2, 2], [1, 1, 2, 2, 2, 0])), shape=(3, 3))
    assert links(given_graph(G)) == {(0, 1): 3, (1, 2): 0, (2, 0): 3}
    assert G.nnz == 6
    twice = scipy.sparse.csr_array((np.array([1.0, 2]), np.array([1, 1]), np.array([0, 2, 2])), shape=(2, 2))
    assert links(given_graph(twice)) == {(0, 1): 3}


@pytest.mark.parametrize(
    ("G", "words"),
    [
        (np.ones((3, 4)), r"shape \(3, 4\)"),
        (np.ones(3), "shape"),
        (np.ones((3, 3)), "joins 3 points, and there are 5 rows"),
        (np.array([[0, -1.0], [1, 0]]), r"negative length: -1 at \[0, 1\]"),
        (np.array([[0, np.nan], [1, 0]]), r"missing \(NaN\)"),
        (scipy.sparse.csr_array(([np.inf], ([0], [1])), shape=(2, 2)), "infinite"),
        (np.array([[0, 1j], [1j, 0]]), "complex128"),
        ([[0, 1], [1]], "list and no matrix"),
        ("rubbish", r"shape \(\)"),
        ([["a", "b"], ["c", "d"]], "holds <U1"),
        (np.array([[0, None], [None, 0]]), "holds object"),
    ],
)
def test_what_is_no_graph_is_refused(G, words):
    with pytest.raises(DataError, match=words):
        given_graph(G, 5 if words.startswith("joins") else None)


def test_of_table_and_back(rng):
    indices, distances = rng.integers(0, 9, (9, 3)), rng.random((9, 3))
    graph = NeighborGraph.of_table(indices, distances, "tree")
    np.testing.assert_array_equal(graph.table()[0], indices)
    np.testing.assert_array_equal(graph.table()[1], distances)
    assert graph.n == 9


def test_products_go_on_in_double_precision_where_single_cannot_tell(rng):
    X = np.vstack([rng.standard_normal((300, 30)) * 1e-4, rng.standard_normal((300, 30)) * 1e-4 + 1])
    indices, _ = Products(X, Space("euclidean", 2)).nearest(5, LocalRun())
    np.testing.assert_array_equal(indices, brute(cdist(X, X), 5)[0])


def test_further_links_go_both_ways_and_of_two_lengths_the_shorter_stays():
    G = scipy.sparse.csr_array((np.array([1.0, 2, 4]), ([0, 1, 1], [1, 2, 3])), shape=(5, 5))
    graph = given_graph(G).symmetric()
    turned = NeighborGraph(graph.start, graph.to[[0, 3, 2, 1, 4, 5]], graph.length[[0, 3, 2, 1, 4, 5]])  # not sorted
    for each in (graph, turned):
        more = each.with_links(np.array([0, 1, 1]), np.array([4, 3, 2]), np.array([7.0, 3, 9]))
        assert links(more) == links(graph) | {(0, 4): 7, (4, 0): 7, (1, 3): 3, (3, 1): 3}
    for i in range(5):
        assert np.all(np.diff(more.to[more.start[i] : more.start[i + 1]]) > 0)

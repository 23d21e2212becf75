"""Graphs of neighbors: directions, further edges, graphs that were given, and their connected components."""

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse.csgraph import connected_components, minimum_spanning_tree
from scipy.spatial.distance import cdist

from lowland.errors import DataError
from lowland.math.neighbors.connectivity import ShortestBridges, component_labels, connected, listed_sizes
from lowland.math.neighbors.graph import NeighborGraph, given_graph
from lowland.math.neighbors.search import nearest_neighbors
from lowland.run.run import Run


def links(graph):
    return {(int(i), int(j)): float(w) for i, j, w in zip(graph.sources, graph.to, graph.length, strict=True)}


@settings(max_examples=30, deadline=None)
@given(data=st.data(), n=st.integers(2, 30))
def test_symmetric_holds_every_edge_in_both_directions_and_the_shorter_length(data, n):
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


def test_stored_zeros_are_edges_and_the_diagonal_is_ignored():
    G = scipy.sparse.csr_array((np.array([0.0, 2, 5, 1]), ([0, 1, 1, 2], [1, 2, 1, 1])), shape=(3, 3))
    assert links(given_graph(G)) == {(0, 1): 0, (1, 2): 2, (2, 1): 1}
    assert links(given_graph(G).symmetric()) == {(0, 1): 0, (1, 0): 0, (1, 2): 1, (2, 1): 1}
    D = np.array([[0, 1.5, np.inf], [1.5, 0, 0], [np.inf, 0, 0]])
    assert links(given_graph(D)) == {(0, 1): 1.5, (1, 0): 1.5}
    assert links(given_graph(np.array([[False, True], [True, False]]))) == {(0, 1): 1, (1, 0): 1}


def test_duplicate_entries_are_summed():
    G = scipy.sparse.coo_array((np.array([1.0, 2, 0, 0, 3, 3]), ([0, 0, 1, 1, 2, 2], [1, 1, 2, 2, 2, 0])), shape=(3, 3))
    assert links(given_graph(G)) == {(0, 1): 3, (1, 2): 0, (2, 0): 3}
    assert G.nnz == 6


@pytest.mark.parametrize(
    ("G", "words"),
    [
        (np.ones((3, 4)), r"shape is \(3, 4\)"),
        (np.ones(3), "shape"),
        (np.ones((3, 3)), "3 nodes, but X has 5 rows"),
        (np.array([[0, -1.0], [1, 0]]), r"negative length: -1 in row 1, column 2"),
        (np.array([[0, np.nan], [1, 0]]), r"missing \(NaN\)"),
        (scipy.sparse.csr_array(([np.inf], ([0], [1])), shape=(2, 2)), "infinite"),
        (np.array([[0, 1j], [1j, 0]]), "complex128"),
        ([[0, 1], [1]], "list, not a matrix"),
        ("rubbish", r"shape is \(\)"),
        ([["a", "b"], ["c", "d"]], "dtype <U1"),
        (np.array([[0, None], [None, 0]]), "dtype object"),
    ],
)
def test_invalid_graphs_are_refused(G, words):
    with pytest.raises(DataError, match=words):
        given_graph(G, 5 if words.startswith("3 nodes") else None)


def test_added_edges_are_symmetric_and_the_shorter_length_is_kept():
    G = scipy.sparse.csr_array((np.array([1.0, 2, 4]), ([0, 1, 1], [1, 2, 3])), shape=(5, 5))
    graph = given_graph(G).symmetric()
    turned = NeighborGraph(graph.start, graph.to[[0, 3, 2, 1, 4, 5]], graph.length[[0, 3, 2, 1, 4, 5]])  # not sorted
    for each in (graph, turned):
        more = each.with_edges(np.array([0, 1, 1]), np.array([4, 3, 2]), np.array([7.0, 3, 9]))
        assert links(more) == links(graph) | {(0, 4): 7, (4, 0): 7, (1, 3): 3, (3, 1): 3}
    for i in range(5):
        assert np.all(np.diff(more.to[more.start[i] : more.start[i + 1]]) > 0)


def test_edges_marked_as_farthest_are_as_long_as_the_longest_other_one():
    G = scipy.sparse.csr_array((np.array([9.0, 1, 3, 8, 2]), ([0, 0, 0, 1, 2], [1, 2, 3, 0, 0])), shape=(4, 4))
    graph = given_graph(G).with_edges(np.array([0]), np.array([1]), np.array([9.0]))  # sorted by target
    bridge = (graph.sources + graph.to) == 1
    found = graph.with_farthest(bridge)
    assert found.to[:3].tolist() == [2, 3, 1]
    assert found.length[:3].tolist() == [1, 3, 3]
    assert links(found)[1, 0] == 8  # its only edge


@pytest.fixture
def heaps(rng):
    """Three clusters of 30, 20 and 10 points, mixed."""
    X = rng.random((60, 3)) + np.repeat([0, 10, 30], [30, 20, 10])[:, None]
    return X[rng.permutation(60)]


def between(X, label, metric="euclidean"):
    """The smallest sum of lengths that connects the components, by scipy."""
    D = cdist(X, X, metric)
    count = label.max() + 1
    M = [[D[np.ix_(label == a, label == b)].min() if a != b else 0 for b in range(count)] for a in range(count)]
    return minimum_spanning_tree(np.array(M)).sum()


@settings(max_examples=30, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(5, 80),
    d=st.sampled_from([1, 2, 3, 40]),
    metric=st.sampled_from(["euclidean", "cityblock"]),
    whole=st.booleans(),
)
def test_connecting_adds_the_edges_of_smallest_total_length(seed, n, d, metric, whole):
    rng = np.random.default_rng(seed)
    X = rng.random((n, d))
    if whole:  # many ties, and no duplicates: scipy treats a zero as no edge
        X = np.stack([rng.permutation(n) for _ in range(d)], axis=1) * 1.0
    label = np.unique(rng.integers(0, rng.integers(2, n), n), return_inverse=True)[1]
    count = label.max() + 1
    if count < 2:
        return
    i, j, length = ShortestBridges(X, metric).spanning(label, Run())
    assert len(i) == count - 1
    joined = scipy.sparse.coo_array((np.ones(len(i)), (label[i], label[j])), shape=(count, count))
    assert connected_components(joined, directed=False)[0] == 1
    np.testing.assert_allclose(length, np.diag(cdist(X[i], X[j], metric)), rtol=1e-12)
    assert length.sum() == pytest.approx(between(X, label, metric), rel=1e-12)


def test_given_distances_are_connected_like_rows(rng):
    X, label = rng.random((50, 4)), rng.permutation(np.arange(50) % 7)
    one = ShortestBridges(X).spanning(label, Run())
    other = ShortestBridges(cdist(X, X), "precomputed").spanning(label, Run())
    for mine, theirs in zip(one, other, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-12)


def test_connect_adds_edges_and_reports_how_many(heaps):
    graph = nearest_neighbors(heaps, 4, Run())
    parts = connected(graph, "connect", ShortestBridges(heaps))
    assert (parts.count, len(parts.bridges)) == (3, 2)
    assert (
        parts.fact
        == "the neighbor graph is disconnected, and the number of connected components is 3: 30, 20 and 10 rows"
    )
    assert parts.sizes.tolist() == [30, 20, 10]
    assert parts.kept.all()
    assert component_labels(parts.graph).max() == 0
    M = parts.graph.matrix()
    assert abs(M - M.T).max() == 0
    assert M.nnz == graph.symmetric().matrix().nnz + 4


def test_largest_keeps_one_component_and_masks_the_others(heaps):
    graph = nearest_neighbors(heaps, 4, Run())
    parts = connected(graph, "largest", ShortestBridges(heaps))
    np.testing.assert_array_equal(parts.kept, heaps[:, 0] < 5)
    assert parts.graph.n == 30
    assert len(parts.bridges) == 0
    alone = nearest_neighbors(heaps[parts.kept], 4, Run()).symmetric()
    np.testing.assert_array_equal(parts.graph.to, alone.to)


def test_ignore_keeps_the_graph_and_error_raises(heaps):
    graph = nearest_neighbors(heaps, 4, Run())
    parts = connected(graph, "ignore", ShortestBridges(heaps))
    np.testing.assert_array_equal(parts.graph.to, graph.symmetric().to)
    assert parts.count == 3
    with pytest.raises(
        DataError,
        match=r"The neighbor graph is disconnected, and the number of connected components is 3: 30, 20 and 10 rows\.",
    ):
        connected(graph, "error", ShortestBridges(heaps))


def test_a_given_graph_without_rows_cannot_be_connected():
    G = scipy.sparse.csr_array(([1.0, 1.0], ([0, 2], [1, 3])), shape=(4, 4))
    with pytest.raises(DataError, match=r"disconnected.*no distances"):
        connected(given_graph(G), "connect", ShortestBridges(G, "precomputed"))
    largest = connected(given_graph(G), "largest", ShortestBridges(G, "precomputed"))
    assert np.flatnonzero(largest.kept).tolist() == [0, 1]


def test_components_are_numbered_by_size_then_by_first_point():
    i, j = np.array([0, 2, 4, 5]), np.array([1, 3, 5, 6])
    G = scipy.sparse.coo_array((np.ones(4), (i, j)), shape=(8, 8))
    assert component_labels(given_graph(G)).tolist() == [1, 1, 2, 2, 0, 0, 0, 3]


@pytest.mark.parametrize("links", [10, 30, 60])
def test_components_agree_with_scipy(rng, links):
    i, j = rng.integers(0, 40, (2, links))
    G = scipy.sparse.coo_array((np.ones(np.sum(i != j)), (i[i != j], j[i != j])), shape=(40, 40))
    ours, theirs = component_labels(given_graph(G)), connected_components(G, directed=False)[1]
    assert len(set(zip(ours.tolist(), theirs.tolist(), strict=True))) == ours.max() + 1 == theirs.max() + 1


def test_groups_of_duplicate_rows_are_components_and_are_connected(rng):
    X = np.repeat(rng.random((5, 3)), 8, axis=0)
    parts = connected(nearest_neighbors(X, 4, Run()), "connect", ShortestBridges(X))
    assert component_labels(parts.graph).max() == 0
    assert parts.sizes.tolist() == [8] * 5
    assert len(parts.bridges) == 4


@pytest.mark.parametrize(
    ("sizes", "said"),
    [([3, 1], "3 and 1"), ([5, 4, 3, 2, 1], "5, 4, 3, 2 and 1"), ([6, 5, 4, 3, 2, 1], "6, 5, 4, 3, 2, …")],
)
def test_at_most_five_sizes_of_components_are_listed(sizes, said):
    assert listed_sizes(np.array(sizes)) == said

"""Parts of a graph, and what each policy does about them."""

import warnings

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse.csgraph import connected_components, minimum_spanning_tree
from scipy.spatial.distance import cdist

from lowland.blocks.neighbors.connectivity import ShortestLinks, connected, parts_of
from lowland.blocks.neighbors.graph import given_graph, nearest_neighbors
from lowland.errors import DataError, DataWarning
from lowland.run.local import LocalRun


@pytest.fixture
def heaps(rng):
    """Three heaps of 30, 20 and 10 points, mixed."""
    X = rng.random((60, 3)) + np.repeat([0, 10, 30], [30, 20, 10])[:, None]
    return X[rng.permutation(60)]


def between(X, label, metric="euclidean"):
    """The least sum of lengths that joins the parts, by scipy."""
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
def test_joining_takes_the_links_of_least_sum(seed, n, d, metric, whole):
    rng = np.random.default_rng(seed)
    X = rng.random((n, d))
    if whole:  # many ties, and no twins: scipy takes a zero for no link
        X = np.stack([rng.permutation(n) for _ in range(d)], axis=1) * 1.0
    label = np.unique(rng.integers(0, rng.integers(2, n), n), return_inverse=True)[1]
    count = label.max() + 1
    if count < 2:
        return
    i, j, length = ShortestLinks(X, metric).joining(label, LocalRun())
    assert len(i) == count - 1
    joined = scipy.sparse.coo_array((np.ones(len(i)), (label[i], label[j])), shape=(count, count))
    assert connected_components(joined, directed=False)[0] == 1
    np.testing.assert_allclose(length, np.diag(cdist(X[i], X[j], metric)), rtol=1e-12)
    assert length.sum() == pytest.approx(between(X, label, metric), rel=1e-12)


def test_given_distances_join_as_rows_do(rng):
    X, label = rng.random((50, 4)), rng.permutation(np.arange(50) % 7)
    one = ShortestLinks(X).joining(label, LocalRun())
    other = ShortestLinks(cdist(X, X), "precomputed").joining(label, LocalRun())
    for mine, theirs in zip(one, other, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-12)


def test_the_shortest_link_between_two_sets(rng):
    X = rng.random((40, 3))
    a, b = np.arange(5, 15), np.arange(20, 40)
    i, j, length = ShortestLinks(X)(a, b)
    D = cdist(X[a], X[b])
    assert (i, j) == (a[D.min(axis=1).argmin()], b[D.min(axis=0).argmin()])
    assert length == pytest.approx(D.min(), rel=1e-14)


def test_connect_joins_and_says_how_many(heaps):
    graph = nearest_neighbors(heaps, 4, LocalRun())
    with pytest.warns(DataWarning, match=r"Isomap: .* 3 parts, of 30, 20 and 10 points.* joined by 2 links, the shor"):
        parts = connected(graph, "connect", ShortestLinks(heaps), owner="Isomap")
    assert (parts.count, parts.links) == (3, 2)
    assert parts.sizes.tolist() == [30, 20, 10]
    assert parts.kept.all()
    assert parts_of(parts.graph).max() == 0
    M = parts.graph.matrix()
    assert abs(M - M.T).max() == 0
    assert M.nnz == graph.symmetric().matrix().nnz + 4


def test_one_link_is_told_in_the_singular(heaps):
    two = heaps[heaps[:, 0] < 20]
    with pytest.warns(DataWarning, match=r"joined by 1 link, the shortest there is \("):
        connected(nearest_neighbors(two, 4, LocalRun()), "connect", ShortestLinks(two), owner="Isomap")


def test_largest_keeps_one_part_and_marks_the_others(heaps):
    graph = nearest_neighbors(heaps, 4, LocalRun())
    with pytest.warns(DataWarning, match="the other 30 rows are NaN"):
        parts = connected(graph, "largest", ShortestLinks(heaps), owner="Isomap")
    np.testing.assert_array_equal(parts.kept, heaps[:, 0] < 5)
    assert parts.graph.n == 30
    assert parts.links == 0
    alone = nearest_neighbors(heaps[parts.kept], 4, LocalRun()).symmetric()
    np.testing.assert_array_equal(parts.graph.to, alone.to)


def test_ignore_leaves_the_graph_and_error_stops(heaps):
    graph = nearest_neighbors(heaps, 4, LocalRun())
    with pytest.warns(DataWarning, match="mean nothing"):
        parts = connected(graph, "ignore", ShortestLinks(heaps), owner="Isomap")
    np.testing.assert_array_equal(parts.graph.to, graph.symmetric().to)
    assert parts.count == 3
    with pytest.raises(DataError, match=r"3 parts, of 30, 20 and 10 points. Raise radius, or say disconnected="):
        connected(graph, "error", ShortestLinks(heaps), owner="Isomap", remedy="Raise radius")


def test_one_part_is_silent(rng):
    X = rng.random((50, 2))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for policy in ("connect", "largest", "ignore", "error"):
            assert connected(nearest_neighbors(X, 10, LocalRun()), policy, ShortestLinks(X), owner="x").count == 1


def test_a_given_graph_without_rows_cannot_be_joined():
    G = scipy.sparse.csr_array(([1.0, 1.0], ([0, 2], [1, 3])), shape=(4, 4))
    with pytest.raises(DataError, match="no distances by which to join them"):
        connected(given_graph(G), "connect", ShortestLinks(G, "precomputed"), owner="Isomap")
    with pytest.warns(DataWarning, match="2 parts"):
        connected(given_graph(G), "largest", ShortestLinks(G, "precomputed"), owner="Isomap")


def test_crowds_of_twins_are_parts_and_are_joined(rng):
    X = np.repeat(rng.random((5, 3)), 20, axis=0)
    with pytest.warns(DataWarning, match="5 parts, of 20, 20, 20, 20 and 20 points"):
        parts = connected(nearest_neighbors(X, 4, LocalRun()), "connect", ShortestLinks(X), owner="Isomap")
    assert parts_of(parts.graph).max() == 0
    assert parts.links == 4


def test_parts_are_numbered_by_size_then_by_first_point():
    i, j = np.array([0, 2, 4, 5]), np.array([1, 3, 5, 6])
    G = scipy.sparse.coo_array((np.ones(4), (i, j)), shape=(8, 8))
    assert parts_of(given_graph(G)).tolist() == [1, 1, 2, 2, 0, 0, 0, 3]

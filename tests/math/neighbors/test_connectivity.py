"""Connected components of a graph, and the policies for them."""

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse.csgraph import connected_components, minimum_spanning_tree
from scipy.spatial.distance import cdist

from lowland.errors import DataError
from lowland.math.neighbors.connectivity import ShortestBridges, component_labels, connected
from lowland.math.neighbors.graph import given_graph
from lowland.math.neighbors.search import nearest_neighbors
from lowland.run.local import LocalRun


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
    i, j, length = ShortestBridges(X, metric).spanning(label, LocalRun())
    assert len(i) == count - 1
    joined = scipy.sparse.coo_array((np.ones(len(i)), (label[i], label[j])), shape=(count, count))
    assert connected_components(joined, directed=False)[0] == 1
    np.testing.assert_allclose(length, np.diag(cdist(X[i], X[j], metric)), rtol=1e-12)
    assert length.sum() == pytest.approx(between(X, label, metric), rel=1e-12)


def test_given_distances_are_connected_like_rows(rng):
    X, label = rng.random((50, 4)), rng.permutation(np.arange(50) % 7)
    one = ShortestBridges(X).spanning(label, LocalRun())
    other = ShortestBridges(cdist(X, X), "precomputed").spanning(label, LocalRun())
    for mine, theirs in zip(one, other, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-12)


def test_connect_adds_edges_and_reports_how_many(heaps):
    graph = nearest_neighbors(heaps, 4, LocalRun())
    parts = connected(graph, "connect", ShortestBridges(heaps))
    assert (parts.count, len(parts.bridges)) == (3, 2)
    assert parts.fact == "the neighbor graph is disconnected: 3 connected components of 30, 20 and 10 rows"
    assert parts.sizes.tolist() == [30, 20, 10]
    assert parts.kept.all()
    assert component_labels(parts.graph).max() == 0
    M = parts.graph.matrix()
    assert abs(M - M.T).max() == 0
    assert M.nnz == graph.symmetric().matrix().nnz + 4


def test_largest_keeps_one_component_and_masks_the_others(heaps):
    graph = nearest_neighbors(heaps, 4, LocalRun())
    parts = connected(graph, "largest", ShortestBridges(heaps))
    np.testing.assert_array_equal(parts.kept, heaps[:, 0] < 5)
    assert parts.graph.n == 30
    assert len(parts.bridges) == 0
    alone = nearest_neighbors(heaps[parts.kept], 4, LocalRun()).symmetric()
    np.testing.assert_array_equal(parts.graph.to, alone.to)


def test_ignore_keeps_the_graph_and_error_raises(heaps):
    graph = nearest_neighbors(heaps, 4, LocalRun())
    parts = connected(graph, "ignore", ShortestBridges(heaps))
    np.testing.assert_array_equal(parts.graph.to, graph.symmetric().to)
    assert parts.count == 3
    with pytest.raises(
        DataError, match=r"The neighbor graph is disconnected: 3 connected components of 30, 20 and 10 rows\."
    ):
        connected(graph, "error", ShortestBridges(heaps))


def test_a_given_graph_without_rows_cannot_be_connected():
    G = scipy.sparse.csr_array(([1.0, 1.0], ([0, 2], [1, 3])), shape=(4, 4))
    with pytest.raises(DataError, match=r"disconnected.*no distances"):
        connected(given_graph(G), "connect", ShortestBridges(G, "precomputed"))
    assert connected(given_graph(G), "largest", ShortestBridges(G, "precomputed")).kept.tolist() == [
        True,
        True,
        False,
        False,
    ]


def test_components_are_numbered_by_size_then_by_first_point():
    i, j = np.array([0, 2, 4, 5]), np.array([1, 3, 5, 6])
    G = scipy.sparse.coo_array((np.ones(4), (i, j)), shape=(8, 8))
    assert component_labels(given_graph(G)).tolist() == [1, 1, 2, 2, 0, 0, 0, 3]

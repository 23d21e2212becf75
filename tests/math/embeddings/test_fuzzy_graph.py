"""Fuzzy graphs: the defining equations of scales and weights, and the union. The reference is in tests/references."""

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

from lowland.math.embeddings.fuzzy_graph import (
    connect_locally,
    fuzzy_graph,
    fuzzy_union,
    intersection,
    local_scales,
    mean_length,
    memberships,
    weaken_between_classes,
)
from lowland.math.neighbors.graph import NeighborGraph
from lowland.math.neighbors.search import nearest_neighbors
from lowland.run.local import LocalRun

RUN = LocalRun()
X = np.random.default_rng(0).normal(size=(60, 3))
GRAPH = fuzzy_graph(nearest_neighbors(X, 8, RUN), RUN)
LABELS = np.arange(60) % 3


def neighbors(n=80, k=9, seed=0):
    return nearest_neighbors(np.random.default_rng(seed).normal(size=(n, 4)), k, RUN)


def scales(graph, connectivity=1.0):
    return local_scales(graph.start, graph.length, mean_length(graph), RUN, connectivity=connectivity)


def weights(graph):
    return memberships(graph.start, graph.length, mean_length(graph), RUN)


def random_directed(n, seed):
    rng = np.random.default_rng(seed)
    A = rng.random((n, n)) * (rng.random((n, n)) < 0.2)
    np.fill_diagonal(A, 0)
    return scipy.sparse.csr_array(A.astype(np.float32))


def test_the_weights_of_a_row_sum_to_log2_of_its_neighbors():
    graph = neighbors()
    sums = weights(graph).reshape(80, 9).sum(axis=1)
    np.testing.assert_allclose(sums, np.log2(10), atol=2e-5)


def test_zero_distances_do_not_count_as_nearest():
    graph = NeighborGraph.of_table(np.array([[1, 2], [0, 2], [0, 1]]), np.array([[0.0, 2], [0, 2], [2, 2]]), "given")
    np.testing.assert_array_equal(scales(graph)[0], [2, 2, 2])


def test_scales_do_not_depend_on_the_unit():
    graph = neighbors()
    for unit in (2.0**-400, 2.0**400):
        other = NeighborGraph(graph.start, graph.to, unit * graph.length)
        assert np.array_equal(fuzzy_graph(other, RUN).weight, fuzzy_graph(graph, RUN).weight)


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10_000), mix=st.floats(0, 1))
def test_the_union_is_that_of_matrices(seed, mix):
    A = random_directed(25, seed)
    found = fuzzy_union(A.indptr.astype(np.int64), A.indices.astype(np.int32), A.data, mix).matrix().toarray()
    D = A.toarray()
    np.testing.assert_allclose(found, mix * (D + D.T - D * D.T) + (1 - mix) * D * D.T, atol=1e-6)


def test_every_row_has_all_its_edges_once_sorted():
    graph = fuzzy_graph(neighbors(), RUN)
    W = graph.matrix()
    np.testing.assert_array_equal(W.toarray(), W.toarray().T)
    assert all(np.all(np.diff(graph.to[a:b]) > 0) for a, b in zip(graph.start[:-1], graph.start[1:], strict=True))
    assert (graph.to.dtype, graph.weight.dtype) == (np.int32, np.float32)
    np.testing.assert_allclose(graph.degree(), W.toarray().sum(axis=1), rtol=1e-6)


def test_weak_edges_are_dropped():
    graph = fuzzy_graph(neighbors(), RUN)
    strong = graph.strongest(0.5).matrix().toarray()
    W = graph.matrix().toarray()
    np.testing.assert_array_equal(strong, np.where(W >= 0.5, W, 0))


@pytest.mark.parametrize("connectivity", [0.0, 0.5, 1.0, 2.5, 9.0, 20.0])
def test_the_offset_interpolates_between_neighbors(connectivity):
    graph = neighbors()
    d = np.c_[np.zeros(80), graph.table()[1]]
    whole = int(connectivity)
    part = connectivity - whole
    expected = d[:, whole] + part * (d[:, whole + 1] - d[:, whole]) if whole < 9 else d[:, 9]
    np.testing.assert_allclose(scales(graph, connectivity)[0], expected)


# --- targets ----------------------------------------------------------------------------------------------------------


def between(graph, labels):
    W = graph.matrix().toarray()
    return W[labels[:, None] != labels[None, :]].sum() / W.sum()


def test_more_weight_of_the_target_leaves_less_between_classes():
    fractions = [between(weaken_between_classes(GRAPH, LABELS, weight), LABELS) for weight in (0.0, 0.5, 0.8, 1.0)]
    assert fractions == sorted(fractions, reverse=True)
    assert fractions[-1] == 0


def test_unknown_labels_keep_the_structure():
    """All edges are weaker by the same factor, which the largest weight of each row removes."""
    found = weaken_between_classes(GRAPH, np.full(60, -1), 0.5)
    np.testing.assert_allclose(found.matrix().toarray(), connect_locally(GRAPH).matrix().toarray(), atol=1e-6)


def test_the_weight_decides_which_graph_prevails():
    target = fuzzy_graph(nearest_neighbors(LABELS[:, None] + 0.1 * X[:, :1], 8, RUN), RUN)
    pulls = [between(intersection(GRAPH, target, weight), LABELS) for weight in (0.1, 0.5, 0.9)]
    assert pulls == sorted(pulls, reverse=True)

"""Affinities: weights of edges, components after dropping zero weights, and invalid input."""

import numpy as np
import pytest
import scipy.sparse

from lowland.errors import DataError, MemoryBudgetError
from lowland.math.graphs.affinities import (
    affinity_components,
    edge_weights,
    kernel_sum_bandwidth,
    median_squared,
    require_graph,
    submatrix,
    symmetric_affinities,
)
from lowland.math.neighbors.search import nearest_neighbors
from lowland.run.local import LocalRun

RUN = LocalRun()


# --- affinities -------------------------------------------------------------------------------------------------------


def test_weights_of_edges():
    x = np.array([[0.0], [1.0], [3.0], [4.0], [9.0]])
    found = nearest_neighbors(x, 1, RUN)
    C = np.zeros((5, 5))
    C[[0, 1, 2, 3, 4], [1, 0, 3, 2, 3]] = 1
    graph = found.symmetric()
    np.testing.assert_array_equal(edge_weights(graph, "binary").toarray(), np.maximum(C, C.T))
    np.testing.assert_array_equal(edge_weights(graph, "average", found=found).toarray(), (C + C.T) / 2)
    D = np.abs(x - x.T)
    heat = np.where(np.maximum(C, C.T) > 0, np.exp(-(D**2) / 2.0), 0)
    np.testing.assert_allclose(edge_weights(graph, "heat", t=2.0).toarray(), np.maximum(heat, 1e-6 * (heat > 0)))
    joined = found.with_edges(np.array([1]), np.array([2]), np.array([2.0]))
    assert edge_weights(joined.symmetric(), "average", found=found)[1, 2] == 1


def test_invalid_affinities_are_refused():
    for kind in (np.asarray, scipy.sparse.csr_array):
        with pytest.raises(DataError, match=r"3 x 4.*square"):
            symmetric_affinities(kind(np.ones((3, 4))))
        with pytest.raises(DataError, match="negative"):
            symmetric_affinities(kind(-np.ones((3, 3))))


@pytest.mark.parametrize("kind", [np.asarray, scipy.sparse.csr_array, scipy.sparse.csr_matrix])
def test_asymmetric_affinities_are_averaged_with_their_transpose(kind):
    given = kind(np.ones((3, 3)))
    W, averaged = symmetric_affinities(given)
    assert W is given
    assert not averaged
    W, averaged = symmetric_affinities(kind(np.triu(np.ones((3, 3)))))
    assert averaged
    np.testing.assert_array_equal(W @ np.eye(3), (np.ones((3, 3)) + np.eye(3)) / 2)
    assert not symmetric_affinities(kind(np.ones((3, 3)) + 1e-15 * np.triu(np.ones((3, 3)))))[1]  # rounding


def test_an_edge_added_between_components_has_the_median_weight():
    x = np.array([[0.0], [1.0], [100.0], [101.0]])
    joined = nearest_neighbors(x, 1, RUN).symmetric().with_edges(np.array([1]), np.array([2]), np.array([99.0]))
    W = edge_weights(joined, "heat", t=1.0, label=np.array([0, 0, 1, 1]))
    np.testing.assert_allclose(W[[0, 1, 2]][:, [1, 2, 3]].diagonal(), np.exp(-1), rtol=1e-15)


@pytest.mark.parametrize("kind", [np.asarray, scipy.sparse.csr_array])
def test_components_are_numbered_by_size_and_zero_affinities_are_not_edges(kind):
    W = np.zeros((5, 5))
    for i, j, w in ((0, 1, 1.0), (2, 3, 1.0), (3, 4, 1.0), (1, 2, 1e-20)):
        W[i, j] = W[j, i] = w
    assert affinity_components(kind(W)).tolist() == [1, 1, 0, 0, 0]
    W[1, 2] = W[2, 1] = 1e-10
    assert affinity_components(kind(W)).tolist() == [0] * 5
    loops = W + 1e12 * np.eye(5)  # compared with which 1e-10 is rounding error
    assert affinity_components(kind(loops), loops=True).tolist() == [1, 1, 0, 0, 0]
    chosen = submatrix(kind(W), np.array([True, False, True, True, False]))
    np.testing.assert_array_equal(
        chosen.toarray() if scipy.sparse.issparse(chosen) else chosen, W[np.ix_([0, 2, 3], [0, 2, 3])]
    )


def test_a_graph_beyond_the_budget_is_refused():
    import lowland

    with lowland.config(memory="1MB"), pytest.raises(MemoryBudgetError, match="fewer neighbors or rows"):
        require_graph(10_000, 10, 2, LocalRun())


# --- bandwidth --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dimension", [1, 3])
def test_the_kernel_sum_gives_bandwidth_and_dimension(dimension):
    rng = np.random.default_rng(0)
    X = rng.random((1500, dimension))
    some = X[:300]
    D = np.sqrt(np.sum((some[:, None] - X[None]) ** 2, axis=-1))
    width = kernel_sum_bandwidth(D)
    assert abs(width.dimension - dimension) < 0.25 * dimension
    near = np.sort(D, axis=1)[:, 1] ** 2
    assert np.median(near) < width.epsilon < 0.3  # wider than the gaps, narrower than the data
    again = kernel_sum_bandwidth(1000 * D)
    np.testing.assert_allclose(again.epsilon, 1e6 * width.epsilon, rtol=1e-9)
    with pytest.raises(DataError, match="All rows are equal"):
        kernel_sum_bandwidth(np.zeros((3, 3)))


def test_the_binned_kernel_sum_equals_the_sum():
    D = np.abs(np.subtract.outer(np.linspace(0, 1, 80) ** 2, np.linspace(0, 1, 80) ** 2))
    width = kernel_sum_bandwidth(D)
    x = D**2 / width.epsilon
    assert abs(2 * np.sum(x * np.exp(-x)) / np.sum(np.exp(-x)) - width.dimension) < 1e-3


def test_the_median_of_squared_lengths_ignores_zeros_if_most_are_zero():
    assert median_squared(np.array([1.0, 2.0, 3.0])) == 4.0
    assert median_squared(np.array([0.0, 0.0, 0.0, 3.0])) == 9.0
    assert median_squared(np.zeros(3)) == 1.0

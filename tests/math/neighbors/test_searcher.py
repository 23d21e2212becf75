"""Edges that a search returns: sorted, concatenated, and refused beyond the memory budget."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

import lowland
from lowland.errors import DataError, MemoryBudgetError
from lowland.math.neighbors.search import nearest_neighbors
from lowland.math.neighbors.searcher import MetricSpace, join_edges, sort_edges, stack_blocks
from lowland.run.local import LocalRun


def test_edges_of_a_block_are_sorted_and_leave_the_point_itself_out():
    i, j, values = np.array([0, 0, 0, 1, 1]), np.array([2, 4, 1, 3, 2]), np.array([0.0, 2.0, 2.0, 0.0, 1.0])
    counts, to, length = sort_edges(i, j, values, slice(2, 4))  # rows 2 and 3, which are not their own neighbors
    assert counts.tolist() == [2, 1]
    assert to.tolist() == [1, 4, 2]  # ties go to the lower index
    assert length.tolist() == [2, 2, 1]


def test_blocks_are_concatenated_in_their_order():
    def look_up(block):
        n = block.stop - block.start
        return np.ones(n, dtype=int), np.arange(block.start, block.stop, dtype=np.int32), np.full(n, 4.0)

    with lowland.config(threads=3):
        start, to, length = join_edges(LocalRun(), 7, 2, look_up, np.sqrt)
    assert start.tolist() == list(range(8))
    assert to.tolist() == list(range(7))
    assert np.all(length == 2)
    with lowland.config(memory="1KB"), pytest.raises(MemoryBudgetError, match="smaller radius"):
        join_edges(LocalRun(), 100, 10, look_up, np.sqrt)


def test_an_empty_search_returns_empty_arrays():
    indices, lengths = stack_blocks([], 3)
    assert indices.shape == lengths.shape == (0, 3)


def test_rows_of_zeros_are_orthogonal_to_others_and_equal_to_each_other():
    X = np.array([[1.0, 0], [2, 0], [0, 0], [0, 0], [0, 3], [1, 3]])
    indices, distances = nearest_neighbors(X, 2, LocalRun(), metric="cosine").table()
    assert indices[0, 0] == 1
    assert distances[0, 0] == 0
    assert indices[2, 0] == 3
    assert distances[2].tolist() == [0, 1]


@pytest.mark.parametrize("metric", ["euclidean", "sqeuclidean", "manhattan", "chebyshev", "cosine", "correlation"])
def test_minkowski_distances_of_the_points_of_the_space_give_the_metric(rng, metric):
    X = rng.standard_normal((12, 4)) + 1
    space = MetricSpace.of(metric, {})
    P = space.points(X)
    E = np.abs(P[:, None] - P[None])
    powers = E.max(axis=2) if space.p == np.inf else (E**space.p).sum(axis=2)
    D = cdist(X, X, {"manhattan": "cityblock"}.get(metric, metric))
    np.testing.assert_allclose(space.lengths(powers), D, atol=1e-12)
    np.testing.assert_allclose(space.lengths(np.array([space.reach(0.7)])), 0.7, rtol=1e-15)


def test_a_metric_on_pairs_alone_has_no_metric_space():
    assert MetricSpace.of("hamming", {}) is None
    assert MetricSpace.of("minkowski", {"w": [1, 2]}) is None
    assert MetricSpace.of("minkowski", {"p": 3}) == MetricSpace("minkowski", 3.0)


def test_overflow_and_underflow_are_refused():
    space = MetricSpace("euclidean", 2.0)
    with pytest.raises(DataError, match="too large to be squared"):
        space.check(np.full((2, 3), 1e160))
    with pytest.raises(DataError, match="too small to be squared"):
        space.check_differences(np.array([[0.0], [1e-170]]))
    MetricSpace("cosine", 2.0).check(np.full((2, 3), 1e160))

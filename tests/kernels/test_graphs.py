"""Graphs as sparse rows: components, levels, the step of a filter, and helpers of shortest paths."""

import numpy as np
import pytest
import scipy.sparse
from scipy.sparse.csgraph import connected_components

from lowland.kernels import graphs


@pytest.fixture
def A(rng):
    M = scipy.sparse.random_array((40, 40), density=0.03, rng=rng, format="csr")
    M.setdiag(0)
    M.eliminate_zeros()
    M.sort_indices()
    return M


def test_connected_components_agree_with_scipy(A):
    label = np.empty(40, dtype=np.int64)
    count = graphs.label_components(A.indptr, A.indices, label)
    expected_count, expected = connected_components(A, directed=False)
    assert count == expected_count
    first = [int(np.argmax(expected == c)) for c in range(count)]
    rank = np.argsort(np.argsort(first))
    np.testing.assert_array_equal(label, rank[expected])


def test_levels_of_a_path_and_of_a_grid():
    path = scipy.sparse.diags_array([np.ones(9), np.ones(9)], offsets=[1, -1], format="csr")
    assert tuple(graphs.level_shape(path.indices, path.indptr)) == (1, 10)
    line = scipy.sparse.diags_array([np.ones(4), np.ones(4)], offsets=[1, -1])
    grid = scipy.sparse.kronsum(line, line, format="csr")
    assert tuple(graphs.level_shape(grid.indices, grid.indptr)) == (5, 9)  # from corner to corner


def test_a_step_of_the_filter_is_its_formula(A, rng):
    Y, Z = rng.standard_normal((40, 3)), rng.standard_normal((40, 3))
    expected = 0.7 * (A @ Y - 0.3 * Y) - 1.5 * Z
    graphs.filter_step(A.data, A.indices, A.indptr, 0, 25, Y, Z, 0.3, 0.7, 1.5)
    graphs.filter_step(A.data, A.indices, A.indptr, 25, 40, Y, Z, 0.3, 0.7, 1.5)
    np.testing.assert_allclose(Z, expected, atol=1e-14)


def test_mirroring_takes_the_smaller_of_both_entries(rng):
    D = rng.random((130, 130))
    expected = np.minimum(D, D.T)
    graphs.mirror(D, 0, 70)
    graphs.mirror(D, 70, 130)
    np.testing.assert_array_equal(D, expected)


def test_balls_contain_every_point_once_and_keep_neighbors_together():
    line = scipy.sparse.diags_array([np.ones(29), np.ones(29)], offsets=[1, -1], format="csr")
    out = np.empty(30, dtype=np.int32)
    graphs.in_balls(line.indptr, line.indices, np.arange(30, dtype=np.int32), 5, 20, out)
    np.testing.assert_array_equal(np.sort(out), np.arange(30))
    assert max(np.ptp(out[a : a + 5]) for a in range(0, 30, 5)) == 4


@pytest.mark.parametrize("by_columns", [False, True])
def test_distances_via_neighbors(rng, by_columns):
    D = rng.random((6, 6))
    start, to, length = np.array([0, 2, 3]), np.array([1, 4, 0]), np.array([0.5, 0.1, 2.0])
    out = np.empty((2, 6))
    graphs.distances_via_neighbors(start, to, length, D, by_columns, out)
    E = D.T if by_columns else D
    np.testing.assert_array_equal(out, [np.minimum(0.5 + E[1], 0.1 + E[4]), 2.0 + E[0]])

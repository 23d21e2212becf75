"""Graphs as sparse rows: both directions, components, levels, and the step of a filter."""

import numpy as np
import pytest
import scipy.sparse
from scipy.sparse.csgraph import connected_components

from lowland.kernels import sparse_graphs


@pytest.fixture
def A(rng):
    M = scipy.sparse.random_array((40, 40), density=0.03, rng=rng, format="csr")
    M.setdiag(0)
    M.eliminate_zeros()
    M.sort_indices()
    return M


def test_every_edge_in_both_directions_with_the_shorter_length(A):
    start, to, length = np.empty(41, dtype=np.int64), np.empty(2 * A.nnz, dtype=np.int32), np.empty(2 * A.nnz)
    kept = sparse_graphs.symmetrize(A.indptr.astype(np.int64), A.indices.astype(np.int32), A.data, start, to, length)
    B = scipy.sparse.csr_array((length[:kept], to[:kept], start), shape=(40, 40)).toarray()
    D = np.where(A.toarray() > 0, A.toarray(), np.inf)
    D = np.minimum(D, D.T)
    np.testing.assert_array_equal(B, np.where(np.isinf(D), 0, D))
    for i in range(40):
        assert np.all(np.diff(to[start[i] : start[i + 1]]) > 0)


def test_connected_components_agree_with_scipy(A):
    label = np.empty(40, dtype=np.int64)
    count = sparse_graphs.label_components(A.indptr, A.indices, label)
    expected_count, expected = connected_components(A, directed=False)
    assert count == expected_count
    first = [int(np.argmax(expected == c)) for c in range(count)]
    rank = np.argsort(np.argsort(first))
    np.testing.assert_array_equal(label, rank[expected])


def test_levels_of_a_path_and_of_a_grid():
    path = scipy.sparse.diags_array([np.ones(9), np.ones(9)], offsets=[1, -1], format="csr")
    assert tuple(sparse_graphs.level_shape(path.indices, path.indptr)) == (1, 10)
    line = scipy.sparse.diags_array([np.ones(4), np.ones(4)], offsets=[1, -1])
    grid = scipy.sparse.kronsum(line, line, format="csr")
    assert tuple(sparse_graphs.level_shape(grid.indices, grid.indptr)) == (5, 9)  # from corner to corner


def test_a_step_of_the_filter_is_its_formula(A, rng):
    Y, Z = rng.standard_normal((40, 3)), rng.standard_normal((40, 3))
    expected = 0.7 * (A @ Y - 0.3 * Y) - 1.5 * Z
    sparse_graphs.filter_step(A.data, A.indices, A.indptr, 0, 25, Y, Z, 0.3, 0.7, 1.5)
    sparse_graphs.filter_step(A.data, A.indices, A.indptr, 25, 40, Y, Z, 0.3, 0.7, 1.5)
    np.testing.assert_allclose(Z, expected, atol=1e-14)

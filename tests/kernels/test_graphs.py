"""Graphs as sparse rows: components, levels, the step of a filter, and helpers of shortest paths."""

import numpy as np
import pytest
import scipy.sparse

from lowland.kernels import graphs


@pytest.fixture
def A(rng):
    M = scipy.sparse.random_array((40, 40), density=0.03, rng=rng, format="csr")
    M.setdiag(0)
    M.eliminate_zeros()
    M.sort_indices()
    return M


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

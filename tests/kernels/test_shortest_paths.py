"""Kernels of shortest paths against scipy."""

import numpy as np
import pytest
import scipy.sparse
from scipy.sparse.csgraph import shortest_path

from lowland.kernels import shortest_paths


@pytest.fixture
def G(rng):
    M = scipy.sparse.random_array((50, 50), density=0.05, rng=rng, format="csr")
    return scipy.sparse.csr_array(M + M.T)


@pytest.mark.parametrize("lanes", [1, 16])
def test_paths_from_sources(G, lanes, rng):
    sources, place = rng.permutation(50)[:20].astype(np.int32), np.arange(50, dtype=np.int32)
    D, rows = np.empty((20, 50)), np.arange(20, dtype=np.int32)
    start, to = G.indptr.astype(np.int64), G.indices.astype(np.int32)
    shortest_paths.paths_from(start, to, G.data, sources, place, np.float64(0.2), lanes, D, rows)
    np.testing.assert_allclose(D, shortest_path(G, indices=sources), rtol=1e-13)


def test_paths_through_all_points_are_all_paths(G):
    D = np.where(G.toarray() > 0, G.toarray(), np.inf)
    np.fill_diagonal(D, 0)
    for first in range(0, 50, 16):
        shortest_paths.paths_through(D, first, min(first + 16, 50))
    np.testing.assert_allclose(D, shortest_path(G), rtol=1e-13)


def test_mirroring_takes_the_smaller_of_both_entries(rng):
    D = rng.random((130, 130))
    expected = np.minimum(D, D.T)
    shortest_paths.mirror(D, 0, 70)
    shortest_paths.mirror(D, 70, 130)
    np.testing.assert_array_equal(D, expected)


def test_balls_contain_every_point_once_and_keep_neighbors_together():
    line = scipy.sparse.diags_array([np.ones(29), np.ones(29)], offsets=[1, -1], format="csr")
    out = np.empty(30, dtype=np.int32)
    shortest_paths.in_balls(line.indptr, line.indices, np.arange(30, dtype=np.int32), 5, 20, out)
    np.testing.assert_array_equal(np.sort(out), np.arange(30))
    assert max(np.ptp(out[a : a + 5]) for a in range(0, 30, 5)) == 4


@pytest.mark.parametrize("by_columns", [False, True])
def test_distances_via_neighbors(rng, by_columns):
    D = rng.random((6, 6))
    start, to, length = np.array([0, 2, 3]), np.array([1, 4, 0]), np.array([0.5, 0.1, 2.0])
    out = np.empty((2, 6))
    shortest_paths.distances_via_neighbors(start, to, length, D, by_columns, out)
    E = D.T if by_columns else D
    np.testing.assert_array_equal(out, [np.minimum(0.5 + E[1], 0.1 + E[4]), 2.0 + E[0]])

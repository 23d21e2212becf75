"""Heaps of the smallest values, distances of pairs and loops over graphs, against sorting and numpy."""

import numpy as np
import pytest
import scipy.sparse

from lowland.kernels import graphs, neighbor_search
from lowland.math.distances.incomplete_rows import SharedColumns

# --- heaps ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("k", [1, 20])
@pytest.mark.parametrize("by_columns", [False, True])
def test_the_smallest_of_several_blocks_are_those_of_a_stable_sort(rng, k, by_columns):
    V = rng.integers(0, 6, (15, 200)).astype(float)  # many ties
    own, labels = rng.integers(0, 9, 15), rng.integers(0, 9, 200)
    values, indices = np.full((15, k), np.inf), np.full((15, k), 200, dtype=np.int32)
    for first in (0, 100):
        part = slice(first, first + 100)
        if by_columns:
            block = np.ascontiguousarray(V[:, part].T)
            neighbor_search.keep_smallest_of_columns(block, np.zeros(100), first, own, labels[part], values, indices)
        else:
            neighbor_search.keep_smallest(V[:, part], np.zeros(100), first, own, labels[part], values, indices)
    neighbor_search.sort_heaps(values, indices)
    masked = np.where(own[:, None] == labels[None, :], np.inf, V)
    np.testing.assert_array_equal(indices, np.argsort(masked, axis=1, kind="stable")[:, :k])
    np.testing.assert_array_equal(values, np.sort(masked, axis=1)[:, :k])


# --- distances of pairs -----------------------------------------------------------------------------------------------


def powers(X, Y, p):
    """(m, n), one column after the other: the order in which the kernels add."""
    D = np.zeros((len(X), len(Y)))
    for a, b in zip(X.T.astype(np.float64), Y.T.astype(np.float64), strict=True):
        E = np.abs(a[:, None] - b[None, :])
        D = np.maximum(D, E) if p == np.inf else D + (E * E if p == 2 else E**p)
    return D


@pytest.mark.parametrize("p", [1.0, 2.0, 3.0, np.inf])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_all_routes_give_identical_distances(rng, p, dtype):
    X, Y = (rng.standard_normal((n, 7)).astype(dtype) for n in (9, 13))
    D = powers(X, Y, p)
    exact = p != 3.0  # a power of three rounds as the library does
    out = np.empty((9, 13))
    T = np.ascontiguousarray(Y.T, dtype=np.float64)
    neighbor_search.distances_by_columns(X.astype(np.float64), T, p, out)
    np.testing.assert_allclose(out, D, rtol=0 if exact else 1e-14)
    places = rng.integers(0, 13, (4, 6))
    rows, found = np.array([3, 0, 8, 3]), np.empty((4, 6))
    neighbor_search.measure_table(X, rows, Y, places, p, found)
    np.testing.assert_array_equal(found, out[rows[:, None], places])
    pairs = np.empty((4, 1))
    neighbor_search.measure_table(X, rows, Y, places[:, :1], p, pairs)  # one at a time
    np.testing.assert_array_equal(pairs[:, 0], found[:, 0])
    assert neighbor_search.power_between(X[3], Y[places[0, 0]], p) == pairs[0, 0]


def test_candidates_are_sorted_by_distance_and_missing_ones_come_last(rng):
    X = rng.integers(0, 3, (10, 2)).astype(float)
    indices = np.array([[4, -1, 2, 7, 10, 9, 0, 1]], dtype=np.int32)
    values = np.empty(indices.shape)
    neighbor_search.measure_candidates(X[:1], X, 2.0, indices, values)
    D = powers(X[:1], X, 2.0)[0]
    real = np.array([0, 1, 2, 4, 7, 9])
    assert indices[0, :6].tolist() == real[np.lexsort((real, D[real]))].tolist()
    assert np.isinf(values[0, 6:]).all()


# --- incomplete rows --------------------------------------------------------------------------------------------------


def holes(n, d, seed):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 4, (n, d)) * 0.1
    X[rng.random(X.shape) < 0.2] = np.nan
    X[:, 0] = rng.standard_normal(n)
    return X


@pytest.mark.parametrize(
    ("metric", "params"), [("nan_euclidean", {}), ("gower", {"categorical": [1, 3], "weights": [1, 0.3, 0.7, 2, 0]})]
)
def test_pairs_blocks_and_both_directions_agree_to_the_last_bit(metric, params):
    X = holes(1200, 5, 0)  # more than one block of points
    found = SharedColumns.of(X, metric, params)
    D = found.to_all(found.points)
    np.testing.assert_array_equal(D, D.T)
    places = np.random.default_rng(1).integers(0, 1200, (1200, 7))
    np.testing.assert_array_equal(found.of_pairs(found.points, places), np.take_along_axis(D, places, axis=1))


def test_distances_of_complete_rows_are_euclidean_to_the_last_bit(rng):
    X = rng.standard_normal((50, 7))
    squares = np.empty((50, 50))
    neighbor_search.distances_by_columns(X, np.ascontiguousarray(X.T), 2.0, squares)
    np.testing.assert_array_equal(SharedColumns.of(X, "nan_euclidean", {}).to_all(X), np.sqrt(squares))


# --- graphs -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def A(rng):
    M = scipy.sparse.random_array((40, 40), density=0.03, random_state=rng, format="csr")
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

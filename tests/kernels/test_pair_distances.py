"""Powers of distances of chosen pairs, against numpy, summed over the columns in their order."""

import numpy as np
import pytest

from lowland.kernels import pair_distances


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
    pair_distances.distances_by_columns(X.astype(np.float64), T, p, out)
    np.testing.assert_allclose(out, D, rtol=0 if exact else 1e-14)
    places = rng.integers(0, 13, (4, 6))
    rows, found = np.array([3, 0, 8, 3]), np.empty((4, 6))
    pair_distances.measure_table(X, rows, Y, places, p, found)
    np.testing.assert_array_equal(found, out[rows[:, None], places])
    pairs = np.empty(4)
    pair_distances.measure_pairs(X, rows, Y, places[:, 0], p, pairs)
    np.testing.assert_array_equal(pairs, found[:, 0])
    assert pair_distances.power_between(X[3], Y[places[0, 0]], p) == pairs[0]


def test_candidates_are_sorted_by_distance_and_missing_ones_come_last(rng):
    X = rng.integers(0, 3, (10, 2)).astype(float)
    indices = np.array([[4, -1, 2, 7, 10, 9, 0, 1]], dtype=np.int32)
    values = np.empty(indices.shape)
    pair_distances.measure_candidates(X[:1], X, 2.0, indices, values)
    D = powers(X[:1], X, 2.0)[0]
    real = np.array([0, 1, 2, 4, 7, 9])
    assert indices[0, :6].tolist() == real[np.lexsort((real, D[real]))].tolist()
    assert np.isinf(values[0, 6:]).all()

"""Distances over shared columns: pair by pair and block by block, to the last bit."""

import numpy as np
import pytest

from lowland.kernels import pair_distances
from lowland.math.distances.incomplete_rows import SharedColumns


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


def test_distances_of_complete_rows_are_euclidean_to_the_last_bit():
    X = np.random.default_rng(0).standard_normal((50, 7))
    found = SharedColumns.of(X, "nan_euclidean", {})
    powers = np.empty((50, 50))
    pair_distances.distances_by_columns(X, np.ascontiguousarray(X.T), 2.0, powers)
    np.testing.assert_array_equal(found.to_all(X), np.sqrt(powers))

"""Pairs of points, ties, and missing distances."""

import numpy as np
from scipy.spatial.distance import pdist

from lowland.kernels.scaling import distances_of_pairs, order_ties, place_points

CONSTANTS = (1e-11, 60, 0.01, 1e-3, 1e-13)  # shortest step, rounds, least damping, least curvature, rounding


def test_distances_of_all_pairs(rng):
    Z = rng.standard_normal((6, 3))
    i = np.arange(6)
    out = np.empty(15)
    distances_of_pairs(i * 6 - i * (i + 1) // 2 - i - 1, 0, np.ascontiguousarray(Z.T), out)
    np.testing.assert_allclose(out, pdist(Z))


def test_ties_are_sorted_by_other_values():
    order = np.array([4, 0, 2, 1, 3], dtype=np.int32)  # two groups: 4, 0, 2 and 1, 3
    order_ties(order, np.array([0, 3, 5]), np.array([5.0, 1.0, 3.0, 0.0, 3.0]))
    assert order.tolist() == [2, 4, 0, 3, 1]


def test_a_nan_distance_gives_nan(rng):
    T, out = np.full((1, 5), np.nan), np.empty((1, 2))
    place_points(T, np.ones((1, 5)), rng.standard_normal((2, 5)), np.zeros((1, 1, 2)), *CONSTANTS, out)
    assert np.isnan(out).all()

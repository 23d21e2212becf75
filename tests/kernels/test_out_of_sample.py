"""The loop that places new points, compared with a plain minimizer."""

import numpy as np
from scipy.optimize import minimize
from scipy.spatial.distance import cdist

from lowland.kernels.out_of_sample import place_points

CONSTANTS = (1e-11, 60, 0.01, 1e-3, 1e-13)  # shortest step, rounds, least damping, least curvature, rounding


def test_a_point_at_known_distances_is_recovered(rng):
    Z, z = rng.standard_normal((10, 2)), rng.standard_normal((4, 2))
    T, out = cdist(z, Z), np.empty((4, 2))
    place_points(T, np.ones_like(T), np.ascontiguousarray(Z.T), z[None] + 0.3, *CONSTANTS, out)
    np.testing.assert_allclose(out, z, atol=1e-8)


def test_the_better_initialization_is_used_and_stress_is_minimal(rng):
    Z, T, W = rng.standard_normal((10, 2)), 1 + rng.random((1, 10)), rng.random((1, 10))
    starts, out = rng.standard_normal((2, 1, 2)), np.empty((1, 2))

    def own(z):
        return np.sum(W[0] * (T[0] - np.linalg.norm(Z - z, axis=1)) ** 2)

    place_points(T, W, np.ascontiguousarray(Z.T), starts, *CONSTANTS, out)
    assert own(out[0]) <= minimize(own, out[0], tol=1e-12).fun * (1 + 1e-9)
    assert own(out[0]) <= min(own(start) for start in starts[:, 0])


def test_a_nan_distance_gives_nan(rng):
    T, out = np.full((1, 5), np.nan), np.empty((1, 2))
    place_points(T, np.ones((1, 5)), rng.standard_normal((2, 5)), np.zeros((1, 1, 2)), *CONSTANTS, out)
    assert np.isnan(out).all()

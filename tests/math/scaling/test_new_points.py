"""Out-of-sample extension: new points minimize their own stress."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.spatial.distance import cdist

from lowland.math.scaling.new_points import LeastStressPlacement, _by_squares, least_stress_points, place_at_once


@pytest.mark.parametrize("weighted", [False, True])
def test_new_points_minimize_their_own_stress(rng, weighted):
    X, Y = rng.standard_normal((80, 5)), rng.standard_normal((15, 5))
    Z, T = X[:, :2], cdist(Y, X)
    W = 1 / T if weighted else np.ones_like(T)
    placed = least_stress_points(T, W, Z)
    for t, w, z in zip(T, W, placed, strict=True):

        def own(p, t=t, w=w):
            return np.sum(w * (t - np.linalg.norm(Z - p, axis=1)) ** 2)

        lowest = min(minimize(own, s, tol=1e-12).fun for s in (z, *rng.standard_normal((3, 2))))
        assert own(z) <= lowest * (1 + 1e-9)
    at_once = place_at_once(T, W, Z - Z.mean(0), (_by_squares(T, Z - Z.mean(0)), Z[T.argmin(1)] - Z.mean(0)), 1e-11)
    np.testing.assert_allclose(at_once + Z.mean(0), placed, atol=1e-8)


def test_exact_distances_are_reproduced_even_if_some_are_missing(rng):
    Z, z = rng.standard_normal((30, 3)), rng.standard_normal((5, 3))
    T = cdist(z, Z)
    T[0, 4:] = np.nan  # four distances fix a point in three dimensions
    np.testing.assert_allclose(LeastStressPlacement(Z, None)(T), z, atol=1e-6)


def test_sammon_places_a_duplicate_on_its_point(rng):
    Z = rng.standard_normal((20, 2))
    placed = LeastStressPlacement(Z, None, sammon=True)(cdist(Z[:3], Z))
    np.testing.assert_array_equal(placed, Z[:3])

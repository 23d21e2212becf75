"""The loops over pairs compared with numpy."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.spatial.distance import cdist, pdist, squareform
from sklearn.isotonic import isotonic_regression

from lowland.kernels.scaling import (
    add_sammon_gradient,
    add_stress_gradient,
    distances_of_pairs,
    order_ties,
    place_points,
    pool_adjacent_violators,
)

CONSTANTS = (1e-11, 60, 0.01, 1e-3, 1e-13)  # shortest step, rounds, least damping, least curvature, rounding


def problem(rng, n=9, k=2):
    T = squareform(pdist(rng.standard_normal((n, 4))))
    W = squareform(rng.random(n * (n - 1) // 2))
    return T, W, rng.standard_normal((n, k)), np.arange(n) * n


def plainly(T, W, Z):
    """The stress and half its gradient."""
    d = cdist(Z, Z)
    residual = np.nan_to_num(d - T)
    A = W * np.divide(residual, d, where=d > 0, out=np.zeros_like(d))
    return np.triu(W * residual**2, 1).sum(), A.sum(axis=1)[:, None] * Z - A @ Z


def test_stress_and_gradient_in_two_ranges(rng):
    T, W, Z, bases = problem(rng)
    T[2, 5] = T[5, 2] = np.nan
    for weights in (np.empty(0), W.ravel()):
        F, Zt = np.zeros((2, 9)), np.ascontiguousarray(Z.T)
        total = sum(add_stress_gradient(T.ravel(), weights, bases[a:b], a, Zt, F) for a, b in ((0, 4), (4, 9)))
        stress, gradient = plainly(T, W if weights.size else np.ones_like(T), Z)
        assert total == pytest.approx(stress)
        np.testing.assert_allclose(F.T, gradient, atol=1e-12)


def test_sammon(rng):
    T, _, Z, bases = problem(rng)
    masses = rng.random(9) + 1
    F, H, Zt = np.zeros((2, 9)), np.zeros((2, 9)), np.ascontiguousarray(Z.T)
    total = add_sammon_gradient(T.ravel(), masses, bases, 0, Zt, F, H)
    W = np.outer(masses, masses) / np.where(T > 0, T, np.inf)
    stress, gradient = plainly(T, W, Z)
    assert total == pytest.approx(stress)
    np.testing.assert_allclose(F.T, gradient, atol=1e-12)
    E = np.zeros_like(Z)
    E[3, 1] = 1e-6
    ahead, behind = (plainly(T, W, Z + s * E)[1][3, 1] for s in (1, -1))
    assert (ahead - behind) / 2e-6 == pytest.approx(H[1, 3], rel=1e-5)


def test_distances_of_all_pairs(rng):
    Z = rng.standard_normal((6, 3))
    i = np.arange(6)
    out = np.empty(15)
    distances_of_pairs(i * 6 - i * (i + 1) // 2 - i - 1, 0, np.ascontiguousarray(Z.T), out)
    np.testing.assert_allclose(out, pdist(Z))


def test_three_values_by_hand():
    y = np.array([3.0, 1.0, 5.0])
    pool_adjacent_violators(y, np.empty(0), np.empty(3, dtype=np.int64))
    assert y.tolist() == [2, 2, 5]
    y = np.array([3.0, 1.0, 5.0])
    pool_adjacent_violators(y, np.array([1.0, 3.0, 1.0]), np.empty(3, dtype=np.int64))
    assert y.tolist() == [1.5, 1.5, 5]


@pytest.mark.parametrize("weighted", [False, True])
def test_values_agree_with_scikit_learn(rng, weighted):
    y, w = rng.standard_normal(200) + np.linspace(0, 2, 200), rng.random(200)
    expected = isotonic_regression(y, sample_weight=w if weighted else None)
    pool_adjacent_violators(y, w if weighted else np.empty(0), np.empty(200, dtype=np.int64))
    np.testing.assert_allclose(y, expected, atol=1e-12)


def test_ties_are_sorted_by_other_values():
    order = np.array([4, 0, 2, 1, 3], dtype=np.int32)  # two groups: 4, 0, 2 and 1, 3
    order_ties(order, np.array([0, 3, 5]), np.array([5.0, 1.0, 3.0, 0.0, 3.0]))
    assert order.tolist() == [2, 4, 0, 3, 1]


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

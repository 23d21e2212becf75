"""The loops over pairs compared with numpy."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist, pdist, squareform

from lowland.kernels.stress import add_sammon_gradient, add_stress_gradient, distances_of_pairs


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

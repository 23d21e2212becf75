"""Diffusion coordinates: distances of a random walk, and its time."""

import numpy as np
import pytest
import scipy.sparse

from lowland.math.graphs.diffusion import (
    diffusion_coordinates,
    diffusion_time,
    eigenvalue_powers,
    inverse_density,
)
from lowland.run.local import LocalRun


def test_diffusion_time():
    values = np.array([0.9, 0.8, 0.45])
    t = diffusion_time(values, 2)
    assert t == 4.0  # (½)^4 < 0.1 < (½)^3
    assert diffusion_time(np.array([0.9, 0.9]), 1) == 1.0
    assert diffusion_time(values[:2], 2) == 1.0
    np.testing.assert_array_equal(eigenvalue_powers(np.array([0.5, -0.5]), 2), [0.25, 0.25])
    np.testing.assert_array_equal(eigenvalue_powers(np.array([0.25, -0.5]), 0.5), [0.5, 0.0])


@pytest.mark.parametrize("alpha", [0.0, 1.0])
def test_diffusion_of_two_points_by_hand(alpha):
    """P = [[3, 1], [1, 3]] / 4 has the eigenvalues 1 and ½, π = (½, ½), ψ = (1, -1)."""
    for kind in (np.asarray, scipy.sparse.csr_array):
        found = diffusion_coordinates(kind(np.array([[3.0, 1], [1, 3]])), 1, 3, alpha=alpha)
        np.testing.assert_allclose(found.eigenvalues, [0.5], atol=1e-14)
        np.testing.assert_allclose(found.stationary, [0.5, 0.5], atol=1e-14)
        np.testing.assert_allclose(np.abs(found.Z[:, 0]), 1 / 8, atol=1e-14)
        assert found.Z[:, 0].sum() == pytest.approx(0, abs=1e-14)


@pytest.mark.parametrize("alpha", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("t", [1, 2])
def test_euclidean_distances_are_diffusion_distances(rng, alpha, t):
    X = rng.random((20, 2))
    W = np.exp(-np.sum((X[:, None] - X[None]) ** 2, axis=-1) / 0.3)
    found = diffusion_coordinates(W, 19, t, alpha=alpha)
    q = W.sum(axis=1)
    K = W / np.outer(q, q) ** alpha
    degree = K.sum(axis=1)
    P = np.linalg.matrix_power(K / degree[:, None], t)
    pi = degree / degree.sum()
    np.testing.assert_allclose(found.stationary, pi, rtol=1e-12)
    np.testing.assert_allclose(found.density, q**-alpha, rtol=1e-12)
    expected = np.sqrt((((P[:, None] - P[None]) ** 2) / pi).sum(axis=-1))
    D = np.linalg.norm(found.Z[:, None] - found.Z[None], axis=-1)
    np.testing.assert_allclose(D, expected, atol=1e-9)


def test_the_density_is_the_sum_of_affinities(rng):
    W = rng.random((5, 5))
    for kind in (np.asarray, scipy.sparse.csr_array):
        np.testing.assert_allclose(inverse_density(kind(W), 0.5, LocalRun()), W.sum(axis=1) ** -0.5, rtol=1e-14)

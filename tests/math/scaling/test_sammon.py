"""Sammon's mapping by hand, and compared with a plain minimizer."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.spatial.distance import cdist, pdist

from lowland.math.scaling.sammon import sammon_coordinates


def test_a_triangle_of_sides_3_4_and_5_is_reproduced_exactly():
    D = np.array([[0.0, 3.0, 5.0], [3.0, 0.0, 4.0], [5.0, 4.0, 0.0]])
    found = sammon_coordinates(D, 2)
    np.testing.assert_allclose(pdist(found.Z), [3, 5, 4], atol=1e-4)
    assert found.stress == pytest.approx(0, abs=1e-9)


def test_an_equilateral_triangle_on_a_line():
    """At -a, 0, a the stress (2 (1 - a)² + (1 - 2a)²) / 3 is least at a = 2/3: 1/9."""
    found = sammon_coordinates(1 - np.eye(3), 1, init=np.array([[-1.0], [0.1], [1.0]]), tol=1e-10)
    np.testing.assert_allclose(np.sort(found.Z[:, 0]), [-2 / 3, 0, 2 / 3], atol=1e-6)
    assert found.stress == pytest.approx(1 / 9)


def test_no_configuration_nearby_has_less_stress(rng):
    t = pdist(rng.standard_normal((7, 4)))
    D = np.zeros((7, 7))
    D[np.triu_indices(7, 1)] = t
    found = sammon_coordinates(D + D.T, 2, tol=1e-9)

    def plain(z):
        return np.sum((t - pdist(z.reshape(7, 2))) ** 2 / t) / t.sum()

    assert plain(found.Z.ravel()) == pytest.approx(found.stress)
    assert found.stress <= minimize(plain, found.Z.ravel(), tol=1e-12).fun * (1 + 1e-9)


def test_duplicates_have_equal_coordinates(rng):
    X = rng.standard_normal((6, 3))[[0, 1, 2, 3, 4, 5, 0]]
    found = sammon_coordinates(cdist(X, X), 2)
    assert found.n_merged == 1
    np.testing.assert_array_equal(found.Z[0], found.Z[6])
    alone = sammon_coordinates(np.zeros((3, 3)), 2)
    assert (alone.n_merged, alone.stress) == (2, 0)

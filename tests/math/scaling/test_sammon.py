"""Sammon's mapping by hand, and compared with a plain minimizer."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.spatial.distance import cdist, pdist

from lowland.math.scaling.sammon import merge_duplicates, sammon_coordinates


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


# --- duplicates -------------------------------------------------------------------------------------------------------


def test_duplicates_are_merged_with_their_masses(rng):
    X = rng.standard_normal((6, 2))[[0, 1, 1, 2, 0, 0]]
    merged = merge_duplicates(cdist(X, X))
    assert merged.masses.tolist() == [3, 2, 1]
    assert merged.total == pytest.approx(pdist(X).sum())
    np.testing.assert_array_equal(merged.expanded(merged.representatives(X)), X)


def test_distances_that_differ_are_merged_by_their_harmonic_mean():
    """Points 0 and 1 coincide, at distances 1 and 3 from point 2: h = 2 / (1 + 1/3) = 1.5, and 4 - 2h = 1 is fixed."""
    D = np.array([[0.0, 0.0, 1.0], [0.0, 0.0, 3.0], [1.0, 3.0, 0.0]])
    merged = merge_duplicates(D)
    np.testing.assert_allclose(merged.D, [[0, 1.5], [1.5, 0]])
    assert (merged.total, merged.fixed) == (4, pytest.approx(1))
    for d in (0.5, 1.5, 4.0):  # the stress of the three pairs at any distance
        whole = (1 - d) ** 2 / 1 + (3 - d) ** 2 / 3
        assert whole == pytest.approx(2 * (1.5 - d) ** 2 / 1.5 + merged.fixed)

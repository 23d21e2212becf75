"""What follows from masses, coordinates and distances."""

import numpy as np

from lowland.math.correspondence.map_points import map_points, v_tests


def test_decompositions():
    F = np.array([[1.0, 2.0], [-1.0, 0.0], [0.0, -2.0]])
    masses = np.array([0.5, 0.25, 0.25])
    eigenvalues = masses @ F**2
    points = map_points(None, masses, F, eigenvalues, (F**2).sum(axis=1))
    np.testing.assert_allclose(points.contributions.sum(axis=0), 1)
    np.testing.assert_allclose(points.cos2.sum(axis=1), 1)
    np.testing.assert_allclose(points.inertias.sum(), eigenvalues.sum())
    np.testing.assert_allclose(masses @ points.standard_coordinates**2, 1)
    assert len(points) == 3


def test_an_axis_without_inertia_and_a_point_at_the_centroid():
    points = map_points(None, np.ones(2) / 2, np.zeros((2, 1)), np.zeros(1), np.zeros(2))
    for values in (points.contributions, points.cos2, points.standard_coordinates, points.inertias):
        assert not values.any()


def test_v_tests_are_standardized_under_chance():
    """Means of rows drawn without replacement: their v-tests have variance 1."""
    rng = np.random.default_rng(0)
    n, m = 60, 12
    z = rng.standard_normal(n)
    z = (z - z.mean()) / z.std()
    means = np.array([z[rng.permutation(n)[:m]].mean() for _ in range(20_000)])
    tests = v_tests(means[:, None], np.full(len(means), float(m)), n)
    assert abs(tests.std() - 1) < 0.02
    assert not v_tests(np.ones((1, 1)), np.array([60.0]), n).any()  # every row has this level

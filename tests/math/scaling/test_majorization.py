"""Stress majorization: a triangle and a line by hand, the Guttman transform, and scikit-learn."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist, pdist

from lowland.math.scaling.majorization import MetricStress, ScalingProblem, minimize_stress, stress_majorization
from lowland.run.local import LocalRun

RUN = LocalRun()
TRIANGLE = np.array([[0.0, 3.0, 5.0], [3.0, 0.0, 4.0], [5.0, 4.0, 0.0]])


def test_a_triangle_of_sides_3_4_and_5_is_reproduced_exactly():
    found = stress_majorization(TRIANGLE, 2)
    np.testing.assert_allclose(pdist(found.Z), [3, 5, 4], atol=1e-6)
    assert found.stress == pytest.approx(0, abs=1e-10)
    assert (found.squares, found.extent) == (50, pytest.approx(50))


def test_an_equilateral_triangle_on_a_line():
    """At -a, 0, a the stress 2 (1 - a)² + (1 - 2a)² is least at a = 2/3: 1/3, of three squared distances."""
    D = 1 - np.eye(3)
    found = stress_majorization(D, 1, init=np.array([[-1.0], [0.1], [1.0]]), eps=1e-14)
    np.testing.assert_allclose(np.sort(found.Z[:, 0]), [-2 / 3, 0, 2 / 3], atol=1e-5)
    assert found.stress == pytest.approx(1 / 3)
    assert found.stress1 == pytest.approx(1 / 3)  # the root of 1/9
    assert found.normalized_stress == pytest.approx(np.sqrt((1 / 3) / (2 * 4 / 9 + 16 / 9)))


def test_a_plain_step_is_the_guttman_transform(rng):
    X, Z = rng.standard_normal((8, 4)), rng.standard_normal((8, 2))
    D, d = cdist(X, X), cdist(Z, Z)
    B = -np.divide(D, d, where=d > 0, out=np.zeros_like(d))
    B -= np.diag(B.sum(axis=1))
    problem = ScalingProblem.of(D, None, RUN)
    stress = MetricStress(problem.targets, problem.sums, RUN)
    found = minimize_stress(Z - Z.mean(0), stress, RUN, eps=0, max_iter=1, accelerate=False)
    np.testing.assert_allclose(found.at.Z, B @ Z / 8, atol=1e-12)


def test_both_solvers_reach_the_same_stress(rng):
    D = cdist(*[rng.standard_normal((15, 4))] * 2)
    quick, plain, slow = (
        stress_majorization(D, 2, eps=1e-12, max_iter=5000, **options)
        for options in ({}, {"accelerate": False}, {"solver": "gradient"})
    )
    assert quick.stress == pytest.approx(plain.stress, rel=1e-4)
    assert quick.stress == pytest.approx(slow.stress, rel=1e-4)
    for found in (quick, plain, slow):
        assert (np.diff(found.outcome.trace) <= 1e-12).all()
        assert found.outcome.trace[-1] == pytest.approx(found.stress)


def test_a_missing_distance_is_recovered_from_the_others(rng):
    X = rng.standard_normal((10, 2))
    D = cdist(X, X)
    hidden = D[0, 1]
    D[0, 1] = D[1, 0] = np.nan
    found = stress_majorization(D, 2, eps=1e-14, max_iter=2000)
    assert np.linalg.norm(found.Z[0] - found.Z[1]) == pytest.approx(hidden, rel=1e-4)
    weights = np.where(np.isnan(D), 0.0, 1.0)
    D[0, 1] = D[1, 0] = 99.0  # zero weight, so it counts as missing
    again = stress_majorization(D, 2, weights=weights, eps=1e-14, max_iter=2000)
    np.testing.assert_allclose(again.Z, found.Z, atol=1e-8)


def test_points_that_all_coincide():
    found = stress_majorization(np.zeros((4, 4)), 2)
    assert (found.stress, found.stress1, found.normalized_stress) == (0, 0, None)
    np.testing.assert_array_equal(found.Z, 0)


def test_the_best_of_several_initializations(rng):
    D = cdist(*[rng.standard_normal((12, 6))] * 2)
    found = stress_majorization(D, 1, init="random", n_init=5)
    assert len(found.init_stresses) == 5
    assert found.stress == min(found.init_stresses)

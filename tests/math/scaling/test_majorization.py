"""Stress: metric, nonmetric and Sammon's, by hand and against plain minimizers; monotone regression; new points."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import approx_fprime, minimize
from scipy.spatial.distance import cdist, pdist, squareform
from sklearn.isotonic import isotonic_regression

from lowland.math.scaling.isotonic import IsotonicCurve, curve_through, monotone_regression, rank
from lowland.math.scaling.majorization import MetricStress, ScalingProblem, minimize_stress, stress_majorization
from lowland.math.scaling.new_points import LeastStressPlacement, _by_squares, least_stress_points, place_at_once
from lowland.math.scaling.nonmetric import NonmetricStress, nonmetric_scaling
from lowland.math.scaling.sammon import merge_duplicates, sammon_coordinates
from lowland.run.run import Run

RUN = Run()
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


def test_squared_distances_on_a_line_keep_their_order():
    D = np.array([[0.0, 1.0, 9.0], [1.0, 0.0, 4.0], [9.0, 4.0, 0.0]])
    found = nonmetric_scaling(D, 1)
    assert found.stress1 == pytest.approx(0, abs=1e-6)
    d = pdist(found.Z)  # pairs 01, 02, 12
    assert d[0] < d[2] < d[1]


def test_a_monotone_transformation_of_the_dissimilarities_changes_nothing(rng):
    D = cdist(*[rng.standard_normal((12, 4))] * 2)
    one, other = (
        nonmetric_scaling(A, 2, init=rng_start) for rng_start in [rng.standard_normal((12, 2))] for A in (D, D**3)
    )
    np.testing.assert_allclose(one.Z, other.Z, atol=1e-9)
    assert one.stress == pytest.approx(other.stress)


def test_the_gradient_agrees_with_finite_differences(rng):
    D, Z = cdist(*[rng.standard_normal((7, 4))] * 2), rng.standard_normal((7, 2))
    W = rng.random((7, 7))
    for weights in (None, W + W.T):
        stress = NonmetricStress.of(D, weights, "primary", np.full((7, 1), 7.0), Run())
        gradient = approx_fprime(Z.ravel(), lambda z, f=stress: f(z.reshape(7, 2)).value, 1e-7)
        np.testing.assert_allclose(stress(Z).gradient.ravel(), gradient, atol=1e-5)


def test_a_plain_nonmetric_step_is_the_guttman_transform_toward_stretched_disparities(rng):
    D, Z = cdist(*[rng.standard_normal((9, 4))] * 2), rng.standard_normal((9, 2))
    Z -= Z.mean(axis=0)
    at = (stress := NonmetricStress.of(D, None, "primary", np.full((9, 1), 9.0), RUN))(Z)
    d, target = squareform(pdist(Z)), squareform(stress.disparities(Z) / (1 - 2 * at.value))
    B = np.diag(np.sum(ratio := target / (d + np.eye(9)), axis=1)) - ratio
    stepped = Z - at.preconditioner * at.gradient
    np.testing.assert_allclose(stepped, B @ Z / 9, atol=1e-12)
    assert stress(stepped).value < at.value


def test_tied_dissimilarities_may_be_kept_equal(rng):
    D = np.round(cdist(*[rng.standard_normal((12, 4))] * 2))
    free, held = (nonmetric_scaling(D, 2, ties=ties, max_iter=1000) for ties in ("primary", "secondary"))
    assert free.stress < held.stress  # fewer constraints


def test_the_sammon_mapping_of_an_equilateral_triangle_on_a_line():
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


@pytest.mark.parametrize("weighted", [False, True])
def test_new_points_minimize_their_own_stress(rng, weighted):
    X, Y = rng.standard_normal((40, 5)), rng.standard_normal((6, 5))
    Z, T = X[:, :2], cdist(Y, X)
    W = 1 / T if weighted else np.ones_like(T)
    placed = least_stress_points(T, W, Z)
    for t, w, z in zip(T, W, placed, strict=True):

        def own(p, t=t, w=w):
            return np.sum(w * (t - np.linalg.norm(Z - p, axis=1)) ** 2)

        lowest = min(minimize(own, s, tol=1e-12).fun for s in (z, *rng.standard_normal((2, 2))))
        assert own(z) <= lowest * (1 + 1e-9)
    at_once = place_at_once(T, W, Z - Z.mean(0), (_by_squares(T, Z - Z.mean(0)), Z[T.argmin(1)] - Z.mean(0)), 1e-11)
    np.testing.assert_allclose(at_once + Z.mean(0), placed, atol=1e-8)


def test_exact_distances_are_reproduced_even_if_some_are_missing(rng):
    Z, z = rng.standard_normal((30, 3)), rng.standard_normal((5, 3))
    T = cdist(z, Z)
    T[0, 4:] = np.nan  # four distances fix a point in three dimensions
    np.testing.assert_allclose(LeastStressPlacement(Z, None)(T), z, atol=1e-6)


def test_a_nan_distance_gives_nan(rng):
    T = np.full((2, 5), 1.0)
    T[1, 3] = np.nan
    placed = least_stress_points(T, np.ones((2, 5)), rng.standard_normal((5, 2)))
    np.testing.assert_array_equal(np.isnan(placed).all(axis=1), [False, True])


def test_sammon_places_a_duplicate_on_its_point(rng):
    Z = rng.standard_normal((20, 2))
    placed = LeastStressPlacement(Z, None, sammon=True)(cdist(Z[:3], Z))
    np.testing.assert_array_equal(placed, Z[:3])


numbers = st.lists(st.floats(-100, 100), min_size=1, max_size=40)


@settings(max_examples=30, deadline=None)
@given(numbers, st.integers(0, 5))
def test_agrees_with_scikit_learn(y, seed):
    w, y = np.random.default_rng(seed).uniform(0.1, 3, len(y)), np.array(y)
    ranking = rank(np.arange(len(y)))
    np.testing.assert_allclose(monotone_regression(y, ranking), isotonic_regression(y), atol=1e-9)
    weighted = monotone_regression(y, ranking, weights=w)
    np.testing.assert_allclose(weighted, isotonic_regression(y, sample_weight=w), atol=1e-9)


def test_ties_by_hand():
    delta = np.array([1.0, 2.0, 2.0, 3.0])
    d = np.array([1.0, 4.0, 2.0, 3.0])
    ranking = rank(delta)
    assert ranking.has_ties
    # primary: 2.0 before 4.0, then 4.0 and 3.0 are pooled
    np.testing.assert_allclose(monotone_regression(d, ranking, "primary"), [1, 3.5, 2, 3.5])
    # secondary: both tied ones get their mean 3, which 3.0 does not violate
    np.testing.assert_allclose(monotone_regression(d, ranking, "secondary"), [1, 3, 3, 3])


def test_missing_values_are_excluded(rng):
    delta = np.array([3.0, np.nan, 1.0, 2.0])
    fitted = monotone_regression(np.array([1.0, 99.0, 2.0, 3.0]), rank(delta))
    assert np.isnan(fitted[1])
    np.testing.assert_allclose(fitted[[2, 3, 0]], [2, 2, 2])


def test_the_curve_interpolates_the_regression(rng):
    delta, d = rng.random(200), rng.random(200)
    ranking = rank(delta)
    fitted = monotone_regression(d, ranking)
    curve = curve_through(delta, fitted, ranking)
    assert len(curve.x) < 60
    np.testing.assert_allclose(curve(delta), fitted, atol=1e-12)
    assert curve(np.array([-1.0, 9.0])).tolist() == [fitted.min(), fitted.max()]


@pytest.mark.parametrize("library", ["torch", "array_api_strict"])
def test_the_curve_in_other_array_libraries(library):
    xp = pytest.importorskip(library)
    curve = IsotonicCurve(np.array([0.0, 1.0, 3.0]), np.array([0.0, 2.0, 2.5]))
    x = np.array([[-1.0, 0.0, 0.5], [1.0, 2.0, 7.0]])
    np.testing.assert_allclose(np.asarray(curve(xp.asarray(x))), curve(x), atol=1e-12)


def test_squared_disparities_add_up_to_the_weights_of_the_pairs(rng):
    D, Z = cdist(*[rng.standard_normal((12, 3))] * 2), rng.standard_normal((12, 2))
    W = rng.uniform(0.5, 2, (12, 12))
    W = W + W.T
    for weights in (None, W):
        stress = NonmetricStress.of(D, weights, "primary", np.full((12, 1), 12.0), RUN)
        w = np.ones(66) if weights is None else W[np.triu_indices(12, 1)]
        assert np.sum(w * stress.scaled(Z)[1] ** 2) == pytest.approx(w.sum())


def test_flat_configurations_place_points_within_their_span(rng):
    for _ in range(20):  # the eigenvalue of zero is rounding error of either sign
        flat = rng.standard_normal((20, 2)) @ np.linalg.qr(rng.standard_normal((3, 3)))[0][:2]
        flat -= flat.mean(axis=0)
        new = 0.3 * flat[:4] + 0.7 * flat[4:8]
        np.testing.assert_allclose(_by_squares(cdist(new, flat), flat), new, atol=1e-9)

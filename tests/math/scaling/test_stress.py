"""Target distances and the sums over their pairs."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime
from scipy.spatial.distance import cdist, pdist

from lowland.errors import DataError, DataWarning, ParameterError
from lowland.math.scaling.majorization import stress_majorization
from lowland.math.scaling.stress import (
    Targets,
    check_connected,
    check_pair_weights,
    classical_start,
    given_start,
    gradient_by_ratios,
    gradient_by_slabs,
    random_start,
    rotate_to_axes,
    stress_gradient,
    weight_sums,
)
from lowland.run.run import Run

RUN = Run()
TRIANGLE = np.array([[0.0, 3.0, 5.0], [3.0, 0.0, 4.0], [5.0, 4.0, 0.0]])


# --- targets ----------------------------------------------------------------------------------------------------------


def test_weights_and_missing_distances_count_in_the_sums():
    W = np.array([[7.0, 1.0, 2.0], [1.0, 7.0, 3.0], [2.0, 3.0, 7.0]])  # a point's weight with itself counts nothing
    sums = weight_sums(Targets.of(TRIANGLE, W), RUN)
    np.testing.assert_array_equal(sums.weights, [3, 4, 5])
    assert sums.squares == 1 * 9 + 2 * 25 + 3 * 16
    D = TRIANGLE.copy()
    D[0, 2] = D[2, 0] = np.nan
    sums = weight_sums(Targets.of(D, W, missing=True), RUN)
    assert sums.squares == 1 * 9 + 3 * 16


def test_weights_are_checked():
    for W, words in (
        (np.ones((2, 2)), "3 x 3"),
        (-np.ones((3, 3)), "negative"),
        (np.arange(9.0).reshape(3, 3), "not symmetric"),
    ):
        with pytest.raises(DataError, match=words):
            check_pair_weights(W, TRIANGLE)


def test_points_without_any_known_distance_are_refused():
    D = np.full((4, 4), np.nan)
    np.fill_diagonal(D, 0)
    D[0, 1] = D[1, 0] = D[2, 3] = D[3, 2] = 1
    with pytest.raises(DataError, match=r"disconnected: 2 of 4 points, such as point 2, .* point 0"):
        check_connected(D)
    with pytest.raises(DataError, match="known distances is disconnected"):
        stress_majorization(D)
    D[1, 2] = D[2, 1] = 1
    check_connected(D)


# --- initial configurations -------------------------------------------------------------------------------------------


def test_a_missing_distance_is_estimated(rng):
    X = rng.standard_normal((30, 2))
    D = cdist(X, X)
    D[3, 7] = D[7, 3] = np.nan
    Z = classical_start(D, 2, RUN, missing=True)
    assert np.corrcoef(pdist(Z), pdist(X))[0, 1] > 0.99


def test_a_degenerate_initialization_is_perturbed_and_a_single_point_refused(rng):
    D = cdist(*[rng.standard_normal((6, 3))] * 2)
    line = np.column_stack([np.arange(6.0), np.zeros(6)])
    with pytest.warns(DataWarning, match="spans 1 of 2 dimensions"):
        moved = given_start(line, D, rng)
    assert np.linalg.matrix_rank(moved - moved.mean(0)) == 2
    full = rng.standard_normal((6, 2))
    np.testing.assert_array_equal(given_start(full, D, rng), full)
    with pytest.raises(ParameterError, match="all points in one place"):
        given_start(np.ones((6, 2)), D, rng)
    with pytest.raises(DataError, match="each of the 6 points"):
        given_start(full[:4], D, rng)


def test_random_points_have_the_requested_scale(rng):
    Z = random_start(500, 3, 5.0, rng, np.zeros((1, 1)))
    assert np.sqrt(np.mean(pdist(Z) ** 2)) == pytest.approx(5, rel=0.05)


def test_principal_axes_remove_rotation_and_shift(rng):
    Z = rng.standard_normal((20, 3)) * [3, 2, 1]
    Q, _ = np.linalg.qr(rng.standard_normal((3, 3)))
    turned = rotate_to_axes(Z @ Q + 7)
    np.testing.assert_allclose(turned, rotate_to_axes(Z), atol=1e-12)
    np.testing.assert_allclose(turned.T @ turned, np.diag(np.diag(turned.T @ turned)), atol=1e-10)


def test_n_points_span_fewer_than_n_dimensions():
    D = cdist(*[np.random.default_rng(0).standard_normal((4, 3))] * 2)
    with pytest.raises(ParameterError, match="4 points span at most 3 dimensions"):
        stress_majorization(D, 4)


# --- stress -----------------------------------------------------------------------------------------------------------


def problem(n=40, k=3, seed=0):
    rng = np.random.default_rng(seed)
    D = cdist(*[rng.standard_normal((n, 6))] * 2)
    W = rng.random((n, n))
    return D, rng.standard_normal((n, k)), W + W.T


def plain_stress(D, Z, W):
    d = cdist(Z, Z)
    return np.nansum(np.triu(W * (D - d) ** 2, 1))


def test_stress_and_gradient_of_plain_weighted_and_incomplete_targets():
    D, Z, W = problem()
    D[2, 5] = D[5, 2] = np.nan
    for weights in (None, W):
        found = stress_gradient(Targets.of(D, weights, missing=True), Z, RUN)
        full = np.ones_like(W) if weights is None else weights
        assert found.stress == pytest.approx(plain_stress(D, Z, full))
        slope = approx_fprime(Z.ravel(), lambda z, w=full: plain_stress(D, z.reshape(Z.shape), w), 1e-7)
        np.testing.assert_allclose(2 * found.F.ravel(), slope, atol=1e-3)


def test_sammon_gradient_and_second_derivatives():
    D, Z, _ = problem(n=12)
    masses = np.arange(1.0, 13)
    targets = Targets.of(D, masses=masses)
    W = np.outer(masses, masses) / np.where(D > 0, D, np.inf)
    found = stress_gradient(targets, Z, RUN)
    assert found.stress == pytest.approx(plain_stress(D, Z, W))
    h = 1e-5
    for i, c in ((0, 0), (5, 2), (11, 1)):
        E = np.zeros_like(Z)
        E[i, c] = h
        ahead, behind = (stress_gradient(targets, Z + s * E, RUN) for s in (1, -1))
        assert (ahead.stress - behind.stress) / (4 * h) == pytest.approx(found.F[i, c], rel=1e-6)
        assert (ahead.F[i, c] - behind.F[i, c]) / (2 * h) == pytest.approx(found.H[i, c], rel=1e-6)


@pytest.mark.parametrize("library", ["torch", "array_api_strict"])
@pytest.mark.parametrize("kind", ["plain", "weighted", "incomplete", "sammon"])
def test_slabs_agree_with_loops(library, kind):
    xp = pytest.importorskip(library)
    D, Z, W = problem()
    if kind == "incomplete":
        D[2, 5] = D[5, 2] = np.nan
    more = {"W": W} if kind == "weighted" else {"masses": W[0]} if kind == "sammon" else {}
    expected = stress_gradient(Targets.of(D, **more, missing=kind == "incomplete"), Z, RUN)
    given = {name: xp.asarray(value) for name, value in more.items()}
    targets = Targets.of(xp.asarray(D), **given, missing=kind == "incomplete")
    parts = [gradient_by_slabs(targets, xp.asarray(Z), a, b) for a, b in ((0, 7), (7, 30), (30, 40))]
    found = parts[0] + parts[1] + parts[2]
    assert float(found.stress) == pytest.approx(expected.stress)
    np.testing.assert_allclose(np.asarray(found.F), expected.F, atol=1e-9)
    if kind == "sammon":
        np.testing.assert_allclose(np.asarray(found.H), expected.H, rtol=1e-9)


def test_the_gradient_by_ratios_agrees():
    torch = pytest.importorskip("torch")
    D, Z, _ = problem()
    targets = Targets.of(torch.asarray(D))
    parts = [gradient_by_ratios(targets, torch.asarray(Z), a, b) for a, b in ((0, 13), (13, 40))]
    np.testing.assert_allclose((parts[0] + parts[1]).F, stress_gradient(Targets.of(D), Z, RUN).F, atol=1e-9)


def test_coincident_points_do_not_lead_to_division_by_zero():
    D, Z, _ = problem()
    Z[3] = Z[4]
    assert np.isfinite(stress_gradient(Targets.of(D), Z, RUN).F).all()
    assert np.isfinite(stress_gradient(Targets.of(D, masses=np.ones(40)), Z, RUN).H).all()


def test_a_matrix_and_its_upper_triangle_give_the_same_result():
    D, Z, _ = problem()
    matrix, triangle = Targets.of(D), Targets(pdist(Z[:, :1]) * 0 + D[np.triu_indices(40, 1)], n=40)
    a, b = (stress_gradient(targets, Z, RUN) for targets in (matrix, triangle))
    assert a.stress == b.stress
    assert np.array_equal(a.F, b.F)


def test_the_mean_target_is_the_weighted_root_mean_square():
    W = np.array([[0.0, 1.0, 2.0], [1.0, 0.0, 3.0], [2.0, 3.0, 0.0]])
    sums = weight_sums(Targets.of(TRIANGLE, W), RUN)
    assert sums.mean_target == pytest.approx(np.sqrt((1 * 9 + 2 * 25 + 3 * 16) / 6))

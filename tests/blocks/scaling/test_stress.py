"""Stress, its slopes and the placing of new points: loops, slabs and plain formulas agree."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime, minimize
from scipy.spatial.distance import cdist, pdist

from lowland.blocks.optimize.lbfgs import Spot, descend_safely
from lowland.blocks.scaling.duplicate_points import merge_twins
from lowland.blocks.scaling.out_of_sample import PlaceAmong, _by_squares, place, place_together
from lowland.blocks.scaling.stress import (
    Targets,
    classical_start,
    in_principal_axes,
    pulls_by_ratios,
    pulls_by_slabs,
    stress_pulls,
)
from lowland.run.local import LocalRun

RUN = LocalRun()


def problem(n=40, k=3, seed=0):
    rng = np.random.default_rng(seed)
    D = cdist(*[rng.standard_normal((n, 6))] * 2)
    W = rng.random((n, n))
    return D, rng.standard_normal((n, k)), W + W.T


def plain_stress(D, Z, W):
    d = cdist(Z, Z)
    return np.nansum(np.triu(W * (D - d) ** 2, 1))


def test_stress_and_slope_of_plain_weighted_and_incomplete_targets():
    D, Z, W = problem()
    D[2, 5] = D[5, 2] = np.nan
    for weights in (None, W):
        pulls = stress_pulls(Targets.of(D, weights, missing=True), Z, RUN)
        full = np.ones_like(W) if weights is None else weights
        assert pulls.stress == pytest.approx(plain_stress(D, Z, full))
        slope = approx_fprime(Z.ravel(), lambda z, w=full: plain_stress(D, z.reshape(Z.shape), w), 1e-7)
        np.testing.assert_allclose(2 * pulls.F.ravel(), slope, atol=1e-3)


def test_sammon_slope_and_second_derivatives():
    D, Z, _ = problem(n=12)
    masses = np.arange(1.0, 13)
    targets = Targets.of(D, masses=masses)
    W = np.outer(masses, masses) / np.where(D > 0, D, np.inf)
    pulls = stress_pulls(targets, Z, RUN)
    assert pulls.stress == pytest.approx(plain_stress(D, Z, W))
    h = 1e-5
    for i, c in ((0, 0), (5, 2), (11, 1)):
        E = np.zeros_like(Z)
        E[i, c] = h
        ahead, behind = (stress_pulls(targets, Z + s * E, RUN) for s in (1, -1))
        assert (ahead.stress - behind.stress) / (4 * h) == pytest.approx(pulls.F[i, c], rel=1e-6)
        assert (ahead.F[i, c] - behind.F[i, c]) / (2 * h) == pytest.approx(pulls.H[i, c], rel=1e-6)


@pytest.mark.parametrize("library", ["torch", "array_api_strict"])
@pytest.mark.parametrize("kind", ["plain", "weighted", "incomplete", "sammon"])
def test_slabs_agree_with_loops(library, kind):
    xp = pytest.importorskip(library)
    D, Z, W = problem()
    if kind == "incomplete":
        D[2, 5] = D[5, 2] = np.nan
    more = {"W": W} if kind == "weighted" else {"masses": W[0]} if kind == "sammon" else {}
    expected = stress_pulls(Targets.of(D, **more, missing=kind == "incomplete"), Z, RUN)
    given = {name: xp.asarray(value) for name, value in more.items()}
    targets = Targets.of(xp.asarray(D), **given, missing=kind == "incomplete")
    parts = [pulls_by_slabs(targets, xp.asarray(Z), a, b) for a, b in ((0, 7), (7, 30), (30, 40))]
    pulls = parts[0] + parts[1] + parts[2]
    assert float(pulls.stress) == pytest.approx(expected.stress)
    np.testing.assert_allclose(np.asarray(pulls.F), expected.F, atol=1e-9)
    if kind == "sammon":
        np.testing.assert_allclose(np.asarray(pulls.H), expected.H, rtol=1e-9)


def test_the_short_way_of_devices_has_the_same_pulls():
    torch = pytest.importorskip("torch")
    D, Z, _ = problem()
    targets = Targets.of(torch.asarray(D))
    parts = [pulls_by_ratios(targets, torch.asarray(Z), a, b) for a, b in ((0, 13), (13, 40))]
    np.testing.assert_allclose((parts[0] + parts[1]).F, stress_pulls(Targets.of(D), Z, RUN).F, atol=1e-9)


def test_points_in_one_place_pull_without_dividing_by_zero():
    D, Z, _ = problem()
    Z[3] = Z[4]
    assert np.isfinite(stress_pulls(Targets.of(D), Z, RUN).F).all()
    assert np.isfinite(stress_pulls(Targets.of(D, masses=np.ones(40)), Z, RUN).H).all()


def test_a_matrix_and_its_upper_triangle_are_read_alike():
    D, Z, _ = problem()
    matrix, triangle = Targets.of(D), Targets(pdist(Z[:, :1]) * 0 + D[np.triu_indices(40, 1)], n=40)
    a, b = (stress_pulls(targets, Z, RUN) for targets in (matrix, triangle))
    assert a.stress == b.stress
    assert np.array_equal(a.F, b.F)


def test_classical_start_finds_points_again(rng):
    X = rng.standard_normal((30, 3))
    Z = classical_start(cdist(X, X), 3, RUN)
    np.testing.assert_allclose(pdist(Z), pdist(X), atol=1e-10)


def test_principal_axes_do_not_care_how_a_configuration_lies(rng):
    Z = rng.standard_normal((20, 3)) * [3, 2, 1]
    Q, _ = np.linalg.qr(rng.standard_normal((3, 3)))
    turned = in_principal_axes(Z @ Q + 7)
    np.testing.assert_allclose(turned, in_principal_axes(Z), atol=1e-12)
    np.testing.assert_allclose(turned.T @ turned, np.diag(np.diag(turned.T @ turned)), atol=1e-10)


def test_quasi_newton_solves_a_bowl_and_never_rises(rng):
    A = np.diag(np.geomspace(1, 1000, 30))

    def bowl(Z):
        return Spot(Z, float(np.sum(Z * (A @ Z))) / 2, A @ Z, np.full((30, 1), 1 / 1000), 1.0)

    def quiet(before, after):
        return before.value - after.value < 1e-20

    start = rng.standard_normal((30, 1))
    quick = descend_safely(start, bowl, quiet, max_iter=3000, run=RUN)
    plain = descend_safely(start, bowl, quiet, max_iter=3000, run=RUN, accelerate=False)
    for course in (quick, plain):
        assert (np.diff(course.trace) <= 0).all()
    assert quick.converged
    assert quick.spot.value < 1e-15
    assert quick.iterations < plain.iterations / 5


@pytest.mark.parametrize("weighted", [False, True])
def test_new_points_minimise_their_own_stress(rng, weighted):
    X, Y = rng.standard_normal((80, 5)), rng.standard_normal((15, 5))
    Z, T = X[:, :2], cdist(Y, X)
    W = 1 / T if weighted else np.ones_like(T)
    placed = place(T, W, Z)
    for t, w, z in zip(T, W, placed, strict=True):

        def own(p, t=t, w=w):
            return np.sum(w * (t - np.linalg.norm(Z - p, axis=1)) ** 2)

        lowest = min(minimize(own, s, tol=1e-12).fun for s in (z, *rng.standard_normal((3, 2))))
        assert own(z) <= lowest * (1 + 1e-9)
    together = place_together(T, W, Z - Z.mean(0), (_by_squares(T, Z - Z.mean(0)), Z[T.argmin(1)] - Z.mean(0)), 1e-11)
    np.testing.assert_allclose(together + Z.mean(0), placed, atol=1e-8)


def test_exact_distances_are_met_even_if_some_are_missing(rng):
    Z, z = rng.standard_normal((30, 3)), rng.standard_normal((5, 3))
    T = cdist(z, Z)
    T[0, 4:] = np.nan  # four distances fix a point in three dimensions
    np.testing.assert_allclose(PlaceAmong(Z, None)(T), z, atol=1e-6)


def test_twins_are_merged_with_their_masses(rng):
    X = rng.standard_normal((6, 2))[[0, 1, 1, 2, 0, 0]]
    merged = merge_twins(cdist(X, X))
    assert merged.masses.tolist() == [3, 2, 1]
    assert merged.total == pytest.approx(pdist(X).sum())
    np.testing.assert_array_equal(merged.spread(merged.chosen(X)), X)

"""Stress and its gradient: loops, slabs and plain formulas agree."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime
from scipy.spatial.distance import cdist, pdist

from lowland.math.scaling.stress import gradient_by_ratios, gradient_by_slabs, stress_gradient
from lowland.math.scaling.targets import Targets
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

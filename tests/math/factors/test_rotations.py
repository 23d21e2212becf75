"""Rotations of factors."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lowland.errors import DataError, ParameterError
from lowland.math.factors.rotations import ROTATIONS, rotate

OBLIQUE = {"oblimin", "quartimin", "geomin", "promax"}


def simple_structure(d=12, k=3, noise=0.0, seed=0):
    """Every column loads on one factor, but for some noise."""
    rng = np.random.default_rng(seed)
    L = np.zeros((d, k))
    L[np.arange(d), np.arange(d) % k] = rng.uniform(0.5, 0.9, d)
    return L + noise * rng.standard_normal((d, k))


def turned(L, seed=1):
    return L @ np.linalg.qr(np.random.default_rng(seed).standard_normal((L.shape[1],) * 2))[0]


@pytest.mark.parametrize("kaiser", [False, True])
@pytest.mark.parametrize("kind", ROTATIONS)
def test_simple_structure_is_recovered(kind, kaiser):
    L = simple_structure()
    found = rotate(turned(L), kind, kaiser=kaiser)
    assert found.outcome.converged
    expected = L[:, np.argsort(-np.sum(L**2, axis=0))]
    np.testing.assert_allclose(found.loadings, expected, atol=1e-3 if kind.startswith("geomin") else 1e-6)
    np.testing.assert_allclose(found.phi, np.eye(3), atol=2e-2 if kind == "geomin" else 1e-6)


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**6), kind=st.sampled_from(ROTATIONS), kaiser=st.booleans())
def test_rotation_keeps_the_explained_covariance(seed, kind, kaiser):
    A = simple_structure(9, 3, 0.15, seed)
    found = rotate(A, kind, kaiser=kaiser)
    np.testing.assert_allclose(found.loadings @ found.phi @ found.loadings.T, A @ A.T, atol=1e-9)
    np.testing.assert_allclose(found.loadings, A @ np.linalg.inv(found.T.T), atol=1e-9)
    np.testing.assert_allclose(np.diagonal(found.phi), 1, atol=1e-9)
    if kind not in OBLIQUE:
        np.testing.assert_allclose(found.phi, np.eye(3), atol=1e-9)
    assert np.all(np.diff(found.outcome.trace) <= 0)
    assert np.all(np.diff(np.sum(found.loadings**2, axis=0)) <= 0)  # in order
    largest = np.argmax(np.abs(found.loadings), axis=0)
    assert np.all(found.loadings[largest, np.arange(3)] > 0)


@pytest.mark.parametrize("kind", ["varimax", "quartimax", "equamax", "parsimax", "oblimin", "geomin"])
def test_gradients(kind):
    """The gradient of each criterion agrees with finite differences."""
    from lowland.math.factors.rotations import _criterion

    L = simple_structure(7, 3, 0.3)
    f, _ = _criterion(kind, L.shape, gamma=0.3, delta=0.02)
    G, h = f(L)[1], 1e-6
    for i, j in np.ndindex(L.shape):
        E = np.zeros_like(L)
        E[i, j] = h
        assert G[i, j] == pytest.approx((f(L + E)[0] - f(L - E)[0]) / (2 * h), abs=1e-7)


def test_units():
    """Quartic criteria do not depend on the scale of the loadings; with Kaiser normalization, on that of any row."""
    A = simple_structure(10, 3, 0.2)
    for kind in ("varimax", "quartimin"):
        plain = rotate(A, kind).loadings
        for size in (1e-6, 1e6):
            np.testing.assert_allclose(rotate(A * size, kind).loadings / size, plain, atol=1e-6)
        sizes = np.geomspace(0.01, 100, 10)[:, None]
        scaled, whole = rotate(A * sizes, kind, kaiser=True), rotate(A, kind, kaiser=True)
        np.testing.assert_allclose(np.abs(scaled.T.T @ whole.T).max(axis=1), 1, atol=0.3)
        criteria = [rotate(B, kind, kaiser=True).criterion for B in (A, A * sizes)]
        assert criteria[0] == pytest.approx(criteria[1], rel=1e-9)


def test_more_initializations_are_never_worse_and_are_recorded():
    A = turned(simple_structure(12, 4, 0.25, seed=3), seed=4)
    one, many, again = (rotate(A, "geomin-orthogonal", starts=n, max_iter=1000) for n in (1, 3, 3))
    assert len(many.start_criteria) == 3
    assert many.criterion == min(many.start_criteria) <= one.criterion
    np.testing.assert_array_equal(again.loadings, many.loadings)


def test_one_factor_and_wrong_input():
    A = -simple_structure(5, 1)
    np.testing.assert_array_equal(rotate(A, "oblimin").loadings, -A)
    np.testing.assert_array_equal(rotate(A, "promax").phi, [[1.0]])
    B = simple_structure()
    with pytest.raises(ParameterError, match="varimax"):
        rotate(B, "spinning")
    with pytest.raises(ParameterError, match="delta"):
        rotate(B, "geomin", delta=0)
    with pytest.raises(ParameterError, match="power"):
        rotate(B, "promax", power=1)
    with pytest.raises(ParameterError, match="initializations"):
        rotate(B, "varimax", starts=0)
    with pytest.raises(DataError, match="finite"):
        rotate(np.full((3, 2), np.nan), "varimax")


@pytest.mark.parametrize("kind", ROTATIONS)
def test_rotation_leaves_a_stationary_point_that_is_not_a_minimum(kind):
    """A general and a bipolar factor: no rotation changes the criterion to first order, but every one improves it."""
    A = np.array([[0.6, 0.6]] * 4 + [[0.6, -0.6]] * 4)
    found = rotate(A, kind)
    np.testing.assert_allclose(np.sort(np.abs(found.loadings), axis=1)[:, 0], 0, atol=1e-6)
    np.testing.assert_allclose(found.loadings @ found.phi @ found.loadings.T, A @ A.T, atol=1e-10)


def test_factors_do_not_collapse():
    """With a large gamma, oblimin would let factors collapse, with loadings that grow without bound."""
    A = np.random.default_rng(0).uniform(-1, 1, (13, 3)) * np.array([1.0, 0.7, 0.4])
    for gamma in (0.5, 1.0):
        found = rotate(A, "oblimin", gamma=gamma, max_iter=500)
        np.testing.assert_allclose(found.loadings @ found.phi @ found.loadings.T, A @ A.T, atol=1e-6)

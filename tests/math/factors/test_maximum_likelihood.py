"""The maximum of the likelihood of a factor model, by every search, and rotations of factors."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lowland.errors import DataError, ParameterError
from lowland.math.factors.likelihood_searches import (
    Leading,
    Root,
    by_em,
    by_leading_pairs,
)
from lowland.math.factors.maximum_likelihood import (
    degrees_of_freedom,
    factor_loadings,
    fewest_by_bic,
    first_uniquenesses,
    free_parameters,
    inverse_of,
    most_factors,
)
from lowland.math.factors.rotations import ROTATIONS, rotate
from lowland.run.run import Run


@pytest.mark.parametrize(("d", "most"), [(2, 0), (3, 1), (6, 3), (24, 17)])
def test_degrees_of_freedom(d, most):
    assert most_factors(d) == most
    assert degrees_of_freedom(d, most) >= 0 > degrees_of_freedom(d, most + 1)


def test_three_columns_and_one_factor_by_hand():
    """R_ij = l_i l_j: l_1² = R_12 R_13 / R_23, and so on; the fit is exact."""
    R = np.array([[1.0, 0.72, 0.63], [0.72, 1.0, 0.56], [0.63, 0.56, 1.0]])
    for method in ("uniqueness", "em"):
        found = factor_loadings(R, 1, method=method, tol=1e-13, max_iter=20_000)
        assert found.outcome.converged
        np.testing.assert_allclose(found.loadings[:, 0], [0.9, 0.8, 0.7], atol=1e-4)
        np.testing.assert_allclose(found.uniquenesses, [0.19, 0.36, 0.51], atol=1e-4)
        assert found.deviance == pytest.approx(np.linalg.slogdet(R)[1] + 3, abs=1e-9)  # log|R| + tr I


def test_initial_uniquenesses_come_from_multiple_correlations():
    R = np.array([[1.0, 0.6], [0.6, 1.0]])
    np.testing.assert_allclose(first_uniquenesses(R, 1, 1e-6), 0.75 * (1 - 0.36))  # (1 - k/2d)(1 - R²)
    np.testing.assert_allclose(inverse_of(R), np.linalg.inv(R))
    assert inverse_of(np.ones((2, 2))) is None
    assert np.all(first_uniquenesses(np.ones((2, 2)), 1, 1e-6) > 0)


def test_the_number_of_factors_with_the_smallest_bic():
    rng = np.random.default_rng(0)
    L = np.zeros((8, 2))
    L[:4, 0] = L[4:, 1] = 0.8
    X = rng.standard_normal((500, 2)) @ L.T + 0.6 * rng.standard_normal((500, 8))
    R = np.corrcoef(X.T)
    choice, found = fewest_by_bic(R, 500, lambda k: factor_loadings(R, k))
    assert choice.n_components == found.loadings.shape[1] == 2
    bic = 500 * found.deviance + np.log(500) * free_parameters(8, 2)
    assert choice.evidence["bic"][1] == pytest.approx(bic) == choice.evidence["bic"].min()


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_ill_conditioned_correlations_converge_to_a_maximum(seed):
    """Little noise, few rows: uniquenesses reach the bound, and EM from there finds no better solution."""
    rng = np.random.default_rng(seed)
    d, n = int(rng.integers(4, 14)), int(rng.integers(5, 80))
    k = int(rng.integers(1, most_factors(d) + 1))
    X = rng.standard_normal((n, d)) @ rng.standard_normal((d, d)) * np.exp(rng.standard_normal(d))
    R, run = np.corrcoef(X, rowvar=0), Run()
    found = by_leading_pairs(Root(R), k, first_uniquenesses(R, k, 1e-4), 1e-4, 0.0, 1000, run)
    assert np.all(np.diff(found.outcome.trace) <= 1e-6)
    further = by_em(Root(R), k, found.uniquenesses, 1e-4, 1e-9, 50, run)
    assert further.deviance >= found.deviance - 1e-6


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_deviance_and_slope_from_leading_pairs(seed):
    """The deviance is log|Σ| + tr Σ^-1 R with the best loadings, and the slope is its derivative."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((6, 9)) + 2 * rng.standard_normal((6, 1))
    C = (X - X.mean(axis=0)) / X.std(axis=0)
    Z = C / np.sqrt(6)
    x, run, h = np.log(rng.uniform(0.1, 0.9, 9)), Run(), 1e-5
    for root in (Root(Z.T @ Z), Root(Z.T @ Z, Z)):
        here = Leading(x, *root.pairs(x, 2, run))
        L = here.loadings(2)
        Sigma = L @ L.T + np.diag(np.exp(x))
        assert here.value == pytest.approx(np.linalg.slogdet(Sigma)[1] + np.trace(np.linalg.solve(Sigma, root.R)))
        around = [[Leading(x + s * e, *root.pairs(x + s * e, 2, run)).value for s in (h, -h)] for e in np.eye(9)]
        np.testing.assert_allclose(here.slope, [(a - b) / (2 * h) for a, b in around], atol=1e-6)


X = np.random.default_rng(0).standard_normal((200, 2)) @ np.random.default_rng(1).standard_normal((2, 6))
R = np.corrcoef((X + np.random.default_rng(2).standard_normal((200, 6))).T)


def test_em_converges_to_the_solution_of_lbfgs():
    psi = np.full(6, 0.5)
    found = by_em(Root(R), 2, psi, 1e-6, 1e-12, 20_000, Run())
    assert found.outcome.name == "em"
    assert found.outcome.converged
    assert found.outcome.iterations == len(found.outcome.trace)
    assert np.all(np.diff(found.outcome.trace) <= 1e-12)
    other = by_leading_pairs(Root(R), 2, psi, 1e-6, 0.0, 100, Run())
    assert other.outcome.name == "lbfgs"
    assert other.outcome.converged
    np.testing.assert_allclose(found.uniquenesses, other.uniquenesses, atol=1e-4)
    np.testing.assert_allclose(found.loadings, other.loadings, atol=1e-3)


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


@settings(max_examples=12, deadline=None)
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
    A = turned(simple_structure(9, 3, 0.25, seed=3), seed=4)
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
    found = rotate(A, "oblimin", gamma=1.0, max_iter=300)
    np.testing.assert_allclose(found.loadings @ found.phi @ found.loadings.T, A @ A.T, atol=1e-6)


# Maximum likelihood loadings of ten columns (sex, zygosity, education and income of the parents, five school tests),
# unrotated and as psych::fa(rotate = "promax") of R rotates them: the tables in the tests of factor_analyzer.
UNROTATED = [
    [-0.117489, 0.113617, 0.735902], [0.032283, 0.047397, 0.009731], [0.317406, 0.631888, -0.046689],
    [0.417975, 0.745320, -0.045526], [0.345126, 0.460788, -0.001742], [0.747389, -0.124396, 0.256949],
    [0.733143, -0.111046, -0.243845], [0.848066, -0.169817, 0.021810], [0.759849, -0.194736, -0.162447],
    [0.835882, -0.102619, 0.157931],
]  # fmt: skip
BY_PSYCH = [
    [0.009904, 0.003517, 0.755253], [0.005135, 0.055045, 0.009584], [-0.077580, 0.734826, -0.049188],
    [-0.049521, 0.873847, -0.049455], [0.054729, 0.553445, -0.005972], [0.812622, -0.021570, 0.240639],
    [0.669301, 0.053908, -0.269779], [0.871999, -0.020268, -0.002485], [0.760551, -0.039901, -0.188378],
    [0.856583, 0.031043, 0.137470],
]  # fmt: skip


def test_promax_with_a_normalized_target_is_that_of_psych():
    found = rotate(UNROTATED, "promax", kaiser="target")
    np.testing.assert_allclose(found.loadings, BY_PSYCH, atol=2e-4)  # R ends its varimax early
    L = found.loadings
    np.testing.assert_allclose(L @ found.phi @ L.T, np.asarray(UNROTATED) @ np.transpose(UNROTATED), atol=1e-10)
    assert np.abs(rotate(UNROTATED, "promax", kaiser=True).loadings - BY_PSYCH).max() > 0.01

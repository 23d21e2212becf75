"""Correlations of the columns, of rows or of a given covariance, their adequacy, and the factor model."""

import numpy as np
import pytest
import scipy.stats

from lowland.errors import DataError, ParameterError
from lowland.math.factors import correlations as module
from lowland.math.factors.adequacy import (
    concerns,
    fit_test,
    goodness_of_fit,
    kmo,
    sphericity,
    too_many_factors,
)
from lowland.math.factors.correlations import (
    Correlations,
    checked_covariance,
    checked_noise,
    looks_like_covariance,
    low_root,
    moments_of_covariance,
)
from lowland.math.factors.maximum_likelihood import factor_loadings
from lowland.math.factors.model import NO_NOISE, FactorModel, FitFactors, in_units
from lowland.math.factors.rotations import unrotated
from lowland.math.spectra.component_rules import Kaiser, ParallelAnalysis
from lowland.math.statistics.moments import Moments
from lowland.run.run import Run

rng = np.random.default_rng(0)
X = rng.standard_normal((50, 4)) @ rng.standard_normal((4, 4)) + 3


def test_constant_columns_are_left_out():
    found = Correlations.of(Moments.of(np.column_stack([X[:, :2], np.ones(50), X[:, 2:]])))
    assert found.varying.tolist() == [True, True, False, True, True]
    np.testing.assert_allclose(found.R, np.corrcoef(X.T), atol=1e-12)
    np.testing.assert_allclose(found.variances[found.varying], X.var(axis=0))
    np.testing.assert_allclose(found.inverse, np.linalg.inv(np.corrcoef(X.T)))
    assert found.log_det == pytest.approx(np.linalg.slogdet(np.corrcoef(X.T))[1])


def test_collinear_columns_are_named():
    found = Correlations.of(Moments.of(np.column_stack([X, X[:, 0] - X[:, 1]])))
    assert found.collinear().tolist() == [0, 1, 4]
    assert found.inverse is None
    assert found.log_det == -np.inf
    assert Correlations.of(Moments.of(X)).collinear().size == 0


def test_a_root_of_low_rank():
    Z = rng.standard_normal((3, 8))
    Z /= np.sqrt(np.sum(Z**2, axis=0))
    root = low_root(Z.T @ Z, 3)
    assert root.shape == (3, 8)
    np.testing.assert_allclose(root.T @ root, Z.T @ Z, atol=1e-10)
    assert low_root(np.eye(8), 3) is None


def test_correlations_of_wide_tables_are_stored_as_a_root(monkeypatch):
    wide = rng.standard_normal((6, 20))
    whole = Correlations.of(Moments.of(wide))
    assert whole.root.Z is None
    monkeypatch.setattr(module, "MANY", 10)
    few = Correlations.of(Moments.of(wide))
    assert few.root.Z.shape == (5, 20)
    np.testing.assert_allclose(few.spectrum.values, whole.spectrum.values, atol=1e-10)


S = np.array([[4.0, 1.0], [1.0, 9.0]])


def test_moments_reproduce_the_given_covariance():
    moments = moments_of_covariance(S, 50, None, None)
    np.testing.assert_allclose(moments.scatter / moments.n, S)
    assert (moments.n, moments.rows) == (50, 50)
    np.testing.assert_array_equal(moments.mean, 0)
    with pytest.raises(ParameterError, match="at least 2 rows"):
        moments_of_covariance(S, 1, None, None)
    with pytest.raises(DataError, match="mean contains NaN"):
        moments_of_covariance(S, 50, np.array([np.nan, 0]), None)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (np.ones((2, 3)), "must be square"),
        (np.array([[1.0, 0.5], [0.4, 1.0]]), "not symmetric: .*'a' with 'b' is 0.5"),
        (np.diag([1.0, 0.0]), "'b' is constant: the variance is not positive"),
        (np.array([[1.0, 2.0], [2.0, 1.0]]), "not positive semidefinite"),
        (np.ones((2, 2)), "perfectly collinear"),
    ],
)
def test_invalid_covariances_are_refused(wrong, words):
    with pytest.raises(DataError, match=words):
        checked_covariance(wrong, ["a", "b"])


def of(R, n=100):
    return Correlations(np.array(R), np.ones(len(R)), n)


def test_rules_receive_the_eigenvalues():
    found = of([[1.0, 0.8, 0.0], [0.8, 1.0, 0.0], [0.0, 0.0, 1.0]])
    np.testing.assert_allclose(found.spectrum.values, [1.8, 1.0, 0.2], atol=1e-12)
    for rule in (Kaiser(), ParallelAnalysis(20)):
        assert found.decide(rule, Run()).n_components == 1


def test_covariances_and_initial_noise_variances_are_recognized():
    assert looks_like_covariance(np.cov(X.T))
    for wrong in (np.ones((2, 3)), np.array([[1.0, 3.0], [3.0, 1.0]]), X[:4]):
        assert not looks_like_covariance(wrong)
    np.testing.assert_array_equal(checked_noise([1, 2], 2), [1.0, 2.0])
    for wrong in ([1.0], [1.0, -1.0], [1.0, np.nan]):
        with pytest.raises(DataError, match="initial noise variances"):
            checked_noise(wrong, 2)


def test_adequacy_by_hand():
    R = [[1.0, 0.6], [0.6, 1.0]]
    assert kmo(of(R)).overall == pytest.approx(0.5)  # the partial correlation is the correlation
    three = np.array([[1.0, 0.7, 0.5], [0.7, 1.0, 0.4], [0.5, 0.4, 1.0]])
    P, off = np.linalg.inv(three), ~np.eye(3, dtype=bool)
    partial = -P / np.sqrt(np.outer(np.diagonal(P), np.diagonal(P)))
    squares, left = np.sum(three[off] ** 2), np.sum(partial[off] ** 2)
    assert kmo(of(three)).overall == pytest.approx(squares / (squares + left))
    test = sphericity(of(R))
    assert test.statistic == pytest.approx(-(100 - 1 - 9 / 6) * np.log(1 - 0.36))
    assert test.dof == 1
    assert sphericity(of(np.eye(4))).p_value == 1.0
    assert kmo(of(np.ones((3, 3)))) is None
    assert sphericity(of(np.ones((3, 3)))) is None


def test_an_exact_model_passes_the_test_of_fit_and_bic_counts_its_parameters():
    loadings = np.array([0.9, 0.8, 0.7, 0.6])
    R = np.outer(loadings, loadings) + np.diag(1 - loadings**2)
    found = factor_loadings(R, 1)
    test = fit_test(of(R), found.deviance, 1)
    assert test.dof == 2
    assert test.statistic == pytest.approx(0, abs=1e-6)
    assert test.p_value == pytest.approx(1, abs=1e-6)
    good = goodness_of_fit(of(R), found, 1)
    assert good.dof == 2
    parameters = 4 + 4 + 4  # means, uniquenesses, loadings
    normal = -100 / 2 * (4 * np.log(2 * np.pi) + np.linalg.slogdet(R)[1] + 4)
    assert good.loglike[-1] == pytest.approx(normal)
    assert good.aic == pytest.approx(2 * parameters - 2 * normal)
    assert good.bic == pytest.approx(np.log(100) * parameters - 2 * normal)
    assert len(good.start_loglike) == 1


def test_problems_of_a_model_are_reported():
    assert too_many_factors(4, 1) is None
    assert "Choose at most 1." in too_many_factors(4, 2)
    assert "at least 3 columns" in too_many_factors(2, 1)
    clean = of(np.eye(5) * 0.7 + 0.3)
    assert concerns(clean, 1, (), 1e-15, None) == []
    constant = Correlations(clean.R, np.array([1.0, 1, 1, 0, 1, 1]), 100)
    (only,) = concerns(constant, 1, (), 1e-15, np.array(list("abcdef")))
    assert only.startswith("Column 'd' is constant")
    assert "Heywood case" in concerns(clean, 1, (2,), 1e-15, None)[0]
    same = of([[1.0, 1.0, 0.2], [1.0, 1.0, 0.2], [0.2, 0.2, 1.0]])
    assert "Columns 0, 1 are perfectly collinear" in concerns(same, 1, (), 1e-15, None)[0]


W, psi = np.array([[0.9, 0.0], [0.8, 0.2], [0.1, 0.7], [0.0, 0.6]]), np.array([0.2, 0.3, 0.4, 0.5])
phi = np.array([[1.0, 0.3], [0.3, 1.0]])
model = FactorModel(W, psi, phi)


def test_one_factor_of_two_columns_by_hand():
    small = FactorModel(np.array([[0.8], [0.6]]), np.array([0.36, 0.64]), np.eye(1))
    np.testing.assert_allclose(small.covariance, [[1.0, 0.48], [0.48, 1.0]])
    np.testing.assert_allclose(small.communalities, [0.64, 0.36])
    weights = np.array([0.8 / 0.36, 0.6 / 0.64])
    information = weights @ [0.8, 0.6]
    np.testing.assert_allclose(small.score_weights("bartlett"), [weights / information])
    np.testing.assert_allclose(small.score_weights("regression"), [weights / (1 + information)])


def test_the_inverse_and_the_regression_scores():
    np.testing.assert_allclose(model.precision, np.linalg.inv(model.covariance))
    np.testing.assert_allclose(model.score_weights("regression"), phi @ W.T @ np.linalg.inv(model.covariance))
    np.testing.assert_allclose(model.score_weights("bartlett") @ W, np.eye(2), atol=1e-12)  # unbiased


def test_log_density_is_that_of_the_normal():
    X, mean = np.random.default_rng(0).standard_normal((5, 4)), np.arange(4.0)
    expected = scipy.stats.multivariate_normal(mean, model.covariance).logpdf(X)
    np.testing.assert_allclose(model.log_density(mean)(X)[:, 0], expected)


def test_units_and_constant_columns():
    variances = np.array([4.0, 0.0, 9.0])
    rotation = unrotated(np.array([[0.8], [0.6]]))
    standard, own = in_units(rotation, np.array([0.36, 0.64]), variances, 2)
    np.testing.assert_allclose(standard.W, [[0.8, 0], [0, 0], [0.6, 0]])
    np.testing.assert_allclose(own.W, [[1.6, 0], [0, 0], [1.8, 0]])
    np.testing.assert_allclose(own.psi, [4 * 0.36, NO_NOISE, 9 * 0.64])
    assert np.diagonal(own.covariance)[[0, 2]] == pytest.approx([4, 9])


def test_the_m_step_recovers_an_exact_model():
    rng = np.random.default_rng(0)
    W, psi = rng.standard_normal((6, 1)) * np.array([[1.0], [10], [1], [1], [1], [0.1]]), rng.uniform(0.5, 1, 6)
    S = W @ W.T + np.diag(psi)
    fit = FitFactors(1, 1e-6, 1000, Run())
    moments = Moments(1000.0, 1000, np.zeros(6), S * 1000, 1e-30)
    for _ in range(2):  # the second fit starts from the first
        model = fit(moments)
        np.testing.assert_allclose((np.eye(6) + model.L @ model.L.T) * np.outer(model.unit, model.unit), S, atol=1e-5)


def test_rounding_error_is_no_asymmetry_also_beside_zeros():
    S = np.diag([1.0, 2.0, 3.0])
    S[0, 1], S[1, 0] = 0.5, 0.5 + 1e-16
    S[0, 2] = 1e-17  # its transpose is 0
    np.testing.assert_allclose(checked_covariance(S, None), checked_covariance(S, None).T)

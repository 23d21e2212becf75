"""The factor model, also of rows with missing values."""

import numpy as np
import pytest
import scipy.stats

from lowland.math.factors.model import NO_NOISE, FactorModel, FitFactors, in_units
from lowland.math.factors.rotations import unrotated
from lowland.math.statistics.moments import Moments
from lowland.run.local import LocalRun

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
    fit = FitFactors(1, 1e-6, 1000, LocalRun())
    moments = Moments(1000.0, 1000, np.zeros(6), S * 1000, 1e-30)
    for _ in range(2):  # the second fit starts from the first
        model = fit(moments)
        np.testing.assert_allclose((np.eye(6) + model.L @ model.L.T) * np.outer(model.unit, model.unit), S, atol=1e-5)

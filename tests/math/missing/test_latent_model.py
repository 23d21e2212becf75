"""Conditional means, covariances and likelihoods of incomplete rows agree with those of the normal distribution."""

import numpy as np
import pytest

from lowland.math.missing.latent_model import ImputeRows, LatentModel


def by_definition(X, S, mean):
    """Regression of the missing values on the observed ones, row by row."""
    n, d = X.shape
    filled, extra, likelihoods = X.copy(), np.zeros((n, d, d)), np.zeros(n)
    for i in range(n):
        o, m = ~np.isnan(X[i]), np.isnan(X[i])
        B = S[np.ix_(m, o)] @ np.linalg.inv(S[np.ix_(o, o)])
        e = X[i, o] - mean[o]
        filled[i, m] = mean[m] + B @ e
        extra[i][np.ix_(m, m)] = S[np.ix_(m, m)] - B @ S[np.ix_(o, m)]
        inside = np.linalg.slogdet(2 * np.pi * S[np.ix_(o, o)])[1] + e @ np.linalg.solve(S[np.ix_(o, o)], e)
        likelihoods[i] = -inside / 2
    return filled, extra, likelihoods


@pytest.mark.parametrize(
    ("d", "k", "fraction"), [(7, 2, 0.3), (7, 6, 0.3), (7, 0, 0.3), (12, 1, 0.7), (5, 5, 0.5), (30, 2, 0.2)]
)
def test_every_route_agrees_with_the_definition(d, k, fraction):
    rng = np.random.default_rng(d * k)
    L, unit, mean = rng.standard_normal((d, k)), rng.uniform(0.5, 2, d), rng.standard_normal(d)
    X = rng.standard_normal((120, d)) * 3
    X[rng.random(X.shape) < fraction] = np.nan
    X[60:] = np.where(np.isnan(X[:60]), np.nan, X[60:])  # patterns that occur twice, far apart
    X[3] = np.nan
    weights = rng.uniform(0.5, 2, len(X))
    model = LatentModel(mean, unit, L)
    found = model.completed(X, weights)
    filled, extra, likelihoods = by_definition(X, (np.eye(d) + L @ L.T) * np.outer(unit, unit), mean)
    np.testing.assert_allclose(found.C * unit + mean, filled, atol=1e-10)
    np.testing.assert_allclose(found.extra * np.outer(unit, unit), np.einsum("n,nij->ij", weights, extra), atol=1e-9)
    np.testing.assert_allclose(model.log_likelihoods(found), likelihoods, atol=1e-9)
    np.testing.assert_allclose(ImputeRows(model)(X), filled, atol=1e-10)


def test_more_patterns_than_lanes_and_a_pattern_of_many_rows():
    d, k, rng = 12, 4, np.random.default_rng(1)
    X = rng.standard_normal((400, d))
    for row in X[:300]:  # some 200 patterns of three missing values, most of them once
        row[rng.choice(d, 3, replace=False)] = np.nan
    X[300:, [2, 5, 7]] = np.nan
    X = X[rng.permutation(len(X))]
    weights = rng.uniform(0.5, 2, len(X))
    model = LatentModel(np.zeros(d), np.ones(d), rng.standard_normal((d, k)))
    found = model.completed(X, weights)
    filled, extra, likelihoods = by_definition(X, np.eye(d) + model.L @ model.L.T, model.mean)
    np.testing.assert_allclose(found.C, filled, atol=1e-10)
    np.testing.assert_allclose(found.extra, np.einsum("n,nij->ij", weights, extra), atol=1e-9)
    np.testing.assert_allclose(model.log_likelihoods(found), likelihoods, atol=1e-9)


def test_observed_values_stay_as_they_are():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((50, 4)).astype(np.float32)
    X[rng.random(X.shape) < 0.3] = np.nan
    filled = ImputeRows(LatentModel(np.zeros(4), np.ones(4), rng.standard_normal((4, 1))))(X)
    assert filled.dtype == np.float32
    assert np.array_equal(filled[~np.isnan(X)], X[~np.isnan(X)])
    assert np.isfinite(filled).all()

"""The latent Gaussian model of rows with missing values, and its maximum likelihood."""

import numpy as np
import pytest

from lowland.data.open import open_rows
from lowland.math.spectra.probabilistic_axes import FitComponents, independent_columns
from lowland.math.statistics import latent_gaussian
from lowland.math.statistics.available_cases import AvailableColumns
from lowland.math.statistics.latent_gaussian import ExpectRows, ImputeRows, LatentModel, expectation_maximization
from lowland.run.run import Run


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
    ("d", "k", "fraction"), [(7, 2, 0.3), (7, 0, 0.3), (12, 1, 0.7), (5, 5, 0.5), (30, 2, 0.2), (12, 4, None)]
)
def test_every_route_agrees_with_the_definition(d, k, fraction):
    rng = np.random.default_rng(d * k)
    L, unit, mean = rng.standard_normal((d, k)), rng.uniform(0.5, 2, d), rng.standard_normal(d)
    if fraction is None:  # more patterns than lanes, most of them once, and a pattern of many rows
        X = rng.standard_normal((400, d))
        X[np.arange(300)[:, None], rng.permuted(np.tile(np.arange(d), (300, 1)), axis=1)[:, :3]] = np.nan
        X[300:, [2, 5, 7]] = np.nan
        X = X[rng.permutation(len(X))]
    else:
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


def test_observed_values_stay_as_they_are():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((50, 4)).astype(np.float32)
    X[rng.random(X.shape) < 0.3] = np.nan
    filled = ImputeRows(LatentModel(np.zeros(4), np.ones(4), rng.standard_normal((4, 1))))(X)
    assert filled.dtype == np.float32
    assert np.array_equal(filled[~np.isnan(X)], X[~np.isnan(X)])
    assert np.isfinite(filled).all()


def table(n=600, d=8, k=2, fraction=0.3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, k)) @ rng.standard_normal((k, d)) * 2 + rng.standard_normal((n, d)) + 10
    X[rng.random(X.shape) < fraction] = np.nan
    return X


def fit(X, k, tol=1e-10):
    rows, run = open_rows(X), Run()
    start = independent_columns(AvailableColumns.of(X))
    return expectation_maximization(rows, run, start, FitComponents(k, np.ones(X.shape[1]), run), tol=tol)


def test_the_likelihood_increases_to_a_stationary_point():
    X = table()
    found = fit(X, 2)
    trace = np.array(found.outcome.trace)
    assert (np.diff(trace) > -1e-7 * abs(trace[-1])).all()
    assert found.outcome.converged
    model, rng = found.model, np.random.default_rng(1)
    for _ in range(10):  # no model nearby is more likely
        mean, L = (part + 1e-2 * rng.standard_normal(part.shape) for part in (model.mean, model.L))
        other = LatentModel(mean, model.unit * 1.003, L)
        assert other.log_likelihoods(other.completed(X)).sum() < found.log_likelihood


def test_blocks_of_rows_add_up_to_the_whole(monkeypatch):
    X = table()
    model = fit(X, 2, tol=1e-3).model
    weights = np.random.default_rng(2).integers(0, 3, len(X)).astype(float)
    whole = ExpectRows(model)(X, weights)
    monkeypatch.setattr(latent_gaussian, "_CACHED", 0)
    monkeypatch.setattr(latent_gaussian, "_BLOCK_ROWS", 70)
    parts = ExpectRows(model)(X, weights)
    assert (parts.n, parts.rows) == (whole.n, whole.rows)
    assert parts.log_likelihood == pytest.approx(whole.log_likelihood)
    np.testing.assert_allclose(parts.sums, whole.sums, atol=1e-9)
    np.testing.assert_allclose(parts.products, whole.products, atol=1e-8)


def test_extrapolation_saves_passes_and_changes_nothing(monkeypatch):
    X = table(fraction=0.6)
    fast = fit(X, 2, tol=1e-8)
    monkeypatch.setattr(latent_gaussian, "_extrapolated", lambda *moments: None)
    plain = fit(X, 2, tol=1e-8)
    assert fast.outcome.iterations < 0.7 * plain.outcome.iterations
    assert fast.log_likelihood == pytest.approx(plain.log_likelihood, abs=1e-4)

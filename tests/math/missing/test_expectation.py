"""Expectation-maximization: the likelihood increases, to its maximum, and extrapolation only saves passes."""

import numpy as np
import pytest

from lowland.data.open import open_rows
from lowland.math.missing import expectation
from lowland.math.missing.components import FitComponents, independent_columns, saturated_fit
from lowland.math.missing.expectation import ExpectRows, expectation_maximization
from lowland.math.statistics.available import AvailableColumns
from lowland.run.local import LocalRun


def table(n=600, d=8, k=2, fraction=0.3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, k)) @ rng.standard_normal((k, d)) * 2 + rng.standard_normal((n, d)) + 10
    X[rng.random(X.shape) < fraction] = np.nan
    return X


def fit(X, k, tol=1e-10):
    rows, run = open_rows(X), LocalRun()
    start = independent_columns(AvailableColumns.of(X))
    return expectation_maximization(rows, run, start, FitComponents(k, np.ones(X.shape[1]), run), tol=tol)


def test_the_likelihood_increases_to_a_stationary_point():
    X = table()
    found = fit(X, 2)
    trace = np.array(found.outcome.trace)
    assert (np.diff(trace) > -1e-7 * abs(trace[-1])).all()
    assert found.outcome.converged
    L, unit = found.model.L, found.model.unit
    rng = np.random.default_rng(1)
    best = found.log_likelihood
    for _ in range(10):  # no model nearby is more likely
        other = type(found.model)(
            found.model.mean + 1e-2 * rng.standard_normal(8), unit * 1.003, L + 1e-2 * rng.standard_normal(L.shape)
        )
        assert other.log_likelihoods(other.completed(X)).sum() < best


def test_the_unrestricted_fit_solves_the_likelihood_equations():
    X = table(n=400, d=5)
    found = saturated_fit(open_rows(X), LocalRun(), AvailableColumns.of(X), tol=1e-11)
    S, mean = found.moments.scatter / found.moments.n, found.moments.mean
    score, slope = np.zeros(5), np.zeros((5, 5))
    for x in X[~np.isnan(X).all(axis=1)]:
        o = ~np.isnan(x)
        P = np.zeros((5, 5))
        P[np.ix_(o, o)] = np.linalg.inv(S[np.ix_(o, o)])
        e = np.where(o, x - mean, 0.0)
        score += P @ e
        slope += np.outer(P @ e, P @ e) - P
    assert np.abs(score).max() < 1e-5
    assert np.abs(slope).max() < 1e-5


def test_blocks_of_rows_add_up_to_the_whole(monkeypatch):
    X = table()
    model = fit(X, 2, tol=1e-3).model
    weights = np.random.default_rng(2).integers(0, 3, len(X)).astype(float)
    whole = ExpectRows(model)(X, weights)
    monkeypatch.setattr(expectation, "_CACHED", 0)
    monkeypatch.setattr(expectation, "_BLOCK_ROWS", 70)
    parts = ExpectRows(model)(X, weights)
    assert (parts.n, parts.rows) == (whole.n, whole.rows)
    assert parts.log_likelihood == pytest.approx(whole.log_likelihood)
    np.testing.assert_allclose(parts.sums, whole.sums, atol=1e-9)
    np.testing.assert_allclose(parts.products, whole.products, atol=1e-8)


def test_extrapolation_saves_passes_and_changes_nothing(monkeypatch):
    X = table(fraction=0.6, n=1500)
    fast = fit(X, 2, tol=1e-8)
    monkeypatch.setattr(expectation, "_extrapolated", lambda *moments: None)
    plain = fit(X, 2, tol=1e-8)
    assert fast.outcome.iterations < 0.7 * plain.outcome.iterations
    assert fast.log_likelihood == pytest.approx(plain.log_likelihood, abs=1e-4)

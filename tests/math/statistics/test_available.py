"""Statistics of observed values are numpy's, and chunks merge."""

import numpy as np
import pytest

from lowland.math.statistics.available import AvailableColumns


def table(n=101, d=6):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d)) + 1e5
    X[rng.random(X.shape) < 0.3] = np.nan
    X[:40, 3] = np.nan
    X[7] = np.nan
    return X


def test_chunks_merge_as_one():
    X = table()
    whole, parts = AvailableColumns.of(X), AvailableColumns.of(X[:40]) + AvailableColumns.of(X[40:])
    for found in (whole, parts):
        np.testing.assert_allclose(found.mean, np.nanmean(X, axis=0), rtol=1e-12)
        np.testing.assert_allclose(found.variances, np.nanvar(X, axis=0, ddof=1), rtol=1e-8)
        assert found.missing_fraction == pytest.approx(np.isnan(X).mean())
        assert (found.rows, found.empty_rows) == (101, np.isnan(X).all(axis=1).sum())
        assert not found.complete
    assert AvailableColumns.of(X[:40]).cells[3] == 0


def test_weights_count_repetitions():
    X, w = table(), np.random.default_rng(1).integers(0, 4, 101)
    weighted, repeated = AvailableColumns.of(X, w.astype(float)), AvailableColumns.of(np.repeat(X, w, axis=0))
    np.testing.assert_allclose(weighted.mean, repeated.mean, rtol=1e-12)
    np.testing.assert_allclose(weighted.variances, repeated.variances, rtol=1e-8)


def test_infinity_is_not_a_missing_value():
    X = table()
    X[0, 0] = np.inf
    with np.errstate(invalid="ignore"):
        assert not AvailableColumns.of(X).is_finite()

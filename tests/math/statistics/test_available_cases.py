"""Statistics of the observed values, of columns and of classes."""

import numpy as np
import pytest

from lowland.data.open import open_rows
from lowland.errors import DataError
from lowland.math.statistics.available_cases import AvailableColumns, available_class_moments
from lowland.math.statistics.class_moments import MomentsByClass
from lowland.run.run import Run


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


LABELS = np.array(["a", "b", "c"])


def labeled_table():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 200)
    return rng.standard_normal((200, 4)) + y[:, None], y


def test_complete_rows_have_the_usual_moments():
    X, y = labeled_table()
    found, _ = available_class_moments(open_rows(X), Run(), y, LABELS, X.mean(axis=0))
    usual = MomentsByClass(3)(X, y)
    np.testing.assert_allclose(found.mean, usual.mean, atol=1e-12)
    np.testing.assert_allclose(found.scatter, usual.scatter, atol=1e-9)


def test_negative_eigenvalues_are_removed():
    """Three columns of which each pair is observed together only where it is collinear, with contradicting signs."""
    rng = np.random.default_rng(0)
    t, gap = rng.standard_normal((3, 60)), np.full(60, np.nan)
    X = np.concatenate([np.c_[t[0], t[0], gap], np.c_[gap, t[1], t[1]], np.c_[t[2], gap, -t[2]]])
    y = np.tile([0, 1, 2], 60)
    found, least = available_class_moments(open_rows(X), Run(), y, LABELS, np.zeros(3))
    assert least < -0.5
    assert np.linalg.eigvalsh(found.scatter)[0] > -1e-8


def test_a_class_without_values_in_a_column_is_named():
    X, y = labeled_table()
    X[y == 1, 2] = np.nan
    with pytest.raises(DataError, match=r"'b'.*column 2"):
        available_class_moments(open_rows(X), Run(), y, LABELS, np.zeros(4))

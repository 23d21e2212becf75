"""Whitened rows: identity covariance, whether they are stored or whitened in every pass."""

import numpy as np
import pytest

import lowland
from lowland.data.open import open_rows
from lowland.data.rows import ArrayRows
from lowland.errors import DataError
from lowland.math.ica.contrasts import Custom, LogCosh
from lowland.math.ica.whitened_rows import WhiteRows, already_white, whitened
from lowland.run.local import LocalRun

rng = np.random.default_rng(0)
X = rng.uniform(-1, 1, (200, 4)) @ rng.standard_normal((4, 4)) + 7


def test_rows_are_whitened_and_reconstructed():
    found = whitened(open_rows(X), LocalRun(), None, exact=True)
    Z = found.white.rows.to_array()
    np.testing.assert_allclose(np.cov(Z.T, bias=True), np.eye(4), atol=1e-10)
    np.testing.assert_allclose(Z @ found.inverse.T + found.mean, X)
    np.testing.assert_allclose((X - found.mean) @ found.K.T, Z, atol=1e-10)
    assert (found.k, found.n) == (4, 200)


def test_stored_and_recomputed_white_rows_agree():
    W = np.linalg.qr(rng.standard_normal((4, 4)))[0]
    held = whitened(open_rows(X), LocalRun(), None, exact=True).white
    with lowland.config(memory="15kB"):
        passing = whitened(open_rows([X[:90], X[90:]]), LocalRun(), None, exact=True).white
    assert held.whiten is None
    assert passing.whiten is not None
    Z = held.rows.to_array()
    g = np.tanh(Z @ W.T)
    for white in (held, passing):
        cross, slopes = white.expect(LogCosh(), W)
        np.testing.assert_allclose(cross, g.T @ Z / 200, atol=1e-10)
        np.testing.assert_allclose(slopes, np.mean(1 - g**2, axis=0))


def test_columns_in_very_different_units_keep_their_digits():
    units = X * [1.0, 1e-9, 1.0, 1e9]
    found = whitened(open_rows(units), LocalRun(), None, exact=True)
    assert found.k == 4
    np.testing.assert_allclose(np.cov(found.white.rows.to_array().T, bias=True), np.eye(4), atol=1e-6)


def test_the_number_of_directions_with_variance():
    flat = np.column_stack([X, X[:, 0] + X[:, 1]])
    found = whitened(open_rows(flat), LocalRun(), None, exact=True)
    assert found.k == 4
    assert "the 5 columns have rank 4" in found.choice.reason
    found = whitened(open_rows(flat), LocalRun(), 5, exact=True)
    assert found.k == 4
    assert "rank 4" in found.choice.reason
    with pytest.raises(DataError, match="constant"):
        whitened(open_rows(np.ones((5, 2))), LocalRun(), None, exact=True)


def test_rows_taken_as_white_can_be_standardized():
    found = already_white(open_rows(X), LocalRun())
    B, shift = found.standardized(np.eye(4))
    Y = X @ B.T + shift
    np.testing.assert_allclose(Y.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(Y.std(axis=0), 1)
    white = whitened(open_rows(X), LocalRun(), None, exact=True)
    assert white.standardized(np.eye(4))[1] is None


def test_a_contrast_that_is_not_finite():
    white = WhiteRows(ArrayRows(X), LocalRun())
    with pytest.raises(DataError, match="not finite"):
        white.expect(Custom(lambda y: (y * np.inf, y)), np.eye(4))

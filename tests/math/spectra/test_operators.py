"""Operators: their products equal those of the matrix they represent, which is never formed."""

import numpy as np
import pytest
import scipy.sparse

from lowland.data.open import open_rows
from lowland.math.spectra.operators import (
    Divided,
    DoubleCentered,
    RowsGram,
    centered_gram_of_rows,
    centered_product,
    centered_transposed_by_columns,
    centered_transposed_product,
    divided_columns,
    times_rows,
)
from lowland.run.local import LocalRun

rng = np.random.default_rng(0)
X, V = rng.standard_normal((30, 5)) + 10, rng.standard_normal((5, 2))
mean, scale, run = X.mean(axis=0), X.std(axis=0), LocalRun()
C = (X - mean) / scale


@pytest.mark.parametrize("given", [X, [X[:7], X[7:]], scipy.sparse.csr_matrix(X)])
def test_the_gram_matrix_of_centered_and_scaled_rows(given):
    operator = RowsGram(open_rows(given), run, mean, scale, None)
    assert operator.shape == (5, 5)
    np.testing.assert_allclose(operator @ V, C.T @ C @ V, rtol=1e-9)
    np.testing.assert_allclose(Divided(operator, 29.0) @ V, C.T @ C @ V / 29, rtol=1e-9)


def test_weights_count_repetitions():
    w = np.arange(30) % 3.0
    found = RowsGram(open_rows(X), run, mean, None, w) @ V
    np.testing.assert_allclose(found, (X - mean).T * w @ (X - mean) @ V)


@pytest.mark.parametrize("constant", [0.0, 1.5])
def test_distances_centered_without_being_formed(constant):
    D = np.abs(np.subtract.outer(X[:, 0], X[:, 0]))
    J, W = np.eye(30) - 1 / 30, rng.standard_normal((30, 2))
    longer = D + constant * (1 - np.eye(30))
    operator = DoubleCentered(open_rows(D), run, distances=True, constant=constant)
    np.testing.assert_allclose(operator @ W, -J @ longer**2 @ J @ W / 2, atol=1e-10)
    np.testing.assert_allclose(operator.row_means(D), (longer**2).mean(axis=1))
    plain = DoubleCentered(open_rows(D), run)
    np.testing.assert_allclose(plain @ W, J @ D @ J @ W, atol=1e-10)
    np.testing.assert_allclose(times_rows(open_rows(D), W, run), D @ W)


def test_centered_products_dense_sparse_and_in_float32():
    Y = rng.standard_normal((30, 2))
    for rows in (X, scipy.sparse.csr_matrix(X)):
        np.testing.assert_allclose(centered_product(rows, mean, V), (X - mean) @ V, atol=1e-12)
        np.testing.assert_allclose(centered_transposed_product(rows, mean, Y), (X - mean).T @ Y, atol=1e-12)
    far = (X + 1e5).astype(np.float32)
    exact = (far.astype(np.float64) - far.mean(axis=0, dtype=np.float64)) @ V
    found = centered_product(far, far.mean(axis=0, dtype=np.float64), V.astype(np.float32))
    np.testing.assert_allclose(found, exact, atol=1e-5)  # the rounding error of the mean is corrected
    np.testing.assert_array_equal(centered_product(X, None, V), X @ V)


def test_products_of_rows_with_each_other():
    w = 1.0 + np.arange(30) % 2
    mu = w @ X / w.sum()
    B = np.sqrt(w)[:, None] * (X - mu)
    for rows in (X, scipy.sparse.csr_matrix(X)):
        np.testing.assert_allclose(centered_gram_of_rows(rows, mu, w, run), B @ B.T, atol=1e-9)
        U = rng.standard_normal((30, 2))
        np.testing.assert_allclose(centered_transposed_by_columns(rows, mu, w, U, double=True), B.T @ U, atol=1e-10)
        divided = divided_columns(rows, scale)
        np.testing.assert_allclose(divided.toarray() if scipy.sparse.issparse(divided) else divided, X / scale)

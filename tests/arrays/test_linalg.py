"""Linear algebra for any array library."""

import numpy as np
import pytest

from lowland.arrays.linalg import (
    _gram_by_stripes,
    add_outer,
    column_squares,
    column_sums,
    eigh,
    gram,
    orthonormal,
    over_root,
    plus_square,
    product_into,
    segment_sums,
    svd,
    triangle,
)

X = np.random.default_rng(0).standard_normal((300, 7))


def libraries():
    yield np.asarray
    torch = pytest.importorskip("torch")
    yield torch.asarray


def test_gram_matrix_computed_whole_and_in_stripes():
    Y = np.random.default_rng(0).standard_normal((5, 600))  # three stripes, the last one short
    np.testing.assert_allclose(gram(Y), Y.T @ Y)
    np.testing.assert_allclose(_gram_by_stripes(Y), Y.T @ Y, atol=1e-12)


def test_outer_products_and_squares_in_place():
    for array in libraries():
        A, x, y = array(np.ones((200, 3))), array(np.arange(200.0)), array(np.arange(3.0))
        added = add_outer(A, x, y)
        assert added is A
        np.testing.assert_array_equal(np.asarray(A), 1 + np.outer(np.arange(200), np.arange(3)))
        S, e = array(np.full((2, 2), 1.0)), array(np.full((2, 2), 3.0))
        np.testing.assert_array_equal(np.asarray(plus_square(S, e)), np.full((2, 2), 10.0))
        out = array(np.empty((2, 2)))
        product_into(array(np.eye(2)), array(np.arange(4.0).reshape(2, 2)), out)
        np.testing.assert_array_equal(np.asarray(out), np.arange(4.0).reshape(2, 2))
        np.testing.assert_allclose(np.asarray(over_root(array([6.0]), array([4.0]))), [3.0])


def test_long_columns_of_float32_keep_their_digits():
    long = np.full((2**20, 2), 0.1, dtype=np.float32)
    assert column_sums(long)[0] == pytest.approx(2**20 * float(np.float32(0.1)), rel=1e-5)
    assert long.sum(axis=0)[0] != pytest.approx(2**20 * float(np.float32(0.1)), rel=1e-5)  # numpy's own sum does not
    assert column_squares(long)[0] == pytest.approx(2**20 * float(np.float32(0.1)) ** 2, rel=1e-5)
    np.testing.assert_allclose(column_sums(np.asfortranarray(X)), X.sum(axis=0))
    np.testing.assert_allclose(column_squares(np.asfortranarray(X)), (X**2).sum(axis=0))


def test_factors_multiply_to_the_original_matrix():
    for array in libraries():
        A = array(X)
        R, Q = np.asarray(triangle(A)), np.asarray(orthonormal(A))
        np.testing.assert_allclose(R.T @ R, X.T @ X, atol=1e-10)
        np.testing.assert_allclose(Q.T @ Q, np.eye(7), atol=1e-12)
        U, s, Vt = map(np.asarray, svd(A))
        np.testing.assert_allclose(U * s @ Vt, X, atol=1e-12)
        values, V = map(np.asarray, eigh(array(X.T @ X)))
        np.testing.assert_allclose(V * values @ V.T, X.T @ X, atol=1e-10)
        assert np.all(np.diff(values) >= 0)


def test_sums_of_consecutive_rows():
    torch = pytest.importorskip("torch")
    values = torch.as_tensor(np.random.default_rng(0).standard_normal((10, 2)))
    found = segment_sums(values, torch.as_tensor([3, 0, 5, 2]))
    expected = torch.stack([values[:3].sum(0), torch.zeros(2), values[3:8].sum(0), values[8:].sum(0)])
    torch.testing.assert_close(found, expected)

"""Updates for one more column, by hand and compared with least squares."""

import numpy as np
import pytest

from lowland.math.selection.column_updates import is_regular, of_order_one, residual_scatter


def test_residuals_after_regression_on_other_columns():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 5))
    S, J = np.array([0, 3]), np.array([1, 4])
    B, own = residual_scatter((X.T @ X)[None], S, J)
    weights, squares, *_ = np.linalg.lstsq(X[:, S], X[:, J])
    np.testing.assert_allclose(B[0], weights, atol=1e-12)
    np.testing.assert_allclose(own[0], squares)


def test_by_hand():
    """x_1 = x_0/2 + u with |u|² = 3/4."""
    B, own = residual_scatter(np.array([[[1.0, 0.5], [0.5, 1.0]]]), np.array([0]), np.array([1]))
    assert B.item() == 0.5
    assert own.item() == 0.75


def test_matrices_of_duplicate_columns_are_singular():
    same, near, apart = (np.array([[1.0, r], [r, 1.0]]) for r in (1.0, 1 - 1e-9, 0.9))
    assert is_regular(np.stack([same, near, apart])[None]).tolist() == [False, False, True]
    assert not is_regular(np.stack([apart[None], same[None]])).any()  # in one of two folds
    assert not is_regular(np.array([[[[0.0]]]])).any()


def test_columns_are_scaled_by_powers_of_two():
    X = np.array([[1e-300, 3.0], [2e-300, -700.0]])
    Z, size = of_order_one(X)
    np.testing.assert_array_equal(Z * size, X)
    assert (np.abs(Z).max(axis=0) <= 2).all()
    assert np.frexp(size)[0].tolist() == pytest.approx([0.5, 0.5])

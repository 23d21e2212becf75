"""Sums over columns against numpy."""

import numpy as np

from lowland.kernels.column_sums import add_by_class, add_products

RNG = np.random.default_rng(0)


def test_sums_squares_and_products_are_added():
    X, shift, z = RNG.standard_normal((20, 3)), RNG.standard_normal(3), RNG.standard_normal(20)
    sums = np.ones((3, 3))
    add_products(X, shift, z, *sums)
    V = X - shift
    np.testing.assert_allclose(sums - 1, [V.sum(axis=0), (V**2).sum(axis=0), z @ V], atol=1e-12)


def test_sums_of_classes_are_added():
    X, shift, y = RNG.standard_normal((20, 3)).astype(np.float32), np.zeros(3), np.arange(20) % 3
    sums, squares = np.zeros((3, 3)), np.zeros(3)
    add_by_class(X, shift, y, sums, squares)
    V = X.astype(np.float64)
    np.testing.assert_allclose(sums, [V[y == c].sum(axis=0) for c in range(3)], atol=1e-12)
    np.testing.assert_allclose(squares, (V**2).sum(axis=0), atol=1e-12)

"""Search by matrix products: uncertain distances are recomputed."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from lowland.math.neighbors.matrix_products import Products
from lowland.math.neighbors.metric_space import MetricSpace
from lowland.math.neighbors.search import nearest_neighbors
from lowland.run.local import LocalRun


def brute(D, k):
    """The k smallest of each row but the diagonal, ties by index: the reference in numpy for all kernels."""
    D = D.copy()
    np.fill_diagonal(D, np.inf)
    order = np.argsort(D, axis=1, kind="stable")[:, :k]
    return order, np.take_along_axis(D, order, axis=1)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_products_are_accurate_far_from_the_origin(rng, dtype):
    X = (1e4 + rng.standard_normal((700, 40))).astype(dtype)
    X[350:] += 1e4  # and no shift helps two distant clusters
    indices, distances = nearest_neighbors(X, 5, LocalRun(), search="products").table()
    order, D = brute(cdist(X.astype(float), X.astype(float)), 5)
    np.testing.assert_array_equal(indices, order)
    np.testing.assert_allclose(distances, D, rtol=1e-6 if dtype == np.float32 else 1e-12)
    assert distances.dtype == dtype


@pytest.mark.parametrize("scale", [1e-150, 1e150])
def test_squares_neither_overflow_nor_underflow(rng, scale):
    X = rng.standard_normal((200, 40))
    one = nearest_neighbors(X, 5, LocalRun(), search="products")
    other = nearest_neighbors(X * scale, 5, LocalRun(), search="products")
    np.testing.assert_array_equal(other.to, one.to)


def test_products_use_float64_where_float32_cannot_decide(rng):
    X = np.vstack([rng.standard_normal((300, 30)) * 1e-4, rng.standard_normal((300, 30)) * 1e-4 + 1])
    indices, _ = Products(X, MetricSpace("euclidean", 2)).nearest(5, LocalRun())
    np.testing.assert_array_equal(indices, brute(cdist(X, X), 5)[0])

"""Axes in feature space: from a kernel matrix, from rows, and by either solver the same."""

import numpy as np
import pytest

from lowland.errors import DataError
from lowland.math.distances.kernel_functions import KernelMatrix, KernelWith
from lowland.math.kernel_pca.feature_space_axes import (
    FeatureCoordinates,
    axes_of_rows,
    check_range,
    exact_axes,
    holds_matrix,
    kernel_axes,
    linear_axes,
    signs_of,
)
from lowland.math.kernel_pca.positive_eigenvalues import FeatureSpaceRequest
from lowland.run.local import LocalRun

X = np.random.default_rng(0).standard_normal((30, 3)) @ np.diag([3.0, 2.0, 1.0]) + 4
rbf, run = KernelWith(X, "rbf", 0.1), LocalRun()


def test_three_points_on_a_line_by_hand():
    """K = xx' of x = (-1, 0, 1): centered already, λ = 2 and u = x/√2."""
    x = np.array([-1.0, 0.0, 1.0])
    found = kernel_axes(np.outer(x, x), 1)
    np.testing.assert_allclose(found.values, [2.0])
    np.testing.assert_allclose(np.abs(found.vectors[:, 0]), np.abs(x) / np.sqrt(2), atol=1e-12)
    np.testing.assert_allclose(found.means, 0, atol=1e-15)
    moved = kernel_axes(np.outer(x + 5, x + 5), 1)  # the mean in feature space does not matter
    np.testing.assert_allclose(moved.values, [2.0])


def test_the_matrix_alone_the_rows_and_numpy_agree():
    K = rbf(X)
    J = np.eye(30) - 1 / 30
    values = np.linalg.eigvalsh(J @ K @ J)[::-1]
    for found in (kernel_axes(K, 4), axes_of_rows(X, rbf, run, FeatureSpaceRequest(4))):
        np.testing.assert_allclose(found.values, values[:4])
        Z = found.vectors * np.sqrt(found.values)
        np.testing.assert_allclose((K - found.means) @ found.coefficients, Z, atol=1e-10)
        assert found.n == 30
        assert found.concerns == ()
    assert len(kernel_axes(K).values) == np.sum(values > 1e-12 * values[0])


def test_a_stored_and_a_recomputed_kernel_matrix_agree():
    wanted = FeatureSpaceRequest(2, "randomized")
    held, made = (exact_axes(KernelMatrix.of(X, rbf, run, hold=hold), rbf, run, wanted) for hold in (True, False))
    np.testing.assert_allclose(held.values, made.values)
    np.testing.assert_allclose(held.vectors, made.vectors, atol=1e-6)
    assert "computed again" in made.outcome.reason
    assert holds_matrix(30, 8, wanted, run)


def test_the_linear_kernel_needs_no_matrix():
    rows = linear_axes(X, run, FeatureSpaceRequest(2))
    matrix = kernel_axes(X @ X.T, 2)
    np.testing.assert_allclose(rows.values, matrix.values)
    np.testing.assert_allclose(rows.vectors, matrix.vectors * np.sign(np.sum(rows.vectors * matrix.vectors, axis=0)))
    Z = FeatureCoordinates(KernelWith(None), rows.means, rows.coefficients)(X)
    np.testing.assert_allclose(Z, rows.vectors * np.sqrt(rows.values), atol=1e-10)


def test_axes_beyond_the_rank_are_zero():
    axes = kernel_axes(X @ X.T, 5)
    assert (axes.values > 0).tolist() == [True] * 3 + [False] * 2
    assert (axes.coefficients[:, 3:] == 0).all()
    assert (axes.vectors[:, 3:] == 0).all()
    assert not axes.identical
    assert kernel_axes(np.ones((4, 4)), 1).identical


def test_invalid_requests_are_refused():
    assert len(kernel_axes(X @ X.T, 5, wanted=FeatureSpaceRequest(5, fewer=True)).values) == 3
    with pytest.raises(DataError, match="not symmetric"):
        kernel_axes(np.array([[1.0, 0.5], [0.2, 1.0]]), 1)
    with pytest.raises(DataError, match="out of the range of float32"):
        check_range(np.array([1e300, 1.0]), np.dtype("float32"))


def test_signs():
    np.testing.assert_array_equal(signs_of(np.array([[1.0, -5.0], [2.0, 3.0]])), [1.0, -1.0])

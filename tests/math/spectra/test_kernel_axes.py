"""Axes in the feature space of a kernel, and pre-images."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from lowland.data.open import open_rows
from lowland.errors import DataError
from lowland.math.distances.kernel_functions import KernelMatrix, KernelWith
from lowland.math.spectra.kernel_axes import (
    FeatureCoordinates,
    FeatureSpaceRequest,
    axes_of_rows,
    check_range,
    check_squares_vary,
    exact_axes,
    kernel_axes,
    landmark_axes,
)
from lowland.math.spectra.preimages import FixedPointPreImages
from lowland.run.run import Run

X = np.random.default_rng(0).standard_normal((30, 3)) @ np.diag([3.0, 2.0, 1.0]) + 4
rbf, run = KernelWith(X, "rbf", 0.1), Run()


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


def test_constants_added_to_rows_do_not_matter():
    """Centering removes them, so that the matrix need only be symmetric without them."""
    K, shift = X @ X.T, np.linspace(0, 5, len(X))
    expected, found = kernel_axes(K, 2), kernel_axes(K + shift[:, None], 2)
    np.testing.assert_allclose(found.values, expected.values)
    np.testing.assert_allclose(found.vectors, expected.vectors, atol=1e-12)
    np.testing.assert_allclose(found.means - found.means.mean(), expected.means - expected.means.mean(), atol=1e-12)


def test_invalid_requests_are_refused():
    assert len(kernel_axes(X @ X.T, 5, wanted=FeatureSpaceRequest(5, fewer=True)).values) == 3
    with pytest.raises(DataError, match="not symmetric"):
        kernel_axes(np.array([[1.0, 0.5, 0.0], [0.2, 1.0, 0.0], [0.0, 0.0, 1.0]]), 1)
    with pytest.raises(DataError, match="out of the range of float32"):
        check_range(np.array([1e300, 1.0]), np.dtype("float32"))
    with pytest.raises(DataError, match="lost to rounding error"):
        check_squares_vary(0.0, np.array([[1e-200], [0.0]]))


CLOUD = np.random.default_rng(0).standard_normal((40, 3)) + 2
run, wanted = Run(), FeatureSpaceRequest(2)


@pytest.mark.parametrize("name", ["rbf", "poly", "linear"])
def test_all_rows_as_landmarks_give_the_exact_axes(name):
    kernel = KernelWith(CLOUD, name, 0.2)
    found, exact = landmark_axes(open_rows([CLOUD[:7], CLOUD[7:]]), kernel, run, wanted), kernel_axes(kernel(CLOUD), 2)
    np.testing.assert_allclose(found.values, exact.values, rtol=1e-8)
    of = KernelWith(None) if name == "linear" else kernel
    Z = FeatureCoordinates(of, found.means, found.coefficients)(CLOUD)
    expected = exact.vectors * np.sqrt(exact.values)
    np.testing.assert_allclose(Z, expected * np.sign(np.sum(Z * expected, axis=0)), atol=1e-6)
    assert found.outcome.name == "nystrom"


rng = np.random.default_rng(0)
angle = rng.uniform(0, 2 * np.pi, 60)
CIRCLE, run = np.column_stack([np.cos(angle), np.sin(angle)]), Run()


def fixed_point(k):
    kernel = KernelWith(CIRCLE, "rbf", 2.0)
    axes = axes_of_rows(CIRCLE, kernel, run, FeatureSpaceRequest(k))
    Z = axes.vectors * np.sqrt(axes.values)
    place = FeatureCoordinates(kernel, axes.means, axes.coefficients)
    return place, FixedPointPreImages(kernel, Z, axes.coefficients, axes.mean_weights)


def test_the_fixed_point_of_a_rows_own_coordinates_is_the_row_and_noise_is_removed():
    place, back = fixed_point(20)
    np.testing.assert_allclose(back(place(CIRCLE[:20])), CIRCLE[:20], atol=5e-3)
    place, back = fixed_point(4)
    np.testing.assert_allclose(np.linalg.norm(back(place(CIRCLE[:30] * 1.15)), axis=1), 1, atol=0.12)


def test_a_fixed_point_iteration_without_convergence_warns(monkeypatch):
    monkeypatch.setattr("lowland.math.spectra.preimages._STEPS", 1)
    place, back = fixed_point(4)
    with pytest.warns(ConvergenceWarning, match="pre-images did not converge in 1 fixed-point"):
        back(place(CIRCLE * 1.3))


def test_a_pre_image_does_not_depend_on_the_others():
    """The iteration goes on until every point has settled, also where the first starts at its fixed point."""
    place, back = fixed_point(4)
    Z = place(np.vstack([back(place(CIRCLE[:1])), CIRCLE[1:6] * 1.3]))
    np.testing.assert_allclose(back(Z), np.vstack([back(each[None]) for each in Z]), atol=1e-5)

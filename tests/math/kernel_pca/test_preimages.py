"""Pre-images: rows whose features lie near given coordinates."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.kernel_ridge import KernelRidge

import lowland
from lowland.math.distances.kernel_functions import KernelWith
from lowland.math.kernel_pca.feature_space_axes import FeatureCoordinates, axes_of_rows
from lowland.math.kernel_pca.positive_eigenvalues import FeatureSpaceRequest
from lowland.math.kernel_pca.preimages import FixedPointPreImages, RidgePreImages, require_ridge, ridge_coefficients
from lowland.run.local import LocalRun

rng = np.random.default_rng(0)
angle = rng.uniform(0, 2 * np.pi, 60)
X, run = np.column_stack([np.cos(angle), np.sin(angle)]), LocalRun()


def test_ridge_regression_agrees_with_scikit_learn():
    Z = rng.standard_normal((60, 3))
    kernel = KernelWith(Z, "rbf", 0.5)
    found = RidgePreImages(kernel, ridge_coefficients(kernel, X, 0.1, run))
    theirs = KernelRidge(alpha=0.1, kernel="rbf", gamma=0.5).fit(Z, X)
    new = rng.standard_normal((5, 3))
    np.testing.assert_allclose(found(new), theirs.predict(new), atol=1e-8)


def fixed_point(k):
    kernel = KernelWith(X, "rbf", 2.0)
    axes = axes_of_rows(X, kernel, run, FeatureSpaceRequest(k))
    Z = axes.vectors * np.sqrt(axes.values)
    place = FeatureCoordinates(kernel, axes.means, axes.coefficients)
    return place, FixedPointPreImages(kernel, Z, axes.coefficients, axes.mean_weights)


def test_the_fixed_point_of_a_rows_own_coordinates_is_the_row():
    place, back = fixed_point(20)
    np.testing.assert_allclose(back(place(X[:20])), X[:20], atol=5e-3)


def test_pre_images_of_a_circle_lie_near_it():
    place, back = fixed_point(4)
    noisy = X[:30] * 1.15
    np.testing.assert_allclose(np.linalg.norm(back(place(noisy)), axis=1), 1, atol=0.12)


def test_a_fixed_point_iteration_without_convergence_warns(monkeypatch):
    monkeypatch.setattr("lowland.math.kernel_pca.preimages._STEPS", 1)
    place, back = fixed_point(4)
    with pytest.warns(ConvergenceWarning, match="pre-images did not converge in 1 fixed-point"):
        back(place(X * 1.3))


def test_a_regression_beyond_the_memory_budget_is_refused():
    with lowland.config(memory="1MB"), pytest.raises(MemoryError, match="ridge regression of pre-images on 1000"):
        require_ridge(1000, LocalRun())

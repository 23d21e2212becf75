"""Nystrom's axes: exact where every row is a landmark, near where the landmarks span the features."""

import numpy as np
import pytest
import scipy.sparse

from lowland.data.open import open_rows
from lowland.errors import DataError
from lowland.math.distances.kernel_functions import KernelWith
from lowland.math.kernel_pca.feature_space_axes import FeatureCoordinates, kernel_axes
from lowland.math.kernel_pca.landmark_axes import landmark_axes
from lowland.math.kernel_pca.positive_eigenvalues import FeatureSpaceRequest
from lowland.run.local import LocalRun

X = np.random.default_rng(0).standard_normal((40, 3)) + 2
run, wanted = LocalRun(), FeatureSpaceRequest(2)


@pytest.mark.parametrize("name", ["rbf", "poly", "linear"])
def test_all_rows_as_landmarks_give_the_exact_axes(name):
    kernel = KernelWith(X, name, 0.2)
    found, exact = landmark_axes(open_rows([X[:7], X[7:]]), kernel, run, wanted), kernel_axes(kernel(X), 2)
    np.testing.assert_allclose(found.values, exact.values, rtol=1e-8)
    of = KernelWith(None) if name == "linear" else kernel
    Z = FeatureCoordinates(of, found.means, found.coefficients)(X)
    expected = exact.vectors * np.sqrt(exact.values)
    np.testing.assert_allclose(Z, expected * np.sign(np.sum(Z * expected, axis=0)), atol=1e-6)
    assert found.outcome.name == "nystrom"


@pytest.mark.parametrize("rows", [X, scipy.sparse.csr_matrix(X)])
def test_landmarks_that_span_the_features_suffice(rows):
    """The linear kernel of three columns: ten landmarks span the feature space."""
    found = landmark_axes(open_rows(rows), KernelWith(rows[:10], "linear"), run, wanted)
    np.testing.assert_allclose(found.values, kernel_axes(X @ X.T, 2).values, rtol=1e-9)
    assert found.n == 40


def test_degenerate_landmarks_are_reported():
    with pytest.raises(DataError, match="3 landmarks are identical"):
        landmark_axes(open_rows(X), KernelWith(np.repeat(X[:1], 3, axis=0), "rbf", 0.2), run, wanted)
    alone = landmark_axes(open_rows(X), KernelWith(X[:10], "rbf", 1e4), run, wanted)
    assert "No two landmarks are similar" in alone.concerns[0]

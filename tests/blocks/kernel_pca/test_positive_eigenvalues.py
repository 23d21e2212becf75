"""Which eigenvalues count as positive, and kernels that are indefinite or nearly the identity."""

import numpy as np
import pytest

from lowland.blocks.distances.kernel_functions import KernelWith
from lowland.blocks.kernel_pca.positive_eigenvalues import (
    FeatureSpaceRequest,
    check_squares_vary,
    count_kept,
    indefinite,
    nearly_identity,
    negligible,
    rounding_floor,
)
from lowland.errors import DataError, ParameterError


def test_the_number_of_positive_eigenvalues():
    values = np.array([3.0, 1.0, 1e-14])
    assert count_kept(values, FeatureSpaceRequest(None), 1e-12) == 2
    assert count_kept(values, FeatureSpaceRequest(1), 1e-12) == 1
    assert count_kept(values, FeatureSpaceRequest(9, fewer=True), 1e-12) == 2
    with pytest.raises(ParameterError, match=r"3 components were requested, .* 2 positive eigenvalues"):
        count_kept(values, FeatureSpaceRequest(3), 1e-12)
    with pytest.raises(DataError, match="identical in the feature space"):
        count_kept(np.zeros(2), FeatureSpaceRequest(1), 0.0)


def test_the_rounding_tolerance_grows_with_the_entries_of_the_matrix():
    assert rounding_floor(np.array([2.0]), np.zeros(4), 4, np.float64) == 2 * negligible(np.float64)
    large = rounding_floor(np.array([2.0]), np.full(4, 1e6), 4, np.float64)
    assert large == pytest.approx(1e6 * (4 + 2) * 2.0**-52)
    assert negligible(np.float32) > negligible(np.float64)


def test_indefinite_kernels_are_refused_and_sigmoid_kernels_only_warned_about():
    sigmoid, given = KernelWith(np.eye(2), "sigmoid"), KernelWith(None, "precomputed")
    assert indefinite(-1e-9, 1.0, given, FeatureSpaceRequest(1), np.float64) == []
    with pytest.raises(DataError, match=r"eigenvalue -0\.5, 0\.5 times the largest.*inner products"):
        indefinite(-0.5, 1.0, given, FeatureSpaceRequest(1), np.float64)
    assert "indefinite" in indefinite(-0.5, 1.0, sigmoid, FeatureSpaceRequest(1), np.float64)[0]
    with pytest.raises(DataError, match="Choose 'rbf'"):
        indefinite(-0.5, 1.0, sigmoid, FeatureSpaceRequest(None), np.float64)


def test_a_matrix_that_is_nearly_the_identity():
    narrow, wide = KernelWith(np.eye(3), "rbf", 100.0), KernelWith(np.eye(3), "rbf", 0.1)
    assert "No two rows are similar" in nearly_identity(narrow(np.eye(3)).mean(axis=0), narrow, "row")[0]
    assert nearly_identity(wide(np.eye(3)).mean(axis=0), wide, "row") == []


def test_rows_whose_squares_underflow():
    check_squares_vary(1.0, np.eye(2))
    check_squares_vary(0.0, np.ones((2, 2)))  # all are equal, which is reported elsewhere
    with pytest.raises(DataError, match="lost to rounding error"):
        check_squares_vary(0.0, np.array([[1e-200], [0.0]]))

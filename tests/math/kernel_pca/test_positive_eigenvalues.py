"""Which eigenvalues count as positive, and kernels that are indefinite or nearly the identity."""

import re

import numpy as np
import pytest

from lowland.errors import DataError
from lowland.math.distances.kernel_functions import KernelWith
from lowland.math.kernel_pca.positive_eigenvalues import (
    FeatureSpaceRequest,
    check_squares_vary,
    count_positive,
    indefinite,
    nearly_identity,
    negligible,
    rounding_floor,
)


def test_the_number_of_positive_eigenvalues():
    values = np.array([3.0, 1.0, 1e-14])
    assert count_positive(values, FeatureSpaceRequest(None), 1e-12) == 2
    assert count_positive(values, FeatureSpaceRequest(1), 1e-12) == 1
    assert count_positive(values, FeatureSpaceRequest(3), 1e-12) == 2
    assert count_positive(np.zeros(2), FeatureSpaceRequest(1), 0.0) == 0


def test_the_rounding_tolerance_grows_with_the_entries_of_the_matrix():
    assert rounding_floor(np.array([2.0]), np.zeros(4), 4, np.float64) == 2 * negligible(np.float64)
    large = rounding_floor(np.array([2.0]), np.full(4, 1e6), 4, np.float64)
    assert large == pytest.approx(1e6 * (4 + 2) * 2.0**-52)
    assert negligible(np.float32) > negligible(np.float64)


def test_indefinite_kernels_are_refused_only_where_a_negative_eigenvalue_is_kept():
    sigmoid, given = KernelWith(np.eye(2), "sigmoid"), KernelWith(None, "precomputed")
    one, fewer = FeatureSpaceRequest(1), FeatureSpaceRequest(9, fewer=True)
    assert indefinite((-1e-9, 1.0), -1e-9, given, one, np.float64) == []
    for kernel in (sigmoid, given):
        (text,) = indefinite((-0.5, 1.0), 1.0, kernel, one, np.float64)
        assert re.search(r"indefinite.*eigenvalue -0\.5, 0\.5 times the largest.*inner products", text)
        assert "indefinite" in indefinite((-0.5, 1.0), -0.5, kernel, fewer, np.float64)[0]
    assert "none is positive" in indefinite((-0.5, 0.0), 0.0, given, one, np.float64)[0]
    with pytest.raises(DataError, match=r"negative eigenvalues.*-0\.3, 0\.3 times the largest.*Choose 'rbf'"):
        indefinite((-0.5, 1.0), -0.3, sigmoid, FeatureSpaceRequest(None), np.float64)
    with pytest.raises(DataError, match=r"negative eigenvalues.*fewer components.*semidefinite"):
        indefinite((-0.5, 1.0), -0.3, given, FeatureSpaceRequest(7), np.float64)


def test_a_matrix_that_is_nearly_the_identity():
    narrow, wide = KernelWith(np.eye(3), "rbf", 100.0), KernelWith(np.eye(3), "rbf", 0.1)
    assert "No two rows are similar" in nearly_identity(narrow(np.eye(3)).mean(axis=0), narrow, "row")[0]
    assert nearly_identity(wide(np.eye(3)).mean(axis=0), wide, "row") == []


def test_rows_whose_squares_underflow():
    check_squares_vary(1.0, np.eye(2))
    check_squares_vary(0.0, np.ones((2, 2)))  # all are equal, which is reported elsewhere
    with pytest.raises(DataError, match="lost to rounding error"):
        check_squares_vary(0.0, np.array([[1e-200], [0.0]]))

"""Kernel values compared with scikit-learn, whole matrices, the median rule, and invalid matrices."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import pairwise

from lowland.arrays.namespace import to_numpy
from lowland.errors import DataError, ParameterError
from lowland.math.distances.kernel_functions import (
    KernelMatrix,
    KernelWith,
    check_kernel_matrix,
    median_gamma,
)
from lowland.run.run import Run

THEIRS = {
    "linear": lambda X, Y: pairwise.linear_kernel(X, Y),
    "rbf": lambda X, Y: pairwise.rbf_kernel(X, Y, gamma=0.3),
    "laplacian": lambda X, Y: pairwise.laplacian_kernel(X, Y, gamma=0.3),
    "poly": lambda X, Y: pairwise.polynomial_kernel(X, Y, degree=3, gamma=0.3, coef0=0.5),
    "sigmoid": lambda X, Y: pairwise.sigmoid_kernel(X, Y, gamma=0.3, coef0=0.5),
    "cosine": lambda X, Y: pairwise.cosine_similarity(X, Y),
}


def rows(n=40, d=5, seed=0):
    return np.random.default_rng(seed).standard_normal((n, d))


def with_points(points, kernel):
    return KernelWith(points, kernel, gamma=0.3, degree=3, coef0=0.5)


@pytest.mark.parametrize("library", ["numpy", "torch", "array_api_strict"])
@pytest.mark.parametrize("kernel", THEIRS)
def test_kernels_agree_with_scikit_learn(kernel, library):
    xp = pytest.importorskip(library)
    X, Y = rows(), rows(7, seed=1)
    Y[3] = 0  # a row of zeros has no direction
    K = with_points(xp.asarray(Y), kernel)(xp.asarray(X))
    assert type(K) is type(xp.asarray(X))
    np.testing.assert_allclose(to_numpy(K), THEIRS[kernel](X, Y), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("kernel", THEIRS)
def test_float32_is_kept_and_accurate(kernel):
    X = rows().astype(np.float32) + np.float32(100)  # far from the origin, where float32 products lose the distances
    K = with_points(X, kernel)(X)
    assert K.dtype == np.float32
    wide = X.astype(np.float64)
    np.testing.assert_allclose(K, THEIRS[kernel](wide, wide), rtol=3e-6 if kernel in ("laplacian", "rbf") else 1e-6)


def test_a_kernel_function_is_called_for_every_pair():
    X, Y = rows(6), rows(3, seed=1)
    K = KernelWith(Y, lambda a, b, power: float(a @ b) ** power, params={"power": 2})(X)
    np.testing.assert_allclose(K, (X @ Y.T) ** 2)


def test_distances_of_near_rows_far_from_the_origin_are_accurate():
    """γ|x|² is 10⁸ here: exponents taken from products alone would be wrong in the eighth digit."""
    X = rows(30, 20) * 1e4
    X = np.concatenate([X, X + 0.1 * rows(30, 20, seed=1)])
    gaps = X[:, None, :] - X[None, :, :]
    np.testing.assert_allclose(KernelWith(X, "rbf", 1.0)(X), np.exp(-np.sum(gaps**2, axis=2)), rtol=1e-9, atol=1e-300)


def test_infinite_values_are_detected_despite_the_exponential():
    X = rows()
    X[3, 2] = -np.inf
    assert np.isnan(KernelWith(rows(), "rbf")(X)).any()
    assert np.isnan(KernelWith(rows(), "laplacian")(X)).any()


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 1000), scale=st.sampled_from([0.01, 1.0, 100.0]), kernel=st.sampled_from(["rbf", "poly"]))
def test_definite_kernels_have_no_negative_eigenvalues(seed, scale, kernel):
    X = rows(25, 3, seed) * scale
    k = KernelWith(X, kernel, 0.5)
    assert k.is_definite
    values = np.linalg.eigvalsh(k(X))
    assert values[0] >= -1e-12 * values[-1]


@pytest.mark.parametrize("hold", [True, False])
def test_a_stored_and_a_recomputed_matrix_are_equal(hold, monkeypatch):
    monkeypatch.setattr("lowland.data.rows.SLAB_BYTES", 3000)
    X = rows(50)
    matrix = KernelMatrix.of(X, with_points(X, "rbf"), Run(), hold=hold)
    assert (matrix.held is not None) == hold
    assert matrix.rows.slab == 7
    K = np.concatenate(list(matrix.rows.chunks()))
    np.testing.assert_allclose(K, THEIRS["rbf"](X, X), rtol=1e-12)
    np.testing.assert_allclose(matrix.means, K.mean(axis=0))


def test_indefinite_kernels_are_not_declared_definite():
    assert not KernelWith(rows(), "sigmoid").is_definite
    assert not KernelWith(rows(), "poly", coef0=-1).is_definite
    assert not KernelWith(None, "precomputed").is_definite


def test_overflow_is_reported():
    X = rows() * 1e160
    with pytest.raises(DataError, match="'poly' overflow"):
        KernelMatrix.of(X, KernelWith(X, "poly"), Run(), hold=True)
    with pytest.raises(DataError, match="returned NaN"):
        KernelMatrix.of(X, KernelWith(X, lambda a, b: float("nan")), Run(), hold=True)


# --- the median rule --------------------------------------------------------------------------------------------------


def test_the_median_rule():
    X = rows(60)
    gaps = (X[:, None, :] - X[None, :, :])[np.triu_indices(60, 1)]
    assert median_gamma(X, "rbf") == pytest.approx(1 / np.median(np.sum(gaps**2, axis=1)))
    assert median_gamma(X, "laplacian") == pytest.approx(1 / np.median(np.sum(np.abs(gaps), axis=1)))
    with pytest.raises(ParameterError, match="distances"):
        median_gamma(X, "poly")


def test_the_median_rule_of_many_rows_and_of_duplicate_rows():
    many = rows(2500, 3)
    assert median_gamma(many, "rbf") == pytest.approx(median_gamma(many[:2000], "rbf"), rel=0.1)
    assert median_gamma(np.ones((10, 2)), "rbf") == 1.0
    half = np.zeros((10, 1))
    half[0] = 2.0
    assert median_gamma(half, "rbf") == 0.25  # most pairs are equal: only the others determine a width


# --- matrices that were given -----------------------------------------------------------------------------------------


def test_invalid_kernel_matrices_are_refused():
    K = rows(6, 6)
    with pytest.raises(DataError, match=r"6 x 5.*square"):
        check_kernel_matrix(K[:, :5])
    with pytest.raises(DataError, match=r"in row 1, column 2 .*not symmetric"):
        check_kernel_matrix(K)
    check_kernel_matrix(K + K.T)
    check_kernel_matrix((K + K.T) * (1 + 1e-15 * rows(6, 6, 1)))  # rounding errors are tolerated

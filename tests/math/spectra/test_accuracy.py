"""The checks of decompositions: exact ones pass, and any perturbation of a vector or a value is noticed."""

import numpy as np
import pytest

from lowland.math.spectra.accuracy import (
    UNIT,
    eigen_error,
    factor_error,
    of_eigenvectors,
    of_factor,
    random_signs,
)


def eigenpairs(n, seed=0):
    rng = np.random.default_rng(seed)
    B = rng.standard_normal((n, n + 3))
    A = B @ B.T
    values, V = np.linalg.eigh(A)
    return A, values[::-1].copy(), V[:, ::-1].copy()


@pytest.mark.parametrize("n", [1, 2, 5, 40, 200])
def test_eigenpairs_of_lapack_are_within_the_bound(n):
    found = of_eigenvectors(*eigenpairs(n))
    assert found.met
    assert found.bound == UNIT * n


@pytest.mark.parametrize("k", [1, 3, 10])
def test_some_leading_pairs_are_enough(k):
    A, values, V = eigenpairs(10)
    assert of_eigenvectors(A, values[:k], V[:, :k]).met


@pytest.mark.parametrize("scale", [1e-200, 1e-30, 1.0, 1e30, 1e150])
def test_the_error_does_not_depend_on_the_units(scale):
    A, values, V = eigenpairs(6)
    values[1] *= 1 + 1e-6
    assert eigen_error(A * scale, values * scale, V) == pytest.approx(eigen_error(A, values, V), rel=1e-6)


@pytest.mark.parametrize("j", range(6))
def test_a_perturbed_vector_is_noticed(j):
    A, values, V = eigenpairs(6)
    V[:, j] += 1e-6 * V[:, (j + 1) % 6]
    assert 1e-8 < eigen_error(A, values, V) < 1e-5
    assert not of_eigenvectors(A, values, V).met


@pytest.mark.parametrize("j", range(6))
def test_a_wrong_value_is_noticed(j):
    A, values, V = eigenpairs(6)
    values[j] += 1e-9 * values[0]
    assert not of_eigenvectors(A, values, V).met


def test_a_repeated_vector_is_noticed_though_each_has_a_small_residual():
    A, values, V = np.eye(5), np.ones(5), np.eye(5)
    V[:, 3] = V[:, 2]
    assert not of_eigenvectors(A, values, V).met


def test_nan_is_not_within_a_bound():
    A, values, V = eigenpairs(4)
    V[0, 0] = np.nan
    assert not of_eigenvectors(A, values, V).met


def test_a_dominant_negative_eigenvalue_counts_in_the_norm():
    A = np.diag([1.0, -1e6])
    assert of_eigenvectors(A, np.array([1.0]), np.array([[1.0], [1e-15]]), definite=False).met


def test_the_zero_matrix_has_every_orthonormal_basis():
    assert of_eigenvectors(np.zeros((3, 3)), np.zeros(3), np.eye(3)).met


def test_a_singular_value_decomposition_and_its_perturbations():
    R = np.random.default_rng(1).standard_normal((7, 4))
    U, s, Vt = np.linalg.svd(R, full_matrices=False)
    assert of_factor(R, U, s, Vt).met
    for part in (U, s, Vt):
        before = part.copy()
        part[0] += 1e-9
        assert not of_factor(R, U, s, Vt).met
        part[:] = before
    assert factor_error(R[:, :0], U[:, :0], s[:0], Vt[:0]) == 0


def test_the_combination_is_fixed_and_of_unit_length():
    c = random_signs(9)
    assert c @ c == pytest.approx(1)
    assert np.array_equal(c, random_signs(9))
    assert len(set(np.abs(c).tolist())) == 1


def test_only_the_triangle_that_lapack_reads_counts():
    A, values, V = eigenpairs(6)
    A[0, 5] *= 1 + 1e-7  # above the diagonal: as sums of float32 products, which are not symmetric to the last digit
    assert of_eigenvectors(A, values, V).met
    A[5, 0] *= 1 + 1e-7
    assert not of_eigenvectors(A, values, V).met

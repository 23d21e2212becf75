"""Whitening matrices: W S W' = I, and the property of each kind."""

import numpy as np
import pytest

from lowland.math.spectra.whitening_matrices import whitening_matrix

KINDS = ["pca", "zca", "cholesky", "pca-cor", "zca-cor"]
S = np.array([[4.0, 1.0, 0.5], [1.0, 3.0, 0.2], [0.5, 0.2, 2.0]])


def test_two_by_two_by_hand():
    """Eigenvalues 9 and 1 along (1, 1)/√2 and (1, -1)/√2; S = CC' with C = [[√5, 0], [4/√5, 3/√5]]."""
    S = np.array([[5.0, 4.0], [4.0, 5.0]])
    r = np.sqrt(0.5)
    np.testing.assert_allclose(whitening_matrix(S, "pca").W, [[r / 3, r / 3], [r, -r]])
    np.testing.assert_allclose(whitening_matrix(S, "zca").W, [[2 / 3, -1 / 3], [-1 / 3, 2 / 3]])
    C = np.array([[np.sqrt(5), 0.0], [4 / np.sqrt(5), 3 / np.sqrt(5)]])
    np.testing.assert_allclose(whitening_matrix(S, "cholesky").W, np.linalg.inv(C), atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_whitened_rows_have_the_identity_as_covariance(kind):
    found = whitening_matrix(S, kind)
    assert found.rank == 3
    np.testing.assert_allclose(found.W @ S @ found.W.T, np.eye(3), atol=1e-12)
    np.testing.assert_allclose(found.inverse @ found.W, np.eye(3), atol=1e-12)


def test_each_whitening_kind_has_its_property():
    np.testing.assert_allclose(whitening_matrix(S, "cholesky").W, np.linalg.inv(np.linalg.cholesky(S)), atol=1e-12)
    zca = whitening_matrix(S, "zca").W
    np.testing.assert_allclose(zca, zca.T, atol=1e-12)
    units = np.diag([1.0, 10.0, 100.0])  # the -cor kinds do not depend on units
    for kind in ("pca-cor", "zca-cor"):
        np.testing.assert_allclose(whitening_matrix(units @ S @ units, kind).W @ units, whitening_matrix(S, kind).W)


@pytest.mark.parametrize("kind", KINDS)
def test_directions_without_variance_are_omitted(kind):
    B = np.array([[1.0, 0.0], [1.0, 1.0], [2.0, 1.0]])  # the third column is the sum of the others
    found = whitening_matrix(B @ B.T, kind)
    assert found.rank == 2
    white = found.W @ B  # (k, 2)
    np.testing.assert_allclose(white.T @ white, np.eye(2), atol=1e-10)
    np.testing.assert_allclose(found.inverse @ found.W @ B, B, atol=1e-10)
    assert whitening_matrix(np.zeros((2, 2)), kind).rank == 0


def test_leading_directions_only():
    found = whitening_matrix(S, "pca", 2)
    assert found.W.shape == (2, 3)
    assert found.values.shape == (3,)
    assert whitening_matrix(np.diag([1.0, 0.1]), tol=0.5).rank == 1

"""Affine maps, computed by hand."""

import numpy as np
import pytest
import scipy.sparse

import lowland
from lowland.methods.base.affine import Affine

X = np.array([[1.0, 2.0], [3.0, 4.0]])
A = np.array([[2.0], [1.0]])


def test_rows_are_shifted_multiplied_and_offset():
    np.testing.assert_array_equal(Affine(A)(X), [[4.0], [10.0]])
    np.testing.assert_array_equal(Affine(A, np.array([1.0, 2.0]))(X), [[0.0], [6.0]])
    np.testing.assert_array_equal(Affine(A, np.array([1.0, 2.0]), np.array([5.0]))(X), [[5.0], [11.0]])


def test_sparse_and_dense_rows_agree():
    f = Affine(A, np.array([1.0, 2.0]), np.array([5.0]))
    np.testing.assert_allclose(f(scipy.sparse.csr_array(X)), f(X))


@pytest.mark.parametrize("library", ["torch", "array_api_strict"])
def test_the_matrix_is_converted_to_the_library_of_the_rows(library):
    xp = pytest.importorskip(library)
    found = Affine(A, np.array([1.0, 2.0]), np.array([5.0]))(xp.asarray(X))
    assert type(found) is type(xp.asarray(X))
    np.testing.assert_array_equal(np.asarray(found), [[5.0], [11.0]])


def test_the_number_of_outputs_is_that_of_the_matrix(iris):
    assert lowland.Whitening().fit(iris.X)._encoding_width() == 4

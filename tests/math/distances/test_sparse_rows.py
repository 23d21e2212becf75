"""Products and distances of sparse rows against those of dense ones."""

import numpy as np
import pytest
import scipy.sparse

from lowland.math.distances.kernel_functions import KernelWith
from lowland.math.distances.sparse_rows import csr, squared_distances, unit


def rows(n=40, d=30, seed=0):
    rng = np.random.default_rng(seed)
    return np.where(rng.random((n, d)) < 0.2, rng.standard_normal((n, d)), 0.0)


def test_distances_of_near_sparse_rows_far_from_the_origin_are_accurate():
    A = rows() * 1e6
    B = A + 0.1 * rows()  # where A has zeros, so has B
    S = squared_distances(csr(A), csr(B))
    np.testing.assert_allclose(np.diag(S), np.sum((A - B) ** 2, axis=1), rtol=1e-8, atol=1e-12)
    K = KernelWith(csr(A), "rbf", 10.0)(csr(B))
    np.testing.assert_allclose(np.diag(K), np.exp(-10 * np.sum((A - B) ** 2, axis=1)), rtol=1e-6)


def test_rows_of_unit_length():
    A = rows()
    A[3] = 0.0
    A[4] *= 1e200  # its square overflows
    lengths = np.sqrt(np.sum(unit(csr(A)).toarray() ** 2, axis=1))
    np.testing.assert_allclose(lengths, np.any(A != 0, axis=1).astype(float))


@pytest.mark.parametrize("kernel", ["rbf", "poly"])
def test_infinite_values_in_sparse_rows_are_detected(kernel):
    A = rows()
    A[3, 2] = -np.inf
    assert np.isnan(KernelWith(csr(rows()), kernel)(scipy.sparse.csr_array(A))).any()

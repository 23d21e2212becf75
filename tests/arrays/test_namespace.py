"""The array library of the data, and the copy to the host."""

import numpy as np
import pytest
import scipy.sparse

from lowland.arrays.namespace import is_array, is_sparse, is_torch, like, on_accelerator, to_numpy, xp_of


def test_numpy_arrays_are_their_own_namespace_and_are_not_copied():
    X = np.ones((2, 2))
    assert xp_of(X, X) is np
    assert to_numpy(X) is X
    assert is_array(X)
    assert not is_torch(X)
    assert not on_accelerator(X)
    assert not is_array([1.0])


def test_tensors_keep_their_library_and_are_copied_to_the_host():
    torch = pytest.importorskip("torch")
    T = torch.ones((2, 2), dtype=torch.float32, requires_grad=True)
    assert is_torch(T)
    assert xp_of(T).float32 is torch.float32
    np.testing.assert_array_equal(to_numpy(T), np.ones((2, 2)))
    moved = like(np.eye(2), T)
    assert is_torch(moved)
    assert moved.dtype == torch.float32
    assert like(T.detach(), np.eye(2)).dtype == np.float64
    assert like(np.eye(2), T, torch.float64).dtype == torch.float64


def test_sparse_and_lazy_arrays():
    S = scipy.sparse.eye(2, format="csr", dtype=np.float32)
    assert is_sparse(S)
    assert like(np.ones(2), S).dtype == np.float32  # arrays that accompany a sparse matrix are dense
    dask_array = pytest.importorskip("dask.array")
    lazy = dask_array.ones((4, 2), chunks=(2, 2))
    np.testing.assert_array_equal(to_numpy(lazy), np.ones((4, 2)))

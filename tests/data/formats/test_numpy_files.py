"""Numpy's files: archives, memory maps, sparse matrices, and damaged or malicious files."""

import numpy as np
import pytest
import scipy.sparse as sp

from lowland.data.open import open_rows
from lowland.errors import DataError, FileProblem


@pytest.fixture
def X():
    return np.random.default_rng(0).standard_normal((500, 3))


def whole(rows):
    return np.concatenate([np.asarray(chunk) for chunk in rows.chunks()])


def test_npz_and_memory_maps(X, tmp_path):
    np.savez(tmp_path / "one.npz", anything=X)
    np.savez(tmp_path / "named.npz", X=X, y=np.ones(3))
    np.savez(tmp_path / "two.npz", a=X, b=X)
    np.testing.assert_array_equal(whole(open_rows(tmp_path / "one.npz")), X)
    np.testing.assert_array_equal(whole(open_rows(tmp_path / "named.npz")), X)
    np.savez(tmp_path / "none.npz")
    with pytest.raises(DataError, match="contains no array"):
        open_rows(tmp_path / "none.npz")
    with pytest.raises(DataError, match="'a', 'b'"):
        open_rows(tmp_path / "two.npz")
    np.save(tmp_path / "x.npy", X.astype(">f4"))
    rows = open_rows(tmp_path / "x.npy")
    assert isinstance(rows.X, np.memmap)
    assert rows.dtype == np.float32


def test_pickles_are_never_opened(tmp_path):
    np.save(tmp_path / "evil.npy", np.array([{"a": 1}], dtype=object), allow_pickle=True)
    with pytest.raises(OSError, match="npy"):
        open_rows(tmp_path / "evil.npy")


def test_a_sparse_file_that_is_damaged_is_refused(tmp_path):
    S = sp.eye_array(5).tocsr()
    parts = {"format": b"csr", "shape": S.shape, "data": S.data, "indptr": S.indptr}
    np.savez(tmp_path / "beyond.npz", indices=S.indices + 3, **parts)
    np.savez(tmp_path / "part.npz", **parts)
    for name in ("beyond.npz", "part.npz"):
        with pytest.raises(FileProblem, match=r"not a valid \.npz file"):
            open_rows(tmp_path / name)

"""Paths in all their forms."""

import os

import numpy as np
import pytest

from lowland.data.open import open_rows
from lowland.errors import FileProblem


@pytest.fixture
def X():
    return np.random.default_rng(0).standard_normal((500, 3))


def whole(rows):
    return np.concatenate([np.asarray(chunk) for chunk in rows.chunks()])


def test_paths_in_all_their_forms(X, tmp_path, monkeypatch):
    np.save(tmp_path / "x.npy", X)
    monkeypatch.setenv("HOME", str(tmp_path))
    for path in ("~/x.npy", os.fsencode(tmp_path / "x.npy")):
        np.testing.assert_array_equal(whole(open_rows(path)), X)
    monkeypatch.setattr("os.access", lambda path, mode: False)
    with pytest.raises(FileProblem, match="permission"):
        open_rows(tmp_path / "x.npy")

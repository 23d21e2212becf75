"""Array libraries, precision, random numbers, records and slices."""

from dataclasses import dataclass

import numpy as np
import pytest
import scipy.sparse

from lowland.arrays.namespace import (
    as_double,
    float_dtype,
    is_array,
    is_sparse,
    is_torch,
    like,
    on_accelerator,
    result_dtype,
    slices,
    to_numpy,
    xp_of,
)
from lowland.arrays.random import generator, standard_normal
from lowland.arrays.records import RECORDS, record


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


@pytest.mark.parametrize(
    ("given", "worked"),
    [("float16", "float32"), ("float32", "float32"), ("float64", "float64"), ("int8", "float64"), ("bool", "float64")],
)
def test_only_float32_rows_are_processed_in_float32(given, worked):
    assert float_dtype(given) == np.dtype(worked)


def test_results_take_the_precision_of_the_rows():
    torch = pytest.importorskip("torch")
    assert result_dtype(np, np.dtype("float32")) is np.float32
    assert result_dtype(np, np.dtype("float64")) is np.float64
    assert result_dtype(torch, np.dtype("float32")) is torch.float32


def test_sums_are_float64_and_float64_arrays_are_not_copied():
    X = np.ones(3, dtype=np.float32)
    assert as_double(X).dtype == np.float64
    wide = np.ones(3)
    assert as_double(wide) is wide


def test_every_type_of_seed_is_accepted():
    assert generator(3).integers(10**9) == generator(np.int64(3)).integers(10**9)
    mine = np.random.default_rng(0)
    assert generator(mine) is mine
    old = [generator(np.random.RandomState(5)).integers(10**9) for _ in range(2)]
    assert old[0] == old[1]
    assert isinstance(generator(None), np.random.Generator)
    assert isinstance(generator(np.random), np.random.Generator)
    with pytest.raises(TypeError, match="random_state='a'"):
        generator("a")


def test_normal_numbers_are_the_same_in_every_library():
    torch = pytest.importorskip("torch")
    host = standard_normal((3, 2), generator(0), np.zeros(1, dtype=np.float32))
    there = standard_normal((3, 2), generator(0), torch.zeros(1))
    assert host.dtype == np.float32
    np.testing.assert_array_equal(host, there.numpy())


@pytest.fixture(autouse=True)
def untouched_registry(monkeypatch):
    monkeypatch.setattr("lowland.arrays.records.RECORDS", dict(RECORDS))


def test_only_dataclasses_with_a_unique_name_are_registered():
    with pytest.raises(TypeError, match="must be a dataclass"):
        record(type("Plain", (), {}))
    namesake = dataclass(type("Moments", (), {"__annotations__": {"n": float}}))
    from lowland.math.statistics.moments import Moments

    assert RECORDS["Moments"] is Moments
    with pytest.raises(TypeError, match="no other record"):
        record(namesake)


@pytest.mark.parametrize(("n", "step"), [(0, 3), (1, 3), (6, 3), (7, 3), (5, 100)])
def test_slices_cover_every_row_once_in_order(n, step):
    rows = list(range(n))
    found = slices(n, step)
    assert [i for part in found for i in rows[part]] == rows
    assert all(part.stop - part.start == step for part in found[:-1])

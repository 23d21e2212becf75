"""Everything a user can pass becomes Rows; files are cut into slabs that do not depend on their layout."""

import gzip

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lowland.data import rows as rows_module
from lowland.data.open import open_rows, read_column
from lowland.errors import DataError, DataTypeError, MissingFile, ParameterError


@pytest.fixture
def X():
    return np.random.default_rng(0).standard_normal((500, 3))


@pytest.fixture
def small_slabs(monkeypatch):
    monkeypatch.setattr(rows_module, "SLAB_BYTES", 24 * 64)


def whole(rows):
    return np.concatenate([np.asarray(chunk) for chunk in rows.chunks()])


def test_slabs_depend_on_shape_and_dtype_alone(X, small_slabs, tmp_path):
    table = pa.table({name: X[:, j] for j, name in enumerate("abc")})
    sources = [X, np.asfortranarray(X), table]
    for size in (7, 100, 500):
        pa.parquet.write_table(table, tmp_path / f"{size}.parquet", row_group_size=size)
        sources.append(tmp_path / f"{size}.parquet")
    pa.csv.write_csv(table, tmp_path / "x.csv")
    sources.append(tmp_path / "x.csv")
    heights = [[len(chunk) for chunk in open_rows(source).chunks()] for source in sources]
    assert heights[0] == [64] * 7 + [52]
    assert all(other == heights[0] for other in heights[1:])
    for source in sources:
        np.testing.assert_allclose(whole(open_rows(source)), X, rtol=1e-12)


@settings(max_examples=30, deadline=None)
@given(n=st.integers(1, 400), group=st.integers(1, 300))
def test_any_row_groups_give_the_same_rows(n, group):
    import tempfile

    X = np.arange(2.0 * n).reshape(n, 2)
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(rows_module, "SLAB_BYTES", 16 * 50)
        pa.parquet.write_table(pa.table({"a": X[:, 0], "b": X[:, 1]}), f"{folder}/x.parquet", row_group_size=group)
        np.testing.assert_array_equal(whole(open_rows(f"{folder}/x.parquet")), X)


def test_rows_can_be_read_again(X, tmp_path):
    np.save(tmp_path / "x.npy", X)
    for source in (X, tmp_path / "x.npy", [X[:10], X[10:]], iter):
        if source is iter:
            continue
        rows = open_rows(source)
        np.testing.assert_array_equal(whole(rows), whole(rows))
        assert rows.d == 3


def test_npz_and_memory_maps(X, tmp_path):
    np.savez(tmp_path / "one.npz", anything=X)
    np.savez(tmp_path / "named.npz", X=X, y=np.ones(3))
    np.savez(tmp_path / "two.npz", a=X, b=X)
    np.testing.assert_array_equal(whole(open_rows(tmp_path / "one.npz")), X)
    np.testing.assert_array_equal(whole(open_rows(tmp_path / "named.npz")), X)
    with pytest.raises(DataError, match="a, b"):
        open_rows(tmp_path / "two.npz")
    np.save(tmp_path / "x.npy", X.astype(">f4"))
    rows = open_rows(tmp_path / "x.npy")
    assert isinstance(rows.X, np.memmap)
    assert rows.dtype == np.float32


def test_pickles_are_never_opened(tmp_path):
    np.save(tmp_path / "evil.npy", np.array([{"a": 1}], dtype=object), allow_pickle=True)
    with pytest.raises(OSError, match="npy"):
        open_rows(tmp_path / "evil.npy")


def test_csv_in_all_its_forms(X, tmp_path):
    (tmp_path / "late.csv").write_text("a,b\n1,2\n" + "3,4\n" * 5 + "5.5,6\n")
    assert whole(open_rows(tmp_path / "late.csv"))[-1, 0] == 5.5
    with gzip.open(tmp_path / "x.csv.gz", "wt") as file:
        file.write("a,b\n1,2\n3,4\n")
    np.testing.assert_array_equal(whole(open_rows(tmp_path / "x.csv.gz")), [[1, 2], [3, 4]])
    (tmp_path / "x.tsv").write_text("a\tb\n1\t2\n")
    assert open_rows(tmp_path / "x.tsv").names == ("a", "b")
    (tmp_path / "gap.csv").write_text("a,b\n1,2\n,4\n")
    assert np.isnan(whole(open_rows(tmp_path / "gap.csv"))[1, 0])
    (tmp_path / "twice.csv").write_text("a,a,b\n1,2,3\n")
    with pytest.raises(DataError, match="more than one column 'a'"):
        open_rows(tmp_path / "twice.csv")
    (tmp_path / "torn.csv.gz").write_bytes((tmp_path / "x.csv.gz").read_bytes()[:15])
    with pytest.raises(OSError, match="torn"):
        whole(open_rows(tmp_path / "torn.csv.gz"))


def test_decimals_after_whole_numbers_in_a_later_block(tmp_path, monkeypatch):
    monkeypatch.setattr("lowland.data.files._CSV_BLOCK", 64)
    (tmp_path / "x.csv").write_text("a,b\n" + "1,2\n" * 50 + "3.5,4\n")
    assert whole(open_rows(tmp_path / "x.csv"))[-1, 0] == 3.5
    (tmp_path / "y.csv").write_text("a,b\n" + "1,2\n" * 50 + "oops,4\n")
    with pytest.raises(DataError, match="oops"):
        whole(open_rows(tmp_path / "y.csv"))


def test_columns_are_chosen_by_name(tmp_path):
    (tmp_path / "x.csv").write_text("name,a,b,class\nu,1,2,x\nv,3,4,y\n")
    rows = open_rows(tmp_path / "x.csv", drop=["name", "class"])
    assert rows.names == ("a", "b")
    rows = open_rows(tmp_path / "x.csv", columns=["b", "a"])
    np.testing.assert_array_equal(whole(rows), [[2, 1], [4, 3]])
    assert list(read_column(tmp_path / "x.csv", "class")) == ["x", "y"]
    with pytest.raises(DataTypeError, match="'name', 'class'"):
        open_rows(tmp_path / "x.csv")
    with pytest.raises(ParameterError, match=r"no column 'c'.*'name', 'a'"):
        open_rows(tmp_path / "x.csv", columns=["c"])
    with pytest.raises(ParameterError, match="no column"):
        read_column(tmp_path / "x.csv", "zzz")


def test_folders_of_parts(X, tmp_path):
    with pytest.raises(MissingFile, match=r"\.parquet"):
        open_rows(tmp_path)
    pa.parquet.write_table(pa.table({"a": X[:, 0]}), tmp_path / "0.parquet")
    pa.parquet.write_table(pa.table({"b": X[:, 0]}), tmp_path / "1.parquet")
    with pytest.raises(DataError, match="other columns"):
        open_rows(tmp_path)


def test_damage_in_the_middle_of_a_parquet_file(X, tmp_path):
    path = tmp_path / "x.parquet"
    pa.parquet.write_table(pa.table({"a": X[:, 0], "b": X[:, 1]}), path, compression="zstd", row_group_size=50)
    data = bytearray(path.read_bytes())
    data[4:60] = bytes(56)  # the head of the first page
    path.write_bytes(bytes(data))
    with pytest.raises(OSError, match="Write it again"):
        whole(open_rows(path))


def test_frames_of_every_kind():
    import pandas as pd
    import polars as pl

    columns = {"a": [1, 2, 3], "b": [1.5, 2.5, 3.5], "c": [True, False, True]}
    expected = [[1, 1.5, 1], [2, 2.5, 0], [3, 3.5, 1]]
    for frame in (
        pd.DataFrame(columns),
        pl.DataFrame(columns),
        pa.table(columns),
        pd.DataFrame(columns).convert_dtypes(),
    ):
        rows = open_rows(frame)
        assert rows.names == ("a", "b", "c")
        np.testing.assert_array_equal(whole(rows), expected)
        assert rows.dtype == np.float64
    assert open_rows(pl.DataFrame({"a": [1.0, 2.0]}).cast(pl.Float32)).dtype == np.float32
    assert open_rows(pd.DataFrame(np.ones((2, 2)))).names is None
    gap = pd.DataFrame({"a": pd.array([1, None, 3], dtype="Int64"), "b": [1.0, 2.0, 3.0]})
    assert np.isnan(whole(open_rows(gap))).sum() == 1
    with pytest.raises(DataTypeError, match="collect"):
        open_rows(pl.DataFrame(columns).lazy())


def test_float16_and_big_endian_and_bool(X):
    assert open_rows(X.astype(np.float16)).dtype == np.float32
    assert open_rows(X.astype(">f8")).dtype == np.float64
    np.testing.assert_array_equal(whole(open_rows(X > 0)), (X > 0).astype(float))

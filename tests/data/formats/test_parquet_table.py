"""Parquet: folders of files, different types, damage."""

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

from lowland.data.open import open_rows, open_table_file, read_column
from lowland.errors import DataError, DataTypeError, MissingFile


@pytest.fixture
def X():
    return np.random.default_rng(0).standard_normal((500, 3))


def whole(rows):
    return np.concatenate([np.asarray(chunk) for chunk in rows.chunks()])


def test_folders_of_parquet_files(X, tmp_path):
    with pytest.raises(MissingFile, match=r"\.parquet"):
        open_rows(tmp_path)
    pa.parquet.write_table(pa.table({"a": X[:, 0]}), tmp_path / "0.parquet")
    pa.parquet.write_table(pa.table({"b": X[:, 0]}), tmp_path / "1.parquet")
    with pytest.raises(DataError, match=r"1\.parquet.*'b'.*'a'.*same columns"):
        open_rows(tmp_path)


def test_damage_in_the_middle_of_a_parquet_file(X, tmp_path):
    path = tmp_path / "x.parquet"
    pa.parquet.write_table(pa.table({"a": X[:, 0], "b": X[:, 1]}), path, compression="zstd", row_group_size=50)
    data = bytearray(path.read_bytes())
    data[4:60] = bytes(56)  # the head of the first page
    path.write_bytes(bytes(data))
    with pytest.raises(OSError, match="Write it again"):
        whole(open_rows(path))


def test_parquet_files_of_different_types(tmp_path):
    single, double = pa.array([1, 2], pa.float32()), pa.array([0.1, None], pa.float64())
    pa.parquet.write_table(pa.table({"a": pa.array([1, 2]), "b": single}), tmp_path / "0.parquet")
    pa.parquet.write_table(pa.table({"a": double, "b": single}), tmp_path / "1.parquet")
    np.testing.assert_array_equal(whole(open_rows(tmp_path)), [[1, 1], [2, 2], [0.1, 1], [np.nan, 2]])
    assert open_rows(tmp_path, columns=["b"]).dtype == np.float32
    pa.parquet.write_table(pa.table({"a": ["x", "y"], "b": single}), tmp_path / "2.parquet")
    with pytest.raises(DataTypeError, match=r"'a' of 2\.parquet.*text.*0\.parquet numbers"):
        open_rows(tmp_path)
    with pytest.raises(DataTypeError, match=r"'a' of 2\.parquet"):
        read_column(tmp_path, "a")
    assert list(read_column(tmp_path, "b")) == [1, 2] * 3


def test_folders_within_folders(tmp_path):
    (tmp_path / "y=1").mkdir()
    for path in (tmp_path / "0.parquet", tmp_path / "y=1" / "1.parquet"):
        pa.parquet.write_table(pa.table({"a": [1.0]}), path)
    with pytest.raises(DataError, match="one folder"):
        open_rows(tmp_path)


def test_a_pandas_index_is_not_a_feature(tmp_path):
    import pandas as pd

    frame = pd.DataFrame({"a": [1.0, 2, 3], "b": [4.0, 5, 7], "plant": [7, 8, 9]})
    frame[frame.a > 1].to_parquet(tmp_path / "filtered.parquet")
    frame.set_index("plant").to_parquet(tmp_path / "named.parquet")
    assert open_rows(tmp_path / "filtered.parquet").names == ("a", "b", "plant")
    assert open_rows(tmp_path / "named.parquet").names == ("a", "b")
    frame.to_csv(tmp_path / "x.csv")
    assert open_rows(tmp_path / "x.csv").names == ("a", "b", "plant")


def test_the_parts_of_a_folder_are_read_in_natural_order(tmp_path):
    for part in range(12):
        pa.parquet.write_table(
            pa.table({"a": [float(part)], "y": [f"class {part}"]}), tmp_path / f"part.{part}.parquet"
        )
    np.testing.assert_array_equal(whole(open_rows(tmp_path, drop=["y"]))[:, 0], np.arange(12))
    assert list(read_column(tmp_path, "y")) == [f"class {part}" for part in range(12)]


def test_a_part_with_more_columns_is_named(tmp_path):
    pa.parquet.write_table(pa.table({"a": [1.0]}), tmp_path / "part.2.parquet")
    pa.parquet.write_table(pa.table({"a": [1.0], "b": [2.0]}), tmp_path / "part.10.parquet")
    with pytest.raises(DataError, match=r"part\.10\.parquet.* 2 columns.*part\.2\.parquet has 1"):
        open_rows(tmp_path)


def test_a_part_of_missing_values_fits_every_type(tmp_path):
    pa.parquet.write_table(pa.table({"y": pa.nulls(2)}), tmp_path / "0.parquet")
    pa.parquet.write_table(pa.table({"y": ["u", "v"]}), tmp_path / "1.parquet")
    pa.parquet.write_table(pa.table({"y": pa.array(["u", "w"]).dictionary_encode()}), tmp_path / "2.parquet")
    assert list(read_column(tmp_path, "y"))[2:] == ["u", "v", "u", "w"]


def test_two_columns_of_one_name(tmp_path):
    path = tmp_path / "x.parquet"
    pa.parquet.write_table(pa.table([[1.0, 2.0], [3.0, 4.0], ["u", "v"]], names=["a", "a", "y"]), path)
    for action in (
        lambda: open_rows(path),
        lambda: read_column(path, "a"),
        lambda: open_table_file(path).first_text_column(),
    ):
        with pytest.raises(DataError, match="Duplicate column name 'a'"):
            action()

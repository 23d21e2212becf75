"""Parquet: folders of files, different types, damage."""

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

from lowland.data.open import open_rows, read_column
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
    with pytest.raises(DataError, match=r"different columns.*same columns"):
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
    with pytest.raises(DataTypeError, match="'a'"):
        open_rows(tmp_path)
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
    with pytest.raises(DataError, match=r"no name.*index=False"):
        open_rows(tmp_path / "x.csv")

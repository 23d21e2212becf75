"""Frames of pandas, polars and pyarrow: their types and their names."""

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

from lowland.data.open import open_rows
from lowland.errors import DataError, DataTypeError


@pytest.fixture
def X():
    return np.random.default_rng(0).standard_normal((500, 3))


def whole(rows):
    return np.concatenate([np.asarray(chunk) for chunk in rows.chunks()])


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


def test_names_of_frames(X):
    import pandas as pd

    with pytest.raises(TypeError, match="only supported if all input features have string names"):
        open_rows(pd.DataFrame(X, columns=[1, "1", 2]))
    rows = open_rows(pd.DataFrame(X, columns=[2, 1, 0]))
    assert rows.names is None
    np.testing.assert_array_equal(whole(rows), X)
    for frame in (pd.DataFrame(X, columns=list("aab")), pa.table([X[:, 0], X[:, 1]], names=["a", "a"])):
        with pytest.raises(DataError, match="Duplicate column name 'a'"):
            open_rows(frame)
    with pytest.raises(DataTypeError, match="text, dates or categories"):
        open_rows(pd.DataFrame({"a": pd.Categorical([1, 2])}))
    np.testing.assert_array_equal(whole(open_rows(pa.record_batch({"a": X[:, 0], "b": X[:, 1]}))), X[:, :2])

"""Arrow batches become slabs whatever the layout of the file; their types become floats."""

import decimal

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lowland.data import rows as rows_module
from lowland.data.open import open_rows


@pytest.fixture
def X():
    return np.random.default_rng(0).standard_normal((500, 3))


def whole(rows):
    return np.concatenate([np.asarray(chunk) for chunk in rows.chunks()])


@settings(max_examples=30, deadline=None)
@given(n=st.integers(1, 400), group=st.integers(1, 300))
def test_any_row_groups_give_the_same_rows(n, group):
    import tempfile

    X = np.arange(2.0 * n).reshape(n, 2)
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(rows_module, "SLAB_BYTES", 16 * 50)
        pa.parquet.write_table(pa.table({"a": X[:, 0], "b": X[:, 1]}), f"{folder}/x.parquet", row_group_size=group)
        np.testing.assert_array_equal(whole(open_rows(f"{folder}/x.parquet")), X)


def test_decimals_and_booleans(tmp_path):
    table = pa.table({"a": [decimal.Decimal("1.5"), None], "b": [True, False], "c": pa.nulls(2)})
    pa.parquet.write_table(table, tmp_path / "x.parquet")
    np.testing.assert_array_equal(whole(open_rows(tmp_path / "x.parquet")), [[1.5, 1, np.nan], [np.nan, 0, np.nan]])
    (tmp_path / "x.csv").write_text("a,b\ntrue,1\nfalse,2\n,3\n")
    np.testing.assert_array_equal(whole(open_rows(tmp_path / "x.csv")), [[1, 1], [0, 2], [np.nan, 3]])

import datetime

import numpy as np
import pyarrow as pa
import pytest

from lowland.data.stored_table import StoredTable, stored_batches, with_names_of_rows, write_stored
from lowland.errors import DataError


@pytest.fixture
def stored(tmp_path):
    table = pa.table(
        {
            "n": pa.array([1.5, None, float("inf"), 4.0]),
            "i": pa.array([3, 1, 2, 1], pa.int8()),
            "word": pa.array(["b", None, "a", "b"]).dictionary_encode(),
            "when": pa.array([datetime.date(1970, 1, 2), None, datetime.date(1970, 1, 1), datetime.date(2000, 1, 1)]),
            "said": pa.array(["1970-01-03", "1970-01-01", None, "1970-01-02"]),
            "list": pa.array([[1], None, [2, 3], []]),
            "yes": pa.array([True, False, None, True]),
            "none": pa.nulls(4),
        }
    )
    assert write_stored(table.to_batches(max_chunksize=2), tmp_path / "t.arrow") == 4
    return StoredTable(tmp_path / "t.arrow")


def test_cells_are_plain_values(stored):
    assert stored.cells(slice(0, 1)) == [[1.5, 3, "b", "1970-01-02", "1970-01-03", "[1]", True, None]]
    assert stored.cells([2, 0], [0, 2]) == [[None, "a"], [1.5, "b"]]  # infinity is not in JSON
    assert stored.cells(slice(3, 99), [1]) == [[1]]
    assert stored.cells(slice(9, 10)) == []


def test_numbers_days_and_codes(stored):
    np.testing.assert_array_equal(stored.numbers(0), [1.5, np.nan, np.inf, 4.0])
    assert stored.numbers(2) is None
    np.testing.assert_array_equal(stored.days(3), [1, np.nan, 0, 10957])
    np.testing.assert_array_equal(stored.days(4), [2, 0, np.nan, 1])
    assert stored.days(2) is None
    codes, levels = stored.codes(2)
    assert levels == ["a", "b"]
    assert codes.tolist() == [1, -1, 0, 1]
    codes, levels = stored.codes(1)
    assert levels == ["1", "2", "3"]
    assert codes.tolist() == [2, 0, 1, 0]
    assert stored.codes(2, most=1) is None
    assert stored.codes(6)[1] == ["false", "true"]
    assert stored.texts(2) == ["b", None, "a", "b"]


def test_some_rows_and_columns_as_a_table(stored):
    found = stored.select([2, 1], np.array([3, 0]))
    assert found.to_pydict() == {"word": ["b", "b"], "i": [1, 3]}
    assert sum(batch.num_rows for batch in stored_batches(found)) == 2


def test_the_size_is_limited_and_nothing_is_left(tmp_path):
    batches = pa.table({"x": np.zeros(1000)}).to_batches(max_chunksize=100)
    with pytest.raises(DataError, match="limit"):
        write_stored(batches, tmp_path / "t.arrow", most_bytes=100)
    with pytest.raises(DataError, match="no rows"):
        write_stored([], tmp_path / "t.arrow")
    assert not list(tmp_path.iterdir())


def test_names_of_rows_come_first(tmp_path):
    from lowland.data.open import open_table

    (tmp_path / "t.csv").write_text(",a,b\nx,1,2\ny,3,4\n")
    table = open_table(tmp_path / "t.csv")
    batches = list(with_names_of_rows(table))
    assert len(batches[0].schema.names) == 3
    assert batches[0].column(0).to_pylist() == ["x", "y"]

"""Columns of a table in memory."""

import numpy as np
import pytest
import scipy.sparse

from lowland.data.open import open_rows
from lowland.errors import DataError
from lowland.math.selection.columns import ColumnReader, dot, listed, rows_in_memory, standardized
from lowland.run.local import LocalRun


@pytest.mark.parametrize("wrap", [np.asarray, scipy.sparse.csr_array], ids=["dense", "sparse"])
def test_columns_are_read_one_at_a_time(wrap):
    X = np.array([[1.0, 0.0, 5.0], [0.0, 0.0, 7.0]], dtype=np.float32)
    columns = ColumnReader(wrap(X))
    assert columns[2].dtype == np.float64
    assert columns[2].tolist() == [5.0, 7.0]
    assert columns.constant().tolist() == [False, True, False]


def test_standardized_columns_also_where_squares_would_underflow():
    for unit in (1.0, 1e-200, 1e200):
        z = standardized(np.array([1.0, 2.0, 6.0]) * unit)
        assert dot(z, z) == pytest.approx(3)
        assert z.mean() == pytest.approx(0, abs=1e-15)


def test_a_message_lists_five_columns():
    names = [f"x{j}" for j in range(9)]
    assert listed(names, np.array([1, 4])) == "'x1', 'x4'"
    assert listed(names, np.arange(6)) == "'x0', 'x1', 'x2', 'x3', 'x4', …"


def test_rows_and_target_must_have_the_same_length():
    rows = open_rows(np.eye(3))
    np.testing.assert_array_equal(rows_in_memory(rows, LocalRun(), 3, "A test"), np.eye(3))
    with pytest.raises(DataError, match="3 rows and y has 4"):
        rows_in_memory(rows, LocalRun(), 4, "A test")

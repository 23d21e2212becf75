"""Rows by groups of columns."""

import numpy as np
import pytest

from lowland.errors import ParameterError
from lowland.math.selection.column_pooling import PoolColumns, SpreadGroups, named_groups

LABELS = np.array([1, 0, 1])
X = np.array([[1.0, 2.0, 5.0], [0.0, 4.0, -2.0]])


@pytest.mark.parametrize(
    ("pooling", "pooled"),
    [
        ("mean", [[2, 3], [4, -1]]),
        ("median", [[2, 3], [4, -1]]),
        ("max", [[2, 5], [4, 0]]),
        ("min", [[2, 1], [4, -2]]),
        (np.mean, [[2, 3], [4, -1]]),
        (np.sum, [[2, 6], [4, -2]]),
    ],
)
def test_pooling_by_hand(pooling, pooled):
    assert PoolColumns(LABELS, pooling)(X).tolist() == pooled


def test_groups_are_spread_over_their_columns():
    assert SpreadGroups(LABELS)(np.array([[2.0, 3.0]])).tolist() == [[3, 2, 3]]
    assert named_groups(LABELS, ["a", "b", "c"]) == {0: ["b"], 1: ["a", "c"]}


def test_nan_is_limited_to_its_row_and_a_wrong_function_is_refused():
    spoiled = np.where(X == 5, np.nan, X)
    assert np.isnan(PoolColumns(LABELS, "max")(spoiled)).all(axis=1).tolist() == [True, False]
    with pytest.raises(ParameterError, match="one number per row"):
        PoolColumns(LABELS, lambda columns, axis: columns.sum())(X)

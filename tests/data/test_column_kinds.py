"""The kinds of columns at their borders."""

import pyarrow as pa
import pytest

from lowland.data.column_kinds import column_kind


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([1, 2, None], "number"),
        ([1.5, float("nan"), 2.0], "number"),
        ([True, False, None], "boolean"),
        ([None, None], "missing"),
        ([float("nan"), None], "missing"),
        ([3, 3, 3], "constant"),
        ([3, 3, None], "constant"),
        (["a", "a", "a"], "constant"),
        (["a", "a", None], "category"),  # missing or not is a difference
        (["a", "b", "c", "d"], "category"),  # few levels
        (["a", "b", "c", "d", "e"], "id"),  # every value different, one word each
        (["a", "b", "c", "d", "e", "e"], "text"),
        (["a", "b", "c", "d", "e"] * 3, "category"),  # few distinct values: many rows per level
        (["one two three", "b", "c d e f", "d e f g h", "e f g"] * 3, "text"),
    ],
)
def test_the_kind_of_a_column(values, kind):
    assert column_kind(pa.chunked_array([pa.array(values)]), 4, "x") == kind


def test_ordered_categories_are_known_by_their_type():
    levels = pa.DictionaryArray.from_arrays(pa.array([0, 1, 0]), pa.array(["S", "L"]), ordered=True)
    assert column_kind(pa.chunked_array([levels]), 4, "x") == "ordered"
    assert column_kind(pa.chunked_array([levels.cast(pa.string())]), 4, "x") == "category"

"""Values as JSON."""

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lowland.plain import to_plain

plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
)


@given(plain)
def test_plain_values_stay_as_they_are(value):
    assert to_plain(value) == value
    assert json.loads(json.dumps(to_plain(value), allow_nan=False)) == value


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (np.array([[1, 2]]), [[1, 2]]),
        (np.float32(0.5), 0.5),
        (np.bool_(True), True),
        ((1, (2,)), [1, [2]]),
        ({1: np.nan}, {"1": None}),
        ([math.inf, {"a": -math.inf}], [None, {"a": None}]),
        (range, "<class 'range'>"),
    ],
)
def test_values_unknown_to_json(value, expected):
    assert to_plain(value) == expected


def test_the_caller_chooses_the_fallback():
    found = to_plain({"a": [np.inf, len]}, non_finite=lambda number: {"number": str(number)}, unknown=type)
    assert found == {"a": [{"number": "inf"}, type(len)]}

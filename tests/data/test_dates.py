"""Dates written as text."""

import numpy as np
import pyarrow as pa
import pytest

from lowland.data.written import WrittenDates, dates_of


def order(*texts):
    found = WrittenDates()
    for text in texts:
        found.add(pa.array([text]))
    return found.order, found.is_assumed


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["2024-12-31", "2024/1/2 08:15"], ("year first", False)),
        (["31.12.2024", "01.02.2024"], ("day first", False)),
        (["12/31/2024", "01/02/2024"], ("month first", False)),
        (["13/01/2024", "01/02/2024"], ("day first", False)),
        (["01/02/2024"], ("month first", True)),
        (["01.02.2024"], ("day first", True)),
        (["31.12.2024", "12.31.2024"], (None, False)),  # no order fits both
        (["31.12.2024", "soon"], (None, False)),
        (["30.02.2024"], (None, False)),  # no such day
        (["1.2.3"], (None, False)),
        (["2024-01-01 25:00"], (None, False)),
    ],
)
def test_the_values_decide_the_order(texts, expected):
    assert order(*texts) == expected


@pytest.mark.parametrize(
    ("text", "kind", "date"),
    [
        ("31.12.2024", "day first", "2024-12-31"),
        ("12/31/24 11:30 pm", "month first", "2024-12-31T23:30"),
        ("12/31/2024 12:05 AM", "month first", "2024-12-31T00:05"),
        ("1.2.1969 07:08:09.25", "day first", "1969-02-01T07:08:09.250"),
        ("5-6-70", "day first", "1970-06-05"),
        ("2024-02-29T10:00:00+02:00", "year first", "2024-02-29T08:00"),
        ("2024-02-29 10:00Z", "year first", "2024-02-29T10:00"),
        ("2023-02-29", "year first", "NaT"),
    ],
)
def test_dates_and_times(text, kind, date):
    found = dates_of(pa.chunked_array([pa.array([text, None])]), kind)
    np.testing.assert_array_equal(found, np.array([date, "NaT"], dtype="M8[us]"))

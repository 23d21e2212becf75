"""Dates written as text: the order of day, month and year in a column, decided by its values, and the dates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

ORDERS = ("year first", "day first", "month first")
_TIME = (
    r"(?:[ T,]+(?P<hour>\d{1,2}):(?P<minute>\d{2})(?::(?P<second>\d{2}(?:\.\d{1,9})?))?"
    r"(?: ?(?P<half>[AaPp])\.?[Mm]\.?)?)? ?(?P<zone>Z|UTC|[+-]\d{2}:?\d{2})?"
)
_YEAR_FIRST = rf"^\s*(?P<year>\d{{4}})[-/.](?P<b>\d{{1,2}})[-/.](?P<c>\d{{1,2}}){_TIME}\s*$"
_YEAR_LAST = rf"^\s*(?P<b>\d{{1,2}})[./-](?P<c>\d{{1,2}})[./-](?P<year>\d{{4}}|\d{{2}}){_TIME}\s*$"
_PIVOT = 69  # years of two digits: 69 to 99 are 1969 to 1999, others 2000 to 2068, as in POSIX


@dataclass
class WrittenDates:
    """The orders of day, month and year that all texts of a column allow, found batch by batch."""

    possible: tuple[str, ...] = ORDERS
    has_slashes: bool = False

    def add(self, texts: Any) -> None:
        """Exclude the orders in which some text, of an Arrow array without missing values, is not a date."""
        if len(texts) and self.possible:
            self.has_slashes = self.has_slashes or "/" in texts[0].as_py()
            # most columns of text are excluded by a few values
            for some in (texts.slice(0, 20), texts):
                self.possible = tuple(order for order in self.possible if not np.isnat(dates_of(some, order)).any())

    @property
    def order(self) -> str | None:
        """The order; None: the texts are not dates. Where the values decide nothing, the usual one."""
        if len(self.possible) < 2:
            return self.possible[0] if self.possible else None
        return "month first" if self.has_slashes else "day first"

    @property
    def is_assumed(self) -> bool:
        """Whether the values allow both orders."""
        return len(self.possible) > 1


def dates_of(texts: Any, order: str) -> np.ndarray:
    """Return an Arrow column of texts as datetime64[us]; NaT where a text is missing or not a date of this order."""
    import pyarrow as pa
    import pyarrow.compute as pc

    parts = pc.extract_regex(texts.cast(pa.string()), _YEAR_FIRST if order == "year first" else _YEAR_LAST)

    def text(name: str) -> Any:
        return pc.fill_null(pc.struct_field(parts, name), "")

    def number(name: str, kind: Any = None) -> np.ndarray:
        digits = text(name)
        return _numpy(pc.if_else(pc.equal(digits, ""), "0", digits).cast(kind or pa.int64()))

    year, month, day = number("year"), number("b"), number("c")
    if order == "day first":
        month, day = day, month
    short = _numpy(pc.equal(pc.utf8_length(text("year")), 2))
    year = np.where(short, year + np.where(year < _PIVOT, 2000, 1900), year)
    hour, minute, second = number("hour"), number("minute"), number("second", pa.float64())
    half = _numpy(pc.utf8_lower(text("half"))).astype("U1")
    good = _numpy(pc.is_valid(parts)) & (month >= 1) & (month <= 12) & (day >= 1)
    good &= (minute < 60) & (second < 61) & np.where(half == "", hour < 24, (hour >= 1) & (hour <= 12))
    hour = np.where(half == "", hour, hour % 12 + 12 * (half == "p"))
    months = (np.where(good, year, 1970) - 1970).astype("M8[Y]").astype("M8[M]") + np.where(good, month - 1, 0)
    days = months.astype("M8[D]") + np.where(good, day - 1, 0)
    good &= days.astype("M8[M]") == months
    seconds = 3600.0 * hour + 60.0 * (minute - _zone_minutes(text("zone"))) + second
    return np.where(good, days.astype("M8[us]") + np.round(seconds * 1e6).astype("m8[us]"), np.datetime64("NaT", "us"))


def _zone_minutes(zones: Any) -> np.ndarray:
    """Minutes east of Greenwich, (n,): dates with a time zone become those of UTC."""
    import pyarrow as pa
    import pyarrow.compute as pc

    found = pc.extract_regex(zones, r"^(?P<sign>[+-])(?P<hours>\d{2}):?(?P<minutes>\d{2})$")
    hours, minutes = (
        _numpy(pc.fill_null(pc.struct_field(found, name).cast(pa.int64()), 0)) for name in ("hours", "minutes")
    )
    negative = _numpy(pc.fill_null(pc.equal(pc.struct_field(found, "sign"), "-"), False))
    return np.where(negative, -1, 1) * (60 * hours + minutes)


def _numpy(values: Any) -> np.ndarray:
    import pyarrow as pa

    return values.to_numpy() if isinstance(values, pa.ChunkedArray) else values.to_numpy(zero_copy_only=False)

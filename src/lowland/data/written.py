"""Numbers, dates and missing values as people write them in text."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

MISSING = (  # as Arrow knows them
    "", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN", "N/A", "NA", "NULL",
    "NaN", "n/a", "nan", "null",
)  # fmt: skip

# --- numbers ----------------------------------------------------------------------------------------------------------

CURRENCY = r"(?:[$€£¥₹₽₩₺]|USD|EUR|GBP|CHF|JPY|R\$|kr|zł|Fr\.)"
SPACE = "[ \u00a0\u202f\u2009]"
_IN_WORDS = {
    "percent": "percentages", "currency": "currency", "parentheses": "negative numbers in parentheses"
}  # fmt: skip
GROUPED = {",": ",", ".": r"\.", " ": SPACE, "'": "['’]"}  # thousands separators that are detected


_AFFIXES = re.compile(rf"{CURRENCY}|[%()+\-−]|\s")  # \s has all spaces of Unicode
_GROUPS = {mark: re.compile(rf"[1-9]\d{{0,2}}(?:{re.escape(mark)}\d{{3}})+") for mark in ",."}
_DECIMALS = {mark: re.compile(rf"\d*{re.escape(mark)}\d+(?:[eE]\d+)?") for mark in ",."}


def decimal_of(cells: Iterable[str], thousands: str | None, *, prefers_comma: bool) -> tuple[str, str | None]:
    """Return the decimal mark of the numbers among some cells, and a sentence if it may be wrong.

    It is a comma if some number has one and none has a decimal point. "1,234" and "1.234" decide nothing by themselves:
    if all numbers are such, a comma is a decimal mark only if ``prefers_comma``, as between semicolons.
    """
    commas = points = comma_groups = point_groups = 0
    for cell in cells:
        if "," not in cell and "." not in cell:
            continue
        number = _AFFIXES.sub("", cell)
        bare = number.replace(".", "") if "," in number and number.rfind(".") < number.rfind(",") else number
        if _GROUPS[","].fullmatch(bare) and bare == number:
            comma_groups += 1
        elif _DECIMALS[","].fullmatch(bare):
            commas += 1
        elif _GROUPS["."].fullmatch(number):
            point_groups += 1
        elif _DECIMALS["."].fullmatch(number.replace(",", "")):
            points += 1
    if thousands == "." and commas + comma_groups:
        return ",", None
    if points or (point_groups and not commas):
        only = not points and prefers_comma and thousands is None
        return ".", _doubt("point", "1.234", "decimal=','") if only else None
    if commas:
        return ",", None
    return (",", _doubt("comma", "1,234", "thousands=','")) if comma_groups and prefers_comma else (".", None)


def _doubt(mark: str, example: str, remedy: str) -> str:
    return (
        f"Every number with a {mark} has three digits after it, such as {example}. It was read as a decimal {mark}. If "
        f"the {mark} separates thousands, use {remedy}."
    )


@dataclass(frozen=True)
class WrittenNumbers:
    """The form of the numbers of one column of text, and their conversion."""

    decimal: str = "."
    thousands: str = ""  # "" for none
    affix: str = ""  # "percent", "currency", "parentheses" around negative numbers, or ""

    @property
    def pattern(self) -> str:
        """The regular expression that every number of this form matches."""
        digits = r"\d+"
        if self.thousands:
            digits = rf"(?:[1-9]\d{{0,2}}(?:{self._between}\d{{3}})+|\d+)"  # 0,461 is not a group of thousands
        number = rf"(?:{digits}(?:{re.escape(self.decimal)}\d*)?|{re.escape(self.decimal)}\d+)(?:[eE][+-]?\d+)?"
        if self.affix == "parentheses":
            money = rf"{CURRENCY}?{SPACE}*"
            return rf"^(?:\({money}{number}\)|[+\-−]?{money}{number})$"
        if self.affix == "percent":
            return rf"^[+\-−]?{number}{SPACE}*%$"
        if self.affix == "currency":
            return rf"^(?:[+\-−]?{CURRENCY}{SPACE}*[+\-−]?{number}|[+\-−]?{number}{SPACE}*{CURRENCY}|[+\-−]?{number})$"
        return rf"^[+\-−]?{number}$"

    @property
    def _between(self) -> str:
        return GROUPED.get(self.thousands, re.escape(self.thousands))

    def matches(self, column: Any) -> Any:
        """Return for each cell of an Arrow column of text whether it is a number of this form; null if missing."""
        return pc.match_substring_regex(pc.utf8_trim_whitespace(column), self.pattern)

    def convert(self, column: Any) -> Any:
        """Return an Arrow column of text as float64; a cell of another form is missing, ``matches`` finds it."""
        text = pc.utf8_trim_whitespace(column)
        text = pc.if_else(pc.match_substring_regex(text, self.pattern), text, pa.scalar(None, text.type))
        if self.affix == "parentheses":
            text = pc.replace_substring_regex(text, r"^\((.*)\)$", r"-\1")
        if self.affix:
            text = pc.replace_substring_regex(text, rf"{CURRENCY}|%|{SPACE}", "")
        if self.thousands:
            text = pc.replace_substring_regex(text, self._between, "")
        if self.decimal != ".":
            text = pc.replace_substring(text, self.decimal, ".")
        text = pc.replace_substring(text, "−", "-")
        return pc.cast(pc.replace_substring_regex(text, r"^\+", ""), pa.float64())

    def in_words(self) -> str:
        """Return the form in words."""
        named = {" ": "spaces", ",": "commas", ".": "points", "'": "apostrophes"}
        parts = [_IN_WORDS[self.affix]] if self.affix else []
        if self.thousands:
            parts.append(f"{named.get(self.thousands, repr(self.thousands))} between thousands")
        return " with ".join(parts) if parts else "unusual signs of numbers"


def form_of(column: Any, decimal: str, thousands: str | None) -> WrittenNumbers | None:
    """Return the form of an Arrow column of text if every cell is a number of one form; None for other text."""
    column = column.drop_null()
    if not len(column):
        return None
    head = column.slice(0, 20)
    separators = [""] + ([c for c in GROUPED if c != decimal] if thousands is None else [thousands] * (thousands != ""))
    for affix in ("", *_IN_WORDS):
        for separator in separators:
            form = WrittenNumbers(decimal, separator, affix)
            if all(pc.all(form.matches(part)).as_py() for part in (head, column)):
                return form
    return None


# --- dates ------------------------------------------------------------------------------------------------------------

ORDERS = ("year first", "day first", "month first")
_TIME = (
    r"(?:[ T,]+(?P<hour>\d{1,2}):(?P<minute>\d{2})(?::(?P<second>\d{2}(?:\.\d{1,9})?))?"
    r"(?: ?(?P<half>[AaPp])\.?[Mm]\.?)?)? ?(?:Z|UTC|(?P<zone_sign>[+-])(?P<zone_hours>\d{2}):?(?P<zone_minutes>\d{2}))?"
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
        """The order. None means the texts are not dates. Where the values decide nothing, the usual one."""
        if len(self.possible) < 2:
            return self.possible[0] if self.possible else None
        return "month first" if self.has_slashes else "day first"

    @property
    def is_assumed(self) -> bool:
        """Whether the values allow both orders."""
        return len(self.possible) > 1


def dates_of(texts: Any, order: str) -> np.ndarray:
    """Return an Arrow column of texts as datetime64[us]; NaT where a text is missing or not a date of this order."""
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
    zone = number("zone_hours") * 60 + number("zone_minutes")  # dates with a time zone become those of UTC
    east = np.where(_numpy(pc.equal(text("zone_sign"), "-")), -1, 1) * zone
    seconds = 3600.0 * hour + 60.0 * (minute - east) + second
    return np.where(good, days.astype("M8[us]") + np.round(seconds * 1e6).astype("m8[us]"), np.datetime64("NaT", "us"))


def _numpy(values: Any) -> np.ndarray:
    return values.to_numpy() if isinstance(values, pa.ChunkedArray) else values.to_numpy(zero_copy_only=False)

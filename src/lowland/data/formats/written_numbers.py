"""Numbers as people write them: with a thousands separator, a currency or a percent sign."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

CURRENCY = r"(?:[$€£¥₹₽₩₺]|USD|EUR|GBP|CHF|JPY|R\$|kr|zł|Fr\.)"
SPACE = "[ \u00a0\u202f\u2009]"
_IN_WORDS = {
    "percent": "percentages", "currency": "currency", "parentheses": "negative numbers in parentheses"
}  # fmt: skip
GROUPED = {",": ",", ".": r"\.", " ": SPACE, "'": "['’]"}  # thousands separators that are detected


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
            digits = rf"(?:\d{{1,3}}(?:{self._between}\d{{3}})+|\d+)"
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
        import pyarrow.compute as pc

        return pc.match_substring_regex(pc.utf8_trim_whitespace(column), self.pattern)

    def convert(self, column: Any) -> Any:
        """Return an Arrow column of text as float64; a cell of another form is missing, ``matches`` finds it."""
        import pyarrow as pa
        import pyarrow.compute as pc

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
    import pyarrow.compute as pc

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

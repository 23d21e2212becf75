"""The dialect of a CSV file, detected in its first lines: encoding, separator, decimal mark, header."""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

from lowland.data.read_options import ReadOptions
from lowland.data.written import decimal_of
from lowland.errors import DataError, listed, warn

SEPARATORS = ",;\t|"
MOST_CELLS, MOST_LINES = 200_000, 1000  # of the sample
MOST_TITLES = 20  # lines above a header
SHOWN_NAMES = 6
SHOWN = {"\t": "tab", ";": "semicolon", ",": "comma", "|": "vertical bar", " ": "space"}

_NUMBER = re.compile(r"[+-]?(?:\d+|\d*\.\d+(?:[eE][+-]?\d+)?)")


@dataclass
class Dialect:
    """How the text of a file is cut into cells and numbers."""

    encoding: str = "utf8"
    separator: str = ","
    decimal: str = "."
    records: list[list[str]] = field(default_factory=list)  # the first lines, cut into cells, from the header on
    skipped: int = 0  # lines above the header: titles and comments
    has_quotes: bool = False
    notes: list[str] = field(default_factory=list)  # what was detected, a clause each
    doubt: str | None = None  # a guess that may be wrong, a sentence


def detect(head: bytes, default: str, read: ReadOptions, source: str = "The file") -> Dialect:
    """Return the dialect of a file that begins with ``head``; ``default`` is the separator of its extension."""
    found = Dialect(read.encoding or encoding_of(head))
    if read.encoding is None and codecs.lookup(found.encoding).name not in ("utf-8", "utf-8-sig", "ascii"):
        found.notes.append(f"encoding {found.encoding}")
    text = codecs.getincrementaldecoder(found.encoding)(errors="replace").decode(head).lstrip("\ufeff")
    if "\0" in text:
        raise DataError(
            f"{source} looks like a binary file, not like text. Rename it to the extension of its format, such as "
            ".xlsx or .parquet, or export the table as CSV."
        )
    found.has_quotes = '"' in text
    found.separator = read.separator or _separator(text, default)
    if read.separator is None and found.separator != default:
        found.notes.append(f"separator {SHOWN[found.separator]}")
    found.records = _records(text, found.separator)
    titles = 0 if read.header is False else count_titles(found.records)
    if titles:
        found.records, found.skipped = found.records[titles:], _lines_of(text, found.separator, titles)
        found.notes.append(in_words(titles))
    _find_decimal(found, read)
    return found


def encoding_of(head: bytes) -> str:
    """Return the encoding: by a byte order mark, by the zeros of UTF-16, UTF-8 if valid, otherwise cp1252."""
    for mark, name in ((codecs.BOM_UTF8, "utf8"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16")):
        if head.startswith(mark):
            return name
    if len(head) >= 4 and head[1:2] == b"\0" and head[3:4] == b"\0":
        return "utf-16-le"
    if len(head) >= 4 and head[:1] == b"\0" and head[2:3] == b"\0":
        return "utf-16-be"
    try:
        codecs.getincrementaldecoder("utf8")().decode(head)  # the last character may be cut
        return "utf8"
    except UnicodeDecodeError:
        undefined = (0x81, 0x8D, 0x8F, 0x90, 0x9D)
        return "latin-1" if any(code in head for code in undefined) else "cp1252"


def _separator(text: str, default: str) -> str:
    """Return the separator that cuts every line into the same number of cells: of several, the one with most cells.

    If none does, one that cuts a header without row names, as R writes it, or one that cuts most lines evenly.
    """
    even, named, uneven = [], [], []
    for separator in dict.fromkeys(default + SEPARATORS):
        records = _records(text, separator)
        records = records[count_titles(records) :]
        width = len(records[0]) if records else 0
        if width > 1 and all(len(record) == width for record in records[1:]):
            even.append((width, separator))
        elif has_row_names(records):
            named.append((width, separator))
        elif width > 1 and 2 * sum(len(record) == width for record in records[1:]) > len(records) - 1:
            uneven.append((width, separator))
    found = even or named or uneven
    return max(found, key=lambda pair: pair[0])[1] if found else default  # of equals, the first


def count_titles(records: list[list[str]]) -> int:
    """Return the number of lines above the header: titles of one cell, and comments that begin with #.

    They count only if a line of names follows, and then rows as wide as that line.
    """
    count = 0
    for record in records[: MOST_TITLES + 1]:
        filled = sum(bool(cell.strip()) for cell in record)
        if filled > 1 and (not record[0].startswith("#") or len(record) == len(records[-1])):
            break  # neither one filled cell, nor a comment that is not as wide as a row
        count += 1
    if not 0 < count <= min(MOST_TITLES, len(records) - 1):
        return 0
    header, rows = records[count], records[count + 1 :]
    width = len(header)
    is_comment = all(record[0].startswith("#") for record in records[:count])
    if not rows or width < (2 if is_comment else 3) or any(len(row) != width for row in rows):
        return 0
    return 0 if any(not cell.strip() or _is_number(cell) for cell in header[1:]) else count


def in_words(titles: int) -> str:
    """Return a clause that says how many lines above the header were skipped."""
    return f"{titles} line{'s' * (titles > 1)} above the header skipped"


def _lines_of(text: str, separator: str, records: int) -> int:
    """The number of lines above the record with this number, with blank lines."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
    above = 0
    for record in reader:
        records -= bool(record)
        if records < 0:
            return above
        above = reader.line_num
    return above


def are_separated_by_spaces(records: list[list[str]]) -> bool:
    """Whether every line is one cell of as many words as the last, and those of all rows are numbers."""
    if len(records) < 3 or any(len(record) != 1 for record in records):
        return False
    lines = [record[0].split() for record in records]
    width = len(lines[-1])
    return width > 1 and all(len(line) == width and all(map(_is_number, line)) for line in lines[1:])


def has_row_names(records: list[list[str]]) -> bool:
    """Whether the rows have one cell more than the header, a row name, as R writes them: unique text, or 1, 2, 3, …

    Other numbers may be one half of a number with a decimal comma.
    """
    if len(records) < 3 or len(records[0]) < 2:
        return False
    width, rows = len(records[0]) + 1, records[1:]
    if any(len(row) != width for row in rows) or not rows[0][-1]:
        return False
    names = [row[0] for row in rows]
    counted = len(names) > 2 and names == [str(i + 1) for i in range(len(names))]
    return counted or (len({*names}) == len(names) and not any(_is_number(name) for name in names))


def _is_number(text: str) -> bool:
    return bool(_NUMBER.fullmatch(text.strip()))


def _records(text: str, separator: str) -> list[list[str]]:
    """Return the first lines cut into cells, without the last, which may be cut off; blank lines are skipped."""
    found: list[list[str]] = []
    cells = 0
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
    held: list[str] = []
    try:
        for record in reader:
            found += [held] if held else []
            cells += len(held)
            if cells > MOST_CELLS or reader.line_num > MOST_LINES:
                return found
            held = record
    except csv.Error:  # a cell longer than a block: not this separator
        return found
    complete = text.endswith(("\n", "\r")) or len(text) < 2**20
    return [*found, held] if held and complete else found


def _find_decimal(found: Dialect, read: ReadOptions) -> None:
    """Set the decimal mark, and the doubt about it."""
    if read.decimal is not None:
        found.decimal = read.decimal
    elif read.thousands != "," and (found.separator != "," or found.has_quotes):
        cells = (cell for record in found.records[1:] for cell in record)
        found.decimal, found.doubt = decimal_of(cells, read.thousands, prefers_comma=found.separator == ";")
        if found.decimal == "," and read.thousands != ".":
            found.notes.append("decimal comma")


# --- names of columns -------------------------------------------------------------------------------------------------


def are_names(cells: list[str], source: str, separator: str = ",") -> bool:
    """Whether a first line of numbers contains names: only 0, 1, 2, …, as pandas writes them. Warn of the guess."""
    found = len(cells) > 2 and cells == [str(j) for j in range(len(cells))]
    shown = separator.join(cells[:5]) + (separator + "…") * (len(cells) > 5)
    was = "taken for column names" if found else "read as the first row, and the columns are named x0, x1, …"
    warn(
        f"The first line of {source}, {shown!r}, contains only numbers. It was {was}. If this is wrong, use "
        f"`open_rows(file, header={not found})`, or write column names that are not numbers into the first line."
    )
    return found


def warn_if_row(names: Sequence[str], texts: Collection[str], source: str) -> None:
    """Warn if the names may be a row: some are numbers, and only columns of text have other names."""
    numbers = [name for name in names if is_float(name)]
    if 0 < len(numbers) < len(names) and all(is_float(name) or name in texts for name in names):
        warn(
            f"The first line of {source} was taken for column names, although {numbers[0]!r} is a number. If it is a "
            "row, use `open_rows(file, header=False)`, or add a line of column names."
        )


def is_float(text: str) -> bool:
    """Whether Python reads a text as a number."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def complete_names(cells: Sequence[str], first_values: Sequence[Any]) -> tuple[list[str], str | None, list[str]]:
    """Return names for all columns, that of row ids or None, and what was changed, a clause each.

    An unnamed first column of unique values contains the ids of the rows: R and pandas write row names in this way.
    ``first_values`` are the first values of the first column.
    """
    unnamed = [j for j, cell in enumerate(cells) if not cell and len(cells) > 1]
    names, repeated = _unique([cell or f"column {j + 1}" if len(cells) > 1 else cell for j, cell in enumerate(cells)])
    id_name, clauses = None, []
    if unnamed:
        places = ", ".join(str(j + 1) for j in unnamed[:SHOWN_NAMES]) + ", …" * (len(unnamed) > SHOWN_NAMES)
        many = len(unnamed) > 1
        clauses.append(f"a name for column{'s' * many} {places}, which ha{'ve' if many else 's'} none")
    if repeated:
        clauses.append(f"new names for duplicates: {listed(repeated)}")
    if unnamed[:1] == [0] and len(first_values) and len({*first_values}) == len(first_values):
        id_name = names[0]
        clauses.append(f"{names[0]!r} as the ids of the rows, not as a feature")
    return names, id_name, clauses


def _unique(names: list[str]) -> tuple[list[str], list[str]]:
    """Return the names with suffixes for duplicates, such as "a (2)", and the new names."""
    taken: set[str] = {*names}
    seen: set[str] = set()
    found, new = [], []
    for name in names:
        unique, count = name, 1
        while unique in seen or (count > 1 and unique in taken):
            count += 1
            unique = f"{name} ({count})"
        seen.add(unique)
        found.append(unique)
        if unique != name:
            new.append(unique)
    return found, new

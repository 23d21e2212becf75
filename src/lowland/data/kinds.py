"""The kind of each column of a table, found in one pass: numbers, categories, dates, text, ids, constants.

``look`` shows the kinds, and ``TablePreparer`` encodes the columns by them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

import numpy as np

from lowland.data.dates import WrittenDates
from lowland.data.formats.arrow import content_of, holds_numbers
from lowland.data.formats.written_numbers import WrittenNumbers
from lowland.data.problems import MOST_MARKS
from lowland.data.suspect_columns import SuspectColumn, suspect_columns

Kind = Literal["number", "integer", "boolean", "category", "ordered", "date", "text", "id", "constant", "missing"]
KINDS: tuple[str, ...] = get_args(Kind)
MOST_DISTINCT = 1000  # distinct values counted exactly
MOST_TEXTS = 50_000  # distinct texts counted, to tell ids from text
FEW = 10  # distinct texts that are a category however few the rows
MOST_CLASSES = 50  # distinct texts of a category, or one per 20 rows
WORDS_OF_TEXT = 3  # mean number of words from which on many distinct values are text
WORDS_OF_ID, LONGEST_ID, LEAST_IDS = 2, 40, 10  # mean words, characters, rows: distinct texts that are ids
HELD_ROWS, HELD_CELLS = 20_000, 2**22  # numbers kept to look for ids and codes
MOST_ROWS_COMPARED = 5_000_000  # rows whose duplicates are counted
TRUE = {"yes", "true", "y", "t", "1", "ja", "oui", "si", "sí"}
FALSE = {"no", "false", "n", "f", "0", "nein", "nee", "non"}
_WORDS_OF_MARKS = {"n/k", "unknown", "unk", "missing", "none", "nil", "not available", "no data", "tbd"}


@dataclass
class ColumnKind:
    """A column: its kind, and what was counted."""

    name: str
    kind: str = ""  # one of KINDS
    n: int = 0
    missing: int = 0
    distinct: int | None = None  # None: more than MOST_DISTINCT
    examples: tuple[str, ...] = ()
    min: float | None = None
    max: float | None = None
    mean: float | None = None
    sd: float | None = None
    detail: str = ""  # why it looks like an id or a code, or which order of dates was assumed
    date_order: str | None = None  # of dates written as text
    is_nested: bool = False  # lists or records
    marks: tuple[str, ...] = ()  # a few texts among numbers, which may mark missing values
    mark_rows: tuple[int, ...] = ()  # where each occurs first, from 1


@dataclass
class _Counts:
    """What one pass counts of one column."""

    n: int = 0
    missing: int = 0
    is_numeric: bool = True
    is_boolean: bool = True
    is_integer: bool = True
    is_date: bool = True  # dates that are not written as text
    is_ordered: bool = False
    is_text: bool = False
    is_nested: bool = False
    is_duration: bool = False  # or a time of day
    dates: WrittenDates = field(default_factory=WrittenDates)
    words: int = 0
    longest: int = 0
    repeats: bool = False  # whether a text occurred twice
    values: dict[Any, None] | None = field(default_factory=dict)  # None: too many
    low: float = np.inf
    high: float = -np.inf
    mean: float = 0.0
    squares: float = 0.0  # of the deviations from the mean
    count: int = 0
    written: int = 0  # numbers among text
    others: dict[str, int] = field(default_factory=dict)  # the other texts and their first rows, while they are few

    def add(self, column: Any) -> Any:
        """Count a batch of values; return its numbers, (m,) float64 with NaN for missing, or None."""
        import pyarrow as pa
        import pyarrow.compute as pc

        kinds, kind = pa.types, column.type
        self.is_nested = self.is_nested or bool(kinds.is_nested(kind))
        if kinds.is_nested(kind) or kinds.is_binary(kind) or kinds.is_large_binary(kind):
            column = pa.array([None if value is None else str(value) for value in column.to_pylist()], pa.string())
            kind = column.type
        elif kinds.is_dictionary(kind):
            self.is_ordered = bool(kind.ordered)
            column, kind = column.dictionary_decode(), kind.value_type
        before, self.n = self.n, self.n + len(column)
        if kinds.is_null(kind):
            self.missing += len(column)
            return np.full(len(column), np.nan)
        if holds_numbers(kind):
            numbers = pc.cast(column, pa.float64(), safe=False).to_numpy(zero_copy_only=False)
            self._add_numbers(numbers, is_boolean=bool(kinds.is_boolean(kind)))
            return numbers
        observed = column.drop_null()
        self.missing += column.null_count
        self.is_numeric = self.is_numeric and not len(observed)
        self.is_boolean = self.is_integer = False
        self.is_duration = bool(kinds.is_duration(kind) or kinds.is_time(kind))
        self.is_date = self.is_date and bool(kinds.is_temporal(kind)) and not self.is_duration
        distinct = pc.unique(observed)
        if content_of(kind) == "text":
            self._add_text(observed, distinct)
            for text in [text for text, row in self.others.items() if row < 0]:
                self.others[text] = before + pc.index(column, text).as_py() + 1
        self._add_values(distinct.to_pylist())
        return None

    def _add_text(self, column: Any, distinct: Any) -> None:
        """Count words and the numbers among text; collect the other texts while they are few."""
        import pyarrow.compute as pc

        self.is_text = True
        self.dates.add(distinct)
        self.words += pc.sum(pc.count_substring_regex(column, r"\S+")).as_py() or 0
        self.longest = max(self.longest, pc.max(pc.utf8_length(distinct)).as_py() or 0)
        self.repeats = self.repeats or len(distinct) < len(column) or self._has_seen(distinct)
        is_number = pc.match_substring_regex(pc.utf8_trim_whitespace(column), WrittenNumbers().pattern)
        self.written += pc.sum(is_number).as_py() or 0
        if len(self.others) <= MOST_MARKS:
            others = pc.unique(column.filter(pc.invert(is_number))).slice(0, MOST_MARKS + 1).to_pylist()
            self.others = {**dict.fromkeys(others, -1), **self.others}

    def _has_seen(self, distinct: Any) -> bool:
        return bool(self.values) and any(text in (self.values or ()) for text in distinct.to_pylist())

    def _add_numbers(self, numbers: np.ndarray, *, is_boolean: bool) -> None:
        x = numbers[~np.isnan(numbers)]
        self.missing += len(numbers) - len(x)
        self.is_date = False
        self.is_boolean = self.is_boolean and is_boolean
        if not len(x):
            return
        self.is_integer = self.is_integer and bool((x == np.floor(x)).all())
        self.low, self.high = min(self.low, float(x.min())), max(self.high, float(x.max()))
        with np.errstate(over="ignore", invalid="ignore"):
            m, total = float(x.mean()), self.count + len(x)
            step = m - self.mean
            self.squares += float(((x - m) ** 2).sum()) + step**2 * self.count * len(x) / total
            self.mean, self.count = self.mean + step * len(x) / total, total
        if self.values is not None:
            self._add_values(np.unique(x)[: MOST_DISTINCT + 1].tolist())

    def _add_values(self, values: list[Any]) -> None:
        if self.values is None:
            return
        self.values.update(dict.fromkeys(values))
        if len(self.values) > MOST_DISTINCT and (self.is_numeric or len(self.values) > MOST_TEXTS):
            self.values = None


@dataclass(frozen=True)
class TableKinds:
    """The kinds of all columns of a table."""

    source: str
    n: int
    columns: tuple[ColumnKind, ...]
    duplicates: int | None  # rows that equal an earlier one; None: too many rows to compare
    suspects: tuple[SuspectColumn, ...]  # ids, codes and a column that dominates
    id_name: str | None
    notes: tuple[str, ...]


def kinds_of(
    batches: Iterable[Any],
    source: str,
    id_name: str | None = None,
    notes: Iterable[str] = (),
    *,
    duplicates: bool = True,
) -> TableKinds:
    """Return the kinds of the columns of Arrow record batches, read once; ``duplicates``: whether to count rows."""
    counts: dict[str, _Counts] = {}
    hashes: list[np.ndarray] | None = [] if duplicates else None
    held: dict[str, list[np.ndarray]] = {}
    n = 0
    for batch in batches:
        row_hash = np.zeros(batch.num_rows, dtype=np.uint64)
        keeps = n < HELD_ROWS and n * batch.num_columns < HELD_CELLS
        for name, column in zip(batch.schema.names, batch.columns, strict=True):
            numbers = counts.setdefault(name, _Counts()).add(column)
            if keeps and numbers is not None:
                held.setdefault(name, []).append(numbers)
            if hashes is not None and name != id_name:
                row_hash = row_hash * np.uint64(0x9E3779B97F4A7C15) + _hashes(column, numbers)
        n += batch.num_rows
        if hashes is not None:
            hashes.append(row_hash)
            hashes = hashes if n <= MOST_ROWS_COMPARED else None
    equal = None if hashes is None else n - (len(np.unique(np.concatenate(hashes))) if hashes else 0)
    suspects = _suspects({k: v for k, v in held.items() if counts[k].is_numeric})
    columns = tuple(_kind(name, c, suspects.get(name), name == id_name) for name, c in counts.items())
    return TableKinds(source, n, columns, equal, tuple(suspects.values()), id_name, tuple(notes))


def _hashes(column: Any, numbers: np.ndarray | None) -> np.ndarray:
    """One hash per cell, (m,) uint64; equal cells have equal hashes."""
    if numbers is not None:
        return (numbers + 0.0).view(np.uint64) ^ (numbers.view(np.uint64) >> np.uint64(32))
    import pyarrow as pa

    if pa.types.is_nested(column.type):
        column = pa.array(list(map(str, column.to_pylist())), pa.string())
    encoded = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
    words = np.array([hash(str(v)) & (2**64 - 1) for v in encoded.dictionary.to_pylist()] + [1], dtype=np.uint64)
    codes = encoded.indices.to_numpy(zero_copy_only=False)
    return words[np.where(np.isnan(codes), len(words) - 1, codes).astype(np.int64)]


def _suspects(held: dict[str, list[np.ndarray]]) -> dict[str, SuspectColumn]:
    columns = {name: np.concatenate(parts) for name, parts in held.items()}
    height = min(map(len, columns.values()), default=0)
    if len(columns) < 2 or height < 2:
        return {}
    X = np.column_stack([values[:height] for values in columns.values()])
    X = X[:, (kept := ~np.isnan(X).any(axis=0))]
    names = [name for name, keep in zip(columns, kept, strict=True) if keep]
    found: dict[str, SuspectColumn] = {}
    for suspect in suspect_columns(X, names, scaled=False) if len(names) > 1 else ():
        found.setdefault(suspect.name, suspect)  # ids and codes come first
    return found


def _kind(name: str, c: _Counts, suspect: SuspectColumn | None, is_id: bool) -> ColumnKind:
    values = None if c.values is None else list(c.values)
    distinct = None if values is None or len(values) > MOST_DISTINCT else len(values)
    found = ColumnKind(name, n=c.n, missing=c.missing, distinct=distinct)
    found.examples = tuple(str(v) for v in (values or [])[:3])
    if c.is_numeric and c.count:
        found.min, found.max, found.mean = c.low, c.high, c.mean
        found.sd = float(np.sqrt(c.squares / (c.count - 1))) if c.count > 1 else 0.0
    found.kind = _kind_of(c, values, suspect, is_id)
    found.is_nested = c.is_nested
    if not is_id and _has_marks(c, values):
        found.kind, found.marks, found.mark_rows = "text", tuple(c.others), tuple(c.others.values())
    if found.kind == "date" and c.is_text:
        found.date_order = c.dates.order
        found.detail = f"{c.dates.order} assumed" if c.dates.is_assumed else str(c.dates.order)
    if suspect is not None and suspect.kind != "dominant":
        found.detail = f"like a code: {suspect.detail}" if suspect.kind == "code" else suspect.detail or suspect.kind
    return found


def _has_marks(c: _Counts, values: list[Any] | None) -> bool:
    """Whether a column of text has numbers in most cells, and a few other texts that may mark missing values."""
    if not 0 < len(c.others) <= MOST_MARKS or 2 * (c.count + c.written) <= c.n - c.missing:
        return False
    return values is None or len(values) > FEW or all(_looks_missing(text) for text in c.others)


def _looks_missing(text: str) -> bool:
    word = text.strip().lower()
    return word in _WORDS_OF_MARKS or not any(character.isalnum() for character in word)


def _kind_of(c: _Counts, values: list[Any] | None, suspect: SuspectColumn | None, is_id: bool) -> Kind:
    present = c.n - c.missing
    if present == 0:
        return "missing"
    if is_id or (suspect is not None and suspect.kind in ("row number", "identifier")):
        return "id"
    if c.is_ordered:
        return "ordered"
    if values is not None and len(values) == 1:
        return "category" if c.is_text and c.missing else "constant"  # missing or not is a difference
    if c.is_boolean or (values is not None and _are_yes_or_no(values)):
        return "boolean"
    if c.is_numeric or c.is_duration:
        return "integer" if c.is_integer else "number"
    if c.is_date or (c.is_text and c.dates.order is not None):
        return "date"
    return "text" if c.is_nested else _kind_of_text(c, values, present)


def _are_yes_or_no(values: list[Any]) -> bool:
    if len(values) > 8:
        return False
    words = {str(int(v) if v in (0, 1) else v).strip().lower() for v in values}
    return len(words) == 2 and len(words & TRUE) == len(words & FALSE) == 1


def _kind_of_text(c: _Counts, values: list[Any] | None, present: int) -> Kind:
    """An id, if every text differs and is short; a category, if few differ; text."""
    words = c.words / present
    if not c.repeats and present >= LEAST_IDS and words <= WORDS_OF_ID and c.longest <= LONGEST_ID:
        return "id"
    if values is None:
        return "text"
    many = len(values)
    if many <= FEW and (many < present or words < WORDS_OF_TEXT):
        return "category"
    if many > max(MOST_CLASSES, present // 20) or 2 * many > present:
        return "text"
    return "text" if many > MOST_CLASSES and words >= WORDS_OF_TEXT else "category"

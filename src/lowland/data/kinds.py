"""The kind of each column of a table, found in one pass: numbers, categories, dates, text, ids, constants.

``look`` shows the kinds, and ``TablePreparer`` encodes the columns by them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lowland.data.problems import MOST_MARKS
from lowland.data.reader import content_of, holds_numbers
from lowland.data.scales import are_counts
from lowland.data.suspect_columns import SuspectColumn, is_called_id, is_called_year, suspect_columns
from lowland.data.vectors import is_list_of_numbers, ragged_words, vector_of
from lowland.data.written import WrittenDates, WrittenNumbers

Kind = Literal["number", "integer", "boolean", "category", "ordered", "date", "text", "id", "constant", "missing"]
KINDS: tuple[str, ...] = get_args(Kind)
MOST_DISTINCT = 1000  # distinct values counted exactly
SEEN_FIRST = 4 * MOST_DISTINCT  # rows that are looked at before all are sorted
MOST_TEXTS = 50_000  # distinct texts counted, to tell ids from text
FEW = 10  # distinct texts that are a category however few the rows
MOST_CLASSES = 50  # distinct texts of a category, or one per 20 rows
WORDS_OF_TEXT = 3  # mean number of words from which on many distinct values are text
WORDS_OF_ID, LONGEST_ID, LEAST_IDS = 2, 40, 10  # mean words, characters, rows: distinct texts that are ids
HELD_ROWS, HELD_CELLS = 20_000, 2**22  # numbers kept to look for ids and codes
BLOCK_CELLS = 2**20  # numbers counted at once
MOST_ROWS_COMPARED = 5_000_000  # rows whose duplicates are counted
TRUE = {"yes", "true", "y", "t", "1", "ja", "oui", "si", "sí"}
FALSE = {"no", "false", "n", "f", "0", "nein", "nee", "non"}
YEARS = 1800, 2100
MOSTLY_MISSING = 0.5  # fraction of missing values above which a column is not used unless it is named
MOST_UNITS = 4  # units of a column of numbers with units
_QUANTITY = re.compile(
    r"^\s*[+\-−]?\d+(?:(?:[.,]\d+)?\s*(?P<unit>[^\W\d_]{1,5}[²³/]?[^\W\d_]{0,3}|°[CF]?)|(?::\d{2}){1,2})\s*$"
)
_WORDS_OF_MARKS = {
    "n/k", "unknown", "unk", "missing", "none", "nil", "not available", "not applicable", "not reported", "no data",
    "tbd", "nd", "n.d.", "k.a.", "k. a.", "s.d.", "n.v.t.", "unbekannt", "inconnu", "desconocido", "onbekend",
}  # fmt: skip


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
    zeros: int = 0  # numbers that are 0
    detail: str = ""  # why it looks like an id or a code, or which order of dates was assumed
    unused: str = ""  # why it is not a feature unless the user names it, as a noun phrase; "": it is one
    date_order: str | None = None  # of dates written as text
    is_nested: bool = False  # lists or records
    vector: str = ""  # the vector that this column of numbers belongs to
    marks: tuple[str, ...] = ()  # a few texts among numbers, which may mark missing values
    mark_rows: tuple[int, ...] = ()  # where each occurs first, from 1

    @property
    def is_infinite(self) -> bool:
        """Whether some values are infinite."""
        return self.min == -np.inf or self.max == np.inf


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
    lists: str = ""  # which rows have lists of different lengths
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
    zeros: int = 0
    count: int = 0
    written: int = 0  # numbers among text
    others: dict[str, int] = field(default_factory=dict)  # the other texts and their first rows, while they are few

    def add(self, column: Any) -> None:
        """Count a batch of values that are not numbers."""
        kinds, kind = pa.types, column.type
        self.is_nested = self.is_nested or bool(kinds.is_nested(kind))
        if is_list_of_numbers(kind) and not self.n:
            self.lists = ragged_words(column)
        if kinds.is_nested(kind) or kinds.is_binary(kind) or kinds.is_large_binary(kind):
            column = pa.array([None if value is None else str(value) for value in column.to_pylist()], pa.string())
            kind = column.type
        elif kinds.is_dictionary(kind):
            self.is_ordered = bool(kind.ordered)
            column, kind = column.dictionary_decode(), kind.value_type
        before, self.n = self.n, self.n + len(column)
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

    def _add_text(self, column: Any, distinct: Any) -> None:
        """Count words and the numbers among text; collect the other texts while they are few."""
        self.is_text = True
        self.dates.add(distinct)
        self.words += pc.sum(pc.count_substring_regex(column, r"\S+")).as_py() or 0
        self.longest = max(self.longest, pc.max(pc.utf8_length(distinct)).as_py() or 0)
        seen = self.values or ()
        self.repeats = self.repeats or len(distinct) < len(column) or any(text in seen for text in distinct.to_pylist())
        is_number = WrittenNumbers().matches(column)
        self.written += pc.sum(is_number).as_py() or 0
        if len(self.others) <= MOST_MARKS:
            others = pc.unique(column.filter(pc.invert(is_number))).slice(0, MOST_MARKS + 1).to_pylist()
            self.others = {**dict.fromkeys(others, -1), **self.others}

    def add_numbers(self, numbers: _Numbers, j: int, *, is_boolean: bool) -> None:
        """Count column j of a batch of numbers."""
        self.n += numbers.n
        count = numbers.count[j]
        self.missing += numbers.n - count
        self.is_date = False
        self.is_boolean = self.is_boolean and is_boolean
        if not count:
            return
        self.is_integer = self.is_integer and numbers.is_integer[j]
        self.zeros += numbers.zeros[j]
        self.low, self.high = min(self.low, numbers.low[j]), max(self.high, numbers.high[j])
        total, step = self.count + count, numbers.mean[j] - self.mean
        self.squares += numbers.squares[j] + step * (self.count * count / total) * step
        self.mean, self.count = self.mean + step * (count / total), total
        if self.values is not None:
            self._add_values(numbers.distinct(j))

    def _add_values(self, values: list[Any]) -> None:
        if self.values is None:
            return
        self.values.update(dict.fromkeys(values))
        if len(self.values) > MOST_DISTINCT and (self.is_numeric or len(self.values) > MOST_TEXTS):
            self.values = None


class _Numbers:
    """What is counted of several columns of numbers at once, given as X (d, m) with NaN for missing."""

    def __init__(self, X: np.ndarray) -> None:
        self.n = X.shape[1]
        is_missing = np.isnan(X)
        counts = self.n - is_missing.sum(axis=1)
        with np.errstate(over="ignore", invalid="ignore"):
            zeros = np.where(is_missing, 0.0, X)
            means = zeros.sum(axis=1) / np.maximum(counts, 1)
            self.squares = (np.where(is_missing, 0.0, X - means[:, None]) ** 2).sum(axis=1).tolist()
        self.zeros = (X == 0).sum(axis=1).tolist()
        self.count, self.mean = counts.tolist(), means.tolist()
        self.is_integer = (zeros == np.floor(zeros)).all(axis=1).tolist()
        self.low = np.where(is_missing, np.inf, X).min(axis=1, initial=np.inf).tolist()
        self.high = np.where(is_missing, -np.inf, X).max(axis=1, initial=-np.inf).tolist()
        self.X = X
        self._ordered: np.ndarray | None = None

    def hashes(self) -> np.ndarray:
        """Return one hash per number, uint64; equal numbers have equal hashes."""
        bits = (np.where(np.isnan(self.X), np.nan, self.X) + 0.0).view(np.uint64)
        return bits ^ (bits >> np.uint64(32))

    def distinct(self, j: int) -> list[float]:
        """Return the distinct values of column j, at most one more than are counted."""
        if self.n > 4 * SEEN_FIRST:  # the first rows show of most columns that they have too many
            some = np.unique(self.X[j, :SEEN_FIRST])
            some = some[~np.isnan(some)][: MOST_DISTINCT + 1]
            if len(some) > MOST_DISTINCT:
                return some.tolist()
        if self._ordered is None:  # NaN last
            self._ordered = np.sort(self.X, axis=1)
            self._is_new = np.ones(self.X.shape, dtype=bool)
            np.not_equal(self._ordered[:, 1:], self._ordered[:, :-1], out=self._is_new[:, 1:])
        count = self.count[j]
        return self._ordered[j, :count][self._is_new[j, :count]][: MOST_DISTINCT + 1].tolist()


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
    counts: bool = False  # whether the numbers count words, species or events


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
    n, vectors = 0, dict[str, str]()
    for batch in batches:
        names, kinds = batch.schema.names, batch.schema.types
        if not n:
            vectors = {f.name: vector_of(f) for f in batch.schema}
        for name in names:
            counts.setdefault(name, _Counts())
        row_hash = np.zeros(batch.num_rows, dtype=np.uint64)
        factors = np.cumprod(np.full(len(names), 0x9E3779B97F4A7C15, dtype=np.uint64))
        factors[[name == id_name for name in names]] = 0  # rows that differ only in their ids are duplicates
        keeps = n < HELD_ROWS and n * len(names) < HELD_CELLS
        numeric = [j for j, kind in enumerate(kinds) if holds_numbers(kind)]
        width = max(1, BLOCK_CELLS // max(1, batch.num_rows))
        for block in [numeric[start : start + width] for start in range(0, len(numeric), width)]:
            floats = [batch.column(j).cast(pa.float64(), safe=False) for j in block]
            numbers = _Numbers(np.stack([column.to_numpy(zero_copy_only=False) for column in floats]))
            for i, j in enumerate(block):
                counts[names[j]].add_numbers(numbers, i, is_boolean=kinds[j] == pa.bool_())
                if keeps:
                    held.setdefault(names[j], []).append(numbers.X[i])
            if hashes is not None:
                row_hash += factors[block] @ numbers.hashes()
        for j in sorted({*range(len(names))} - {*numeric}):
            counts[names[j]].add(batch.column(j))
            if hashes is not None:
                row_hash += factors[j] * _hashes(batch.column(j))
        n += batch.num_rows
        if hashes is not None:
            hashes.append(row_hash)
            hashes = hashes if n <= MOST_ROWS_COMPARED else None
    equal = None
    if hashes is not None:  # sorting is several times as fast as np.unique
        ordered = np.sort(np.concatenate([np.empty(0, dtype=np.uint64), *hashes]))
        equal = int((ordered[1:] == ordered[:-1]).sum())
    suspects = _suspects({k: v for k, v in held.items() if counts[k].is_numeric and not vectors[k]}, len(counts))
    columns = tuple(_kind(name, c, suspects.get(name), name == id_name, vectors[name]) for name, c in counts.items())
    _leave_out_others(columns)
    used = [np.concatenate(held[c.name]) for c in columns if not c.unused and c.name in held]
    counted = len({*map(len, used)}) == 1 and are_counts(np.stack(used).T)
    return TableKinds(source, n, columns, equal, tuple(suspects.values()), id_name, tuple(notes), counted)


def _hashes(column: Any) -> np.ndarray:
    """One hash per cell, (m,) uint64; equal cells have equal hashes."""
    if pa.types.is_nested(column.type):
        column = pa.array(list(map(str, column.to_pylist())), pa.string())
    encoded = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
    words = np.array([hash(str(v)) & (2**64 - 1) for v in encoded.dictionary.to_pylist()] + [1], dtype=np.uint64)
    codes = encoded.indices.to_numpy(zero_copy_only=False)
    return words[np.where(np.isnan(codes), len(words) - 1, codes).astype(np.int64)]


def _suspects(held: dict[str, list[np.ndarray]], width: int) -> dict[str, SuspectColumn]:
    """Suspect columns among the numbers of a table of ``width`` columns."""
    columns = {name: parts[0] if len(parts) == 1 else np.concatenate(parts) for name, parts in held.items()}
    height = min(map(len, columns.values()), default=0)
    if width < 2 or height < 2:
        return {}
    X = np.stack([values[:height] for values in columns.values()]).T
    found: dict[str, SuspectColumn] = {}
    for suspect in suspect_columns(X, list(columns), scaled=False, has_others=True):
        found.setdefault(suspect.name, suspect)  # ids and codes come first
    return found


def beside_vector(vector: str) -> str:
    """Return why a column is not used: a vector is a description of the whole row."""
    return f"next to the vectors in {vector!r}"


def _leave_out_others(columns: Sequence[ColumnKind]) -> None:
    """If the table has vectors, use the first of them and no other column unless the user names it."""
    vector = next((c.vector for c in columns if c.vector), "")
    for column in columns:
        if vector and column.vector != vector:
            column.unused = column.unused or beside_vector(vector)


def _kind(name: str, c: _Counts, suspect: SuspectColumn | None, is_id: bool, vector: str) -> ColumnKind:
    values = None if c.values is None else list(c.values)
    distinct = None if values is None or len(values) > MOST_DISTINCT else len(values)
    found = ColumnKind(name, n=c.n, missing=c.missing, distinct=distinct, vector=vector)
    for v in () if c.is_nested else (values or [])[:3]:
        text = f"{v:.0f}" if isinstance(v, float) and v.is_integer() and abs(v) < 2**53 else str(v)
        found.examples += (("true" if v else "false") if c.is_boolean and isinstance(v, float) else text,)
    if c.is_numeric and c.count:
        found.min, found.max, found.mean, found.zeros = c.low, c.high, c.mean, c.zeros
        found.sd = float(np.sqrt(c.squares / (c.count - 1))) if c.count > 1 else 0.0
    if vector:
        found.kind = "integer" if c.is_integer else "number"
        return found
    found.kind = _kind_of(name, c, values, suspect, is_id)
    found.is_nested, found.detail = c.is_nested, c.lists
    if found.kind == "id" and c.repeats and values is not None:
        found.detail = f"{len(values):,} distinct values in {c.n - c.missing:,} rows"
    if found.kind == "text" and values and (units := _units(values)):
        found.detail = f"numbers with units: {', '.join(units)}"
    if not is_id and _has_marks(c, values):
        found.kind, found.marks, found.mark_rows = "text", tuple(c.others), tuple(c.others.values())
    if found.kind == "date" and c.is_text:
        found.date_order = c.dates.order
        found.detail = f"{c.dates.order} assumed" if c.dates.is_assumed else str(c.dates.order)
    if suspect is not None and suspect.kind != "dominant":
        found.detail = f"like a code: {suspect.detail}" if suspect.kind == "code" else suspect.detail or suspect.kind
    found.unused = _why_unused(found, suspect)
    return found


def _why_unused(column: ColumnKind, suspect: SuspectColumn | None) -> str:
    """Return why a column is shown, but is not a feature unless the user names it; "" for a feature."""
    if column.kind == "missing":
        return "no values"
    if column.kind == "constant":
        return "only one value"
    if column.kind == "id":
        return f"an identifier ({column.detail})" if column.detail else "an identifier (every value is different)"
    if column.missing > MOSTLY_MISSING * column.n:
        return f"{column.missing / column.n:.0%} missing"
    if column.kind == "text":
        return "free text"
    if column.kind == "integer" and _are_years(column.name, column.min, column.max):
        return f"years ({column.min:.0f} to {column.max:.0f})"
    return f"codes ({suspect.detail})" if suspect is not None and suspect.kind == "code" else ""


def _are_years(name: str, low: float | None, high: float | None) -> bool:
    return is_called_year(name) and low is not None and high is not None and YEARS[0] <= low <= high <= YEARS[1]


def _has_marks(c: _Counts, values: list[Any] | None) -> bool:
    """Whether a column of text has numbers in most cells, and a few other texts that may mark missing values."""
    if not 0 < len(c.others) <= MOST_MARKS or 2 * (c.count + c.written) <= c.n - c.missing:
        return False
    words = [text.strip().lower() for text in c.others]
    look_missing = all(word in _WORDS_OF_MARKS or not any(map(str.isalnum, word)) for word in words)
    return values is None or len(values) > FEW or look_missing


def _kind_of(name: str, c: _Counts, values: list[Any] | None, suspect: SuspectColumn | None, is_id: bool) -> Kind:
    present = c.n - c.missing
    if present == 0:
        return "missing"
    is_year = c.is_numeric and c.is_integer and _are_years(name, c.low, c.high)
    if is_id or (suspect is not None and suspect.kind in ("row number", "identifier") and not is_year):
        return "id"
    if c.is_ordered:
        return "ordered"
    if values is not None and len(values) == 1:
        return "category" if c.is_text and c.missing else "constant"  # missing or not is a difference
    if c.is_boolean or (values is not None and (values == [0, 1] if c.is_numeric else _are_yes_or_no(values))):
        return "boolean"
    if c.is_numeric or c.is_duration:
        return "integer" if c.is_integer else "number"
    if c.is_date or (c.is_text and c.dates.order is not None):
        return "date"
    return "text" if c.is_nested else _kind_of_text(name, c, values, present)


def _are_yes_or_no(values: list[Any]) -> bool:
    if len(values) > 8:
        return False
    words = {str(int(v) if v in (0, 1) else v).strip().lower() for v in values}
    return len(words) == 2 and len(words & TRUE) == len(words & FALSE) == 1


def _units(values: list[Any]) -> tuple[str, ...]:
    """The units of texts that are all numbers with one of a few units, such as "54.9 kg"; () for other texts."""
    found: set[str] = set()
    for value in values:
        match = _QUANTITY.match(str(value))
        if match is None:
            return ()
        found.add(match["unit"] or "h:mm")
        if len(found) > MOST_UNITS:
            return ()
    return tuple(sorted(found))


def _kind_of_text(name: str, c: _Counts, values: list[Any] | None, present: int) -> Kind:
    """An id, if every text differs and is short, or the name says so; a category, if few differ; text."""
    words = c.words / present
    least = 2 if is_called_id(name) else LEAST_IDS
    is_quantity = values is not None and bool(_units(values))
    is_short = words <= WORDS_OF_ID and c.longest <= LONGEST_ID
    mostly_distinct = is_called_id(name) and values is not None and 2 * len(values) > present
    if not is_quantity and is_short and present >= least and (not c.repeats or mostly_distinct):
        return "id"
    if values is None:
        return "text"
    many = len(values)
    if many <= FEW and (many < present or words < WORDS_OF_TEXT):
        return "category"
    if many > max(MOST_CLASSES, present // 20) or 2 * many > present:
        return "text"
    return "text" if many > MOST_CLASSES and words >= WORDS_OF_TEXT else "category"

"""The kind of each column of a table, found in one pass: numbers, categories, dates, text, ids, constants."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from lowland.data.formats.arrow import holds_numbers
from lowland.data.formats.written_numbers import WrittenNumbers
from lowland.data.problems import MOST_MARKS
from lowland.data.suspect_columns import SuspectColumn, suspect_columns

MOST_DISTINCT = 1000  # distinct values counted exactly
MOST_CLASSES = 50  # distinct values of a category among text
HELD_ROWS, HELD_CELLS = 20_000, 2**22  # numbers kept to look for ids and codes
MOST_ROWS_COMPARED = 5_000_000  # rows whose duplicates are counted
_DATE = r"^\d{4}-\d{2}-\d{2}(?:[ T]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?)?Z?$|^\d{1,2}[./]\d{1,2}[./]\d{2,4}$"
_YES_OR_NO = ({"yes", "no"}, {"true", "false"}, {"y", "n"}, {"t", "f"}, {"0", "1"}, {"ja", "nein"}, {"oui", "non"})


@dataclass
class ColumnKind:
    """A column: its kind, and what was counted."""

    name: str
    kind: str = ""  # number, integer, boolean, category, date, text, id, constant or missing
    n: int = 0
    missing: int = 0
    distinct: int | None = None  # None: more than MOST_DISTINCT
    examples: tuple[str, ...] = ()
    min: float | None = None
    max: float | None = None
    mean: float | None = None
    sd: float | None = None
    detail: str = ""  # why it looks like an id or a code
    marks: tuple[str, ...] = ()  # a few texts among numbers, which may mark missing values


@dataclass
class _Counts:
    """What one pass counts of one column."""

    n: int = 0
    missing: int = 0
    is_numeric: bool = True
    is_boolean: bool = True
    is_integer: bool = True
    is_date: bool = True
    values: dict[Any, None] | None = field(default_factory=dict)  # None: too many
    low: float = np.inf
    high: float = -np.inf
    mean: float = 0.0
    squares: float = 0.0  # of the deviations from the mean
    count: int = 0
    written: int = 0  # numbers among text
    others: dict[str, None] = field(default_factory=dict)  # the other texts, while they are few

    def add(self, column: Any) -> Any:
        """Count a batch of values; return its numbers, (m,) float64 with NaN for missing, or None."""
        import pyarrow as pa
        import pyarrow.compute as pc

        kind = column.type
        if pa.types.is_dictionary(kind):
            column, kind = column.dictionary_decode(), kind.value_type
        self.n += len(column)
        if pa.types.is_null(kind):
            self.missing += len(column)
            return np.full(len(column), np.nan)
        numbers = None
        if holds_numbers(kind):
            numbers = pc.cast(column, pa.float64(), safe=False).to_numpy(zero_copy_only=False)
            self._add_numbers(numbers, is_boolean=bool(pa.types.is_boolean(kind)))
        else:
            self.missing += column.null_count
            self.is_numeric = self.is_numeric and column.null_count == len(column)
            self.is_boolean = self.is_integer = False
            is_text = pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)
            self.is_date = self.is_date and (
                bool(pc.all(pc.match_substring_regex(column, _DATE)).as_py() is not False)
                if is_text
                else pa.types.is_temporal(kind)
            )
            if is_text:
                self._add_text(column.drop_null())
            self._add_values(pc.unique(column.drop_null()).to_pylist())
        return numbers

    def _add_text(self, column: Any) -> None:
        """Count the numbers among text, and collect the other texts while they are few."""
        import pyarrow.compute as pc

        is_number = pc.match_substring_regex(pc.utf8_trim_whitespace(column), WrittenNumbers().pattern)
        self.written += pc.sum(is_number).as_py() or 0
        if len(self.others) <= MOST_MARKS:
            others = pc.unique(column.filter(pc.invert(is_number)))
            self.others.update(dict.fromkeys(others.slice(0, MOST_MARKS + 1).to_pylist()))

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
        if len(self.values) > MOST_DISTINCT and (self.is_numeric or len(self.values) > 50 * MOST_DISTINCT):
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


def kinds_of(batches: Iterable[Any], source: str, id_name: str | None, notes: Iterable[str]) -> TableKinds:
    """Return the kinds of the columns of Arrow record batches, read once."""
    counts: dict[str, _Counts] = {}
    hashes: list[np.ndarray] | None = []
    held: dict[str, list[np.ndarray]] = {}
    n = 0
    for batch in batches:
        row_hash = np.zeros(batch.num_rows, dtype=np.uint64)
        keeps = n < HELD_ROWS and n * batch.num_columns < HELD_CELLS
        for name, column in zip(batch.schema.names, map(_flat, batch.columns), strict=True):
            numbers = counts.setdefault(name, _Counts()).add(column)
            if keeps and numbers is not None:
                held.setdefault(name, []).append(numbers)
            if hashes is not None and name != id_name:
                row_hash = row_hash * np.uint64(0x9E3779B97F4A7C15) + _hashes(column, numbers)
        n += batch.num_rows
        if hashes is not None:
            hashes.append(row_hash)
            hashes = hashes if n <= MOST_ROWS_COMPARED else None
    duplicates = None if hashes is None else n - (len(np.unique(np.concatenate(hashes))) if hashes else 0)
    suspects = _suspects({k: v for k, v in held.items() if counts[k].is_numeric})
    columns = tuple(_kind(name, c, suspects.get(name), name == id_name) for name, c in counts.items())
    return TableKinds(source, n, columns, duplicates, tuple(suspects.values()), id_name, tuple(notes))


def _flat(column: Any) -> Any:
    """Return a column of lists or records as text; others unchanged."""
    import pyarrow as pa

    if not pa.types.is_nested(column.type):
        return column
    return pa.array([None if value is None else str(value) for value in column.to_pylist()], pa.string())


def _hashes(column: Any, numbers: np.ndarray | None) -> np.ndarray:
    """One hash per cell, (m,) uint64; equal cells have equal hashes."""
    if numbers is not None:
        return (numbers + 0.0).view(np.uint64) ^ (numbers.view(np.uint64) >> np.uint64(32))
    import pyarrow as pa

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
    if not is_id and 0 < len(c.others) <= MOST_MARKS and 2 * (c.count + c.written) > c.n - c.missing:
        found.kind, found.marks = "text", tuple(c.others)
    if suspect is not None and suspect.kind != "dominant":
        found.detail = suspect.detail or suspect.kind
    return found


def _kind_of(c: _Counts, values: list[Any] | None, suspect: SuspectColumn | None, is_id: bool) -> str:
    present = c.n - c.missing
    if present == 0:
        return "missing"
    if is_id or (suspect is not None and suspect.kind in ("row number", "identifier")):
        return "id"
    if values is not None and len(values) == 1:
        return "constant"
    words = {str(v).strip().lower() for v in values} if values is not None and len(values) == 2 else None
    if c.is_boolean or (words is not None and any(words == pair for pair in _YES_OR_NO)):
        return "boolean"
    if c.is_numeric:
        return "category" if suspect is not None and suspect.kind == "code" else "integer" if c.is_integer else "number"
    if c.is_date:
        return "date"
    if values is None or len(values) == present > 1:
        short = all(len(str(v)) <= 40 and " " not in str(v).strip() for v in (values or []))
        return "id" if values is not None and short and present >= 10 else "text"
    return "category" if len(values) <= max(MOST_CLASSES, present // 20) and 2 * len(values) <= present else "text"

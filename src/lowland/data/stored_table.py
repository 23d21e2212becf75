"""A whole table in one memory-mapped Arrow file, for programs that look up single cells and columns many times."""

from __future__ import annotations

import contextlib
import datetime
import itertools
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lowland.data.arrow_columns import DAY, converted, date_order
from lowland.data.reader import Reader, content_of, holds_numbers
from lowland.data.write import atomic_write, write_chunks
from lowland.errors import DataError

CELLS = 2**23  # cells of a batch
MOST_LEVELS = 2**16 - 2  # of a column as codes


class StoredTable:
    """A table that was written by ``write_stored``; only what is asked for is read from the disk."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        with pa.memory_map(str(path)) as file:
            self.table = pa.ipc.open_file(file).read_all()
        self.n = self.table.num_rows
        self.names: list[str] = list(self.table.column_names)

    def cells(self, rows: Sequence[int] | slice, columns: Sequence[int] | None = None) -> list[list[Any]]:
        """Return the cells of these rows as numbers, strings and None, row by row."""
        table = self.table if columns is None else self.table.select(list(columns))
        if isinstance(rows, slice):
            start, stop, _ = rows.indices(self.n)
            found = table.slice(start, max(0, stop - start))
        else:
            found = table.take(np.asarray(rows, dtype=np.int64))
        values = [map(_plain_value, column.to_pylist()) for column in found.columns]
        return [list(row) for row in zip(*values, strict=True)]

    def numbers(self, j: int) -> np.ndarray | None:
        """Return a column as floats, (n,), NaN where missing; dates as days since 1970. None means it contains text."""
        column = self.table.column(j)
        return pc.cast(column, pa.float64(), safe=False).to_numpy() if holds_numbers(column.type) else None

    def days(self, j: int) -> np.ndarray | None:
        """Return a column of dates as days since 1970, (n,), NaN where missing. None means its values are not dates."""
        column = self.table.column(j)
        order = date_order(column)
        if order is None and content_of(column.type) == "text":
            return None
        try:
            times = pc.cast(converted(column, "date", repr(self.names[j]), order), pa.int64())
        except (DataError, pa.ArrowException):
            return None
        return np.asarray(pc.fill_null(pc.cast(times, pa.float64(), safe=False), np.nan)) / DAY

    def codes(self, j: int, most: int = MOST_LEVELS) -> tuple[np.ndarray, list[str]] | None:
        """Return codes, (n,) int32 with -1 where missing, and the levels in order.

        None means more levels than ``most``.
        """
        column = self.table.column(j)
        if holds_numbers(column.type) and not pa.types.is_boolean(column.type):
            values = pc.cast(column, pa.float64(), safe=False).to_numpy()
            levels, inverse = np.unique(values[~np.isnan(values)], return_inverse=True)
            if len(levels) > most:
                return None
            codes = np.full(len(values), -1, dtype=np.int32)
            codes[~np.isnan(values)] = inverse
            return codes, [f"{v:.10g}" for v in levels]
        texts = _as_text(column)
        words = sorted(v for v in texts.unique().to_pylist() if v is not None)
        if len(words) > most:
            return None
        places = pc.fill_null(pc.index_in(texts, value_set=pa.array(words, pa.string())), -1)
        return places.to_numpy().astype(np.int32), words

    def texts(self, j: int) -> list[str | None]:
        """Return a column as strings."""
        return _as_text(self.table.column(j)).to_pylist()

    def missing(self, j: int) -> np.ndarray:
        """Return which cells of a column are missing, (n,) bool."""
        column = self.table.column(j)
        absent = pc.is_null(column, nan_is_null=pa.types.is_floating(column.type))
        return np.asarray(absent.to_numpy(), dtype=bool)

    def matches(self, j: int, text: str) -> tuple[np.ndarray, np.ndarray]:
        """Return which cells of a column contain a text, and which equal it, (n,) bool; in any case of letters."""
        column = pc.utf8_lower(_as_text(self.table.column(j)))
        contains = pc.match_substring(column, text.lower())
        equals = pc.equal(pc.utf8_trim_whitespace(column), text.strip().lower())
        return _is_true(contains), _is_true(equals)

    def equals(self, j: int, texts: Sequence[str]) -> np.ndarray:
        """Return which cells of a column equal one of the texts, (n,) bool."""
        return _is_true(pc.is_in(_as_text(self.table.column(j)), value_set=pa.array(list(texts), pa.string())))

    def select(self, columns: Sequence[int], rows: np.ndarray | None = None) -> Any:
        """Return some columns, and some rows, as an Arrow table."""
        found = self.table.select(list(columns))
        return found if rows is None else found.take(rows)


def write_stored(batches: Iterable[Any], path: str | os.PathLike[str], most_bytes: int | None = None) -> int:
    """Write Arrow record batches to a file for ``StoredTable``, and return the number of rows.

    Lists and records become text. ``most_bytes`` limits the size of the columns in memory.
    """
    n, size, writer = 0, 0, None
    with atomic_write(path) as temporary:
        try:
            for batch in _merged(batches):
                simple = [_simple(column) for column in batch.columns]
                fields = [f.with_type(c.type) for f, c in zip(batch.schema, simple, strict=True)]
                flat = pa.record_batch(simple, schema=pa.schema(fields))
                if writer is None:
                    schema = pa.schema(
                        [f.with_type(pa.string()) if pa.types.is_null(f.type) else f for f in flat.schema]
                    )
                    writer = pa.ipc.new_file(str(temporary), schema)
                size += flat.nbytes
                if most_bytes is not None and size > most_bytes:
                    raise DataError(
                        f"The table takes more than {most_bytes / 10**9:.3g} GB after unpacking, the limit. Select "
                        "columns or rows first."
                    )
                writer.write_batch(flat.cast(schema, safe=False))
                n += flat.num_rows
        finally:
            if writer is not None:
                writer.close()
        if not n:
            raise DataError("The table has no rows. Check the file.")
    return n


def _merged(batches: Iterable[Any]) -> Iterator[Any]:
    """Join small batches, so that a column has few pieces."""
    held: list[Any] = []
    cells = 0
    for batch in batches:
        held.append(batch)
        cells += batch.num_rows * max(1, batch.num_columns)
        if cells >= CELLS:
            yield from pa.Table.from_batches(held).combine_chunks().to_batches()
            held, cells = [], 0
    if held:
        yield from pa.Table.from_batches(held).combine_chunks().to_batches()


def _simple(column: Any) -> Any:
    """A column without dictionaries, lists, records and bytes."""
    kinds, kind = pa.types, column.type
    if kinds.is_dictionary(kind):
        return _simple(column.dictionary_decode())
    if kinds.is_nested(kind) or kinds.is_binary(kind) or kinds.is_large_binary(kind):
        return pa.array([None if value is None else str(value) for value in column.to_pylist()], pa.string())
    return column.cast(pa.float64()) if kinds.is_decimal(kind) else column


def _as_text(column: Any) -> Any:
    return column if pa.types.is_string(column.type) else pc.cast(column, pa.string(), safe=False)


def _is_true(column: Any) -> np.ndarray:
    """A column of booleans as an array, False where missing."""
    return np.asarray(pc.fill_null(column, False).to_numpy(), dtype=bool)


def write_table_file(
    table: Any, path: Path, more: dict[str, np.ndarray], row_numbers: np.ndarray | None = None
) -> None:
    """Write an Arrow table as .csv or .parquet, with more columns of numbers; equal names get a number.

    ``row_numbers`` become the first column, ``row``.
    """
    if row_numbers is not None:
        table = table.add_column(0, _free_name("row", table), pa.array(row_numbers))
    for name, values in more.items():
        table = table.append_column(_free_name(name, table), pa.array(values))
    write_chunks([table], path, table.column_names)


def with_integers(table: Any, names: Iterable[str]) -> Any:
    """Return an Arrow table with these columns of floats as integers, if all their values are whole."""
    for name in names:
        j = table.column_names.index(name)
        column = table.column(j)
        if pa.types.is_floating(column.type):
            known = pc.if_else(pc.is_nan(column), None, column)
            with contextlib.suppress(pa.ArrowInvalid):  # a fraction, or a number beyond the range
                table = table.set_column(j, name, pc.cast(known, pa.int64()))
    return table


def _free_name(name: str, table: Any) -> str:
    numbered = (f"{name} ({number})" for number in itertools.count(2))
    return next(each for each in itertools.chain([name], numbered) if each not in table.column_names)


def _plain_value(value: Any) -> Any:
    """A value as a number, a string or None."""
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        return value if np.isfinite(value) else None
    if isinstance(value, datetime.datetime | datetime.date | datetime.time):
        return value.isoformat()
    return str(value)


def stored_batches(table: Any) -> Iterator[Any]:
    """Yield the record batches of an Arrow table."""
    yield from table.combine_chunks().to_batches(max_chunksize=max(1, CELLS // max(1, table.num_columns)))


def with_names_of_rows(table: Reader) -> Iterator[Any]:
    """Yield the record batches of a table; row names and known labels come first, also if ``scan`` has none."""
    beside: dict[str, Any] = {}
    start = 0
    for batch in table.scan():
        for name in (table.label_name, table.id_name):
            if name is None or name in batch.schema.names:
                continue
            if name not in beside:
                beside[name] = table.column(name, missing_text=False)
            column = pa.array([str(value) for value in beside[name][start : start + batch.num_rows]])
            schema = pa.schema([pa.field(name, column.type), *batch.schema])
            batch = pa.record_batch([column, *batch.columns], schema=schema)
        start += batch.num_rows
        yield batch

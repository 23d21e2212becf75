"""Tables of categories, and of numbers and categories together: text as codes, read in slabs.

``open_categories`` returns Rows of floats, like ``open_rows``, and also accepts text. A column of text, categories or
booleans then contains codes: the position of each value among the levels of the column, -1 for a value that is not
among them, NaN for a missing one. ``Rows.levels`` has the levels; a column of numbers is unchanged and has none.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from lowland.arrays.namespace import is_array, is_sparse
from lowland.data.open import as_objects, has_columns, is_chunked, not_empty, open_chunks, open_rows, open_table
from lowland.data.read_options import ReadOptions
from lowland.data.reader import ArrowColumns, content_of, holds_dates, holds_numbers, slices_of
from lowland.data.rows import MappedRows, Rows, StreamRows, columns_as_floats
from lowland.errors import DataTypeError

Levels = tuple[np.ndarray | None, ...]  # of each column; None: a column of numbers


def open_categories(
    source: Any, *, columns: Sequence[str] | None = None, drop: Sequence[str] = (), levels: Levels | None = None,
    read: ReadOptions | None = None,
) -> Rows:  # fmt: skip
    """Open a table of numbers, text, categories and booleans: a frame, an array, a file, or an iterable of chunks.

    ``levels`` are those of an earlier table, as in its ``Rows.levels``. Without them, one pass over the table finds
    them: sorted; those of an ordered categorical column in their order. ``read``: options of reading a file.
    """
    rows = _opened(source, columns, drop, levels, read)
    if levels is not None and rows.d == len(levels):
        _check_types(rows, levels)
    return rows


def _opened(
    source: Any, columns: Sequence[str] | None, drop: Sequence[str], levels: Levels | None, read: ReadOptions | None
) -> Rows:
    if has_columns(source):
        table = open_table(source, read)
        keep = table.positions(columns, drop)
        found = table.arrow(keep)
        if any(_coded_columns(found, table.source, levels)):
            named = all(isinstance(key, str) for key in getattr(table, "keys", ()))
            rows: Rows = _coded_rows(found, table.source, levels, named=named)
        else:
            rows = _recoded(table.rows_at(keep), levels)
        rows.notes = tuple(table.notes)
        return not_empty(rows)
    if columns is None and not drop:
        if not (isinstance(source, Rows) or is_array(source) or is_sparse(source)) and is_chunked(source):
            return _open_chunked(source, levels)
        if isinstance(source, list | tuple):
            source = as_objects(source)
        if isinstance(source, np.ndarray) and source.dtype.kind in "OUST" and source.ndim == 2:
            return not_empty(_open_objects(source, levels))
    return _recoded(open_rows(source, columns=columns, drop=drop, read=read), levels)


def _recoded(rows: Rows, levels: Levels | None) -> Rows:
    """Rows whose columns of text, if there are any, have codes among these levels."""
    if levels is None or rows.levels is None or len(levels) != rows.d:
        return rows
    known = levels_of(rows)
    if all(
        a is b or (a is not None and b is not None and np.array_equal(a, b)) for a, b in zip(known, levels, strict=True)
    ):
        return rows
    places = [None if each is None else {value: i for i, value in enumerate(each.tolist())} for each in levels]
    tables = tuple(
        None if own is None or place is None else np.array([place.get(v, -1) for v in own.tolist()] + [-1], dtype=float)
        for own, place in zip(known, places, strict=True)
    )
    found = MappedRows(rows, partial(_recode, tables))
    found.levels = tuple(None if own is None else new for own, new in zip(known, levels, strict=True))
    return found


def with_ranks(rows: Rows, orders: Mapping[int, Sequence[Any]], ranked: Iterable[int] = ()) -> Rows:
    """Rows in which the codes of some columns of text are ranks: NaN, missing, for a value that is not a level.

    ``orders`` are the levels of columns, lowest first; ``ranked`` are columns whose codes are ranks already.
    """
    levels = tuple(_as_levels(list(orders[j])) if j in orders else own for j, own in enumerate(levels_of(rows)))
    found = _recoded(rows, levels)
    return MappedRows(found, partial(_unknown_as_missing, sorted({*orders, *ranked})))


def _unknown_as_missing(columns: Sequence[int], X: Any) -> np.ndarray:
    """Replace the code -1 in some columns by NaN."""
    Y = np.array(X, dtype=np.float64)
    for j in columns:
        Y[Y[:, j] == -1, j] = np.nan
    return Y


def _recode(tables: Sequence[np.ndarray | None], X: Any) -> np.ndarray:
    """Replace codes by other codes, column by column. None means a column that is unchanged."""
    Y = np.array(X, dtype=np.float64)
    for j, table in enumerate(tables):
        if table is not None:
            given = ~np.isnan(Y[:, j])
            Y[given, j] = table[Y[given, j].astype(np.intp)]  # -1, not among the levels, is the last entry
    return Y


def levels_of(rows: Rows) -> Levels:
    """Return the levels of each column of rows, None for a column of numbers."""
    return rows.levels or (None,) * rows.d


def _check_types(rows: Rows, levels: Levels) -> None:
    """Raise an error for a column that contains text where the training data has numbers, or the reverse."""
    for j, (known, now) in enumerate(zip(levels, levels_of(rows), strict=True)):
        if (known is None) != (now is None):
            words = ("text", "numbers") if now is not None else ("numbers", "text")
            raise DataTypeError(
                f"Column {rows.column_name(j)} of {rows.source} contains {words[0]}, but {words[1]} in the training "
                "data. Convert the column to the type of the training data."
            )


def _open_objects(X: np.ndarray, levels: Levels | None) -> Rows:
    """Open an array of strings or objects, each column by its own type."""
    import pyarrow as pa

    if X.dtype.kind == "O" and holds_dates(X):
        raise _not_categories("The array X")
    names = [str(j) for j in range(X.shape[1])]
    try:
        table = pa.table([pa.array(X[:, j].tolist(), from_pandas=True) for j in range(X.shape[1])], names=names)
    except (pa.ArrowException, OverflowError) as error:
        raise DataTypeError(
            "`X` contains values that are not numbers or text, or columns that mix both. Convert such columns to "
            "text (`X.astype(str)`)."
        ) from error

    found = ArrowColumns(list(table.schema), partial(slices_of, table), len(table))
    has_text = any(_coded_columns(found, "X", levels))
    return _coded_rows(found, "X", levels, named=False) if has_text else open_rows(X)


def _open_chunked(source: Iterable[Any], levels: Levels | None) -> Rows:
    """Open an iterable of chunks; the levels are those of all chunks together."""
    rows = open_chunks(source, partial(open_categories, levels=levels))
    if levels is None and rows.levels is None:
        rows.open_chunk = partial(open_categories, levels=(None,) * rows.d)  # text in a later chunk is an error
    if levels is not None or rows.levels is None:
        return rows
    found = [levels_of(each) for each in rows._opened()]
    if any(len(each) != rows.d for each in found):
        return rows  # the first pass raises the error
    merged = tuple(_merged([each[j] for each in found], f"Column {rows.column_name(j)}") for j in range(rows.d))
    return open_chunks(source, partial(open_categories, levels=merged))


def _merged(parts: Sequence[np.ndarray | None], what: str) -> np.ndarray | None:
    """The levels of one column in several chunks: those of the first, or all of them, sorted."""
    given = [part for part in parts if part is not None]
    if not given:
        return None
    if len(given) < len(parts):
        raise DataTypeError(f"{what} contains text in some chunks and numbers in others. Convert it to one type.")
    if all(np.array_equal(part, given[0]) for part in given):
        return given[0]
    return _as_levels(sorted({value for part in given for value in part.tolist()}))


# --- coding -----------------------------------------------------------------------------------------------------------


def _coded_rows(found: ArrowColumns, source: str, levels: Levels | None, *, named: bool) -> StreamRows:
    coded = _coded_columns(found, source, levels)
    names = [f.name for f in found.fields]
    known = _levels_in(found, coded) if levels is None else _known_levels(levels, coded)
    positions = [None if each is None else {value: i for i, value in enumerate(each.tolist())} for each in known]

    dtype = np.dtype(np.float64)

    def convert(table: Any) -> np.ndarray:
        columns = [
            column.to_numpy() if places is None else _codes(column, places)
            for column, places in zip(table.columns, positions, strict=True)
        ]
        return columns_as_floats(columns, dtype, names, source)

    rows = StreamRows(
        found.tables, convert, found.n, len(coded), dtype, tuple(names) if named else None, source,
        in_memory=not found.stamps, stamps=found.stamps,
    )  # fmt: skip
    rows.levels = known
    rows.ordered = tuple(bool(getattr(f.type, "ordered", False)) for f in found.fields)
    return rows


def _known_levels(levels: Levels, coded: list[bool]) -> Levels:
    """The given levels of the columns of text; none of a column that contains numbers in the earlier table."""
    given = (*levels, *[None] * len(coded))[: len(coded)]
    known = [_as_levels(()) if own is None else own for own in given]
    return tuple(own if is_text else None for is_text, own in zip(coded, known, strict=True))


def _levels_in(found: ArrowColumns, coded: list[bool]) -> Levels:
    """The levels of every column of text, from one pass."""
    import pyarrow as pa

    seen: list[dict[Any, None]] = [{} for _ in coded]
    for table in found.tables(2**16):
        for j in (j for j, is_text in enumerate(coded) if is_text):
            column = table.column(j)
            if pa.types.is_dictionary(column.type):  # all categories, in their order
                values = [v for chunk in column.chunks for v in chunk.dictionary.to_pylist()]
            else:
                values = column.unique().to_pylist()
            seen[j] |= dict.fromkeys(v for v in values if v is not None)
    ordered = [getattr(f.type, "ordered", False) for f in found.fields]
    return tuple(
        _as_levels(list(seen[j]) if ordered[j] else sorted(seen[j])) if is_text else None
        for j, is_text in enumerate(coded)
    )


def _as_levels(values: Sequence[Any]) -> np.ndarray:
    found = np.empty(len(values), dtype=object)
    found[:] = values
    return found


def _codes(column: Any, places: dict[Any, int]) -> np.ndarray:
    """The positions of the values of an Arrow column; -1: not among them, NaN: missing."""
    import pyarrow as pa

    parts = []
    for chunk in column.chunks:
        chunk = chunk if pa.types.is_dictionary(chunk.type) else chunk.dictionary_encode()
        values = chunk.dictionary.to_pylist()
        code = np.array([math.nan if v is None else places.get(v, -1) for v in values] + [math.nan])
        parts.append(code[chunk.indices.cast(pa.int64()).fill_null(len(values)).to_numpy()])
    return np.concatenate(parts) if parts else np.empty(0)


def _coded_columns(found: ArrowColumns, source: str, levels: Levels | None) -> list[bool]:
    """Which columns hold text, categories or booleans; a column without any value, if it did in the earlier table."""
    import pyarrow.types as kinds

    known = levels if levels is not None and len(levels) == len(found.fields) else (None,) * len(found.fields)
    coded = []
    for f, own in zip(found.fields, known, strict=True):
        is_text = kinds.is_boolean(f.type) or kinds.is_dictionary(f.type) or content_of(f.type) == "text"
        if not is_text and not holds_numbers(f.type):
            raise _not_categories(f"Column {f.name!r} of {source}")
        coded.append(is_text or (own is not None and kinds.is_null(f.type)))
    return coded


def _not_categories(what: str) -> DataTypeError:
    return DataTypeError(
        f"{what} contains dates or other values that are not numbers, text or categories. Convert the column to text, "
        "or drop it."
    )

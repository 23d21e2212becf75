"""Any table as Arrow columns, and their values in the form that the encoders read."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lowland.arrays.namespace import is_array, is_sparse, to_numpy
from lowland.data.kinds import FALSE, TRUE
from lowland.data.open import as_objects, checked_shape, has_columns, no_complex, open_table
from lowland.data.reader import ArrowColumns, content_of, holds_numbers, slices_of
from lowland.data.rows import Rows
from lowland.data.vectors import is_list_of_numbers, ragged_words
from lowland.data.written import WrittenDates, dates_of
from lowland.errors import DataError, DataTypeError
from lowland.run.settings import require_memory

SLAB = 2**16  # rows of a chunk
DAY = 86_400e6  # microseconds


def open_arrow(source: Any, columns: Sequence[str] | None = None) -> tuple[ArrowColumns, list[str], bool]:
    """Open a table of any kinds of columns: the columns, their names, and whether the table has these names.

    ``columns`` selects by name. In an array, columns are named x0, x1, …
    """
    if has_columns(source):
        table = open_table(source)
        keep = table.positions(columns, ())
        return table.arrow(keep), [table.names[j] for j in keep], table.has_names
    if is_sparse(source):
        raise DataTypeError("TablePreparer does not accept sparse data, which consists of numbers only. Omit it.")
    if isinstance(source, Rows):
        source = source.to_array()
    X = checked_shape(no_complex(to_numpy(source) if is_array(source) else as_objects(source)))
    names = [f"x{j}" for j in range(X.shape[1])]
    whole = pa.table([_array_column(X[:, j], name) for j, name in enumerate(names)], names=names)
    return ArrowColumns(list(whole.schema), partial(slices_of, whole), len(whole)), names, False


def _array_column(values: np.ndarray, name: str) -> Any:
    """One column of an array; strings in an array of strings are numbers if all of them can be read as numbers."""
    try:
        column = pa.array(values.tolist() if values.dtype.kind in "OUS" else values, from_pandas=True)
    except (pa.ArrowException, TypeError, OverflowError) as error:
        raise DataTypeError(
            f"Column {name} of `X` mixes values of several types ({error}). Convert it first, for instance to strings."
        ) from error
    if values.dtype.kind in "US":
        try:
            return column.cast(pa.string()).cast(pa.float64())
        except pa.ArrowException:
            return column.cast(pa.string())
    return column


def arrow_table(columns: Iterable[Any], names: Iterable[str]) -> Any:
    """Return columns with these names as an Arrow table."""
    return pa.table(list(columns), names=list(names))


def write_arrow(table: Any, path: Any) -> None:
    """Write an Arrow table to a file of Arrow's own format."""
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table)


def read_arrow(path: Any) -> Any:
    """Read the table that ``write_arrow`` wrote."""
    with pa.OSFile(str(path), "rb") as file, pa.ipc.open_file(file) as reader:
        return reader.read_all()


def whole_table(columns: ArrowColumns, names: list[str]) -> Any:
    """Return all rows as one Arrow table; those of a file only if the memory budget allows it."""
    what, remedy, size, parts = "One table of all rows", "Use fewer rows", 0, []
    if columns.stamps and columns.n is not None:
        each = sum(f.type.bit_width / 8 if pa.types.is_primitive(f.type) else 4 for f in columns.fields)
        require_memory(2 * columns.n * each, what, remedy)
    for part in columns.tables(SLAB):
        parts.append(part)
        size += part.nbytes if columns.stamps else 0
        require_memory(2 * size, what, remedy, so_far=True)
    if columns.stamps:
        pa.default_memory_pool().release_unused()  # what the parser of a file needed
    if not parts:
        raise DataError("The table has no rows. Check the file or the selection of rows.")
    named = [f.with_name(name) for f, name in zip(columns.fields, names, strict=True)]  # with the vector of a number
    schemas = [
        pa.schema([f.with_type(kind) for f, kind in zip(named, part.schema.types, strict=True)]) for part in parts
    ]
    parts = [pa.table(part.columns, schema=schema) for part, schema in zip(parts, schemas, strict=True)]
    table = pa.concat_tables(parts, promote_options="permissive").unify_dictionaries()
    return table.combine_chunks()


def converted(column: Any, kind: str, what: str, date_order: str | None = None) -> Any:
    """Return an Arrow column in the form that the encoder of its kind reads: floats, dates or strings.

    ``date_order`` is that of day, month and year in dates written as text.
    """
    wanted = {"number": pa.float64(), "boolean": pa.float64(), "date": pa.timestamp("us")}.get(kind, pa.string())
    try:
        if pa.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        if kind == "boolean" and not pa.types.is_null(column.type):
            column = _truth(column).cast(pa.uint8())
        if kind == "date" and pa.types.is_timestamp(column.type):
            column = column.cast(wanted, safe=False)
        elif kind == "date" and content_of(column.type) == "text":
            column = _dates(column, date_order or "year first")
        elif pa.types.is_floating(column.type) and wanted == pa.string():
            column = _as_text(column)
        elif kind == "number" and (pa.types.is_duration(column.type) or pa.types.is_time(column.type)):
            microseconds = pa.duration("us") if pa.types.is_duration(column.type) else pa.time64("us")
            column = pc.divide(column.cast(microseconds, safe=False).cast(pa.int64()).cast(wanted), DAY)
        elif kind in ("number", "boolean"):
            column = column.cast(wanted, safe=False)
        else:
            column = column.cast(wanted)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        failed = r"^Failed to parse string: ('.*') as a scalar of type .*"
        reason = re.sub(failed, r"it contains \1, which is not a number", str(error).splitlines()[0].rstrip("."))
        raise DataError(f"Column {what} is prepared as a {kind}, but {reason}. Check the column.") from error
    if kind not in ("number", "boolean"):
        return column
    if pc.any(pc.is_inf(column)).as_py():
        raise DataError(f"Column {what} contains infinity. Replace it by a number or by a missing value.")
    return pc.fill_null(column, np.nan)


def numbers_and_texts(table: Any) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """Return the columns of an Arrow table as floats, NaN where missing, and those that are not numbers as objects."""
    numbers, texts = {}, {}
    for name in table.column_names:
        column = table.column(name)
        if holds_numbers(column.type):
            numbers[name] = column.cast(pa.float64(), safe=False).to_numpy()
        else:
            texts[name] = np.array(column.to_pylist(), dtype=object)
    return numbers, texts


def with_medians(table: Any, names: Iterable[str]) -> Any:
    """Return an Arrow table in which missing numbers of the named columns are replaced by the median of the column."""
    for name in names:
        values = pc.fill_null(table.column(name).cast(pa.float64(), safe=False), np.nan).to_numpy()
        filled = pa.array(np.where(np.isnan(values), np.nanmedian(values), values))
        table = table.set_column(table.column_names.index(name), name, filled)
    return table


def nested_columns(table: Any, names: Sequence[str]) -> dict[str, str]:
    """Return the columns of lists, records or bytes, and what they contain."""
    types = {name: table.column(name).type for name in names}
    tests = (pa.types.is_nested, pa.types.is_binary, pa.types.is_large_binary)
    return {
        name: ragged_words(table.column(name)) if is_list_of_numbers(kind) else f"lists, records or bytes ({kind})"
        for name, kind in types.items() if any(is_kind(kind) for is_kind in tests)
    }  # fmt: skip


def infinite_values(column: Any) -> tuple[int, int]:
    """Return how many values of an Arrow column of numbers are infinite, and the row of the first, from 1."""
    found = pc.indices_nonzero(pc.fill_null(pc.is_inf(column), False))
    return len(found), found[0].as_py() + 1


def is_ordered(column: Any) -> bool:
    """Whether an Arrow column is an ordered category."""
    return bool(pa.types.is_dictionary(column.type) and column.type.ordered)


def date_order(column: Any) -> str | None:
    """Return the order of day, month and year of dates that are written as text; None for other dates."""
    if content_of(column.type) != "text":
        return None
    dates = WrittenDates()
    for chunk in column.cast(pa.string()).drop_null().chunks:
        dates.add(chunk)
    return dates.order


def count_missing(column: Any) -> int:
    """Return the number of missing values of an Arrow column of floats, dates or strings."""
    nan = pc.sum(pc.is_nan(column)).as_py() if pa.types.is_floating(column.type) else 0
    return int(column.null_count + (nan or 0))


def _truth(column: Any) -> Any:
    """Booleans, numbers and words such as yes and no as booleans."""
    if content_of(column.type) != "text":
        return column.cast(pa.bool_())
    words = pc.utf8_lower(pc.utf8_trim_whitespace(column.cast(pa.string())))
    yes, no = (pc.is_in(words, value_set=pa.array(sorted(each))) for each in (TRUE, FALSE))
    other = pc.and_(pc.is_valid(words), pc.invert(pc.or_(yes, no)))
    if pc.any(other).as_py():
        raise pa.ArrowInvalid(f"it contains {column.filter(other)[0].as_py()!r}, which is neither yes nor no")
    return pc.if_else(pc.is_valid(words), yes, pa.scalar(None, pa.bool_()))


def _dates(column: Any, order: str) -> Any:
    dates = pa.array(dates_of(column, order))
    wrong = pc.and_(pc.is_null(dates), pc.is_valid(column))
    if pc.any(wrong).as_py():
        raise pa.ArrowInvalid(f"it contains {column.filter(wrong)[0].as_py()!r}, which is not a date ({order})")
    return dates


def _as_text(column: Any) -> Any:
    """Numbers as levels: an integer without its point, whether it is stored as an integer or as a float."""
    whole = pc.fill_null(pc.and_(pc.equal(column, pc.floor(column)), pc.less(pc.abs(column), 2.0**53)), False)
    text = pc.if_else(
        whole, pc.if_else(whole, column, 0.0).cast(pa.int64()).cast(pa.string()), column.cast(pa.string())
    )
    return pc.if_else(pc.is_nan(column), pa.scalar(None, pa.string()), text)

"""Arrow record batches as Rows, and which of their types are numeric."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from lowland.data.columns import refuse_text
from lowland.data.passes import Passes
from lowland.data.rows import ColumnRows, Rows


def arrow_rows(
    batches: Callable[[int], Iterable[Any]], fields: Sequence[Any], n: int | None, source: str, passes: Passes
) -> Rows:
    """Return Rows over Arrow record batches, split into slabs that do not depend on the layout of the file."""
    import pyarrow as pa

    texts, names = text_fields(fields), tuple(f.name for f in fields)
    if texts:
        refuse_text(texts, source)
    single = all(f.type == pa.float32() for f in fields)
    dtype = np.dtype(np.float32 if single else np.float64)
    return ColumnRows(
        lambda slab: reslab(batches(slab), slab), _arrow_columns, n, len(fields), dtype, names, source, passes=passes
    )


def _arrow_columns(table: Any) -> list[np.ndarray]:
    return [column.to_numpy(zero_copy_only=False) for column in table.columns]


def number_batches(rows: Rows) -> Iterator[Any]:
    """Yield rows of numbers as Arrow record batches."""
    import pyarrow as pa

    names = list(rows.names or (f"column {j}" for j in range(rows.d)))
    for chunk in rows.chunks():
        X = np.asarray(chunk.toarray() if rows.is_sparse else chunk, dtype=np.float64)
        yield pa.record_batch([pa.array(np.ascontiguousarray(X[:, j])) for j in range(rows.d)], names=names)


def reslab(batches: Iterable[Any], slab: int) -> Iterator[Any]:
    """Split batches into tables of ``slab`` rows each; the last may be shorter."""
    import pyarrow as pa

    held: list[Any] = []
    count = 0
    for batch in batches:
        while count + batch.num_rows >= slab:
            take = slab - count
            yield pa.Table.from_batches([*held, batch.slice(0, take)])
            batch, held, count = batch.slice(take), [], 0
        if batch.num_rows:
            held.append(batch)
            count += batch.num_rows
    if held:
        yield pa.Table.from_batches(held)


def joined(batches: Sequence[np.ndarray]) -> np.ndarray:
    """Return one column of several batches; an empty string is a missing value."""
    values = np.concatenate(batches) if batches else np.empty(0)
    if values.dtype.kind in "OU" and "" in values:  # some programs write a missing string as an empty one
        values = values.astype(object)
        values[values == ""] = None
    return values


def text_fields(fields: Sequence[Any]) -> list[str]:
    """Return the names of the fields that are not numeric."""
    return [f.name for f in fields if not holds_numbers(f.type)]


def pandas_index(schema: Any) -> list[str]:
    """Return the index columns of a pandas frame, which are not features."""
    written = (schema.pandas_metadata or {}).get("index_columns", ())
    return [name for name in written if isinstance(name, str) and name in schema.names]


def content_of(kind: Any) -> str:
    """Return what a column of this type contains: "numbers", "text", "nothing", or the name of the type."""
    import pyarrow.types as kinds

    if kinds.is_null(kind):
        return "nothing"
    if kinds.is_dictionary(kind):
        return content_of(kind.value_type)
    if kinds.is_string(kind) or kinds.is_large_string(kind) or kinds.is_string_view(kind):
        return "text"
    return "numbers" if holds_numbers(kind) else str(kind)


@lru_cache(maxsize=256)  # a table may have 100,000 columns of one type
def holds_numbers(kind: Any) -> bool:
    """Whether a column of this type contains numbers, or nothing."""
    import pyarrow.types as kinds

    tests = (kinds.is_integer, kinds.is_floating, kinds.is_boolean, kinds.is_decimal, kinds.is_null)
    return any(is_kind(kind) for is_kind in tests)


def common_fields(schemas: Sequence[Any], names: Sequence[str]) -> list[Any]:
    """Return the common fields of several files: floats, unless a column is not numeric in one of them."""
    import pyarrow as pa

    return [pa.field(name, _common_type([schema.field(name).type for schema in schemas])) for name in names]


def _common_type(types: Sequence[Any]) -> Any:
    import pyarrow as pa

    if not all(map(holds_numbers, types)):
        return next(kind for kind in types if not holds_numbers(kind))
    return pa.float32() if all(kind in (pa.float32(), pa.float16()) for kind in types) else pa.float64()


def first_line(error: Exception) -> str:
    """Return the first line of an error message."""
    return str(error).splitlines()[0].rstrip(". ") if str(error) else type(error).__name__

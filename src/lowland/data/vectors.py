"""Vector columns, such as embeddings: each number of a vector is read as a column of its own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lowland.data.reader import BATCH, Reader, holds_numbers
from lowland.errors import DataError, ParameterError

FIRST_ROWS = 1000  # rows whose lists show whether a column contains vectors
BATCH_CELLS = 2**23  # numbers of a batch
_KEY = b"lowland.vector"  # in the metadata of a column: the vector that it belongs to


class VectorReader(Reader):
    """A table whose columns of vectors are columns of numbers: v becomes v[0], v[1], …"""

    def __init__(self, table: Reader, lengths: dict[str, int]) -> None:
        self.table, self.lengths = table, lengths
        self.source, self.stamps, self.n, self.first_row = table.source, table.stamps, table.n, table.first_row
        self.id_name, self.beside, self.has_names = table.id_name, table.beside, table.has_names
        self.vectors = {name: [f"{name}[{i}]" for i in range(length)] for name, length in lengths.items()}
        self.names = [part for name in table.names for part in self.vectors.get(name, [name])]
        self._place = {part: (name, i) for name, parts in self.vectors.items() for i, part in enumerate(parts)}
        self.notes.extend(table.notes)

    def positions(self, columns: Sequence[str] | None, drop: Sequence[str]) -> list[int]:
        """Return the positions of the named columns, or of all; the user chooses among several vectors."""
        left = [name for name in self.vectors if name not in drop]
        if columns is None and len(left) > 1:
            listed = ", ".join(f"{name!r} ({self.lengths[name]:,} numbers)" for name in left)
            raise ParameterError(
                f"{self.source[:1].upper()}{self.source[1:]} has {len(left)} columns of vectors: {listed}. Choose one "
                f"with `columns=[{left[0]!r}]`, or leave out the others with `drop={left[1:]!r}`."
            )
        return super().positions(columns, drop)

    def fields_at(self, keep: Sequence[int]) -> list[Any]:
        """Return name and type of the columns; the field of a number names its vector."""
        names = [self.names[j] for j in keep]
        stored = self._stored(names)
        return [stored[name] if name not in self._place else _number_field(name, stored[self._place[name][0]])
                for name in names]  # fmt: skip

    def _stored(self, names: Iterable[str]) -> dict[str, Any]:
        """The fields of the table that contain these columns, by name."""
        places = {name: j for j, name in enumerate(self.table.names)}
        owners = dict.fromkeys(self._place[name][0] if name in self._place else name for name in names)
        return {f.name: f for f in self.table.fields_at([places[name] for name in owners])}

    def batches(self, fields: Sequence[Any], size: int = BATCH) -> Iterator[Any]:
        """Yield record batches in which each number of a vector is a column."""
        asked = {f.name: f for f in fields}
        stored = self._stored(asked)
        wanted = [_as_floats(f) if name in self.vectors else asked[name] for name, f in stored.items()]
        size, start = max(1, min(size, BATCH_CELLS // max(1, len(fields)))), self.first_row
        for whole in self.table.batches(wanted, size):
            for batch in (whole.slice(at, size) for at in range(0, whole.num_rows, size)):
                X = {name: self._matrix(batch.column(name), name, start) for name in stored if name in self.vectors}
                yield pa.record_batch([self._column(batch, X, f) for f in fields], schema=pa.schema(list(fields)))
                start += batch.num_rows

    def _column(self, batch: Any, X: dict[str, np.ndarray], field: Any) -> Any:
        if field.name not in self._place:
            return batch.column(field.name)
        name, i = self._place[field.name]
        return pa.array(X[name][i]).cast(field.type)

    def _matrix(self, column: Any, name: str, start: int) -> np.ndarray:
        """The numbers of the vectors, (length, m), NaN where a vector is missing or empty."""
        m, length = len(column), self.lengths[name]
        sizes = pc.fill_null(pc.list_value_length(column), 0).to_numpy(zero_copy_only=False)
        other = np.flatnonzero((sizes != length) & (sizes != 0))
        if len(other):
            raise DataError(
                f"Column {name!r} of {self.source} has vectors of different lengths: {length:,} numbers in the first "
                f"rows, but {sizes[other[0]]:,} in row {start + other[0]:,}. Give all rows vectors of the same length, "
                f"or leave out the column (`drop={[name]!r}`)."
            )
        known = sizes == length
        values = column.filter(pa.array(known)).flatten().cast(_number_type(column.type), safe=False)
        found = values.to_numpy(zero_copy_only=False).reshape(-1, length)
        X = np.empty((length, m), dtype=found.dtype) if known.all() else np.full((length, m), np.nan, found.dtype)
        X[:, known] = found.T
        return X

    def _values(self, name: str, *, missing_text: bool) -> np.ndarray:
        if name in self._place:
            return super()._values(name, missing_text=missing_text)
        return self.table.column(name, missing_text=missing_text)


def with_vectors(table: Reader, names: Iterable[str]) -> Reader:
    """Return a table with its vectors as columns of numbers; ``names``: the columns that may be vectors."""
    lengths, places = {}, {name: j for j, name in enumerate(table.names)}
    for field in table.fields_at([places[name] for name in names if name in places]):
        length = _common_length(next(table.batches([field], FIRST_ROWS), None)) if is_list_of_numbers(field.type) else 0
        if length:
            lengths[field.name] = length
    return VectorReader(table, lengths) if lengths else table


def list_columns(schema: Any) -> list[str]:
    """Return the columns of an Arrow schema that contain lists of numbers."""
    return [f.name for f in schema if is_list_of_numbers(f.type)]


def is_list_of_numbers(kind: Any) -> bool:
    """Whether a column of this type contains lists of numbers."""
    kinds = pa.types
    is_list = kinds.is_list(kind) or kinds.is_large_list(kind) or kinds.is_fixed_size_list(kind)
    return is_list and holds_numbers(kind.value_type) and not kinds.is_null(kind.value_type)


def vector_of(field: Any) -> str:
    """Return the vector that a column of numbers belongs to; "" for none."""
    return (field.metadata or {}).get(_KEY, b"").decode()


def vectors_in(fields: Iterable[Any]) -> dict[str, list[str]]:
    """Return the vectors that these columns belong to, each with its columns."""
    found: dict[str, list[str]] = {}
    for field in fields:
        if vector := vector_of(field):
            found.setdefault(vector, []).append(field.name)
    return found


def ragged_words(column: Any) -> str:
    """Return which rows of a column of lists have different lengths."""
    lengths = pc.fill_null(pc.list_value_length(column), 0).to_numpy(zero_copy_only=False)
    known = np.flatnonzero(lengths)
    other = known[lengths[known] != lengths[known[0]]] if len(known) else known
    if not len(other):
        return "lists"
    first, row = known[0], other[0]
    return f"lists of different lengths: {lengths[first]:,} in row {first + 1:,}, {lengths[row]:,} in row {row + 1:,}"


def _common_length(batch: Any) -> int:
    """The length of all lists of the first rows; 0: it differs or is less than 2. An empty list is missing."""
    if batch is None:
        return 0
    lengths = {*pc.unique(pc.list_value_length(batch.column(0).slice(0, FIRST_ROWS))).to_pylist()} - {None, 0}
    length = int(lengths.pop()) if len(lengths) == 1 else 0
    return length if length > 1 else 0


def _number_type(kind: Any) -> Any:
    small = pa.types.is_float32(kind.value_type) or pa.types.is_float16(kind.value_type)
    return pa.float32() if small else pa.float64()


def _as_floats(field: Any) -> Any:
    kind, number = field.type, _number_type(field.type)
    if pa.types.is_fixed_size_list(kind):
        return field.with_type(pa.list_(number, kind.list_size))
    return field.with_type(pa.large_list(number) if pa.types.is_large_list(kind) else pa.list_(number))


def _number_field(name: str, vector: Any) -> Any:
    return pa.field(name, _number_type(vector.type), metadata={_KEY: vector.name.encode()})

"""Parquet: one file, or a folder of files with the same columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from lowland.data.files import check_readable, natural_order
from lowland.data.reader import (
    BATCH,
    Reader,
    cast_batch,
    content_of,
    holds_numbers,
    joined,
    pandas_index,
    refuse_duplicates,
)
from lowland.data.rows import stamps_of
from lowland.errors import DataError, DataTypeError, MissingFile, reading

_READ_BUFFER = 2**20  # bytes of a column read at a time


class ParquetReader(Reader):
    """A Parquet file, or a folder of them with the same columns, in natural order: part.2 before part.10."""

    def __init__(self, path: Path, source: str) -> None:
        self.source = source
        self.parts = sorted(path.glob("*.parquet"), key=natural_order) if path.is_dir() else [path]
        deeper = next(path.glob("*/**/*.parquet"), None) if path.is_dir() else None
        if deeper is not None:
            raise DataError(
                f"The folder {self.source} has subfolders with Parquet files, such as {str(deeper)!r}. "
                "Put all files into one folder, or pass a list of their paths."
            )
        if not self.parts:
            raise MissingFile(
                f"The folder {self.source} contains no .parquet file. Pass a file, or a folder of Parquet files."
            )
        self.stamps = stamps_of(self.parts)
        heads = [self._head(part) for part in self.parts]
        self.n = sum(n for _, n in heads)
        index = pandas_index(heads[0][0])
        self.names = [name for name in heads[0][0].names if name not in index]
        free = "index" not in self.names  # pandas writes an unnamed index as __index_level_0__
        self.index = {"index" if name.startswith("__index_level_") and free else name: name for name in index}
        self.beside = tuple(self.index)
        self.id_name = self.beside[0] if len(index) == 1 else None
        for part, (schema, _) in zip(self.parts, heads, strict=True):
            self._check_names(part, [name for name in schema.names if name not in index])
        self.schemas = [schema for schema, _ in heads]

    def _check_names(self, part: Path, names: list[str]) -> None:
        first = self.parts[0].name
        if len(names) != len(self.names):
            fact = f"has {len(names)} columns, but {first} has {len(self.names)}"
        elif names != self.names:
            j = next(j for j, name in enumerate(names) if name != self.names[j])
            fact = f"has the column {names[j]!r} where {first} has {self.names[j]!r}"
        else:
            return
        raise DataError(f"{part.name} in {self.source} {fact}. All files must have the same columns in the same order.")

    def _check_types(self, names: list[str]) -> None:
        """Raise an error for a part where a column is text or dates and in the first one numbers, or the reverse."""
        for name in names:
            refuse_duplicates([other for other in self.names if other == name], self.source)
            first, known = self.parts[0], "nothing"
            for part, schema in zip(self.parts, self.schemas, strict=True):
                content = content_of(schema.field(name).type)
                if known == "nothing":
                    first, known = part, content
                elif content not in (known, "nothing"):
                    raise DataTypeError(
                        f"Column {name!r} of {part.name} in {self.source} contains {content}, but in {first.name} "
                        f"{known}. All files must have the same types of columns."
                    )

    def _open(self, part: Path) -> Any:
        check_readable(part)
        with reading(part, repr(str(part)), "Parquet"):
            # Without these two, Arrow prefetches whole row groups, whatever the memory budget.
            return pq.ParquetFile(part, pre_buffer=False, buffer_size=_READ_BUFFER)

    def _head(self, part: Path) -> tuple[Any, int]:
        with self._open(part) as file:
            return file.schema_arrow, file.metadata.num_rows

    def fields_at(self, keep: Sequence[int]) -> list[Any]:
        """Return name and type of the columns at these positions: the common type of all files."""
        names = [self.names[j] for j in keep]
        self._check_types(names)
        fields = []
        for name in names:  # floats where numbers have several types
            types = [schema.field(name).type for schema in self.schemas]
            kind = next((kind for kind in types if not pa.types.is_null(kind)), types[0])
            if holds_numbers(kind) and any(each != types[0] for each in types):
                kind = pa.float32() if {*types} <= {pa.float32(), pa.float16()} else pa.float64()
            fields.append(pa.field(name, kind))
        return fields

    def batches(self, fields: Sequence[Any], size: int = BATCH) -> Iterator[Any]:
        names = [f.name for f in fields]
        for part in self.parts:
            with self._open(part) as file, reading(part, repr(str(part)), "Parquet"):
                for batch in file.iter_batches(batch_size=size, columns=names):
                    yield cast_batch(batch, fields)

    def _values(self, name: str, *, missing_text: bool) -> np.ndarray:
        if name not in self.index:
            return super()._values(name, missing_text=missing_text)
        return joined(self.batches([self.schemas[0].field(self.index[name])]))


def read_columns(path: Path) -> dict[str, np.ndarray]:
    """Return every column of a Parquet file by its name, numbers and strings."""
    with reading(path, repr(str(path)), "Parquet"):
        table = pq.read_table(path)
    return {name: column.to_numpy() for name, column in zip(table.column_names, table.columns, strict=True)}

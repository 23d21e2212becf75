"""Parquet: one file, or a folder of parts with the same columns."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from lowland.data.columns import TableFile
from lowland.data.formats.arrow import arrow_rows, common_fields, concatenated, first_line, text_fields
from lowland.data.paths import check_readable
from lowland.data.rows import Rows
from lowland.errors import DataError, FileProblem, MissingFile

_READ_BUFFER = 2**20  # bytes of a column read at a time


class ParquetTable(TableFile):
    """A Parquet file, or a folder of them with the same columns."""

    def __init__(self, path: Path) -> None:
        self.source = repr(str(path))
        self.parts = sorted(path.glob("*.parquet")) if path.is_dir() else [path]
        deeper = next(path.glob("*/**/*.parquet"), None) if path.is_dir() else None
        if deeper is not None:
            raise DataError(
                f"The folder {self.source} has folders with Parquet files in it, such as {str(deeper)!r}. "
                "Put all parts into one folder, or pass a list of their paths."
            )
        if not self.parts:
            raise MissingFile(
                f"The folder {self.source} holds no .parquet file. Name a file, or a folder of Parquet parts."
            )
        heads = [self._head(part) for part in self.parts]
        self.n = sum(n for _, n in heads)
        index = _pandas_index(heads[0][0])
        self.names = [name for name in heads[0][0].names if name not in index]
        for part, (schema, _) in zip(self.parts, heads, strict=True):
            if [name for name in schema.names if name not in index] != self.names:
                raise DataError(
                    f"{part.name} of {self.source} has other columns than {self.parts[0].name}. "
                    "All parts need the same columns."
                )
        self.schemas = [schema for schema, _ in heads]

    def _open(self, part: Path) -> Any:
        import pyarrow as pa
        import pyarrow.parquet as pq

        try:
            # Without these two, Arrow reads whole row groups ahead, whatever the budget says.
            return pq.ParquetFile(part, pre_buffer=False, buffer_size=_READ_BUFFER)
        except (pa.ArrowInvalid, OSError) as error:
            check_readable(part)  # not there, or closed to this user
            raise FileProblem(
                f"{str(part)!r} is not a whole Parquet file ({first_line(error)}). Truncated? Write it again."
            ) from error

    def _head(self, part: Path) -> tuple[Any, int]:
        with self._open(part) as file:
            return file.schema_arrow, file.metadata.num_rows

    def rows(self, keep: list[int]) -> Rows:
        """Return the columns at these positions as Rows."""
        import pyarrow as pa

        names = [self.names[j] for j in keep]
        fields = common_fields(self.schemas, names)

        def batches(slab: int) -> Iterator[Any]:
            for batch in self._batches(names, slab):
                yield batch.cast(pa.schema(fields), safe=False)  # large integers are rounded, as numpy rounds them

        return arrow_rows(batches, fields, self.n, self.source)

    def column(self, name: str, *, missing_text: bool = True) -> np.ndarray:
        """Return one column as it is; the file says itself which texts are missing."""
        self.position(name)
        return concatenated(self._batches([name], 2**16))

    def first_text_column(self) -> str | None:
        """Return the name of the first column if it holds text."""
        return next(iter(text_fields(common_fields(self.schemas, self.names[:1]))), None)

    def _batches(self, names: list[str], size: int) -> Iterator[Any]:
        """Yield record batches of the named columns, part after part."""
        import pyarrow as pa

        for part in self.parts:
            with self._open(part) as file:
                try:
                    for batch in file.iter_batches(batch_size=size, columns=names):
                        yield batch.select(names)
                except (pa.ArrowInvalid, OSError) as error:
                    raise FileProblem(f"{str(part)!r} is damaged ({first_line(error)}). Write it again.") from error


def _pandas_index(schema: Any) -> set[str]:
    """The columns that pandas wrote as the index of its frame, which are no features."""
    written = (schema.pandas_metadata or {}).get("index_columns", ())
    return {name for name in written if isinstance(name, str)}


def read_columns(path: Path) -> dict[str, np.ndarray]:
    """Return every column of a Parquet file by its name, numbers and texts."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = pq.read_table(path)
    except (OSError, pa.ArrowInvalid) as error:
        raise FileProblem(f"{str(path)!r} cannot be read as Parquet: {first_line(error)}. Write it again.") from error
    return {name: column.to_numpy() for name, column in zip(table.column_names, table.columns, strict=True)}

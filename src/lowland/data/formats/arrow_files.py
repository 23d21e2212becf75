"""Feather and Arrow files, JSON lines, and tables in memory: data frames and sheets of a spreadsheet."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.json as json

from lowland.data.reader import BATCH, Reader, cast_batch, pandas_index
from lowland.data.rows import Stamps, stamps_of
from lowland.errors import DataError, FileProblem, reading

_JSON_BLOCK = 2**22  # bytes; the first block shows which keys there are


class MemoryReader(Reader):
    """An Arrow table in memory, of a frame or of a file that is read at once."""

    def __init__(self, table: Any, source: str, stamps: Stamps | None = None) -> None:
        self.table, self.source, self.stamps, self.n = table, source, stamps or {}, table.num_rows
        self.schema, self.names = table.schema, list(table.column_names)

    def batches(self, fields: Sequence[Any], size: int = BATCH) -> Iterator[Any]:
        """Yield record batches."""
        chosen = self.table.select([f.name for f in fields])
        return (cast_batch(batch, fields) for batch in chosen.to_batches(max_chunksize=size))


class FeatherReader(Reader):
    """A Feather (version 2) or Arrow file, memory-mapped."""

    def __init__(self, path: Path, source: str) -> None:
        self.path, self.source, self.stamps = path, source, stamps_of([path])
        with self._file() as file:
            if hasattr(file, "num_record_batches"):
                self.n = sum(file.get_batch(i).num_rows for i in range(file.num_record_batches))
            self.schema = file.schema
        index = pandas_index(self.schema)
        self.id_name = index[0] if len(index) == 1 else None
        self.names = list(self.schema.names)

    @contextmanager
    def _file(self) -> Iterator[Any]:
        with reading(self.path, self.source, self.path.suffix), pa.memory_map(str(self.path)) as source:
            is_file = source.read(6) == b"ARROW1"
            source.seek(0)
            with pa.ipc.open_file(source) if is_file else pa.ipc.open_stream(source) as file:
                yield file

    def batches(self, fields: Sequence[Any], size: int = BATCH) -> Iterator[Any]:
        """Yield the record batches of the file."""
        with self._file() as file:
            is_file = hasattr(file, "num_record_batches")
            for batch in map(file.get_batch, range(file.num_record_batches)) if is_file else file:
                chosen = batch.select([f.name for f in fields])
                chosen.validate(full=True)  # offsets of a damaged file point outside of its memory
                yield cast_batch(chosen, fields)


class JsonLinesReader(Reader):
    """A file of one JSON object per line, optionally compressed; a key that an object does not have is missing."""

    def __init__(self, path: Path, source: str) -> None:
        self.path, self.source, self.stamps = path, source, stamps_of([path])
        with self._open(None, "infer") as reader:
            self.schema = reader.schema
        self.names = list(self.schema.names)

    @contextmanager
    def _open(self, schema: Any, unexpected: str) -> Iterator[Any]:
        with reading(self.path, self.source, self.path.suffix):
            stream = pa.input_stream(str(self.path), compression="detect")
            with json.open_json(
                stream, read_options=json.ReadOptions(use_threads=False, block_size=_JSON_BLOCK),
                parse_options=json.ParseOptions(explicit_schema=schema, unexpected_field_behavior=unexpected),
            ) as reader:  # fmt: skip
                yield reader

    def batches(self, fields: Sequence[Any], size: int = BATCH) -> Iterator[Any]:
        """Yield record batches of blocks of the file."""
        kinds = {f.name: f.type for f in fields}
        done = 0
        try:
            with self._open(
                pa.schema([f.with_type(kinds.get(f.name, f.type)) for f in self.schema]), "error"
            ) as reader:
                for batch in reader:
                    yield cast_batch(batch, fields)
                    done += 1
            return
        except FileProblem as error:
            if "unexpected field" in str(error):
                raise DataError(
                    f"A later line of {self.source} has a key that its first {_JSON_BLOCK // 2**20} MiB do not have. "
                    "Add it to the first line: null is a missing value."
                ) from error
        # a column that is perhaps not read has values of several types: read on without those
        with self._open(pa.schema(list(fields)), "ignore") as reader:
            for batch in itertools.islice(reader, done, None):
                yield cast_batch(batch, fields)

"""Feather and Arrow files, JSON lines, and tables in memory: data frames and sheets of a spreadsheet."""

from __future__ import annotations

import io
import itertools
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.json as json

from lowland.data.reader import BATCH, Reader, cast_batch, pandas_index, without_views
from lowland.data.rows import Stamps, stamps_of
from lowland.errors import DataError, FileProblem, reading

_JSON_BLOCK = 2**22  # bytes; the first block shows which keys there are
MOST_NESTED = 100  # lists and records within each other
_STEPS = np.array([1 if byte in b"[{" else -1 if byte in b"]}" else 0 for byte in range(256)])
_NO_BRACKETS = bytes({*range(256)} - {*b'"[]{}'})


class MemoryReader(Reader):
    """An Arrow table in memory, of a frame or of a file that is read at once."""

    def __init__(self, table: Any, source: str, stamps: Stamps | None = None) -> None:
        self.table, self.source, self.stamps, self.n = table, source, stamps or {}, table.num_rows
        self.schema, self.names = table.schema, list(table.column_names)

    def batches(self, fields: Sequence[Any], size: int = BATCH) -> Iterator[Any]:
        chosen = self.table.select([f.name for f in fields])
        return (cast_batch(batch, fields) for batch in chosen.to_batches(max_chunksize=size))


class FeatherReader(Reader):
    """A Feather (version 2) or Arrow file, memory-mapped."""

    def __init__(self, path: Path, source: str) -> None:
        self.path, self.source, self.stamps = path, source, stamps_of([path])
        with self._file() as file:
            if hasattr(file, "num_record_batches"):
                self.n = sum(file.get_batch(i).num_rows for i in range(file.num_record_batches))
            self.schema = pa.schema([f.with_type(without_views(f.type)) for f in file.schema], file.schema.metadata)
            index = pandas_index(self.schema)
            self.id_name = index[0] if len(index) == 1 else None
            self.names = list(self.schema.names)  # decoded here

    @contextmanager
    def _file(self) -> Iterator[Any]:
        with reading(self.path, self.source, self.path.suffix), pa.memory_map(str(self.path)) as source:
            is_file = source.read(6) == b"ARROW1"
            source.seek(0)
            with pa.ipc.open_file(source) if is_file else pa.ipc.open_stream(source) as file:
                yield file

    def batches(self, fields: Sequence[Any], size: int = BATCH) -> Iterator[Any]:
        with self._file() as file:
            is_file = hasattr(file, "num_record_batches")
            for batch in map(file.get_batch, range(file.num_record_batches)) if is_file else file:
                chosen = batch.select([f.name for f in fields])
                chosen.validate(full=True)  # offsets of a damaged file point outside of its memory
                yield cast_batch(chosen, fields)


class _FlatJson(io.RawIOBase):
    """A stream of JSON that refuses deeply nested values before they are parsed: parsers need stack for each level."""

    def __init__(self, stream: Any, source: str) -> None:
        self.stream, self.source = stream, source
        self.depth, self.rest = 0, b""  # at the end of the last whole line; the line that is not complete

    def read(self, size: int = -1) -> bytes:
        """Return the next bytes."""
        data: bytes = self.stream.read(size)
        lines, _, self.rest = (self.rest + data).rpartition(b"\n")  # no string of JSON contains a line break
        self.depth = self._depth_after(lines)
        self._depth_after(self.rest)
        return data

    def _depth_after(self, text: bytes) -> int:
        """The number of brackets that are open after some lines."""
        text = text.replace(rb"\\", b"").replace(rb"\"", b"").translate(None, _NO_BRACKETS)
        found = np.frombuffer(text, np.uint8)
        brackets = found[np.cumsum(found == ord('"'), dtype=np.int32) % 2 == 0]  # outside of strings
        if not len(brackets):
            return self.depth
        depths = self.depth + np.cumsum(_STEPS[brackets], dtype=np.int32)
        depths -= np.minimum(np.minimum.accumulate(depths), 0)  # a bracket that closes nothing is an error of its own
        if depths.max() > MOST_NESTED:
            raise DataError(
                f"{self.source} has lists or records that are nested more than {MOST_NESTED} levels deep. Write one "
                "record of numbers and text per line."
            )
        return int(depths[-1])

    def readable(self) -> bool:
        """The stream can be read."""
        return True

    def close(self) -> None:
        """Close the stream."""
        self.stream.close()
        super().close()


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
            stream = pa.PythonFile(_FlatJson(pa.input_stream(str(self.path), compression="detect"), self.source))
            with json.open_json(
                stream, read_options=json.ReadOptions(use_threads=False, block_size=_JSON_BLOCK),
                parse_options=json.ParseOptions(explicit_schema=schema, unexpected_field_behavior=unexpected),
            ) as reader:  # fmt: skip
                yield reader

    def batches(self, fields: Sequence[Any], size: int = BATCH) -> Iterator[Any]:
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

"""Tables that Arrow reads or holds: Feather and Arrow files, JSON lines, and spreadsheets as tables in memory."""

from __future__ import annotations

import itertools
from abc import abstractmethod
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from lowland.data.columns import TableFile
from lowland.data.formats.arrow import arrow_rows, content_of, joined, pandas_index, text_fields
from lowland.data.formats.csv_dialect import MISSING
from lowland.data.formats.written_numbers import WrittenNumbers
from lowland.data.passes import Passes
from lowland.data.problems import Problem, ProblemCounter, problems_error
from lowland.data.read_options import ReadOptions
from lowland.data.rows import Rows
from lowland.errors import DataError, reading

_BATCH = 2**16  # rows read at a time for one column
_JSON_BLOCK = 2**22  # bytes; the first block shows which keys there are


class ArrowTable(TableFile):
    """A file whose columns Arrow yields in batches."""

    options: tuple[str, ...] = ()  # the options of reading that apply
    first_row = 1  # where the first row is, in messages

    def __init__(self, path: Path, read: ReadOptions | None = None, source: str | None = None) -> None:
        self.path, self.source, self.read = path, source or repr(str(path)), read or ReadOptions()
        self.read.refuse_others(self.options, f"a {path.suffix} file")
        self.passes = Passes(self.source, [path])
        with reading(path, self.source, path.suffix):
            self.schema = self._open()
            self.names = list(self.schema.names)

    @abstractmethod
    def _open(self) -> Any:
        """Return the schema; the number of rows is set if it is known."""

    @abstractmethod
    def _read(self, kinds: dict[str, Any]) -> Iterator[Any]:
        """Yield record batches of all columns, or of those in ``kinds``, the types to read them as."""

    def rows_at(self, keep: list[int]) -> Rows:
        """Return the columns at these positions as Rows."""
        import pyarrow as pa

        fields = [self.schema.field(j) for j in keep]
        if text_fields(fields):
            raise problems_error(self._problems(fields), self.source)
        single = all(f.type == pa.float32() for f in fields)
        fields = [f.with_type(pa.float32() if single else pa.float64()) for f in fields]
        names, schema = [f.name for f in fields], pa.schema(fields)

        def batches(slab: int) -> Iterator[Any]:
            for batch in self._batches({f.name: f.type for f in fields}):
                yield batch.select(names).cast(schema, safe=False)

        return arrow_rows(batches, fields, self.n, self.source, self.passes)

    def _problems(self, fields: list[Any]) -> list[Problem]:
        """Return the columns that are not numbers; of text, the first cells that are none."""
        import pyarrow.compute as pc

        texts = {f.name: f.type for f in fields if text_fields([f])}
        plain = [name for name, kind in texts.items() if content_of(kind) == "text" and "dictionary" not in str(kind)]
        counter, start = ProblemCounter(plain), self.first_row
        for batch in self._batches(texts) if plain else ():
            lines = start + np.arange(batch.num_rows)
            for name in plain:
                column = batch.column(batch.schema.names.index(name))
                good = pc.match_substring_regex(pc.utf8_trim_whitespace(column), WrittenNumbers().pattern)
                counter.add(name, column, good, lines)
            start += batch.num_rows
        named = {problem.column: problem for problem in counter.problems()}
        others = {
            name: Problem(name, count=1, what=f"text, dates or categories ({kind})") for name, kind in texts.items()
        }
        return [named.get(name, problem) for name, problem in others.items()]

    def _values(self, j: int, *, missing_text: bool) -> np.ndarray:
        name = self.names[j]
        batches = self._batches({name: self.schema.field(j).type})
        return joined([b.column(b.schema.names.index(name)).to_numpy(zero_copy_only=False) for b in batches])

    def scan(self) -> Iterator[Any]:
        """Yield record batches of all columns."""
        return self._batches({f.name: f.type for f in self.schema})

    def first_text_column(self) -> str | None:
        """Return the name of the first column if it contains text."""
        return next(iter(text_fields([self.schema.field(0)])), None)

    def _batches(self, kinds: dict[str, Any]) -> Iterator[Any]:
        with reading(self.path, self.source, self.path.suffix):
            yield from self._read(kinds)


class FeatherTable(ArrowTable):
    """A Feather (version 2) or Arrow file, memory-mapped."""

    def _open(self) -> Any:
        with self._file() as file:
            if hasattr(file, "num_record_batches"):
                self.n = sum(file.get_batch(i).num_rows for i in range(file.num_record_batches))
            index = pandas_index(file.schema)
            self.id_name = index[0] if len(index) == 1 else None
            return file.schema

    def _file(self) -> Any:
        import pyarrow as pa

        source = pa.memory_map(str(self.path))
        is_file = source.read(6) == b"ARROW1"
        source.seek(0)
        return pa.ipc.open_file(source) if is_file else pa.ipc.open_stream(source)

    def _read(self, kinds: dict[str, Any]) -> Iterator[Any]:
        with self._file() as file:
            is_file = hasattr(file, "num_record_batches")
            for batch in map(file.get_batch, range(file.num_record_batches)) if is_file else file:
                chosen = batch.select(list(kinds))
                chosen.validate(full=True)  # offsets of a damaged file point outside of its memory
                yield chosen


class JsonLinesTable(ArrowTable):
    """A file of one JSON object per line, optionally compressed; a key that an object does not have is missing."""

    def _open(self) -> Any:
        with self._reader(None, "infer") as reader:
            return reader.schema

    def _reader(self, schema: Any, unexpected: str) -> Any:
        import pyarrow as pa
        import pyarrow.json as json

        stream = pa.input_stream(str(self.path), compression="detect")
        return json.open_json(
            stream, read_options=json.ReadOptions(use_threads=False, block_size=_JSON_BLOCK),
            parse_options=json.ParseOptions(explicit_schema=schema, unexpected_field_behavior=unexpected),
        )  # fmt: skip

    def _read(self, kinds: dict[str, Any]) -> Iterator[Any]:
        import pyarrow as pa

        fields = [f.with_type(kinds.get(f.name, f.type)) for f in self.schema]
        done = 0
        try:
            with self._reader(pa.schema(fields), "error") as reader:
                for batch in reader:
                    yield batch
                    done += 1
            return
        except pa.ArrowInvalid as error:
            if "unexpected field" in str(error):
                raise DataError(
                    f"A later line of {self.source} has a key that its first {_JSON_BLOCK // 2**20} MiB do not have. "
                    "Add it to the first line: null is a missing value."
                ) from error
        # a column that is perhaps not read has values of several types: read on without those
        with self._reader(pa.schema([pa.field(name, kind) for name, kind in kinds.items()]), "ignore") as reader:
            yield from itertools.islice(reader, done, None)


class MemoryTable(ArrowTable):
    """A file that is read at once into a table in memory."""

    def _open(self) -> Any:
        self.table = self._load()
        self.n = self.table.num_rows
        return self.table.schema

    @abstractmethod
    def _load(self) -> Any:
        """Return the table."""

    def _read(self, kinds: dict[str, Any]) -> Iterator[Any]:
        yield from self.table.select(list(kinds)).to_batches(max_chunksize=_BATCH)


def column_of(values: list[Any], missing: tuple[str, ...]) -> Any:
    """Return the cells of a spreadsheet as an Arrow column: numbers, dates or text; marks of missing values as null."""
    import datetime

    import pyarrow as pa

    marks = {*MISSING, *missing}
    values = [None if v is None or (isinstance(v, str) and v.strip() in marks) else v for v in values]
    kinds = {type(v) for v in values if v is not None}
    if kinds <= {bool}:
        return pa.array(values, pa.bool_() if kinds else pa.float64())
    if kinds <= {int, float, bool}:
        return pa.array([None if v is None else float(v) for v in values], pa.float64())
    if kinds <= {datetime.datetime}:
        return pa.array(values, pa.timestamp("us"))
    return pa.array([None if v is None else str(v) for v in values], pa.string())

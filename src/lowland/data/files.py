"""Tables in files: Parquet (also folders of parts), CSV and numpy's own, read in bounded slabs."""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from lowland.data.columns import refuse_text, refuse_twins, selected
from lowland.data.rows import ColumnRows, Rows, slab_rows
from lowland.errors import DataError, FileProblem, MissingFile, ParameterError

READABLE = (".npy", ".npz", ".csv", ".csv.gz", ".tsv", ".tsv.gz", ".parquet")
_CSV_BLOCK = 4 * 2**20  # bytes parsed at a time
_READ_BUFFER = 2**20  # bytes of a Parquet column read at a time


def suffix_of(path: Path) -> str:
    """Return the ending that tells how to read a file, such as .csv.gz; '' for a folder."""
    name = path.name.lower()
    return next((suffix for suffix in sorted(READABLE, key=len, reverse=True) if name.endswith(suffix)), path.suffix)


def check_readable(path: Path) -> None:
    """Refuse a file that is not there or may not be read."""
    if not os.path.exists(path):
        raise MissingFile(f"There is no file {str(path)!r}. Check the name and the folder.")
    if not os.access(path, os.R_OK):
        raise FileProblem(f"{str(path)!r} may not be read by this user. Ask its owner for permission to read it.")


def open_table(path: Path, columns: Sequence[str] | None, drop: Sequence[str]) -> Rows:
    """Return a file with named columns as Rows."""
    table = table_at(path)
    refuse_twins(table.names, table.source)
    keep = selected(table.names, columns, drop, repr(str(path)))
    return table.rows([table.names[j] for j in keep])


def table_at(path: Path) -> ParquetTable | CsvTable:
    """Return the table in a file, its head read."""
    check_readable(path)
    if path.is_dir() or suffix_of(path) == ".parquet":
        return ParquetTable(path)
    if suffix_of(path) in (".csv", ".csv.gz", ".tsv", ".tsv.gz"):
        return CsvTable(path)
    raise ParameterError(
        f"{str(path)!r} is not read as a table. Lowland reads {', '.join(READABLE)} and folders of Parquet parts."
    )


class ParquetTable:
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
        self.types = [_common_type([schema.field(name).type for schema, _ in heads]) for name in self.names]

    def _open(self, part: Path) -> Any:
        import pyarrow as pa
        import pyarrow.parquet as pq

        check_readable(part)
        try:
            # Without these two, Arrow reads whole row groups ahead, whatever the budget says.
            return pq.ParquetFile(part, pre_buffer=False, buffer_size=_READ_BUFFER)
        except (pa.ArrowInvalid, OSError) as error:
            raise FileProblem(
                f"{str(part)!r} is not a whole Parquet file ({_first_line(error)}). Truncated? Write it again."
            ) from error

    def _head(self, part: Path) -> tuple[Any, int]:
        with self._open(part) as file:
            return file.schema_arrow, file.metadata.num_rows

    def rows(self, names: list[str]) -> Rows:
        """Return the named columns as Rows."""
        import pyarrow as pa

        types = dict(zip(self.names, self.types, strict=True))
        fields = [pa.field(name, types[name]) for name in names]

        def batches(slab: int) -> Iterator[Any]:
            for batch in self.batches(names, slab):
                yield batch.cast(pa.schema(fields), safe=False)  # large integers are rounded, as numpy rounds them

        return _arrow_rows(batches, fields, self.n, self.source)

    def batches(self, names: list[str], size: int) -> Iterator[Any]:
        """Yield record batches of the named columns, part after part."""
        import pyarrow as pa

        for part in self.parts:
            with self._open(part) as file:
                try:
                    for batch in file.iter_batches(batch_size=size, columns=names):
                        yield batch.select(names)
                except (pa.ArrowInvalid, OSError) as error:
                    raise FileProblem(f"{str(part)!r} is damaged ({_first_line(error)}). Write it again.") from error


class CsvTable:
    """A comma- or tab-separated file with a header, perhaps compressed."""

    def __init__(self, path: Path) -> None:
        self.path, self.source = path, repr(str(path))
        self.delimiter = "\t" if ".tsv" in path.name.lower() else ","
        self._check_header()
        with self._reader() as reader:
            self.schema = reader.schema
        self.names = list(self.schema.names)

    def _check_header(self) -> None:
        """Refuse a first line that shows another separator, another encoding, or no names at all."""
        with self._reading(), self._stream() as stream:
            line = stream.read(_CSV_BLOCK).partition(b"\n")[0]
        try:
            names = line.decode("utf-8-sig").strip().split(self.delimiter)
        except UnicodeDecodeError as error:
            raise self._not_utf8("header") from error
        unquoted = re.sub(rb'"[^"]*"', b"", line).decode(errors="replace")
        self.likely = max(self.delimiter + ";\t,", key=unquoted.count)  # the first of those that are as many
        if self.likely in ";\t" and self.delimiter not in unquoted and self.likely != self.delimiter:
            raise self._separated()
        bare = [name.strip().strip('"') for name in names]
        if len(bare) > 1 and "" in bare:
            raise DataError(
                f"Column {bare.index('') + 1} of {self.source} has no name: an index that pandas wrote? "
                "Give it a name in the header, or write the file with index=False."
            )
        if all(_is_number(name) for name in bare) and not _counts_up(bare):
            raise DataError(
                f"The first line of {self.source} holds numbers where the names of the columns should be. "
                "Add a header line."
            )

    def _stream(self) -> Any:
        import pyarrow as pa

        return pa.input_stream(str(self.path), compression="detect")

    def _reader(self, **convert: Any) -> Any:
        import pyarrow.csv as csv

        with self._reading():
            return csv.open_csv(
                self._stream(),
                # one thread: only then does a ragged line come with its number
                read_options=csv.ReadOptions(use_threads=False, block_size=_CSV_BLOCK),
                parse_options=csv.ParseOptions(delimiter=self.delimiter),
                convert_options=csv.ConvertOptions(**convert),
            )

    @contextmanager
    def _reading(self) -> Iterator[None]:
        """Explain what Arrow says of the file, when it is opened as when it is read on."""
        import pyarrow as pa

        try:
            yield
        except pa.ArrowInvalid as error:
            raise self._explained(error) from error
        except OSError as error:
            raise FileProblem(
                f"{self.source} cannot be read: {_first_line(error)}. The file may be damaged: write it again."
            ) from error

    def _explained(self, error: Exception) -> DataError:
        words = _first_line(error).removeprefix("CSV parse error: ")
        if "UTF8" in words:
            return self._not_utf8("text")
        if "Empty CSV" in words:
            return DataError(f"{self.source} is empty: Found array with 0 sample(s). Write rows into it.")
        if "columns, got" in words:
            if self.likely != self.delimiter:
                return self._separated()
            return DataError(f"{self.source} is ragged: {words}. Mend that line (the header is row 1).")
        return DataError(f"{self.source} cannot be read as numbers: {words}. Mend that value, or leave its column out.")

    def _separated(self) -> DataError:
        """What is said of a file whose values have another separator between them."""
        remedy = {
            "\t": "Name it .tsv.",
            ",": "Name it .csv.",
            ";": "Write it with commas and decimal points, in pandas: "
            "read_csv(file, sep=';', decimal=',').to_csv(file, index=False).",
        }[self.likely]
        return DataError(f"{self.source} looks separated by {self.likely!r}, not by {self.delimiter!r}. {remedy}")

    def _not_utf8(self, what: str) -> DataError:
        return DataError(f"The {what} of {self.source} is not UTF-8. Save the file in that encoding.")

    def rows(self, names: list[str]) -> Rows:
        """Return the named columns as Rows of float64."""
        import pyarrow as pa

        fields = [self.schema.field(name) for name in names]
        if self.likely != self.delimiter and any(self.likely in name for name in _texts(fields)):
            raise self._separated()
        # An empty column has no type; a later block may bring decimals where the first had whole numbers.
        kinds = {f.name: f.type if pa.types.is_boolean(f.type) else pa.float64() for f in fields if not _texts([f])}
        fields = [f.with_type(kinds.get(f.name, f.type)) for f in fields]
        return _arrow_rows(lambda slab: self.batches(names, column_types=kinds), fields, None, self.source)

    def batches(self, names: list[str], **convert: Any) -> Iterator[Any]:
        """Yield record batches of the named columns."""
        import pyarrow as pa

        for name in names:
            if pa.types.is_binary(self.schema.field(name).type):
                raise self._not_utf8(f"column {name!r}")
        with self._reader(include_columns=names, **convert) as reader, self._reading():
            yield from reader


def text_at_the_start(path: Path) -> str | None:
    """Return the name of the first column of a file, if it holds text: perhaps the names of the rows."""
    table = table_at(path)
    kinds = table.types if isinstance(table, ParquetTable) else table.schema.types
    return None if _holds_numbers(kinds[0]) else table.names[0]


def read_column(path: Path, name: str, *, gaps: bool = True) -> np.ndarray:
    """Return one named column of a file: labels may be text.

    ``gaps``: what stands for a missing number in a text file, such as NA, stands for a missing text too. Names of rows
    have none.
    """
    table = table_at(path)
    selected(table.names, [name], (), table.source)
    if isinstance(table, ParquetTable):
        batches = table.batches([name], 2**16)
    else:
        batches = table.batches([name], strings_can_be_null=gaps)
    columns = [column for batch in batches for column in _arrow_columns(batch)]
    values = np.concatenate(columns) if columns else np.empty(0)
    if values.dtype.kind in "OU" and "" in values:  # some write a missing text as nothing
        values = values.astype(object)
        values[values == ""] = None
    return values


def read_columns(path: Path) -> dict[str, np.ndarray]:
    """Return every column of a Parquet file by its name, numbers and texts."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = pq.read_table(path)
    except (OSError, pa.ArrowInvalid) as error:
        raise FileProblem(f"{str(path)!r} cannot be read as Parquet: {_first_line(error)}. Write it again.") from error
    return {name: column.to_numpy() for name, column in zip(table.column_names, table.columns, strict=True)}


def load_numpy(path: Path) -> Any:
    """Return the array in a .npy file, memory-mapped, or the one named X (or the only one) in a .npz file.

    A .npz file may also hold a sparse matrix as scipy.sparse.save_npz writes it.
    """
    try:
        if suffix_of(path) == ".npy":
            return np.load(path, mmap_mode="r", allow_pickle=False)
        with open(path, "rb") as file, np.load(file, allow_pickle=False) as archive:
            name = "X" if "X" in archive.files else archive.files[0] if len(archive.files) == 1 else None
            if name is not None:
                return archive[name]
            if {"format", "shape"} <= set(archive.files):
                return _sparse_matrix(path)
            held = ", ".join(archive.files)
    except Exception as error:  # zipfile, zlib, pickle and OS errors: a damaged archive fails in many ways
        raise FileProblem(
            f"{str(path)!r} is not a whole {suffix_of(path)} file of numbers: {_first_line(error)}. Write it again."
        ) from error
    raise DataError(f"{str(path)!r} holds the arrays {held}. Name the one to reduce 'X'.")


def _sparse_matrix(path: Path) -> Any:
    import scipy.sparse

    matrix = scipy.sparse.load_npz(path)  # no pickle: scipy forbids it
    if hasattr(matrix, "check_format"):
        matrix.check_format(full_check=True)  # an index beyond the shape would be read outside the array
    return matrix


def _pandas_index(schema: Any) -> set[str]:
    """The columns that pandas wrote as the index of its frame, which are no features."""
    written = (schema.pandas_metadata or {}).get("index_columns", ())
    return {name for name in written if isinstance(name, str)}


def _counts_up(names: list[str]) -> bool:
    """Whether numbers can be names: 0, 1, 2, … as pandas writes them, or rising ones such as years and wavelengths."""
    if not all(name.isdigit() for name in names):
        return False
    numbers = [int(name) for name in names]
    rising = all(a < b for a, b in itertools.pairwise(numbers))
    return numbers == list(range(len(numbers))) or (rising and numbers[0] >= 100)


def _texts(fields: Sequence[Any]) -> list[str]:
    """The names of the fields that hold no numbers."""
    return [f.name for f in fields if not _holds_numbers(f.type)]


def _holds_numbers(kind: Any) -> bool:
    import pyarrow.types as kinds

    tests = (kinds.is_integer, kinds.is_floating, kinds.is_boolean, kinds.is_decimal, kinds.is_null)
    return any(is_kind(kind) for is_kind in tests)


def _common_type(types: Sequence[Any]) -> Any:
    """The type in which a column of all parts is read: one without numbers if there is any, floats otherwise."""
    import pyarrow as pa

    if not all(map(_holds_numbers, types)):
        return next(kind for kind in types if not _holds_numbers(kind))
    return pa.float32() if all(kind in (pa.float32(), pa.float16()) for kind in types) else pa.float64()


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _arrow_rows(batches: Callable[[int], Iterable[Any]], fields: Sequence[Any], n: int | None, source: str) -> Rows:
    """Rows over Arrow record batches, cut anew into slabs whose borders do not depend on the file's layout."""
    import pyarrow as pa

    refuse_text(_texts(fields), source)
    single = all(f.type == pa.float32() for f in fields)
    dtype = np.dtype(np.float32 if single else np.float64)
    slab = slab_rows(max(1, len(fields)), dtype.itemsize)
    names = tuple(f.name for f in fields)
    return ColumnRows(lambda: _reslab(batches(slab), slab), _arrow_columns, n, len(fields), dtype, names, source)


def _arrow_columns(table: Any) -> list[np.ndarray]:
    return [column.to_numpy(zero_copy_only=False) for column in table.columns]


def _reslab(batches: Iterable[Any], slab: int) -> Iterator[Any]:
    """Cut batches into tables of ``slab`` rows each, the last one perhaps shorter."""
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


def _first_line(error: Exception) -> str:
    return str(error).splitlines()[0].rstrip(". ") if str(error) else type(error).__name__

"""Writing results to files, atomically, and to data frames."""

from __future__ import annotations

import json
import os
import secrets
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from lowland.arrays.namespace import to_numpy
from lowland.data.files import mark, remove_leftovers
from lowland.errors import DataError, FileProblem, LowlandError, MissingFile, ParameterError, file_error
from lowland.plain import to_plain

STANDARD_OUTPUT = "-"
WRITABLE = (".npy", ".csv", ".csv.gz", ".parquet", ".jsonl")


@contextmanager
def atomic_write(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a temporary path next to ``path``; rename it on success, remove it on failure or Ctrl-C.

    Temporary files of processes that were killed are removed from the folder.
    """
    target = Path(path)
    if not target.parent.is_dir():
        raise MissingFile(f"The folder {str(target.parent)!r} does not exist. Create it first, or choose another one.")
    if target.is_dir():
        raise FileProblem(f"{str(target)!r} is a folder. Choose the name of a file.")
    if target.exists() and not target.is_file():  # renaming would replace it
        raise FileProblem(f"{str(target)!r} is a device, a pipe or a socket. Choose the name of a file.")
    remove_leftovers(target.parent)
    temporary = target.parent / f".{target.name[:40]}{mark()}{secrets.token_hex(8)}.part"
    try:  # the file is created inside, so that Ctrl-C at any moment removes it
        os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        yield temporary
        mask = os.umask(0)  # the only way to read it is to set it
        os.umask(mask)
        os.chmod(temporary, 0o666 & ~mask)
        os.replace(temporary, target)
    except UnicodeEncodeError as error:
        near = error.object[max(0, error.start - 20) : error.end + 20]
        raise DataError(
            f"The text {near!r} cannot be written to {str(target)!r}: it contains half of a surrogate pair, which is "
            "not a character. Rename the column or the label."
        ) from error
    except OSError as error:
        if isinstance(error, LowlandError):  # an error of reading, which has its own message
            raise
        words = f"cannot be written: {error.strerror or error}. Check permissions and free disk space."
        raise file_error(target, error, FileProblem(f"{str(target)!r} {words}")) from error
    finally:
        temporary.unlink(missing_ok=True)


def check_writable(path: str | os.PathLike[str]) -> str:
    """Return the extension of an output path, or raise an error before any work is done."""
    name = Path(path).name.lower()
    if str(path) == STANDARD_OUTPUT:
        return ".csv"
    suffix = next((s for s in sorted(WRITABLE, key=len, reverse=True) if name.endswith(s)), None)
    if suffix is None:
        raise ParameterError(
            f"{str(path)!r}: unsupported output format. Choose one of the extensions {', '.join(WRITABLE)}."
        )
    return suffix


def write_chunks(
    chunks: Iterable[Any], path: str | os.PathLike[str], names: Sequence[str], format: str | None = None
) -> int:
    """Write chunks of rows to a file as they arrive; return the number of rows written.

    ``format``: an extension, the format of standard output.
    """
    suffix = format or check_writable(path)
    if str(path) == STANDARD_OUTPUT:
        return _write_standard_output(chunks, names, suffix)
    writers = {".npy": _write_npy, ".jsonl": _write_json_lines}
    with atomic_write(path) as temporary:
        count = writers.get(suffix, _write_file)(chunks, temporary, names, suffix)
        if count == 0:
            raise DataError(f"There are no rows to write to {str(path)!r}. Check the input.")
        return count


def _write_standard_output(chunks: Iterable[Any], names: Sequence[str], suffix: str) -> int:
    """Write text as it arrives; other formats need a file that can be rewound, which is then copied."""
    if suffix == ".csv":
        count = _write_text(chunks, sys.stdout.buffer, names)
    else:
        remove_leftovers(tempfile.gettempdir())
        with tempfile.TemporaryDirectory(prefix=f"lowland-stdout{mark()}") as folder:
            path = Path(folder) / f"output{suffix}"
            count = write_chunks(chunks, path, names)
            with open(path, "rb") as file:
                shutil.copyfileobj(file, sys.stdout.buffer)
    sys.stdout.flush()
    return count


def write_columns(columns: Mapping[str, np.ndarray], path: str | os.PathLike[str]) -> None:
    """Write columns of numbers and strings to one Parquet file."""
    import pyarrow as pa

    write_chunks([pa.table({name: pa.array(values) for name, values in columns.items()})], path, list(columns))


def with_columns(
    chunks: Iterable[Any], names: Sequence[str], before: Mapping[str, Any], after: Mapping[str, Any]
) -> Iterator[Any]:
    """Yield chunks as Arrow tables with further columns, whose types are those of the whole columns."""
    import pyarrow as pa

    def arrow(values: Any) -> Any:
        try:
            return pa.array(values, from_pandas=True)
        except (pa.ArrowException, TypeError, OverflowError):  # of several types
            return pa.array([None if value is None else str(value) for value in values])

    first, last = ([arrow(values) for values in part.values()] for part in (before, after))
    start = 0
    for chunk in chunks:
        table = _arrow_chunk(chunk, names)
        n = len(table)
        parts = [column.slice(start, n) for column in first], [column.slice(start, n) for column in last]
        yield pa.table([*parts[0], *table.columns, *parts[1]], names=[*before, *names, *after])
        start += n


def _arrow_chunk(chunk: Any, names: Sequence[str]) -> Any:
    """Return a chunk as an Arrow table, which it may be already."""
    import pyarrow as pa

    if isinstance(chunk, pa.Table):
        return chunk
    columns = np.ascontiguousarray(to_numpy(chunk).T)
    return pa.table(list(columns), names=list(names))


def _write_file(chunks: Iterable[Any], path: Path, names: Sequence[str], suffix: str) -> int:
    """Write .parquet, .csv or .csv.gz."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    if suffix == ".parquet":
        return _write_tables(chunks, names, lambda schema: pq.ParquetWriter(path, schema))
    with pa.output_stream(str(path), compression="gzip" if suffix == ".csv.gz" else None) as stream:
        return _write_text(chunks, stream, names)


def _write_text(chunks: Iterable[Any], stream: Any, names: Sequence[str]) -> int:
    import pyarrow.csv as csv

    options = csv.WriteOptions(quoting_style="needed")
    return _write_tables(chunks, names, lambda schema: csv.CSVWriter(stream, schema, write_options=options))


def _write_json_lines(chunks: Iterable[Any], path: Path, names: Sequence[str], suffix: str) -> int:
    """Write one JSON object per line; NaN and infinity, which JSON lacks, become null."""
    count = 0
    with open(path, "w", encoding="utf-8") as file:
        for chunk in chunks:
            for record in _arrow_chunk(chunk, names).to_pylist():
                file.write(json.dumps(to_plain(record, unknown=str), ensure_ascii=False) + "\n")
                count += 1
    return count


def _write_tables(chunks: Iterable[Any], names: Sequence[str], open_writer: Callable[[Any], Any]) -> int:
    """Write every chunk as an Arrow table; the first one gives the types."""
    count, writer = 0, None
    try:
        for chunk in chunks:
            table = _arrow_chunk(chunk, names)
            writer = writer or open_writer(table.schema)
            writer.write_table(table)
            count += table.num_rows
    finally:
        if writer is not None:
            writer.close()
    return count


def _write_npy(chunks: Iterable[Any], path: Path, names: Sequence[str], suffix: str) -> int:
    """Write .npy; the number of rows may be unknown until the end, so the header is written twice."""
    count = 0
    with open(path, "wb") as file:
        header: dict[str, Any] = {}
        for chunk in chunks:
            block = np.ascontiguousarray(to_numpy(chunk))
            if not header:
                header = {"descr": np.lib.format.dtype_to_descr(block.dtype), "fortran_order": False}
                header["shape"] = (10**15, block.shape[1])
                np.lib.format.write_array_header_1_0(file, header)
                begin = file.tell()
            file.write(block.data)
            count += len(block)
        if not header:
            return 0
        file.seek(0)
        np.lib.format.write_array_header_1_0(file, {**header, "shape": (count, header["shape"][1])})
        if file.tell() != begin:
            raise FileProblem("The header of the .npy file changed its length. Write .parquet instead.")
    return count


def frame_like(X: Any, Z: np.ndarray, names: list[str]) -> Any:
    """Return Z as a data frame of the library of X, with the index of X; arrays stay arrays."""
    package = type(X).__module__.partition(".")[0]
    if package not in ("pandas", "polars", "pyarrow") or package not in sys.modules:
        return Z
    import narwhals as nw

    frame = nw.from_dict({name: Z[:, j] for j, name in enumerate(names)}, backend=sys.modules[package]).to_native()
    if package == "pandas":
        frame.index = X.index
    return frame

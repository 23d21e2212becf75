"""Everything a user can pass becomes Rows, in one function: ``open_rows``."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from lowland.arrays.namespace import is_array, is_dask, is_sparse, is_torch, to_numpy
from lowland.arrays.precision import float_dtype
from lowland.data.rows import ArrayRows, ChunkRows, ColumnRows, DaskRows, Rows, SparseRows, slab_rows
from lowland.errors import DataError, DataTypeError, FileProblem, MissingFile, ParameterError

READABLE = (".npy", ".npz", ".csv", ".csv.gz", ".tsv", ".tsv.gz", ".parquet")


def open_rows(source: Any, *, columns: Sequence[str] | None = None, drop: Sequence[str] = ()) -> Rows:
    """Return ``source`` as Rows: an array, frame, sparse matrix, tensor, Dask array, path, or re-iterable of chunks.

    ``columns`` keeps only these named columns, ``drop`` leaves some out (frames and files with names).
    """
    if isinstance(source, Rows):
        return source
    if isinstance(source, np.ndarray):
        return _open_array(source)
    if isinstance(source, str | os.PathLike):
        return _open_path(Path(source), columns, drop)
    if is_sparse(source):
        return _not_empty(SparseRows(_no_complex(source)))
    if is_dask(source):
        return DaskRows(_two_dimensional(source))
    if _is_frame(source):
        return _open_frame(source, columns, drop)
    if is_torch(source):
        return _not_empty(ArrayRows(_two_dimensional(_no_complex(source.detach()))))
    if is_array(source):
        return _not_empty(ArrayRows(_two_dimensional(source)))
    if isinstance(source, Iterator):
        raise DataTypeError(
            f"A {type(source).__name__} can be read only once. Pass a list of chunks, or an object whose __iter__ starts anew."
        )
    if _is_chunked(source):
        return ChunkRows(source, open_rows)
    return _open_array(_as_numpy(source))


def _as_numpy(source: Any) -> np.ndarray:
    try:
        return np.asarray(source)
    except ValueError as error:
        raise DataError(f"The rows do not form a table: {error} Give every row the same number of values.") from error


def _is_chunked(source: Any) -> bool:
    """Whether ``source`` is a re-iterable of chunks, not a table itself."""
    if hasattr(source, "__array__") or not isinstance(source, Iterable) or isinstance(source, dict | set):
        return False
    if isinstance(source, list | tuple):
        first = source[0] if source else None
        return getattr(first, "ndim", 0) == 2 or _is_frame(first) or isinstance(first, os.PathLike)
    return not hasattr(source, "__array_interface__")


# --- arrays -----------------------------------------------------------------------------------------------------------


def _open_array(X: np.ndarray, names: tuple[str, ...] | None = None, source: str = "X") -> Rows:
    if X.dtype.kind not in "fiub":
        X = _numbers_of(X, source)
    return _not_empty(ArrayRows(_two_dimensional(X), names, source))


def _numbers_of(X: np.ndarray, source: str) -> np.ndarray:
    _no_complex(X)
    if X.dtype.kind not in "OUS":
        raise DataTypeError(f"{source} holds {X.dtype}, not numbers. Convert it to float first.")
    try:
        return X.astype(np.float64)
    except (ValueError, TypeError) as error:
        # scikit-learn's checks look for the words of the original error
        kind = DataTypeError if isinstance(error, TypeError) else DataError
        raise kind(f"{source} holds values that are not numbers: {error}. Encode or drop those columns.") from error


def _no_complex(X: Any) -> Any:
    if "complex" in str(X.dtype):
        raise DataError("Complex data not supported. Pass the real and imaginary parts as columns of their own.")
    return X


def _two_dimensional(X: Any) -> Any:
    if X.ndim != 2:
        raise DataError(
            f"Expected 2D array, got {X.ndim}D array instead. Reshape your data: array.reshape(-1, 1) for a single "
            "column, array.reshape(1, -1) for a single row."
        )
    return X


def _not_empty(rows: Rows) -> Rows:
    for what, count in (("sample", rows.n), ("feature", rows.d)):
        if count == 0:
            raise DataError(
                f"Found array with 0 {what}(s) (shape={rows.shape}) while a minimum of 1 is required. "
                f"{rows.source} is empty: check what was selected."
            )
    return rows


# --- frames -----------------------------------------------------------------------------------------------------------


def _is_frame(X: Any) -> bool:
    return hasattr(X, "columns") and any(
        package in sys.modules and type(X).__module__.partition(".")[0] == package
        for package in ("pandas", "polars", "pyarrow", "modin", "cudf")
    )


def _open_frame(frame: Any, columns: Sequence[str] | None, drop: Sequence[str]) -> Rows:
    import narwhals as nw

    try:
        table = nw.from_native(frame, eager_only=True)
    except TypeError as error:
        raise DataTypeError(
            f"A {type(frame).__module__}.{type(frame).__name__} is lazy: collect or compute it first."
        ) from error
    labels = list(table.columns)
    names = tuple(labels) if all(isinstance(label, str) for label in labels) else None
    keep = _selected([str(label) for label in labels], columns, drop, "the frame")
    kinds = {j: table.schema[labels[j]] for j in keep}
    text = [str(labels[j]) for j, kind in kinds.items() if not (kind.is_numeric() or kind in (nw.Boolean, nw.Object))]
    _refuse_text(text, "the frame")
    n, d = len(table), len(keep)
    single = all(kind == nw.Float32 for kind in kinds.values())
    dtype = np.dtype(np.float32 if single else np.float64)
    slab = slab_rows(max(d, 1), dtype.itemsize)

    def read() -> Iterator[Any]:
        return (table[start : start + slab] for start in range(0, n, slab))

    def columns_of(part: Any) -> list[np.ndarray]:
        return [_column_numbers(part[:, j], str(labels[j])) for j in keep]

    kept = tuple(names[j] for j in keep) if names else None
    return _not_empty(ColumnRows(read, columns_of, n, d, dtype, kept, "the frame", in_memory=True))


def _column_numbers(column: Any, name: str) -> np.ndarray:
    values = column.to_numpy()
    if values.dtype.kind == "O":
        try:  # a nullable column: missing values become NaN, which is refused by name later
            values = np.array(
                [np.nan if v is None or v is getattr(sys.modules.get("pandas"), "NA", None) else v for v in values],
                dtype=float,
            )
        except (TypeError, ValueError):
            _refuse_text([name], "the frame")
    return values


def _refuse_text(text: list[str], source: str) -> None:
    if text:
        shown = ", ".join(repr(name) for name in text[:8]) + (f" and {len(text) - 8} more" if len(text) > 8 else "")
        raise DataTypeError(
            f"Column{'s' * (len(text) > 1)} {shown} of {source} hold{'s' * (len(text) == 1)} text, not numbers "
            "(could not convert string to float). Leave such columns out (--drop or --columns on the command line, "
            "X.drop(columns=...) in Python), or encode them as numbers."
        )


def _selected(names: list[str], columns: Sequence[str] | None, drop: Sequence[str], source: str) -> list[int]:
    unknown = [name for name in (*(columns or ()), *drop) if name not in names]
    if unknown:
        shown = ", ".join(names[:12]) + (" …" if len(names) > 12 else "")
        raise ParameterError(f"{source} has no column {', '.join(map(repr, unknown))}. Its columns: {shown}.")
    wanted = list(columns) if columns else names
    return [names.index(name) for name in wanted if name not in drop]


# --- files ------------------------------------------------------------------------------------------------------------


def _suffix(path: Path) -> str:
    name = path.name.lower()
    return next((suffix for suffix in sorted(READABLE, key=len, reverse=True) if name.endswith(suffix)), path.suffix)


def _open_path(path: Path, columns: Sequence[str] | None, drop: Sequence[str]) -> Rows:
    if not path.exists():
        raise MissingFile(f"There is no file {str(path)!r}. Check the name and the folder.")
    if path.is_dir():
        parts = sorted(path.glob("*.parquet"))
        if not parts:
            raise MissingFile(
                f"The folder {str(path)!r} holds no .parquet file. Name a file, or a folder of Parquet parts."
            )
        return _open_parquet(parts, str(path), columns, drop)
    suffix = _suffix(path)
    try:
        match suffix:
            case ".parquet":
                return _open_parquet([path], str(path), columns, drop)
            case ".csv" | ".csv.gz" | ".tsv" | ".tsv.gz":
                return _open_csv(path, columns, drop)
            case ".npy" | ".npz":
                X = _load_numpy(path, suffix)
                if columns or drop:
                    raise ParameterError(
                        f"{str(path)!r} has no column names, so --columns and --drop cannot be used with it."
                    )
                return _open_array(X, source=str(path))
    except OSError as error:
        if isinstance(error, FileProblem | MissingFile):
            raise
        raise FileProblem(
            f"{str(path)!r} cannot be read: {error}. The file may be damaged or closed to you."
        ) from error
    raise ParameterError(
        f"{str(path)!r}: files of this kind are not read. Lowland reads {', '.join(READABLE)} and folders of Parquet parts."
    )


def _load_numpy(path: Path, suffix: str) -> np.ndarray:
    try:
        if suffix == ".npy":
            return np.load(path, mmap_mode="r", allow_pickle=False)
        with np.load(path, allow_pickle=False) as archive:
            name = "X" if "X" in archive.files else archive.files[0] if len(archive.files) == 1 else None
            if name is None:
                raise DataError(
                    f"{str(path)!r} holds the arrays {', '.join(archive.files)}. Name the one to reduce 'X'."
                )
            return archive[name]
    except (ValueError, EOFError, OSError) as error:
        if isinstance(error, DataError):
            raise
        raise FileProblem(f"{str(path)!r} is not a whole {suffix} file of numbers: {error}. Write it again.") from error


def _arrow_dtype(types: Sequence[Any]) -> np.dtype:
    import pyarrow as pa

    single = all(t in (pa.float32(), pa.float16()) for t in types)
    return np.dtype(np.float32 if single else np.float64)


def _arrow_text(fields: Sequence[Any]) -> list[str]:
    import pyarrow.types as kinds

    return [
        f.name
        for f in fields
        if not (kinds.is_integer(f.type) or kinds.is_floating(f.type) or kinds.is_boolean(f.type))
    ]


def _arrow_columns(table: Any) -> list[np.ndarray]:
    return [
        column.to_numpy(zero_copy_only=False)
        if column.num_chunks != 1
        else column.chunk(0).to_numpy(zero_copy_only=False)
        for column in table.columns
    ]


def _arrow_rows(read_batches: Any, fields: Sequence[Any], n: int | None, source: str) -> Rows:
    """Rows over Arrow record batches, cut anew into slabs whose boundaries do not depend on the file's layout."""
    _refuse_text(_arrow_text(fields), source)
    dtype = _arrow_dtype([f.type for f in fields])
    names = tuple(f.name for f in fields)
    slab = slab_rows(max(1, len(fields)), dtype.itemsize)

    def read() -> Iterator[Any]:
        return _reslab(read_batches(slab), slab)

    return _not_empty(ColumnRows(read, _arrow_columns, n, len(fields), dtype, names, source))


def _reslab(batches: Iterable[Any], slab: int) -> Iterator[Any]:
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


def _open_parquet(parts: list[Path], source: str, columns: Sequence[str] | None, drop: Sequence[str]) -> Rows:
    import pyarrow as pa
    import pyarrow.parquet as pq

    def opened(part: Path) -> Any:
        try:
            return pq.ParquetFile(part)
        except (pa.ArrowInvalid, OSError) as error:
            raise FileProblem(
                f"{str(part)!r} is not a whole Parquet file ({_first_line(error)}). It may be truncated: write it again."
            ) from error

    heads = []
    for part in parts:
        with opened(part) as file:
            heads.append((file.schema_arrow, file.metadata.num_rows))
    schema = heads[0][0]
    for part, (other, _) in zip(parts, heads, strict=True):
        if other.names != schema.names:
            raise DataError(
                f"{part.name} of {source!r} has other columns than {parts[0].name}. All parts need the same columns."
            )
    keep = _selected(schema.names, columns, drop, repr(source))
    fields = [schema.field(j) for j in keep]
    names = [f.name for f in fields]

    def batches(slab: int) -> Iterator[Any]:
        for part in parts:
            with opened(part) as file:
                try:
                    for batch in file.iter_batches(batch_size=slab, columns=names):
                        yield batch.select(names).cast(pa.schema(fields))
                except (pa.ArrowInvalid, OSError) as error:
                    raise FileProblem(f"{str(part)!r} is damaged ({_first_line(error)}). Write it again.") from error

    return _arrow_rows(batches, fields, sum(n for _, n in heads), repr(source))


def _open_csv(path: Path, columns: Sequence[str] | None, drop: Sequence[str]) -> Rows:
    import pyarrow as pa
    import pyarrow.csv as csv

    parse = csv.ParseOptions(delimiter="\t" if ".tsv" in path.name.lower() else ",")

    def opened(**convert: Any) -> Any:
        stream = pa.input_stream(str(path), compression="detect")
        # one thread: only then does a ragged line come with its number
        read = csv.ReadOptions(use_threads=False, block_size=4 * 2**20)
        return csv.open_csv(
            stream, read_options=read, parse_options=parse, convert_options=csv.ConvertOptions(**convert)
        )

    def explained(error: Exception) -> FileProblem | DataError:
        words = _first_line(error)
        if "Empty CSV" in words:
            return DataError(f"{str(path)!r} is empty: Found array with 0 sample(s). Write rows into it.")
        if "columns, got" in words:
            return DataError(
                f"{str(path)!r} is ragged: {words.removeprefix('CSV parse error: ')}. Mend that line (the header counts as row 1)."
            )
        return DataError(f"{str(path)!r} cannot be read as CSV: {words}.")

    try:
        with opened() as reader:
            schema = reader.schema
    except pa.ArrowInvalid as error:
        raise explained(error) from error
    keep = _selected(schema.names, columns, drop, repr(str(path)))
    fields = [schema.field(j) for j in keep]
    # An empty column has no type; a later block may bring decimals where the first had whole numbers.
    numbers = {f.name: pa.float64() for f in fields if f.name not in _arrow_text([f]) or pa.types.is_null(f.type)}
    fields = [f.with_type(numbers.get(f.name, f.type)) for f in fields]

    def batches(slab: int) -> Iterator[Any]:
        try:
            with opened(column_types=numbers, include_columns=[f.name for f in fields]) as reader:
                yield from reader
        except pa.ArrowInvalid as error:
            raise explained(error) from error

    return _arrow_rows(batches, fields, None, repr(str(path)))


def read_column(source: Any, name: str) -> np.ndarray:
    """Return one named column of a frame or file, as it is (labels may be text)."""
    import narwhals as nw

    if _is_frame(source):
        table = nw.from_native(source, eager_only=True)
        _selected([str(c) for c in table.columns], [name], (), "the frame")
        return table[name].to_numpy()
    path = Path(source)
    if not path.exists():
        raise MissingFile(f"There is no file {str(path)!r}. Check the name and the folder.")
    if _suffix(path) == ".parquet" or path.is_dir():
        import pyarrow.parquet as pq

        parts = sorted(path.glob("*.parquet")) if path.is_dir() else [path]
        _selected(pq.read_schema(parts[0]).names, [name], (), repr(str(path)))
        return np.concatenate([pq.read_table(part, columns=[name])[name].to_numpy() for part in parts])
    if _suffix(path) in (".csv", ".csv.gz", ".tsv", ".tsv.gz"):
        import pyarrow as pa
        import pyarrow.csv as csv

        parse = csv.ParseOptions(delimiter="\t" if ".tsv" in path.name.lower() else ",")
        table = csv.read_csv(pa.input_stream(str(path), compression="detect"), parse_options=parse)
        _selected(table.column_names, [name], (), repr(str(path)))
        return table[name].to_numpy()
    raise ParameterError(f"{str(path)!r} has no named columns, so no column {name!r} can be read from it.")


def _first_line(error: Exception) -> str:
    return str(error).splitlines()[0].rstrip(". ") if str(error) else type(error).__name__


def as_vector(values: Any, n: int | None, what: str) -> np.ndarray:
    """Return labels, targets or weights as a 1-d numpy array, checked against the number of rows."""
    vector = to_numpy(values) if is_array(values) else np.asarray(values)
    if vector.ndim == 2 and vector.shape[1] == 1:
        vector = vector[:, 0]
    if vector.ndim != 1:
        raise DataError(f"{what} must be 1D array or scalar: one value a row; its shape is {vector.shape}.")
    if n is not None and len(vector) != n:
        raise DataError(
            f"{what}.shape == {vector.shape}, expected ({n},): {what} needs one value for each of the {n} rows."
        )
    return vector


def float_vector(values: Any, n: int | None, what: str) -> np.ndarray:
    """Return weights as float64, checked to be finite and not negative."""
    vector = as_vector(values, n, what).astype(np.float64)
    if not np.all(np.isfinite(vector)):
        raise DataError(f"Input {what} contains NaN or infinity. Give every row a finite weight.")
    if np.any(vector < 0) or not vector.any():
        raise DataError(
            f"{what} has negative values, or is zero throughout. Weights are counts: zero or more, some above zero."
        )
    return vector


__all__ = ["READABLE", "as_vector", "float_dtype", "float_vector", "open_rows", "read_column"]

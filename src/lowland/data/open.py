"""Open any supported input as Rows: ``open_rows``, and ``open_labelled`` for rows with class labels."""

from __future__ import annotations

import os
import shutil
import sys
import weakref
from collections.abc import Callable, Iterable, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from lowland.arrays.namespace import is_array, is_dask, is_sparse, is_torch, to_numpy
from lowland.data.files import (
    NUMPY,
    READABLE,
    copied,
    is_stream,
    readable_suffix,
    real_path,
    shown_name,
    suffix_of,
)
from lowland.data.read_options import OF_SHEETS, OF_TEXT, ReadOptions
from lowland.data.reader import Reader, WholeRows, holds_dates, too_large
from lowland.data.rows import SMALL_SLAB_BYTES, ArrayRows, ChunkRows, DaskRows, Rows
from lowland.errors import DataError, DataTypeError, ParameterError


def open_rows(
    source: Any, *, columns: Sequence[str] | None = None, drop: Sequence[str] = (), header: bool | None = None,
    read: ReadOptions | None = None, **options: Any,
) -> Rows:  # fmt: skip
    """Open a table: an array, data frame, sparse matrix, tensor, Dask array, file path, or iterable of chunks.

    ``columns`` keeps only these columns, ``drop`` drops some, both by name, in frames and in files with column names.
    ``header`` says whether the first line of a text file contains column names. By default, a line of numbers is a row.
    Other options of reading, such as ``separator=";"``, ``missing=["?"]`` or ``array="X"``, are those of ReadOptions,
    which may also be passed as ``read``.

    Examples
    --------
    >>> import numpy as np
    >>> import lowland
    >>> rows = lowland.open_rows(np.ones((5, 3)))
    >>> rows.shape, sum(len(chunk) for chunk in rows.chunks())
    ((5, 3), 5)
    """
    if header is not None or options:
        read = read_options_of(read, options if header is None else {"header": header, **options}, "open_rows")
    selects = columns is not None or bool(drop)
    if isinstance(source, np.ndarray) and not selects and read is None:
        return open_array(source)
    if has_columns(source):
        return not_empty(open_table(source, read).select(columns, drop))
    if read is not None:
        read.refuse_others((), f"a {type(source).__name__}")
    if selects:
        raise ParameterError(
            "Columns can be selected or dropped by name only in a data frame or a file with column names. "
            f"Select the columns of the {type(source).__name__} before passing it."
        )
    return source if isinstance(source, Rows) else _open_numbers(source)


def _open_numbers(source: Any) -> Rows:
    """Open an array of any library, a sparse matrix, chunks, or nested lists."""
    if isinstance(source, np.ndarray):
        return open_array(source)
    if is_sparse(source):
        return ArrayRows(checked_shape(no_complex(source)))
    if is_dask(source):
        return _open_dask(source)
    if is_torch(source):
        return _open_tensor(source)
    if is_array(source):
        return ArrayRows(checked_shape(source))
    if is_chunked(source):
        return open_chunks(source, open_rows)
    return open_array(as_numpy(source))


def read_options_of(read: ReadOptions | None, options: dict[str, Any], caller: str) -> ReadOptions:
    """Return options of reading, changed by those given as keywords."""
    names = [f.name for f in fields(ReadOptions)]
    unknown = [name for name in options if name not in names]
    if unknown:
        raise ParameterError(f"{caller} has no option {unknown[0]!r}. Options of reading: {', '.join(names)}.")
    return replace(read or ReadOptions(), **options)


def open_labelled(
    X: Any, y: Any = None, *, drop: Sequence[str] = (), opened: Callable[..., Rows] = open_rows
) -> tuple[Rows, Any, str | None]:
    """Return rows, labels and the name of the label column, or None. A frame or file is opened only once.

    A string ``y`` names the label column: it is dropped from the rows and returned unchanged, strings or numbers. In
    AnnData, it names a column of ``obs``. Labels passed as values are returned unchanged. ``opened`` opens the rows:
    ``open_rows``, or one that also accepts text.
    """
    if not isinstance(y, str):
        return opened(X, drop=drop), y, None
    if not has_named_columns(X):
        raise DataError(
            f"`y={y!r}` names a column, but `X` is a {type(X).__name__} without named columns. Pass a data frame or "
            "the path of one file, or pass the labels themselves, one per row."
        )
    table = open_table(X)
    table.require([y])
    return opened(table, drop=list(dict.fromkeys((*drop, y)))), table.column(y), y


def read_column(source: Any, name: str) -> np.ndarray:
    """Return one named column of a frame or file, unchanged: labels may be strings."""
    return open_table(source).column(name)


def is_anndata(X: Any) -> bool:
    """Whether X is an AnnData object, recognized without an import. The package has classes of matrices as well."""
    return type(X).__module__.partition(".")[0] == "anndata" and hasattr(X, "X")


def is_frame(X: Any) -> bool:
    """Whether X is a data frame of pandas, polars or pyarrow."""
    return hasattr(type(X), "columns") and any(
        package in sys.modules and type(X).__module__.partition(".")[0] == package
        for package in ("pandas", "polars", "pyarrow", "modin", "cudf")
    )


def opened_once(source: Any) -> Any:
    """Return a file or an iterable of chunks as a table or Rows, for work that opens it again; the rest unchanged."""
    if isinstance(source, np.ndarray | Reader | Rows) or is_frame(source) or is_array(source) or is_sparse(source):
        return source
    if has_columns(source):
        return open_table(source)
    return open_rows(source) if is_chunked(source) else source


def has_columns(source: Any) -> bool:
    """Whether a source is opened as a table: a file, a frame or a table, not an array or chunks of rows."""
    return isinstance(source, Reader | str | bytes | os.PathLike) or is_frame(source) or is_anndata(source)


def has_named_columns(X: Any) -> bool:
    """Whether X may have column names: it is a data frame, an AnnData object, a table, or the path of a file."""
    return X.has_names if isinstance(X, Reader) else has_columns(X) and not isinstance(X, bytes)


def open_table(source: Any, read: ReadOptions | None = None) -> Reader:
    """Return a frame, AnnData, a file or rows of numbers as a table; of a file, only its column names are read."""
    if isinstance(source, Reader):
        return source
    if is_frame(source):
        from lowland.data.formats.frames import FrameReader
        from lowland.data.vectors import with_vectors

        frame = FrameReader(source)
        return with_vectors(frame, frame.list_names)
    if is_anndata(source):
        from lowland.data.formats.h5ad import AnnDataReader

        return AnnDataReader(source, _open_numbers)
    if not isinstance(source, str | bytes | os.PathLike):
        return WholeRows(open_rows(source, read=read))
    path = real_path(Path(os.path.expanduser(os.fsdecode(source))))
    suffix = readable_suffix(path)
    if not is_stream(path):
        return _open_format(suffix, path, shown_name(path), read or ReadOptions())
    copy = copied(path)
    try:
        table = _open_format(suffix, copy, repr(str(path)), read or ReadOptions())
    except BaseException:
        shutil.rmtree(copy.parent, ignore_errors=True)
        raise
    if isinstance(table, WholeRows):
        table.rows.stamps = {}  # of a memory map, which outlives the table and the file
    weakref.finalize(table, shutil.rmtree, copy.parent, ignore_errors=True)  # other rows refer to the table
    return table


def _open_format(suffix: str, path: Path, source: str, read: ReadOptions) -> Reader:
    kind = suffix.removesuffix(".gz")
    if kind in (".csv", ".tsv", ".txt"):
        from lowland.data.formats.csv_file import CsvReader

        read.refuse_others((*OF_TEXT, "missing"), "a text file")
        return CsvReader(path, source, read)
    if kind in NUMPY and not path.is_dir():
        from lowland.data.formats.numpy_file import open_numpy_file

        read.refuse_others(("array",) if kind == ".npz" else (), f"a {kind} file")
        return open_numpy_file(path, source, read)
    if kind in (".xlsx", ".ods"):
        from lowland.data.formats.spreadsheet import open_spreadsheet

        read.refuse_others(OF_SHEETS, f"a {path.suffix} file")
        return open_spreadsheet(path, source, read)
    if kind == ".h5ad":
        from lowland.data.formats.h5ad import H5adReader

        read.refuse_others(("array",), "a .h5ad file")
        return H5adReader(path, source, read)
    if kind == ".parquet":
        from lowland.data.formats.parquet import ParquetReader

        read.refuse_others((), "a Parquet file")
        parquet = ParquetReader(path, source)
        return _with_vectors(parquet, parquet.schemas[0])
    if kind in (".feather", ".arrow", ".jsonl", ".ndjson"):
        from lowland.data.formats.arrow_files import FeatherReader, JsonLinesReader

        read.refuse_others((), f"a {path.suffix} file")
        table = (FeatherReader if kind in (".feather", ".arrow") else JsonLinesReader)(path, source)
        return _with_vectors(table, table.schema)
    if kind == ".png" and path.is_dir():
        from lowland.data.formats.images import ImageReader

        read.refuse_others((), "a folder of images")
        return ImageReader(path, source)
    raise ParameterError(
        f"{str(path)!r}: unsupported file format. Use {', '.join(READABLE)}, or a folder of .parquet files or images."
    )


def _with_vectors(table: Reader, schema: Any) -> Reader:
    from lowland.data.vectors import list_columns, with_vectors

    return with_vectors(table, list_columns(schema))


def as_numpy(source: Any) -> np.ndarray:
    """Return nested lists, or any other array-like, as a numpy array."""
    if source is None or isinstance(source, dict):
        what = "None" if source is None else "a dict"
        raise DataTypeError(f"`X` is {what}, not a table. Pass an array or a data frame (`pandas.DataFrame(X)`).")
    try:
        return np.asarray(source)
    except ValueError as error:
        raise DataError(
            f"The rows have different lengths: {error} Give every row the same number of values."
        ) from error


def as_objects(source: Any) -> np.ndarray:
    """Return nested lists with text as an array of objects: numpy would convert numbers beside text to strings."""
    found = as_numpy(source)
    return np.array(source, dtype=object) if found.dtype.kind == "U" and not isinstance(source, np.ndarray) else found


def open_chunks(source: Iterable[Any], open_chunk: Callable[[Any], Rows]) -> ChunkRows:
    """Return an iterable of chunks, each opened by ``open_chunk``, as Rows."""
    if iter(source) is iter(source):  # an iterator, or an object that returns the same one again
        raise DataTypeError(
            f"A {type(source).__name__} can be read only once. "
            "Pass a list of chunks, or an object whose __iter__ returns a new iterator each time."
        )
    return ChunkRows(source, open_chunk)


def is_chunked(source: Any) -> bool:
    """Whether ``source`` is an iterable of chunks, not a table itself."""
    if hasattr(source, "__array__") or not isinstance(source, Iterable) or isinstance(source, dict | set):
        return False
    if isinstance(source, list | tuple):
        first = source[0] if source else None
        if isinstance(first, tuple) and first:  # rows and labels together, for which ChunkRows raises an error
            first = first[0]
        if isinstance(first, str):
            return all(isinstance(name, str) and suffix_of(Path(name)) in READABLE for name in source)
        return getattr(first, "ndim", 0) == 2 or is_frame(first) or isinstance(first, os.PathLike)
    return not hasattr(source, "__array_interface__")


# --- arrays -----------------------------------------------------------------------------------------------------------


def open_array(X: np.ndarray, source: str = "X") -> ArrayRows:
    """Open a numpy array; ``source`` is its name in messages."""
    if "numpy.ma" in sys.modules and np.ma.is_masked(X):
        raise DataError(
            f"{source} is a masked array with {np.ma.count_masked(X)} masked values. Fill them with NaN "
            "(`X.filled(np.nan)`), then impute the missing values (for instance with `lowland.impute(X, 'mean')`)."
        )
    if X.dtype.kind not in "fiub":
        X = _numbers_of(X, source)
    if not X.flags.writeable and X.nbytes <= SMALL_SLAB_BYTES and not isinstance(X, np.memmap):
        X = np.array(X, order="K")  # numba would compile every kernel once more for a read-only array
    return ArrayRows(checked_shape(X, source), None, source)


def _numbers_of(X: np.ndarray, source: str) -> np.ndarray:
    no_complex(X)
    if X.dtype.kind not in "OUS":
        raise DataTypeError(f"{source} has dtype {X.dtype}, not numbers. Convert it to numbers (`X.astype(float)`).")
    if X.dtype.kind == "O" and holds_dates(X):
        raise DataTypeError(
            f"{source} contains dates or durations, not numbers. Encode them first, for instance as days since a date, "
            "or drop those columns."
        )
    try:
        return X.astype(np.float64)
    except OverflowError as error:
        raise too_large(source) from error
    except (ValueError, TypeError) as error:
        # scikit-learn's checks look for the text of the original error
        kind = DataTypeError if isinstance(error, TypeError) else DataError
        raise kind(f"{source} contains values that are not numbers: {error}. Encode or drop those columns.") from error


def _open_dask(X: Any) -> Rows:
    if no_complex(X).dtype.kind not in "fiub":
        raise DataTypeError(
            f"The Dask array has dtype {X.dtype}, not numbers. Convert it to numbers (`X.astype(float)`)."
        )
    return DaskRows(X if X.ndim == 2 else checked_shape(X))


def _open_tensor(X: Any) -> Rows:
    if X.layout != sys.modules["torch"].strided:
        raise DataTypeError(
            f"Tensors of layout {X.layout} are not supported. Make it dense (`X.to_dense()`), or pass a scipy.sparse "
            "matrix."
        )
    return ArrayRows(checked_shape(no_complex(X.detach())))


def no_complex(X: Any) -> Any:
    """Return X; raise an error for complex numbers."""
    if "complex" in str(X.dtype):
        raise DataError("Complex data not supported. Pass the real and imaginary parts as separate columns.")
    return X


def checked_shape(X: Any, source: str = "X") -> Any:
    """Return an array of any library; raise an error unless it is a table with rows and columns."""
    if X.ndim == 2 and 0 not in X.shape:
        return X
    if X.ndim > 2:
        raise DataError(
            f"Expected 2D array, got {X.ndim}D array instead. Turn each image or block into one row "
            "(`Reshape your data: X.reshape(len(X), -1)`)."
        )
    if X.ndim != 2:
        raise DataError(
            f"Expected 2D array, got {X.ndim}D array instead. Give it rows and columns (`Reshape your data: "
            "array.reshape(-1, 1) for a single column, array.reshape(1, -1) for a single row`)."
        )
    what = "sample" if X.shape[0] == 0 else "feature"
    raise DataError(
        f"{source} is empty (`Found array with 0 {what}(s) (shape={tuple(X.shape)}) while a minimum of 1 is "
        "required`). Check the selection of rows and columns."
    )


def not_empty(rows: Rows) -> Rows:
    """Return the rows; raise an error if there are none, or no columns."""
    if rows.n == 0 or rows.d == 0:
        checked_shape(np.empty((1 if rows.n is None else rows.n, rows.d)), rows.source)
    return rows


# --- vectors beside the rows ------------------------------------------------------------------------------------------


def as_vector(values: Any, n: int | None, what: str) -> np.ndarray:
    """Return labels, targets or weights as a 1-d numpy array of length n."""
    vector = values if isinstance(values, np.ndarray) else to_numpy(values) if is_array(values) else np.asarray(values)
    if vector.ndim == 2 and vector.shape[1] == 1:
        vector = vector[:, 0]
    if vector.ndim != 1:
        raise DataError(f"`{what}` must be 1D array or scalar: its shape is {vector.shape}. Pass one value per row.")
    if n is not None and len(vector) != n:
        raise DataError(
            f"{what}.shape == {vector.shape}, expected ({n},): `{what}` needs one value for each of the {n} rows."
        )
    return vector


def float_vector(values: Any, n: int | None, what: str) -> np.ndarray:
    """Return weights as float64; raise an error if they are not finite or negative."""
    try:
        vector = as_vector(values, n, what).astype(np.float64)
    except OverflowError as error:
        raise too_large(what) from error
    except (TypeError, ValueError) as error:
        if isinstance(error, DataError):
            raise
        raise DataTypeError(
            f"`{what}` contains values that are not numbers. Give each row a number as its weight."
        ) from error
    if not np.all(np.isfinite(vector)):
        raise DataError(f"Input `{what}` contains NaN or infinity. Give each row a finite weight.")
    if np.any(vector < 0) or not vector.any():
        raise DataError(
            f"`{what}` has negative values or only zeros. Weights count repetitions: use non-negative numbers, at "
            "least one of them positive."
        )
    return vector

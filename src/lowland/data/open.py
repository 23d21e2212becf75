"""Open any supported input as Rows: ``open_rows``, and ``open_labelled`` for rows with class labels."""

from __future__ import annotations

import math
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
    check_readable,
    copied,
    is_stream,
    readable_suffix,
    real_path,
    shown_name,
    suffix_of,
)
from lowland.data.read_options import OF_SHEETS, OF_TEXT, ReadOptions
from lowland.data.reader import Reader, holds_dates, too_large
from lowland.data.rows import SMALL_SLAB_BYTES, ArrayRows, ChunkRows, DaskRows, Rows, SparseRows, stamps_of
from lowland.errors import DataError, DataTypeError, ParameterError, reading
from lowland.run.settings import require_memory
from lowland.suggestions import did_you_mean


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
    selects = columns is not None or bool(drop)
    if header is not None or options:
        read = read_options_of(read, options if header is None else {"header": header, **options}, "open_rows")
    if isinstance(source, np.ndarray) and not selects and read is None:
        return _open_array(source)
    if isinstance(source, str | bytes | os.PathLike):
        path = real_path(_path(source))
        if selects or not _is_numpy_file(path):
            return not_empty(open_table_file(path, read).select(columns, drop))
        return _open_numpy_file(path, read or ReadOptions())
    if isinstance(source, Reader):
        return not_empty(source.select(columns, drop))
    if read is not None:
        read.refuse_others((), f"a {type(source).__name__}")
    if is_frame(source):
        return not_empty(open_table(source).select(columns, drop))
    if selects:
        raise ParameterError(
            "Columns can be selected or dropped by name only in a data frame or a file with column names. "
            f"Select the columns of the {type(source).__name__} before passing it."
        )
    return source if isinstance(source, Rows) else _open_numbers(source)


def _open_numbers(source: Any) -> Rows:
    """Open an array of any library, a sparse matrix, an AnnData object, chunks, or nested lists."""
    if _is_anndata(source):
        return _open_numbers(source.X)
    if isinstance(source, np.ndarray):
        return _open_array(source)
    if is_sparse(source):
        return SparseRows(checked_shape(no_complex(source)))
    if is_dask(source):
        return _open_dask(source)
    if is_torch(source):
        return _open_tensor(source)
    if is_array(source):
        return ArrayRows(checked_shape(source))
    if is_chunked(source):
        return open_chunks(source, open_rows)
    return _open_array(as_numpy(source))


def read_options_of(read: ReadOptions | None, options: dict[str, Any], caller: str) -> ReadOptions:
    """Return options of reading, changed by those given as keywords."""
    names = [f.name for f in fields(ReadOptions)]
    unknown = [name for name in options if name not in names]
    if unknown:
        raise ParameterError(f"{caller} has no option {unknown[0]!r}. Options of reading: {', '.join(names)}.")
    return replace(read or ReadOptions(), **options)


def open_labelled(
    X: Any,
    y: Any = None,
    *,
    columns: Sequence[str] | None = None,
    drop: Sequence[str] = (),
    label: str | None = None,
    read: ReadOptions | None = None,
    opened: Callable[..., Rows] = open_rows,
) -> tuple[Rows, Any, str | None]:
    """Return rows, labels and the name of the label column, or None. A frame or file is opened only once.

    A string ``y``, or ``label``, names the label column: it is dropped from the rows and returned unchanged, strings or
    numbers. In an AnnData object, it names a column of ``obs``. Labels passed as values are returned unchanged.
    ``opened`` opens the rows: ``open_rows``, or one that also accepts text.
    """
    name = y if isinstance(y, str) else label
    if name is None:
        return opened(X, columns=columns, drop=drop, read=read), y, None
    if _is_anndata(X):
        if name not in X.obs:
            raise DataError(f"`y={name!r}`: `obs` has no such column. {did_you_mean(name, X.obs.columns)}".rstrip())
        return opened(X, columns=columns, drop=drop, read=read), np.asarray(X.obs[name]), name
    if not has_named_columns(X):
        raise DataError(
            f"`y={name!r}` names a column, but `X` is a {type(X).__name__} without named columns. Pass a data frame or "
            "the path of one file, or pass the labels themselves, one per row."
        )
    table = open_table(X, read)
    rows = opened(table, columns=columns, drop=list(dict.fromkeys((*drop, name))))
    return rows, y if y is not None and not isinstance(y, str) else table.column(name), name


def read_column(source: Any, name: str) -> np.ndarray:
    """Return one named column of a frame or file, unchanged: labels may be strings."""
    return open_table(source).column(name)


def _is_anndata(X: Any) -> bool:
    """Whether X is an AnnData object, recognized without an import."""
    return type(X).__module__.partition(".")[0] == "anndata"


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
    if isinstance(source, str | bytes | os.PathLike):
        path = real_path(_path(source))
        return open_rows(path) if _is_numpy_file(path) else open_table_file(path)
    return open_rows(source) if is_chunked(source) else source


def has_named_columns(X: Any) -> bool:
    """Whether X may have column names: it is a data frame, a table, or the path of a file."""
    return X.has_names if isinstance(X, Reader) else isinstance(X, str | os.PathLike) or is_frame(X)


def readable_file(source: Any) -> bool:
    """Whether a path is a file with named columns, not a numpy file."""
    return not _is_numpy_file(real_path(_path(source)))


def open_table(source: Any, read: ReadOptions | None = None) -> Reader:
    """Return a frame, or a file with named columns, as a table; only its column names are read."""
    if isinstance(source, Reader):
        return source
    if not is_frame(source):
        return open_table_file(_path(source), read)
    from lowland.data.formats.frames import FrameReader
    from lowland.data.vectors import with_vectors

    table = FrameReader(source)
    return with_vectors(table, table.list_names)


def open_table_file(path: Path, read: ReadOptions | None = None) -> Reader:
    """Return a file with named columns as a table; only its column names are read."""
    path = real_path(path)
    suffix = readable_suffix(path)
    if suffix in NUMPY:
        raise ParameterError(
            f"{str(path)!r} has no column names, so columns cannot be selected by name. Save it as .parquet or .csv."
        )
    if not is_stream(path):
        return _open_format(suffix, path, shown_name(path), read or ReadOptions())
    copy = copied(path)
    try:
        table = _open_format(suffix, copy, repr(str(path)), read or ReadOptions())
    except BaseException:
        shutil.rmtree(copy.parent, ignore_errors=True)
        raise
    weakref.finalize(table, shutil.rmtree, copy.parent, ignore_errors=True)  # the rows refer to the table
    return table


def _open_format(suffix: str, path: Path, source: str, read: ReadOptions) -> Reader:
    """Open a file by its extension."""
    kind = suffix.removesuffix(".gz")
    if kind in (".csv", ".tsv", ".txt"):
        from lowland.data.formats.csv_file import CsvReader

        read.refuse_others((*OF_TEXT, "missing"), "a text file")
        return CsvReader(path, source, read)
    if kind in (".xlsx", ".ods"):
        from lowland.data.formats.spreadsheet import open_spreadsheet

        read.refuse_others(OF_SHEETS, f"a {path.suffix} file")
        return open_spreadsheet(path, source, read)
    if kind == ".h5ad":
        from lowland.data.formats.h5ad import open_h5ad

        read.refuse_others(("array",), "a .h5ad file")
        return open_h5ad(path, source, read)
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


def _path(source: Any) -> Path:
    return Path(os.path.expanduser(os.fsdecode(source)))


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


def _open_array(X: np.ndarray, source: str = "X") -> ArrayRows:
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


# --- numpy files ------------------------------------------------------------------------------------------------------


SMALLEST_SIDE = 8  # pixels of a square image whose rows of bytes are recognized
LABELS = ("y", "label", "labels", "target", "targets", "class", "classes")  # arrays of a .npz file that are labels


def _is_numpy_file(path: Path) -> bool:
    return path.suffix.lower() in NUMPY and not path.is_dir()


def _open_numpy_file(path: Path, read: ReadOptions) -> Rows:
    check_readable(path)
    suffix, source, stamps = suffix_of(path), shown_name(path), stamps_of([path])
    read.refuse_others(("array",) if suffix == ".npz" else (), f"a {suffix} file")
    copy = copied(path) if is_stream(path) else None
    try:
        found = load_numpy(copy or path, read.array)
        labels = None if suffix == ".npy" or is_sparse(found) else _labels_beside(copy or path, len(found))
    finally:
        if copy is not None:
            shutil.rmtree(copy.parent, ignore_errors=True)
    if is_sparse(found):
        return SparseRows(checked_shape(no_complex(found), source), source)
    shape = _image_shape(found)
    rows = _open_array(found if shape is None else found.reshape(len(found), -1), source)
    if shape is not None:
        rows.image_shape = shape
        rows.notes = (f"{source} contains {len(found):,} images of {shape[1]} × {shape[0]} pixels.",)
    if isinstance(found, np.memmap) and copy is None:
        rows.stamps = stamps
    rows.labels = labels
    return rows


def _image_shape(X: np.ndarray) -> tuple[int, ...] | None:
    """Return the shape of images, (height, width) or (height, width, 3): of stacked ones, or of rows of square ones."""
    shape = X.shape[1:]
    if len(shape) == 2 or (len(shape) == 3 and shape[2] in (1, 3)):
        return shape if shape[2:] == (3,) else shape[:2]
    side = math.isqrt(shape[0]) if len(shape) == 1 else 0
    return (side, side) if side >= SMALLEST_SIDE and side * side == shape[0] and X.dtype == np.uint8 else None


def _labels_beside(path: Path, n: int) -> tuple[str, np.ndarray] | None:
    """Return the name and values of an array of labels in a .npz file, one per row."""
    with open(path, "rb") as file, np.load(file, allow_pickle=False) as archive:
        for name in (name for name in LABELS if name in archive.files):
            values = archive[name]
            if values.shape in ((n,), (n, 1)) and values.dtype.kind in "biufUS":
                return name, values.reshape(n)
    return None


def load_numpy(path: Path, array: str | None = None) -> Any:
    """Return the array in a .npy file, memory-mapped, or the one named X (or the only one) in a .npz file.

    ``array`` names another array of a .npz file.
    A .npz file may also contain a sparse matrix, as scipy.sparse.save_npz writes it.
    """
    with reading(path, repr(str(path)), suffix_of(path)):
        if suffix_of(path) == ".npy":
            return np.load(path, mmap_mode="r", allow_pickle=False)
        with open(path, "rb") as file, np.load(file, allow_pickle=False) as archive:
            held = archive.files
            only = "X" if "X" in held else held[0] if len(held) == 1 else None
            name = only if array is None else array if array in held else None
            is_sparse_file = name is None and array is None and {"format", "shape"} <= set(held)
            sizes = {info.filename.removesuffix(".npy"): info.file_size for info in archive.zip.infolist()}
            size = sum(sizes.values()) if is_sparse_file else sizes.get(name or "", 0)
            require_memory(size, f"{str(path)!r}, unpacked,")
            if name is not None:
                return archive[name]
            if is_sparse_file:
                import scipy.sparse

                return scipy.sparse.load_npz(path)  # no pickle: scipy forbids it
    if not held:
        raise DataError(f"{str(path)!r} contains no array. Write it again.")
    names = ", ".join(map(repr, held))
    if array is not None:
        raise ParameterError(f"`array={array!r}`: {str(path)!r} contains only the arrays {names}. Choose one.")
    raise DataError(
        f"{str(path)!r} contains the arrays {names}. Choose one, such as `array={held[0]!r}`, or name it 'X'."
    )


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

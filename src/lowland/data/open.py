"""Everything a user can pass becomes Rows: ``open_rows``, and ``open_labelled`` where labels come with them."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from lowland.arrays.namespace import is_array, is_dask, is_sparse, is_torch, to_numpy
from lowland.data.columns import NamedTable, TableFile
from lowland.data.formats.csv_table import CsvTable
from lowland.data.formats.frame_table import FrameTable
from lowland.data.formats.numpy_files import load_numpy
from lowland.data.formats.parquet_table import ParquetTable
from lowland.data.paths import NUMPY, READABLE, check_readable, readable_suffix, suffix_of
from lowland.data.rows import ArrayRows, ChunkRows, DaskRows, Rows, SparseRows
from lowland.errors import DataError, DataTypeError, ParameterError

_TABLES: dict[str, type[CsvTable] | type[ParquetTable]] = {
    ".parquet": ParquetTable,
    **dict.fromkeys((".csv", ".csv.gz", ".tsv", ".tsv.gz"), CsvTable),
}


def open_rows(source: Any, *, columns: Sequence[str] | None = None, drop: Sequence[str] = ()) -> Rows:
    """Return ``source`` as Rows: an array, frame, sparse matrix, tensor, Dask array, path, or re-iterable of chunks.

    ``columns`` keeps only these named columns, ``drop`` leaves some out (frames and files with names).
    """
    if isinstance(source, str | bytes | os.PathLike):
        return _open_path(_path(source), columns, drop)
    if is_frame(source):
        return _not_empty(FrameTable(source).select(columns, drop))
    if columns is not None or drop:
        raise ParameterError(
            "Columns are chosen or dropped by name when a frame or a file with names is opened. "
            f"Select those of a {type(source).__name__} before."
        )
    if isinstance(source, Rows):
        return source
    if isinstance(source, np.ndarray):
        return _open_array(source)
    if is_sparse(source):
        return _not_empty(SparseRows(_two_dimensional(_no_complex(source))))
    if is_dask(source):
        return _open_dask(source)
    if is_torch(source):
        return _open_tensor(source)
    if is_array(source):
        return _not_empty(ArrayRows(_two_dimensional(source)))
    if _is_chunked(source):
        return _open_chunks(source)
    return _open_array(_as_numpy(source))


def open_labelled(
    X: Any, y: Any = None, *, columns: Sequence[str] | None = None, drop: Sequence[str] = (), label: str | None = None
) -> tuple[Rows, Any, str | None]:
    """Return rows, labels and the name of the column that held the labels, or None: a frame or file is opened once.

    A string ``y``, or ``label``, names that column: it is left out of the rows and returned as it is, text or numbers.
    Labels that are given as values are returned as they are.
    """
    name = y if isinstance(y, str) else label
    if name is None:
        return open_rows(X, columns=columns, drop=drop), y, None
    if not has_named_columns(X):
        raise DataError(
            f"y={name!r} names a column, and X is a {type(X).__name__} without named columns. Pass a frame or the "
            "path of one file, or give the labels themselves, one a row."
        )
    table = open_table(X)
    rows = _not_empty(table.select(columns, list(dict.fromkeys((*drop, name)))))
    return rows, y if y is not None and not isinstance(y, str) else table.column(name), name


def read_column(source: Any, name: str) -> np.ndarray:
    """Return one named column of a frame or file, as it is: labels may be text."""
    return open_table(source).column(name)


def is_frame(X: Any) -> bool:
    """Whether X is a table of pandas, polars or pyarrow."""
    return hasattr(type(X), "columns") and any(
        package in sys.modules and type(X).__module__.partition(".")[0] == package
        for package in ("pandas", "polars", "pyarrow", "modin", "cudf")
    )


def has_named_columns(X: Any) -> bool:
    """Whether a column of X can be named: X is a frame, or the path of a file."""
    return isinstance(X, str | os.PathLike) or is_frame(X)


def open_table(source: Any) -> NamedTable:
    """Return a frame, or a file with named columns, as a table whose names are read and whose rows are not."""
    return FrameTable(source) if is_frame(source) else open_table_file(_path(source))


def open_table_file(path: Path) -> TableFile:
    """Return the table in a file with named columns."""
    suffix = readable_suffix(path)
    if suffix in NUMPY:
        raise ParameterError(f"{str(path)!r} has no column names, so columns cannot be chosen or dropped by name.")
    if suffix not in _TABLES:
        raise ParameterError(
            f"{str(path)!r} is not read as a table. Lowland reads {', '.join(READABLE)} and folders of Parquet parts."
        )
    return _TABLES[suffix](path)


def _path(source: Any) -> Path:
    return Path(os.path.expanduser(os.fsdecode(source)))


def _as_numpy(source: Any) -> np.ndarray:
    if source is None or isinstance(source, dict):
        what = "None" if source is None else "A dict"
        raise DataTypeError(f"{what} is not a table. Pass an array or a frame, such as pandas.DataFrame(columns).")
    try:
        return np.asarray(source)
    except ValueError as error:
        raise DataError(f"The rows do not form a table: {error} Give every row the same number of values.") from error


def _open_chunks(source: Iterable[Any]) -> Rows:
    if iter(source) is iter(source):  # an iterator, or an object that hands out the same one again
        raise DataTypeError(
            f"A {type(source).__name__} can be read only once. "
            "Pass a list of chunks, or an object whose __iter__ starts anew."
        )
    return ChunkRows(source, open_rows)


def _is_chunked(source: Any) -> bool:
    """Whether ``source`` is a re-iterable of chunks, not a table itself."""
    if hasattr(source, "__array__") or not isinstance(source, Iterable) or isinstance(source, dict | set):
        return False
    if isinstance(source, list | tuple):
        first = source[0] if source else None
        if isinstance(first, tuple) and first:  # rows and labels together, which ChunkRows refuses
            first = first[0]
        if isinstance(first, str):
            return all(isinstance(name, str) and suffix_of(Path(name)) in READABLE for name in source)
        return getattr(first, "ndim", 0) == 2 or is_frame(first) or isinstance(first, os.PathLike)
    return not hasattr(source, "__array_interface__")


# --- arrays -----------------------------------------------------------------------------------------------------------


def _open_array(X: np.ndarray, names: tuple[str, ...] | None = None, source: str = "X") -> Rows:
    if "numpy.ma" in sys.modules and np.ma.is_masked(X):
        raise DataError(
            f"{source} is a masked array with {np.ma.count_masked(X)} masked values. Fill them first: "
            "X.filled(np.nan), then impute (for instance with sklearn.impute.SimpleImputer)."
        )
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


def _open_dask(X: Any) -> Rows:
    if _no_complex(X).dtype.kind not in "fiub":
        raise DataTypeError(f"The Dask array holds {X.dtype}, not numbers. Convert it first: X.astype(float).")
    return DaskRows(_two_dimensional(X))


def _open_tensor(X: Any) -> Rows:
    if X.layout != sys.modules["torch"].strided:
        raise DataTypeError(f"A tensor of layout {X.layout} is not read. Pass X.to_dense(), or a scipy.sparse matrix.")
    return _not_empty(ArrayRows(_two_dimensional(_no_complex(X.detach()))))


def _no_complex(X: Any) -> Any:
    if "complex" in str(X.dtype):
        raise DataError("Complex data not supported. Pass the real and imaginary parts as columns of their own.")
    return X


def _two_dimensional(X: Any) -> Any:
    if X.ndim > 2:
        raise DataError(
            f"Expected 2D array, got {X.ndim}D array instead. Reshape your data: X.reshape(len(X), -1) makes one row "
            "of each image or block."
        )
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


# --- files ------------------------------------------------------------------------------------------------------------


def _open_path(path: Path, columns: Sequence[str] | None, drop: Sequence[str]) -> Rows:
    if columns is not None or drop or path.suffix.lower() not in NUMPY or path.is_dir():
        return _not_empty(open_table_file(path).select(columns, drop))
    check_readable(path)
    found, name = load_numpy(path), repr(str(path))
    if is_sparse(found):
        return _not_empty(SparseRows(_two_dimensional(_no_complex(found)), name))
    return _open_array(found, source=name)


# --- vectors beside the rows ------------------------------------------------------------------------------------------


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

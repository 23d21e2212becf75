"""Rows: a table that can be read repeatedly, in slabs.

A slab is a chunk of fixed size. Its size depends only on shape and dtype, never on memory or threads, so the same data
give bitwise the same results. A reader yields raw slabs in order; ``prepare`` converts one to floats, on any thread.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import numpy as np

from lowland.arrays.namespace import Array, float_dtype, is_sparse, on_accelerator, to_numpy, xp_of
from lowland.errors import DataError, DataTypeError, FileProblem, LowlandError, MissingFile, file_error
from lowland.run.memory import release, scratch
from lowland.run.settings import require_memory, settings

SLAB_BYTES = 48 * 2**20  # large enough for BLAS to run at full speed, small enough for a quick response to Ctrl-C
SMALL_SLAB_BYTES = 8 * 2**20  # smaller slabs are not worth a thread
MOST_SMALL_SLABS = 16
ACCELERATOR_SLAB_BYTES = 2**30  # large products are efficient on a GPU
MOST_SLAB_ROWS = 2**18  # float32 sums over more rows lose digits
SPARSE_SLAB_ROWS = 2**14
_SQUARABLE = 1e-4  # of the root of the largest number: the squares of so many larger values overflow in a sum


def slab_rows(d: int, itemsize: int, *, accelerator: bool = False) -> int:
    """Return the number of rows per slab."""
    target = ACCELERATOR_SLAB_BYTES if accelerator else SLAB_BYTES
    most = 16 * MOST_SLAB_ROWS if accelerator else MOST_SLAB_ROWS
    return max(1, min(most, target // max(1, d * itemsize)))


def least_slab_rows(d: int, itemsize: int) -> int:
    """Return the number of rows of a small slab; one of fewer than 2 d costs less than merging its d x d statistic."""
    return max(2 * d, SMALL_SLAB_BYTES // max(1, d * itemsize))


def equal_slab_rows(n: int, d: int, itemsize: int) -> int:
    """Return the number of rows per slab of n rows, such that 2, 4, 8 or 16 threads have the same work."""
    least = least_slab_rows(d, itemsize)
    most = slab_rows(d, itemsize)
    if n <= most and n < 2 * least:
        return most
    needed, useful = -(-n // most), min(n // least, MOST_SMALL_SLABS)
    count = 1 << max((needed - 1).bit_length(), useful.bit_length() - 1, 0)  # a power of two
    return -(-n // count)


# --- files and chunks that change between two passes ------------------------------------------------------------------

Stamps = dict[Path, tuple[int, ...] | None]


def stamps_of(files: Iterable[Path]) -> Stamps:
    """Return size, time and inode of each file, which change when it is written; None if there is no such file."""
    return {file: _stamp(file) for file in files}


def _stamp(file: Path) -> tuple[int, ...] | None:
    try:
        found = os.stat(file)
    except OSError:
        return None
    return (found.st_size, found.st_mtime_ns, found.st_ino) if stat.S_ISREG(found.st_mode) else ()


def check_files(stamps: Stamps) -> None:
    """Raise an error if a file was written since it was opened: several passes would mix two tables."""
    for file, stamp in stamps.items():
        if _stamp(file) != stamp:
            raise FileProblem(
                f"{str(file)!r} was written or removed while it was read, so its rows have changed. Wait until the "
                "file is complete, open it again and repeat."
            )


@contextmanager
def enough_memory(source: str) -> Iterator[None]:
    """Turn the errors of libraries about memory into one of Lowland."""
    try:
        yield
    except MemoryError as error:
        raise error if isinstance(error, LowlandError) else file_error(source.strip("'"), error, DataError()) from error


# --- slabs ------------------------------------------------------------------------------------------------------------


def as_floats(X: Array, dtype: np.dtype) -> Array:
    """Return an array of any library, or a sparse matrix, in ``dtype``; without a copy where possible."""
    if isinstance(X, np.ndarray):
        # Memory maps and other subclasses become plain arrays, whose views are faster.
        return np.asarray(X, dtype=dtype)
    if is_sparse(X):
        return canonical(X).astype(dtype, copy=False)
    xp = xp_of(X)
    return xp.astype(X, xp.float32 if dtype == np.float32 else xp.float64, copy=False)


def canonical(X: Any) -> Any:
    """Return a sparse matrix as CSR with sorted indices and summed duplicates; the caller's matrix is unchanged."""
    X = X.tocsr()
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X


def checked_sparse(X: Any, source: str = "X") -> Any:
    """Return a sparse matrix; raise an error if an index points outside of it: compiled code would read or write there.

    ``source`` is its name in messages.
    """
    try:
        if X.format == "coo":
            if {len(at) for at in X.coords} != {len(X.data)}:
                raise ValueError("as many row and column indices as values are needed")
            if any(
                len(at) and not 0 <= at.min() <= at.max() < size for at, size in zip(X.coords, X.shape, strict=True)
            ):
                raise ValueError("indices out of bounds")
        else:
            X = X if X.format in ("csr", "csc", "bsr") else X.tocsr()
            if X.nnz < 0:  # the last index pointer: scipy checks nothing then
                raise ValueError("the number of stored values is negative")
            X.check_format(full_check=True)
    except (ValueError, TypeError, IndexError) as error:
        raise DataError(
            f"The indices of the sparse matrix {source} do not fit its shape {tuple(X.shape)}: {error}. Build it again."
        ) from error
    return X


OR_IMPUTE = "those rows or columns, or impute the missing values (for instance with `lowland.impute(X, 'mean')`)."
_AS_NAN = "np.where(np.isinf(X), np.nan, X)"


class IncompleteRows(DataError):
    """The rows have missing values, and the method needs a value in each cell."""

    fact: str = ""  # which columns
    remedy: str = ""  # what the method offers
    empty: tuple[str, ...] = ()  # columns to drop: without any value, or with infinity
    has_gaps: bool = True  # whether other columns have missing values
    has_categories: bool = False  # whether the method reads text as categories, which cannot be imputed

    @classmethod
    def of(
        cls,
        fact: str,
        remedy: str = "",
        empty: tuple[str, ...] = (),
        *,
        has_gaps: bool = True,
        has_categories: bool = False,
        rest: str = OR_IMPUTE,
    ) -> Self:
        """Return the error with the usual remedies."""
        rest = "those rows or columns." if has_categories else rest
        error = cls(f"{fact} {f'{remedy} Or drop' if remedy else 'Drop'} {rest}")
        error.fact, error.remedy, error.empty, error.has_gaps = fact, remedy, empty, has_gaps
        error.has_categories = has_categories
        return error


class Rows:
    """A table that can be read repeatedly, of n rows (None: not known before a pass) and d columns."""

    n: int | None
    d: int
    dtype: np.dtype
    names: tuple[str, ...] | None = None
    source: str = "X"
    in_memory: bool = False  # whether the rows are in memory
    is_sparse: bool = False
    is_text: bool = False  # whether every pass parses text: see data/spool.py
    stamps: Stamps = {}  # noqa: RUF012  of the files that the rows are read from
    image_shape: tuple[int, ...] | None = None  # (height, width) or (height, width, 3), if the rows are images
    rows_read: int | None = None  # number of rows of the first pass, with which every later one is compared
    allow_nan: bool = False  # whether the method handles NaN as missing values; infinity is always an error
    missing_remedy: str = ""  # what the method offers for missing values, as a sentence for the error
    pair_values: str = ""  # what X holds if it is a matrix of pairs, not of rows: "distances", for the error
    missing_as_level: tuple[int, ...] = ()  # columns of categories, in which a missing value is a level and no error
    compared_with: np.ndarray | None = None  # (p, d) points that a metric compares incomplete rows with, for the error
    levels: tuple[np.ndarray | None, ...] | None = (
        None  # of each column of text, whose values are codes: open_categories
    )
    ordered: tuple[bool, ...] | None = None  # whether the levels of each column are in a meaningful order
    notes: tuple[str, ...] = ()  # what was detected in reading the table, one sentence each

    @property
    def shape(self) -> tuple[int | None, int]:
        """Rows (None if not known) and columns."""
        return self.n, self.d

    @property
    def slab(self) -> int:
        """Rows in a slab: a function of the shape and the dtype, so that results do not depend on the source."""
        if self.n is None:
            return slab_rows(self.d, self.dtype.itemsize)
        return equal_slab_rows(self.n, self.d, self.dtype.itemsize)

    @property
    def slab_bytes(self) -> int:
        """Bytes of a slab of floats."""
        n = self.slab if self.n is None else min(self.slab, self.n)
        return n * self.d * self.dtype.itemsize

    def pieces(self) -> Iterator[Any]:
        """Yield raw slabs in order."""
        raise NotImplementedError

    def one_pass(self, pieces: Iterable[Any]) -> Iterator[Any]:
        """Yield raw slabs; raise an error if a file was written meanwhile, or the first pass read other rows."""
        check_files(self.stamps)
        count = 0
        with enough_memory(self.source):
            for piece in pieces:
                count += self.height(piece)
                yield piece
                del piece  # only the caller refers to the slab
        check_files(self.stamps)
        before, self.rows_read = self.rows_read, count
        if before not in (None, count):
            raise self.changed(f"The first pass read {before} rows, this one {count}.")

    def changed(self, fact: str) -> DataError:
        """Return the error for rows that are not those of the first pass."""
        return DataError(
            f"The rows of {self.source} changed between two passes. {fact} Several passes need the same rows each "
            "time: do not write to the files meanwhile, let __iter__ return the same chunks, or pass one array."
        )

    def describe_as(self, rows: Rows) -> None:
        """Take the shape, the names, the levels and what errors say from other rows."""
        self.levels, self.ordered, self.notes = rows.levels, rows.ordered, rows.notes
        self.n, self.d, self.dtype, self.names = rows.n, rows.d, rows.dtype, rows.names
        self.source, self.in_memory, self.is_sparse = rows.source, rows.in_memory, rows.is_sparse
        self.allow_nan, self.missing_remedy = rows.allow_nan, rows.missing_remedy
        self.compared_with, self.pair_values = rows.compared_with, rows.pair_values

    def prepare(self, piece: Any) -> Array:
        """Convert a raw slab to an array of floats."""
        return piece

    def height(self, piece: Any) -> int:
        """Return the number of rows in a raw slab."""
        return piece.shape[0]

    def chunks(self) -> Iterator[Array]:
        """Yield slabs of floats in order."""
        return (self.prepare(piece) for piece in self.pieces())

    def to_array(self) -> Array:
        """Return all rows as one array, if the memory budget allows it."""
        what, size, chunks = f"One array of all rows of {self.source}", 0, []
        if self.n is not None and not self.in_memory and not self.is_sparse:
            require_memory(2 * self.n * self.d * self.dtype.itemsize, what, "Use fewer rows")
        for chunk in self.chunks():
            chunks.append(chunk)
            size += 0 if self.in_memory else (chunk.data if is_sparse(chunk) else chunk).nbytes
            require_memory(2 * size, what, "Use fewer rows", so_far=True)  # the chunks, and the array of all of them
        if not chunks:
            raise DataError(
                f"{self.source} has no rows (`Found array with 0 sample(s) while a minimum of 1 is required`). Check "
                "its source."
            )
        with enough_memory(self.source):
            return _stack_sparse(chunks) if is_sparse(chunks[0]) else xp_of(chunks[0]).concat(chunks)

    def column_name(self, j: int) -> str:
        """Return the name of column j in messages."""
        return repr(self.names[j]) if self.names else str(j)

    def non_finite_error(self) -> DataError:
        """Return the error that names the columns with NaN or infinity, after one more pass to count them."""
        nan, inf, n, largest, first = self._count_bad_values()
        overflows = largest > _SQUARABLE * float(np.finfo(self.dtype).max) ** 0.5
        if self.allow_nan:
            if nan.any() and not inf.any() and not overflows:
                return self._undefined_distance()
            nan = np.zeros_like(nan)
        bad = np.flatnonzero(nan + inf)
        if not bad.size:
            return DataError(
                f"The values of {self.source} are too large for `{self.dtype}`: their sums or squares overflow. "
                f"{'Convert to `float64`, or rescale' if self.dtype == np.float32 else 'Rescale'} the columns."
            )
        found = " and ".join(
            f"{what} ({count.sum()} value{'s' * bool(count.sum() > 1)})"
            for what, count in (("NaN", nan), ("infinity", inf))
            if count.any()
        )
        if self.pair_values:
            return DataError(
                f"Input `X` contains {found} in the matrix of {self.pair_values}, first in row {first[0] + 1}, column "
                f"{first[1] + 1}. Compute these {self.pair_values}, or leave out such points: their rows and their "
                "columns."
            )
        where = ", ".join(self.column_name(j) + f" ({nan[j]})" * (bad.size > 1 and not inf.any()) for j in bad[:5]) + (
            f" and {bad.size - 5} more" if bad.size > 5 else ""
        )
        fact = (
            f"Input `X` contains {found} in column{'s' if bad.size > 1 else ''} {where} of {self.source}, {n} rows, "
            f"first in row {first[0] + 1}."
        )
        if not inf.any():
            empty = tuple(self.names[j] for j in np.flatnonzero(nan == n)) if self.names else ()
            gaps, text = bool((nan[nan < n] > 0).any()), self.levels is not None
            return IncompleteRows.of(fact, self.missing_remedy, empty, has_gaps=gaps, has_categories=text)
        if self.names is None:
            offered = f"{self.missing_remedy} Or drop" if self.missing_remedy and nan.any() else "Drop"
            return DataError(f"{fact} {offered} {self._or_replace_infinity()}")
        infinite, gaps = tuple(self.names[j] for j in np.flatnonzero(inf)), bool(nan[inf == 0].any())
        return IncompleteRows.of(fact, "", infinite, has_gaps=gaps, rest=self._or_replace_infinity())

    def _count_bad_values(self) -> tuple[np.ndarray, np.ndarray, int, float, tuple[int, int]]:
        """NaN and infinite values by column, the number of rows, the largest size, and the first place that is bad."""
        nan, inf, n, largest = np.zeros(self.d, dtype=int), np.zeros(self.d, dtype=int), 0, 0.0
        first: tuple[int, int] | None = None
        for chunk in self.chunks():
            values, i, j = _values_not_finite(chunk)
            is_nan, is_inf = np.isnan(values) & ~np.isin(j, self.missing_as_level), np.isinf(values)
            nan += np.bincount(j[is_nan], minlength=self.d)
            inf += np.bincount(j[is_inf], minlength=self.d)
            bad = np.flatnonzero(is_inf if self.allow_nan else is_nan | is_inf)
            if first is None and bad.size:
                first = n + int(i[bad[0]]), int(j[bad[0]])
            n += chunk.shape[0]
            sizes = np.abs(chunk.data if is_sparse(chunk) else to_numpy(chunk))
            largest = float(np.fmax.reduce(sizes, axis=None, initial=largest))
        return nan, inf, n, largest, first or (0, 0)

    def _or_replace_infinity(self) -> str:
        """What to do about infinity: it can be imputed only after it was replaced by NaN."""
        if self.is_sparse:
            return "those rows or columns, or store finite numbers instead."
        if self.allow_nan:
            return f"those rows or columns, or replace infinity by missing values (`{_AS_NAN}`)."
        how = f"lowland.impute({_AS_NAN}, 'mean')"
        return f"those rows or columns, or replace infinity by missing values and impute them (`{how}`)."

    def _undefined_distance(self) -> DataError:
        """The error for a row that has no column in common with one of the points it is compared with."""
        points, row = self.compared_with, 0
        remedy = "impute the missing values (for instance with `lowland.impute(X, 'mean')`)"
        known = None if points is None else ~np.isnan(np.asarray(to_numpy(points), dtype=np.float64))
        for chunk in self.chunks() if known is not None and known.shape[1] == self.d else ():
            here = ~np.isnan(to_numpy(chunk))
            for i in np.flatnonzero(~here.all(axis=1)):
                alone = np.flatnonzero(~known[:, here[i]].any(axis=1))  # type: ignore[index]
                if len(alone):
                    return DataError(
                        f"Row {row + int(i) + 1} of {self.source} and training row {alone[0] + 1} have no column in "
                        f"which both have a value, so their distance is undefined. Drop the row, or {remedy}."
                    )
            row += chunk.shape[0]
        return DataError(
            f"Some pairs of rows of {self.source} have no column in which both have a value, so their distance is "
            f"undefined. Drop the rows with the most missing values, or {remedy}."
        )


def _values_not_finite(X: Array) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The values of a chunk that are not finite, with their rows and columns, in the order of the rows."""
    if is_sparse(X):
        places = np.flatnonzero(~np.isfinite(X.data))
        return X.data[places], np.searchsorted(X.indptr, places, side="right") - 1, X.indices[places]
    values = to_numpy(X)
    i, j = np.nonzero(~np.isfinite(values))
    return values[i, j], i, j


@dataclass
class ArrayRows(Rows):
    """Rows of an array in memory (or memory-mapped) of any array library, or of a sparse matrix, which stays sparse."""

    X: Array
    names: tuple[str, ...] | None = None
    source: str = "X"
    in_memory: bool = True
    most_rows: int | None = None  # a smaller slab, if requested
    stamps: Stamps = field(default_factory=dict)  # of a memory-mapped file
    n: int = field(init=False)
    d: int = field(init=False)
    dtype: np.dtype = field(init=False)
    is_sparse: bool = field(init=False)

    def __post_init__(self) -> None:
        self.n, self.d = self.X.shape
        self.is_sparse = not isinstance(self.X, np.ndarray) and is_sparse(self.X)
        if self.is_sparse:
            size = self.d if self.X.format == "csr" else self.d + self.n
            require_memory(3 * 8 * size, f"The sparse matrix {self.source} of shape {self.X.shape}")
            self.X = canonical(checked_sparse(self.X, self.source))
        if isinstance(self.X, np.ndarray) or self.is_sparse:
            self.dtype = float_dtype(self.X.dtype)
        else:
            xp = xp_of(self.X)
            single = (xp.float32, getattr(xp, "float16", None), getattr(xp, "bfloat16", None))
            self.dtype = np.dtype(np.float32 if self.X.dtype in single else np.float64)

    @property
    def has_engine(self) -> bool:
        """Whether the library of the array computes with threads or on a device of its own, such as torch."""
        return not (self.is_sparse or isinstance(self.X, np.ndarray))

    @property
    def slab(self) -> int:
        if self.most_rows or self.is_sparse:
            return self.most_rows or SPARSE_SLAB_ROWS
        if self.has_engine and on_accelerator(self.X):
            return slab_rows(self.d, self.dtype.itemsize, accelerator=True)
        return equal_slab_rows(self.n, self.d, self.dtype.itemsize)

    @property
    def slab_bytes(self) -> int:
        """Bytes of a slab; of a sparse one, on average."""
        if not self.is_sparse:
            return super().slab_bytes
        return int(self.X.data.nbytes + self.X.indices.nbytes) * min(self.slab, self.n) // max(1, self.n)

    def pieces(self) -> Iterator[Array]:
        slab = self.slab
        for start in range(0, self.n, slab):
            if self.stamps:
                check_files(self.stamps)
            yield self.X if self.n <= slab else self.X[start : start + slab, :]

    def prepare(self, piece: Array) -> Array:
        return as_floats(piece, self.dtype)

    def to_array(self) -> Array:
        check_files(self.stamps)
        return as_floats(self.X, self.dtype)


@dataclass
class SlicedRows(Rows):
    """Rows in smaller slabs: for results that are wider than the rows."""

    rows: Rows
    most_rows: int

    def __post_init__(self) -> None:
        self.describe_as(self.rows)

    @property
    def slab(self) -> int:
        return self.most_rows

    def pieces(self) -> Iterator[Any]:
        for chunk in self.rows.chunks():
            for start in range(0, chunk.shape[0], self.most_rows):
                yield chunk[start : min(start + self.most_rows, chunk.shape[0]), :]

    def to_array(self) -> Array:
        return self.rows.to_array()


@dataclass
class MappedRows(Rows):
    """Rows whose slabs go through a map that keeps their shape."""

    rows: Rows
    map: Callable[[Array], Array]

    def __post_init__(self) -> None:
        self.describe_as(self.rows)

    @property
    def slab(self) -> int:
        return self.rows.slab

    @property
    def slab_bytes(self) -> int:
        return self.rows.slab_bytes

    def pieces(self) -> Iterator[Any]:
        return self.rows.pieces()

    def prepare(self, piece: Any) -> Array:
        return self.map(self.rows.prepare(piece))

    def height(self, piece: Any) -> int:
        return self.rows.height(piece)

    def to_array(self) -> Array:
        return self.map(self.rows.to_array())


@dataclass
class StreamRows(Rows):
    """Rows that every pass reads from the top: those of a file, or of a data frame.

    ``read`` yields raw slabs of the given number of rows, such as Arrow tables; ``convert`` turns one into floats.
    """

    read: Callable[[int], Iterable[Any]]
    convert: Callable[[Any], Array]
    n: int | None
    d: int
    dtype: np.dtype
    names: tuple[str, ...] | None
    source: str
    in_memory: bool = False
    is_sparse: bool = False
    is_text: bool = False
    stamps: Stamps = field(default_factory=dict)
    most_rows: int | None = None  # a smaller slab, if requested
    image_shape: tuple[int, ...] | None = None  # (height, width) or (height, width, 3), if the rows are images

    @property
    def slab(self) -> int:
        return self.most_rows or super().slab

    def pieces(self) -> Iterator[Any]:
        return self.one_pass(self.read(self.slab))

    def prepare(self, piece: Any) -> Array:
        with enough_memory(self.source):
            return self.convert(piece)


def columns_as_floats(columns: Sequence[Any], dtype: np.dtype, names: Sequence[str], source: str) -> np.ndarray:
    """Return columns, 1-d arrays, as one array in column-major order. Each is copied once."""
    slab = np.empty((len(columns), len(columns[0]) if columns else 0), dtype=dtype)
    for j, column in enumerate(columns):
        try:
            slab[j] = column
        except (ValueError, TypeError) as error:
            raise DataTypeError(
                f"Column {names[j]!r} of {source} is not numeric: {error}. Encode or drop it."
            ) from error
    return slab.T


@dataclass
class ChunkRows(Rows):
    """Rows of an iterable of chunks; each chunk is anything that ``open_rows`` accepts."""

    source_chunks: Iterable[Any]
    open_chunk: Callable[[Any], Rows]
    source: str = "the chunks"
    n: int | None = None
    d: int = field(init=False)
    dtype: np.dtype = field(init=False)

    def __post_init__(self) -> None:
        head = next(self._opened(), None)
        if head is None:
            raise DataError("There are no chunks. Pass at least one chunk.")
        self.d, self.dtype, self.names, self.is_sparse = head.d, head.dtype, head.names, head.is_sparse
        self.levels, self.ordered = head.levels, head.ordered
        if isinstance(self.source_chunks, list | tuple) and self.dtype == np.float32:  # the widest precision
            self.dtype = next((rows.dtype for rows in self._opened() if rows.dtype != self.dtype), self.dtype)
        self.first_bytes = head.slab_bytes * self.dtype.itemsize // head.dtype.itemsize
        self.stamps_of_chunks: dict[int, Stamps] = {}  # those of the first pass

    def _opened(self) -> Iterator[Rows]:
        for i, chunk in enumerate(self.source_chunks):
            if isinstance(chunk, tuple):
                raise DataError(
                    f"Chunk {i} is a tuple. Yield only the rows, and pass labels and weights as separate arguments."
                )
            try:
                rows = self.open_chunk(chunk)
            except (DataError, FileProblem, MissingFile) as error:
                raise type(error)(f"Chunk {i}: {error.marked}") from error
            yield rows

    @property
    def slab_bytes(self) -> int:
        """Bytes of a slab of the first chunk; the others are assumed to be like it."""
        return self.first_bytes

    def pieces(self) -> Iterator[tuple[Rows, Any]]:
        """Yield the slabs of every chunk; chunks are never concatenated."""
        return self.one_pass(self._slabs())

    def _slabs(self) -> Iterator[tuple[Rows, Any]]:
        for i, rows in enumerate(self._opened()):
            self._check_chunk(i, rows)
            if self.stamps_of_chunks.setdefault(i, rows.stamps) != rows.stamps:
                raise self.changed(f"Chunk {i}, {rows.source}, was written since the first pass.")
            for piece in rows.pieces():
                yield rows, piece

    def _check_chunk(self, i: int, rows: Rows) -> None:
        if rows.d != self.d:
            raise DataError(
                f"Chunk {i} has {rows.d} columns, the first has {self.d}. All chunks must have the same columns."
            )
        if rows.names and self.names and rows.names != self.names:
            j = next(j for j in range(self.d) if rows.names[j] != self.names[j])
            raise DataError(
                f"Column {j} of chunk {i} is {rows.column_name(j)}, but in the first chunk it is "
                f"{self.column_name(j)}. All chunks must have the same columns in the same order."
            )
        if rows.is_sparse != self.is_sparse:
            kinds = ("sparse", "dense") if rows.is_sparse else ("dense", "sparse")
            raise DataError(f"Chunk {i} is {kinds[0]}, the first is {kinds[1]}. Convert all chunks to the same kind.")
        if rows.dtype.itemsize > self.dtype.itemsize:
            raise DataError(
                f"Chunk {i} has {rows.dtype} values, but the first has {self.dtype}, which would round them. Yield all "
                f"chunks as {rows.dtype}, or pass a list of chunks, of which the widest precision is used."
            )

    def height(self, piece: tuple[Rows, Any]) -> int:
        rows, raw = piece
        return rows.height(raw)

    def prepare(self, piece: tuple[Rows, Any]) -> Array:
        """Return the piece as floats, in the precision of all chunks."""
        rows, raw = piece
        return as_floats(rows.prepare(raw), self.dtype)


def _stack_sparse(chunks: list[Any]) -> Any:
    import scipy.sparse

    return scipy.sparse.vstack(chunks, format="csr")


@dataclass
class DaskRows(Rows):
    """Rows of a Dask array; ``run/dask.py`` processes its blocks where they are stored."""

    X: Any
    source: str = "the Dask array"
    n: int | None = field(init=False)
    d: int = field(init=False)
    dtype: np.dtype = field(init=False)

    def __post_init__(self) -> None:
        n, d = self.X.shape
        self.is_sparse = is_sparse(self.X._meta)
        if d != d:  # NaN: the number of columns must be known; that of rows may be unknown
            raise DataError("The number of columns of the Dask array is unknown. Call compute_chunk_sizes() first.")
        self.n, self.d = (None if n != n else int(n)), int(d)
        self.dtype = float_dtype(self.X.dtype)
        if self.X.numblocks[1] != 1:
            self.X = self.X.rechunk({1: -1})
        if self.is_sparse:
            self.X = self.X.map_blocks(checked_sparse, self.source, meta=self.X._meta)

    def pieces(self) -> Iterator[Any]:
        return iter(self.X.blocks[i].compute() for i in range(self.X.numblocks[0]))

    def prepare(self, piece: Any) -> Array:
        return as_floats(piece, self.dtype)


def in_slabs(rows: Rows, width: int) -> Rows:
    """Return the same rows in slabs small enough for results of ``width`` columns."""
    accelerator = isinstance(rows, ArrayRows) and rows.has_engine and on_accelerator(rows.X)
    width = width if rows.is_sparse else max(width, rows.d)
    return sliced(rows, slab_rows(width, rows.dtype.itemsize, accelerator=accelerator))


def sliced(rows: Rows, most: int) -> Rows:
    """Return the same rows in slabs of at most ``most`` rows: views of an array, or slices of slabs."""
    if most >= rows.slab or isinstance(rows, DaskRows):
        return rows
    if not isinstance(rows, ArrayRows):
        return SlicedRows(rows, most)
    found = copy(rows)
    found.most_rows = most
    return found


def own_array(rows: Rows, X: Array) -> Array:
    """Return X, the result of ``rows.to_array()``, or a copy where it may be the array of the caller.

    The model keeps X, and the caller may modify the original. A large copy is mapped to a temporary file.
    """
    if is_sparse(X):
        return X.copy()
    if not isinstance(rows, ArrayRows) or X.dtype != rows.X.dtype:
        return X
    if isinstance(X, np.ndarray) and X.flags.c_contiguous:
        own = scratch(X.shape, X.dtype, settings().budget)
        own[:] = X
        release(X)
        release(own)
        return own
    return xp_of(X).asarray(X, copy=True)

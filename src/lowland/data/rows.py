"""Rows: a table that can be read repeatedly, in slabs.

A slab is a chunk of fixed size. Its size depends only on shape and dtype, never on memory or threads, so the same data
give bitwise the same results. A reader yields raw slabs in order; ``prepare`` converts one to floats, on any thread.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np

from lowland.arrays.namespace import Array, is_sparse, on_accelerator, to_numpy, xp_of
from lowland.arrays.precision import float_dtype
from lowland.data.passes import Passes, Slab
from lowland.errors import DataError, DataTypeError, FileProblem, MissingFile

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
    needed, useful = -(-n // most), min(n // least, MOST_SMALL_SLABS)
    count = 1 << max((needed - 1).bit_length(), useful.bit_length() - 1, 0)  # a power of two
    return most if count == 1 else -(-n // count)


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
    passes: Passes | None = None  # compares the passes over rows that could change: those of files and chunks
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
        """Return all rows as one array."""
        chunks = [chunk if is_sparse(chunk) else np.asarray(chunk) for chunk in self.chunks()]
        if not chunks:
            raise DataError(
                f"{self.source} has no rows (`Found array with 0 sample(s) while a minimum of 1 is required`). Check "
                "its source."
            )
        return _stack_sparse(chunks) if is_sparse(chunks[0]) else np.concatenate(chunks)

    def column_name(self, j: int) -> str:
        """Return the name of column j in messages."""
        return repr(self.names[j]) if self.names else str(j)

    def non_finite_error(self) -> DataError:
        """Return the error that names the columns with NaN or infinity, after one more pass to count them."""
        nan, inf, n, largest = np.zeros(self.d, dtype=int), np.zeros(self.d, dtype=int), 0, 0.0
        first: tuple[int, int] | None = None  # row and column of the first bad value
        for chunk in self.chunks():
            if self.missing_as_level:
                chunk = to_numpy(chunk).copy()
                chunk[:, list(self.missing_as_level)] = 0
            nan += _count_by_column(chunk, np.isnan)
            inf += _count_by_column(chunk, np.isinf)
            if first is None and (inf.any() or (nan.any() and not self.allow_nan)):
                i, j = _first_bad_value(chunk, np.isinf if self.allow_nan else lambda X: ~np.isfinite(X))
                first = n + i, j
            n += chunk.shape[0]
            sizes = np.abs(chunk.data if is_sparse(chunk) else to_numpy(chunk))
            largest = float(np.fmax.reduce(sizes, axis=None, initial=largest))
        if self.allow_nan:
            missing, nan = nan, np.zeros_like(nan)
            overflow = largest > _SQUARABLE * float(np.finfo(self.dtype).max) ** 0.5
            if missing.any() and not inf.any() and not overflow:
                return self._undefined_distance()
        bad = np.flatnonzero(nan + inf)
        if not bad.size:
            return DataError(
                f"The values of {self.source} are too large for `{self.dtype}`: their sums or squares overflow. "
                f"{'Convert to `float64`, or rescale' if self.dtype == np.float32 else 'Rescale'} the columns."
            )
        found = " and ".join(
            _counted(what, int(count.sum())) for what, count in (("NaN", nan), ("infinity", inf)) if count.any()
        )
        if self.pair_values:
            i, j = first or (0, 0)
            return DataError(
                f"Input `X` contains {found} in the matrix of {self.pair_values}, first in row {i + 1}, column "
                f"{j + 1}. Compute these {self.pair_values}, or leave out such points: their rows and their columns."
            )
        each = (nan + inf)[bad]
        where = ", ".join(
            self.column_name(j) + f" ({count})" * (bad.size > 1 and not inf.any())
            for j, count in zip(bad[:5], each, strict=False)
        ) + (f" and {bad.size - 5} more" if bad.size > 5 else "")
        fact = (
            f"Input `X` contains {found} in column{'s' if bad.size > 1 else ''} {where} of {self.source}, {n} rows, "
            f"first in row {(first or (0, 0))[0] + 1}."
        )
        if inf.any():
            offered = f"{self.missing_remedy} Or drop" if self.missing_remedy and nan.any() else "Drop"
            if self.names is None:
                return DataError(f"{fact} {offered} {self._or_replace_infinity()}")
            infinite = tuple(self.names[j] for j in np.flatnonzero(inf))
            gaps = bool(nan[inf == 0].any())
            return IncompleteRows.of(fact, "", infinite, has_gaps=gaps, rest=self._or_replace_infinity())
        empty = tuple(self.names[j] for j in np.flatnonzero(nan == n)) if self.names else ()
        gaps, text = bool((nan[nan < n] > 0).any()), self.levels is not None
        return IncompleteRows.of(fact, self.missing_remedy, empty, has_gaps=gaps, has_categories=text)

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


def _count_by_column(X: Array, is_bad: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    if is_sparse(X):
        return np.bincount(X.indices[is_bad(X.data)], minlength=X.shape[1])
    return is_bad(to_numpy(X)).sum(axis=0)


def _first_bad_value(X: Array, is_bad: Callable[[np.ndarray], np.ndarray]) -> tuple[int, int]:
    if is_sparse(X):
        place = np.flatnonzero(is_bad(X.data))[0]
        return int(np.searchsorted(X.indptr, place, side="right")) - 1, int(X.indices[place])
    i, j = np.argwhere(is_bad(to_numpy(X)))[0]
    return int(i), int(j)


def _counted(what: str, count: int) -> str:
    return f"{what} ({count} value{'s' if count > 1 else ''})"


@dataclass
class ArrayRows(Rows):
    """Rows of an array in memory (or memory-mapped), of any array library."""

    X: Array
    names: tuple[str, ...] | None = None
    source: str = "X"
    in_memory: bool = True
    most_rows: int | None = None  # a smaller slab, if requested
    passes: Passes | None = None  # for a memory-mapped file
    n: int = field(init=False)
    d: int = field(init=False)
    dtype: np.dtype = field(init=False)

    def __post_init__(self) -> None:
        self.n, self.d = (int(m) for m in self.X.shape)
        if isinstance(self.X, np.ndarray):
            self.dtype = self.X.dtype if self.X.dtype in (np.float64, np.float32) else float_dtype(self.X.dtype)
        else:
            xp = xp_of(self.X)
            single = (xp.float32, getattr(xp, "float16", None), getattr(xp, "bfloat16", None))
            self.dtype = np.dtype(np.float32 if self.X.dtype in single else np.float64)

    @property
    def slab(self) -> int:
        """Rows in a slab."""
        if self.most_rows:
            return self.most_rows
        if not isinstance(self.X, np.ndarray) and on_accelerator(self.X):
            return slab_rows(self.d, self.dtype.itemsize, accelerator=True)
        return super().slab

    def pieces(self) -> Iterator[Array]:
        """Yield views of the array."""
        if self.n <= self.slab:
            self._check_file()
            yield self.X
        else:
            for start in range(0, self.n, self.slab):
                self._check_file()
                yield self.X[start : start + self.slab, :]

    def in_slabs_of(self, most_rows: int) -> ArrayRows:
        """Return the same rows in smaller slabs."""
        smaller = replace(self, most_rows=most_rows)
        smaller.allow_nan, smaller.missing_remedy = self.allow_nan, self.missing_remedy
        smaller.compared_with, smaller.pair_values = self.compared_with, self.pair_values
        return smaller

    def _check_file(self) -> None:
        """Raise an error if the memory-mapped file was written meanwhile."""
        if self.passes is not None:
            self.passes.check_files()

    def prepare(self, piece: Array) -> Array:
        """Return the piece as floats, without a copy where possible."""
        return as_floats(piece, self.dtype)

    def to_array(self) -> Array:
        """Return the array as floats, without a copy where possible."""
        self._check_file()
        return self.prepare(self.X)


@dataclass
class SlicedRows(Rows):
    """Rows in smaller slabs: for results that are wider than the rows."""

    rows: Rows
    most_rows: int

    def __post_init__(self) -> None:
        self.n, self.d, self.dtype, self.names = self.rows.n, self.rows.d, self.rows.dtype, self.rows.names
        self.source, self.in_memory = self.rows.source, self.rows.in_memory
        self.allow_nan, self.missing_remedy = self.rows.allow_nan, self.rows.missing_remedy
        self.compared_with, self.pair_values = self.rows.compared_with, self.rows.pair_values

    @property
    def slab(self) -> int:
        """Rows in a slab."""
        return self.most_rows

    def pieces(self) -> Iterator[Any]:
        """Yield slices of the slabs, as floats."""
        for chunk in self.rows.chunks():
            for start in range(0, chunk.shape[0], self.most_rows):
                yield chunk[start : min(start + self.most_rows, chunk.shape[0]), :]

    def to_array(self) -> Array:
        """Return all rows."""
        return self.rows.to_array()


@dataclass
class MappedRows(Rows):
    """Rows whose slabs go through a map that keeps their shape."""

    rows: Rows
    map: Callable[[Array], Array]

    def __post_init__(self) -> None:
        self.n, self.d, self.dtype, self.names = self.rows.n, self.rows.d, self.rows.dtype, self.rows.names
        self.source, self.in_memory, self.is_sparse = self.rows.source, self.rows.in_memory, self.rows.is_sparse

    @property
    def slab(self) -> int:
        """Rows in a slab."""
        return self.rows.slab

    @property
    def slab_bytes(self) -> int:
        """Bytes of a slab."""
        return self.rows.slab_bytes

    def pieces(self) -> Iterator[Any]:
        """Yield the raw slabs."""
        return self.rows.pieces()

    def prepare(self, piece: Any) -> Array:
        """Return the mapped slab."""
        return self.map(self.rows.prepare(piece))

    def height(self, piece: Any) -> int:
        """Return the number of rows in a raw slab."""
        return self.rows.height(piece)

    def to_array(self) -> Array:
        """Return all rows, mapped."""
        return self.map(self.rows.to_array())


@dataclass
class SparseRows(Rows):
    """Rows of a scipy sparse matrix, never converted to dense."""

    X: Any
    source: str = "X"
    names: tuple[str, ...] | None = None
    in_memory: bool = True
    is_sparse: bool = True
    n: int = field(init=False)
    d: int = field(init=False)
    dtype: np.dtype = field(init=False)

    def __post_init__(self) -> None:
        self.n, self.d = self.X.shape
        self.dtype = float_dtype(self.X.dtype)
        self.X = canonical(self.X)

    @property
    def slab(self) -> int:
        """Rows in a slab."""
        return SPARSE_SLAB_ROWS

    @property
    def slab_bytes(self) -> int:
        """Bytes of a slab, on average."""
        return int(self.X.data.nbytes + self.X.indices.nbytes) * min(self.slab, self.n) // max(1, self.n)

    def pieces(self) -> Iterator[Any]:
        """Yield sparse slabs."""
        if self.n <= self.slab:
            yield self.X
        else:
            for start in range(0, self.n, self.slab):
                yield self.X[start : start + self.slab]

    def prepare(self, piece: Any) -> Any:
        """Return the piece as a sparse matrix of floats."""
        return as_floats(piece, self.dtype)

    def to_array(self) -> Any:
        """Return the whole sparse matrix."""
        return self.prepare(self.X)


@dataclass
class ColumnRows(Rows):
    """Rows of a table stored by columns: a data frame in memory, or a file that yields such tables.

    ``read`` reads from the top, in tables of the given number of rows; ``columns_of`` returns the columns of one table
    as 1-d arrays, in order.
    """

    read: Callable[[int], Iterable[Any]]
    columns_of: Callable[[Any], Sequence[Any]]
    n: int | None
    d: int
    dtype: np.dtype
    names: tuple[str, ...] | None
    source: str
    in_memory: bool = False
    passes: Passes | None = None
    most_rows: int | None = None  # a smaller slab, if requested

    @property
    def slab(self) -> int:
        """Rows in a slab."""
        return self.most_rows or super().slab

    def pieces(self) -> Iterator[Any]:
        """Yield tables of one slab each."""
        tables = iter(self.read(self.slab))
        return tables if self.passes is None else self.passes.numbered(tables, super().height)

    def height(self, piece: Any) -> int:
        """Return the number of rows in a table."""
        return super().height(piece.raw if isinstance(piece, Slab) else piece)

    def prepare(self, piece: Any) -> np.ndarray:
        """Return the columns as one array. Each is copied once; the array is in column-major order."""
        if self.passes is not None:
            return self.passes.compare(piece, self._floats(piece.raw))
        return self._floats(piece)

    def _floats(self, piece: Any) -> np.ndarray:
        columns = self.columns_of(piece)
        slab = np.empty((self.d, len(columns[0])), dtype=self.dtype)
        for j, column in enumerate(columns):
            try:
                slab[j] = column
            except (ValueError, TypeError) as error:
                raise DataTypeError(
                    f"Column {self.column_name(j)} of {self.source} is not numeric: {error}. Encode or drop it."
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
        self.passes = Passes(self.source)

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

    def pieces(self) -> Iterator[Slab]:
        """Yield the slabs of every chunk; chunks are never concatenated."""
        assert self.passes is not None
        return self.passes.numbered(self._slabs(), _height_in_chunk)

    def _slabs(self) -> Iterator[tuple[Rows, Any]]:
        assert self.passes is not None
        for i, rows in enumerate(self._opened()):
            self._check_chunk(i, rows)
            if rows.passes is not None:
                self.passes.compare_part(i, f"Chunk {i}, {rows.source},", rows.passes.stamps)
            for piece in rows.pieces():
                yield rows, piece

    def _check_chunk(self, i: int, rows: Rows) -> None:
        """Raise an error for a chunk that is not like the first."""
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

    def height(self, piece: Slab) -> int:
        """Return the number of rows in a slab of a chunk."""
        return _height_in_chunk(piece.raw)

    def prepare(self, piece: Slab) -> Array:
        """Return the piece as floats, in the precision of all chunks."""
        assert self.passes is not None
        rows, raw = piece.raw
        return self.passes.compare(piece, as_floats(rows.prepare(raw), self.dtype))

    def to_array(self) -> Array:
        """Return all chunks as one array."""
        chunks = list(self.chunks())
        return xp_of(chunks[0]).concat(chunks) if not is_sparse(chunks[0]) else _stack_sparse(chunks)


def _height_in_chunk(piece: tuple[Rows, Any]) -> int:
    rows, raw = piece
    return rows.height(raw)


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

    def pieces(self) -> Iterator[Any]:
        """Yield the blocks, computed one at a time."""
        return iter(self.X.blocks[i].compute() for i in range(self.X.numblocks[0]))

    def prepare(self, piece: Any) -> Array:
        """Return the block as floats."""
        return as_floats(piece, self.dtype)


def own_array(rows: Rows, X: Array) -> Array:
    """Return X, the result of ``rows.to_array()``, or a copy where it may be the array of the caller.

    The model keeps X, and the caller may modify the original.
    """
    if is_sparse(X):
        return X.copy()
    if isinstance(rows, ArrayRows) and X.dtype == rows.X.dtype:
        return xp_of(X).asarray(X, copy=True)
    return X

"""``Reader``: what every format gives, columns of any type as Arrow batches and columns of numbers as Rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from lowland.arrays.namespace import dense
from lowland.data.rows import Rows, Stamps, StreamRows, columns_as_floats
from lowland.errors import DataError, DataTypeError, ParameterError, listed
from lowland.suggestions import closest, did_you_mean

BATCH = 2**16  # rows of a batch of all columns
SHOWN_NAMES = 12  # columns listed where an unknown one was asked for


@dataclass(frozen=True)
class ArrowColumns:
    """Columns of any type, read as Arrow tables."""

    fields: list[Any]  # name and type of each column
    tables: Callable[[int], Iterator[Any]]  # reads from the top, in tables of the given number of rows
    n: int | None
    stamps: Stamps = field(default_factory=dict)  # of the files; none: the columns are in memory


class Reader(ABC):
    """A table with column names, opened once for its rows and its labels.

    A format says which types its columns have (``fields_at``) and yields them in batches (``batches``).
    """

    names: list[str]
    schema: Any  # names and types, where the format has them
    source: str  # its name in messages
    id_name: str | None = None  # the column of row ids, which is not a feature unless selected by name
    beside: tuple[str, ...] = ()  # columns that are never features, such as a frame's index; ``column`` returns them
    label_name: str | None = None  # the column of labels, if it is known
    image_shape: tuple[int, ...] | None = None  # (height, width) or (height, width, 3), if the rows are images
    vectors: Mapping[str, Sequence[str]] = {}  # columns of vectors, and the columns of their numbers
    chosen: Sequence[str] = ()  # columns that the user named, so that they are used whatever they look like
    n: int | None = None  # number of rows; None: not known before a pass
    has_names = True  # whether the names are those of the source
    stamps: Stamps = {}  # noqa: RUF012  of the files
    first_row = 1  # where the first row is, in messages

    def fields_at(self, keep: Sequence[int]) -> list[Any]:
        """Return name and type of the columns at these positions."""
        return [self.schema.field(j) for j in keep]

    @abstractmethod
    def batches(self, fields: Sequence[Any], size: int = BATCH) -> Iterator[Any]:
        """Yield Arrow record batches of these columns, converted to these types, of at most ``size`` rows or so."""

    @cached_property
    def notes(self) -> list[str]:
        """What was detected in reading the table, one sentence each."""
        return []

    @property
    def ids(self) -> np.ndarray | None:
        """The ids of the rows, if there are some."""
        return None if self.id_name is None else self.column(self.id_name, missing_text=False)

    def rows_at(self, keep: list[int]) -> Rows:
        """Return the columns at these positions as Rows of numbers."""
        import pyarrow as pa

        fields = self.fields_at(keep)
        if text_fields(fields):
            raise self._not_numbers([f for f in fields if text_fields([f])])
        single = all(f.type == pa.float32() for f in fields)
        fields = [f.with_type(pa.float32() if single else pa.float64()) for f in fields]
        names, dtype = tuple(f.name for f in fields), np.dtype(np.float32 if single else np.float64)
        source = self.source
        return StreamRows(
            lambda slab: tables_of(self.batches(fields, slab), slab),
            lambda table: columns_as_floats([c.to_numpy() for c in table.columns], dtype, names, source),
            self.n, len(fields), dtype, names, source, stamps=self.stamps,
        )  # fmt: skip

    def _not_numbers(self, fields: list[Any]) -> DataTypeError:
        """Return the error for columns that are not numbers; of text, it shows the first cells that are none."""
        from lowland.data.problems import Problem, ProblemCounter, problems_error
        from lowland.data.written import WrittenNumbers

        plain = [f for f in fields if content_of(f.type) == "text" and "dictionary" not in str(f.type)]
        counter, start = ProblemCounter(f.name for f in plain), self.first_row
        for batch in self.batches(plain) if plain else ():
            lines = start + np.arange(batch.num_rows)
            for f, column in zip(plain, batch.columns, strict=True):
                counter.add(f.name, column, WrittenNumbers().matches(column), lines)
            start += batch.num_rows
        found = {problem.column: problem for problem in counter.problems()}
        for f in fields:
            found.setdefault(f.name, Problem(f.name, count=1, what=f"text, dates or categories ({f.type})"))
        return problems_error([found[f.name] for f in fields], self.source)

    def arrow(self, keep: list[int]) -> ArrowColumns:
        """Return the columns at these positions as Arrow tables, text and categories included."""
        fields = self.fields_at(keep)
        return ArrowColumns(fields, lambda slab: tables_of(self.batches(fields, slab), slab), self.n, self.stamps)

    def scan(self) -> Iterator[Any]:
        """Yield Arrow record batches of all columns, text included."""
        return self.batches(self.fields_at(range(len(self.names))))

    def column(self, name: str, *, missing_text: bool = True) -> np.ndarray:
        """Return one column unchanged: labels may be strings.

        ``missing_text``: markers of missing numbers in a text file, such as NA, also mark missing strings. Row names
        have no missing values.
        """
        selected([*self.beside, *self.names], [name], (), self.source)
        return self._values(name, missing_text=missing_text)

    def _values(self, name: str, *, missing_text: bool) -> np.ndarray:
        """Return the values of a column; ``missing_text`` concerns text files, others mark missing strings."""
        return joined(self.batches(self.fields_at([self.names.index(name)])))

    def require(self, names: Sequence[str]) -> None:
        """Raise an error for a name that no column has, neither a feature nor one beside them."""
        selected([*self.beside, *self.names], self.members(names), (), self.source)

    def first_text_column(self) -> str | None:
        """Return the name of the first column if it contains text: perhaps row names."""
        return next(iter(text_fields(self.fields_at([0]))), None)

    def select(self, columns: Sequence[str] | None, drop: Sequence[str]) -> Rows:
        """Return the named columns, or all, without the dropped ones, as Rows."""
        rows = self.rows_at(self.positions(columns, drop))
        rows.notes = tuple(self.notes)
        return rows

    def positions(self, columns: Sequence[str] | None, drop: Sequence[str]) -> list[int]:
        """Return the positions of the named columns, or of all, without the dropped ones."""
        refuse_duplicates(self.names, self.source)
        for name in self.names:
            if not name.isascii() and any("\ud800" <= character <= "\udfff" for character in name):
                raise DataError(
                    f"The column name {name!r} of {self.source} contains half of a surrogate pair, which is not a "
                    "character. Rename the column."
                )
        if columns is None and self.id_name is not None:
            drop = [*drop, self.id_name]
        drop = self.members([name for name in drop if name not in self.beside])
        return selected(self.names, None if columns is None else self.members(columns), drop, self.source)

    def members(self, names: Sequence[str]) -> list[str]:
        """Return names of columns; in place of a vector, those of its numbers."""
        return [part for name in names for part in self.vectors.get(name, (name,))]


class RowsReader(Reader):
    """A table of numbers, of which ``rows_at`` returns columns as Rows; ``_beside`` returns others, such as labels."""

    @abstractmethod
    def rows_at(self, keep: list[int]) -> Rows:
        """Return the columns at these positions as Rows."""

    def fields_at(self, keep: Sequence[int]) -> list[Any]:
        import pyarrow as pa

        return [pa.field(self.names[j], pa.float64()) for j in keep]

    def batches(self, fields: Sequence[Any], size: int = BATCH) -> Iterator[Any]:
        import pyarrow as pa

        names = [f.name for f in fields]
        places = {name: j for j, name in enumerate(self.names)}
        rows = self.rows_at([places[name] for name in names])
        for chunk in rows.chunks():
            X = np.asarray(dense(chunk), dtype=np.float64)
            yield pa.record_batch([pa.array(np.ascontiguousarray(X[:, j])) for j in range(rows.d)], names=names)

    def _values(self, name: str, *, missing_text: bool) -> np.ndarray:
        return self._beside(name) if name in self.beside else self._numbers(self.names.index(name))

    def _beside(self, name: str) -> np.ndarray:
        raise NotImplementedError

    def _numbers(self, j: int) -> np.ndarray:
        return np.asarray(dense(self.rows_at([j]).to_array()))[:, 0]


class WholeRows(RowsReader):
    """All columns of some rows of numbers, which may have names, as a table; ``labels`` are those of the file."""

    def __init__(self, rows: Rows, label_name: str | None = None, labels: np.ndarray | None = None) -> None:
        word = "x" if rows.image_shape is None else "pixel "
        self.names = list(rows.names or (f"{word}{j}" for j in range(rows.d)))
        self.source, self.n, self.stamps, self.image_shape = rows.source, rows.n, rows.stamps, rows.image_shape
        self.rows, self.has_names = rows, rows.names is not None
        self.label_name, self.labels = label_name, np.asarray(labels)
        self.beside = () if label_name is None else (label_name,)
        self.notes.extend(rows.notes)

    def require(self, names: Sequence[str]) -> None:  # x0, x1, … are no names of the user
        self.positions([name for name in names if name not in self.beside] or None, ())

    def positions(self, columns: Sequence[str] | None, drop: Sequence[str]) -> list[int]:
        drop = [name for name in drop if name not in self.beside]
        if not self.has_names and (columns is not None or drop):
            raise ParameterError(
                f"{self.source} has no column names, so columns cannot be selected by name. Save it as .parquet or "
                ".csv."
            )
        return super().positions(columns, drop)

    def scan(self) -> Iterator[Any]:
        start = 0
        for batch in super().scan():
            stop = start + batch.num_rows
            if self.label_name is not None:
                batch = batch.append_column(self.label_name, self.labels[start:stop])
            yield batch
            start = stop

    def rows_at(self, keep: list[int]) -> Rows:
        if keep != list(range(self.rows.d)):
            raise ParameterError("Columns of Rows cannot be selected. Select them when the rows are opened.")
        return self.rows

    def _beside(self, name: str) -> np.ndarray:
        return self.labels

    def _numbers(self, j: int) -> np.ndarray:
        return np.asarray(dense(self.rows.to_array()))[:, j]


# --- Arrow ------------------------------------------------------------------------------------------------------------


def tables_of(batches: Iterable[Any], slab: int) -> Iterator[Any]:
    """Yield tables of ``slab`` rows each, whatever the size of the batches; the last may be shorter."""
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


def slices_of(table: Any, size: int) -> Iterator[Any]:
    """Yield slices of an Arrow table."""
    return (table.slice(start, size) for start in range(0, len(table), size))


def cast_batch(batch: Any, fields: Sequence[Any]) -> Any:
    """Return the columns with these names, converted to these types; large integers are rounded, as in numpy."""
    import pyarrow as pa

    return batch.select([f.name for f in fields]).cast(pa.schema(list(fields)), safe=False)


def without_views(kind: Any) -> Any:
    """Return a type of column without the views of text and bytes that polars writes: Arrow computes little on them."""
    import pyarrow as pa

    if pa.types.is_dictionary(kind):
        return pa.dictionary(kind.index_type, without_views(kind.value_type), kind.ordered)
    return {pa.string_view(): pa.string(), pa.binary_view(): pa.binary()}.get(kind, kind)


def joined(batches: Iterable[Any]) -> np.ndarray:
    """Return the first column of several batches; an empty string is a missing value."""
    parts = [batch.column(0).to_numpy(zero_copy_only=False) for batch in batches]
    values = np.concatenate(parts) if parts else np.empty(0)
    if values.dtype.kind in "OU" and "" in values:  # some programs write a missing string as an empty one
        values = values.astype(object)
        values[values == ""] = None
    return values


def text_fields(fields: Sequence[Any]) -> list[str]:
    """Return the names of the fields that are not numeric."""
    return [f.name for f in fields if not holds_numbers(f.type)]


def pandas_index(schema: Any) -> list[str]:
    """Return the index columns of a pandas frame, which are not features."""
    written = (schema.pandas_metadata or {}).get("index_columns", ())
    return [name for name in written if isinstance(name, str) and name in schema.names]


def content_of(kind: Any) -> str:
    """Return what a column of this type contains: "numbers", "text", "nothing", or the name of the type."""
    import pyarrow.types as kinds

    if kinds.is_null(kind):
        return "nothing"
    if kinds.is_dictionary(kind):
        return content_of(kind.value_type)
    if kinds.is_string(kind) or kinds.is_large_string(kind):
        return "text"
    return "numbers" if holds_numbers(kind) else str(kind)


@lru_cache(maxsize=256)  # a table may have 100,000 columns of one type
def holds_numbers(kind: Any) -> bool:
    """Whether a column of this type contains numbers, or nothing."""
    import pyarrow.types as kinds

    tests = (kinds.is_integer, kinds.is_floating, kinds.is_boolean, kinds.is_decimal, kinds.is_null)
    return any(is_kind(kind) for is_kind in tests)


def first_line(error: Exception) -> str:
    """Return the first line of an error message."""
    return str(error).splitlines()[0].rstrip(". ") if str(error) else type(error).__name__


# --- names ------------------------------------------------------------------------------------------------------------


def selected(names: Sequence[str], columns: Sequence[str] | None, drop: Sequence[str], source: str) -> list[int]:
    """Return the positions of the columns to keep: the named ones, or all, without the dropped ones."""
    asked = (*(columns or ()), *drop)
    unknown = [name for name in asked if name not in names]
    if unknown:
        nearest = closest(unknown[0], names, n=len(names), cutoff=0.0) if len(names) > SHOWN_NAMES else names
        meant = did_you_mean(unknown[0], names, n=3)
        remedy = f"{meant}Available columns: {listed(nearest, SHOWN_NAMES)}."
        for name in names:
            if "," in name and {part.strip() for part in name.split(",")} <= {*asked}:
                remedy = f"If you mean {name!r}, whose name contains a comma, pass it as one name: [{name!r}]."
                break
        source = f"{source[:1].upper()}{source[1:]}"  # 'the frame' starts the sentence
        raise ParameterError(f"{source} has no column {', '.join(map(repr, unknown))}. {remedy}")
    if columns is None:
        return [j for j, name in enumerate(names) if name not in drop]
    places = {name: j for j, name in enumerate(names)}
    return [places[name] for name in columns if name not in drop]


def refuse_duplicates(names: Sequence[Hashable], source: str) -> None:
    """Raise an error for duplicate column names."""
    duplicates = [name for name, count in Counter(names).items() if count > 1]
    if duplicates:
        raise DataError(f"Duplicate column name {listed(duplicates, 8)} in {source}. Rename the columns.")


def refuse_text(texts: Sequence[str], source: str) -> None:
    """Raise an error that names the columns of text."""
    if texts:
        many = len(texts) > 1
        raise DataTypeError(
            f"Column{'s' if many else ''} {listed(texts, 8)} of {source} contain{'' if many else 's'} text, dates "
            "or categories, not numbers (`could not convert string to float`). Drop such columns (`drop=...`), "
            "name the column of class labels (`y=...`), or encode text as numbers (`lowland.TablePreparer`)."
        )


def holds_dates(values: np.ndarray) -> bool:
    """Whether an object array contains dates or durations of numpy, which numpy would convert to numbers of days."""
    return any(isinstance(value, np.datetime64 | np.timedelta64) for value in values.flat)


def too_large(what: str) -> DataError:
    """The error for an integer beyond the range of float64."""
    return DataError(f"{what} contains an integer that is too large (above 1.8e308). Rescale or drop it.")

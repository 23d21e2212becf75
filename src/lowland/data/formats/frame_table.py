"""Data frames of pandas, polars and pyarrow, through the common interface of narwhals."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import numpy as np

from lowland.data.columns import ArrowColumns, NamedTable, holds_dates, refuse_duplicates, refuse_text, too_large
from lowland.data.rows import ColumnRows, Rows
from lowland.errors import DataTypeError


class FrameTable(NamedTable):
    """A data frame in memory."""

    source = "the frame"

    def __init__(self, frame: Any) -> None:
        self.table = _narwhal(frame)
        self.keys = list(self.table.columns)
        self.names = [str(key) for key in self.keys]
        self.frame, self.n = frame, len(self.table)
        self._find_index()

    def _find_index(self) -> None:
        """An index of pandas that is named, or unique and not a plain range, contains the ids of the rows."""
        index = getattr(self.frame, "index", None)
        if type(self.frame).__module__.partition(".")[0] != "pandas" or index is None:
            return
        name = ", ".join(str(each) for each in index.names if each is not None)
        if not name:
            if type(index).__name__ == "RangeIndex" and index.start == 0 and index.step == 1:
                return
            values = index.to_numpy()
            plain = values.dtype.kind in "iu" and np.array_equal(values, np.arange(len(values)))
            if plain or not index.is_unique:
                return
        name = name or "index"
        self.id_name = name if name not in self.names else f"{name} (index)"
        self.beside = (self.id_name,)

    def rows_at(self, keep: list[int]) -> Rows:
        """Return the columns at these positions as Rows."""
        import narwhals as nw

        table, keys = self.table, self.keys
        kinds = [table.schema[keys[j]] for j in keep]
        refuse_text(
            [
                self.names[j]
                for j, kind in zip(keep, kinds, strict=True)
                if not (kind.is_numeric() or kind in (nw.Boolean, nw.Object))
            ],
            self.source,
        )
        n, d = len(table), len(keep)
        dtype = np.dtype(np.float32 if all(kind == nw.Float32 for kind in kinds) else np.float64)

        def read(slab: int) -> Iterator[Any]:
            return (table[start : start + slab] for start in range(0, n, slab))

        def columns_of(part: Any) -> list[np.ndarray]:
            return [_numbers(part[:, j], self.names[j]) for j in keep]

        named = all(isinstance(key, str) for key in keys)
        kept = tuple(keys[j] for j in keep) if named else None
        return ColumnRows(read, columns_of, n, d, dtype, kept, self.source, in_memory=True)

    def arrow(self, keep: list[int]) -> ArrowColumns:
        """Return the columns at these positions as Arrow tables; strings are encoded once, as positions in a list."""
        import pyarrow as pa

        columns = [_arrow_column(self.table[:, j], self.names[j]) for j in keep]
        table = pa.table(columns, names=[self.names[j] for j in keep])

        def tables(slab: int) -> Iterator[Any]:
            return (table.slice(start, slab) for start in range(0, len(table), slab))

        return ArrowColumns(list(table.schema), tables, len(table))

    def positions(self, columns: Any, drop: Any) -> list[int]:
        """Return the positions of the named columns, or of all, without the dropped ones."""
        texts = [isinstance(key, str) for key in self.keys]
        if any(texts) and not all(texts):
            raise DataTypeError(  # scikit-learn's checks look for these words
                "Feature names are only supported if all input features have string names, but those of the frame have "
                "mixed types. Convert them: X.columns = X.columns.astype(str)."
            )
        return super().positions(columns, drop)

    def scan(self) -> Iterator[Any]:
        """Yield record batches of all columns."""
        table = self.table.to_arrow().select(list(range(len(self.names)))).rename_columns(self.names)
        return iter(table.to_batches(max_chunksize=2**16))

    def _values(self, j: int, *, missing_text: bool) -> np.ndarray:  # a frame marks missing strings itself
        return self.table[:, j].to_numpy()

    def _beside_values(self, name: str, *, missing_text: bool) -> np.ndarray:
        index = self.frame.index
        return np.asarray([", ".join(map(str, key)) for key in index]) if index.nlevels > 1 else index.to_numpy()


def _narwhal(frame: Any) -> Any:
    import narwhals as nw

    if type(frame).__name__ == "RecordBatch":
        frame = sys.modules["pyarrow"].Table.from_batches([frame])
    try:
        return nw.from_native(frame, eager_only=True)
    except TypeError as error:
        raise DataTypeError(
            f"A {type(frame).__module__}.{type(frame).__name__} is lazy. Call collect() or compute() first."
        ) from error
    except nw.exceptions.DuplicateError:
        refuse_duplicates(list(getattr(frame, "column_names", frame.columns)), "the frame")
        raise


def _arrow_column(column: Any, name: str) -> Any:
    """A column as an Arrow array; text as a dictionary array."""
    import pyarrow as pa
    import pyarrow.compute as pc

    native = column.to_native()
    try:
        if str(getattr(native, "dtype", "")) == "object" and hasattr(
            native, "factorize"
        ):  # pandas hashes objects faster
            codes, found = native.factorize()
            distinct = pa.array(found, from_pandas=True)
            if pa.types.is_string(distinct.type):
                return pa.DictionaryArray.from_arrays(pa.array(codes, mask=codes < 0), distinct)
        values = column.to_arrow()
    except pa.ArrowException as error:
        raise DataTypeError(
            f"Column {name!r} of the frame mixes values of several types, or contains objects that are not numbers or "
            "text. Convert it first: X[name].astype(str)."
        ) from error
    if isinstance(values, pa.ChunkedArray):
        values = values.unify_dictionaries().combine_chunks()
        values = values.chunk(0) if isinstance(values, pa.ChunkedArray) else values
    kinds = pa.types
    if any(is_text(values.type) for is_text in (kinds.is_string, kinds.is_large_string, kinds.is_string_view)):
        return pc.dictionary_encode(values)
    return values


def _numbers(column: Any, name: str) -> np.ndarray:
    values = column.to_numpy()
    if (
        values.dtype.kind == "O"
    ):  # a nullable column: missing values become NaN, which gives an error with the column name later
        missing = np.asarray([v is None or type(v).__name__ == "NAType" for v in values])
        if holds_dates(values):
            refuse_text([name], "the frame")
        try:
            values = np.where(missing, np.nan, values).astype(np.float64)
        except (TypeError, ValueError):
            refuse_text([name], "the frame")
        except OverflowError as error:
            raise too_large(f"Column {name!r} of the frame") from error
    return values

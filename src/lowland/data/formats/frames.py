"""Data frames of pandas, polars and pyarrow, through the common interface of narwhals."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lowland.data.reader import (
    BATCH,
    Reader,
    holds_dates,
    refuse_duplicates,
    refuse_text,
    slices_of,
    too_large,
    without_views,
)
from lowland.data.rows import Rows, StreamRows, columns_as_floats
from lowland.errors import DataTypeError


class FrameReader(Reader):
    """A data frame in memory."""

    source = "the frame"

    def __init__(self, frame: Any) -> None:
        self.table = _narwhal(frame)
        self.keys = list(self.table.columns)
        self.names = [str(key) for key in self.keys]
        self.frame, self.n = frame, len(self.table)
        self._columns: dict[str, Any] = {}  # as Arrow arrays
        self._find_index()

    @property
    def list_names(self) -> list[str]:
        """The columns that may contain lists of numbers."""
        kinds = enumerate(map(str, self.table.schema.values()))
        return [self.names[j] for j, kind in kinds if kind.startswith(("List", "Array"))
                or (kind == "Object" and _holds_lists(self.table[:, j].to_numpy()))]  # fmt: skip

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
        import narwhals as nw

        names, kinds = [self.names[j] for j in keep], [self.table.schema[self.keys[j]] for j in keep]
        others = [
            j for j, kind in zip(keep, kinds, strict=True) if not (kind.is_numeric() or kind in (nw.Boolean, nw.Object))
        ]
        refuse_text([self.names[j] for j in others if not self.table[:, j].is_null().all()], self.source)
        table = pa.table([_number_column(self.table[:, j], self.names[j]) for j in keep], names=names)
        dtype = np.dtype(np.float32 if all(kind == nw.Float32 for kind in kinds) else np.float64)
        return StreamRows(
            lambda slab: slices_of(table, slab),
            lambda part: columns_as_floats([c.to_numpy() for c in part.columns], dtype, names, self.source),
            self.n, len(keep), dtype, tuple(names) if all(isinstance(key, str) for key in self.keys) else None,
            self.source, in_memory=True,
        )  # fmt: skip

    def _column(self, name: str) -> Any:
        """A column as an Arrow array, converted once: strings become positions in a list."""
        if name not in self._columns:
            self._columns[name] = _arrow_column(self.table[:, self.names.index(name)], name)
        return self._columns[name]

    def fields_at(self, keep: Sequence[int]) -> list[Any]:
        return [pa.field(self.names[j], self._column(self.names[j]).type) for j in keep]

    def batches(self, fields: Sequence[Any], size: int = BATCH) -> Iterator[Any]:
        names = [f.name for f in fields]
        return iter(pa.table([self._column(name) for name in names], names=names).to_batches(max_chunksize=size))

    def positions(self, columns: Any, drop: Any) -> list[int]:
        texts = [isinstance(key, str) for key in self.keys]
        if any(texts) and not all(texts):
            raise DataTypeError(  # scikit-learn's checks look for these words
                "Feature names are only supported if all input features have string names, but those of the frame have "
                "mixed types. Convert them: X.columns = X.columns.astype(str)."
            )
        return super().positions(columns, drop)

    def _values(self, name: str, *, missing_text: bool) -> np.ndarray:
        if name not in self.beside:
            return self.table[:, self.names.index(name)].to_numpy()
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


def _holds_lists(values: Iterable[Any]) -> bool:
    some = (v for v in values if not (v is None or isinstance(v, float) or type(v).__name__ == "NAType"))
    return isinstance(next(some, None), list | tuple | np.ndarray)


def _arrow_column(column: Any, name: str) -> Any:
    """A column as an Arrow array; text as a dictionary array."""
    native = column.to_native()
    try:
        if str(getattr(native, "dtype", "")) == "object" and hasattr(native, "factorize"):  # faster with pandas
            if _holds_lists(native):
                return pa.array(list(native), from_pandas=True)
            codes, found = native.factorize()
            distinct = pa.array(found, from_pandas=True)
            if pa.types.is_string(distinct.type):
                return pa.DictionaryArray.from_arrays(pa.array(codes, mask=codes < 0), distinct)
        values = column.to_arrow()
        values = values.cast(without_views(values.type))
    except (pa.ArrowException, TypeError) as error:
        raise DataTypeError(
            f"Column {name!r} of the frame mixes values of several types, or contains objects that are not numbers or "
            "text. Convert it first: X[name].astype(str)."
        ) from error
    if isinstance(values, pa.ChunkedArray):
        values = values.unify_dictionaries().combine_chunks()
        values = values.chunk(0) if isinstance(values, pa.ChunkedArray) else values
    is_text = pa.types.is_string(values.type) or pa.types.is_large_string(values.type)
    return pc.dictionary_encode(values) if is_text else values


def _number_column(column: Any, name: str) -> Any:
    """A column of numbers as an Arrow array, in which missing values become NaN."""
    values = column.to_numpy() if str(column.dtype) == "Object" else None
    if values is not None and values.dtype.kind == "O":
        missing = np.asarray([v is None or type(v).__name__ == "NAType" for v in values])
        if holds_dates(values):
            refuse_text([name], "the frame")
        try:
            return pa.array(np.where(missing, np.nan, values).astype(np.float64))
        except (TypeError, ValueError):
            refuse_text([name], "the frame")
        except OverflowError as error:
            raise too_large(f"Column {name!r} of the frame") from error
    found = column.to_arrow()
    is_plain = pa.types.is_integer(found.type) or pa.types.is_floating(found.type)
    return found if is_plain or (pa.types.is_boolean(found.type) and not found.null_count) else found.cast(pa.float64())

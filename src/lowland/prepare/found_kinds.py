"""What a fit must know of a table before it encodes the columns: their kinds, and whether they fit in memory."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lowland.data.arrow_columns import infinite_values, nested_columns
from lowland.data.columns import ArrowColumns
from lowland.data.kinds import KINDS, ColumnKind, kinds_of
from lowland.data.paths import suffix_of
from lowland.data.problems import preparation_error
from lowland.run.memory import require
from lowland.run.settings import settings

GIVEN = (*KINDS, "drop")  # kinds that a user can give
_BATCH = 2**16
_COMPLETE = ("category", "text", "id")  # a missing category is a level, a missing text is empty
_EXPANSION = {".gz": 6, ".parquet": 3, ".xlsx": 6, ".ods": 10}  # bytes in memory per byte of a compressed file


def kinds_in(table: Any, names: Sequence[str], X: Any) -> dict[str, ColumnKind]:
    """Return the kinds of columns of X as an Arrow table; raise one error that names all columns that have none."""
    nested = nested_columns(table, names)
    plain = [name for name in names if name not in nested]
    batches = table.select(plain).to_batches(max_chunksize=_BATCH) if plain else ()
    source = source_of(X)
    found = kinds_of(batches, source, duplicates=False).columns
    marks = {c.name: dict(zip(c.marks, c.mark_rows, strict=True)) for c in found if c.marks}
    infinite = {c.name: infinite_values(table.column(c.name)) for c in found if c.is_infinite}
    if marks or infinite or nested:
        gaps = {c.name: c.missing for c in found if 0 < c.missing < c.n and c.kind not in _COMPLETE}
        raise preparation_error(marks, infinite, nested, gaps, source, takes_marks=_takes_marks(X))
    return {column.name: column for column in found}


def _takes_marks(X: Any) -> bool:
    """Whether marks of missing values can be given for a table: that of a text file or a spreadsheet."""
    path = X if isinstance(X, str | os.PathLike) else getattr(getattr(X, "table", None), "path", "")
    return suffix_of(Path(path)).removesuffix(".gz") in (".csv", ".tsv", ".txt", ".xlsx", ".ods")


def require_memory(X: Any, columns: ArrowColumns, names: Sequence[str]) -> None:
    """Raise an error, before a file is read, if its columns do not fit the memory budget."""
    if columns.passes is None:  # in memory already
        return
    files = columns.passes.files
    size = sum(_EXPANSION.get(file.suffix.lower(), 1) * file.stat().st_size for file in files if file.exists())
    every = getattr(getattr(X, "table", None), "names", names)  # some columns of a table
    require(
        2.0 * size * len(names) / max(1, len(every)), settings().budget,
        f"TablePreparer reads all rows to fit the encoders: {source_of(X)}", "Fit it to fewer rows",
    )  # fmt: skip


def source_of(X: Any) -> str:
    """Return the name of a table in messages."""
    return repr(os.fspath(X)) if isinstance(X, str | os.PathLike) else getattr(X, "source", "the table")

"""What a fit must know of a table before it encodes the columns: their kinds, and whether they fit in memory."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from lowland.data.arrow_columns import refuse_nested
from lowland.data.columns import ArrowColumns
from lowland.data.kinds import KINDS, ColumnKind, kinds_of
from lowland.data.problems import marks_error
from lowland.run.memory import require
from lowland.run.settings import settings

GIVEN = (*KINDS, "drop")  # kinds that a user can give
_BATCH = 2**16
_EXPANSION = {".gz": 6, ".parquet": 3, ".xlsx": 6, ".ods": 10}  # bytes in memory per byte of a compressed file


def kinds_in(table: Any, names: Sequence[str], source: str) -> dict[str, ColumnKind]:
    """Return the kinds of columns of an Arrow table; raise one error that names all columns that have none."""
    refuse_nested(table, names)
    if not names:
        return {}
    found = kinds_of(table.select(list(names)).to_batches(max_chunksize=_BATCH), source, duplicates=False).columns
    marks = {c.name: dict(zip(c.marks, c.mark_rows, strict=True)) for c in found if c.marks}
    if marks:
        gaps = {c.name: c.missing for c in found if 0 < c.missing < c.n and c.kind in ("number", "integer", "boolean")}
        raise marks_error(marks, gaps, source)
    return {column.name: column for column in found}


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

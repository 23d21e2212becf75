"""Where results go: checked before any work, written atomically."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from lowland.errors import DataError, FileProblem, MissingFile, ParameterError

TEXT_SLAB = 2**14  # rows written at a time where text stands beside numbers, which costs an object a cell


def holds_numbers_only(path: Path) -> bool:
    """Whether a file of this ending has neither text nor names of columns."""
    return path.name.lower().endswith(".npy")


def check_outputs(*, to: Path | None, model: Path | None = None, force: bool, read: tuple[Path, ...] = ()) -> None:
    """Refuse an ending, a folder or an existing file that would only fail after the work."""
    if to is not None:
        from lowland.data.write import check_writable

        check_writable(to)
    for path in (path for path in (to, model) if path is not None):
        if path.is_dir():
            raise FileProblem(f"{str(path)!r} is a folder. Name a file in it.")
        if not path.parent.is_dir():
            raise MissingFile(f"The folder {str(path.parent)!r} does not exist. Make it first, or write elsewhere.")
        if not os.access(path.parent, os.W_OK):
            raise FileProblem(f"The folder {str(path.parent)!r} is closed to you. Write elsewhere.")
        if any(path.resolve() == other.resolve() for other in read):
            raise ParameterError(f"{str(path)!r} is read, so it cannot be written as well. Choose another name.")
        if path.exists() and not force:
            raise FileProblem(f"{str(path)!r} exists already. Overwrite it with --force, or choose another name.")
    if to is not None and model is not None and to.resolve() == model.resolve():
        raise ParameterError(f"--to and --model both name {str(to)!r}. Choose two names.")


def write_table(chunks: Any, path: Path, names: list[str], row_names: tuple[Path, str] | None = None) -> dict[str, Any]:
    """Write chunks as they come; return what was written. ``row_names``: the file and its column that name the rows."""
    from lowland.data.write import write_chunks

    if row_names is not None and not holds_numbers_only(path):
        from lowland.data.open import open_table_file

        file, column = row_names
        chunks = named_rows(chunks, open_table_file(file).column(column, missing_text=False))
        names = [column, *names]
    rows = write_chunks(_not_empty(chunks), path, names)
    return {"file": str(path), "rows": rows, "columns": len(names)}


def named_rows(chunks: Iterable[Any], names: Any) -> Iterator[Any]:
    """Yield the chunks with the names of their rows before the numbers."""
    import numpy as np

    from lowland.arrays.namespace import to_numpy

    start = 0
    for chunk in chunks:
        numbers = to_numpy(chunk)
        stop = start + len(numbers)
        yield np.column_stack([np.asarray(names[start:stop], dtype=object), numbers.astype(object)])
        start = stop


def _not_empty(chunks: Iterable[Any]) -> Iterator[Any]:
    """Yield the chunks; refuse to write a file of none."""
    empty = True
    for chunk in chunks:
        empty = False
        yield chunk
    if empty:
        raise DataError("There are no rows to write: the file that was read has none. Nothing was written.")


def coordinate_refusal(est: Any) -> str | None:
    """Return why a method, fitted or not, has no coordinates: it was asked only to classify. None where it has some."""
    try:
        if hasattr(est, "_encoding"):
            est._encoding()
    except ParameterError as error:
        return str(error)
    except AttributeError:  # not fitted: nothing in its parameters speaks against them
        pass
    return None


def coordinates_of(est: Any, rows: Any) -> Iterable[Any]:
    """Return the coordinates of the rows a method was just fitted to, slab by slab where the method can."""
    if hasattr(est, "embedding_"):  # placed again, a row would lie near its place, not on it
        return [est.embedding_]
    if hasattr(est, "transform_chunks"):
        chunks: Iterable[Any] = est.transform_chunks(rows)
        return chunks
    return [est.transform(rows)]

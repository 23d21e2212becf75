"""Output files: checked before the computation, written atomically."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import click

from lowland.errors import DataError, FileProblem, MissingFile, ParameterError

STANDARD_OUTPUT = Path("-")
TEXT_SLAB = 2**14  # rows per chunk of mixed strings and numbers, which need one object per cell


def holds_numbers_only(path: Path) -> bool:
    """Whether a file with this extension has neither strings nor column names."""
    return path.name.lower().endswith(".npy")


def check_outputs(*, to: Path | None, model: Path | None = None, force: bool, read: tuple[Path, ...] = ()) -> None:
    """Refuse an extension, a folder or an existing file that would fail only after the computation."""
    if to is not None:
        from lowland.data.write import check_writable

        check_writable(to)
    if to == STANDARD_OUTPUT:
        click.get_current_context().meta["lowland.output_is_table"] = True  # so the summary goes to stderr
    for path in (path for path in (to, model) if path is not None and path != STANDARD_OUTPUT):
        if path.is_dir():
            raise FileProblem(f"{str(path)!r} is a folder. Give the name of a file.")
        if not path.parent.is_dir():
            raise MissingFile(f"The folder {str(path.parent)!r} does not exist. Create it, or write to another folder.")
        if not os.access(path.parent, os.W_OK):
            raise FileProblem(
                f"Permission denied: the folder {str(path.parent)!r} is not writable. Write to another folder."
            )
        if any(path.resolve() == other.resolve() for other in read):
            raise ParameterError(f"{str(path)!r} is an input file and cannot be overwritten. Choose another name.")
        if path.exists() and not force:
            raise FileProblem(f"{str(path)!r} already exists. Overwrite it with --force, or choose another name.")
    if to is not None and model is not None and to.resolve() == model.resolve():
        raise ParameterError(f"--to and --model are the same file, {str(to)!r}. Choose different names.")


def write_table(
    chunks: Any, path: Path, names: list[str], carried: tuple[Path, list[str]] | None = None, kept: Any = None
) -> dict[str, Any]:
    """Write chunks one by one; return what was written.

    ``carried``: the file that was read and its columns that are copied: the first one before the others, as row names,
    the rest after them. ``kept``: a mask of the rows in use; the others were dropped.
    """
    from lowland.data.write import write_chunks

    if carried is not None and carried[1] and not holds_numbers_only(path):
        from lowland.cli.shared.inputs import read_options
        from lowland.data.open import open_table_file

        file, columns = carried
        table = open_table_file(file, read_options())
        taken = [name for name in columns if name in names]
        if taken:
            raise ParameterError(f"The output already has a column {taken[0]!r}. Rename that of {file.name}.")
        values = [table.column(name, missing_text=False) for name in columns]
        chunks = beside(chunks, values if kept is None else [column[kept] for column in values])
        names = [columns[0], *names, *columns[1:]]
    rows = write_chunks(_not_empty(chunks), path, names)
    return {"file": str(path), "rows": rows, "columns": len(names)}


def beside(chunks: Iterable[Any], columns: list[Any]) -> Iterator[Any]:
    """Yield the chunks with the first column before them and the others after them."""
    import numpy as np

    from lowland.arrays.namespace import to_numpy

    start = 0
    for chunk in chunks:
        numbers = to_numpy(chunk)
        for first in range(0, len(numbers), TEXT_SLAB):
            some = numbers[first : first + TEXT_SLAB]
            stop = start + len(some)
            parts = [np.asarray(column[start:stop], dtype=object) for column in columns]
            yield np.column_stack([parts[0], some.astype(object), *parts[1:]])
            start = stop


def _not_empty(chunks: Iterable[Any]) -> Iterator[Any]:
    """Yield the chunks; refuse to write an empty file."""
    empty = True
    for chunk in chunks:
        empty = False
        yield chunk
    if empty:
        raise DataError("The input file has no rows. Nothing was written. Check the file.")


def coordinate_refusal(est: Any) -> str | None:
    """Return why a method has no coordinates (its parameters make it a classifier only), or None if it has some."""
    try:
        if hasattr(est, "_encoding"):
            est._encoding()
    except ParameterError as error:
        return str(error)
    except AttributeError:  # not fitted: its parameters allow coordinates
        pass
    return None


def coordinates_of(est: Any, rows: Any) -> Iterable[Any]:
    """Return the coordinates of the training rows, in chunks if the method can."""
    if hasattr(est, "embedding_"):  # an out-of-sample extension of the same rows would differ
        return [est.embedding_]
    if hasattr(est, "transform_chunks"):
        chunks: Iterable[Any] = est.transform_chunks(rows)
        return chunks
    return [est.transform(rows)]

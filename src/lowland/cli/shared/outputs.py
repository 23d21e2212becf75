"""Output files: checked before the computation, written atomically."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import click

from lowland.cli.shared.roles import Carried
from lowland.errors import DataError, FileProblem, MissingFile, ParameterError

STANDARD_OUTPUT = Path("-")
TEXT_SLAB = 2**14  # rows per chunk of mixed strings and numbers, which need one object per cell


def output_format() -> str | None:
    """Return the extension that --format names, the format of standard output."""
    ctx = click.get_current_context(silent=True)
    name = None if ctx is None else ctx.meta.get("lowland.format")
    return None if name is None else f".{name}"


def holds_numbers_only(path: Path) -> bool:
    """Whether a file with this extension has neither strings nor column names."""
    return path.name.lower().endswith(".npy") or (path == STANDARD_OUTPUT and output_format() == ".npy")


def check_outputs(*, to: Path | None, model: Path | None = None, force: bool, read: tuple[Path, ...] = ()) -> None:
    """Refuse an extension, a folder or an existing file that would fail only after the computation."""
    if to is not None:
        from lowland.data.write import check_writable

        check_writable(to)
    if output_format() is not None and to != STANDARD_OUTPUT:
        raise ParameterError("--format is the format of standard output, --to -. That of a file is its extension.")
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


def write_table(chunks: Any, path: Path, names: list[str], carried: Carried | None = None) -> dict[str, Any]:
    """Write chunks one by one; return what was written. ``carried``: columns that are copied beside them."""
    from lowland.data.write import with_columns, write_chunks

    if carried:
        before, after = carried.beside(names)
        chunks = with_columns(chunks, names, before, after)
        names = [*before, *names, *after]
    rows = write_chunks(_not_empty(chunks), path, names, output_format())
    return {"file": str(path), "rows": rows, "columns": len(names)}


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

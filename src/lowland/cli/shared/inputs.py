"""Reading data files: for a fit, or for a fitted model with its columns."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import click

from lowland.cli.shared.messages import one_line
from lowland.cli.shared.roles import ROW, table_of
from lowland.errors import DataError, ParameterError

SHOWN_COLUMNS = 12


def open_file(file: Path, columns: Any, drop: Any, label: str | None = None, est: Any = None) -> Any:
    """Open the rows of a file, without the dropped columns and the label column.

    ``est``: the fitted model that reads them, of numbers by default.
    """
    from lowland.data.open import open_rows

    check_label(file, label)
    opened = open_rows if est is None else partial(est._opened, fitted=True)
    return noted(opened(table_of(file, columns, drop, label)))


def open_with_labels(
    file: Path, columns: Any, drop: Any, label: str | None, est: Any = None, *, table: Any = None
) -> tuple[Any, Any]:
    """Open the rows of a file, without the dropped columns and the label column, and read the labels.

    ``est``: the method that reads them, of numbers by default; ``table``: the file, if it is open already.
    """
    from lowland.data.open import open_rows

    check_label(file, label)
    opened = open_rows if est is None else est._opened
    table = table_of(file, columns, drop, label) if table is None else table
    return noted(opened(table)), table.labels


def read_options() -> Any:
    """Return the options of reading of this command."""
    from lowland.data.read_options import ReadOptions

    ctx = click.get_current_context(silent=True)
    return ReadOptions(**({} if ctx is None else ctx.meta.get("lowland.read", {})))


def noted(rows: Any) -> Any:
    """Return the rows; print what was detected in reading them, once, on stderr."""
    ctx = click.get_current_context(silent=True)
    said = set() if ctx is None else ctx.meta.setdefault("lowland.notes", set())
    for note in rows.notes:
        if note not in said:
            said.add(note)
            click.echo(f"lowland: note: {one_line(note)}", err=True)
    return rows


def open_coordinates(file: Path, columns: Any, data: Any) -> Any:
    """Open a file of coordinates of the rows of the table ``data``, without the columns that were copied from it.

    Ids, labels and columns to keep have the names of columns of ``data``. So do the columns that a selection of
    features keeps; then there are no others, and all features are coordinates.
    """
    from lowland.arrays.namespace import to_numpy
    from lowland.data.open import open_rows
    from lowland.data.suspect_columns import suspect_columns
    from lowland.data.table import Table

    if columns is not None or has_no_names(file):
        return open_rows(file, columns=columns)
    table = Table(file)
    known = {ROW, *data.beside, *data.table.names, *data.table.beside} if data.has_names else {ROW}
    invented = re.compile(r"x\d+")  # names of columns that have none
    copied = [name for name in table.names if name in known and not invented.fullmatch(name)]
    if len(copied) == len(table.names):
        copied = [name for name in copied if name not in data.names]
    features = [name for name in copied if name in data.names]
    if features:
        note = f"{_listed(features)} of {str(file)!r}: features of the data, so not used as coordinates."
        click.echo(f"lowland: note: {one_line(note)}", err=True)
    rows = open_rows(Table(table, drop=copied))
    for suspect in suspect_columns(to_numpy(rows.to_array()), rows.names or (), scaled=True):
        if suspect.kind != "code":
            raise DataError(
                f"The column {suspect.name!r} of {str(file)!r} contains row numbers or ids, not coordinates. "
                "Remove it from the file."
            )
    return rows


def named_table(file: Path) -> Any:
    """Return a file with named columns as a table, opened once per command."""
    from lowland.data.open import open_table_file

    ctx = click.get_current_context(silent=True)
    opened = {} if ctx is None else ctx.meta.setdefault("lowland.tables", {})
    if file not in opened:
        opened[file] = open_table_file(file, read_options())
    return opened[file]


def check_label(file: Path, label: str | None) -> None:
    """Refuse the name of a label column in a file that has no names."""
    if label is not None and has_no_names(file):
        raise ParameterError(
            f"{str(file)!r} has no column names, so --label cannot be used. Store the data and the labels in a .csv or "
            ".parquet file."
        )


def row_name_column(est: Any, file: Path, columns: Any, drop: Any, *, square: bool = False) -> str | None:
    """Return the first column of a file of counts, distances, kernel values or affinities if it contains row names.

    ``square``: the file is such a matrix, whatever the metric, kernel or affinity of the method.
    """
    from lowland.methods.base.traits import traits_of

    parameters = est.get_params(deep=False)
    kinds = (str(parameters.get(name)) for name in ("metric", "dissimilarity", "kernel", "affinity"))
    square = square or traits_of(est).reads == "counts" or any(kind.startswith("precomputed") for kind in kinds)
    if not square or columns is not None or has_no_names(file):
        return None
    name = named_table(file).first_text_column()
    return None if name in (drop or ()) else name


def columns_for(est: Any, file: Path, columns: Any, drop: Any, label: str | None) -> tuple[Any, Any]:
    """Return the columns of a file to read and to drop: the training columns by name, if the file has all of them.

    Otherwise only the training label is dropped, and the later check of the columns reports what is missing.
    """
    if columns is not None or has_no_names(file):
        return columns, drop
    names, fitted_label = named_table(file).names, getattr(est, "label_name_", None)
    fitted = [str(name) for name in getattr(est, "feature_names_in_", ())]
    if fitted and set(fitted) <= {*names} - {*(drop or []), label}:
        return fitted, drop
    if label is None and fitted_label in names:
        return columns, [*(drop or []), fitted_label]
    return columns, drop


@contextmanager
def matching_columns(est: Any, rows: Any, file: Path) -> Iterator[None]:
    """Explain columns that do not match those of the model, and name the flag that helps."""
    fitted = getattr(est, "feature_names_in_", None)
    try:
        yield
    except DataError as error:
        if fitted is None or rows.names is None or tuple(fitted) == tuple(rows.names):
            raise
        hint = column_remedy(list(fitted), rows.names)
        raise DataError(f"The columns of {file.name} do not match the columns of the model. {hint}") from error


def column_remedy(fitted: list[str], given: tuple[str, ...]) -> str:
    """Say which columns are missing, unexpected or in another order, and what to do."""
    missing = [name for name in fitted if name not in given]
    extra = [name for name in given if name not in fitted]
    if missing:
        rest = f" Unexpected: {_listed(extra)}." if extra else ""
        return f"Missing: {_listed(missing)}.{rest} Add the missing columns, or use a file that has them."
    what = f"Unexpected: {_listed(extra)}." if extra else "They are in another order."
    return f"{what} Omit --columns: the model selects its columns by name."


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - SHOWN_COLUMNS} more" if len(names) > SHOWN_COLUMNS else ""
    return ", ".join(map(repr, names[:SHOWN_COLUMNS])) + more


def has_no_names(file: Path) -> bool:
    """Whether a file has no column names, by its extension; that of standard input is found by its content."""
    from lowland.data.files import real_path

    return real_path(file).suffix.lower() in (".npy", ".npz")

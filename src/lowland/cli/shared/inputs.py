"""Where rows come from: files opened for a fit, or for a model that knows its columns."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from lowland.errors import DataError, ParameterError

SHOWN_COLUMNS = 12


def open_file(file: Path, columns: Any, drop: Any, label: str | None = None) -> Any:
    """Open the rows of a file, without the columns that are dropped or hold labels."""
    from lowland.data.open import open_rows

    _check_label(file, label)
    return open_rows(file, columns=columns, drop=[*(drop or []), *([label] if label is not None else [])])


def open_with_labels(file: Path, columns: Any, drop: Any, label: str | None) -> tuple[Any, Any]:
    """Open the rows of a file, without the columns that are dropped or hold labels, and read the labels."""
    from lowland.data.open import open_labelled

    _check_label(file, label)
    return open_labelled(file, columns=columns, drop=drop or (), label=label)[:2]


def _check_label(file: Path, label: str | None) -> None:
    if label is not None and _has_no_names(file):
        raise ParameterError(
            f"{str(file)!r} has no column names, so --label cannot be used with it. Write the labels as a column of a "
            ".csv or .parquet file."
        )


def row_name_column(est: Any, file: Path, columns: Any, drop: Any, *, square: bool = False) -> str | None:
    """Return the first column of a file of distances, kernel values or affinities, if it holds text: names of rows.

    ``square``: the file is such a matrix, whatever the method's metric, kernel or affinity.
    """
    parameters = est.get_params(deep=False)
    kinds = (str(parameters.get(name)) for name in ("metric", "dissimilarity", "kernel", "affinity"))
    square = square or any(kind.startswith("precomputed") for kind in kinds)
    if not square or columns is not None or _has_no_names(file):
        return None
    from lowland.data.open import open_table_file

    name = open_table_file(file).first_text_column()
    return None if name in (drop or ()) else name


def columns_for(est: Any, file: Path, columns: Any, drop: Any, label: str | None) -> tuple[Any, Any]:
    """Return which columns of a file a model takes, and which are dropped: its own by name, if the file has them all.

    Otherwise the label it was fitted with is dropped, and whoever compares the columns says what is missing.
    """
    if columns is not None or _has_no_names(file):
        return columns, drop
    from lowland.data.open import open_table_file

    names, fitted_label = open_table_file(file).names, getattr(est, "label_name_", None)
    fitted = [str(name) for name in getattr(est, "feature_names_in_", ())]
    if fitted and set(fitted) <= {*names} - {*(drop or []), label}:
        return fitted, drop
    if label is None and fitted_label in names:
        return columns, [*(drop or []), fitted_label]
    return columns, drop


@contextmanager
def matching_columns(est: Any, rows: Any, file: Path) -> Iterator[None]:
    """Explain columns that do not match those of the model, with the flag that helps."""
    fitted = getattr(est, "feature_names_in_", None)
    try:
        yield
    except DataError as error:
        if fitted is None or rows.names is None or tuple(fitted) == tuple(rows.names):
            raise
        hint = column_remedy(list(fitted), rows.names)
        raise DataError(f"The columns of {file.name} are not those of the model. {hint}") from error


def column_remedy(fitted: list[str], given: tuple[str, ...]) -> str:
    """Say which columns are missing, or too much, or in another order, and what to do."""
    missing = [name for name in fitted if name not in given]
    extra = [name for name in given if name not in fitted]
    if missing:
        rest = f" It has {_listed(extra)} instead." if extra else ""
        return f"Missing: {_listed(missing)}.{rest} Add them, or transform a file that has them."
    what = f"{_listed(extra)} was not among them." if extra else "They are in another order."
    return f"{what} Leave --columns out: the model knows its columns by name."


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - SHOWN_COLUMNS} more" if len(names) > SHOWN_COLUMNS else ""
    return ", ".join(map(repr, names[:SHOWN_COLUMNS])) + more


def _has_no_names(file: Path) -> bool:
    return file.suffix.lower() in (".npy", ".npz")

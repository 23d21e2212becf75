"""Data files: read for a fit or for a fitted model, prepared if they have text or gaps, written with their ids."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import Any

import click

from lowland.cli.options import given
from lowland.cli.show import one_line
from lowland.errors import DataError, DataTypeError, FileProblem, MissingFile, ModelFileError, ParameterError, listed

FIGURES = (".png", ".svg", ".pdf")

ROW = "row"  # the column of row numbers where rows were dropped and have no ids
SHOWN_COLUMNS = 12
STANDARD_OUTPUT = Path("-")
TEXT_SLAB = 2**14  # rows per chunk of mixed strings and numbers, which need one object per cell


# --- sources ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Source:
    """A data file with its features: the columns to use or to drop, and that of the labels."""

    file: Path
    columns: list[str] | None = None
    drop: list[str] = field(default_factory=list)
    label: str | None = None

    @classmethod
    def of(cls, file: Path) -> Source:
        """Return a file with the columns that the options of this command select."""
        source = cls(file, **given("data"))
        if source.label is not None and not source.has_names and source.label != source.named_table().label_name:
            raise ParameterError(
                f"{str(file)!r} has no column names, so --label cannot be used. Store the data and the labels in a "
                ".csv or .parquet file."
            )
        return source

    @property
    def has_names(self) -> bool:
        """Whether the file has column names."""
        return self.named_table().has_names

    def without(self, name: str | None) -> Source:
        """Return the file without a further column."""
        return self if name is None else replace(self, drop=[*self.drop, name])

    def named_table(self) -> Any:
        """Return all columns of the file, opened once per command."""
        from lowland.data.open import open_table

        ctx = click.get_current_context(silent=True)
        opened = {} if ctx is None else ctx.meta.setdefault("lowland.tables", {})
        if self.file not in opened:
            opened[self.file] = open_table(self.file, read_options())
        return opened[self.file]

    def table(self) -> Any:
        """Return the file as a table with the roles of this command."""
        from lowland.data.table import Table

        return Table(self.named_table(), columns=self.columns, drop=self.drop, label=self.label, **given("roles"))

    def for_model(self, est: Any, fitted: Sequence[str]) -> Source:
        """Return the file with the training columns, by name, if it has all of them.

        Otherwise only the training label is dropped, and the later check of the columns reports what is missing.
        """
        if self.columns is not None or not self.has_names:
            return self
        names, label = self.named_table().names, getattr(est, "label_name_", None)
        if len(fitted) and set(fitted) <= {*names} - {*self.drop, self.label}:
            return replace(self, columns=list(map(str, fitted)))
        return self.without(label if self.label is None and label in names else None)


def read_options() -> Any:
    """Return the options of reading of this command."""
    from lowland.data.read_options import ReadOptions

    return ReadOptions(**given("read"))


def note(text: str) -> None:
    """Print a note on stderr, once."""
    ctx = click.get_current_context(silent=True)
    said = set() if ctx is None else ctx.meta.setdefault("lowland.notes", set())
    if text not in said:
        said.add(text)
        click.echo(f"lowland: note: {one_line(text)}", err=True)


def noted(rows: Any) -> Any:
    """Return the rows; print what was detected in reading them."""
    for text in rows.notes:
        note(text)
    return rows


def open_source(source: Source, est: Any = None) -> Any:
    """Open the features of a file; ``est``: the fitted model that reads them, of numbers by default."""
    from lowland.data.open import open_rows

    return noted(open_rows(source.table()) if est is None else est._opened(source.table(), fitted=True))


def open_coordinates(file: Path, columns: Any, data: Any) -> Any:
    """Open a file of coordinates of the rows of the table ``data``, without the columns that were copied from it.

    Ids, labels and columns to keep have the names of columns of ``data``. So do the columns that a selection of
    features keeps; then there are no others, and all features are coordinates.
    """
    from lowland.arrays.namespace import to_numpy
    from lowland.data.open import open_rows
    from lowland.data.suspect_columns import suspect_columns
    from lowland.data.table import Table

    if columns or not Source(file).has_names:
        return open_rows(file, columns=columns or None)
    table = Table(file)
    known = {ROW, *data.beside, *data.table.names, *data.table.beside} if data.has_names else {ROW}
    invented = re.compile(r"x\d+")  # names of columns that have none
    copied = [name for name in table.names if name in known and not invented.fullmatch(name)]
    if len(copied) == len(table.names):
        copied = [name for name in copied if name not in data.names]
    features = [name for name in copied if name in data.names]
    if features:
        note(
            f"{listed(features, SHOWN_COLUMNS)} of {str(file)!r}: not used as coordinates: the data has columns of "
            "these names."
        )
    rows = open_rows(Table(table, drop=copied))
    for suspect in suspect_columns(to_numpy(rows.to_array()), rows.names or (), scaled=True):
        if suspect.kind != "code":
            raise DataError(
                f"The column {suspect.name!r} of {str(file)!r} contains row numbers or ids, not coordinates. "
                "Remove it from the file."
            )
    return rows


def reads_matrix(est: Any) -> bool:
    """Whether a method reads a matrix of counts, distances, kernel values or affinities."""
    from lowland.methods.base.traits import traits_of

    given = est.get_params(deep=False)
    names = ("metric", "dissimilarity", "kernel", "affinity")
    return traits_of(est).reads == "counts" or any(str(given.get(name)).startswith("precomputed") for name in names)


def row_names(source: Source, est: Any, *, square: bool = False) -> str | None:
    """Return the first column of a file of counts, distances, kernel values or affinities if it contains row names.

    ``square``: the file is such a matrix, whatever the metric, kernel or affinity of the method.
    """
    if source.columns is not None or not source.has_names or not (square or reads_matrix(est)):
        return None
    name = source.named_table().first_text_column()
    return None if name in source.drop else name


# --- preparation ------------------------------------------------------------------------------------------------------


def preparation(source: Source, prepare: str | None = None) -> dict[str, Any]:
    """Return how the options of this command prepare a file, as arguments of ``prepare_rows``."""
    asked: dict[str, Any] = {"prepare": "auto", "impute": "auto", "drop_missing": False, "use": ()} | given("prepare")
    impute, prepare = "drop" if asked["drop_missing"] else asked["impute"], prepare or asked["prepare"]
    if asked["impute"] != "auto" and asked["drop_missing"]:
        raise click.UsageError("--impute and --drop-missing exclude each other. Omit one.", click.get_current_context())
    if prepare == "none":
        from lowland.data.open import open_rows

        open_rows(source.table())  # text is an error
        return {"impute": "none" if impute == "auto" else impute, "scale": "none", "use": source.table().names}
    table = source.table()
    table.positions(asked["use"], ())  # an unknown name is an error
    return {
        "impute": impute, "scale": {"auto": "auto", "standardize": "standard"}.get(prepare, "none"),
        "use": table.members(asked["use"]),
    }  # fmt: skip


def open_prepared(source: Source, est: Any = None, *, prepare: str | None = None) -> Any:
    """Open the rows and labels of a file for a method, prepared as the options of this command say."""
    from lowland.data.open import open_rows
    from lowland.prepare.preparation import Prepared, drop_rows, prepare_categories, prepare_rows

    table = noted(source.table())
    if est is not None and (est._reads_text or reads_matrix(est)):
        asked = given("prepare")
        replaceable = ("none",) if reads_matrix(est) else ("none", "auto", "median")
        if asked.get("prepare") == "standardize" or asked.get("impute", "none") not in replaceable:
            raise ParameterError(
                "This method reads categories or a matrix. It does not standardize numbers, and replaces missing "
                "numbers only by the median. Omit --prepare, and omit --impute or use --impute median or "
                "--drop-missing."
            )
        impute = "drop" if asked.get("drop_missing") else asked.get("impute", "auto")
        if not reads_matrix(est):
            return prepare_categories(table, est, labels=table.labels, impute=impute, use=asked.get("use", ()))
        found = Prepared(est._opened(table), table.labels)
        if impute == "drop":
            drop_rows(found)
        return found
    how = preparation(source, prepare)
    if how["impute"] == how["scale"] == "none" and how["use"] == table.names:
        return Prepared(open_rows(table) if est is None else est._opened(table), table.labels)
    return prepare_rows(table, labels=table.labels, **how, est=est)


# --- errors that end with the command that works ----------------------------------------------------------------------


@contextmanager
def with_command() -> Iterator[None]:
    """Add the complete command that works to errors about missing values and about text among numbers."""
    from lowland.data.problems import TableProblems
    from lowland.data.rows import IncompleteRows

    try:
        yield
    except IncompleteRows as error:
        if not error.fact:
            raise
        empty = ["--drop", name_list(error.empty)] if error.empty else []
        gaps = ["--impute", "median"] if error.has_gaps or not empty else []
        drop = "Or drop" if error.remedy else "Drop"
        how = f"{drop} the rows with --drop-missing, or replace the values (mean, median, knn or em):"
        if not gaps:
            how = "Use:"
        elif error.has_categories:
            gaps, how = ["--drop-missing"], f"{drop} the rows:"
        raise _with_command(DataError(" ".join([error.fact, error.remedy, how])), *empty, *gaps) from error
    except TableProblems as error:
        if error.texts or not (error.marks or error.drop):
            raise
        marks = (*given("read").get("missing", ()), *error.marks)
        words = ["--missing", ",".join(marks)] if error.marks else []
        words += ["--drop", name_list(error.drop)] if error.drop else []
        raise _with_command(DataTypeError(f"{error.marked} For instance:"), *words) from error


def _with_command(error: DataError, *words: str) -> DataError:
    """Return the error with a note: the command that the user typed, with further words."""
    error.add_note(shlex.join(["lowland", *click.get_current_context().meta["lowland.words"], *words]))
    return error


def name_list(names: Sequence[str]) -> str:
    """Return names of columns as one word of the command line."""
    return ",".join(f'"{name}"' if "," in name else name for name in names)


# --- models -----------------------------------------------------------------------------------------------------------


def load_model(path: Path) -> tuple[list[tuple[str, Any]], Any]:
    """Load a model file: the steps that prepare rows, and the method."""
    from lowland.data.open import READABLE
    from lowland.methods.base.method import Method
    from lowland.methods.model_files import load

    if path.suffix.lower() in READABLE and path.exists():
        raise ModelFileError(f"{str(path)!r} is not a Lowland model. Write the model before the data file.")
    model = load(path)
    steps = list(model.steps) if type(model).__name__ == "Pipeline" else [("model", model)]
    steps = [(name, step) for name, step in steps if step is not None and step != "passthrough"]
    if not steps or not isinstance(steps[-1][1], Method):
        raise DataError(f"{str(path)!r} is a pipeline that does not end with a method of Lowland. Use it in Python.")
    return steps[:-1], steps[-1][1]


def open_for_model(steps: list[tuple[str, Any]], est: Any, source: Source) -> Any:
    """Open the rows of a file for a fitted model, prepared by the steps of its pipeline."""
    import numpy as np

    from lowland.data.arrow_columns import open_arrow, whole_table
    from lowland.data.open import open_rows

    first = steps[0][1] if steps else est
    fitted = getattr(first, "feature_names_in_", ())
    source = source.for_model(est, fitted)
    if not steps:
        return open_source(source, est)
    data = noted(source.table()) if source.has_names else open_source(source)
    if not source.has_names:
        data.allow_nan = True
    if hasattr(first, "open_rows"):
        rows = first.open_rows(data)
    else:  # a step of scikit-learn needs all rows: an Arrow table if it was fitted to named columns, or an array
        columns, names, _ = open_arrow(data)
        table = whole_table(columns, names)
        rows = open_rows(first.transform(table if len(fitted) else np.asarray(table)))
    rows.allow_nan = True
    for _, step in steps[1:]:
        rows = step.open_rows(rows) if hasattr(step, "open_rows") else open_rows(step.transform(rows.to_array()))
    if not hasattr(est, "feature_names_in_"):
        rows.names = None
    return rows


@contextmanager
def matching_columns(est: Any, rows: Any, file: Path) -> Iterator[None]:
    """Explain columns that do not match those of the model: missing, unexpected or in another order."""
    fitted, names = list(getattr(est, "feature_names_in_", ())), list(rows.names or ())
    try:
        yield
    except DataError as error:
        if not fitted or not names or fitted == names:
            raise
        missing = [name for name in fitted if name not in names]
        extra = [name for name in names if name not in fitted]
        rest = f" Unexpected: {listed(extra, SHOWN_COLUMNS)}." if extra else ""
        hint = (
            f" Missing: {listed(missing, SHOWN_COLUMNS)}.{rest} Add the missing columns, or use a file that has them."
        )
        if not missing:
            hint = f"{rest or ' They are in another order.'} Omit --columns: the model selects its columns by name."
        raise DataError(f"The columns of {file.name} do not match the columns of the model.{hint}") from error


# --- output -----------------------------------------------------------------------------------------------------------


@dataclass
class Carried:
    """Columns that are copied to the output: ids, then after the coordinates labels, weights, columns to keep."""

    ids: dict[str, Any] = field(default_factory=dict)
    kept: dict[str, Any] = field(default_factory=dict)
    labels: dict[str, Any] = field(default_factory=dict)  # and weights

    def beside(self, names: list[str]) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the columns before and after the output columns ``names``.

        A label with the name of an output column, such as "class", is renamed, since the input cannot help it.
        """
        taken = [name for name in (*self.ids, *self.kept) if name in names]
        if taken:
            raise ParameterError(f"The output already has a column {taken[0]!r}. Rename that of the input.")
        labels = {f"{name} (2)" if name in names else name: values for name, values in self.labels.items()}
        return self.ids, labels | self.kept


def copied_columns(
    file: Path, to: Path | None, names: str | None = None, used: Any = None, label: str | None = None
) -> Carried:
    """Return the columns that are copied to a file of coordinates; ``label``: that of labels, if any."""
    if to is None:
        return Carried()
    if holds_numbers_only(to) or is_anndata(to):
        flag = next((f"--{name}" for name in ("id", "keep") if name in given("roles")), None)
        if flag is not None:
            why = ".npy files hold only numbers" if holds_numbers_only(to) else "a .h5ad file keeps all columns of obs"
            raise ParameterError(f"{flag}: {why}. Write .csv or .parquet.")
        return Carried()
    found, table = carried_columns(file, names, used), _every_column(file)
    known = (*table.names, *table.beside, *table.table.beside)
    if label is not None and label in known and label not in (*found.ids, *found.kept):
        values = table.table.column(label, missing_text=False)
        found.labels[label] = values if used is None else values[used]
    found.labels |= {name: values for name, values in weight_column(file, used).items() if name not in found.kept}
    return found


def _every_column(file: Path) -> Any:
    """Return the table of all columns of a file; of several vectors, which are not copied, only the first."""
    source = Source(file)
    return replace(source, drop=list(source.named_table().vectors)[1:]).table() if source.has_names else source.table()


def carried_columns(file: Path, names: str | None = None, used: Any = None) -> Carried:
    """Return the ids of a file, by default the column ``names`` of row names, and its columns to keep.

    ``used``: a mask of the rows in use. Where rows were dropped and have no ids, their numbers, from 0, are the ids.
    """
    import numpy as np

    table = _every_column(file)
    name = given("roles").get("id") or names or table.id_name
    found = Carried({} if name is None else {name: table.column(name, missing_text=False)}, table.kept)
    found.kept.pop(name, None)
    if used is not None:
        if name is None and not used.all():
            found.ids = {ROW: np.arange(len(used))}
        found.ids = {name: values[used] for name, values in found.ids.items()}
        found.kept = {name: values[used] for name, values in found.kept.items()}
    return found


def weight_column(file: Path, used: Any = None) -> dict[str, Any]:
    """Return the column of --weight, by its name, if there is one; ``used``: a mask of the rows in use."""
    if "weight" not in given("roles"):
        return {}
    weights = _every_column(file).weights
    return {given("roles")["weight"]: weights if used is None else weights[used]}


def output_format() -> str | None:
    """Return the extension that --format names, the format of standard output."""
    return f".{given('output')['format']}" if "format" in given("output") else None


def holds_numbers_only(path: Path) -> bool:
    """Whether a file with this extension has neither strings nor column names."""
    return path.name.lower().endswith(".npy") or (path == STANDARD_OUTPUT and output_format() == ".npy")


def is_anndata(path: Path) -> bool:
    """Whether a file with this extension holds the coordinates of its observations in obsm."""
    return path.name.lower().endswith(".h5ad")


def check_outputs(
    *, to: Path | None, model: Path | None = None, force: bool, read: tuple[Path, ...] = (), places: Path | None = None
) -> None:
    """Refuse an extension, a folder or an existing file that would fail only after the computation.

    ``places``: the table whose rows get coordinates. If it is a .h5ad file, the output may be a copy of it with them.
    """
    if to is not None:
        from lowland.data.write import check_writable

        if not is_anndata(to) or places is None:
            check_writable(to)
        elif not is_anndata(places):
            raise ParameterError(
                f"{str(to)!r}: a .h5ad file is written as a copy of the input with the coordinates in obsm, but the "
                f"input, {places.name!r}, is not a .h5ad file. Write .parquet or .csv."
            )
    if output_format() is not None and to != STANDARD_OUTPUT:
        raise ParameterError("--format sets the format of standard output (--to -). The extension sets that of a file.")
    if to == STANDARD_OUTPUT:
        click.get_current_context().meta.setdefault("lowland.output", {})["is_table"] = True  # the summary: to stderr
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


def check_figure(to: Path | None, force: bool) -> None:
    """Refuse a figure of an unknown kind, and to overwrite a file."""
    if to is None:
        return
    if to.suffix.lower() not in FIGURES:
        raise ParameterError(
            f"--to {to}: the figure is written as {', '.join(FIGURES)}. Choose one of these extensions."
        )
    if to.exists() and not force:
        raise FileProblem(f"{str(to)!r} already exists. Overwrite it with --force, or choose another name.")


def write_table(
    chunks: Any, path: Path, names: list[str], carried: Carried | None = None, places: tuple[Path, str] | None = None
) -> dict[str, Any]:
    """Write chunks one by one; return what was written.

    ``carried``: columns that are copied with them. ``places``: the file that a .h5ad output is a copy of, and the verb
    of the method that the coordinates are named after.
    """
    from lowland.data.write import with_columns, write_chunks

    if is_anndata(path) and places is not None:
        from lowland.data.formats.h5ad import write_obsm

        name = f"X_{places[1].replace('-', '_')}"
        rows = write_obsm(places[0], path, name, chunks)
        return {"file": str(path), "rows": rows, "columns": len(names), "obsm": name}

    before, after = ({}, {}) if carried is None else carried.beside(names)
    if before or after:
        chunks = with_columns(chunks, names, before, after)
        names = [*before, *names, *after]
    chunks = iter(chunks)
    first = next(chunks, None)
    if first is None:
        raise DataError("The input file has no rows. Nothing was written. Check the file.")
    rows = write_chunks(chain([first], chunks), path, names, output_format())
    return {"file": str(path), "rows": rows, "columns": len(names)}

"""Tables with text and missing values: --prepare, --impute and --drop-missing, and the models fitted to such tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import click

from lowland.cli.shared import inputs
from lowland.cli.shared.options import DATA, Option, in_section
from lowland.cli.shared.roles import table_of
from lowland.cli.shared.values import Choice
from lowland.errors import DataError, ModelFileError, ParameterError

PREPARE = ("auto", "standardize", "encode", "none")
IMPUTE = ("mean", "median", "knn", "em")  # repeated from missing_values, whose import would load numpy


@dataclass
class Prepared:
    """The rows for a method, their labels, the steps that prepared them, and what was done, in words."""

    rows: Any
    labels: Any
    steps: list[tuple[str, Any]] = field(default_factory=list)
    report: dict[str, str] = field(default_factory=dict)  # by column
    missing: str | None = None
    kept: Any = None  # a mask of the rows that were not dropped

    @property
    def facts(self) -> dict[str, Any]:
        """What was done, for the summary of a command."""
        return {"prepared": self.report or None, "missing": self.missing}


def prepare_options() -> list[click.Parameter]:
    """Return the options for tables with text and missing values."""
    prepare = (
        "auto: if there are columns of text, categories or dates, encode them as numbers and standardize the numbers; "
        "what was done is printed. A table of numbers stays as it is. standardize: the same, and a table of numbers is "
        "standardized too. encode: text is encoded, numbers stay as they are. none: text is an error. [default: auto]"
    )
    impute = "Replace missing values: mean or median of the column, knn (nearest rows), or em (probabilistic PCA)."
    return in_section(
        DATA,
        [
            Option(["--prepare"], type=Choice(PREPARE), default="auto", help=prepare),
            Option(["--impute"], type=Choice(IMPUTE), help=impute),
            Option(["--drop-missing"], is_flag=True, help="Drop the rows that have missing values."),
        ],
    )


def open_prepared(
    file: Path, columns: Any, drop: Any, label: str | None, *, prepare: str, impute: str | None, drop_missing: bool,
    est: Any = None,
) -> Prepared:  # fmt: skip
    """Open the rows and labels of a file for a method; encode its text and handle its missing values as asked."""
    if impute and drop_missing:
        raise click.UsageError("--impute and --drop-missing exclude each other. Omit one.", click.get_current_context())
    inputs.check_label(file, label)
    opened = _table_to_prepare(file, columns, drop, label, est) if prepare != "none" else None
    if opened is None and prepare == "standardize":
        raise ParameterError("--prepare standardize needs columns with names, of a method that reads numbers. Omit it.")
    table = opened if opened is not None and (_has_text(opened) or prepare == "standardize") else None
    if table is None:
        found = Prepared(*inputs.open_with_labels(file, columns, drop, label, est, table=opened))
        if impute and found.rows.levels is not None:
            raise ParameterError(
                "--impute replaces numbers, but FILE has columns of text, which this method reads as categories. Omit "
                "--impute: the method handles missing values itself. Or use --drop-missing."
            )
        if impute in ("mean", "median"):
            _fill(found, file, columns, drop, label, impute)
            return found
    else:
        found = _encoded(table, table.labels, impute, columns, standardize=prepare != "encode")
        if impute is None and not drop_missing:
            _refuse_gaps(found, table.source, est)
    if impute in ("knn", "em"):
        _impute(found, impute)
    elif drop_missing:
        _drop(found)
    return found


def _table_to_prepare(file: Path, columns: Any, drop: Any, label: str | None, est: Any) -> Any:
    """The table of a file, unless it has no names or the method reads text or a matrix itself."""
    if inputs.has_no_names(file) or (est is not None and (est._reads_text or reads_matrix(est))):
        return None
    return table_of(file, columns, drop, label)


def _has_text(table: Any) -> bool:
    """Whether some features of a table are not numeric."""
    from lowland.data.formats.arrow import text_fields

    source = table.table
    schemas = [source.schema] if hasattr(source, "schema") else getattr(source, "schemas", [])
    if not any(text_fields(list(schema)) for schema in schemas):  # AnnData and images have no schema: numbers
        return False
    inputs.noted(table)
    return bool(text_fields(table.arrow(list(range(len(table.names)))).fields))


def reads_matrix(est: Any) -> bool:
    """Whether a method reads a matrix of counts, distances, kernel values or affinities."""
    from lowland.methods.base.traits import traits_of

    parameters = est.get_params(deep=False)
    kinds = (str(parameters.get(name)) for name in ("metric", "dissimilarity", "kernel", "affinity"))
    return traits_of(est).reads == "counts" or any(kind.startswith("precomputed") for kind in kinds)


def _selected(file: Path, columns: Any, drop: Any, label: str | None) -> Any:
    return inputs.noted(table_of(file, columns, drop, label))


def _encoded(
    table: Any, labels: Any, impute: str | None, columns: Sequence[str] | None, *, standardize: bool
) -> Prepared:
    """Encode the columns; without --impute mean or median, missing numbers stay missing."""
    from lowland.data.formats.arrow import holds_numbers
    from lowland.prepare.table_preparer import TablePreparer

    strategy: Any = impute if impute in ("mean", "median") else None
    preparer = TablePreparer(output="arrow", impute=strategy, standardize=standardize).fit(table)
    numbers = [f.name for f in table.arrow(list(range(len(table.names)))).fields if holds_numbers(f.type)]
    named = [name for name in columns or () if preparer.kinds_[name] == "id" and name in numbers]
    if named:  # numbers that look like ids, but were asked for by name
        preparer.set_params(kinds=dict.fromkeys(named, "number")).fit(table)
    rows = preparer.open_rows(table)
    rows.source = table.source  # the name of the file, for messages and reports
    return Prepared(rows, labels, [("prepare", preparer)], dict(preparer.report_))


def _refuse_gaps(found: Prepared, source: str, est: Any) -> None:
    """Raise an error that names the columns with missing values, unless the method handles them."""
    from lowland.data.problems import counted
    from lowland.data.rows import IncompleteRows
    from lowland.methods.base.traits import traits_of

    preparer = found.steps[0][1]
    filled = ("category", "text")  # a missing category is a level, a missing text is empty
    gaps = {name: n for name, n in preparer.missing_.items() if n and preparer.kinds_[name] not in filled}
    if gaps and not (est is not None and est._handles_missing):
        offered = "" if est is None else traits_of(est).missing_remedy
        raise IncompleteRows.of(f"Missing values in {counted(gaps)} of {source}.", offered)


def _fill(found: Prepared, file: Path, columns: Any, drop: Any, label: str | None, how: Any) -> None:
    """Replace missing numbers by a value of their column. The step is saved with the model."""
    from lowland.data.arrow_columns import arrow_table
    from lowland.missing_values import replaced
    from lowland.prepare.table_preparer import TablePreparer

    rows = found.rows
    available, found.missing = replaced(rows, how)
    named = not inputs.has_no_names(file)
    source = _selected(file, columns, drop, label) if named else rows
    names = list(source.names) if named else [f"x{j}" for j in range(rows.d)]
    kinds: Any = dict.fromkeys(names, "number")
    preparer = TablePreparer(impute=how, standardize=False, kinds=kinds, output="arrow" if named else "array")
    means = available.mean[None, :]  # the mean of a row of means is that row: the file was read in chunks
    preparer.fit(source if how != "mean" else arrow_table(means.T, names) if named else means)
    found.rows, found.steps = preparer.open_rows(source), [("impute", preparer)]
    found.rows.source = rows.source
    if not named:
        found.rows.names = None


def _impute(found: Prepared, how: Any) -> None:
    """Replace missing numbers by those of similar rows. The step is saved with the model."""
    from lowland.arrays.namespace import to_numpy
    from lowland.data.rows import ArrayRows
    from lowland.missing_values import replaced

    rows = found.rows
    rows.allow_nan = True
    found.missing = replaced(rows, how)[1]
    if how == "em":
        from lowland.prepare.em_imputer import EMImputer

        if found.steps:  # encode once, not in every pass
            rows = ArrayRows(rows.to_array(), rows.names, rows.source)
            rows.allow_nan = True
        step: Any = EMImputer().fit(rows)
        found.rows = step.open_rows(rows)
    else:
        from sklearn.impute import KNNImputer

        step = KNNImputer(keep_empty_features=True)
        # scikit-learn's imputer returns an array, without names
        found.rows = ArrayRows(step.fit_transform(to_numpy(rows.to_array())), None, rows.source)
    found.steps.append(("impute", step))


def _drop(found: Prepared) -> None:
    from lowland.data.rows import ArrayRows
    from lowland.missing_values import drop_missing

    kept = drop_missing(found.rows)
    found.kept = kept.kept
    found.missing = kept.message
    rows = ArrayRows(kept.table, found.rows.names, found.rows.source)
    rows.levels, rows.ordered = found.rows.levels, found.rows.ordered
    found.rows = rows
    if found.labels is not None:
        found.labels = found.labels[kept.kept]


# --- models -----------------------------------------------------------------------------------------------------------


def joined(steps: list[tuple[str, Any]], name: str, est: Any) -> Any:
    """Return the model to save: the method, or a pipeline that also prepares its rows."""
    if not steps:
        return est
    from sklearn.pipeline import Pipeline

    return Pipeline([*steps, (name, est)])


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


def report_of(steps: list[tuple[str, Any]]) -> dict[str, str] | None:
    """Return what the steps of a model do with each column, in words."""
    return next((dict(step.report_) for _, step in steps if hasattr(step, "report_")), None)


def open_for_model(
    steps: list[tuple[str, Any]], est: Any, file: Path, columns: Any, drop: Any, label: str | None
) -> Any:
    """Open the rows of a file for a fitted model, prepared by the steps of its pipeline."""
    if not steps:
        return inputs.open_file(file, *inputs.columns_for(est, file, columns, drop, label), label, est)
    first = steps[0][1]
    names = getattr(first, "feature_names_in_", ())
    reader = SimpleNamespace(feature_names_in_=names, label_name_=getattr(est, "label_name_", None))
    columns, drop = inputs.columns_for(reader, file, columns, drop, label)
    if inputs.has_no_names(file):
        source = inputs.open_file(file, columns, drop)
        source.allow_nan = True
    else:
        source = _selected(file, columns, drop, label)
    rows = (
        first.open_rows(source) if hasattr(first, "open_rows") else _mapped(first, _in_memory(source, len(names) > 0))
    )
    rows.allow_nan = True
    for _, step in steps[1:]:
        rows = step.open_rows(rows) if hasattr(step, "open_rows") else _mapped(step, rows.to_array())
    if not hasattr(est, "feature_names_in_"):
        rows.names = None
    return rows


def _in_memory(source: Any, named: bool) -> Any:
    """All rows of a table for a step of scikit-learn: an Arrow table if it was fitted to named columns, or an array."""
    import numpy as np

    from lowland.data.arrow_columns import open_arrow, whole_table

    columns, names, _ = open_arrow(source)
    table = whole_table(columns, names)
    return table if named else np.asarray(table)


def _mapped(step: Any, X: Any) -> Any:
    """What a step makes of its rows, as Rows."""
    from lowland.data.open import open_rows

    return open_rows(step.transform(X))

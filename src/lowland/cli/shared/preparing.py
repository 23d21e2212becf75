"""Tables with text and missing values: --prepare, --impute and --drop-missing, and the models fitted to such tables."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import click

from lowland.cli.shared import inputs
from lowland.cli.shared.options import DATA, Option, in_section
from lowland.cli.shared.roles import table_of
from lowland.cli.shared.values import Choice
from lowland.errors import DataError

PREPARE = ("none", "auto")
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
        "auto: if there are columns of text, categories or dates, encode them as numbers, standardize the numbers and "
        "replace missing values; what was done is printed. [default: none]"
    )
    impute = "Replace missing values: mean or median of the column, knn (nearest rows), or em (probabilistic PCA)."
    return in_section(
        DATA,
        [
            Option(["--prepare"], type=Choice(PREPARE), default="none", help=prepare),
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
    table = _table_with_text(file, columns, drop, label, est) if prepare == "auto" else None
    if table is None:
        found = Prepared(*inputs.open_with_labels(file, columns, drop, label, est))
        if impute in ("mean", "median"):
            _fill(found, file, columns, drop, label, impute)
            return found
    else:
        found = _encoded(table, None if label is None else inputs.labels_of(file, label), impute, drop_missing)
    if impute in ("knn", "em"):
        _impute(found, impute)
    elif drop_missing:
        _drop(found)
    return found


def _table_with_text(file: Path, columns: Any, drop: Any, label: str | None, est: Any) -> Any:
    """The columns of a file, if some are not numeric and the method does not read text itself."""
    from lowland.data.formats.arrow import text_fields
    from lowland.methods.base.traits import traits_of

    inputs.check_label(file, label)
    if inputs.has_no_names(file) or (est is not None and traits_of(est).reads_text):
        return None
    table = _selected(file, columns, drop, label)
    return table if text_fields(table.arrow(list(range(len(table.names)))).fields) else None


def _selected(file: Path, columns: Any, drop: Any, label: str | None) -> Any:
    return inputs.noted(table_of(file, columns, drop, label))


def _encoded(table: Any, labels: Any, impute: str | None, drop_missing: bool) -> Prepared:
    from lowland.prepare.table_preparer import TablePreparer

    later = drop_missing or impute in ("knn", "em")
    strategy: Any = None if later else impute or "median"
    preparer = TablePreparer(output="arrow", impute=strategy).fit(table)
    return Prepared(preparer.open_rows(table), labels, [("prepare", preparer)], dict(preparer.report_))


def _fill(found: Prepared, file: Path, columns: Any, drop: Any, label: str | None, how: Any) -> None:
    """Replace missing numbers by a value of their column. The step is saved with the model."""
    from lowland.missing_values import imputation
    from lowland.prepare.table_preparer import TablePreparer

    rows = found.rows
    found.missing = imputation(rows, how).message
    named = not inputs.has_no_names(file)
    source = _selected(file, columns, drop, label) if named else rows
    names = source.names if named else [f"x{j}" for j in range(rows.d)]
    kinds: Any = dict.fromkeys(names, "number")
    preparer = TablePreparer(impute=how, standardize=False, kinds=kinds, output="arrow" if named else "array")
    preparer.fit(source)
    found.rows, found.steps = preparer.open_rows(source), [("impute", preparer)]
    if not named:
        found.rows.names = None


def _impute(found: Prepared, how: Any) -> None:
    """Replace missing numbers by those of similar rows."""
    from lowland.arrays.namespace import to_numpy
    from lowland.data.rows import ArrayRows
    from lowland.missing_values import imputation

    rows = found.rows
    filled = imputation(rows, how)
    found.missing = filled.message
    names = rows.names
    if how == "knn":
        from sklearn.impute import KNNImputer

        found.steps.append(("impute", KNNImputer(keep_empty_features=True).fit(to_numpy(rows.to_array()))))
        names = None  # scikit-learn's imputer returns an array
    elif filled.counts.any():
        found.missing += " The model does not contain this step: new rows must be complete."
    found.rows = ArrayRows(filled.table, names, rows.source)


def _drop(found: Prepared) -> None:
    from lowland.data.rows import ArrayRows
    from lowland.missing_values import drop_missing

    kept = drop_missing(found.rows)
    found.kept = kept.kept
    found.missing = kept.message
    found.rows = ArrayRows(kept.table, found.rows.names, found.rows.source)
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
    from lowland.methods.base.estimator import Reducer
    from lowland.methods.model_files import load

    model = load(path)
    steps = list(model.steps) if type(model).__name__ == "Pipeline" else [("model", model)]
    steps = [(name, step) for name, step in steps if step is not None and step != "passthrough"]
    if not steps or not isinstance(steps[-1][1], Reducer):
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
        rows = _mapped(step, rows.to_array())
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

"""The Python and the command line that repeat a map."""

from __future__ import annotations

import inspect
import shlex
from typing import Any

from lowland.explorer.tables import KINDS, NUMERIC
from lowland.methods.base.traits import traits_of
from lowland.methods.registry import find_method, load_method

Record = dict[str, Any]
IMPUTERS = {"knn": "KNNImputer(keep_empty_features=True)", "em": "EMImputer()"}  # steps after the preparer
IMPORTS = {
    "knn": ["from sklearn.impute import KNNImputer"],
    "em": ["from lowland.prepare.steps import EMImputer"],
}


def code_of(table: Record, record: Record) -> dict[str, str]:
    """Return how to repeat a map: in Python, and on the command line."""
    then = record["private"].get("roles")
    if then is not None:  # the roles and the scale that the table had when the map was computed
        roles = {then["label"]: "label", then["weight"]: "weight", **dict.fromkeys(then["features"], "feature")}
        columns = [{**c, "role": roles.get(j, "drop")} for j, c in enumerate(table["columns"])]
        table = {**table, "columns": columns, "scaled": then["scaled"], "imputed": {"how": then.get("imputed")}}
    known = table["private"]["message"].get("path")
    path = known or f"{table['name']}.parquet"
    first = "" if known else f"# First export all rows of the table as Parquet: {path}\n"
    python = _python(table, record, path) if record.get("read") is None else _python_as_given(table, record, path)
    return {"python": first + python, "command": first + _command(table, record, path)}


def _python_as_given(table: Record, record: Record, path: str) -> str:
    """The code of a method that reads categories or counts as they are."""
    method, options = record["method"], "".join(f", {name}={value!r}" for name, value in table["read"].items())
    reads_text = traits_of(load_method(method)).reads_text
    arguments = ", ".join(f"{name}={value!r}" for name, value in _parameters(record).items())
    lines = [
        "import lowland",
        *(["from lowland.prepare.preparation import prepare_categories"] if reads_text else []),
        "",
        f"table = lowland.Table({path!r}, columns={record['read']!r}{options})",
        f"model = lowland.{method}({arguments})",
        *(["table = prepare_categories(table, model).rows  # missing values replaced"] if reads_text else []),
        "Z = model.fit_transform(table)  # the coordinates of all rows",
        f"lowland.save(model, {find_method(method).verb + '.lowland'!r})",
    ]
    return "\n".join(lines) + "\n"


def _python(table: Record, record: Record, path: str) -> str:
    method, read = record["method"], table["read"]
    prepared = bool(table.get("scaled")) or any(  # encoded, filled or standardized
        c["missing"] or c["kind"] not in (*NUMERIC, "boolean") or (c["kind"] == "boolean" and c.get("min") is None)
        for c in table["columns"]
        if c["role"] == "feature"
    )
    label, weight, how = _named(table, "label"), _named(table, "weight"), _imputed(table)
    options = "".join(f", {name}={value!r}" for name, value in read.items())
    given = ["rows"]
    columns = []
    if find_method(method).needs_y and label is not None:
        columns.append(f"y = read_column(table, {label!r})")
        given.append("y")
    if weight is not None and "sample_weight" in inspect.signature(load_method(method).fit).parameters:
        columns.append(f"weights = read_column(table, {weight!r})")
        given.append("sample_weight=weights")
    lines = ["import lowland"]
    needed = [*(["open_table"] if read else []), *(["read_column"] if columns else [])]
    if needed and (prepared or columns):
        lines.append(f"from lowland.data.open import {', '.join(needed)}")
    if read and (prepared or columns):
        lines.append("from lowland.data.read_options import ReadOptions")
    lines += IMPORTS.get(how, [])
    lines.append("")
    if prepared or columns:
        opened = f"open_table({path!r}, ReadOptions({options.removeprefix(', ')}))" if read else repr(path)
        lines.append(f"table = {opened}")
    if prepared:
        columns_of = {c["name"]: c for c in table["columns"]}
        kinds = {
            name: KINDS[columns_of[name]["kind"]] for name in _features(table) if columns_of[name]["kind"] in KINDS
        }
        kinds |= {name: "drop" for name, c in columns_of.items() if c["role"] != "feature"}
        output = "array" if how in IMPUTERS else "arrow"
        impute = "" if how == "median" else f" impute={None if how in IMPUTERS else how!r},"
        lines += [
            "preparer = lowland.TablePreparer(",
            f"    kinds={kinds!r},",
            f"    standardize={table.get('scaled') or False!r},{impute} output={output!r},",
            ")",
            "rows = preparer.fit_transform(table)",
        ]
        if how in IMPUTERS:
            lines += [f"imputer = {IMPUTERS[how]}", "rows = imputer.fit_transform(rows)"]
    else:
        lines.append(f"rows = lowland.open_rows({path!r}, columns={_features(table)!r}{options})")
    lines += columns
    fits = [*(record["start"] if record.get("warm") else []), _parameters(record)]
    if len(fits) > 1:
        lines += ["", "# the map started from an earlier one, which is computed first, in single precision"]
        lines += ["import numpy as np", ""]
    takes_init = "init" in inspect.signature(load_method(method).fit).parameters
    for number, parameters in enumerate(fits):
        start = ["init=start"] if number else []
        arguments = [*(f"{name}={value!r}" for name, value in parameters.items()), *([] if takes_init else start)]
        given += start if takes_init and number == 1 else []
        lines.append(f"model = lowland.{method}({', '.join(arguments)})")
        if number < len(fits) - 1:
            lines.append(f"start = np.asarray(model.fit_transform({', '.join(given)}), dtype=np.float32)")
    if record.get("fitted_rows"):
        lines += [
            "",
            "# there are many rows: evenly spaced ones are fitted, and the others placed among them",
            "import numpy as np",
            "from lowland.math.statistics.sampling import evenly_spread",
            "",
            f"rows = {'np.asarray(rows)' if prepared else 'rows.to_array()'}",
            f"chosen = evenly_spread(len(rows), {record['fitted_rows']}, np.random.default_rng(0))",
            "Z = np.empty((len(rows), model.n_components))",
            "Z[chosen] = model.fit_transform(rows[chosen])",
            "Z[~chosen] = model.transform(rows[~chosen])",
        ]
    else:
        lines.append(f"Z = model.fit_transform({', '.join(given)})  # the coordinates of all rows")
    saved = "model"
    if prepared:  # with the preparation, so that the model file takes the table as it is
        lines.append("from sklearn.pipeline import make_pipeline")
        saved = f"make_pipeline(preparer, {'imputer, ' * (how in IMPUTERS)}model)"
    lines.append(f"lowland.save({saved}, {find_method(method).verb + '.lowland'!r})")
    return "\n".join(lines) + "\n"


def _command(table: Record, record: Record, path: str) -> str:
    """The command that fits the method."""
    entry = find_method(record["method"])
    if record.get("fitted_rows"):
        words = ["lowland", "transform", f"{entry.verb}.lowland", path, "--to", "coordinates.csv"]
        return (
            f"# A sample of {record['fitted_rows']:,} rows was fitted. Run the Python code, which saves the model. "
            f"This places all rows among the sample:\n{shlex.join(words)}"
        )
    if record.get("warm"):
        return "# The map started from an earlier one, which a command cannot express. Run the Python code."
    words = ["lowland", "fit", entry.verb, path]
    label, weight = _named(table, "label") if entry.needs_y else None, _named(table, "weight")
    features = [c for c in table["columns"] if c["role"] == "feature"]
    others = [c["name"] for c in table["columns"] if c["role"] != "feature" and c["name"] not in (label, weight)]
    if record.get("read") is not None:
        words += ["--columns", _quoted(record["read"])]
    elif any(c.get("unused") for c in features) or len(others) > len(features):  # columns that are named are used
        words += ["--columns", _quoted(_features(table))]
    elif others:
        words += ["--drop", _quoted(others)]
    words += ["--label", label] if label is not None else []
    words += ["--weight", weight] if weight is not None else []
    if record.get("read") is None:  # the others are fitted to the columns themselves
        words += ["--prepare", {True: "standardize", "tf-idf": "auto"}.get(table.get("scaled"), "encode")]
        words += ["--impute", _imputed(table)] if _imputed(table) != "median" else []
    for name, value in table["read"].items():
        if name == "header":
            words.append("--header" if value else "--no-header")
        else:
            words += [f"--{name}", ",".join(value) if isinstance(value, list | tuple) else str(value)]
    for name, value in _parameters(record).items():
        flag = f"--{name.replace('_', '-')}"
        if isinstance(value, bool) and [f for f in entry.flags if f.name == name and f.kinds == ["bool"]]:
            words.append(flag if value else f"--no-{flag[2:]}")
        else:
            text = "none" if value is None else "yes" if value is True else "no" if value is False else str(value)
            words += [flag, ",".join(map(str, value)) if isinstance(value, list | tuple) else text]
    return shlex.join([*words, "--to", "coordinates.csv", "--model", f"{entry.verb}.lowland"])


def _imputed(table: Record) -> str:
    """What replaces missing numbers."""
    return (table.get("imputed") or {}).get("how") or "median"


def _quoted(names: list[str]) -> str:
    return ",".join(f'"{name}"' if "," in name else name for name in names)


def _parameters(record: Record) -> dict[str, Any]:
    return record.get("fitted") or record["parameters"]


def _features(table: Record) -> list[str]:
    return [c["name"] for c in table["columns"] if c["role"] == "feature"]


def _named(table: Record, role: str) -> str | None:
    return next((c["name"] for c in table["columns"] if c["role"] == role), None)

"""The Python and the command line that repeat a map."""

from __future__ import annotations

import shlex
from typing import Any

from lowland.methods.registry import find_method

Record = dict[str, Any]


def code_of(table: Record, record: Record) -> dict[str, str]:
    """Return how to repeat a map: in Python, and on the command line."""
    path = table["private"]["message"].get("path") or f"{table['name']}.parquet"
    return {"python": _python(table, record, path), "command": _command(table, record, path)}


def _python(table: Record, record: Record, path: str) -> str:
    method, parameters = record["method"], _parameters(record)
    arguments = ", ".join(f"{name}={value!r}" for name, value in parameters.items())
    features, label = _features(table), _label(table)
    read = table["read"]
    options = "".join(f", {name}={value!r}" for name, value in read.items())
    lines = ["import lowland", ""]
    if table.get("prepared_notes"):
        others = {c["name"]: "drop" for c in table["columns"] if c["role"] != "feature"}
        kinds = {**_kinds(table), **others}
        lines += [
            "preparer = lowland.TablePreparer(",
            f"    kinds={kinds!r},",
            f"    standardize={bool(table.get('scaled'))}, output='arrow',",
            ")",
        ]
        if read:
            lines += [
                "from lowland.data.open import open_table",
                "from lowland.data.read_options import ReadOptions",
                "",
                f"table = open_table({path!r}, ReadOptions({options.removeprefix(', ')}))",
            ]
        else:
            lines.append(f"table = {path!r}")
        lines.append("rows = preparer.fit_transform(table)")
    else:
        lines.append(f"rows = lowland.open_rows({path!r}, columns={features!r}{options})")
    y = ""
    if find_method(method).needs_y and label is not None:
        lines.append("from lowland.data.open import read_column")
        lines.append(f"y = read_column({path!r}, {label!r})")
        y = ", y"
    lines += [
        f"model = lowland.{method}({arguments})",
        f"Z = model.fit_transform(rows{y})  # the coordinates of all rows",
        f"lowland.save(model, {record['method'].lower() + '.lowland'!r})",
    ]
    return "\n".join(lines) + "\n"


def _command(table: Record, record: Record, path: str) -> str:
    """The command that fits the method; where the rows are prepared, the one that applies the model file."""
    entry = find_method(record["method"])
    if table.get("prepared_notes"):
        return shlex.join(["lowland", "transform", f"{entry.verb}.lowland", path, "--to", "coordinates.csv"])
    words = ["lowland", "fit", entry.verb, path]
    kept = {*_features(table), _label(table) if entry.needs_y else None}
    others = [c["name"] for c in table["columns"] if c["name"] not in kept]
    if others:
        words += ["--drop", ",".join(f'"{name}"' if "," in name else name for name in others)]
    if entry.needs_y and _label(table) is not None:
        words += ["--label", str(_label(table))]
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
            words += [flag, _text(value)]
    return shlex.join([*words, "--to", "coordinates.csv", "--model", f"{entry.verb}.lowland"])


def _parameters(record: Record) -> dict[str, Any]:
    return record.get("fitted") or record["parameters"]


def _features(table: Record) -> list[str]:
    return [c["name"] for c in table["columns"] if c["role"] == "feature"]


def _label(table: Record) -> str | None:
    return next((c["name"] for c in table["columns"] if c["role"] == "label"), None)


def _kinds(table: Record) -> dict[str, str]:
    from lowland.explorer.preparing import KINDS

    return {c["name"]: KINDS[c["kind"]] for c in table["columns"] if c["role"] == "feature" and c["kind"] in KINDS}


def _text(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return "none" if value is None else "yes" if value else "no"
    return ",".join(map(str, value)) if isinstance(value, list | tuple) else str(value)

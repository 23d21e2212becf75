"""Commands that only show something: a model file (inspect), a table (look), the list of methods (methods)."""

from __future__ import annotations

import re
import shlex
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from lowland.cli import options, show, tables
from lowland.cli.options import Command, allowed_values, flag_names, given, is_settable
from lowland.methods.registry import Entry, entries
from lowland.plain import to_plain

SHOWN_NAMES = 12


# --- inspect ----------------------------------------------------------------------------------------------------------


def run_inspect(model: Path) -> None:
    """Load, which refuses a damaged file, and print."""
    from lowland import __version__
    from lowland.methods.model_files import describe

    (steps, est), header = tables.load_model(model), describe(model)
    facts = show.model_facts(est)  # first: after partial_fit, it runs the solver
    own = f"parameters.steps.{len(steps)}.1." if header["class"] == "Pipeline" else ""
    places = {name.removeprefix(own): shape for name, shape in header["arrays"].items() if name.startswith(own)}
    # state.components_, or state.name_.part for an attribute that consists of several arrays
    arrays = {name[6:]: shape for name, shape in places.items() if re.match(r"state\.(?!_)[^.]*_(\.|$)", name)}
    names = getattr(steps[0][1] if steps else est, "feature_names_in_", None)
    facts |= {
        "file": str(model),
        "bytes": model.stat().st_size,
        "rows_fitted": to_plain(getattr(est, "n_samples_", None)),
        "columns_fitted": to_plain(names),
        "steps": [type(step).__name__ for _, step in steps],
        "prepared": next((dict(step.report_) for _, step in steps if hasattr(step, "report_")), None),
        "missing": None,
        "label": to_plain(getattr(est, "label_name_", None)),
        "arrays": to_plain(arrays),
        "attributes": _attributes(est),
        "versions": to_plain({"lowland": header["lowland"], "format": header["format"], "reading": __version__}),
    }
    show.report(facts, _print_model)


def _print_model(facts: dict[str, Any]) -> None:
    title, fractions = f"{facts['class']} in {Path(facts['file']).name}", facts["explained_variance_ratio"]
    show.print_facts(title, _model_lines(facts), fractions, facts["explained_variance_ratio_of"])
    rows = [(a["name"], show.printable(_value(a)), a["about"]) for a in facts["attributes"]]
    click.echo()
    show.print_columns(("Attribute", "Value", "Description"), rows)


def _attributes(est: Any) -> list[dict[str, Any]]:
    """Return the fitted attributes: name, type and description as declared; the value of a number or string."""
    from lowland.methods.base.params import attributes_of

    stored = vars(est)
    found = []
    for a in attributes_of(type(est)):
        if a.name in stored:
            value = stored[a.name]
            shape = [int(size) for size in value.shape] if getattr(value, "shape", ()) else None
            scalar = value if isinstance(value, bool | int | float | str) else None
            length = len(value) if isinstance(value, list | tuple) else None
            found.append(
                {
                    "name": a.name,
                    "type": a.type,
                    "about": a.doc,
                    "shape": shape,
                    "dtype": str(value.dtype) if shape else None,
                    "length": length,
                    "value": scalar,
                    "is_set": value is not None,
                }
            )
    return to_plain(found)


def _value(attribute: dict[str, Any]) -> str:
    """Return the value of an attribute as text: a number or string, or the shape and data type of an array."""
    if attribute["shape"]:
        return f"{' × '.join(map(str, attribute['shape']))} {attribute['dtype']}"
    if attribute["length"] is not None:
        return f"{attribute['length']} values"
    if not attribute["is_set"]:
        return "None"
    return attribute["type"] if attribute["value"] is None else show.in_words(attribute["value"])


def _model_lines(facts: dict[str, Any]) -> list[tuple[str, str]]:
    from lowland.run.memory import show_bytes

    lines = [
        ("File", f"{facts['file']}, {show_bytes(facts['bytes'])}"),
        ("Fitted to", show.table_size(facts["rows_fitted"], facts["columns_in"])),
    ]
    names = facts["columns_fitted"]
    if names:
        more = f" and {len(names) - SHOWN_NAMES} more" if len(names) > SHOWN_NAMES else ""
        lines.append(("Columns", ", ".join(names[:SHOWN_NAMES]) + more))
    if facts["label"] is not None:
        lines.append(("Label", facts["label"]))
    lines += show.prepared_lines(facts, every=True)
    if facts["steps"]:
        lines.append(("Steps", ", ".join([*facts["steps"], facts["class"]])))
    lines += show.model_lines(facts, every_parameter=True)
    versions = facts["versions"]
    written = f"written by Lowland {versions['lowland']} in format {versions['format']}"
    return [*lines, ("Versions", f"{written}, read by Lowland {versions['reading']}")]


inspect = Command(
    "inspect",
    callback=run_inspect,
    params=[options.file_argument("model", "MODEL")],
    help="Show what a model file contains: method, parameters, solver, convergence, explained variance, fitted "
    "attributes and versions.",
    short_help="Show what a model file contains.",
)


# --- look -------------------------------------------------------------------------------------------------------------


NO_COMMAND = "\nNo method can be fitted yet: at least two rows and one column that can be a feature are needed."


def run_look(file: Path) -> None:
    """Read the file once, print."""
    from lowland.data.look import look as looked

    read = tables.read_options()
    found = looked(file, **{name: value for name, value in asdict(read).items() if name in read.given()})
    command = next_command(file, found)

    def as_text(_: dict[str, Any]) -> None:
        for text in found.kinds.notes:
            tables.note(text)
        click.echo("\n".join(map(show.printable, str(found).split("\n"))))
        click.echo(f"\nGo on: {show.printable(command)}" if command else NO_COMMAND)

    show.report({**found.to_dict(), "command": command}, as_text)


def next_command(file: Path, found: Any) -> str | None:
    """Return the command that fits a method that suits the columns, with the same options of reading; or None."""
    others = [c for c in found.columns if c.name not in (found.label, *found.drop)]
    if found.kinds.n < 2 or all(c.unused and c.unused != "free text" for c in others):
        return None
    method = "umap" if found.vectors else "correspondence-analysis" if found.counts else "pca"
    words = ["lowland", "fit", method, str(file), *(["--metric", "cosine"] if found.vectors else [])]
    if found.id is not None:
        words += ["--id", found.id]
    if found.label is not None:
        words += ["--label", found.label]
    if found.drop:
        words += ["--drop", tables.name_list(found.drop)]
    read = dict(given("read"))
    if found.marks:
        read["missing"] = (*read.get("missing", ()), *found.marks)
    for name, value in read.items():
        if name == "header":
            words.append("--header" if value else "--no-header")
        else:
            words += [f"--{name}", ",".join(value) if isinstance(value, tuple) else value]
    return shlex.join([*words, "--to", "coordinates.csv"])


look = Command(
    "look",
    python="look",
    callback=run_look,
    params=[
        options.file_argument("file", "FILE"),
        *options.READ_OPTIONS,
    ],
    help="Show what a table contains: columns, kinds, missing values, constants, duplicates, scale and ids, with "
    "suggestions and the next command.\n\nFILE is read once, in chunks.",
    short_help="Show what a table contains, and the next command.",
)


# --- methods ----------------------------------------------------------------------------------------------------------


def run_methods() -> None:
    """Print the methods in alphabetical order."""
    found = sorted(entries().values(), key=lambda entry: entry.verb)

    def as_text(facts: dict[str, Any]) -> None:
        rows = [
            (e["method"], e["class"], "with landmarks" if e["streams_with_landmarks"] else show.in_words(e["streams"]),
             show.in_words(e["sparse"]), e["summary"])
            for e in facts["methods"]
        ]  # fmt: skip
        show.print_columns(("Method", "Class", "Larger than memory", "Sparse", "Summary"), rows)

    show.report({"methods": [_method_facts(entry) for entry in found]}, as_text)


def _method_facts(entry: Entry) -> dict[str, object]:
    return {
        "method": entry.verb,
        "class": entry.name,
        "summary": entry.summary,
        "streams": entry.streams,
        "streams_with_landmarks": entry.streams_with_landmarks,
        "sparse": entry.takes_sparse,
        "needs_label": entry.needs_y,
        "parameters": [
            {
                "name": flag.name,
                "flags": flag_names(flag.name) if is_settable(flag) else [],
                "takes": allowed_values(flag) if is_settable(flag) else "a Python object, so there is no flag",
                "default": flag.default,
                "about": flag.doc,
            }
            for flag in entry.flags
        ],
    }


methods = Command(
    "methods",
    callback=run_methods,
    help="List the methods, and whether each accepts files larger than memory and sparse data.",
    short_help="List the methods.",
)

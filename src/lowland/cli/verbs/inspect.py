"""``lowland inspect MODEL``: show what a model file contains."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from lowland.cli.shared import options
from lowland.cli.shared.commands import Command
from lowland.cli.shared.preparing import load_model, report_of
from lowland.plain import to_plain

SHOWN_NAMES = 12


def run(model: Path, as_json: bool) -> None:
    """Load, which refuses a damaged file, and print."""
    from lowland import __version__
    from lowland.cli.shared import show
    from lowland.cli.shared.summary import model_facts
    from lowland.methods.model_files import describe

    (steps, est), header = load_model(model), describe(model)
    facts = model_facts(est)  # first: after partial_fit, it runs the solver
    own = f"parameters.steps.{len(steps)}.1." if header["class"] == "Pipeline" else ""
    places = {name.removeprefix(own): shape for name, shape in header["arrays"].items() if name.startswith(own)}
    arrays = {name.removeprefix("state."): shape for name, shape in places.items() if _is_public(name)}
    names = getattr(steps[0][1] if steps else est, "feature_names_in_", None)
    facts |= {
        "file": str(model),
        "bytes": model.stat().st_size,
        "rows_fitted": to_plain(getattr(est, "n_samples_", None)),
        "columns_fitted": to_plain(names),
        "steps": [type(step).__name__ for _, step in steps],
        "prepared": report_of(steps),
        "missing": None,
        "label": to_plain(getattr(est, "label_name_", None)),
        "arrays": to_plain(arrays),
        "attributes": _attributes(est),
        "versions": to_plain({"lowland": header["lowland"], "format": header["format"], "reading": __version__}),
    }
    if as_json:
        show.print_json(facts)
    else:
        title, fractions = f"{facts['class']} in {model.name}", facts["explained_variance_ratio"]
        show.print_facts(title, _lines(facts), fractions, facts["explained_variance_ratio_of"])
        rows = [(a["name"], show.printable(_value(a)), a["about"]) for a in facts["attributes"]]
        click.echo()
        show.print_columns(("Attribute", "Value", "Description"), rows)


def _is_public(name: str) -> bool:
    kept, _, attribute = name.partition(".")
    attribute = attribute.partition(".")[0]  # one attribute may consist of several arrays
    return kept == "state" and not attribute.startswith("_") and attribute.endswith("_")


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
    from lowland.cli.shared import show

    if attribute["shape"]:
        return f"{' × '.join(map(str, attribute['shape']))} {attribute['dtype']}"
    if attribute["length"] is not None:
        return f"{attribute['length']} values"
    if not attribute["is_set"]:
        return "None"
    return attribute["type"] if attribute["value"] is None else show.in_words(attribute["value"])


def _lines(facts: dict[str, Any]) -> list[tuple[str, str]]:
    from lowland.cli.shared import show
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
    lines += show.prepared_lines(facts)
    if facts["steps"]:
        lines.append(("Steps", ", ".join([*facts["steps"], facts["class"]])))
    lines += show.model_lines(facts, every_parameter=True)
    versions = facts["versions"]
    written = f"written by Lowland {versions['lowland']} in format {versions['format']}"
    return [*lines, ("Versions", f"{written}, read by Lowland {versions['reading']}")]


inspect = Command(
    "inspect",
    callback=run,
    params=[options.file_argument("model", "MODEL"), options.json_option(), options.debug_option()],
    help="Show what a model file contains: method, parameters, solver, convergence, explained variance, fitted "
    "attributes and versions.",
    short_help="Show what a model file contains.",
)

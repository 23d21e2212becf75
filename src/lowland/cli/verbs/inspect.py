"""``lowland inspect MODEL``: what a model file holds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from lowland.cli.shared import options
from lowland.cli.shared.commands import Command

SHOWN_NAMES = 12


def run(model: Path, as_json: bool) -> None:
    """Load, so that a damaged file is refused, and print."""
    from lowland import __version__
    from lowland.cli.shared import show
    from lowland.cli.shared.summary import model_facts
    from lowland.methods.model_files import describe, load
    from lowland.plain import to_plain

    est, header = load(model), describe(model)
    facts = model_facts(est)  # first: it may solve what partial_fit left to solve
    arrays = {name.removeprefix("state."): shape for name, shape in header["arrays"].items() if _is_public(name)}
    names = getattr(est, "feature_names_in_", None)
    facts |= {
        "file": str(model),
        "bytes": model.stat().st_size,
        "rows_fitted": to_plain(getattr(est, "n_samples_", None)),
        "columns_fitted": to_plain(names),
        "label": to_plain(getattr(est, "label_name_", None)),
        "arrays": to_plain(arrays),
        "versions": to_plain({"lowland": header["lowland"], "format": header["format"], "reading": __version__}),
    }
    if as_json:
        show.print_json(facts)
    else:
        title, fractions = f"{facts['class']} in {model.name}", facts["explained_variance_ratio"]
        show.print_facts(title, _lines(facts), fractions, facts["shares_of"])


def _is_public(name: str) -> bool:
    kept, _, attribute = name.partition(".")
    attribute = attribute.partition(".")[0]  # several arrays may make up one
    return kept == "state" and not attribute.startswith("_") and attribute.endswith("_")


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
    lines += show.model_lines(facts, every_parameter=True)
    arrays = [f"{name} {' × '.join(map(str, a['shape']))} {a['dtype']}" for name, a in facts["arrays"].items()]
    versions = facts["versions"]
    written = f"written by Lowland {versions['lowland']} in format {versions['format']}"
    return [*lines, ("Arrays", ", ".join(arrays)), ("Versions", f"{written}, read by Lowland {versions['reading']}")]


inspect = Command(
    "inspect",
    callback=run,
    params=[options.file_argument("model", "MODEL"), options.json_option(), options.debug_option()],
    help="Tell what a model file holds: method, parameters, solver and choice with their reasons, shares, versions.",
    short_help="Tell what a model file holds.",
)

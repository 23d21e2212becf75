"""``lowland methods``: list the methods in the index."""

from __future__ import annotations

from lowland.cli.shared import options
from lowland.cli.shared.commands import Command
from lowland.cli.shared.flags import flag_names, is_settable
from lowland.cli.shared.show import print_columns, print_json
from lowland.cli.shared.values import allowed_values
from lowland.methods.registry import Entry, entries


def run(as_json: bool) -> None:
    """Print the methods in alphabetical order."""
    found = sorted(entries().values(), key=lambda entry: entry.verb)
    if as_json:
        print_json({"methods": [_facts(entry) for entry in found]})
        return
    rows = [(e.verb, e.name, _streams(e), _mark(e.takes_sparse), e.summary) for e in found]
    print_columns(("Method", "Class", "Larger than memory", "Sparse", "Summary"), rows)


def _streams(entry: Entry) -> str:
    return "with landmarks" if entry.streams_with_landmarks else _mark(entry.streams)


def _mark(value: bool) -> str:
    return "yes" if value else "no"


def _facts(entry: Entry) -> dict[str, object]:
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
    callback=run,
    params=[options.json_option(), options.debug_option()],
    help="List the methods, and whether each accepts files larger than memory and sparse data.",
    short_help="List the methods.",
)

"""Commands that apply a model to a file and write another file: transform, inverse, predict."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from lowland.cli.shared import options
from lowland.cli.shared.commands import Command
from lowland.cli.shared.options import Option


def mapping_command(
    name: str, callback: Callable[..., Any], summary: str, about_file: str, *, to: str, label: str | None = None,
    more: Sequence[Option] = (),
) -> Command:  # fmt: skip
    """Return such a command."""
    return Command(
        name,
        callback=callback,
        params=[
            options.file_argument("model", "MODEL"),
            options.file_argument("file", "FILE"),
            *options.data_options(label, carried=label is not None),
            *options.output_options(to, required=True, more=more),
            *options.work_options(),
            options.json_option(),
            options.debug_option(),
        ],
        help=f"{summary}\n\nMODEL is a model file written by lowland fit --model. {about_file}",
        short_help=summary,
    )


def print_mapping(
    verb: str, est: Any, file: Path, columns: int, model: Path, written: dict[str, Any], started: float, as_json: bool,
    facts: dict[str, Any] | None = None,
) -> None:  # fmt: skip
    """Print what was done to a file, and further facts, if any."""
    from lowland.cli.shared import show

    took = round(time.perf_counter() - started, 6)
    if as_json:
        data = {"file": str(file), "rows": written["rows"], "columns": columns}
        found = {"class": type(est).__name__, "model": str(model), "data": data, "files": [written], "seconds": took}
        show.print_json(found if facts is None else {**found, "facts": facts})
        return
    lines = [
        ("Data", f"{show.table_size(written['rows'], columns)}, {file}"),
        ("Model", f"{type(est).__name__}, {model}"),
        *show.fact_lines(facts or {}),
        ("Time", show.seconds(took)),
        ("Written", f"{written['file']}, {show.table_size(written['rows'], written['columns'])}"),
    ]
    show.print_facts(f"{verb} {file.name}", lines)

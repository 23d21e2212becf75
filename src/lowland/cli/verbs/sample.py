"""``lowland sample NAME --to FILE``: write an included or generated data set to a file."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from lowland.cli import options, show, tables
from lowland.cli.options import DATA, Command, Option, section
from lowland.errors import ParameterError
from lowland.plain import to_plain

LABEL = "label"


def run(name: str | None, to: Path | None, label_column: bool, option: tuple[str, ...], force: bool) -> None:
    """List, describe or write."""
    from lowland.data import available, load_dataset

    if name is None:
        if to is not None:
            raise click.UsageError(
                "--to needs the name of a data set. List them with lowland sample.", click.get_current_context()
            )
        head = ("Data set", "Description")
        show.report({"samples": available()}, lambda facts: show.print_columns(head, list(facts["samples"].items())))
        return
    tables.check_outputs(to=to, force=force)
    settings: dict[str, Any] = {}  # --option n=5000: a number, true or false, or a string
    for text in option:
        key, sign, value = text.partition("=")
        if not sign or not key:
            raise click.BadParameter(f"{text!r}: write NAME=VALUE, such as n=5000.", param_hint="'-o' / '--option'")
        settings[key.strip()] = value
        with contextlib.suppress(ValueError):
            settings[key.strip()] = json.loads(value)
    sample = load_dataset(name, **settings)
    files = []
    if to is not None:
        names, chunks = _table(sample, name, label_column, tables.holds_numbers_only(to))
        files.append(tables.write_table(chunks, to, names))
    facts = {
        "sample": name, "about": sample.about, "kind": sample.kind, "rows": len(sample.X),
        "columns": sample.X.shape[1], "names": sample.names, "has_labels": sample.y is not None,
        "label_names": sample.label_names, "image_shape": sample.image_shape, "files": files,
    }  # fmt: skip
    show.report(to_plain(facts), lambda facts: show.print_facts(f"Data set {name}", _lines(facts)))


def _table(sample: Any, name: str, label_column: bool, only_numbers: bool) -> tuple[list[str], Iterator[Any]]:
    """Return names and chunks of the rows, with the label as the last column if requested."""
    import numpy as np

    names = list(sample.names)
    slabs = [slice(start, start + tables.TEXT_SLAB) for start in range(0, len(sample.X), tables.TEXT_SLAB)]
    if not label_column:
        return names, (sample.X[some] for some in slabs)
    if sample.y is None:
        raise ParameterError(f"The data set {name!r} has no labels. Omit --label-column.")
    labels = sample.y
    if sample.label_names is not None and not only_numbers:
        labels = [sample.label_names[int(i)] for i in sample.y]
    kind = np.result_type(sample.X, np.asarray(labels)) if only_numbers else object
    return [*names, LABEL], (
        np.column_stack([sample.X[some].astype(kind), np.asarray(labels[some], dtype=kind)]) for some in slabs
    )


def _lines(facts: dict[str, Any]) -> list[tuple[str, str]]:
    names = ", ".join(facts["names"][:8]) + (f" and {len(facts['names']) - 8} more" if len(facts["names"]) > 8 else "")
    lines = [
        ("Description", facts["about"]),
        ("Size", show.table_size(facts["rows"], facts["columns"])),
        ("Columns", names),
    ]
    if facts["label_names"]:
        lines.append(("Labels", ", ".join(facts["label_names"])))
    for written in facts["files"]:
        lines.append(("Written", f"{written['file']}, {show.table_size(written['rows'], written['columns'])}"))
    if not facts["files"]:
        lines.append(("Write it with", f"lowland sample {facts['sample']} --to {facts['sample']}.csv"))
    return lines


sample = Command(
    "sample",
    python="load_dataset",
    callback=run,
    params=[
        click.Argument(["name"], required=False, metavar="[NAME]"),
        *section(
            DATA,
            Option("-o --option", "Option of the data set, such as n=5000, noise=0.1 or seed=1. May be repeated.",
                   multiple=True, metavar="NAME=VALUE"),
        ),
        *options.output_options(
            "Write the data set to this file.",
            more=[Option("--label-column", f"Add the labels as the last column, named {LABEL!r}.", is_flag=True)],
        ),
    ],
    help="Write an included or generated data set to a file.\n\nWithout NAME, list the data sets. Without --to, "
    "describe the data set.",
    short_help="Write an included or generated data set to a file.",
)  # fmt: skip

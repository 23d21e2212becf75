"""``lowland look FILE``: what a table contains, what may be wrong with it, and the command to go on."""

from __future__ import annotations

import shlex
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from lowland.cli.shared import options
from lowland.cli.shared.commands import Command
from lowland.cli.shared.remedies import name_list


def run(file: Path, as_json: bool) -> None:
    """Read the file once, print."""
    from lowland.cli.shared import show
    from lowland.cli.shared.inputs import read_options
    from lowland.cli.shared.messages import in_flags
    from lowland.data.look import look as looked

    given = read_options()
    found = looked(file, **{name: value for name, value in asdict(given).items() if name in given.given()})
    command = next_command(file, found)
    if as_json:
        show.print_json({**found.to_dict(), "command": command})
        return
    for note in found.kinds.notes:
        click.echo(f"lowland: note: {show.printable(note)}", err=True)
    text = in_flags(str(found), click.get_current_context().command)
    click.echo("\n".join(show.printable(line) for line in text.split("\n")))
    click.echo(f"\nGo on: {show.printable(command)}")


def next_command(file: Path, found: Any) -> str:
    """Return the command that fits a PCA to the features of the table, with the same options of reading."""
    words = ["lowland", "fit", "pca", str(file)]
    if found.scale:
        words.append("--scale")
    if found.id is not None:
        words += ["--id", found.id]
    if found.label is not None:
        words += ["--label", found.label]
    if found.drop:
        words += ["--drop", name_list(found.drop)]
    if found.incomplete:
        words += ["--impute", "median"]
    return shlex.join([*words, *_reading(found.marks), "--to", "coordinates.csv"])


def _reading(marks: tuple[str, ...]) -> list[str]:
    """The options of reading of this command, and the marks of missing values that were found."""
    given = dict(click.get_current_context().meta.get("lowland.read", {}))
    if marks:
        given["missing"] = (*given.get("missing", ()), *marks)
    words: list[str] = []
    for name, value in given.items():
        if name == "header":
            words.append("--header" if value else "--no-header")
        else:
            words += [f"--{name}", ",".join(value) if isinstance(value, tuple) else value]
    return words


look = Command(
    "look",
    python="look",
    callback=run,
    params=[
        options.file_argument("file", "FILE"),
        *options.read_options(),
        options.json_option(),
        options.debug_option(),
    ],
    help="Show what a table contains: columns, kinds, missing values, constants, duplicates, scale and ids, with "
    "suggestions and the command to go on.\n\nFILE is read once, in chunks.",
    short_help="Show what a table contains, and how to go on.",
)

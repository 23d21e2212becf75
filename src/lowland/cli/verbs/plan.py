"""``lowland plan METHOD FILE``: what ``lowland fit`` would do, how long it takes, and how much memory it needs."""

from __future__ import annotations

from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import click

from lowland.cli import options, show, tables
from lowland.cli.options import DATA, Command, MethodCommands, Option, section
from lowland.methods.registry import Entry

SAMPLED = 1_000  # rows from which the number of columns is found, if some hold text


def command_of(entry: Entry) -> click.Command:
    """Return the command that plans a fit of one method."""
    rows = "Number of rows, if the file does not state it. [default: as the file says, or by its size]"
    return Command(
        entry.verb,
        params=[
            options.file_argument("file", "FILE"),
            *options.parameter_options(entry),
            *options.data_options("Column of labels, which is not a feature."),
            *section(DATA, Option("--rows n_rows", rows, type=click.IntRange(min=1), metavar="N")),
            *options.WORK_OPTIONS,
        ],
        callback=partial(run, entry),
        help=f"Predict what lowland fit {entry.verb} FILE would do: steps, time and memory on this machine, "
        "and what would be cheaper. Nothing is fitted.",
        short_help=entry.summary,
        python="plan",
    )


def run(entry: Entry, *, file: Path, n_rows: int | None, **parameters: Any) -> None:
    """Open the beginning of the table, plan, print."""
    from lowland.data.reader import text_fields
    from lowland.methods.base.plan import counted

    est = options.estimator_of(entry, parameters)
    with tables.with_command():
        table = tables.Source.of(file).table()
        if est._reads_text or not text_fields(table.fields_at(range(len(table.names)))):
            found = est.plan(table, n_rows=n_rows)
        else:
            found = est.plan(_beginning(table), n_rows=n_rows or table.n or counted(table.table))
    facts = {"file": str(file), **asdict(found), "fits": found.fits, "algorithm": found.algorithm}
    show.report(facts, lambda _: click.echo("\n".join(map(show.printable, str(found).splitlines()))))


def _beginning(table: Any) -> Any:
    """The first rows of a table with text, as numbers, as ``fit`` prepares them."""
    from lowland.data.reader import tables_of
    from lowland.prepare.table_preparer import TablePreparer

    batches = table.batches(table.fields_at(range(len(table.names))), SAMPLED)
    return TablePreparer().fit_transform(next(iter(tables_of(batches, SAMPLED))))


plan = MethodCommands(
    "plan",
    command_of,
    help="Predict the steps, the time and the memory of a fit, and what would be cheaper. Each method has its own "
    "options: lowland plan METHOD --help.",
    short_help="Predict time and memory of a fit before it runs.",
    subcommand_metavar="METHOD FILE [OPTIONS]",
    options_metavar="",
    params=[options.DEBUG],
)

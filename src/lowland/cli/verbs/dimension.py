"""``lowland dimension FILE``: estimate the intrinsic dimension of the data."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import click

from lowland.cli import options, show, tables
from lowland.cli.options import Choice, Command, Option, section
from lowland.errors import ParameterError

# Repeated from quality, whose import would load numpy just for the help; a test compares the two.
METHODS = ("auto", "mle", "twonn", "correlation", "pca", "global_pca", "isomap", "all")
MAPPED = ("auto", "mle", "twonn", "pca")
COLUMN = "dimension"


def run(
    file: Path, method: Any, n_neighbors: int | None, sample: int, random_state: int, to: Path | None, force: bool
) -> None:
    """Open, estimate, write the local estimates, print."""
    from lowland.plain import to_plain
    from lowland.quality import intrinsic_dimension

    tables.check_outputs(to=to, force=force, read=(file,))
    if to is not None and method not in (*MAPPED, "all"):
        raise ParameterError(
            f"--to writes one estimate per row, but --method {method} gives only one for all rows. Choose "
            f"{', '.join(MAPPED)} or all."
        )
    started = time.perf_counter()
    with tables.with_command():
        prepared = tables.open_prepared(tables.Source.of(file))
        found = intrinsic_dimension(
            prepared.rows, method, n_neighbors=n_neighbors, sample=sample, per_point=to is not None,
            random_state=random_state,
        )  # fmt: skip
    written = None
    if to is not None and found.per_point is not None:
        written = tables.write_table([found.per_point[:, None]], to, [COLUMN])
    keys = ("method", "name", "value", "standard_error", "bias", "about", "details")
    estimates = [{key: getattr(each, key) for key in keys} for each in (found, *found.others)]
    facts = {"file": str(file), "rows": found.n_rows, "columns": prepared.rows.d, "estimates": estimates}
    facts |= {"map": written, "seconds": time.perf_counter() - started}
    show.report(to_plain(facts) | prepared.facts, _print)


def _print(facts: dict[str, Any]) -> None:
    size = show.table_size(facts["rows"], facts["columns"])
    click.echo(show.printable(f"Intrinsic dimension of {facts['file']}, {size}"))
    click.echo()
    show.print_prepared(facts)
    estimates = facts["estimates"]
    errors = ["" if e["standard_error"] is None else f"{e['standard_error']:.2f}" for e in estimates]
    lines = [
        (e["name"], f"{e['value']:.2f}", error, f"{e['about']} Bias: {e['bias']}")
        for e, error in zip(estimates, errors, strict=True)
    ]
    show.print_columns(("Estimator", "Dimension", "Standard error", "Details and known bias"), lines)
    if facts["map"]:
        click.echo(f"\nWritten  {show.printable(facts['map']['file'])}, the local dimension at each row")


dimension = Command(
    "dimension",
    python="intrinsic_dimension",
    callback=run,
    params=[
        options.file_argument("file", "FILE"),
        *options.data_options("Column to exclude, such as class labels."),
        *options.PREPARE_OPTIONS,
        *section(
            "Estimate",
            Option("--method", "Estimator, or all for a table of all estimators. [default: auto]", type=Choice(METHODS),
                   default="auto"),
            Option("--n-neighbors --neighbors n_neighbors",
                   "Number of nearest neighbors per point. [default: 20; fewer in small clusters]",
                   type=click.IntRange(min=2), metavar="N"),
            Option("--sample", "Number of sampled rows, whose neighbors are searched among all rows. [default: 5000]",
                   type=int, default=5000, metavar="N"),
            options.seed_option(),
        ),
        *options.output_options("Write the local dimension at each row to this file, from all rows."),
        *options.WORK_OPTIONS,
    ],
    help="Estimate the intrinsic dimension of a data set.\n\nFILE is a table. --prepare says how "
    "categories, dates and missing values become numbers. The estimators use Euclidean distances, so the columns "
    "should be on a common scale.",
    short_help="Estimate the intrinsic dimension of a data set.",
)  # fmt: skip

"""``lowland dimension FILE``: estimate the intrinsic dimension of the data."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import click

from lowland.cli.shared import options
from lowland.cli.shared.commands import Command
from lowland.cli.shared.options import Option, in_section
from lowland.cli.shared.preparing import open_prepared, prepare_options
from lowland.cli.shared.remedies import with_command
from lowland.cli.shared.values import Choice
from lowland.errors import ParameterError

# Repeated from quality, whose import would load numpy just for the help; a test compares the two.
METHODS = ("auto", "mle", "twonn", "correlation", "pca", "global_pca", "isomap", "all")
MAPPED = ("auto", "mle", "twonn", "pca")
COLUMN = "dimension"


def run(
    file: Path, columns: Any, drop: Any, label: str | None, method: Any, n_neighbors: int | None, confidence: float,
    sample: int, random_state: int, to: Path | None, force: bool, memory: Any, threads: Any, progress: Any,
    as_json: bool, prepare: str, impute: str | None, drop_missing: bool,
) -> None:  # fmt: skip
    """Open, estimate, write the local estimates, print."""
    from lowland.cli.shared import show
    from lowland.cli.shared.outputs import check_outputs, write_table
    from lowland.quality import intrinsic_dimension

    check_outputs(to=to, force=force, read=(file,))
    if to is not None and method not in (*MAPPED, "all"):
        raise ParameterError(
            f"--to writes one estimate per row, but --method {method} gives only one for all rows. Choose "
            f"{', '.join(MAPPED)} or all."
        )
    started = time.perf_counter()
    with options.working(memory, threads, progress), with_command():
        prepared = open_prepared(file, columns, drop, label, prepare=prepare, impute=impute, drop_missing=drop_missing)
        rows = prepared.rows
        found = intrinsic_dimension(
            rows, method, n_neighbors=n_neighbors, confidence=confidence, sample=sample, per_point=to is not None,
            random_state=random_state,
        )  # fmt: skip
    written = None if to is None or found.per_point is None else write_table([found.per_point[:, None]], to, [COLUMN])
    facts = _facts(file, rows, found, written, time.perf_counter() - started) | prepared.facts
    if as_json:
        show.print_json(facts)
    else:
        _print(facts)


def _facts(file: Path, rows: Any, found: Any, written: dict[str, Any] | None, seconds: float) -> dict[str, Any]:
    from lowland.plain import to_plain

    keys = ("method", "name", "value", "low", "high", "confidence", "interval", "bias", "about", "details")
    estimates = [{key: getattr(each, key) for key in keys} for each in (found, *found.others)]
    facts = {"file": str(file), "rows": found.n_rows, "columns": rows.d, "estimates": estimates, "map": written}
    return to_plain(facts | {"seconds": seconds})


def _print(facts: dict[str, Any]) -> None:
    from lowland.cli.shared import show

    size = show.table_size(facts["rows"], facts["columns"])
    click.echo(show.printable(f"Intrinsic dimension of {facts['file']}, {size}"))
    click.echo()
    show.print_prepared(facts)
    estimates = facts["estimates"]
    interval = f"{100 * estimates[0]['confidence']:.4g}% confidence interval"
    lines = [
        (e["name"], f"{e['value']:.2f}", f"{e['low']:.2f} to {e['high']:.2f}", f"{e['about']} Bias: {e['bias']}")
        for e in estimates
    ]
    show.print_columns(("Estimator", "Dimension", interval, "Details and known bias"), lines)
    if facts["map"]:
        click.echo(f"\nWritten  {show.printable(facts['map']['file'])}, the local dimension at each row")


def _number(flags: str, default: Any, kind: Any, text: str, metavar: str = "N") -> Option:
    return Option(flags.split(), type=kind, default=default, metavar=metavar, help=text)


dimension = Command(
    "dimension",
    python="intrinsic_dimension",
    callback=run,
    params=[
        options.file_argument("file", "FILE"),
        *options.data_options("Column to exclude, such as class labels."),
        *prepare_options(),
        *in_section("Estimate", [
            Option(["--method"], type=Choice(METHODS), default="auto",
                   help="Estimator; all: a table of all estimators. [default: auto]"),
        _number("--n-neighbors --neighbors n_neighbors", None, click.IntRange(min=2),
                "Number of nearest neighbors per row. [default: 20, or all other rows]"),
        _number("--confidence", 0.95, float, "Confidence level of the interval. [default: 0.95]", "LEVEL"),
        _number("--sample", 5000, int,
                "Number of sampled rows; neighbors are searched among all rows. [default: 5000]"),
        _number("--random-state --seed random_state", 0, click.IntRange(min=0),
                "Random seed. [default: 0]"),
        ]),
        *options.output_options("Write the local dimension at each row to this file; uses all rows, not a sample."),
        *options.work_options(),
        options.json_option(),
        options.debug_option(),
    ],
    help="Estimate the intrinsic dimension of a data set.\n\nFILE is a table of numbers. The estimators use Euclidean "
    "distances, so the columns should be on a common scale.",
    short_help="Estimate the intrinsic dimension of a data set.",
)  # fmt: skip

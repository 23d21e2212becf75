"""``lowland evaluate DATA COORDINATES``: quality measures of an embedding."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import click

from lowland.cli import options, show, tables
from lowland.cli.options import DATA, Command, NamesOption, Option, section
from lowland.errors import DataError

OF_PAIRS = ("normalized stress", "Sammon stress", "Spearman correlation", "Pearson correlation", "residual variance")


def run(
    data: Path, file: Path, coordinates: Any, model: Path | None, scale: bool, n_neighbors: int, sample: int | None,
    random_state: int,
) -> None:  # fmt: skip
    """Open both, measure, print."""
    from lowland.plain import to_plain
    from lowland.quality import OriginalSpace
    from lowland.quality import evaluate as evaluated

    started = time.perf_counter()
    with tables.with_command():
        source = tables.Source.of(data)
        steps, est = ([], None) if model is None else tables.load_model(model)
        if steps:
            rows = tables.open_for_model(steps, est, source)
            y = None if source.label is None else source.table().labels
        else:
            source = source.for_model(est, getattr(est, "feature_names_in_", ()))
            prepared = tables.open_prepared(source, prepare=None if est is None else "none")
            rows, y = prepared.rows, prepared.labels
        scaled = scale or bool(getattr(est, "scale", False))
        factors = getattr(est, "scale_", None) if scaled else None  # of the training rows, else those of DATA
        divided: Any = None if not scaled else True if factors is None else factors
        high = OriginalSpace.of(rows, labels=y, scale=divided, sample=sample or "auto", random_state=random_state)
        try:
            Z = tables.open_coordinates(file, coordinates, source.table()).to_array()
        except DataError as error:
            raise type(error)(f"{error.marked} Select the columns of COORDINATES with --coordinates.") from error
        found = evaluated(high, Z, y, model=est, n_neighbors=n_neighbors)
    keys = ("name", "value", "low", "high", "better", "sample", "left_out", "about")
    measures = [{key: getattr(each, key) for key in keys} for each in found]
    facts = {
        "file": str(data), "coordinates": str(file), "rows": high.n, "columns": rows.d, "measures": measures,
        "seconds": time.perf_counter() - started, "scaled": scaled,
    }  # fmt: skip
    show.report(to_plain(facts), _print)


def _print(facts: dict[str, Any]) -> None:
    size = show.table_size(facts["rows"], facts["columns"])
    scaled = ", standardized columns" if facts["scaled"] else ""
    click.echo(show.printable(f"{facts['coordinates']} as an embedding of {facts['file']}, {size}{scaled}"))
    click.echo()
    measures = facts["measures"]
    drawn = any(each["low"] is not None for each in measures)
    lines = [
        (
            m["name"],
            f"{m['value']:.4g}",
            *(["–" if m["low"] is None else f"{m['low']:.4g} to {m['high']:.4g}"] if drawn else []),
            m["better"],
            m["about"],
        )
        for m in measures
    ]
    show.print_columns(
        ("Measure", "Value", *(["95% confidence interval"] if drawn else []), "Better", "Definition"), lines
    )
    # how many rows were sampled; distances are computed among fewer rows than neighbors
    of_pairs = {m["sample"] for m in measures if m["name"] in OF_PAIRS} - {None}
    of_rows = {m["sample"] for m in measures if m["name"] not in OF_PAIRS} - {None}
    change = "Change the number with --sample."
    for sample in of_rows:
        click.echo(f"\nNeighborhoods: {sample:,} sampled rows, compared with all rows. {change}")
    for sample in of_pairs:
        text = f"Stress and correlations: distances among {sample:,} sampled rows."
        click.echo(f"\n{text}" if of_rows else f"\n{text} {change}")
    left_out = measures[0]["left_out"]
    if left_out:
        click.echo(f"\n{left_out:,} row{'s' * (left_out != 1)} without coordinates excluded.")


evaluate = Command(
    "evaluate",
    python="evaluate",
    callback=run,
    params=[
        options.file_argument("data", "DATA"),
        options.file_argument("file", "COORDINATES"),
        *options.data_options("Column of DATA with class labels, which adds measures of class separation."),
        *options.PREPARE_OPTIONS,
        *section(DATA, NamesOption("--coordinates", "Use only these columns of COORDINATES.")),
        *section(
            "Measures",
            options.file_option("--model", "Fitted model that computed the coordinates: gives the columns and the "
                                "scaling, and adds the reconstruction error."),
            Option("--scale", "Divide the columns of DATA by their standard deviations first, as fit --scale does.",
                   is_flag=True),
            Option("--n-neighbors --neighbors n_neighbors",
                   "Number of nearest neighbors in a neighborhood. [default: 5]", type=click.IntRange(min=1),
                   default=5, metavar="N"),
            Option("--sample", "Number of sampled rows that are compared with all rows. [default: all, at most 4096; "
                   "1024 for distances]", type=click.IntRange(min=20), metavar="N"),
            options.seed_option(),
        ),
        *options.WORK_OPTIONS,
    ],
    help="Evaluate an embedding with quality measures.\n\nDATA is a table. --prepare says how categories, "
    "dates and missing values become numbers. COORDINATES has one row per row of DATA, in the same order, as written "
    "by lowland fit --to, lowland transform or any other program.",
    short_help="Evaluate an embedding with quality measures.",
)  # fmt: skip

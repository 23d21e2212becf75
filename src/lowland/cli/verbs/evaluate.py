"""``lowland evaluate DATA COORDINATES``: quality measures of an embedding."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import click

from lowland.cli.shared import options
from lowland.cli.shared.commands import Command
from lowland.cli.shared.options import DATA, Option, in_section
from lowland.cli.shared.preparing import load_model, open_for_model, open_prepared, prepare_options
from lowland.cli.shared.remedies import with_command

OF_PAIRS = ("normalized stress", "Sammon stress", "Spearman correlation", "Pearson correlation", "residual variance")


def run(
    data: Path, file: Path, columns: Any, drop: Any, label: str | None, coordinates: Any, model: Path | None,
    scale: bool, n_neighbors: int, sample: int | None, random_state: int, memory: Any, threads: Any, progress: Any,
    as_json: bool, prepare: str, impute: str | None, drop_missing: bool,
) -> None:  # fmt: skip
    """Open both, measure, print."""
    from lowland.cli.shared import inputs, show
    from lowland.cli.shared.roles import table_of
    from lowland.quality import OriginalSpace
    from lowland.quality import evaluate as evaluated

    started = time.perf_counter()
    with options.working(memory, threads, progress), with_command():
        steps, est = ([], None) if model is None else load_model(model)
        if steps:
            rows = open_for_model(steps, est, data, columns, drop, label)
            y = None if label is None else table_of(data, label=label).labels
        else:
            columns, drop = inputs.columns_for(est, data, columns, drop, label)
            prepared = open_prepared(
                data, columns, drop, label, prepare=prepare if est is None else "none", impute=impute,
                drop_missing=drop_missing,
            )  # fmt: skip
            rows, y = prepared.rows, prepared.labels
        scaled = scale or bool(getattr(est, "scale", False))
        factors = getattr(est, "scale_", None) if scaled else None  # of the training rows, else those of DATA
        divided: Any = None if not scaled else True if factors is None else factors
        high = OriginalSpace.of(rows, labels=y, scale=divided, sample=sample or "auto", random_state=random_state)
        found = evaluated(
            high,
            _coordinates(file, coordinates, table_of(data, columns, drop, label)),
            y,
            model=est,
            n_neighbors=n_neighbors,
        )
    facts = _facts(data, file, (high.n, rows.d), found, time.perf_counter() - started) | {"scaled": scaled}
    if as_json:
        show.print_json(facts)
    else:
        _print(facts)


def _coordinates(file: Path, columns: list[str] | None, data: Any) -> Any:
    """The coordinates; errors about their columns name the flag that selects them."""
    from lowland.cli.shared.inputs import open_coordinates
    from lowland.errors import DataError, DataTypeError

    try:
        return open_coordinates(file, columns, data).to_array()
    except (DataError, DataTypeError) as error:
        raise type(error)(f"{error.marked} Select the columns of COORDINATES with --coordinates.") from error


def _facts(data: Path, file: Path, size: tuple[int, int], found: Any, seconds: float) -> dict[str, Any]:
    from lowland.plain import to_plain

    keys = ("name", "value", "low", "high", "better", "sample", "left_out", "about")
    measures = [{key: getattr(each, key) for key in keys} for each in found]
    facts = {"file": str(data), "coordinates": str(file), "rows": size[0], "columns": size[1], "measures": measures}
    return {key: to_plain(value) for key, value in (facts | {"seconds": seconds}).items()}


def _print(facts: dict[str, Any]) -> None:
    from lowland.cli.shared import show

    size = show.table_size(facts["rows"], facts["columns"])
    scaled = ", standardized columns" if facts["scaled"] else ""
    click.echo(show.printable(f"{facts['coordinates']} as an embedding of {facts['file']}, {size}{scaled}"))
    click.echo()
    measures = facts["measures"]
    drawn = any(each["low"] is not None for each in measures)
    lines = [
        (m["name"], f"{m['value']:.4g}", *([_interval(m)] if drawn else []), m["better"], m["about"]) for m in measures
    ]
    show.print_columns(
        ("Measure", "Value", *(["95% confidence interval"] if drawn else []), "Better", "Definition"), lines
    )
    for line in _drawn(measures):
        click.echo(f"\n{line}")
    left_out = measures[0]["left_out"]
    if left_out:
        click.echo(f"\n{left_out:,} row{'s' * (left_out != 1)} without coordinates excluded.")


def _drawn(measures: list[dict[str, Any]]) -> list[str]:
    """How many rows were sampled; distances are computed among fewer rows than neighbors."""
    of_pairs = {m["sample"] for m in measures if m["name"] in OF_PAIRS} - {None}
    of_rows = {m["sample"] for m in measures if m["name"] not in OF_PAIRS} - {None}
    lines = [
        f"Neighborhoods: {sample:,} sampled rows, compared with all rows. Change the number with --sample."
        for sample in of_rows
    ]
    lines += [
        f"Stress and correlations: distances among {sample:,} sampled rows."
        f"{'' if of_rows else ' Change the number with --sample.'}"
        for sample in of_pairs
    ]
    return lines


def _interval(measure: dict[str, Any]) -> str:
    return "–" if measure["low"] is None else f"{measure['low']:.4g} to {measure['high']:.4g}"


def _number(flags: str, default: Any, kind: Any, text: str) -> Option:
    return Option(flags.split(), type=kind, default=default, metavar="N", help=text)


evaluate = Command(
    "evaluate",
    python="evaluate",
    callback=run,
    params=[
        options.file_argument("data", "DATA"),
        options.file_argument("file", "COORDINATES"),
        *options.data_options("Column of DATA with class labels; adds measures of class separation."),
        *prepare_options(),
        *in_section(DATA, [
            options.names_option("--coordinates", "a,b", "Use only these columns of COORDINATES."),
        ]),
        *in_section("Measures", [
        options.file_option("--model", "Fitted model that computed the coordinates: gives the columns and the "
                            "scaling, and adds the reconstruction error."),
        Option(["--scale"], is_flag=True, default=False,
               help="Divide the columns of DATA by their standard deviations first, as fit --scale does."),
        _number("--n-neighbors --neighbors n_neighbors", 5, click.IntRange(min=1),
                "Number of nearest neighbors in a neighborhood. [default: 5]"),
        _number("--sample", None, click.IntRange(min=20),
                "Number of sampled rows that are compared with all rows. [default: all, at most 4096; 1448 for "
                "distances]"),
        _number("--random-state --seed random_state", 0, click.IntRange(min=0),
                "Random seed. [default: 0]"),
        ]),
        *options.work_options(),
        options.json_option(),
        options.debug_option(),
    ],
    help="Evaluate an embedding with quality measures.\n\nDATA is a table of numbers. COORDINATES has one row per row "
    "of DATA, in the same order, as written by lowland fit --to, lowland transform or any other program.",
    short_help="Evaluate an embedding with quality measures.",
)  # fmt: skip

"""``lowland evaluate DATA COORDINATES``: how far an embedding can be trusted."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import click

from lowland.cli.shared import options
from lowland.cli.shared.commands import Command
from lowland.cli.shared.options import DATA, Option, in_section

OF_PAIRS = ("normalized stress", "Sammon stress", "Spearman correlation", "Pearson correlation", "residual variance")


def run(
    data: Path, file: Path, columns: Any, drop: Any, label: str | None, coordinates: Any, model: Path | None,
    scale: bool, n_neighbors: int, sample: int | None, random_state: int, memory: Any, threads: Any, progress: Any,
    as_json: bool,
) -> None:  # fmt: skip
    """Open both, measure, print."""
    from lowland.cli.shared import inputs, show
    from lowland.methods.model_files import load
    from lowland.quality import OriginalSpace
    from lowland.quality import evaluate as evaluated

    started = time.perf_counter()
    with options.working(memory, threads, progress):
        est = None if model is None else load(model)
        rows, y = inputs.open_with_labels(data, *inputs.columns_for(est, data, columns, drop, label), label)
        scaled = scale or bool(getattr(est, "scale", False))
        metric: Any = "seuclidean" if scaled else "euclidean"
        high = OriginalSpace.of(rows, labels=y, metric=metric, sample=sample or "auto", random_state=random_state)
        found = evaluated(high, _coordinates(file, coordinates), y, model=est, n_neighbors=n_neighbors)
    facts = _facts(data, file, (high.n, rows.d), found, time.perf_counter() - started) | {"scaled": scaled}
    if as_json:
        show.print_json(facts)
    else:
        _print(facts)


def _coordinates(file: Path, columns: list[str] | None) -> Any:
    """The coordinates; what is said of their columns is said with the flag that chooses them."""
    from lowland.data.open import open_rows
    from lowland.errors import DataError, DataTypeError

    try:
        return open_rows(file, columns=columns).to_array()
    except (DataError, DataTypeError) as error:
        raise type(error)(f"{error} Columns of COORDINATES are chosen with --coordinates.") from error


def _facts(data: Path, file: Path, size: tuple[int, int], found: Any, seconds: float) -> dict[str, Any]:
    from lowland.plain import to_plain

    keys = ("name", "value", "low", "high", "better", "sample", "left_out", "about")
    measures = [{key: getattr(each, key) for key in keys} for each in found]
    facts = {"file": str(data), "coordinates": str(file), "rows": size[0], "columns": size[1], "measures": measures}
    return {key: to_plain(value) for key, value in (facts | {"seconds": seconds}).items()}


def _print(facts: dict[str, Any]) -> None:
    from lowland.cli.shared import show

    size = show.table_size(facts["rows"], facts["columns"])
    scaled = ", its columns standardised" if facts["scaled"] else ""
    click.echo(show.printable(f"{facts['coordinates']} as an embedding of {facts['file']}, {size}{scaled}"))
    click.echo()
    measures = facts["measures"]
    drawn = any(each["low"] is not None for each in measures)
    lines = [
        (m["name"], f"{m['value']:.4g}", *([_interval(m)] if drawn else []), m["better"], m["about"]) for m in measures
    ]
    show.print_columns(("Measure", "Value", *(["95 % interval"] if drawn else []), "Better", "What it says"), lines)
    for line in _drawn(measures):
        click.echo(f"\n{line}")
    left_out = measures[0]["left_out"]
    if left_out:
        click.echo(f"\n{left_out:,} row{'s' * (left_out != 1)} without coordinates left out.")


def _drawn(measures: list[dict[str, Any]]) -> list[str]:
    """How many rows were drawn, for what; distances are those among fewer rows than are asked for neighbours."""
    of_pairs = {m["sample"] for m in measures if m["name"] in OF_PAIRS} - {None}
    of_rows = {m["sample"] for m in measures if m["name"] not in OF_PAIRS} - {None}
    lines = [f"{sample:,} rows were compared with all others; --sample takes more or fewer." for sample in of_rows]
    lines += [
        f"Stresses and correlations come from the distances among {sample:,} rows that were drawn"
        f"{'.' if of_rows else '; --sample takes more or fewer.'}"
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
        *options.data_options("A column of DATA with labels: whether classes stay apart is measured too."),
        *in_section(DATA, [
            options.names_option("--coordinates", "a,b", "Use only these columns of COORDINATES."),
        ]),
        *in_section("Measures", [
        options.file_option("--model", "The fitted model that made the coordinates: it says which columns, whether "
                            "standardised; its way back to rows is measured too."),
        Option(["--scale"], is_flag=True, default=False,
               help="Divide the columns of DATA by their deviations first, as fit --scale does."),
        _number("--n-neighbors --neighbors n_neighbors", 5, click.IntRange(min=1),
                "Neighbours that make a neighbourhood. [default: 5]"),
        _number("--sample", None, click.IntRange(min=20),
                "Rows that are compared with all others. [default: all of up to 4096, and of 1448 for distances]"),
        _number("--random-state --seed random_state", 0, click.IntRange(min=0),
                "Seed of what is drawn. [default: 0]"),
        ]),
        *options.work_options(),
        options.json_option(),
        options.debug_option(),
    ],
    help="Measure how far an embedding can be trusted.\n\nDATA is a table of numbers, COORDINATES what lowland fit "
    "--to, lowland transform or any other program wrote for it, row for row.",
    short_help="Measure how far an embedding can be trusted.",
)  # fmt: skip

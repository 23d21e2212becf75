"""``lowland reliability MODEL FILE``: how far each point of a map can be trusted."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import click

from lowland.cli import options, show, tables
from lowland.cli.options import Choice, Command, Option, section, value_of
from lowland.errors import ParameterError

COLUMNS = ("p_value", "q_value", "class", "stability", "displacement")
NULLS = ("independent", "gaussian")


def run(
    model: Path, file: Path, null: Any, clusters: bool, sweep: Any, random_state: int, to: Path | None, force: bool
) -> None:  # fmt: skip
    """Load, test, write the columns, print. With --sweep: compare settings instead."""
    from lowland.evidence.reliability import CLASSES
    from lowland.evidence.reliability import reliability as test
    from lowland.plain import to_plain

    if sweep and to is not None:
        raise ParameterError("--to writes a line per row, and --sweep compares settings. Leave out one of them.")
    tables.check_outputs(to=to, force=force, read=(model, file))
    started = time.perf_counter()
    steps, est = tables.load_model(model)
    source = tables.Source.of(file)
    rows = tables.open_for_model(steps, est, source.without(tables.row_names(source, est)))
    with tables.matching_columns(est, rows, file):
        if sweep:
            compared = _compare(est, rows, sweep, random_state)
            facts = {"file": str(file), "model": str(model), "class": type(est).__name__} | compared
            show.report(to_plain(facts | {"seconds": time.perf_counter() - started}), _print_sweep)
            return
        found = test(est, rows, null=null, random_state=random_state)
    groups = found.clusters() if clusters else []
    written = None if to is None else tables.write_table([_columns(found, to)], to, _names(to))
    facts = {
        "file": str(file), "model": str(model), "class": type(est).__name__, "rows": found.problem.n, "null": null,
        "summary": found.summary, "fractions": {name: found.fraction(name) for name in CLASSES},
        "score": found.score, "interval": list(found.interval),
        "clusters": [vars(each) | {"sentence": each.sentence} for each in groups], "clusters_tested": clusters,
        "written": written, "seconds": time.perf_counter() - started,
    }  # fmt: skip
    show.report(to_plain(facts), _print)


def _compare(est: Any, rows: Any, texts: tuple[str, ...], seed: int) -> dict[str, Any]:
    from lowland.evidence.sweep import sweep
    from lowland.study.plan import find_parameter, split_sweep

    values = {}
    for text in texts:
        name, listed = split_sweep(f"{type(est).__name__}.{text}")
        flag = find_parameter(name)[1]
        values[flag.name] = [value_of(flag, value) for value in listed]
    found = sweep(est, rows, random_state=seed, **values)
    settings = [{k: v for k, v in vars(s).items() if k != "method"} for s in found.settings]
    return {"summary": found.summary, "best": found.best.parameters, "settings": settings}


def _print_sweep(facts: dict[str, Any]) -> None:
    click.echo(show.printable(f"Settings of {facts['class']}, {facts['model']}, on {facts['file']}"))
    click.echo()
    width = max(len(s["name"]) for s in facts["settings"])
    for s in facts["settings"]:
        low, high = s["interval"]
        mark = "equivalent to the best" if s["equivalent"] else "worse"
        click.echo(show.printable(f"{s['name']:{width}}  {s['score']:.3f} ({low:.3f} to {high:.3f})  {mark}"))
    click.echo()
    click.echo(show.printable(facts["summary"]))


def _names(to: Path) -> list[str]:
    return [name for name in COLUMNS if name != "class" or not tables.holds_numbers_only(to)]


def _columns(found: Any, to: Path) -> Any:
    import numpy as np

    numbers = {"p_value": found.p_values, "q_value": found.q_values, "stability": found.stability}
    numbers["displacement"] = found.displacement
    if tables.holds_numbers_only(to):
        return np.column_stack([numbers[name] for name in _names(to)])
    return np.column_stack([(numbers | {"class": found.classes})[name].astype(object) for name in COLUMNS])


def _print(facts: dict[str, Any]) -> None:
    click.echo(show.printable(f"Reliability of {facts['class']}, {facts['model']}, on {facts['file']}"))
    click.echo()
    click.echo(facts["summary"])
    if facts["clusters_tested"]:
        click.echo()
        none = "The map has no clusters to test: it has fewer than two dense regions of 20 points."
        click.echo("\n".join(dict.fromkeys(c["sentence"] for c in facts["clusters"])) or none)
        if facts["clusters"] and not any(c["verdict"] == "separate" for c in facts["clusters"]):
            click.echo("There is no evidence of groups.")
    if facts["written"]:
        click.echo(f"\nWritten  {show.printable(facts['written']['file'])}, one line per row")


reliability = Command(
    "reliability",
    python="reliability",
    callback=run,
    params=[
        options.file_argument("model", "MODEL"),
        options.file_argument("file", "FILE"),
        *options.data_options("Column of labels to exclude. [default: the label column of the training data]"),
        *section(
            "Test",
            Option("--null", "Null data: independent permutes each column by itself, gaussian draws from a normal "
                   "distribution with the same covariance. [default: independent]",
                   type=Choice(NULLS), default="independent"),
            Option("--clusters/--no-clusters", "Test whether clusters of the map are separate groups in the data.",
                   default=True),
            Option("--sweep", "Instead of testing the map, compare maps with other values of a parameter by the "
                   "neighbors they keep. May be repeated.", multiple=True, metavar="PARAMETER=VALUE,VALUE,…"),
            options.seed_option(),
        ),
        *options.output_options("Write p-value, q-value, class, stability and displacement of each row to this file."),
        *options.WORK_OPTIONS,
    ],
    help="Test how far a map can be trusted: each point against maps of null data, the map against refits, clusters "
    "against one Gaussian.\n\nMODEL is a model file written by lowland fit --model. FILE is the table it was fitted "
    "to.",
    short_help="Test how far a map can be trusted.",
)  # fmt: skip

"""``lowland describe MODEL FILE``: what the axes of a map mean, and what sets groups apart."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from lowland.cli import options, show, tables
from lowland.cli.options import OUTPUT, Command, NamesOption, Option, section
from lowland.errors import ParameterError

OF_SURFACE = ("name", "r2", "p_value", "degrees")
SHOWN, SHOWN_EFFECTS = 20, 3  # columns, and columns of each group


def run(
    model: Path, file: Path, by: Any, surface: str | None, random_state: int, to: Path | None, force: bool
) -> None:  # fmt: skip
    """Load, describe, draw, print."""
    from lowland.evidence.describe import describe as described
    from lowland.plain import to_plain

    if to is None and surface is not None:
        raise ParameterError("--surface draws a figure. Name its file: --to figure.png.")
    tables.check_figure(to, force)
    started = time.perf_counter()
    steps, est = tables.load_model(model)
    source = tables.Source.of(file)
    row_names = tables.row_names(source, est)
    rows = tables.open_for_model(steps, est, source.without(row_names))
    with tables.matching_columns(est, rows, file):
        found = described(est, rows, columns=_columns(source, by, row_names), random_state=random_state)
    labels = None if source.label is None else source.table().labels
    contrasts = {} if labels is None else found.contrasts(labels)
    contrasts = {label: [e for e in each if e.name != source.label] for label, each in contrasts.items()}
    fitted = None if surface is None else found.surface(surface)
    if to is not None:
        _draw(found, fitted, labels, to)
    facts = {
        "file": str(file), "model": str(model), "class": type(est).__name__, "rows": found.problem.n,
        "summary": found.summary, "columns": [vars(column) for column in found.columns],
        "surface": None if fitted is None else {key: getattr(fitted, key) for key in OF_SURFACE},
        "label": source.label, "contrasts": {str(label): [vars(e) for e in each] for label, each in contrasts.items()},
        "figure": None if to is None else str(to), "seconds": time.perf_counter() - started,
    }  # fmt: skip
    show.report(to_plain(facts), _print)


def _columns(source: tables.Source, by: Any, row_names: str | None) -> Any:
    """All columns of a file that has names, or those to describe the map by. None means those the map was made from."""
    if not source.has_names:
        return None
    drop = [] if by else [*source.drop, *([row_names] if row_names else [])]
    return replace(source, columns=list(by) or None, drop=drop, label=None).table()


def _draw(found: Any, fitted: Any, labels: Any, to: Path) -> None:
    """Write the surface of a column, or the arrows of all."""
    from lowland import plots

    Z = found.problem.Z
    if fitted is not None:
        figure = plots.surface(Z, fitted)
    else:
        kept = (
            None
            if labels is None
            else [label for label, there in zip(labels, found.problem.kept, strict=True) if there]
        )
        axes = ("coordinate 1", "coordinate 2")
        figure = plots.biplot(Z, found.arrows, found.arrow_names, kept, axis_names=axes)
    figure.savefig(to)


def _print(facts: dict[str, Any]) -> None:
    click.echo(show.printable(f"The axes of {facts['class']}, {facts['model']}, and the columns of {facts['file']}"))
    click.echo()
    columns = facts["columns"]
    lines = [
        (
            c["name"], f"{c['r2']:.3f}", f"{c['p_value']:.3f}", f"{c['q_value']:.3f}",
            "category" if c["direction"] is None else ", ".join(f"{v:.2f}" for v in c["direction"]), f"{c['n']:,}",
        )
        for c in columns[:SHOWN]
    ]  # fmt: skip
    show.print_columns(("Column", "r²", "p", "q", "Direction", "Rows"), lines)
    if len(columns) > SHOWN:
        click.echo(f"… and {len(columns) - SHOWN} more: --json")
    click.echo()
    click.echo(show.printable(facts["summary"]))
    if facts["surface"]:
        s = facts["surface"]
        click.echo(show.printable(f"The surface of {s['name']}: r² = {s['r2']:.3f}, p = {s['p_value']:.3f}."))
    if facts["contrasts"]:
        click.echo()
        click.echo(show.printable(f"What sets each {facts['label']} apart from the other rows"))
        effects = [(label, e) for label, each in facts["contrasts"].items() for e in each[:SHOWN_EFFECTS]]
        show.print_columns(
            ("Group", "Column", "Measure", "Effect", "95% confidence interval"),
            [(label, e["name"], e["measure"], f"{e['effect']:.2f}", _interval(e["interval"])) for label, e in effects],
        )
    if facts["figure"]:
        click.echo()
        click.echo(show.printable(f"Written  {facts['figure']}"))


def _interval(ends: Any) -> str:
    return "–" if ends is None else f"{ends[0]:.2f} to {ends[1]:.2f}"


describe = Command(
    "describe",
    python="describe",
    callback=run,
    params=[
        options.file_argument("model", "MODEL"),
        options.file_argument("file", "FILE"),
        *options.data_options("Column of groups: adds the columns that set each of them apart."),
        *section(
            "Description",
            NamesOption("--by", "Describe the map by these columns. [default: all columns of FILE]"),
            Option("--surface", "Draw a smooth surface of this column instead of arrows.", metavar="NAME"),
            options.seed_option("Random seed of the permutations. [default: 0]"),
        ),
        *section(
            OUTPUT,
            options.file_option("--to", "Draw the columns as arrows over the map: .png, .svg or .pdf."),
            options.FORCE,
        ),
        *options.WORK_OPTIONS,
    ],
    help="Describe what the axes of a map mean: the columns that follow them, with r² and permutation p-values, and "
    "those that set groups apart.\n\nMODEL is a model file written by lowland fit --model. FILE is the table it was "
    "fitted to. It may have further columns.",
    short_help="Describe what the axes of a map mean.",
)  # fmt: skip

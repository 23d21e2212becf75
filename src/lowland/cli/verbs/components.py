"""``lowland show MODEL``: the loadings of the columns and the explained variance of a model, as tables and a figure."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from lowland.cli import options, show, tables
from lowland.cli.options import OUTPUT, Command, Option, section
from lowland.errors import ParameterError
from lowland.plain import to_plain

SHOWN = 40  # columns


def run(model: Path, components: int, to: Path | None, force: bool) -> None:
    """Load, draw, print."""
    tables.check_figure(to, force)
    _, est = tables.load_model(model)
    facts = show.model_facts(est)
    L = _loadings(est, facts["class"])
    words = [str(name) for name in getattr(est, "feature_names_in_", ())]
    if len(words) != len(L):
        words = [f"x{j}" for j in range(len(L))]
    if to is not None:
        _draw(est, L, words, components, to)
    facts = {
        "file": str(model), "class": facts["class"], "columns": words, "loadings": to_plain(L),
        "explained_variance_ratio": facts["explained_variance_ratio"],
        "explained_variance_ratio_of": facts["explained_variance_ratio_of"], "shown": min(components, L.shape[1]),
        "figure": None if to is None else str(to),
    }  # fmt: skip
    show.report(facts, _print)


def _loadings(est: Any, name: str) -> Any:
    """Return the coefficients of the columns, (d, k): loadings, the scalings of LDA, or the components."""
    for attribute, transposed in (("loadings_", False), ("scalings_", False), ("components_", True)):
        found = getattr(est, attribute, None)
        if found is not None:
            return found.T if transposed else found
    raise ParameterError(
        f"{name} has no loadings: its coordinates are not linear combinations of the columns. "
        "lowland describe MODEL FILE shows which columns follow them."
    )


def _draw(est: Any, L: Any, names: list[str], components: int, to: Path) -> None:
    """Draw the scree plot, if the model explains variance, and the loadings side by side."""
    from lowland import plots
    from lowland.plots.style import new_figure

    has_scree = getattr(est, "explained_variance_ratio_", None) is not None
    figure = new_figure((12.0, 4.2) if has_scree else (7.5, 4.2))
    axes = figure.subplots(1, 1 + has_scree, squeeze=False, width_ratios=[2, 3] if has_scree else None)[0]
    if has_scree:
        plots.scree(est, ax=axes[0])
    plots.loadings(L.T, names, most=components, ax=axes[-1])
    figure.savefig(to)


def _print(facts: dict[str, Any]) -> None:
    L, k, names = facts["loadings"], facts["shown"], facts["columns"]
    fractions = facts["explained_variance_ratio"]
    title = f"{facts['class']} in {Path(facts['file']).name}"
    size = f"{len(L[0])} components of {len(L)} columns"
    show.print_facts(title, [("Size", size)], fractions, facts["explained_variance_ratio_of"])
    order = list(range(len(L)))
    if len(L) > SHOWN:
        order = sorted(order, key=lambda j: -max(map(abs, L[j][:k])))[:SHOWN]
    click.echo("\nLoadings")
    rows = [(show.printable(names[j]), *(f"{value:+.3f}" for value in L[j][:k])) for j in order]
    show.print_columns(("Column", *(f"{i + 1:>6}" for i in range(k))), rows)
    if len(L) > SHOWN:
        click.echo(f"The {SHOWN} columns with the largest loadings, of {len(L):,}. All: --json")
    if facts["figure"]:
        click.echo(show.printable(f"Written  {facts['figure']}"))


components = Command(
    "show",
    callback=run,
    params=[
        options.file_argument("model", "MODEL"),
        Option("-k --components", "Show this many components. [default: 3]", type=click.IntRange(min=1), default=3),
        *section(
            OUTPUT,
            options.file_option("--to", "Draw the scree plot and the loadings: .png, .svg or .pdf."),
            options.FORCE,
        ),
    ],
    help="Show the loadings of the columns and the variance that each component explains.\n\nMODEL is a model file of "
    "a linear method, such as PCA, factor analysis, ICA or LDA, written by lowland fit --model.",
    short_help="Show loadings and explained variance.",
)

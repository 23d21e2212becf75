"""Reduce a shipped data set, print what each number of components costs and keeps, and draw it: ``make demo``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from lowland import PCA, plots
from lowland.data import Sample, load
from lowland.errors import MissingExtra

COUNTS = (1, 5, 10, 30)  # how many components the reconstructions are made from
SHARE = 0.9  # of the variance: what the rule asks for


def main() -> None:
    console = Console()
    digits = load("digits")
    whole = PCA().fit(digits.X)
    choice = PCA(SHARE).fit(digits.X).choice_
    console.print(f"[bold]{digits.about}[/bold]")
    console.print(table_of(whole, choice.n_components))
    console.print(f"PCA({SHARE}): {choice.reason}.")
    try:
        figure = picture_of(digits, whole, choice)
    except ImportError:  # the numbers need no matplotlib
        console.print(f"There is no picture: {MissingExtra('matplotlib', 'plot')}", markup=False)
        return
    path = Path("demo", "demo.png")
    path.parent.mkdir(exist_ok=True)
    figure.savefig(path, dpi=110)
    console.print(f"\nThe picture is in [bold]{path}[/bold].")
    console.print("To try next:")
    console.print("  .venv/bin/lowland sample iris --to iris.parquet")
    console.print("  .venv/bin/lowland fit pca iris.parquet -k 0.95 --to z.parquet     or a table of your own")
    console.print(
        "  PCA(Knee()).fit(X)                                                other rules: docs/methods/pca.md"
    )


def table_of(pca: PCA, chosen: int) -> Table:
    """What is kept and what is lost with m components."""
    table = Table(title="PCA of the digits", title_justify="left", header_style="bold")
    for name in ("components m", "share of the m-th", "cumulative", "distortion J(m)", "numbers stored", "smaller by"):
        table.add_column(name, justify="right")
    cumulative = np.cumsum(pca.explained_variance_ratio_)
    for m in sorted({1, 2, *COUNTS, chosen, pca.n_components_}):
        share, storage = pca.explained_variance_ratio_[m - 1], pca.storage(m)
        table.add_row(
            str(m), f"{share:.1%}", f"{cumulative[m - 1]:.1%}", f"{pca.distortion(m):.1f}", f"{storage.after:,}",
            f"{storage.ratio:.1f} ×", style="bold green" if m == chosen else None,
        )  # fmt: skip
    table.caption = (
        f"The table itself: {pca.storage().before:,} numbers. J(m): mean squared error of a reconstructed row."
    )
    table.caption_justify = "left"
    return table


def picture_of(digits: Sample, pca: PCA, choice: Any) -> Any:
    """Left the plane of the first two components, right the scree plot, below what comes back from m components."""
    from matplotlib.figure import Figure

    Z = pca.transform(digits.X)
    figure = Figure(figsize=(11, 8.4), layout="constrained")
    figure.get_layout_engine().set(w_pad=0.12, h_pad=0.08)
    top, below = figure.subfigures(2, 1, height_ratios=(1.0, 0.9))
    left, right = top.subplots(1, 2, width_ratios=(1.15, 1))
    shares = pca.explained_variance_ratio_
    plots.embedding(
        Z, digits.y, title=f"Two of 64 dimensions: {shares[:2].sum():.0%} of the variance", centers=True, ax=left,
        axis_names=(f"component 1 ({shares[0]:.0%})", f"component 2 ({shares[1]:.0%})"),
    )  # fmt: skip
    plots.scree(pca.explained_variance_[:40], pca.total_variance_, choice, ax=right)
    ax = below.subplots()
    rows, columns = reconstructions(digits, pca, Z)
    plots.images(rows, digits.image_shape, columns=columns, limits=(0, 16), ax=ax)
    for line, words in enumerate(["as it is", *(f"m = {m}" for m in COUNTS)]):
        ax.text(-1.0, 1 + 9 * line + 3.5, words, ha="right", va="center", fontsize="medium")
    ax.set_title("The first of each digit, and what comes back from m components", fontsize="medium", loc="left")
    return figure


def reconstructions(digits: Sample, pca: PCA, Z: np.ndarray) -> tuple[np.ndarray, int]:
    """One image of each digit, then the same from 1, 5, 10 and 30 components, line after line."""
    firsts = [int(np.argmax(digits.y == digit)) for digit in range(10)]
    lines = [digits.X[firsts]]
    for m in COUNTS:
        kept = Z[firsts] * (np.arange(Z.shape[1]) < m)  # the coordinates beyond m are left at zero, their mean
        lines.append(pca.inverse_transform(kept))
    return np.vstack(lines), len(firsts)


if __name__ == "__main__":
    main()

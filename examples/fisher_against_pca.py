"""The same rows along two directions: where they vary most (PCA), and where their classes lie apart (Fisher)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from lowland import PCA, LinearDiscriminantAnalysis
from lowland.data import load
from lowland.errors import MissingExtra

NAMES = ("PCA", "Fisher")


@dataclass(frozen=True)
class TwoClasses:
    """Rows of two classes, y being 0 or 1."""

    title: str
    X: np.ndarray  # (n, d)
    y: np.ndarray  # (n,)
    classes: tuple[str, str]


@dataclass(frozen=True)
class Separation:
    """How far apart two classes lie on a line."""

    ratio: float  # (m_1 - m_0)² / (s_0² + s_1²): Fisher's, between the classes over within them
    right: float  # share of the rows on their own side of the midpoint between the means


def main() -> None:
    console = Console()
    samples = (two_classes(), wine())
    console.print(table_of(samples))
    try:
        figure = picture_of(*samples)
    except ImportError:  # the numbers need no matplotlib
        console.print(f"There is no picture: {MissingExtra('matplotlib', 'plot')}", markup=False)
        return
    path = Path("demo", "fisher_against_pca.png")
    path.parent.mkdir(exist_ok=True)
    figure.savefig(path, dpi=110)
    console.print(f"The picture is in [bold]{path}[/bold].")


# --- the rows ---------------------------------------------------------------------------------------------------------


def two_classes(n: int = 150, seed: int = 0) -> TwoClasses:
    """Two long clouds side by side: the rows vary along them, the classes differ across them."""
    rng = np.random.default_rng(seed)
    along, across = np.array([0.94, 0.34]), np.array([-0.34, 0.94])
    y = np.repeat([0, 1], n)
    lengths, widths = 3.0 * rng.standard_normal(2 * n), 0.45 * rng.standard_normal(2 * n)
    X = lengths[:, None] * along + (widths + np.where(y == 1, 1.0, -1.0))[:, None] * across
    return TwoClasses("two long clouds", X, y, ("one class", "the other"))


def wine() -> TwoClasses:
    """The first two growers of the wines, 13 measurements, each divided by its deviation: PCA would see units only."""
    sample = load("wine")
    rows = sample.y < 2
    X = sample.X[rows]
    return TwoClasses("wines of two growers", X / X.std(axis=0), sample.y[rows], ("grower 0", "grower 1"))


# --- the two directions -----------------------------------------------------------------------------------------------


def directions(sample: TwoClasses) -> np.ndarray:
    """Return PCA's first direction, which does not know the classes, and Fisher's, (2, d), each of length one.

    Both point from class 0 to class 1.
    """
    pca = PCA(1).fit(sample.X).components_[0]
    fisher = LinearDiscriminantAnalysis().fit(sample.X, sample.y).coef_[0]
    W = np.stack([pca, fisher / np.linalg.norm(fisher)])
    gap = sample.X[sample.y == 1].mean(axis=0) - sample.X[sample.y == 0].mean(axis=0)
    return W * np.where(W @ gap < 0, -1.0, 1.0)[:, None]


def separation(z: np.ndarray, y: np.ndarray) -> Separation:
    """Return how far the classes lie apart along one coordinate, (n,), that grows from class 0 to class 1."""
    low, high = z[y == 0], z[y == 1]
    ratio = (high.mean() - low.mean()) ** 2 / (low.var() + high.var())
    return Separation(float(ratio), float(np.mean((z > midpoint(z, y)) == (y == 1))))


def midpoint(z: np.ndarray, y: np.ndarray) -> float:
    """Return the middle between the means of the classes."""
    return float(z[y == 0].mean() + z[y == 1].mean()) / 2


def table_of(samples: tuple[TwoClasses, ...]) -> Table:
    """The separation each direction reaches."""
    table = Table(title="How far the classes lie apart", title_justify="left", header_style="bold")
    table.add_column("rows")
    for words in ("direction", "between / within", "on the right side"):
        table.add_column(words, justify="right")
    for sample in samples:
        for name, w in zip(NAMES, directions(sample), strict=True):
            found = separation(sample.X @ w, sample.y)
            table.add_row(sample.title, name, f"{found.ratio:.2f}", f"{found.right:.0%}")
    return table


# --- the picture ------------------------------------------------------------------------------------------------------


def picture_of(*samples: TwoClasses) -> Any:
    """A column for each sample: the plane of the two directions, and the rows along each of them."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 7.4), layout="constrained")
    figure.get_layout_engine().set(w_pad=0.1, h_pad=0.06)
    panels = figure.subplots(3, len(samples), height_ratios=(2.4, 1, 1), squeeze=False)
    for column, sample in zip(panels.T, samples, strict=True):
        W = directions(sample)
        _draw_plane(column[0], sample, W)
        for ax, name, w in zip(column[1:], NAMES, W, strict=True):
            _draw_histogram(ax, sample, name, (sample.X - sample.X.mean(axis=0)) @ w)
    return figure


def _draw_plane(ax: Any, sample: TwoClasses, W: np.ndarray) -> None:
    """The rows on the plane that holds both directions, and the two directions through their mean."""
    from lowland.plots.canvas import COLORS, INK, MARKERS, quiet

    plane = np.eye(2) if sample.X.shape[1] == 2 else np.linalg.qr(W.T)[0].T  # (2, d)
    Z = (sample.X - sample.X.mean(axis=0)) @ plane.T
    for c, name in enumerate(sample.classes):
        of_class = Z[sample.y == c]
        ax.scatter(*of_class.T, s=15, color=COLORS[c], marker=MARKERS[c], alpha=0.75, linewidths=0, label=name)
    reach = 0.85 * np.abs(Z).max()
    for name, w, line in zip(NAMES, W @ plane.T, ("-", "--"), strict=True):
        w = w / np.linalg.norm(w)
        length = min(reach, 1.15 * np.abs(Z @ w).max())
        ax.plot(*np.outer(w, [-length, length]), color=INK, linewidth=1.4, linestyle=line)
        ax.text(
            *(1.05 * length * w), name, color=INK, ha="left" if w[0] > 0 else "right", va="center",
            bbox={"facecolor": "white", "alpha": 0.8, "edgecolor": "none", "pad": 1},
        )  # fmt: skip
    ax.set_aspect("equal", adjustable="datalim")
    ax.legend(frameon=False, loc="lower right")
    ax.set_title(f"{sample.title}: the plane of the two directions", fontsize="medium", color=INK, loc="left")
    quiet(ax)
    ax.grid(visible=False)


def _draw_histogram(ax: Any, sample: TwoClasses, name: str, z: np.ndarray) -> None:
    """The classes along one direction, and the midpoint between them."""
    from lowland.plots.canvas import COLORS, INK, quiet

    found, borders = separation(z, sample.y), np.linspace(z.min(), z.max(), 31)
    for c in (0, 1):
        ax.hist(z[sample.y == c], borders, color=COLORS[c], alpha=0.6)
    ax.axvline(midpoint(z, sample.y), color=INK, linewidth=1, linestyle=":")
    ax.set_yticks([])
    words = f"along {name}: between / within {found.ratio:.2f}, {found.right:.0%} on the right side"
    ax.set_title(words, fontsize="medium", color=INK, loc="left")
    quiet(ax)


if __name__ == "__main__":
    main()

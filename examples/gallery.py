"""Shared functions of the gallery: panels, output of figures, and handling of missing data."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure
from PIL import Image

import lowland
from lowland.errors import MissingFile
from lowland.plots.style import INK

FOLDER = Path("gallery")


class Skipped(SystemExit):
    """The script needs data that is missing; it exits with a message and no traceback."""


def load_dataset(name: str, **options: Any) -> lowland.data.Dataset:
    """Return a data set. If its file is missing, exit with a message on how to get it."""
    try:
        return lowland.data.load_dataset(name, **options)
    except MissingFile as error:
        raise Skipped(f"skipped: {error}") from None


def panels(rows: int, columns: int, size: tuple[float, float], **options: Any) -> tuple[Figure, Any]:
    """Return a figure and its axes, an array (rows, columns)."""
    figure = Figure(figsize=size, layout="constrained")
    figure.get_layout_engine().set(w_pad=0.08, h_pad=0.06)  # type: ignore[union-attr]
    return figure, figure.subplots(rows, columns, squeeze=False, **options)


def title(ax: Any, words: str) -> None:
    """Set the title of a panel."""
    ax.set_title(words, fontsize="medium", color=INK, loc="left")


def show(figure: Figure, fact: str) -> None:
    """Write the figure as gallery/<script>.png and print the result it shows."""
    script = Path(sys._getframe(1).f_globals["__file__"]).stem
    FOLDER.mkdir(exist_ok=True)
    path = FOLDER / f"{script}.png"
    figure.savefig(path, dpi=1650 / figure.get_figwidth())
    with Image.open(path) as picture:  # 256 colors suffice, at a third of the file size; median cut loses rare ones
        small = picture.convert("RGB").quantize(256, method=Image.Quantize.MAXCOVERAGE)
    small.save(path, optimize=True)
    path.with_suffix(".txt").write_text(fact + "\n", encoding="utf-8")
    print(f"{fact}\nFigure: {path}")

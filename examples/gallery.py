"""What the scripts of the gallery share: where a picture goes, how panels look, what to do without data."""

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
    """The script needs data that is not here; run by itself it leaves with the sentence, and no traceback."""


def load_dataset(name: str, **options: Any) -> lowland.data.Dataset:
    """Return a sample; where its file is missing, leave with a sentence that says how to get it."""
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
    """Write what a panel shows above it."""
    ax.set_title(words, fontsize="medium", color=INK, loc="left")


def show(figure: Figure, fact: str) -> None:
    """Write the picture as gallery/<script>.png, and say what it shows, with the numbers checked."""
    script = Path(sys._getframe(1).f_globals["__file__"]).stem
    FOLDER.mkdir(exist_ok=True)
    path = FOLDER / f"{script}.png"
    figure.savefig(path, dpi=100)
    with Image.open(path) as picture:  # 256 colours are enough for it, and a third of the bytes
        small = picture.convert("RGB").quantize(256)
    small.save(path, optimize=True)
    path.with_suffix(".txt").write_text(fact + "\n", encoding="utf-8")
    print(f"{fact}\nThe picture is {path}.")

"""Shared by all figures: axes, colors for all kinds of color vision, checks of arguments."""

from __future__ import annotations

from typing import Any

import numpy as np

from lowland.arrays.namespace import is_array, to_numpy
from lowland.errors import DataError, MissingExtra, ParameterError

# Ten colors without grays, optimized so that any two differ in CIELAB for protans and deutans, too. The pages have the
# same (pages/view/colors.js). Marker shapes carry the same information.
COLORS = (
    "#3f90da", "#b4395d", "#debf16", "#3f7500", "#ef94b7", "#3d52ec", "#0fdeff", "#fc545b", "#7f5a8b", "#a5df9a",
)  # fmt: skip
MEANINGS = {"reliable": 0, "uncertain": 2, "unreliable": 1}  # looks of classes that mean calm, between, and a warning
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "p", "*", "h")
STRONG, WEAK, MARK = "#3f90da", "#c9ced6", "#bd1f01"  # main data, background, highlight
INK = "#3a3f47"
SEQUENTIAL, DIVERGING = "viridis", "PuOr"  # both perceptually uniform and safe for color-blind readers


def looks_of(classes: list[str]) -> list[int]:
    """Return the number of the look of each class: its place, unless the names of all classes have a meaning."""
    meant = all(name in MEANINGS for name in classes)
    return [MEANINGS[name] if meant else place for place, name in enumerate(classes)]


def darker(color: str) -> str:
    """Return a color of the palette dark enough for letters."""
    return "#" + "".join(f"{int(color[i : i + 2], 16) * 5 // 8:02x}" for i in (1, 3, 5))


def axes_for(ax: Any, size: tuple[float, float]) -> Any:
    """Return ``ax``, or the axes of a new figure that is independent of pyplot's global state."""
    return new_figure(size).add_subplot() if ax is None else ax


def new_figure(size: tuple[float, float]) -> Any:
    """Return an empty figure that is independent of pyplot's global state."""
    try:
        from lowland.plots.notebook_figure import NotebookFigure
    except ImportError as error:
        raise MissingExtra("matplotlib", "plot") from error
    return NotebookFigure(figsize=size, layout="constrained")


def figure_of(ax: Any) -> Any:
    """Return the Figure of the axes, also if they are in a subfigure."""
    return ax.figure.figure


def quiet(ax: Any) -> None:
    """Draw a minimal frame: left and bottom axes, thin, with a light grid behind the data."""
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        ax.spines[side].set_color(WEAK)
    ax.tick_params(color=WEAK, labelcolor=INK)
    ax.grid(visible=True, axis="y", color=WEAK, linewidth=0.5, alpha=0.6)
    ax.set_axisbelow(True)


def plain(text: Any) -> str:
    """Return a user's string so that it is drawn literally: matplotlib reads text between dollar signs as a formula."""
    return str(text).replace("$", r"\$")


def title_above(ax: Any, title: Any, **options: Any) -> None:
    """Write the title, if there is one, aligned left."""
    if title is not None:
        ax.set_title(plain(title), fontsize="medium", color=INK, loc="left", **options)


def label_axes(ax: Any, across: str, up: str, title: Any = None, *, integers: bool = False) -> None:
    """Label both axes of a minimal frame, with a title if there is one; ``integers``: ticks across only at integers."""
    ax.set_xlabel(across)
    ax.set_ylabel(up)
    if integers:
        ax.xaxis.get_major_locator().set_params(integer=True)
    title_above(ax, title)
    quiet(ax)


def on_host(values: Any) -> np.ndarray:
    """Return numbers or labels as a numpy array on the host."""
    return to_numpy(values) if is_array(values) else np.asarray(values)


def numbers(values: Any, name: str, *, finite: bool = True) -> np.ndarray:
    """Return values as float64; raise an error for strings and, if ``finite``, for NaN and infinity."""
    found = on_host(values)
    try:
        found = found.astype(float)
    except (TypeError, ValueError):
        held = "strings" if found.dtype.kind in "US" else f"values such as {found.ravel()[0]!r:.60}"
        raise DataError(f"{name} contains {held}, not numbers. Pass an array of numbers.") from None
    if finite and not np.isfinite(found).all():
        raise DataError(f"{name} contains NaN or infinity, which cannot be drawn. Remove or impute these values.")
    return found


def as_integer(value: Any, name: str, most: int | None = None) -> int:
    """Return an integer from 1 to ``most``, or raise an error."""
    good = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not good or value < 1 or (most is not None and value > most):
        limits = "of at least 1" if most is None else f"from 1 to {most}"
        raise ParameterError(f"{name}={value!r}: choose an integer {limits}.")
    return int(value)


def names_of(names: Any, count: int, of: str, first: int = 0) -> list[str]:
    """Return one name for each of ``count`` items, as strings; without names, their numbers."""
    words = [str(first + j) for j in range(count)] if names is None else [str(name) for name in names]
    if len(words) != count:
        raise DataError(f"There are {len(words)} names for {count} {of}. Pass one name for each.")
    return words

"""What every figure shares: where it is drawn, and colours that readers with any colour vision can tell apart."""

from __future__ import annotations

from typing import Any

import numpy as np

from lowland.arrays.namespace import is_array, to_numpy
from lowland.errors import DataError, MissingExtra

# Ten colours chosen for all kinds of colour vision (Petroff 2021, arXiv:2107.02270), reordered so that the first few
# also differ in lightness. Shapes repeat what the colours say.
COLORS = (
    "#3f90da", "#ffa90e", "#bd1f01", "#832db6", "#94a4a2", "#a96b59", "#e76300", "#b9ac70", "#717581", "#92dadd",
)  # fmt: skip
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "p", "*", "h")
STRONG, WEAK, MARK = "#3f90da", "#c9ced6", "#bd1f01"  # what is meant, what stands beside it, what is pointed at
INK = "#3a3f47"
SEQUENTIAL, DIVERGING = "viridis", "PuOr"  # both even in lightness and safe for colour-blind readers


def axes_for(ax: Any, size: tuple[float, float]) -> Any:
    """Return the axes to draw in: ``ax`` itself, or those of a new figure that no global state knows of."""
    if ax is not None:
        return ax
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingExtra("matplotlib", "plot") from error
    return Figure(figsize=size, layout="constrained").add_subplot()


def figure_of(ax: Any) -> Any:
    """Return the Figure that the axes stand in, also through a subfigure."""
    return ax.figure.figure


def quiet(ax: Any) -> None:
    """Draw only the frame that is read: left and bottom, thin, with a light grid behind the data."""
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        ax.spines[side].set_color(WEAK)
    ax.tick_params(color=WEAK, labelcolor=INK)
    ax.grid(visible=True, axis="y", color=WEAK, linewidth=0.5, alpha=0.6)
    ax.set_axisbelow(True)


def refuse_model(value: Any, call: str) -> None:
    """Refuse a model where numbers are drawn, and say which of its numbers to pass."""
    if hasattr(value, "get_params"):
        name = type(value).__name__
        raise DataError(f"{name} is a model, and numbers of it are drawn: write plots.{call} for your model.")


def on_host(values: Any) -> np.ndarray:
    """Return numbers or labels as a numpy array; drawing happens on the host."""
    return to_numpy(values) if is_array(values) else np.asarray(values)

"""What every figure shares: where it is drawn, and colours that readers with any colour vision can tell apart."""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

import numpy as np

from lowland.arrays.namespace import is_array, to_numpy
from lowland.errors import DataError, DataTypeError, MissingExtra, ParameterError

Given = ParamSpec("Given")
Drawn = TypeVar("Drawn")

# Ten colours chosen for all kinds of colour vision (Petroff 2021, arXiv:2107.02270), reordered so that the first few
# also differ in lightness. Shapes repeat what the colours say.
COLORS = (
    "#3f90da", "#ffa90e", "#bd1f01", "#832db6", "#94a4a2", "#a96b59", "#e76300", "#b9ac70", "#717581", "#92dadd",
)  # fmt: skip
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "p", "*", "h")
STRONG, WEAK, MARK = "#3f90da", "#c9ced6", "#bd1f01"  # what is meant, what stands beside it, what is pointed at
INK = "#3a3f47"
SEQUENTIAL, DIVERGING = "viridis", "PuOr"  # both even in lightness and safe for colour-blind readers
WITH_COMPONENTS = "FactorAnalysis, FastICA, IncrementalPCA, PCA, ProjectionPursuit and TruncatedSVD"


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


def plain(text: Any) -> str:
    """Return a user's text so that it is drawn as it is: between two dollar signs matplotlib would read formulas."""
    return str(text).replace("$", r"\$")


def title_above(ax: Any, title: Any, **options: Any) -> None:
    """Write the title, where there is one, above the left end."""
    if title is not None:
        ax.set_title(plain(title), fontsize="medium", color=INK, loc="left", **options)


def legend_of(ax: Any, marks: list[Any], names: list[str], **options: Any) -> None:
    """Draw a legend of all names: matplotlib would leave out those that begin with an underscore."""
    box = ax.legend(marks, [str(i) for i in range(len(marks))], frameon=False, fontsize="small", **options)
    for text, name in zip(box.get_texts(), names, strict=True):
        text.set_text(plain(name))


def called_as(
    *calls: str, of: str = "", model: bool = False
) -> Callable[[Callable[Given, Drawn]], Callable[Given, Drawn]]:
    """Let a figure say how it is called, where it is given a model or arguments that do not fit.

    calls : ways to call it; a model is told the first whose numbers it has. of : the methods that have those of the
    first. model : whether the figure takes a model itself.
    """

    def told(draw: Callable[Given, Drawn]) -> Callable[Given, Drawn]:
        signature = inspect.signature(draw)

        @functools.wraps(draw)
        def figure(*args: Given.args, **kwargs: Given.kwargs) -> Drawn:
            if not model:
                for value in (*args, *kwargs.values()):
                    refuse_model(value, *calls, of=of)
            try:
                signature.bind(*args, **kwargs)
            except TypeError as error:
                raise DataTypeError(f"plots.{draw.__name__}: {error}. Write plots.{calls[0]}.") from None
            return draw(*args, **kwargs)

        return figure

    return told


def refuse_model(value: Any, *calls: str, of: str = "") -> None:
    """Refuse a model where numbers are drawn, and say which of its numbers to pass, or which methods have them."""
    if not hasattr(value, "get_params"):
        return
    kind = value if isinstance(value, type) else type(value)
    lacking = [[word for word in re.findall(r"model\.(\w+)", call) if not _has(value, word)] for call in calls]
    call = next((call for call, lacks in zip(calls, lacking, strict=True) if not lacks), None)
    if call is None and of and not {one.__name__ for one in kind.__mro__} & set(re.findall(r"\w+", of)):
        said = f"{kind.__name__} is a model without {lacking[0][0]}, which you find in {of}: fit one of these and"
    elif call is None:
        said = f"{kind.__name__} is a model that is not fitted, and numbers of it are drawn: fit it and"
    else:
        said = f"{kind.__name__} is a model, and numbers of it are drawn: for your model"
    raise DataError(f"{said} write plots.{call or calls[0]}.")


def _has(model: Any, word: str) -> bool:
    """Whether a model has such a number; what is computed when it is read is not read for that."""
    return hasattr(type(model), word) or getattr(model, word, None) is not None


def on_host(values: Any) -> np.ndarray:
    """Return numbers or labels as a numpy array; drawing happens on the host."""
    return to_numpy(values) if is_array(values) else np.asarray(values)


def numbers(values: Any, name: str, *, finite: bool = True) -> np.ndarray:
    """Return what is drawn as numbers, float64; refuse texts and, where ``finite``, NaN and infinity."""
    found = on_host(values)
    try:
        found = found.astype(float)
    except (TypeError, ValueError):
        held = "texts" if found.dtype.kind in "US" else f"values such as {found.ravel()[0]!r:.60}"
        raise DataError(f"{name} holds {held}, where numbers are drawn. Pass an array of numbers.") from None
    if finite and not np.isfinite(found).all():
        raise DataError(f"{name} holds NaN or infinity, which cannot be drawn. Leave them out or fill them in.")
    return found


def whole(value: Any, name: str, least: int = 1, most: int | None = None) -> int:
    """Return a whole number within its limits, or refuse it."""
    good = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not good or value < least or (most is not None and value > most):
        limits = f"of at least {least}" if most is None else f"from {least} to {most}"
        raise ParameterError(f"{name}={value!r}: give a whole number {limits}.")
    return int(value)


def names_of(names: Any, count: int, of: str, first: int = 0) -> list[str]:
    """Return one name for each of so many, as texts; without names, their numbers."""
    words = [str(first + j) for j in range(count)] if names is None else [str(name) for name in names]
    if len(words) != count:
        raise DataError(f"There are {len(words)} names for {count} {of}. Give one each.")
    return words


def height_and_width(image_shape: Any) -> tuple[int, int]:
    """Return the shape of images, checked."""
    try:
        height, width = image_shape
    except (TypeError, ValueError):
        raise ParameterError(f"image_shape={image_shape!r}: give a height and a width, such as (8, 8).") from None
    return whole(height, "image_shape: height"), whole(width, "image_shape: width")

"""Shared by all figures: axes, colors for all kinds of color vision, checks of arguments."""

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

# Ten colors chosen for all kinds of color vision (Petroff 2021, arXiv:2107.02270), reordered so that the first few
# also differ in lightness. Marker shapes carry the same information.
COLORS = (
    "#3f90da", "#ffa90e", "#bd1f01", "#832db6", "#94a4a2", "#a96b59", "#e76300", "#b9ac70", "#717581", "#92dadd",
)  # fmt: skip
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "p", "*", "h")
STRONG, WEAK, MARK = "#3f90da", "#c9ced6", "#bd1f01"  # main data, background, highlight
INK = "#3a3f47"
SEQUENTIAL, DIVERGING = "viridis", "PuOr"  # both perceptually uniform and safe for color-blind readers
WITH_COMPONENTS = "FactorAnalysis, FastICA, IncrementalPCA, PCA, ProjectionPursuit and TruncatedSVD"


def axes_for(ax: Any, size: tuple[float, float]) -> Any:
    """Return ``ax``, or the axes of a new figure that is independent of pyplot's global state."""
    if ax is not None:
        return ax
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingExtra("matplotlib", "plot") from error
    return Figure(figsize=size, layout="constrained").add_subplot()


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


def legend_of(ax: Any, marks: list[Any], names: list[str], **options: Any) -> None:
    """Draw a legend of all names: matplotlib would leave out names that begin with an underscore."""
    box = ax.legend(marks, [str(i) for i in range(len(marks))], frameon=False, fontsize="small", **options)
    for text, name in zip(box.get_texts(), names, strict=True):
        text.set_text(plain(name))


def called_as(
    *calls: str, of: str = "", model: bool = False
) -> Callable[[Callable[Given, Drawn]], Callable[Given, Drawn]]:
    """Add the correct call to the error message if a figure is called with a model or with wrong arguments.

    calls : correct calls; the message shows the first one whose attributes the model has. of : the methods that have
    the
    attributes of the first call. model : whether the figure accepts a model.
    """

    def decorated(draw: Callable[Given, Drawn]) -> Callable[Given, Drawn]:
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

    return decorated


def refuse_model(value: Any, *calls: str, of: str = "") -> None:
    """Raise an error for a model instead of an array, and say which attribute to pass or which methods have it."""
    if not hasattr(value, "get_params"):
        return
    kind = value if isinstance(value, type) else type(value)
    lacking = [[word for word in re.findall(r"model\.(\w+)", call) if not _has(value, word)] for call in calls]
    call = next((call for call, lacks in zip(calls, lacking, strict=True) if not lacks), None)
    if call is None and of and not {one.__name__ for one in kind.__mro__} & set(re.findall(r"\w+", of)):
        problem = f"{kind.__name__} is a model without {lacking[0][0]}, an attribute of {of}. Fit one of these and"
    elif call is None:
        problem = f"{kind.__name__} is a model that is not fitted. Fit it and"
    else:
        problem = f"{kind.__name__} is a model, not an array. For your model"
    raise DataError(f"{problem} write plots.{call or calls[0]}.")


def _has(model: Any, word: str) -> bool:
    """Whether a model has such an attribute; properties are not evaluated."""
    return hasattr(type(model), word) or getattr(model, word, None) is not None


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


def as_integer(value: Any, name: str, least: int = 1, most: int | None = None) -> int:
    """Return an integer within its limits, or raise an error."""
    good = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not good or value < least or (most is not None and value > most):
        limits = f"of at least {least}" if most is None else f"from {least} to {most}"
        raise ParameterError(f"{name}={value!r}: choose an integer {limits}.")
    return int(value)


def names_of(names: Any, count: int, of: str, first: int = 0) -> list[str]:
    """Return one name for each of ``count`` items, as strings; without names, their numbers."""
    words = [str(first + j) for j in range(count)] if names is None else [str(name) for name in names]
    if len(words) != count:
        raise DataError(f"There are {len(words)} names for {count} {of}. Pass one name for each.")
    return words


def height_and_width(image_shape: Any) -> tuple[int, int]:
    """Return the shape of images, checked."""
    try:
        height, width = image_shape
    except (TypeError, ValueError):
        raise ParameterError(f"image_shape={image_shape!r}: pass height and width, such as (8, 8).") from None
    return as_integer(height, "image_shape: height"), as_integer(width, "image_shape: width")

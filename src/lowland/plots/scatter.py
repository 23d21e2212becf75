"""Scatter plot of an embedding, and a column over it as a smooth surface."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from lowland.errors import DataError, ParameterError
from lowland.math.statistics.labels import missing_labels, unboxed
from lowland.plots.models import called_as, coordinates
from lowland.plots.names import legend_of, move_apart, shorten
from lowland.plots.style import (
    COLORS,
    INK,
    MARKERS,
    SEQUENTIAL,
    STRONG,
    WEAK,
    axes_for,
    figure_of,
    label_axes,
    looks_of,
    numbers,
    on_host,
    plain,
)

MOST_CLASSES = 30  # more are not distinguishable in a legend
_CELLS = 80  # of the grid of a surface, along each axis
_REACH = 0.12  # how far a surface reaches beyond the points, relative to the extent of the map


@called_as("embedding(model, X)", rows=True, read=lambda model, X: {"Z": coordinates(model, X)})
def embedding(
    Z: Any,
    labels: Any = None,
    *,
    label_names: Sequence[str] | None = None,
    axis_names: tuple[str, str] = ("coordinate 1", "coordinate 2"),
    title: str | None = None,
    size: float | None = None,
    centers: bool = False,
    ax: Any = None,
) -> Any:
    """Draw a scatter plot of the first two coordinates, with equal scales on both axes.

    Parameters
    ----------
    Z : array-like of shape (n, 2 or more), or fitted model
        Coordinates, of which the first two columns are drawn. Points with NaN are left out. Or a model, followed by the
        points X to transform, or without X, if the model has ``embedding_``.
    labels : array-like of shape (n,), Measure or None, default None
        One value per point. Integers and strings are classes: each has a color, a marker and a legend entry. Other
        numbers are shown with a color bar. Points with a missing label (NaN or None) are gray. Long names are
        shortened. A ``Measure`` with ``per_row``, such as ``quality.trustworthiness(X, Z, per_row=True)``, shows where
        the embedding is reliable.
    centers : bool, default False
        Also write the name of each class at the median of its points.

    Examples
    --------
    >>> from lowland import PCA, data, plots
    >>> iris = data.load_dataset("iris")
    >>> figure = plots.embedding(PCA(2).fit(iris.X), iris.X, iris.y, label_names=iris.label_names)
    """
    Z = plane_of(Z)
    size = float(np.clip(20_000 / len(Z), 2, 30)) if size is None else size
    if not size > 0 or len(axis_names) != 2:
        raise ParameterError(f"size={size!r}, axis_names={axis_names!r}: choose a size above 0 and two axis names.")
    words = getattr(labels, "name", None)
    marks, known = (None, None) if labels is None else _one_per_row(labels, len(Z))
    classes = [] if marks is None or marks.dtype.kind == "f" else _classes(marks)
    if label_names is not None and any(isinstance(one, int) and one >= len(label_names) for one in classes):
        raise DataError(
            f"There are {len(label_names)} label_names, but labels go up to {int(classes[-1])}. "
            f"Pass one name for each of the classes 0 to {int(classes[-1])}."
        )
    ax = axes_for(ax, (5.5, 4.6))
    label_axes(ax, plain(axis_names[0]), plain(axis_names[1]), title)
    ax.grid(visible=False)
    if marks is None or known is None:
        ax.scatter(*Z.T, s=size, color=STRONG, alpha=0.7, linewidths=0)
    else:
        blank = None if known.all() else ax.scatter(*Z[~known].T, s=size, color=WEAK, linewidths=0)
        if classes:
            named = () if label_names is None else label_names  # -1 is no class, such as noise
            names = {one: str(named[one] if isinstance(one, int) and 0 <= one < len(named) else one) for one in classes}
            _draw_classes(ax, Z[known], marks, names, blank, size)
        elif known.any():
            points = ax.scatter(*Z[known].T, s=size, c=marks, cmap=SEQUENTIAL, alpha=0.8, linewidths=0)
            bar = ax.figure.colorbar(points, ax=ax)
            bar.outline.set_visible(False)
            bar.set_label("" if words is None else plain(words), color=INK)
    shared = all(len(group.get_siblings(ax)) > 1 for group in (ax.get_shared_x_axes(), ax.get_shared_y_axes()))
    ax.set_aspect("equal", adjustable="box" if shared else "datalim")  # limits of shared axes cannot be changed
    if centers and classes and marks is not None and known is not None:
        _name_centers(ax, Z[known], marks, names)
    return figure_of(ax)


@called_as("surface(Z, lowland.describe(model, X).surface(name))")
def surface(Z: Any, height: Any, *, title: str | None = None, ax: Any = None) -> Any:
    """Draw a smooth surface of a column over a map: filled contours behind the points.

    Parameters
    ----------
    Z : array-like of shape (n, 2 or more)
        Coordinates, of which the first two columns are drawn.
    height : function of points (m, 2)
        The surface, such as ``lowland.describe(model, X).surface("age")``. It is drawn only near points.

    Examples
    --------
    >>> import lowland
    >>> X = lowland.data.load_dataset("iris").X
    >>> model = lowland.PCA(2).fit(X)
    >>> figure = lowland.plots.surface(model.transform(X), lowland.describe(model, X).surface("x1"))
    """
    from scipy.spatial import cKDTree

    points = plane_of(Z)
    points = points[np.isfinite(points).all(axis=1)]
    low, high = points.min(axis=0), points.max(axis=0)
    reach = _REACH * float(np.max(high - low))
    x, y = (np.linspace(low[i] - reach, high[i] + reach, _CELLS) for i in range(2))
    grid = np.stack(np.meshgrid(x, y), axis=-1)
    heights = np.asarray(height(grid.reshape(-1, 2)), dtype=np.float64).reshape(_CELLS, _CELLS)
    far = cKDTree(points).query(grid.reshape(-1, 2))[0].reshape(_CELLS, _CELLS) > reach
    ax = axes_for(ax, (6.0, 4.8))
    filled = ax.contourf(x, y, np.ma.masked_where(far, heights), 12, cmap=SEQUENTIAL, alpha=0.75)
    ax.scatter(*points.T, s=float(np.clip(5_000 / len(points), 1, 8)), color=INK, alpha=0.6, linewidths=0)
    label_axes(ax, "coordinate 1", "coordinate 2", title)
    ax.grid(visible=False)
    ax.set_aspect("equal", adjustable="datalim")
    bar = ax.figure.colorbar(filled, ax=ax)
    bar.outline.set_visible(False)
    bar.set_label(plain(str(getattr(height, "name", ""))), color=INK)
    return figure_of(ax)


def plane_of(Z: Any) -> np.ndarray:
    """Return the first two columns of an embedding, float64; some points may be NaN, but not all."""
    Z = on_host(Z)
    if Z.ndim != 2 or Z.shape[1] < 2:
        raise DataError(f"Z has shape {Z.shape}. A scatter plot needs two columns. Fit with n_components=2.")
    plane = numbers(Z[:, :2], "Z", finite=False)
    if not np.isfinite(plane).all(axis=1).any():
        raise DataError(
            "Z has no row with finite coordinates, so there is nothing to draw. Check the method that computed Z."
        )
    return plane


def _draw_classes(ax: Any, Z: np.ndarray, marks: np.ndarray, names: dict[Any, str], blank: Any, size: float) -> None:
    """Draw each class in its color and marker, and a legend; ``blank`` are the points without a label, if any."""
    handles = []
    for i, (one, name) in zip(looks_of(list(names.values())), names.items(), strict=True):
        mine, color = Z[marks == one], COLORS[i % len(COLORS)]
        marker = MARKERS[(i + i // len(COLORS)) % len(MARKERS)]  # colors repeat with other markers
        style = {"color": color, "marker": marker, "alpha": 0.75, "linewidths": 0, "label": plain(name)}
        handles.append(ax.scatter(*mine.T, s=size, snap=False, **style))  # a small P vanishes if snapped to pixels
    words = list(names.values())
    if blank is not None:
        handles, words = [*handles, blank], [*words, "no label"]
    legend_of(ax, handles, words, markerscale=max(1.0, (25 / size) ** 0.5), handletextpad=0.2)


def _name_centers(ax: Any, Z: np.ndarray, marks: np.ndarray, names: dict[Any, str]) -> None:
    """Write the name of each class at the median of its points; crowded names are moved apart."""
    box = {"boxstyle": "round,pad=0.15", "facecolor": "white", "edgecolor": "none", "alpha": 0.8}
    look = {"ha": "center", "va": "center", "fontweight": "bold", "color": INK, "bbox": box}
    look["fontsize"] = "medium" if len(names) <= 12 else "small"
    parts = [(Z[marks == one], name) for one, name in zip(names, shorten(list(names.values()), 16), strict=True)]
    parts = [(mine, name) for mine, name in parts if np.isfinite(mine).all(axis=1).any()]
    texts = [ax.text(*np.nanmedian(mine, axis=0), plain(name), **look) for mine, name in parts]
    figure = figure_of(ax)
    figure.draw_without_rendering()  # needed to know the sizes of panel and names
    to_pixels = ax.transData
    places = to_pixels.transform([text.get_position() for text in texts])
    sizes = np.array([text.get_window_extent().size for text in texts])
    for text, place in zip(texts, move_apart(places, sizes, ax.get_window_extent().get_points()), strict=True):
        text.set_position(to_pixels.inverted().transform(place))


def _one_per_row(labels: Any, n: int) -> tuple[np.ndarray, np.ndarray]:
    """The labels, or the values per point of a Measure, and a mask of the points that have one, (n,)."""
    if hasattr(labels, "per_row") and labels.per_row is None:
        raise DataError(f"This measure ({labels.name}) has no values per row. Compute it with per_row=True.")
    marks = on_host(getattr(labels, "per_row", labels))
    if marks.shape == (n, 1):  # a data frame of one column
        marks = marks[:, 0]
    if marks.shape != (n,):
        raise DataError(f"labels has shape {marks.shape}, but Z has {n} rows. Pass one label per row.")
    known = ~missing_labels(marks)
    return unboxed(marks[known]), known  # numbers mixed with None become numbers


def _classes(marks: np.ndarray) -> list[Any]:
    try:
        classes = np.unique(marks).tolist()
    except TypeError as error:
        raise DataError(
            f"labels contains values of several types, which cannot be sorted: {error}. Convert them to strings."
        ) from error
    if len(classes) > MOST_CLASSES:
        raise ParameterError(
            f"labels has {len(classes)} classes, but a legend shows at most {MOST_CLASSES}. "
            "Pass labels as floats for a color bar, or draw fewer classes."
        )
    return classes

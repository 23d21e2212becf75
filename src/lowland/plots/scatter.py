"""Scatter plot of an embedding."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from lowland.blocks.statistics.labels import missing_labels, unboxed
from lowland.errors import DataError, ParameterError
from lowland.plots.style import (
    COLORS,
    INK,
    MARKERS,
    SEQUENTIAL,
    STRONG,
    WEAK,
    axes_for,
    called_as,
    figure_of,
    legend_of,
    numbers,
    on_host,
    plain,
    quiet,
    title_above,
)

MOST_CLASSES = 30  # more are not distinguishable in a legend


@called_as("embedding(model.transform(X))", "embedding(model.fit_transform(X))")
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
    Z : array-like of shape (n, 2 or more)
        Coordinates; the first two columns are drawn. Rows with NaN are left out.
    labels : array-like of shape (n,), Measure or None, default None
        One value per row. Integers and strings are classes: each has a color, a marker and a legend entry. Other
        numbers are
        shown with a color bar. Rows with a missing label (NaN or None) are gray. A ``Measure`` with ``per_row``, such
        as
        ``quality.trustworthiness(X, Z, per_row=True)``, shows where the embedding is reliable.
    label_names : sequence of str or None, default None
        Names of the classes 0, 1, 2, …, such as ``Sample.label_names``.
    axis_names : tuple of two str
        Labels of the axes.
    title : str or None, default None
        Title of the figure.
    size : float or None, default None
        Area of a marker in square points. None: smaller with more rows.
    centers : bool, default False
        Also write the name of each class at the median of its points.
    ax : matplotlib Axes or None, default None
        Axes to draw in. None: a new figure.

    Returns
    -------
    matplotlib Figure
        The figure; save it with ``figure.savefig(path)``.

    Examples
    --------
    >>> from lowland import PCA, plots
    >>> from lowland.data import load_dataset
    >>> iris = load_dataset("iris")
    >>> figure = plots.embedding(PCA(2).fit_transform(iris.X), iris.y, label_names=iris.label_names)
    """
    Z = plane_of(Z)
    size = float(np.clip(20_000 / len(Z), 2, 30)) if size is None else size
    if not size > 0 or len(axis_names) != 2:
        raise ParameterError(f"size={size!r}, axis_names={axis_names!r}: choose a size above 0 and two axis names.")
    words, labels = getattr(labels, "name", None), _values_of(labels)
    marks, known = (None, None) if labels is None else _one_per_row(labels, len(Z))
    classes = [] if marks is None or marks.dtype.kind == "f" else _classes(marks)
    if label_names is not None and any(isinstance(one, int) and one >= len(label_names) for one in classes):
        raise DataError(
            f"There are {len(label_names)} label_names, but labels go up to {int(classes[-1])}. "
            f"Pass one name for each of the classes 0 to {int(classes[-1])}."
        )
    ax = axes_for(ax, (5.5, 4.6))
    if marks is None or known is None:
        ax.scatter(*Z.T, s=size, color=STRONG, alpha=0.7, linewidths=0)
    else:
        blank = None if known.all() else ax.scatter(*Z[~known].T, s=size, color=WEAK, linewidths=0)
        if classes:
            _draw_classes(ax, Z[known], marks, {one: _name(one, label_names) for one in classes}, blank, size, centers)
        elif known.any():
            points = ax.scatter(*Z[known].T, s=size, c=marks, cmap=SEQUENTIAL, alpha=0.8, linewidths=0)
            bar = ax.figure.colorbar(points, ax=ax)
            bar.outline.set_visible(False)
            bar.set_label("" if words is None else plain(words), color=INK)
    ax.set_xlabel(plain(axis_names[0]))
    ax.set_ylabel(plain(axis_names[1]))
    title_above(ax, title)
    shared = all(len(group.get_siblings(ax)) > 1 for group in (ax.get_shared_x_axes(), ax.get_shared_y_axes()))
    ax.set_aspect("equal", adjustable="box" if shared else "datalim")  # limits of shared axes cannot be changed
    quiet(ax)
    ax.grid(visible=False)
    return figure_of(ax)


def plane_of(Z: Any) -> np.ndarray:
    """Return the first two columns of an embedding, float64; some rows may be NaN, but not all."""
    Z = on_host(Z)
    if Z.ndim != 2 or Z.shape[1] < 2:
        raise DataError(f"Z has shape {Z.shape}. A scatter plot needs two columns. Fit with n_components=2.")
    plane = numbers(Z[:, :2], "Z", finite=False)
    if not np.isfinite(plane).all(axis=1).any():
        raise DataError(
            "Z has no row with finite coordinates, so there is nothing to draw. Check the method that computed Z."
        )
    return plane


def _draw_classes(
    ax: Any, Z: np.ndarray, marks: np.ndarray, names: dict[Any, str], blank: Any, size: float, centers: bool
) -> None:
    """Draw each class in its color and marker, and a legend; ``blank`` are the points without a label, if any."""
    handles, box = [], {"boxstyle": "round,pad=0.15", "facecolor": "white", "edgecolor": "none", "alpha": 0.8}
    for i, (one, name) in enumerate(names.items()):
        mine, color = Z[marks == one], COLORS[i % len(COLORS)]
        marker = MARKERS[(i + i // len(COLORS)) % len(MARKERS)]  # colors repeat with other markers
        style = {"color": color, "marker": marker, "alpha": 0.75, "linewidths": 0, "label": plain(name)}
        handles.append(ax.scatter(*mine.T, s=size, **style))
        if centers and np.isfinite(mine).all(axis=1).any():
            look = {"ha": "center", "va": "center", "fontsize": "medium", "fontweight": "bold", "color": INK}
            ax.text(*np.nanmedian(mine, axis=0), plain(name), bbox=box, **look)
    words = list(names.values())
    if blank is not None:
        handles, words = [*handles, blank], [*words, "no label"]
    legend_of(
        ax, handles, words, loc="center left", bbox_to_anchor=(1.0, 0.5), markerscale=max(1.0, (25 / size) ** 0.5),
        handletextpad=0.2,
    )  # fmt: skip


def _values_of(labels: Any) -> Any:
    """The values per row of a Measure, or the labels as they are."""
    if not hasattr(labels, "per_row"):
        return labels
    if labels.per_row is None:
        raise DataError(f"This measure ({labels.name}) has no values per row. Compute it with per_row=True.")
    return labels.per_row


def _one_per_row(labels: Any, n: int) -> tuple[np.ndarray, np.ndarray]:
    """The labels, and a mask of the rows that have one, (n,)."""
    marks = on_host(labels)
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
            f"labels has {len(classes)} classes; a legend shows at most {MOST_CLASSES}. "
            "Pass labels as floats for a color bar, or draw fewer classes."
        )
    return classes


def _name(one: Any, label_names: Sequence[str] | None) -> str:
    if (
        label_names is not None and isinstance(one, int) and one >= 0
    ):  # negative values are no class, such as -1 for noise
        return str(label_names[one])
    return str(one)

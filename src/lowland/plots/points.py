"""Pictures of an embedding in the plane."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from lowland.errors import DataError, ParameterError
from lowland.plots.canvas import COLORS, INK, MARKERS, SEQUENTIAL, STRONG, WEAK, axes_for, figure_of, on_host, quiet

MOST_CLASSES = 30  # more than this no legend can tell apart


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
    """Draw the first two columns of Z as points, one unit as long on both axes; return the Figure.

    Parameters
    ----------
    Z : (n, 2 or more) coordinates.
    labels : one value a row. Whole numbers and texts are classes, each with a colour, a shape and a line in the
        legend; other numbers are shown by a colour bar, rows of NaN in grey. A ``Measure`` with a value for each row,
        such as ``quality.trustworthiness(X, Z, per_row=True)``, shows where the picture can be trusted.
    label_names : names of the classes 0, 1, 2, …, as ``Sample.label_names``.
    axis_names : what stands beside the axes.
    title : what stands above.
    size : area of a point in square points; None: smaller the more there are.
    centers : also write each class's name at the median of its points.
    ax : matplotlib axes to draw in; None: a new figure.

    Examples
    --------
    >>> from lowland import PCA, plots
    >>> from lowland.data import load
    >>> iris = load("iris")
    >>> figure = plots.embedding(PCA(2).fit_transform(iris.X), iris.y, label_names=iris.label_names)
    """
    Z = on_host(Z)
    if Z.ndim != 2 or Z.shape[1] < 2:
        raise DataError(f"Z has shape {Z.shape}. A picture in the plane needs two columns: reduce with n_components=2.")
    size = float(np.clip(20_000 / len(Z), 2, 30)) if size is None else size
    words, labels = getattr(labels, "name", None), _values_of(labels)
    marks = None if labels is None else _one_a_row(labels, len(Z))
    classes = [] if marks is None or marks.dtype.kind == "f" else _classes(marks)
    ax = axes_for(ax, (5.5, 4.6))
    if marks is None:
        ax.scatter(Z[:, 0], Z[:, 1], s=size, color=STRONG, alpha=0.7, linewidths=0)
    elif not classes:
        known = ~np.isnan(marks)
        if not known.all():
            ax.scatter(Z[~known, 0], Z[~known, 1], s=size, color=WEAK, linewidths=0)
        points = ax.scatter(Z[known, 0], Z[known, 1], s=size, c=marks[known], cmap=SEQUENTIAL, alpha=0.8, linewidths=0)
        bar = ax.figure.colorbar(points, ax=ax)
        bar.outline.set_visible(False)
        if words is not None:
            bar.set_label(words, color=INK)
    else:
        for i, one in enumerate(classes):
            _draw_class(ax, Z[marks == one], i, _name(one, label_names), size, centers)
        ax.legend(
            loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False, markerscale=max(1.0, (25 / size) ** 0.5),
            handletextpad=0.2, fontsize="small",
        )  # fmt: skip
    ax.set_xlabel(axis_names[0])
    ax.set_ylabel(axis_names[1])
    if title is not None:
        ax.set_title(title, fontsize="medium", color=INK, loc="left")
    shared = all(len(group.get_siblings(ax)) > 1 for group in (ax.get_shared_x_axes(), ax.get_shared_y_axes()))
    ax.set_aspect("equal", adjustable="box" if shared else "datalim")  # limits that others share cannot be widened
    quiet(ax)
    ax.grid(visible=False)
    return figure_of(ax)


def _draw_class(ax: Any, Z: np.ndarray, i: int, name: str, size: float, centers: bool) -> None:
    # beyond ten classes the colours come again with other shapes
    marker = MARKERS[(i + i // len(COLORS)) % len(MARKERS)]
    ax.scatter(
        Z[:, 0], Z[:, 1], s=size, color=COLORS[i % len(COLORS)], marker=marker, alpha=0.75, linewidths=0, label=name
    )
    if centers:
        x, y = np.nanmedian(Z[:, :2], axis=0)
        box = {"boxstyle": "round,pad=0.15", "facecolor": "white", "edgecolor": "none", "alpha": 0.8}
        ax.text(x, y, name, ha="center", va="center", fontsize="medium", fontweight="bold", color=INK, bbox=box)


def _values_of(labels: Any) -> Any:
    """The values of a Measure, or the labels as they are."""
    if not hasattr(labels, "per_row"):
        return labels
    if labels.per_row is None:
        raise DataError(f"This {labels.name} has no value for each row. Measure it with per_row=True.")
    return labels.per_row


def _one_a_row(labels: Any, n: int) -> np.ndarray:
    marks = on_host(labels)
    if marks.shape != (n,):
        raise DataError(f"labels has shape {marks.shape}, Z has {n} rows. Give one label a row.")
    return marks


def _classes(marks: np.ndarray) -> list[Any]:
    classes = np.unique(marks).tolist()
    if len(classes) > MOST_CLASSES:
        raise ParameterError(
            f"There are {len(classes)} classes, and no legend can tell more than {MOST_CLASSES} apart. "
            "Pass labels as floats for a colour bar, or draw fewer classes."
        )
    return classes


def _name(one: Any, label_names: Sequence[str] | None) -> str:
    if label_names is not None and isinstance(one, int) and 0 <= one < len(label_names):
        return str(label_names[one])
    return str(one)

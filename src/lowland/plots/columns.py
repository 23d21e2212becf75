"""Pictures of what components are made of: loadings as bars, and a biplot of rows and columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from lowland.errors import DataError, ParameterError
from lowland.plots.canvas import COLORS, INK, MARK, WEAK, axes_for, figure_of, on_host, quiet
from lowland.plots.points import embedding

_MOST_ARROWS = 30  # names that can be read
_MOST_NAMED = 40


def loadings(
    components: Any, names: Sequence[str] | None = None, *, most: int = 3, title: str | None = None, ax: Any = None
) -> Any:
    """Draw how much of each column is in the first components, a bar each; return the Figure.

    Parameters
    ----------
    components : (k, d), such as ``components_``.
    names : of the d columns; None: their numbers.
    most : how many components are drawn.
    title : what stands above.
    ax : matplotlib axes to draw in; None: a new figure.

    Examples
    --------
    >>> from lowland import PCA, plots
    >>> from lowland.data import load
    >>> wine = load("wine")
    >>> figure = plots.loadings(PCA(2, scale=True).fit(wine.X).components_, wine.names)
    """
    table = _table(components)
    if most < 1:
        raise ParameterError(f"most={most}: give a whole number of at least 1.")
    table = table[:most]
    k, d = table.shape
    words = _names(names, d)
    ax = axes_for(ax, (max(5.5, 0.22 * min(d, 100) + 2), 3.8))
    width = 0.8 / k
    for i, component in enumerate(table):
        places = np.arange(d) + (i - (k - 1) / 2) * width
        ax.bar(places, component, width=width, color=COLORS[i % len(COLORS)], label=f"component {i + 1}")
    ax.axhline(0, color=INK, linewidth=0.8)
    if d <= _MOST_NAMED:
        ax.set_xticks(np.arange(d), words, rotation=45, ha="right", rotation_mode="anchor", fontsize="small")
    else:
        ax.set_xlabel("column")
    ax.set_ylabel("loading")
    if k > 1:
        ax.legend(frameon=False, labelcolor=INK, fontsize="small", ncols=k, loc="lower left", bbox_to_anchor=(0, 1))
    if title is not None:
        ax.set_title(title, fontsize="medium", color=INK, loc="left", pad=24 if k > 1 else None)  # above the legend
    quiet(ax)
    return figure_of(ax)


def biplot(
    Z: Any,
    components: Any,
    names: Sequence[str] | None = None,
    labels: Any = None,
    *,
    label_names: Sequence[str] | None = None,
    axis_names: tuple[str, str] = ("component 1", "component 2"),
    title: str | None = None,
    ax: Any = None,
) -> Any:
    """Draw rows as points and columns as arrows in the plane of two components; return the Figure.

    Rows lie in the direction of the columns in which they are large. The arrows share one scale, chosen to fill the
    picture: their lengths compare with each other, not with the axes.

    Parameters
    ----------
    Z : (n, 2 or more) coordinates.
    components : (2 or more, d), such as ``components_``.
    names : of the d columns; None: their numbers.
    labels : one value a row, as of ``embedding``.
    label_names : names of the classes 0, 1, 2, …
    axis_names : what stands beside the axes.
    title : what stands above.
    ax : matplotlib axes to draw in; None: a new figure.

    Reference: Gabriel 1971, doi:10.1093/biomet/58.3.453.

    Examples
    --------
    >>> from lowland import PCA, plots
    >>> from lowland.data import load
    >>> wine = load("wine")
    >>> pca = PCA(2, scale=True).fit(wine.X)
    >>> figure = plots.biplot(pca.transform(wine.X), pca.components_, wine.names, wine.y)
    """
    table = _table(components)
    if len(table) < 2:
        raise DataError(f"components has shape {table.shape}. A biplot needs two of them: fit with n_components=2.")
    words = _names(names, table.shape[1])
    ax = axes_for(ax, (6.2, 5.2))
    figure = embedding(Z, labels, label_names=label_names, axis_names=axis_names, title=title, ax=ax)
    points = on_host(Z)[:, :2]
    arrows = table[:2].T  # (d, 2)
    lengths = np.sqrt((arrows**2).sum(axis=1))
    longest = float(lengths.max()) or 1.0
    arrows = arrows / longest * 0.9 * float(np.nanmax(np.abs(points)))
    for j in np.argsort(-lengths, kind="stable")[:_MOST_ARROWS]:
        if lengths[j] == 0:
            continue
        style = {"arrowstyle": "-|>", "color": MARK, "linewidth": 1.1, "shrinkA": 0, "shrinkB": 0}
        ax.annotate("", tuple(arrows[j]), (0.0, 0.0), arrowprops=style)
        box = {"boxstyle": "round,pad=0.1", "facecolor": "white", "edgecolor": "none", "alpha": 0.75}
        side = "left" if arrows[j, 0] >= 0 else "right"
        ax.text(*(1.04 * arrows[j]), words[j], ha=side, va="center", fontsize="small", color=INK, bbox=box)
    ax.update_datalim(1.15 * arrows)
    ax.autoscale_view()
    ax.axhline(0, color=WEAK, linewidth=0.7, zorder=0)
    ax.axvline(0, color=WEAK, linewidth=0.7, zorder=0)
    return figure


def _table(components: Any) -> np.ndarray:
    table = on_host(components).astype(float)
    if table.ndim != 2 or not table.size:
        raise DataError(f"components has shape {table.shape}. Pass one line a component, such as components_.")
    return table


def _names(names: Sequence[str] | None, d: int) -> list[str]:
    words = [str(j + 1) for j in range(d)] if names is None else [str(name) for name in names]
    if len(words) != d:
        raise DataError(f"There are {len(words)} names for {d} columns of the components. Give one each.")
    return words

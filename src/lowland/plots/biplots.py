"""Figures of components: loadings as bars, and the biplot of rows and columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from lowland.errors import DataError
from lowland.plots.label_placement import places_of_names
from lowland.plots.scatter import embedding, plane_of
from lowland.plots.style import (
    COLORS,
    INK,
    MARK,
    WEAK,
    WITH_COMPONENTS,
    as_integer,
    axes_for,
    called_as,
    figure_of,
    names_of,
    numbers,
    plain,
    quiet,
    title_above,
)

_MOST_ARROWS = 30  # more names are not legible
_MOST_NAMED = 40
_BEHIND = {"boxstyle": "round,pad=0.1", "facecolor": "white", "edgecolor": "none", "alpha": 0.75}  # background of names


@called_as("loadings(model.components_)", of=WITH_COMPONENTS)
def loadings(
    components: Any, names: Sequence[str] | None = None, *, most: int = 3, title: str | None = None, ax: Any = None
) -> Any:
    """Draw the loadings of the columns on the first components as a bar chart.

    Parameters
    ----------
    components : array-like of shape (k, d)
        Components, such as ``components_``.
    names : sequence of str or None, default None
        Names of the d columns. None: their numbers.
    most : int, default 3
        Maximum number of components to draw.
    title : str or None, default None
        Title of the figure.
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
    >>> wine = load_dataset("wine")
    >>> figure = plots.loadings(PCA(2, scale=True).fit(wine.X).components_, wine.names)
    """
    table = _table(components)[: as_integer(most, "most")]
    k, d = table.shape
    words = [plain(word) for word in names_of(names, d, "columns of the components", first=1)]
    ax = axes_for(ax, (max(5.5, 0.22 * min(d, 100) + 2), 3.8))
    numbered, width = np.arange(1, d + 1), 0.8 / k
    for i, component in enumerate(table):
        places = numbered + (i - (k - 1) / 2) * width
        ax.bar(places, component, width=width, color=COLORS[i % len(COLORS)], label=f"component {i + 1}")
    ax.axhline(0, color=INK, linewidth=0.8)
    if d <= _MOST_NAMED:
        ax.set_xticks(numbered, words, rotation=45, ha="right", rotation_mode="anchor", fontsize="small")
    else:
        ax.set_xlabel("column")
    ax.set_xlim(0.3, d + 0.7)
    ax.set_ylabel("loading")
    if k > 1:
        ax.legend(frameon=False, labelcolor=INK, fontsize="small", ncols=k, loc="lower left", bbox_to_anchor=(0, 1))
    title_above(ax, title, pad=24 if k > 1 else None)  # above the legend
    quiet(ax)
    return figure_of(ax)


@called_as("biplot(model.transform(X), model.components_)", of=WITH_COMPONENTS)
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
    """Draw a biplot: rows as points and columns as arrows in the plane of two components.

    Rows lie in the direction of the columns in which they are large. All arrows have one common scale, chosen to fill
    the figure: their lengths are comparable with each other, not with the axes. With many columns, the 30 longest
    arrows are drawn, and a note in the figure says so.

    Parameters
    ----------
    Z : array-like of shape (n, 2 or more)
        Coordinates; the first two columns are drawn. Rows with NaN are left out.
    components : array-like of shape (2 or more, d)
        Components, such as ``components_``.
    names : sequence of str or None, default None
        Names of the d columns. None: their numbers.
    labels : array-like of shape (n,) or None, default None
        One value per row, as for ``plots.embedding``.
    label_names : sequence of str or None, default None
        Names of the classes 0, 1, 2, …, such as ``Sample.label_names``.
    axis_names : tuple of two str
        Labels of the axes.
    title : str or None, default None
        Title of the figure.
    ax : matplotlib Axes or None, default None
        Axes to draw in. None: a new figure.

    Returns
    -------
    matplotlib Figure
        The figure; save it with ``figure.savefig(path)``.

    References
    ----------
    Gabriel 1971, *The biplot graphic display of matrices*, doi:10.1093/biomet/58.3.453.

    Examples
    --------
    >>> from lowland import PCA, plots
    >>> from lowland.data import load_dataset
    >>> wine = load_dataset("wine")
    >>> pca = PCA(2, scale=True).fit(wine.X)
    >>> figure = plots.biplot(pca.transform(wine.X), pca.components_, wine.names, wine.y)
    """
    table, points = _table(components), plane_of(Z)
    k, d = table.shape
    if k < 2:
        raise DataError(f"components has shape {table.shape}. A biplot needs two components. Fit with n_components=2.")
    if k > d == len(points):
        raise DataError(
            f"Z has {d} rows and components has {k}, so they seem to be swapped. Pass the coordinates first: "
            "plots.biplot(model.transform(X), model.components_)."
        )
    words = names_of(names, d, "columns of the components", first=1)
    ax = axes_for(ax, (6.2, 5.2))
    embedding(Z, labels, label_names=label_names, axis_names=axis_names, title=title, ax=ax)
    lengths = np.hypot(*table[:2])
    drawn = [j for j in np.argsort(-lengths, kind="stable")[:_MOST_ARROWS] if lengths[j] > 0]
    arrows = table[:2, drawn].T / (lengths.max() or 1.0) * 0.9 * float(np.nanmax(np.abs(points)))
    ax.update_datalim(1.15 * arrows)
    ax.autoscale_view()
    ax.axhline(0, color=WEAK, linewidth=0.7, zorder=0)
    ax.axvline(0, color=WEAK, linewidth=0.7, zorder=0)
    if len(drawn) < (lengths > 0).sum():
        note = f"{len(drawn)} longest of {d} arrows"
        ax.text(0.99, 0.01, note, ha="right", fontsize="x-small", color=INK, bbox=_BEHIND, transform=ax.transAxes)
    _draw_arrows(ax, arrows, [plain(words[j]) for j in drawn])
    return figure_of(ax)


def _draw_arrows(ax: Any, tips: np.ndarray, words: list[str]) -> None:
    """Draw arrows from the origin and their names; a thin line connects a name that is placed away from its tip."""
    style = {"arrowstyle": "-|>", "color": MARK, "linewidth": 1.1, "shrinkA": 0, "shrinkB": 0}
    leader = {"arrowstyle": "-", "color": INK, "linewidth": 0.5, "shrinkA": 0, "shrinkB": 0}
    look = {"ha": "center", "va": "center", "fontsize": "small", "color": INK, "bbox": _BEHIND}
    named = []
    for tip, word in zip(tips, words, strict=True):
        ax.annotate("", tuple(tip), (0.0, 0.0), arrowprops=style)
        named.append(ax.annotate(word, tuple(tip), (0, 0), textcoords="offset points", arrowprops=leader, **look))
    if not named:
        return
    figure = figure_of(ax)
    figure.draw_without_rendering()  # needed to know the sizes of panel and names
    sizes = np.array([name.get_window_extent().size for name in named])
    sizes[:, 0] += 0.4 * sizes[:, 1]  # some space between names
    start, ends, frame = ax.transData.transform((0.0, 0.0)), ax.transData.transform(tips), ax.get_window_extent()
    away = places_of_names(start, ends, sizes, frame.get_points()) - ends
    for name, offset, size in zip(named, away, sizes, strict=True):
        name.set_position(offset * 72 / figure.dpi)
        off = np.maximum(np.abs(offset) - size / 2, 0)  # distance between tip and box
        name.arrow_patch.set_visible(bool(np.hypot(*off) > size[1]))


def _table(components: Any) -> np.ndarray:
    table = numbers(components, "components")
    if table.ndim != 2 or not table.size:
        raise DataError(f"components has shape {table.shape}. Pass one row per component, such as components_.")
    return table

"""Pictures of what components are made of: loadings as bars, and a biplot of rows and columns."""

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
    axes_for,
    called_as,
    figure_of,
    names_of,
    numbers,
    plain,
    quiet,
    title_above,
    whole,
)

_MOST_ARROWS = 30  # names that can be read
_MOST_NAMED = 40
_BEHIND = {"boxstyle": "round,pad=0.1", "facecolor": "white", "edgecolor": "none", "alpha": 0.75}  # names on points


@called_as("loadings(model.components_)", of=WITH_COMPONENTS)
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
    >>> from lowland.data import load_dataset
    >>> wine = load_dataset("wine")
    >>> figure = plots.loadings(PCA(2, scale=True).fit(wine.X).components_, wine.names)
    """
    table = _table(components)[: whole(most, "most")]
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
    """Draw rows as points and columns as arrows in the plane of two components; return the Figure.

    Rows lie in the direction of the columns in which they are large. The arrows share one scale, chosen to fill the
    picture: their lengths compare with each other, not with the axes. Of many columns the 30 with the longest arrows
    are drawn, and a note says so.

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
    >>> from lowland.data import load_dataset
    >>> wine = load_dataset("wine")
    >>> pca = PCA(2, scale=True).fit(wine.X)
    >>> figure = plots.biplot(pca.transform(wine.X), pca.components_, wine.names, wine.y)
    """
    table, points = _table(components), plane_of(Z)
    k, d = table.shape
    if k < 2:
        raise DataError(f"components has shape {table.shape}. A biplot needs two of them: fit with n_components=2.")
    if k > d == len(points):
        raise DataError(
            f"Z has {d} rows and components has {k}, as if they had changed places. Pass the coordinates first: "
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
        note = f"the {len(drawn)} longest of {d} arrows"
        ax.text(0.99, 0.01, note, ha="right", fontsize="x-small", color=INK, bbox=_BEHIND, transform=ax.transAxes)
    _draw_arrows(ax, arrows, [plain(words[j]) for j in drawn])
    return figure_of(ax)


def _draw_arrows(ax: Any, tips: np.ndarray, words: list[str]) -> None:
    """Arrows from the origin, and their names where there is room; a thin line leads to a name that stands off."""
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
    figure.draw_without_rendering()  # only then is it known how large the panel and the names are
    sizes = np.array([name.get_window_extent().size for name in named])
    sizes[:, 0] += 0.4 * sizes[:, 1]  # names side by side are not read as one
    start, ends, frame = ax.transData.transform((0.0, 0.0)), ax.transData.transform(tips), ax.get_window_extent()
    away = places_of_names(start, ends, sizes, frame.get_points()) - ends
    for name, offset, size in zip(named, away, sizes, strict=True):
        name.set_position(offset * 72 / figure.dpi)
        off = np.maximum(np.abs(offset) - size / 2, 0)  # between the tip and the box
        name.arrow_patch.set_visible(bool(np.hypot(*off) > size[1]))


def _table(components: Any) -> np.ndarray:
    table = numbers(components, "components")
    if table.ndim != 2 or not table.size:
        raise DataError(f"components has shape {table.shape}. Pass one line a component, such as components_.")
    return table

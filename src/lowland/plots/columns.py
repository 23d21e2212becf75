"""Figures of the columns: loadings as bars, the biplot of rows and columns, and dendrograms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from lowland.errors import DataError
from lowland.math.statistics.labels import classes_of, missing_labels
from lowland.plots.models import attribute, called_as, column_names, coordinates
from lowland.plots.names import legend_above, place_names, shorten
from lowland.plots.scatter import embedding, plane_of
from lowland.plots.style import (
    COLORS,
    INK,
    MARK,
    WEAK,
    as_integer,
    axes_for,
    figure_of,
    label_axes,
    names_of,
    numbers,
    on_host,
    plain,
    quiet,
    title_above,
)

_MOST_ARROWS = 30  # more names are not legible
_MOST_COVERED, _LEAST_NAMED = 0.2, 15  # of the panel, by names of arrows; arrows named even if they cover more
_MOST_NAMED = 40
_LONGEST = 28  # characters of a name
_BEHIND = {"boxstyle": "round,pad=0.1", "facecolor": "white", "edgecolor": "none", "alpha": 0.75}  # background of names
_MOST_LEAVES = 80  # more names of leaves are not legible


# --- loadings and biplots ---


def _loadings_of(model: Any) -> dict[str, Any]:
    loaded = attribute(model, "loadings_", default=None)  # (d, k), those of a factor analysis
    table = attribute(model, "components_") if loaded is None else loaded.T
    return {"components": table, **column_names(model, table.shape[1])}


@called_as("loadings(model)", read=_loadings_of)
def loadings(
    components: Any, names: Sequence[str] | None = None, *, most: int = 3, title: str | None = None, ax: Any = None
) -> Any:
    """Draw the loadings of the columns on the first components as a bar chart.

    Parameters
    ----------
    components : array-like of shape (k, d) or (d, k), or fitted model
        Components, such as ``components_``, or loadings, such as ``FactorAnalysis.loadings_``, or a model that has
        them. The longer side is that of the columns, unless ``names`` fit the other side.
    names : sequence of str or None, default None
        Names of the d columns. None means those of the data frame or of the model, or their numbers. Of more than 40
        columns, those with the largest loadings are named.
    most : int, default 3
        Maximum number of components to draw.

    Examples
    --------
    >>> from lowland import PCA, data, plots
    >>> wine = data.load_dataset("wine")
    >>> figure = plots.loadings(PCA(2, scale=True).fit(wine.X), wine.names)
    """
    table = _table(components)
    k, d = table.shape
    names = None if names is None else list(names)
    count = None if names is None else len(names)
    rows, columns = getattr(components, "index", None), getattr(components, "columns", None)
    upright = k > d if count not in (k, d) else count == k != d  # (d, k)
    if names is None and rows is not None and columns is not None and not callable(rows):  # of a data frame
        names = [str(one) for one in (rows if upright else columns)]
    table = (table.T if upright else table)[: as_integer(most, "most")]
    k, d = table.shape
    words = [plain(word) for word in shorten(names_of(names, d, "columns of the components", first=1), _LONGEST)]
    below = 0.05 * max(0, max(map(len, words)) - 12) if names is not None else 0.0  # space for long names
    ax = axes_for(ax, (min(12.0, max(5.5, 0.22 * d + 2)), 3.8 + below))
    numbered, width = np.arange(1, d + 1), 0.8 / k
    bars = []
    for i, component in enumerate(table):
        places = numbered + (i - (k - 1) / 2) * width
        bars.append(ax.bar(places, component, width=width, color=COLORS[i % len(COLORS)]))
    ax.axhline(0, color=INK, linewidth=0.8)
    if d <= _MOST_NAMED or names is not None:
        named = _apart_by_size(np.abs(table).max(axis=0), _MOST_NAMED)
        labels = [words[j] for j in named]
        ax.set_xticks(numbered[named], labels, rotation=45, ha="right", rotation_mode="anchor", fontsize="small")
        if len(named) < d:
            ax.set_xlabel(f"column: {len(named)} of {d} named, those with the largest loadings")
    else:
        ax.set_xlabel("column")
    ax.set_xlim(0.3, d + 0.7)
    ax.set_ylabel("loading")
    high = legend_above(ax, bars, [f"component {i + 1}" for i in range(k)]) if k > 1 else 0.0
    title_above(ax, title, pad=high + 8 if k > 1 else None)  # above the legend
    quiet(ax)
    return figure_of(ax)


def _apart_by_size(sizes: np.ndarray, most: int) -> np.ndarray:
    """The columns to name: all of them if they are few, else the largest, with space for a name between them."""
    if len(sizes) <= most:
        return np.arange(len(sizes))
    chosen: list[int] = []
    free, gap = np.ones(len(sizes), dtype=bool), int(np.ceil(len(sizes) / (1.5 * most)))
    for j in np.argsort(-sizes, kind="stable"):
        if free[j] and len(chosen) < most:
            chosen.append(int(j))
            free[max(0, j - gap + 1) : j + gap] = False
    return np.array(sorted(chosen))


def _rows_and_axes_of(model: Any, X: Any) -> dict[str, Any]:
    """Rows and axes; or columns or categories at their own coordinates, the numbers of a mixed table as arrows."""
    points = attribute(model, "column_points_", "category_points_", default=None)
    if points is None:
        table = attribute(model, "components_")
        return {"Z": coordinates(model, X), "components": table, **column_names(model, table.shape[1], X)}
    names = column_names(model, len(points)).get("names") if points.names is None else [str(n) for n in points.names]
    found = {"Z": coordinates(model, X), "components": None, "points": points.coordinates, "point_names": names}
    correlations = attribute(model, "correlations_", default=None)
    if correlations is None or not len(correlations):
        return found
    own = attribute(model, "feature_names_in_", default=None)
    words = [f"x{j}" if own is None else str(own[j]) for j in attribute(model, "numeric_columns_")]
    return found | {"components": correlations.T, "names": words}


@called_as("biplot(model, X)", rows=True, read=_rows_and_axes_of)
def biplot(
    Z: Any,
    components: Any,
    names: Sequence[str] | None = None,
    labels: Any = None,
    *,
    points: Any = None,
    point_names: Sequence[str] | None = None,
    row_names: Sequence[str] | None = None,
    label_names: Sequence[str] | None = None,
    axis_names: tuple[str, str] = ("component 1", "component 2"),
    title: str | None = None,
    ax: Any = None,
) -> Any:
    """Draw a biplot: rows as points and columns as arrows in the plane of two components.

    In a map of counts or categories, columns or levels are also points, in the units of the axes: those far from the
    origin in the same direction occur together.

    Rows lie in the direction of the columns in which they are large. All arrows have one common scale, chosen to fill
    the figure: their lengths are comparable with each other, not with the axes. With many columns, the 30 longest
    arrows are drawn, and names without space are left out, with a note in the figure.

    Parameters
    ----------
    Z : array-like of shape (n, 2 or more), or fitted model
        Coordinates, of which the first two columns are drawn. Rows with NaN are left out. Or a model with
        ``components_``, followed by the rows X in place of ``components``: ``plots.biplot(pca, X)``. Models of counts,
        categories and mixed tables supply ``points``.
    components : array-like of shape (2 or more, d), or None
        Components, such as ``components_``. None means that there are only ``points``.
    labels : array-like of shape (n,) or None, default None
        One value per row, as for ``plots.embedding``.
    points : array-like of shape (m, 2 or more), or None, default None
        Coordinates of columns or levels, drawn as named points among the rows.
    point_names : sequence of str or None, default None
        Their names. None means their numbers.
    row_names : sequence of str or None, default None
        Names of the rows, written next to them. None means that rows have no names. Of many rows, the farthest 30 are
        named.

    References
    ----------
    Gabriel 1971, *The biplot graphic display of matrices*, doi:10.1093/biomet/58.3.453.

    Examples
    --------
    >>> from lowland import PCA, data, plots
    >>> wine = data.load_dataset("wine")
    >>> pca = PCA(2, scale=True).fit(wine.X)
    >>> figure = plots.biplot(pca, wine.X, wine.names, wine.y)
    """
    rows = plane_of(Z)
    tips, tip_words, unseen = _points_of(points, point_names)
    arrows, arrow_words, left = _points_of(None, None)
    if components is not None or points is None:
        arrows, arrow_words, left = _arrows_of(components, rows, names, labels)
    ax = axes_for(ax, (6.2, 5.2))
    embedding(Z, labels, label_names=label_names, axis_names=axis_names, title=title, ax=ax)
    marked = np.concatenate([arrows, tips])
    ax.update_datalim(1.15 * marked)
    ax.autoscale_view()
    ax.axhline(0, color=WEAK, linewidth=0.7, zorder=0)
    ax.axvline(0, color=WEAK, linewidth=0.7, zorder=0)
    own, own_words, _ = _points_of(None if row_names is None else rows, row_names)
    every, words = np.concatenate([marked, own]), [*arrow_words, *tip_words, *own_words]
    named = _draw_named(ax, every, words, len(arrows), len(marked))
    kinds = [word for word, count in (("arrows", len(arrows)), ("points", len(tips))) if count]
    drawn, what = len(marked), " and ".join(kinds)
    few = f"{drawn} longest of {drawn + left + unseen} {what}" if left + unseen else f"{drawn} {what}"
    if left + unseen or named < drawn:
        note = few if named >= drawn else f"{few}, {named} named"
        ax.text(0.99, 0.01, note, ha="right", fontsize="x-small", color=INK, bbox=_BEHIND, transform=ax.transAxes)
    return figure_of(ax)


def _arrows_of(components: Any, rows: np.ndarray, names: Any, labels: Any) -> tuple[np.ndarray, list[str], int]:
    """The tips of the longest arrows, scaled to the rows, their names, and how many are left out."""
    table = _table(components)
    k, d = table.shape
    if k < 2:
        raise DataError(f"components has shape {table.shape}. A biplot needs two components. Fit with n_components=2.")
    if k > d == len(rows):
        raise DataError(
            f"Z has {d} rows and components has {k}, so they seem to be swapped. Pass the coordinates first: "
            "plots.biplot(model.transform(X), model.components_)."
        )
    if names is not None and len(names) == len(rows) != d and labels is None:
        raise DataError(f"names has one entry per row, not one for each of the {d} columns. Pass it as labels=.")
    words = shorten(names_of(names, d, "columns of the components", first=1), _LONGEST)
    lengths = np.hypot(*table[:2])
    drawn = [j for j in np.argsort(-lengths, kind="stable")[:_MOST_ARROWS] if lengths[j] > 0]
    tips = table[:2, drawn].T / (lengths.max() or 1.0) * 0.9 * float(np.nanmax(np.abs(rows)))
    return tips, [plain(words[j]) for j in drawn], int((lengths > 0).sum()) - len(drawn)


def _points_of(points: Any, names: Any) -> tuple[np.ndarray, list[str], int]:
    """The points farthest from the origin, their names, and how many are left out."""
    if points is None:
        return np.empty((0, 2)), [], 0
    table = plane_of(points)
    words = shorten(names_of(names, len(table), "points", first=1), _LONGEST)
    drawn = np.argsort(-np.hypot(*table.T), kind="stable")[:_MOST_ARROWS]
    return table[drawn], [plain(words[j]) for j in drawn], len(table) - len(drawn)


def _draw_named(ax: Any, tips: np.ndarray, words: list[str], arrows: int, marked: int) -> int:
    """Draw arrows from the origin, then points up to ``marked``, and all names; a thin line leads to a name far away.

    Return how many are named: those of the longest arrows that together cover at most a fifth of the panel, and 15.
    """
    style = {"arrowstyle": "-|>", "color": MARK, "linewidth": 1.1, "shrinkA": 0, "shrinkB": 0}
    leader = {"arrowstyle": "-", "color": INK, "linewidth": 0.5, "shrinkA": 0, "shrinkB": 0}
    look = {"ha": "center", "va": "center", "fontsize": "small", "color": INK, "bbox": _BEHIND}
    named = []
    ax.scatter(*tips[arrows:marked].T, s=70, marker="X", color=MARK, edgecolors="white", linewidths=0.8, zorder=3)
    for i, (tip, word) in enumerate(zip(tips, words, strict=True)):
        if i < arrows:
            ax.annotate("", tuple(tip), (0.0, 0.0), arrowprops=style)
        named.append(ax.annotate(word, tuple(tip), (0, 0), textcoords="offset points", arrowprops=leader, **look))
    if not named:
        return 0
    figure = figure_of(ax)
    figure.draw_without_rendering()  # needed to know the sizes of panel and names
    sizes = np.array([name.get_window_extent().size for name in named])
    sizes[:, 0] += 0.4 * sizes[:, 1]  # some space between names
    frame = ax.get_window_extent()
    covered = np.cumsum(sizes.prod(axis=1)) / (frame.width * frame.height)
    count = max(int((covered <= _MOST_COVERED).sum()), min(_LEAST_NAMED, len(named)))
    for name in named[count:]:
        name.remove()
    named, sizes, tips = named[:count], sizes[:count], tips[:count]
    start, ends = ax.transData.transform((0.0, 0.0)), ax.transData.transform(tips)
    away = place_names(start, ends, sizes, frame.get_points()) - ends
    for name, offset, size in zip(named, away, sizes, strict=True):
        name.set_position(offset * 72 / figure.dpi)
        off = np.maximum(np.abs(offset) - size / 2, 0)  # distance between tip and box
        name.arrow_patch.set_visible(bool(np.hypot(*off) > size[1]))
    return count


def _table(components: Any) -> np.ndarray:
    table = numbers(components, "components")
    if table.ndim != 2 or not table.size:
        raise DataError(f"components has shape {table.shape}. Pass one row per component, such as components_.")
    return table


# --- dendrograms ---


def _tree_of(model: Any) -> dict[str, Any]:
    children = attribute(model, "children_")
    found = {"children": children, "distances": attribute(model, "distances_", default=None)}
    return {**found, "labels": attribute(model, "labels_", default=None), **column_names(model, len(children) + 1)}


@called_as("dendrogram(model)", read=_tree_of)
def dendrogram(
    children: Any,
    distances: Any = None,
    labels: Any = None,
    *,
    names: Sequence[str] | None = None,
    title: str | None = None,
    ax: Any = None,
) -> Any:
    """Draw a dendrogram: each bar merges two clusters at the height of their distance.

    Parameters
    ----------
    children : array-like of shape (d - 1, 2) or (d - 1, 4), or fitted model
        Merges, such as ``children_``: row i merges two nodes into node d + i. Nodes below d are leaves. Or the result
        of scipy's ``linkage``, or a model with ``children_``, such as FeatureAgglomeration.
    distances : array-like of shape (d - 1,) or None, default None
        Distance of each merge, such as ``distances_``. None draws merges in equal steps.
    labels : array-like of shape (d,) or None, default None
        Cluster of each leaf, such as ``labels_``: integers or strings. Clusters are drawn in color, merges between
        them in gray.
    names : sequence of str or None, default None
        Names of the leaves. None means their numbers.

    Examples
    --------
    >>> from lowland import FeatureAgglomeration, data, plots
    >>> wine = data.load_dataset("wine")
    >>> groups = FeatureAgglomeration(4, metric="correlation", linkage="average").fit(wine.X)
    >>> figure = plots.dendrogram(groups, names=wine.names)
    """
    table = on_host(children)
    if table.ndim == 2 and table.shape[1] == 4 and distances is None:  # scipy: two nodes, distance, size
        children, distances = table[:, :2], table[:, 2]
    tree, heights = _checked_tree(children, distances)
    d = len(tree) + 1
    groups = None if labels is None else _groups(labels, d)
    words = shorten(names_of(names, d, "leaves"))
    order = _leaves_in_order(tree)
    ax = axes_for(ax, (min(14.0, max(5.5, 0.24 * d + 1.5)), 4.2))
    _draw_bars(ax, tree, heights, groups, order)
    ax.set_xlim(-0.7, d - 0.3)
    ax.set_ylim(min(0.0, float(heights.min())), 1.05 * float(heights.max()) or 1.0)
    across = f"{d:,} leaves" if d > _MOST_LEAVES else ""
    label_axes(ax, across, "merge step" if distances is None else "merge distance", title)
    if d > _MOST_LEAVES:
        ax.set_xticks([])
        return figure_of(ax)
    ax.set_xticks(range(d), [plain(words[leaf]) for leaf in order], rotation=60, ha="right", rotation_mode="anchor")
    ax.tick_params(axis="x", length=0, labelsize="small")
    if groups is not None:
        for label, leaf in zip(ax.get_xticklabels(), order, strict=True):
            label.set_color(_color(groups[leaf]))
    return figure_of(ax)


def _checked_tree(children: Any, distances: Any) -> tuple[np.ndarray, np.ndarray]:
    tree = numbers(children, "children")
    if tree.ndim != 2 or tree.shape[1] != 2 or not len(tree):
        raise DataError(f"children has shape {tree.shape}. Pass two nodes per merge, shape (d - 1, 2).")
    d = len(tree) + 1
    if np.any(tree != np.floor(tree)):
        raise DataError("children contains fractions. Pass two nodes per merge, as integers.")
    if sorted(tree.ravel().tolist()) != list(range(2 * d - 2)) or np.any(tree >= d + np.arange(d - 1)[:, None]):
        raise DataError(
            f"The {d - 1} merges in children do not make one tree of {d} leaves: every node except the last must be "
            "merged once, after it was created. Fit with compute_full_tree=True to get the full tree."
        )
    heights = np.arange(1.0, d) if distances is None else numbers(distances, "distances")
    if heights.shape != (d - 1,):
        raise DataError(
            f"There are {d - 1} merges and distances has shape {heights.shape}. Pass one distance per merge."
        )
    return tree.astype(int), heights


def _groups(labels: Any, d: int) -> np.ndarray:
    """The cluster number of each leaf, (d,): strings are numbered in sorted order."""
    groups = on_host(labels)
    if groups.shape != (d,):
        raise DataError(f"There are {d} leaves and labels has shape {groups.shape}. Pass the cluster of each leaf.")
    if missing_labels(groups).any():
        raise DataError(
            f"{missing_labels(groups).sum()} of the {d} labels are NaN or None. Pass the cluster of each leaf."
        )
    return groups.astype(int) if groups.dtype.kind in "biu" else classes_of(groups, least=1)[1]


def _leaves_in_order(tree: np.ndarray) -> list[int]:
    """The order of the leaves in which no bars cross."""
    d, order, waiting = len(tree) + 1, [], [2 * len(tree)]
    while waiting:
        node = waiting.pop()
        if node < d:
            order.append(node)
        else:
            left, right = tree[node - d]
            waiting += [int(right), int(left)]
    return order


def _draw_bars(ax: Any, tree: np.ndarray, heights: np.ndarray, groups: np.ndarray | None, order: list[int]) -> None:
    """One bar per merge: up from each child, and across."""
    from matplotlib.collections import LineCollection

    d = len(tree) + 1
    across, up = np.zeros(2 * d - 1), np.zeros(2 * d - 1)
    across[order] = np.arange(d)
    group_of: list[Any] = [None] * (2 * d - 1) if groups is None else [*groups.tolist(), *[None] * (d - 1)]
    bars, colors = [], []
    for join, (left, right) in enumerate(tree):
        node, height = d + join, heights[join]
        across[node], up[node] = (across[left] + across[right]) / 2, height
        if group_of[left] == group_of[right]:
            group_of[node] = group_of[left]
        bars.append([(across[left], up[left]), (across[left], height), (across[right], height),
                     (across[right], up[right])])  # fmt: skip
        colors.append(INK if groups is None else WEAK if group_of[node] is None else _color(group_of[node]))
    ax.add_collection(LineCollection(bars, colors=colors, linewidths=1.4))


def _color(group: Any) -> str:
    return COLORS[int(group) % len(COLORS)]

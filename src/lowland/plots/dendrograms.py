"""Dendrograms: which columns or rows are merged, and at what distance."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from lowland.errors import DataError, MissingExtra
from lowland.math.statistics.labels import classes_of, missing_labels
from lowland.plots.models import attribute, called_as, column_names
from lowland.plots.names import shortened
from lowland.plots.style import (
    COLORS,
    INK,
    WEAK,
    axes_for,
    figure_of,
    names_of,
    numbers,
    on_host,
    plain,
    quiet,
    title_above,
)

_MOST_NAMED = 80  # more names of leaves are not legible


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
        Merges, such as ``children_``: row i merges two nodes into node d + i; nodes below d are leaves. Or the result
        of scipy's ``linkage``, or a model with ``children_``, such as FeatureAgglomeration.
    distances : array-like of shape (d - 1,) or None, default None
        Distance of each merge, such as ``distances_``. None: merges are drawn in equal steps.
    labels : array-like of shape (d,) or None, default None
        Cluster of each leaf, such as ``labels_``: integers or strings. Clusters are drawn in color, merges between
        them in gray.
    names : sequence of str or None, default None
        Names of the leaves. None: their numbers.

    Examples
    --------
    >>> from lowland import FeatureAgglomeration, plots
    >>> from lowland.data import load_dataset
    >>> wine = load_dataset("wine")
    >>> groups = FeatureAgglomeration(4, metric="correlation", linkage="average").fit(wine.X)
    >>> figure = plots.dendrogram(groups, names=wine.names)
    """
    table = on_host(children)
    if table.ndim == 2 and table.shape[1] == 4 and distances is None:  # scipy: two nodes, distance, size
        children, distances = table[:, :2], table[:, 2]
    tree, heights, groups = _checked(children, distances, labels)
    d = len(tree) + 1
    words = shortened(names_of(names, d, "leaves"))
    order = _leaves_in_order(tree)
    ax = axes_for(ax, (min(14.0, max(5.5, 0.24 * d + 1.5)), 4.2))
    _draw_bars(ax, tree, heights, groups, order)
    ax.set_xlim(-0.7, d - 0.3)
    ax.set_ylim(min(0.0, float(heights.min())), 1.05 * float(heights.max()) or 1.0)
    ax.set_ylabel("merge step" if distances is None else "merge distance")
    title_above(ax, title)
    quiet(ax)
    if d > _MOST_NAMED:
        ax.set_xticks([])
        ax.set_xlabel(f"{d:,} leaves")
        return figure_of(ax)
    ax.set_xticks(range(d), [plain(words[leaf]) for leaf in order], rotation=60, ha="right", rotation_mode="anchor")
    ax.tick_params(axis="x", length=0, labelsize="small")
    if groups is not None:
        for label, leaf in zip(ax.get_xticklabels(), order, strict=True):
            label.set_color(_color(groups[leaf]))
    return figure_of(ax)


def _checked(children: Any, distances: Any, labels: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
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
    return tree.astype(int), heights, None if labels is None else _groups(labels, d)


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
    try:
        from matplotlib.collections import LineCollection
    except ImportError as error:
        raise MissingExtra("matplotlib", "plot") from error
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

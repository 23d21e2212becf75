"""Isomap of iris with 12 neighbours rests on a single link; from 25 on the graph is whole, and with 51 richly so.

With 12 neighbours setosa is an island. Lowland joins it to the rest by the shortest link there is, and says so: every
way between the island and the others then leads over that bridge. From 25 neighbours on a few flowers look across the
gap, and the graph is whole. No setosa has 51 flowers of its own kind beside it, so with 51 neighbours each looks
across, and ways cross the gap in many places.
"""

import warnings

import numpy as np

from gallery import load_dataset, panels, show, title
from lowland import Isomap, plots
from lowland.plots.style import INK, MARK, STRONG, quiet

iris = load_dataset("iris")
setosa = iris.y == 0

with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    few = Isomap(2, n_neighbors=12).fit(iris.X)
    sweep = Isomap().neighbors_sweep(iris.X, (6, 12, 18, 22, 23, 24, 25, 26, 34, 42, 51))
assert "joined by 1 link" in str(told[0].message)
many = Isomap(2, n_neighbors=51).fit(iris.X)
assert (few.n_connected_components_, many.n_connected_components_) == (2, 1)


def beside_one_bridge(model: Isomap) -> float:
    """How far the ways between setosa and the others are from (to the bridge) + (from the bridge), in cm at most."""
    ways = model.dist_matrix_[np.ix_(setosa, ~setosa)]  # (50, 100)
    sums = ways.mean(axis=1, keepdims=True) + ways.mean(axis=0) - ways.mean()
    return float(np.abs(ways - sums).max())


assert beside_one_bridge(few) < 1e-9, "all ways lead over one link"
assert beside_one_bridge(many) > 0.1, "ways cross the gap in many places"

figure, axes = panels(1, 3, (10, 3.9), width_ratios=(1.2, 1.2, 0.7))
for ax, model in zip(axes[0, :2], (few, many), strict=True):
    plots.embedding(model.embedding_, iris.y, label_names=iris.label_names, axis_names=("", ""), size=18, ax=ax)
    ax.get_legend().remove()
    ax.set(xlabel="coordinate 1")
axes[0, 0].set_ylabel("coordinate 2")
title(axes[0, 0], "12 neighbours: two parts joined by one link")
title(axes[0, 1], "51 neighbours: every setosa linked across")
figure.legend(
    *axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=3, frameon=False, markerscale=1.6
)
ax = axes[0, 2]
ax.step(
    [step.n_neighbors for step in sweep],
    [step.n_connected_components for step in sweep],
    where="post",
    color=STRONG,
    linewidth=2,
)
whole = next(step.n_neighbors for step in sweep if not step.split)
assert all(not step.split for step in sweep if step.n_neighbors >= whole)
ax.axvline(whole, color=MARK, linestyle="--", linewidth=1.2)
ax.set_xticks([12, whole, 51])
ax.annotate(f"whole from\n{whole} on", (whole, 1.5), xytext=(6, 0), textcoords="offset points", color=INK)
ax.set(xlabel="neighbours", ylim=(0.8, None), yticks=range(1, 1 + max(step.n_connected_components for step in sweep)))
title(ax, "Parts of the graph")
quiet(ax)
show(
    figure,
    f"With 12 neighbours the graph has {few.n_connected_components_} parts, and all"
    f" {setosa.sum() * (~setosa).sum():,} ways between setosa and the others lead over {few.n_edges_added_} added link."
    f" From {whole} on it is whole; with 51 every setosa has a link across, and ways differ"
    f" from those over one bridge by up to {beside_one_bridge(many):.1f} cm.",
)

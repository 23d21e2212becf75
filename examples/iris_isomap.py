"""Isomap of iris: the graph of 12 neighbors is disconnected, and from 25 neighbors on it is connected.

With 12 neighbors setosa is a connected component of its own. Lowland connects it to the rest by the shortest possible
edge and warns: every path between the components then uses that edge. From 25 neighbors on the graph is connected. No
setosa has 51 other flowers of its species, so with 51 neighbors each has an edge to another species, and paths cross
the gap in many places.
"""

import warnings

import numpy as np

from gallery import load_dataset, panels, show, title
from lowland import Isomap, plots
from lowland.plots.style import INK, MARK, STRONG, quiet

iris = load_dataset("iris")
setosa = iris.y == 0

with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    few = Isomap(2, n_neighbors=12).fit(iris.X)
    sweep = Isomap().neighbors_sweep(iris.X, (6, 12, 18, 22, 23, 24, 25, 26, 34, 42, 51))
assert "1 edge" in str(caught[0].message)
assert few.n_edges_added_ == 1
many = Isomap(2, n_neighbors=51).fit(iris.X)
assert (few.n_connected_components_, many.n_connected_components_) == (2, 1)


def deviation_from_one_bridge(model: Isomap) -> float:
    """Largest deviation in cm of the path lengths between setosa and the others from a sum over a single bridge."""
    lengths = model.dist_matrix_[np.ix_(setosa, ~setosa)]  # (50, 100)
    sums = lengths.mean(axis=1, keepdims=True) + lengths.mean(axis=0) - lengths.mean()
    return float(np.abs(lengths - sums).max())


assert deviation_from_one_bridge(few) < 1e-9, "all paths use one edge"
assert deviation_from_one_bridge(many) > 0.1, "paths cross the gap in many places"

figure, axes = panels(1, 3, (10, 3.9), width_ratios=(1.2, 1.2, 0.7))
for ax, model in zip(axes[0, :2], (few, many), strict=True):
    plots.embedding(model.embedding_, iris.y, label_names=iris.label_names, axis_names=("", ""), size=18, ax=ax)
    ax.get_legend().remove()
    ax.set(xlabel="coordinate 1")
axes[0, 0].set_ylabel("coordinate 2")
title(axes[0, 0], "12 neighbors: one edge added")
title(axes[0, 1], "51 neighbors: connected graph")
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
ax.annotate(f"connected\nfrom {whole} on", (whole, 1.5), xytext=(6, 0), textcoords="offset points", color=INK)
ax.set(xlabel="neighbors", ylim=(0.8, None), yticks=range(1, 1 + max(step.n_connected_components for step in sweep)))
title(ax, "Connected components")
quiet(ax)
show(
    figure,
    f"With 12 neighbors the graph has {few.n_connected_components_} connected components, and all "
    f"{setosa.sum() * (~setosa).sum():,} shortest paths between setosa and the others use {few.n_edges_added_} added "
    f"edge. From {whole} neighbors on the graph is connected. With 51 every setosa has an edge to another species, "
    f"and path lengths differ from those over a single edge by up to {deviation_from_one_bridge(many):.1f} cm.",
)

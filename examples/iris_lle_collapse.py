"""LLE of iris collapses onto a point and a line: the graph of neighbours was in two parts.

The middle picture has been printed as if it showed the flowers. With 12 neighbours no setosa has another species for
a neighbour, nor the other way round; any constant on each part then costs nothing, and LLE spends its coordinates on
those constants. Lowland finds the parts, warns, and joins them by the shortest link unless it is told not to.
"""

import warnings

import numpy as np
from matplotlib.collections import LineCollection

from gallery import load_dataset, panels, show, title
from lowland import PCA, LocallyLinearEmbedding, plots
from lowland.algorithms import nearest_neighbors
from lowland.plots.style import WEAK

iris = load_dataset("iris")
setosa = iris.y == 0


def embed(policy: str) -> tuple[LocallyLinearEmbedding, str]:
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        model = LocallyLinearEmbedding(2, n_neighbors=12, disconnected=policy).fit(iris.X)
    return model, str(told[0].message)


textbook, words = embed("ignore")
joined, _ = embed("connect")  # the default
assert "2 parts, of 100 and 50 points" in words
assert np.array_equal(textbook.component_labels_ == 1, setosa), "one part is setosa, and nothing else"


def spreads(model: LocallyLinearEmbedding) -> tuple[float, float]:
    """How wide setosa is, and the others across their longest direction, as shares of the whole."""
    Z = model.embedding_ / np.ptp(model.embedding_)
    across = PCA(2).fit_transform(Z[~setosa])[:, 1]
    return float(np.ptp(Z[setosa], axis=0).max()), float(np.ptp(across))


point, line = spreads(textbook)
assert point < 1e-6, "50 flowers in one place"
assert line < 1e-6, "100 flowers along a line"
assert min(spreads(joined)) > 0.05, "joined, both have an inside again"

figure, axes = panels(1, 3, (10, 3.9))
flat = PCA(2).fit_transform(iris.X)
near, _ = nearest_neighbors(iris.X, 12).table()  # (150, 12)
links = [flat[[i, j]] for i, row in enumerate(near) for j in row]
axes[0, 0].add_collection(LineCollection(links, colors=WEAK, linewidths=0.5, zorder=0))
titles = (
    "Flowers (PCA) with links to 12 neighbours:\nnone crosses the gap",
    'disconnected="ignore", as in textbooks:\n50 setosa in one place, the others on a line',
    'disconnected="connect", the default:\nthe two parts joined by one link',
)
for ax, Z, above in zip(axes.flat, (flat, textbook.embedding_, joined.embedding_), titles, strict=True):
    plots.embedding(Z, iris.y, label_names=iris.label_names, axis_names=("", ""), size=18, ax=ax)
    ax.get_legend().remove()
    ax.set(xticks=[], yticks=[])
    title(ax, above)
figure.legend(
    *axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=3, frameon=False, markerscale=1.6
)
show(
    figure,
    f"The graph of 12 neighbours has {textbook.n_connected_components_} parts. Left so, the 50 setosa together"
    f" are less than a millionth of the picture wide;"
    f" joined by {joined.n_edges_added_} link they are {spreads(joined)[0]:.0%} of it.",
)

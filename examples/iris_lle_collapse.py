"""LLE of iris collapses to a point and a line because the neighbor graph is disconnected.

Embeddings like the one in the middle have been published. With 12 neighbors no setosa has a neighbor of another
species, nor vice versa. Any constant on each connected component then has zero cost, and LLE uses its coordinates for
these constants. Lowland detects the components, warns, and by default connects them by the shortest edge.
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
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = LocallyLinearEmbedding(2, n_neighbors=12, disconnected=policy).fit(iris.X)
    return model, str(caught[0].message)


textbook, words = embed("ignore")
joined, _ = embed("connect")  # the default
assert "the number of connected components is 2: 100 and 50 rows" in words
assert np.array_equal(textbook.component_labels_ == 1, setosa), "one component consists of all setosa"


def spreads(model: LocallyLinearEmbedding) -> tuple[float, float]:
    """Width of setosa, and of the others across their longest direction, as fractions of the embedding."""
    Z = model.embedding_ / np.ptp(model.embedding_)
    across = PCA(2).fit_transform(Z[~setosa])[:, 1]
    return float(np.ptp(Z[setosa], axis=0).max()), float(np.ptp(across))


point, line = spreads(textbook)
assert point < 1e-6, "50 flowers at one point"
assert line < 1e-6, "100 flowers on a line"
assert min(spreads(joined)) > 0.05, "connected, both groups extend in two dimensions"

figure, axes = panels(1, 3, (10, 3.9))
flat = PCA(2).fit_transform(iris.X)
near, _ = nearest_neighbors(iris.X, 12).table()  # (150, 12)
edges = [flat[[i, j]] for i, row in enumerate(near) for j in row]
axes[0, 0].add_collection(LineCollection(edges, colors=WEAK, linewidths=0.5, zorder=0))
titles = (
    "PCA, with the graph of 12 neighbors:\nno edge crosses the gap",
    'LLE, disconnected="ignore":\nsetosa at one point, the others on a line',
    'LLE, disconnected="connect" (default):\none edge added',
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
    f"The graph of 12 neighbors has {textbook.n_connected_components_} connected components. Without a connecting "
    f"edge the 50 setosa take up less than a millionth of the width of the embedding, and with {joined.n_edges_added_} "
    f"added edge they take up {spreads(joined)[0]:.0%}.",
)

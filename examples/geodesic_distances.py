"""Geodesic distance on the Swiss roll: shortest paths in the neighbor graph follow the sheet.

The straight line between two points on adjacent turns of a Swiss roll leaves the sheet. Isomap connects each point to
its nearest neighbors and approximates the geodesic distance by the shortest path in this graph. Its embedding
reproduces these distances as Euclidean distances. After Tenenbaum, de Silva and Langford (2000), figure 3.
"""

import numpy as np
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from mpl_toolkits.mplot3d.art3d import Line3DCollection
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import dijkstra

from gallery import show, title
from lowland import Isomap
from lowland.algorithms import nearest_neighbors
from lowland.data import swiss_roll
from lowland.plots.style import INK, MARK, SEQUENTIAL, STRONG, WEAK, quiet

K = 10
roll = swiss_roll(1000)
X, sheet = roll.X, roll.truth
a, b = np.argmin(np.abs(sheet - [28, 6]).sum(axis=1)), np.argmin(np.abs(sheet - [83, 16]).sum(axis=1))

# Three distances between the two points, and the edges of the shortest path
isomap = Isomap(2, n_neighbors=K).fit(X)
straight, true = np.linalg.norm(X[a] - X[b]), np.linalg.norm(sheet[a] - sheet[b])
indices, lengths = nearest_neighbors(X, K).table()  # (n, K)
edges = np.column_stack([np.repeat(np.arange(len(X)), K), indices.ravel()])
graph = csr_matrix((lengths.ravel(), edges.T), shape=(len(X), len(X)))
edges = np.unique(np.sort(edges), axis=0)  # mutual neighbors share one edge
found, before = dijkstra(graph, directed=False, indices=a, return_predecessors=True)
path = [b]
while path[-1] != a:
    path.append(before[path[-1]])
Z = isomap.embedding_
on_the_map = np.linalg.norm(Z[a] - Z[b])

assert np.isclose(isomap.dist_matrix_[a, b], found[b]), "Isomap's distance is the length of this path"
assert abs(found[b] / true - 1) < 0.06
assert abs(on_the_map / found[b] - 1) < 0.04
assert straight < true / 4

# The geodesic: a straight line on the sheet, mapped back onto the roll
t = np.linspace(1.5 * np.pi, 4.5 * np.pi, 2000)
arc = (t * np.sqrt(1 + t**2) + np.arcsinh(t)) / 2
along = np.linspace(sheet[a], sheet[b], 300)
angle = np.interp(along[:, 0], arc, t)
bent = np.column_stack([angle * np.cos(angle), along[:, 1], angle * np.sin(angle)])

figure = Figure(figsize=(10, 3.4), layout="constrained")
grid = figure.add_gridspec(1, 3, width_ratios=(1, 1, 1.35))
left, middle = (figure.add_subplot(grid[i], projection="3d", computed_zorder=False) for i in (0, 1))
right = figure.add_subplot(grid[2])
for ax in (left, middle):
    ax.scatter(*X.T, c=sheet[:, 0], cmap=SEQUENTIAL, s=4, depthshade=False, linewidths=0, zorder=2)
    ax.scatter(*X[[a, b]].T, s=45, color="white", edgecolor=INK, linewidth=1.5, depthshade=False, zorder=5)
    ax.view_init(12, -72)
    ax.set_box_aspect((1, 1, 1), zoom=1.4)
    ax.set_axis_off()
left.plot(*X[[a, b]].T, color=INK, linestyle="--", linewidth=1.8, zorder=4)
left.plot(*bent.T, color=STRONG, linewidth=2.2, zorder=3)
middle.add_collection(Line3DCollection(X[edges], colors=WEAK, linewidths=0.5, zorder=0))
middle.plot(*X[path].T, color=MARK, linewidth=2.2, zorder=4)
right.add_collection(LineCollection(Z[edges], colors=WEAK, linewidths=0.5, zorder=0))
right.scatter(*Z.T, c=sheet[:, 0], cmap=SEQUENTIAL, s=4, linewidths=0)
right.plot(*Z[path].T, color=MARK, linewidth=2.0, label="shortest path")
right.plot(*Z[[a, b]].T, color=INK, linestyle="--", linewidth=1.8, label="straight line")
right.scatter(*Z[[a, b]].T, s=45, color="white", edgecolor=INK, linewidth=1.5, zorder=5)
right.legend(frameon=False, loc="upper center", ncols=2, bbox_to_anchor=(0.5, -0.02), labelcolor=INK)
right.set_aspect("equal")
quiet(right)
right.set(xticks=[], yticks=[])
title(left, f"Euclidean {straight:.1f}, geodesic {true:.1f}")
title(middle, f"Shortest path, {K} neighbors: {found[b]:.1f}")
title(right, f"Isomap embedding: distance {on_the_map:.1f}")
show(
    figure,
    f"Two points have the Euclidean distance {straight:.1f} and the geodesic distance {true:.1f}. The shortest path "
    f"in the graph of {K} neighbors has length {found[b]:.1f}, and their distance in the Isomap embedding is "
    f"{on_the_map:.1f}.",
)

"""Clusters of the units of a self-organizing map of wines correspond to the three growers.

A map of 8 x 10 units is trained on 178 wines without their class labels. Dark ridges of the U-matrix are cluster
borders. K-means on the 80 prototypes, instead of the wines, divides the map into three regions along the ridges. The
growers are used only to evaluate the result.
"""

import numpy as np
from matplotlib.colors import to_rgba

from gallery import load_dataset, panels, show, title
from lowland import SelfOrganizingMap, VectorQuantizer, plots
from lowland.plots.style import COLORS, INK, MARKERS

wine = load_dataset("wine")
X = (wine.X - wine.X.mean(axis=0)) / wine.X.std(axis=0)
som = SelfOrganizingMap((8, 10)).fit(X)
regions = VectorQuantizer(3, random_state=0).fit_predict(som.prototypes_)  # (80,) region of each unit
units = som.predict(X)  # (178,) best-matching unit of each wine

counts = np.array([np.bincount(wine.y[regions[units] == region], minlength=3) for region in range(3)])
grower = counts.argmax(axis=1)  # majority grower of each region
right = grower[regions[units]] == wine.y
assert sorted(grower) == [0, 1, 2], "each region has a different majority grower"
assert right.mean() > 0.9

near = np.linalg.norm(som.positions_[:, None] - som.positions_, axis=2) < 1.1  # (80, 80) neighbors on the grid
border = (near & (regions[:, None] != regions)).any(axis=1)
ridge = float(som.u_matrix_.ravel()[border].mean() / som.u_matrix_.ravel()[~border].mean())
assert ridge > 1.1, "borders of the regions follow the ridges"

figure, axes = panels(1, 3, (10, 3.2))
plots.u_matrix(som.u_matrix_, som.topology, title="U-matrix: distance to neighbors", ax=axes[0, 0])
plots.hit_map(som.hits_, som.topology, title="Hit map: wines per unit", ax=axes[0, 1])
ax = axes[0, 2]
plots.hit_map(np.zeros(som.grid_), som.topology, title="", ax=ax)
ax.collections[0].set_facecolor([to_rgba(COLORS[grower[region]], 0.35) for region in regions])
ax.collections[0].set_edgecolor("white")
rng = np.random.default_rng(0)
places = som.positions_[units] + rng.uniform(-0.28, 0.28, (len(units), 2))  # jittered within a cell
for one in range(3):
    ax.scatter(
        *places[wine.y == one].T, s=14, color=COLORS[one], marker=MARKERS[one], linewidths=0, label=f"grower {one + 1}"
    )
ax.scatter(*places[~right].T, s=55, facecolor="none", edgecolor=INK, linewidths=0.9, label="other region")
ax.legend(frameon=False, fontsize="small", loc="upper center", bbox_to_anchor=(0.5, 0.02), ncols=2, labelcolor=INK)
title(ax, f"Clusters of units: {right.mean():.0%} match the grower")
show(
    figure,
    f"Each of the three clusters of units has a different majority grower: {right.sum()} of {len(right)} wines"
    f" ({right.mean():.0%}) lie in the region of their grower. Units at borders are {ridge:.2f} times as far from their"
    " neighbors as units inside a region.",
)

"""Kernel PCA separates three concentric circles by thresholds on one component, but PCA cannot.

In every linear projection the inner circles overlap the outer one. An RBF kernel measures similarity by distance: its
first two components resemble the original plane, and the third increases with the radius.
"""

import numpy as np

from gallery import load_dataset, panels, show, title
from lowland import PCA, KernelPCA, plots
from lowland.plots.style import COLORS, MARK, quiet

rings = load_dataset("concentric_circles")
straight = PCA(2).fit_transform(rings.X)
bent = KernelPCA(3, kernel="rbf", gamma="median").fit_transform(rings.X)


def best_cuts(z: np.ndarray) -> tuple[float, np.ndarray]:
    """The highest accuracy of a classification by two thresholds on z, and these thresholds."""
    order = np.argsort(z)
    below = np.vstack([np.zeros(3), np.cumsum(np.eye(3)[rings.y[order]], axis=0)])  # (n + 1, 3) rows per ring
    between = below[None] - below[:, None]  # (lower cut, upper cut, ring)
    right = below.max(axis=1)[:, None] + between.max(axis=2) + (below[-1] - below).max(axis=1)
    cuts = np.unravel_index(np.triu(right).argmax(), right.shape)
    edges = np.concatenate([[-np.inf], z[order], [np.inf]])
    return float(np.triu(right).max() / len(z)), np.array([edges[cut : cut + 2].mean() for cut in cuts])


angles = np.radians(np.arange(0, 180, 15))
by_line = max(best_cuts(straight @ [np.cos(angle), np.sin(angle)])[0] for angle in angles)
by_kernel, cuts = best_cuts(bent[:, 2])
assert by_kernel == 1.0
assert by_line < 0.75, "no direction of the plane separates the circles"
radii = [bent[rings.y == ring, 2] for ring in range(3)]
assert radii[0].max() < cuts[0] < radii[1].min()
assert radii[1].max() < cuts[1] < radii[2].min()

figure, axes = panels(1, 3, (10, 4), width_ratios=(1, 1, 1.1))
names = [f"radius {ring + 1}" for ring in range(3)]
plots.embedding(straight, rings.y, label_names=names, axis_names=("component 1", "component 2"), ax=axes[0, 0], size=12)
plots.embedding(bent, rings.y, label_names=names, axis_names=("component 1", "component 2"), ax=axes[0, 1], size=12)
for ax in axes[0, :2]:
    ax.get_legend().remove()
ax = axes[0, 2]
for one, color in zip(radii, COLORS, strict=False):
    ax.hist(one, bins=np.linspace(bent[:, 2].min(), bent[:, 2].max(), 60), color=color)
for cut in cuts:
    ax.axvline(cut, color=MARK, linestyle="--", linewidth=1.2)
ax.set(xlabel="component 3", ylabel="rows")
quiet(ax)
title(axes[0, 0], f"PCA: accuracy {by_line:.0%}, best direction")
title(axes[0, 1], "Kernel PCA: components 1 and 2")
title(ax, f"Component 3: accuracy {by_kernel:.0%}")
figure.legend(
    *axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=3, frameon=False, markerscale=1.6
)
show(
    figure,
    f"Two thresholds on the third component of kernel PCA classify {by_kernel:.0%} of the points correctly. On linear"
    f" projections of the plane the best accuracy is {by_line:.0%}.",
)

"""Three rings around one centre: kernel PCA parts them by thresholds on one component, PCA cannot.

Every straight direction sees the inner rings in the midst of the outer one. An rbf kernel compares rows by nearness:
its first two components are the plane, bent a little, and the third grows with the radius.
"""

import numpy as np

from gallery import load_dataset, panels, show, title
from lowland import PCA, KernelPCA, plots
from lowland.plots.style import COLORS, MARK, quiet

rings = load_dataset("concentric_circles")
straight = PCA(2).fit_transform(rings.X)
bent = KernelPCA(3, kernel="rbf", gamma="median").fit_transform(rings.X)


def best_cuts(z: np.ndarray) -> tuple[float, np.ndarray]:
    """The largest share of rows that two thresholds on z can put right, and these thresholds."""
    order = np.argsort(z)
    below = np.vstack([np.zeros(3), np.cumsum(np.eye(3)[rings.y[order]], axis=0)])  # (n + 1, 3) of each ring
    between = below[None] - below[:, None]  # (lower cut, upper cut, ring)
    right = below.max(axis=1)[:, None] + between.max(axis=2) + (below[-1] - below).max(axis=1)
    cuts = np.unravel_index(np.triu(right).argmax(), right.shape)
    edges = np.concatenate([[-np.inf], z[order], [np.inf]])
    return float(np.triu(right).max() / len(z)), np.array([edges[cut : cut + 2].mean() for cut in cuts])


angles = np.radians(np.arange(0, 180, 15))
by_line = max(best_cuts(straight @ [np.cos(angle), np.sin(angle)])[0] for angle in angles)
by_kernel, cuts = best_cuts(bent[:, 2])
assert by_kernel == 1.0
assert by_line < 0.75, "no direction of the plane parts the rings"
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
title(axes[0, 0], f"PCA: {by_line:.0%} right along the best line")
title(axes[0, 1], "Kernel PCA: the plane, a little bent,")
title(ax, f"and the radius: {by_kernel:.0%} right")
figure.legend(
    *axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=3, frameon=False, markerscale=1.6
)
show(
    figure,
    f"Two thresholds on the third component of kernel PCA put {by_kernel:.0%} of the rows into their ring; along no"
    f" straight direction do two thresholds put more than {by_line:.0%} right.",
)

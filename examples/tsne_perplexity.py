"""What perplexity does in t-SNE, and what may and may not be read from its maps.

Top: three clusters in 20 dimensions with known widths and distances. Bottom: 800 handwritten digits. Perplexity is
the number of neighbors that attract each point. The affinities of several values are averaged. What may be read from
a map: which points are neighbors, and which clusters are separate. What may not: how wide a cluster is, how far
clusters are from each other, and the axes.
"""

import numpy as np

from gallery import load_dataset, panels, show
from lowland import PCA, TSNE, quality
from maps import class_map, legend_below

rng = np.random.default_rng(0)
centers = np.zeros((3, 1, 20))
centers[:, 0, :2] = (0, 0), (30, 0), (15, 150)  # the third cluster is five times as far away
widths = np.array([1, 1, 8])  # and eight times as wide
made = (centers + widths[:, None, None] * rng.normal(size=(3, 150, 20))).reshape(450, 20)
cluster = np.repeat([0, 1, 2], 150)
images = load_dataset("digits")
digits, digit = images.X[:800], images.y[:800]


def ratios(Z):
    """How many times as wide, and as far away, the third cluster is."""
    mean = np.array([Z[cluster == i].mean(axis=0) for i in range(3)])
    wide = np.array([Z[cluster == i].std(axis=0).mean() for i in range(3)])
    far = np.linalg.norm(mean[2] - mean[:2], axis=1).mean() / np.linalg.norm(mean[0] - mean[1])
    return wide[2] / wide[:2].mean(), far


ways = {
    "PCA": PCA(2),
    "perplexity 5": TSNE(perplexity=5, random_state=0),
    "perplexity 30": TSNE(perplexity=30, random_state=0),
    "perplexity 100": TSNE(perplexity=100, random_state=0),
    "perplexity 5, 30, 100": TSNE(perplexity=(5, 30, 100), random_state=0),
}
figure, axes = panels(2, 5, (12, 6.2))
wide, far, near, wider, area, right = {}, {}, {}, {}, {}, {}
for (name, model), top, bottom in zip(ways.items(), *axes, strict=True):
    Z = model.fit_transform(made)
    wide[name], far[name] = ratios(Z)
    right[name] = [quality.nearest_neighbor_accuracy(Z, cluster).value]
    class_map(top, Z, cluster, name, f"ratio of widths {wide[name]:.1f}\nratio of distances {far[name]:.1f}", 8)
    Z = model.fit_transform(digits)
    found = quality.co_ranking(digits, Z)
    near[name], wider[name], area[name] = found.q_nx[4], found.q_nx[49], found.area.value
    right[name] += [quality.nearest_neighbor_accuracy(Z, digit).value]
    words = (
        f"5 neighbors kept: {near[name]:.0%}\n50 neighbors kept: {wider[name]:.0%}\nall scales (R_NX): {area[name]:.2f}"
    )
    class_map(bottom, Z, digit, "", words, 4)
axes[0, 0].set_ylabel("three clusters")
axes[1, 0].set_ylabel("digits")
legend_below(figure, bottom, markerscale=3)

pca, five, thirty, hundred, several = ways
tsne = (five, thirty, hundred, several)
assert min(min(right[name]) for name in tsne) > 0.97, "every map separates the clusters and the digits"
assert abs(wide[pca] - 8) < 0.5, "in PCA widths and distances are right"
assert abs(far[pca] - 5) < 0.5
assert max(wide[name] for name in tsne) < 2, "in t-SNE they are not"
assert max(far[name] for name in tsne) < 2
assert near[hundred] + 0.02 < min(near[five], near[thirty], near[several]), "too coarse for the nearest neighbors"
assert wider[five] + 0.03 < min(wider[thirty], wider[hundred]), "too fine for large neighborhoods"
assert area[several] > max(area[five], area[thirty], area[hundred]), "several perplexities are the best compromise"
show(
    figure,
    "The third cluster is 8 times as wide as the others and 5 times as far away. In the maps of t-SNE these ratios are "
    f"at most {max(wide[name] for name in tsne):.1f} and {max(far[name] for name in tsne):.1f}: the map does not show "
    "them. Every map separates the three clusters and the digits (accuracy at least "
    f"{min(min(right[name]) for name in tsne):.0%}). Perplexity 100 keeps {wider[hundred]:.0%} of the 50 nearest "
    f"neighbors of a digit but only {near[hundred]:.0%} of the nearest 5, and perplexity 5 keeps {wider[five]:.0%} and "
    f"{near[five]:.0%}. Over all scales the three together are best (R_NX area {area[several]:.2f}).",
)

"""t-SNE keeps clusters but not their arrangement, and a global term keeps both.

A hierarchy in 50 dimensions: 5 groups (colors) of 5 clusters of 40 points. PCA shows how far apart the groups are, but
overlays clusters. t-SNE separates the clusters, but spreads all of them evenly. TSNE(anchor="pca") adds a term that
pulls each point toward its position in PCA, so weakly that neighborhoods stay as they are. After Kury et al. (2025),
DREAMS.
"""

import numpy as np

from gallery import panels, show
from lowland import PCA, TSNE, quality
from maps import class_map, legend_below, random_triplets

rng, d = np.random.default_rng(0), 50
groups = rng.normal(scale=10, size=(5, 1, 1, d))
clusters = groups + rng.normal(scale=3, size=(5, 5, 1, d))
X = (clusters + rng.normal(size=(5, 5, 40, d))).reshape(-1, d)
group, cluster = np.repeat(np.arange(5), 200), np.repeat(np.arange(25), 40)

ways = {
    "PCA": PCA(2),
    "t-SNE": TSNE(random_state=0),
    'TSNE(anchor="pca")': TSNE(anchor="pca", random_state=0),
}
figure, (axes,) = panels(1, 3, (11, 4.6))
local, triplets, spearman, right = {}, {}, {}, {}
for (name, model), ax in zip(ways.items(), axes, strict=True):
    Z = model.fit_transform(X)
    local[name] = quality.trustworthiness(X, Z, 10).value
    triplets[name] = random_triplets(X, Z)
    spearman[name] = quality.shepard(X, Z).spearman.value
    right[name] = quality.nearest_neighbor_accuracy(Z, cluster).value
    words = (
        f"trustworthiness {local[name]:.3f}\nrandom triplets {triplets[name]:.2f}\n"
        f"correlation of distances {spearman[name]:.2f}"
    )
    class_map(ax, Z, group, name, words, label_names=[f"group {i}" for i in range(1, 6)])
legend_below(figure, axes[0], markerscale=2)

pca, plain, anchored = ways
assert right[plain] > 0.99 > 0.9 > right[pca], "t-SNE separates the 25 clusters, PCA does not"
assert right[anchored] > 0.99
assert local[anchored] > local[plain] - 0.002 > local[pca] + 0.02, "the global term costs no neighbors"
assert triplets[anchored] > triplets[plain] + 0.1, "and arranges distant points"
assert spearman[anchored] > spearman[plain] + 0.2
assert abs(triplets[anchored] - triplets[pca]) < 0.02, "as well as PCA does"
show(
    figure,
    f"The global term increases the random triplets from {triplets[plain]:.2f} to {triplets[anchored]:.2f} (PCA: "
    f"{triplets[pca]:.2f}, chance: 0.50) and the rank correlation of distances from {spearman[plain]:.2f} to "
    f"{spearman[anchored]:.2f}. The trustworthiness is {local[plain]:.3f} without it and {local[anchored]:.3f} with it "
    f"(PCA: {local[pca]:.3f}). Five nearest neighbors identify the cluster of {right[pca]:.0%} of the points in PCA, "
    f"of {right[anchored]:.0%} in both maps of t-SNE.",
)

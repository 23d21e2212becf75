"""MNIST by four neighbor embeddings: t-SNE, UMAP, PaCMAP and LocalMAP.

10,000 images of handwritten digits are reduced to 50 principal components, and these to a map. No method sees the
labels. Below each map: the accuracy of 10 nearest neighbors in the map, trustworthiness (whether neighbors in the map
are neighbors in the data), and the fraction of random triplets whose order of distances is kept (0.5 is chance).
"""

import numpy as np

from gallery import load_dataset, panels, show
from lowland import PCA, TSNE, UMAP, LocalMAP, PaCMAP, quality
from maps import class_map, legend_below, random_triplets

images = load_dataset("mnist", split="test")
X = PCA(50).fit_transform(images.X.astype(np.float32))
ways = {
    "t-SNE": TSNE(random_state=0),
    "UMAP": UMAP(random_state=0),
    "PaCMAP": PaCMAP(random_state=0),
    "LocalMAP": LocalMAP(random_state=0),
}

figure, axes = panels(2, 2, (9, 10))
right, local, triplets = {}, {}, {}
for (name, model), ax in zip(ways.items(), axes.flat, strict=True):
    Z = model.fit_transform(X)
    right[name] = quality.nearest_neighbor_accuracy(Z, images.y, 10).value
    local[name] = quality.trustworthiness(X, Z, 10).value
    triplets[name] = random_triplets(X, Z)
    words = f"10-NN accuracy {right[name]:.1%}\ntrustworthiness {local[name]:.3f}, random triplets {triplets[name]:.2f}"
    class_map(ax, Z, images.y, name, words, 2, centers=True)
legend_below(figure, ax, markerscale=5)

flat = X[:, :2]  # two principal components, for comparison
flat_right, flat_triplets = quality.nearest_neighbor_accuracy(flat, images.y, 10).value, random_triplets(X, flat)
others = [local[name] for name in ways if name != "t-SNE"]
assert min(right.values()) > 0.94 > 0.6 > flat_right, "the maps separate the digits, two principal components do not"
assert local["t-SNE"] > max(others) + 0.01 > min(others) + 0.01 > 0.94, "t-SNE keeps most neighbors"
assert max(triplets.values()) < flat_triplets - 0.02, "but the arrangement of distant points is that of PCA"
show(
    figure,
    f"Ten nearest neighbors in the map identify {min(right.values()):.1%} to {max(right.values()):.1%} of the digits "
    f"(in two principal components: {flat_right:.0%}). t-SNE has the highest trustworthiness, {local['t-SNE']:.3f}, "
    f"and the others have {min(others):.3f} to {max(others):.3f}. All four keep the order of only "
    f"{min(triplets.values()):.0%} to {max(triplets.values()):.0%} of random triplets, PCA of {flat_triplets:.0%}: "
    "do not read distances between clusters.",
)

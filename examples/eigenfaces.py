"""Eigenfaces: sixty principal components identify 40 people about as accurately as all 4,096 pixels.

PCA of 200 photographs, five of each of 40 people. New photographs, five more of each person, are represented by their
first k coordinates and classified by the nearest training photograph.
"""

import numpy as np

from gallery import load_dataset, panels, show, title
from lowland import PCA, plots
from lowland.plots.style import INK, MARK, STRONG, quiet

faces = load_dataset("olivetti")
X, person = faces.X.astype(float), faces.y
known = np.arange(len(X)) % 10 < 5  # ten consecutive photographs per person
assert np.all(np.bincount(person[known]) == 5)
pca = PCA().fit(X[known])
Z, new = pca.transform(X[known]), pca.transform(X[~known])


def recognized(known_rows, new_rows):
    """Accuracy of the nearest-neighbor classifier on the new rows."""
    squares = np.sum(known_rows**2, axis=1) - 2 * new_rows @ known_rows.T  # up to a constant per new row
    return np.mean(person[known][squares.argmin(axis=1)] == person[~known])


counts = (1, 2, 3, 5, 7, 10, 15, 20, 30, 40, 60, 100, 150, 199)
rates = {k: recognized(Z[:, :k], new[:, :k]) for k in counts}
pixels = recognized(X[known], X[~known])
assert rates[60] >= pixels - 0.02, "sixty components do as well as all pixels"
assert pixels > 0.8
assert rates[1] < 0.3
assert rates[10] > 0.7

figure, axes = panels(2, 2, (10, 4.6), height_ratios=(1, 1.25))
face, places = X[~known][60], new[60]
back = [pca.mean_ + places[:M] @ pca.components_[:M] for M in (10, 50, 150)]
words = ("mean face", "new image", "M = 10", "M = 50", "M = 150")
plots.images([pca.mean_, face, *back], faces.image_shape, titles=words, columns=5, colors="gray", ax=axes[0, 0])
title(axes[0, 0], "a new image from M components")
plots.components_as_images(pca.components_[:5], faces.image_shape, columns=5, ax=axes[1, 0])
title(axes[1, 0], "first five eigenfaces")
plots.scree(pca.explained_variance_[:40], pca.total_variance_, ax=axes[0, 1])
title(axes[0, 1], "first 40 eigenvalues")
ax = axes[1, 1]
ax.plot(counts, list(rates.values()), color=STRONG, marker="o", markersize=4)
ax.axhline(pixels, color=MARK, linestyle="--", linewidth=1.2)
ax.text(1, pixels + 0.02, f"all 4,096 pixels: {pixels:.0%}", color=INK)
ax.set(xscale="log", xlabel="number of components k", ylabel="accuracy", ylim=(0, 1.02))
ax.set_xticks((1, 3, 10, 30, 100), ("1", "3", "10", "30", "100"))
title(ax, "nearest-neighbor classification")
quiet(ax)

show(
    figure,
    f"A nearest-neighbor classifier with 200 training images identifies {rates[10]:.0%} of 200 new images from 10 "
    f"components, {rates[60]:.1%} from 60, and {pixels:.1%} from all 4,096 pixels. The majority-class baseline is "
    "2.5%.",
)

"""Eigen-digits of a handwritten 3: the reconstruction error is the sum of the discarded eigenvalues.

PCA of 6,131 images of a 3 with 784 pixels. The first eigen-digits change the slant and the shape of the mean image. The
reconstruction error J(m) with m components is the sum of the discarded eigenvalues, so the spectrum shows how many
components are enough before a single image is reconstructed.
"""

import numpy as np

from gallery import load_dataset, panels, show, title
from lowland import PCA, plots
from lowland.plots.style import INK, MARK

mnist = load_dataset("mnist")
X = mnist.X[mnist.y == 3].astype(float)
pca = PCA().fit(X)
values = pca.explained_variance_ * (len(X) - 1) / len(X)  # J is a mean over n rows, eigenvalues divide by n - 1

Z = pca.transform(X)
kept = (1, 10, 50, 250)
J = {}
for m in kept:
    back = pca.mean_ + Z[:, :m] @ pca.components_[:m]
    J[m] = np.mean(np.sum((X - back) ** 2, axis=1))
    assert np.isclose(J[m], values[m:].sum(), rtol=1e-9), "the error is the sum of the discarded eigenvalues"
    assert np.isclose(J[m], pca.distortion(m), rtol=1e-9)
whole = pca.distortion(0)
assert 0.3 < J[10] / whole < 0.6, "ten components explain about half of the variance"
assert J[250] < 0.02 * whole, "a third of the components explain nearly all of it"

figure, axes = panels(2, 2, (10, 6.4), height_ratios=(1, 1.9), width_ratios=(1.15, 1))
shown = np.vstack([pca.mean_, pca.components_[:4]])
words = ["mean", *(f"λ{'₁₂₃₄'[i]} = {value / 1e5:.1f}·10⁵" for i, value in enumerate(values[:4]))]
plots.components_as_images(shown, mnist.image_shape, columns=5, titles=words, ax=axes[0, 0])
title(axes[0, 0], "mean and first eigen-digits")
plots.scree(values[:50], whole, ax=axes[0, 1])
title(axes[0, 1], "first 50 eigenvalues")
plots.reconstructions(pca, X[[7, 20, 31]], mnist.image_shape, kept, ax=axes[1, 0])
title(axes[1, 0], "three digits reconstructed from m components")
plots.distortion_curve([pca.distortion(m) / 1e6 for m in range(301)], ax=axes[1, 1])
axes[1, 1].set_ylabel("reconstruction error J(m), millions")
axes[1, 1].set_xlabel("number of components m")
for m in kept:
    axes[1, 1].plot(m, J[m] / 1e6, marker="o", markersize=7, color=MARK)
    axes[1, 1].text(m + 6, J[m] / 1e6 + 0.08, f"J({m}) = {J[m] / whole:.0%} of J(0)", color=INK)
axes[1, 1].set_xlim(-8, 385)
title(axes[1, 1], "reconstruction error")

show(
    figure,
    f"With m = 1, 10, 50 and 250 of 784 components the reconstruction error of {len(X):,} handwritten 3s is "
    f"{J[1] / whole:.0%}, {J[10] / whole:.0%}, {J[50] / whole:.0%} and {J[250] / whole:.1%} of the variance. It "
    "equals the sum of the discarded eigenvalues to nine digits.",
)

"""A linear autoencoder converges to the PCA subspace: the angle between them decreases with every epoch.

A linear autoencoder with two components is trained on digits by stochastic gradient descent. Its reconstruction error
converges to that of PCA, and its decoder spans the same plane. Its axes within that plane are arbitrary, so its
embedding is that of PCA up to rotation and reflection.
"""

import warnings

import numpy as np
from scipy.linalg import subspace_angles
from sklearn.exceptions import ConvergenceWarning

from gallery import load_dataset, panels, show, title
from lowland import PCA, LinearAutoencoder, plots
from lowland.plots.style import COLORS, INK, quiet

digits = load_dataset("digits")
pca = PCA(2).fit(digits.X)
epochs = (1, 2, 5, 10, 20, 50)
angles, excess = [], []
for most in epochs:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        net = LinearAutoencoder(2, batch_size=256, max_iter=most, random_state=0).fit(digits.X)
    assert issubclass(caught[0].category, ConvergenceWarning)  # stopped before convergence
    angles.append(np.degrees(subspace_angles(pca.components_.T, net.decoder_).max()))
    excess.append(net.loss_ / pca.distortion() - 1)

assert (np.diff(angles) < 0).all(), "the subspace converges to that of PCA"
assert (np.diff(excess) < 0).all()
assert angles[0] > 30
assert angles[-1] < 0.01
assert abs(excess[-1]) < 1e-9

Z, codes = pca.transform(digits.X), net.transform(digits.X)
turn = Z.T @ codes / (Z**2).sum(axis=0)[:, None]  # regression of the codes on PCA's coordinates
assert np.allclose(turn @ turn.T, np.eye(2), atol=1e-3), "the codes are rotated or reflected PCA coordinates"

figure, axes = panels(1, 3, (10, 3.9), width_ratios=(1, 1, 0.9))
for ax, points, words in ((axes[0, 0], Z, "PCA"), (axes[0, 1], codes, f"Linear autoencoder, {epochs[-1]} epochs")):
    plots.embedding(points, digits.y, axis_names=("", ""), size=5, centers=True, ax=ax)
    ax.get_legend().remove()
    ax.set(xticks=[], yticks=[])
    title(ax, words)
ax = axes[0, 2]
ax.loglog(epochs, angles, "o-", color=COLORS[0], label="angle to the PCA plane, degrees")
ax.loglog(epochs, 100 * np.array(excess), "s--", color=COLORS[2], label="excess loss over PCA, %")
ax.set_xticks(epochs, epochs)
ax.minorticks_off()
ax.set_xlabel("epochs")
ax.legend(frameon=False, labelcolor=INK, fontsize="small", loc="lower left")
quiet(ax)
title(ax, "Convergence to PCA")
show(
    figure,
    f"The angle between the two planes decreases from {angles[0]:.0f} degrees after one epoch to {angles[-1]:.4f} after"
    f" {epochs[-1]}, and the excess loss over PCA from {excess[0]:.0%} to less than a billionth.",
)

"""A linear autoencoder learns PCA's plane: the angle between them falls with every pass over the rows.

It is trained on digits by gradient descent through two numbers a row, and nobody tells it of eigenvectors. In the end
it loses exactly what PCA loses and spans the same plane. Only its axes within that plane are its own, so its picture
is PCA's, turned or mirrored.
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
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        net = LinearAutoencoder(2, batch_size=256, max_iter=most, random_state=0).fit(digits.X)
    assert issubclass(told[0].category, ConvergenceWarning)  # it says that it was stopped on the way
    angles.append(np.degrees(subspace_angles(pca.components_.T, net.decoder_).max()))
    excess.append(net.loss_ / pca.distortion() - 1)

assert (np.diff(angles) < 0).all(), "the plane turns towards PCA's"
assert (np.diff(excess) < 0).all()
assert angles[0] > 30
assert angles[-1] < 0.01
assert abs(excess[-1]) < 1e-9

Z, codes = pca.transform(digits.X), net.transform(digits.X)
turn = Z.T @ codes / (Z**2).sum(axis=0)[:, None]  # the codes, written by PCA's coordinates
assert np.allclose(turn @ turn.T, np.eye(2), atol=1e-3), "the codes are PCA's coordinates, turned or mirrored"

figure, axes = panels(1, 3, (10, 3.9), width_ratios=(1, 1, 0.9))
for ax, points, words in ((axes[0, 0], Z, "PCA"), (axes[0, 1], codes, f"Linear autoencoder, {epochs[-1]} epochs")):
    plots.embedding(points, digits.y, axis_names=("", ""), size=5, centers=True, ax=ax)
    ax.get_legend().remove()
    ax.set(xticks=[], yticks=[])
    title(ax, words)
ax = axes[0, 2]
ax.loglog(epochs, angles, "o-", color=COLORS[0], label="angle to PCA's plane, degrees")
ax.loglog(epochs, 100 * np.array(excess), "s--", color=COLORS[2], label="loss above PCA's, %")
ax.set_xticks(epochs, epochs)
ax.minorticks_off()
ax.set_xlabel("epochs")
ax.legend(frameon=False, labelcolor=INK, fontsize="small", loc="lower left")
quiet(ax)
title(ax, "What is left to learn")
show(
    figure,
    f"The angle between the two planes falls from {angles[0]:.0f} degrees after one epoch to {angles[-1]:.4f} after"
    f" {epochs[-1]}, and the loss from {excess[0]:.0%} above PCA's to less than a billionth.",
)

"""PCA finds the long axis of an elliptical point cloud, and its error is the second eigenvalue.

Left: the principal axes, with length of two standard deviations. Right: the reconstruction from the first coordinate
alone, the orthogonal projection onto the long axis. The mean squared distance to it is the second eigenvalue, up to the
divisor n instead of n - 1.
"""

import numpy as np

from gallery import load_dataset, panels, show, title
from lowland import PCA
from lowland.plots.style import INK, MARK, STRONG, WEAK, quiet

n = 200
X = load_dataset("ellipse", n=n, axes=(3, 1), angle=30, seed=0).X
pca = PCA().fit(X)
one = PCA(1).fit(X)
back = one.inverse_transform(one.transform(X))

steps = X - back
dropped = pca.explained_variance_[1] * (n - 1) / n  # divisor n; the eigenvalue has the divisor n - 1
error = np.mean(np.sum(steps**2, axis=1))
angle = np.degrees(np.arctan2(*pca.components_[0, ::-1]))
assert abs(angle - 30) < 3, "the true angle is 30 degrees"
assert np.isclose(error, dropped, rtol=1e-10)
assert np.isclose(one.distortion(1), dropped, rtol=1e-10)
assert np.abs(steps @ pca.components_[0]).max() < 1e-12, "residuals are orthogonal to the long axis"

figure, ((left, right),) = panels(1, 2, (10, 4.0), sharex=True, sharey=True)
left.scatter(*X.T, s=14, color=STRONG, linewidths=0)
for value, axis, name in zip(pca.explained_variance_, pca.components_, ("first", "second"), strict=True):
    tip = pca.mean_ + 2 * value**0.5 * axis
    left.annotate("", tip, pca.mean_, arrowprops={"arrowstyle": "-|>", "color": MARK, "linewidth": 2, "shrinkA": 0})
    box = {"facecolor": "white", "alpha": 0.85, "edgecolor": "none", "pad": 1}
    left.text(*(tip + 0.5 * axis), f"{name}: λ = {value:.2f}", color=INK, ha="center", va="center", bbox=box)
title(left, "data and principal axes")
for row, place in zip(X, back, strict=True):
    right.plot(*zip(row, place, strict=True), color=WEAK, linewidth=0.8, zorder=0)
right.scatter(*X.T, s=8, color=WEAK, linewidths=0)
right.scatter(*back.T, s=14, color=MARK, linewidths=0)
title(right, f"first component only: mean squared error {error:.2f}")
for ax in (left, right):
    ax.set_aspect("equal")
    quiet(ax)
    ax.grid(visible=False)

show(
    figure,
    f"The first principal axis has an angle of {angle:.1f} degrees (truth: 30). The reconstruction error of "
    f"one component is {error:.3f}: the second eigenvalue, {pca.explained_variance_[1]:.3f}, with the divisor n "
    f"instead of n - 1 = {n - 1}. The explained variance ratio is {one.explained_variance_ratio_[0]:.0%}.",
)

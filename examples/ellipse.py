"""PCA finds the long axis of an ellipse of points, and one number a point brings each back to it.

Left, the axes that PCA finds, each two deviations long. Right, what is left of the points when only the first
coordinate is kept: each goes to the nearest place on the long axis. The squares of those small steps add up to the
second eigenvalue times n - 1: it is their mean, but for the divisor.
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
dropped = pca.explained_variance_[1] * (n - 1) / n  # the mean over n rows, where the eigenvalue divides by n - 1
error = np.mean(np.sum(steps**2, axis=1))
angle = np.degrees(np.arctan2(*pca.components_[0, ::-1]))
assert abs(angle - 30) < 3, "the long axis was drawn at 30 degrees"
assert np.isclose(error, dropped, rtol=1e-10)
assert np.isclose(one.distortion(1), dropped, rtol=1e-10)
assert np.abs(steps @ pca.components_[0]).max() < 1e-12, "every step is upright on the long axis"

figure, ((left, right),) = panels(1, 2, (10, 4.0), sharex=True, sharey=True)
left.scatter(*X.T, s=14, color=STRONG, linewidths=0)
for value, axis, name in zip(pca.explained_variance_, pca.components_, ("first", "second"), strict=True):
    tip = pca.mean_ + 2 * value**0.5 * axis
    left.annotate("", tip, pca.mean_, arrowprops={"arrowstyle": "-|>", "color": MARK, "linewidth": 2, "shrinkA": 0})
    box = {"facecolor": "white", "alpha": 0.85, "edgecolor": "none", "pad": 1}
    left.text(*(tip + 0.5 * axis), f"{name}: λ = {value:.2f}", color=INK, ha="center", va="center", bbox=box)
title(left, "the cloud and its axes")
for row, place in zip(X, back, strict=True):
    right.plot(*zip(row, place, strict=True), color=WEAK, linewidth=0.8, zorder=0)
right.scatter(*X.T, s=8, color=WEAK, linewidths=0)
right.scatter(*back.T, s=14, color=MARK, linewidths=0)
title(right, f"kept: one number a point; mean squared step {error:.2f}")
for ax in (left, right):
    ax.set_aspect("equal")
    quiet(ax)
    ax.grid(visible=False)

show(
    figure,
    f"PCA's long axis stands at {angle:.1f} degrees, where the cloud was drawn at 30. Keeping one number a point costs "
    f"a mean squared error of {error:.3f}: the dropped eigenvalue, {pca.explained_variance_[1]:.3f}, which divides by "
    f"n - 1 = {n - 1} where the error divides by n. "
    f"{one.explained_variance_ratio_[0]:.0%} of the variance stays.",
)

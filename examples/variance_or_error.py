"""The direction of maximum variance is the direction of minimum reconstruction error.

A line through the mean is rotated by 180 degrees. The variance of the points along it and their mean squared distance
from it have a constant sum, by Pythagoras. Both definitions of PCA, maximum variance (Hotelling 1933) and minimum error
(Pearson 1901), therefore give the same line.
"""

import numpy as np

from gallery import load_dataset, panels, show, title
from lowland import PCA
from lowland.plots.style import INK, MARK, STRONG, WEAK, quiet

X = load_dataset("ellipse", n=150, axes=(2, 0.8), angle=35, seed=2).X
C = X - X.mean(axis=0)
angles = np.arange(0, 180, 0.25)
U = np.column_stack([np.cos(np.radians(angles)), np.sin(np.radians(angles))])  # (720, 2) one direction per row
along = C @ U.T  # (n, 720)
variance = np.mean(along**2, axis=0)
error = np.array([np.mean(np.sum((C - np.outer(z, u)) ** 2, axis=1)) for z, u in zip(along.T, U, strict=True)])
both = variance + error

pca = PCA(1).fit(X)
found = np.degrees(np.arctan2(*pca.components_[0, ::-1])) % 180
most, least = angles[variance.argmax()], angles[error.argmin()]
assert np.ptp(both) < 1e-12 * both[0], "the sum of variance and error is constant"
assert np.ptp(variance) > 0.5 * both[0], "although each of them varies"
assert most == least
assert abs(most - found) <= 0.125, "half a step of the angles tested"

figure, ((left, right),) = panels(1, 2, (10, 3.9), width_ratios=(1, 1.3))
u = pca.components_[0]
for row, place in zip(C, np.outer(C @ u, u), strict=True):
    left.plot(*zip(row, place, strict=True), color=MARK, linewidth=0.7, alpha=0.6)
left.plot(*np.outer(u, (-5.5, 5.5)), color=STRONG, linewidth=2)
left.scatter(*C.T, s=12, color=INK, linewidths=0, zorder=3)
left.set_aspect("equal")
title(left, f"First principal axis ({found:.1f}°) and residuals")
right.plot(angles, both, color=INK, linewidth=1.2, linestyle=":")
right.plot(angles, variance, color=STRONG, linewidth=2)
right.plot(angles, error, color=MARK, linewidth=2, linestyle="--")
right.axvline(found, color=WEAK, linewidth=1.2, zorder=0)
right.text(found + 2, variance.max() + 0.1, "variance", color=STRONG)
right.text(found + 90, error.max() + 0.1, "mean squared error", color=MARK, ha="center")
right.text(found + 2, both[0] + 0.1, "sum", color=INK)
right.text(found + 2, 0.1, "PCA", color=INK)
right.set(xlabel="angle of the line, degrees", ylim=(0, 1.15 * both[0]), xticks=range(0, 181, 45))
title(right, "Variance and error by angle")
for ax in (left, right):
    quiet(ax)
left.grid(visible=False)

show(
    figure,
    f"Of {len(angles)} directions, the one at {most:.2f} degrees has both the largest variance ({variance.max():.2f}) "
    f"and the smallest error ({error.min():.2f}), and PCA finds {found:.2f} degrees. Their sum is {both[0]:.3f} in "
    "every direction.",
)

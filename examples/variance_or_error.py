"""The direction of most variance is the direction of least error: what one gains, the other loses.

A line through the mean is turned by half a circle. The variance of the points along it and their mean squared distance
from it always add up to the same, by Pythagoras. So both ways to define PCA, most variance (Hotelling 1933) and least
error (Pearson 1901), name the same line.
"""

import numpy as np

from gallery import load_dataset, panels, show, title
from lowland import PCA
from lowland.plots.style import INK, MARK, STRONG, WEAK, quiet

X = load_dataset("ellipse", n=150, axes=(2, 0.8), angle=35, seed=2).X
C = X - X.mean(axis=0)
angles = np.arange(0, 180, 0.25)
U = np.column_stack([np.cos(np.radians(angles)), np.sin(np.radians(angles))])  # (720, 2) a direction a row
along = C @ U.T  # (n, 720)
variance = np.mean(along**2, axis=0)
error = np.array([np.mean(np.sum((C - np.outer(z, u)) ** 2, axis=1)) for z, u in zip(along.T, U, strict=True)])
both = variance + error

pca = PCA(1).fit(X)
found = np.degrees(np.arctan2(*pca.components_[0, ::-1])) % 180
most, least = angles[variance.argmax()], angles[error.argmin()]
assert np.ptp(both) < 1e-12 * both[0], "variance and error add up to the same in every direction"
assert np.ptp(variance) > 0.5 * both[0], "and yet each of them changes much"
assert most == least
assert abs(most - found) <= 0.125, "half a step of the angles tried"

figure, ((left, right),) = panels(1, 2, (10, 3.9), width_ratios=(1, 1.3))
u = pca.components_[0]
for row, place in zip(C, np.outer(C @ u, u), strict=True):
    left.plot(*zip(row, place, strict=True), color=MARK, linewidth=0.7, alpha=0.6)
left.plot(*np.outer(u, (-5.5, 5.5)), color=STRONG, linewidth=2)
left.scatter(*C.T, s=12, color=INK, linewidths=0, zorder=3)
left.set_aspect("equal")
title(left, f"PCA's line, at {found:.1f}°, and the errors")
right.plot(angles, both, color=INK, linewidth=1.2, linestyle=":")
right.plot(angles, variance, color=STRONG, linewidth=2)
right.plot(angles, error, color=MARK, linewidth=2, linestyle="--")
right.axvline(found, color=WEAK, linewidth=1.2, zorder=0)
right.text(found + 2, variance.max() + 0.1, "variance along the line", color=STRONG)
right.text(found + 90, error.max() + 0.1, "squared error", color=MARK, ha="center")
right.text(found + 2, both[0] + 0.1, "both together", color=INK)
right.text(found + 2, 0.1, "PCA", color=INK)
right.set(xlabel="direction of the line, degrees", ylim=(0, 1.15 * both[0]), xticks=range(0, 181, 45))
title(right, "turning the line")
for ax in (left, right):
    quiet(ax)
left.grid(visible=False)

show(
    figure,
    f"Of {len(angles)} directions, the one at {most:.2f} degrees has both the most variance ({variance.max():.2f}) and "
    f"the least error ({error.min():.2f}); PCA says {found:.2f}. The two add up to {both[0]:.3f} in every direction.",
)

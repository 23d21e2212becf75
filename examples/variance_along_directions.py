"""The variance along any direction is a weighted mean of the eigenvalues.

The variance is λ₁ along v₁, λ₂ along v₂, and λ₁ cos²θ + λ₂ sin²θ at an angle θ from v₁: never above the first and never
below the second eigenvalue. The curve around the cloud marks two standard deviations in every direction.
"""

import numpy as np

from gallery import load_dataset, panels, show, title
from lowland import PCA
from lowland.plots.style import COLORS, INK, WEAK, quiet

X = load_dataset("ellipse", n=300, axes=(2.2, 0.9), angle=25, seed=5).X
pca = PCA().fit(X)
S, C = np.cov(X.T), X - pca.mean_
(first, second), (v1, v2) = pca.explained_variance_, pca.components_

thetas = np.radians(np.arange(0, 361))
V = np.outer(np.cos(thetas), v1) + np.outer(np.sin(thetas), v2)  # (361, 2)
measured = np.var(C @ V.T, axis=0, ddof=1)
assert np.allclose(measured, np.einsum("id,de,ie->i", V, S, V)), "the variance along v is v'Sv"
assert np.allclose(measured, first * np.cos(thetas) ** 2 + second * np.sin(thetas) ** 2)
assert np.isclose(measured.max(), first)
assert np.isclose(measured.min(), second)
assert first > 3 * second, "so that values between them are far from both"

figure, ((left, right),) = panels(1, 2, (10, 4.1), width_ratios=(1.15, 1))
left.scatter(*C.T, s=9, color=WEAK, linewidths=0)
left.plot(*(2 * V * measured[:, None] ** 0.5).T, color=INK, linewidth=1.3)
right.plot(np.degrees(thetas[:181]), measured[:181], color=INK, linewidth=1.3)
for theta, name, color in ((0, "v₁", COLORS[0]), (40, "θ = 40°", COLORS[2]), (90, "v₂", COLORS[3])):
    v, reach = V[theta], 2 * measured[theta] ** 0.5
    left.plot(*np.outer(v, (-reach, reach)), color=color, linewidth=3, solid_capstyle="butt")
    left.text(*((reach + 0.45) * v), name, color=color, ha="center", va="center", weight="bold")
    right.plot(theta, measured[theta], "o", color=color, markersize=9)
    up = -0.45 if theta == 90 else 0.16
    right.text(theta + 5, measured[theta] + up, f"{name}: {measured[theta]:.2f}", color=color, weight="bold")
left.set_aspect("equal", adjustable="datalim")
title(left, "two standard deviations in every direction")
right.set(xlabel="degrees from v₁", ylabel="variance", xticks=range(0, 181, 45), ylim=(0, 1.12 * first))
title(right, "λ₁ cos²θ + λ₂ sin²θ")
for ax in (left, right):
    quiet(ax)
left.grid(visible=False)

show(
    figure,
    f"The variance is λ₁ = {first:.2f} along v₁, λ₂ = {second:.2f} along v₂, and {measured[40]:.2f} at 40 degrees "
    "from v₁. It equals λ₁ cos²θ + λ₂ sin²θ in all 360 directions tested.",
)

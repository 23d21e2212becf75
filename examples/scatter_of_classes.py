"""The scatter of all points is the scatter within their classes plus the scatter between them.

Each point is as far from the mean as its class is, and then as it is from its class: squared and added up, the total
scatter is within plus between, as matrices and along every line. A line along which the part between is small fails:
the classes fall onto each other. Fisher's line has the most between for its within.
"""

import numpy as np

from gallery import panels, show, title
from lowland import LinearDiscriminantAnalysis
from lowland.plots.style import COLORS, INK, MARKERS, quiet

rng = np.random.default_rng(3)
y = np.repeat([0, 1, 2], 50)
centers = np.array([[-3.2, 1.2], [0.0, -0.4], [2.8, -1.6]])
X = centers[y] + rng.standard_normal((150, 2)) @ np.array([[1.3, 0.9], [0.0, 0.6]])

mean, means = X.mean(axis=0), np.array([X[y == c].mean(axis=0) for c in range(3)])
within, between = X - means[y], means[y] - mean
S_W, S_B, S_T = (M.T @ M for M in (within, between, X - mean))
assert np.allclose(S_T, S_W + S_B), "total = within + between"


def ratio(w):
    """Fisher's: the scatter between over the scatter within, along w."""
    return (w @ S_B @ w) / (w @ S_W @ w)


turns = np.radians(np.arange(0, 180))
lines = np.column_stack([np.cos(turns), np.sin(turns)])
best = LinearDiscriminantAnalysis(n_components=1).fit(X, y).scalings_[:, 0]
best = best / np.linalg.norm(best) * np.sign(best[0])
worst = lines[np.argmin([ratio(w) for w in lines])]
worst = worst * np.sign(worst[0])
assert all(ratio(w) <= ratio(best) * (1 + 1e-9) for w in lines), "no line beats Fisher's"
assert ratio(best) > 5
assert ratio(worst) < 0.05

figure, axes = panels(1, 3, (10, 3.9), width_ratios=(1.35, 1, 1))
ax = axes[0, 0]
for c in range(3):
    for row in X[y == c]:
        ax.plot(*zip(row, means[c], strict=True), color=COLORS[c], linewidth=0.6, alpha=0.5)
    ax.plot(*zip(means[c], mean, strict=True), color=INK, linewidth=2.2, zorder=3)
    ax.scatter(*X[y == c].T, s=14, color=COLORS[c], marker=MARKERS[c], linewidths=0)
for w, name, line in ((best, "Fisher's", "--"), (worst, "failing", ":")):
    ax.plot(*(mean[:, None] + np.outer(w, (-5, 5))), color=INK, linewidth=1.4, linestyle=line, zorder=0)
    ax.text(*(mean + 5.5 * w), name, color=INK, ha="center", va="center")
ax.set(xlim=(-8, 6.5), ylim=(-5.6, 6), aspect="equal")
title(ax, "within (thin) and between (thick)")
for ax, w, name in ((axes[0, 1], worst, "the failing line"), (axes[0, 2], best, "Fisher's line")):
    z = (X - mean) @ w
    for c in range(3):
        ax.hist(z[y == c], np.linspace(-6, 6, 37), color=COLORS[c], alpha=0.6)
    total = w @ S_T @ w
    title(ax, f"{name}: ratio {ratio(w):.3f}\nbetween {w @ S_B @ w / total:.0%}, within {w @ S_W @ w / total:.0%}")
    ax.set_yticks([])
for ax in axes[0]:
    quiet(ax)
    ax.grid(visible=False)

show(
    figure,
    f"Of the total scatter {np.trace(S_T):.0f}, {np.trace(S_W):.0f} is within the classes and {np.trace(S_B):.0f} "
    f"between them. Between over within is {ratio(best):.1f} along Fisher's line, more than along any other, and "
    f"{ratio(worst):.3f} along the line that fails.",
)

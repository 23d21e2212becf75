"""Total scatter = within-class + between-class scatter, and Fisher's direction maximizes between over within.

The deviation of a point from the overall mean is that of its class mean plus that of the point from its class mean. The
sums of squares add up, as matrices and along every direction. Along a direction with little between-class scatter the
classes overlap. Fisher's direction has the largest ratio of between-class to within-class scatter.
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
    """Fisher's ratio of between-class to within-class scatter along w."""
    return (w @ S_B @ w) / (w @ S_W @ w)


turns = np.radians(np.arange(0, 180))
lines = np.column_stack([np.cos(turns), np.sin(turns)])
best = LinearDiscriminantAnalysis(n_components=1).fit(X, y).scalings_[:, 0]
best = best / np.linalg.norm(best) * np.sign(best[0])
worst = lines[np.argmin([ratio(w) for w in lines])]
worst = worst * np.sign(worst[0])
assert all(ratio(w) <= ratio(best) * (1 + 1e-9) for w in lines), "no direction exceeds Fisher's"
assert ratio(best) > 5
assert ratio(worst) < 0.05

figure, axes = panels(1, 3, (10, 3.9), width_ratios=(1.35, 1, 1))
ax = axes[0, 0]
for c in range(3):
    for row in X[y == c]:
        ax.plot(*zip(row, means[c], strict=True), color=COLORS[c], linewidth=0.6, alpha=0.5)
    ax.plot(*zip(means[c], mean, strict=True), color=INK, linewidth=2.2, zorder=3)
    ax.scatter(*X[y == c].T, s=14, color=COLORS[c], marker=MARKERS[c], linewidths=0)
for w, name, line in ((best, "Fisher", "--"), (worst, "worst", ":")):
    ax.plot(*(mean[:, None] + np.outer(w, (-5, 5))), color=INK, linewidth=1.4, linestyle=line, zorder=0)
    ax.text(*(mean + 5.5 * w), name, color=INK, ha="center", va="center")
ax.set(xlim=(-8, 6.5), ylim=(-5.6, 6), aspect="equal")
title(ax, "within-class (thin), between-class (thick)")
for ax, w, name in ((axes[0, 1], worst, "Worst direction"), (axes[0, 2], best, "Fisher's direction")):
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
    f"Of the total scatter {np.trace(S_T):.0f}, {np.trace(S_W):.0f} is within classes and {np.trace(S_B):.0f} between "
    f"them. The ratio of between-class to within-class scatter is {ratio(best):.1f} along Fisher's direction, the "
    f"maximum, and {ratio(worst):.3f} along the worst direction.",
)

"""PCA maps four points on a circle to two positions, but Isomap recovers their order along the circle.

Points on a circle have one intrinsic dimension, the angle, which no linear projection recovers: on the first principal
component points above and below the horizontal axis coincide. The angle itself separates the points, but puts the
neighbors 340° and 20° at opposite ends. Isomap follows the neighbor graph, cuts the circle at its longest gap and
preserves all other distances between neighbors.
"""

import numpy as np

from gallery import panels, show, title
from lowland import PCA, Isomap
from lowland.plots.style import COLORS, INK, MARKERS, WEAK, quiet

names = "ABCD"
angles = np.array([20, 120, 240, 340])
X = np.column_stack([np.cos(np.radians(angles)), np.sin(np.radians(angles))])

one = PCA(1).fit(X)
flat = one.transform(X)[:, 0]
assert np.allclose(one.components_, [[1, 0]]), "the variance is largest in the horizontal direction"
assert np.allclose(flat[[0, 1]], flat[[3, 2]]), "A coincides with D, and B with C"
assert abs(flat[0] - flat[1]) > 1
apart = np.abs(angles[:, None] - angles)
assert apart[0, 3] == apart.max(), "as numbers, the angles of A and D differ most"
assert np.minimum(apart, 360 - apart)[0, 3] == 40, "on the circle they are nearest neighbors"

walk = Isomap(1, n_neighbors=None, radius=1.6).fit(X)  # connects all neighbors but B and C, which are 120° apart
place = walk.embedding_[:, 0] * np.sign(walk.embedding_[2, 0])  # the sign is arbitrary: C on the right
steps = np.abs(np.diff(place[[1, 0, 3, 2]]))  # from B to A to D to C
chords = 2 * np.sin(np.radians([100, 40, 100]) / 2)
assert np.allclose(steps, chords), "distances between neighbors are preserved"
order = "".join(names[i] for i in np.argsort(place))
assert order == "BADC", "in the order of the angle"

figure, ((left, right),) = panels(1, 2, (10, 4.2), width_ratios=(1, 1.35))
turn = np.linspace(0, 2 * np.pi, 200)
left.plot(np.cos(turn), np.sin(turn), color=WEAK, linewidth=1.5)
left.axhline(0, color=INK, linewidth=1.2, linestyle="--")
left.text(-1.45, 0.05, "PCA", color=INK)
for i, (x, y) in enumerate(X):
    left.plot((x, x), (y, 0), color=WEAK, linewidth=1.2, linestyle=":")
    left.plot(x, y, MARKERS[i], color=COLORS[i], markersize=10)
    left.text(1.33 * x, 1.2 * y, f"{names[i]} {angles[i]}°", color=INK, ha="center", va="center")
left.set(xlim=(-1.55, 1.55), ylim=(-1.3, 1.3), aspect="equal", xticks=[], yticks=[])
title(left, "four points on a circle")
lines = (("Isomap", place), ("the angle", angles), ("PCA, first component", flat))
for height, (words, z) in enumerate(lines):
    z = (z - z.min()) / np.ptp(z)
    right.axhline(height, color=WEAK, linewidth=1)
    right.text(-0.06, height + 0.3, words, color=INK, weight="bold")
    for i, at in enumerate(z):
        below = 0.14 * (words[0] == "P") * (1 if i < 2 else -1)
        right.plot(at, height + below, MARKERS[i], color=COLORS[i], markersize=10)
        right.text(at + 0.035, height + below, names[i], color=INK, va="center")
right.set(xlim=(-0.08, 1.1), ylim=(-0.5, 2.6), xticks=[], yticks=[])
title(right, "one coordinate per point")
for ax in (left, right):
    quiet(ax)
    ax.spines[:].set_visible(False)

show(
    figure,
    f"On the first principal component A coincides with D ({flat[0]:.2f}) and B with C ({flat[1]:.2f}). Isomap finds "
    f"the order {order} along the circle, with the exact distances {steps[0]:.2f}, {steps[1]:.2f} and {steps[2]:.2f}.",
)

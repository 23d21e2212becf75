"""Ten airports laid out from their distances alone: a map, though it knows no north.

Classical scaling knows how far the cities are from each other, in miles, and nothing else: neither north from south
nor left from right. Turned, and mirrored where need be, but not stretched, its map is laid upon the true one
(crosses). What is left over is the earth's roundness: no flat map has all distances right.
"""

import numpy as np

from gallery import load_dataset, panels, show, title
from lowland import ClassicalMDS
from lowland.plots.style import INK, MARK, STRONG, WEAK

airports = load_dataset("airports")
EARTH = 3959  # miles from its centre
PLACES = {  # degrees north, degrees west of the cities
    "ATL": (33.75, 84.39), "ORD": (41.88, 87.63), "DEN": (39.74, 104.99), "HOU": (29.76, 95.37), "LAX": (34.05, 118.24),
    "MIA": (25.76, 80.19), "JFK": (40.71, 74.01), "SFO": (37.77, 122.42), "SEA": (47.61, 122.33), "IAD": (38.91, 77.04),
}  # fmt: skip
north, west = np.radians([PLACES[name] for name in airports.names]).T
middle = north.mean()
east = west.mean() - west
# seen from the middle of the country: right in direction and distance from there
cosine = np.sin(middle) * np.sin(north) + np.cos(middle) * np.cos(north) * np.cos(east)
across = np.cos(north) * np.sin(east)
up = np.cos(middle) * np.sin(north) - np.sin(middle) * np.cos(north) * np.cos(east)
true = EARTH * (np.arccos(cosine) / np.hypot(across, up))[:, None] * np.column_stack([across, up])
true -= true.mean(axis=0)

model = ClassicalMDS(2, metric="precomputed", all_eigenvalues=True).fit(airports.X)
Z = model.embedding_


def laid_upon(Z: np.ndarray, mirror: bool) -> np.ndarray:
    """The map turned so that it comes nearest to the true places, without stretching (Procrustes)."""
    U, _, Vt = np.linalg.svd(Z.T @ true)
    flip = np.sign(np.linalg.det(U @ Vt)) * (-1.0 if mirror else 1.0)
    return Z @ (U * [1.0, flip]) @ Vt


def off(Z: np.ndarray) -> float:
    """By how many miles the cities are off, as a root mean square."""
    return float(np.sqrt(((Z - true) ** 2).sum(axis=1).mean()))


turned, mirrored = laid_upon(Z, mirror=False), laid_upon(Z, mirror=True)
best = min(turned, mirrored, key=off)
assert off(best) < 50, "of some 2,700 miles"
assert max(off(turned), off(mirrored)) > 300, "its mirror image does not fit, and is just as good an answer"
assert model.dimensionality_ == 2, "two eigenvalues stand out"

figure, axes = panels(1, 2, (10, 4))
for ax, places, words in zip(
    axes.flat,
    (Z, best),
    ("As it comes: distances know no north", f"Turned and laid upon the true map: {off(best):.0f} miles off"),
    strict=True,
):
    ax.scatter(*places.T, s=30, color=STRONG, zorder=2, label="from distances")
    for name, place in zip(airports.names, places, strict=True):
        ax.annotate(name, place, xytext=(5, 4), textcoords="offset points", fontsize="small", color=INK)
    ax.set_aspect("equal", adjustable="datalim")
    ax.margins(0.1)
    ax.set(xlabel="miles", ylabel="miles")
    ax.spines[:].set_color(WEAK)
    title(ax, words)
axes[0, 1].scatter(*true.T, s=45, marker="x", color=MARK, linewidths=1.2, zorder=3, label="true place")
axes[0, 1].legend(frameon=False, labelcolor=INK, loc="lower left")
show(
    figure,
    f"From distances alone the ten cities are found {off(best):.0f} miles from their places (root mean square), on a"
    f" map {np.ptp(best[:, 0]):,.0f} miles wide; the mirror image, which has the same distances, is"
    f" {max(off(turned), off(mirrored)):.0f} miles off however it is turned.",
)

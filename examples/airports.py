"""Classical MDS recovers the map of ten airports from their distances, up to rotation and reflection.

Classical multidimensional scaling is given the distances between the cities in miles and nothing else. Its solution is
therefore determined up to rotation and reflection. A Procrustes rotation without scaling aligns it with the true map
(crosses). The remaining error is due to the curvature of the earth: no flat map preserves all distances.
"""

import numpy as np

from gallery import load_dataset, panels, show, title
from lowland import ClassicalMDS
from lowland.plots.style import INK, MARK, STRONG, WEAK

airports = load_dataset("airports")
EARTH = 3959  # radius in miles
PLACES = {  # latitude north and longitude west of the cities
    "ATL": (33.75, 84.39), "ORD": (41.88, 87.63), "DEN": (39.74, 104.99), "HOU": (29.76, 95.37), "LAX": (34.05, 118.24),
    "MIA": (25.76, 80.19), "JFK": (40.71, 74.01), "SFO": (37.77, 122.42), "SEA": (47.61, 122.33), "IAD": (38.91, 77.04),
}  # fmt: skip
north, west = np.radians([PLACES[name] for name in airports.names]).T
middle = north.mean()
east = west.mean() - west
# azimuthal equidistant projection about the center of the country
cosine = np.sin(middle) * np.sin(north) + np.cos(middle) * np.cos(north) * np.cos(east)
across = np.cos(north) * np.sin(east)
up = np.cos(middle) * np.sin(north) - np.sin(middle) * np.cos(north) * np.cos(east)
true = EARTH * (np.arccos(cosine) / np.hypot(across, up))[:, None] * np.column_stack([across, up])
true -= true.mean(axis=0)

model = ClassicalMDS(2, metric="precomputed", all_eigenvalues=True).fit(airports.X)
Z = model.embedding_


def aligned(Z: np.ndarray, mirror: bool) -> np.ndarray:
    """Align the embedding with the true map by a Procrustes rotation, without scaling."""
    U, _, Vt = np.linalg.svd(Z.T @ true)
    flip = np.sign(np.linalg.det(U @ Vt)) * (-1.0 if mirror else 1.0)
    return Z @ (U * [1.0, flip]) @ Vt


def off(Z: np.ndarray) -> float:
    """Root mean square error in miles."""
    return float(np.sqrt(((Z - true) ** 2).sum(axis=1).mean()))


turned, mirrored = aligned(Z, mirror=False), aligned(Z, mirror=True)
best = min(turned, mirrored, key=off)
assert off(best) < 50, "of some 2,700 miles"
assert max(off(turned), off(mirrored)) > 300, "the reflected map does not fit, although its distances are the same"
assert model.dimensionality_ == 2, "two large eigenvalues"

figure, axes = panels(1, 2, (10, 4))
for ax, places, words in zip(
    axes.flat,
    (Z, best),
    ("Embedding: arbitrary orientation", f"Aligned with the true map: RMS error {off(best):.0f} miles"),
    strict=True,
):
    ax.scatter(*places.T, s=30, color=STRONG, zorder=2, label="classical MDS")
    for name, place in zip(airports.names, places, strict=True):
        ax.annotate(name, place, xytext=(5, 4), textcoords="offset points", fontsize="small", color=INK)
    ax.set_aspect("equal", adjustable="datalim")
    ax.margins(0.1)
    ax.set(xlabel="miles", ylabel="miles")
    ax.spines[:].set_color(WEAK)
    title(ax, words)
axes[0, 1].scatter(*true.T, s=45, marker="x", color=MARK, linewidths=1.2, zorder=3, label="true position")
axes[0, 1].legend(frameon=False, labelcolor=INK, loc="lower left")
show(
    figure,
    "Classical MDS recovers the positions of ten cities from their distances with a root mean square error of "
    f"{off(best):.0f} miles, on a map {np.ptp(best[:, 0]):,.0f} miles wide. The reflected map has the same distances, "
    f"but an error of {max(off(turned), off(mirrored)):.0f} miles after any rotation.",
)

"""Half a sphere by every manifold method: most see a disc, but none can flatten it without stretching.

A thousand points within 90 degrees of the pole, coloured by the angle from it. The truth is the map that keeps
distance and direction from the pole; below each map is R² of its two coordinates by the best affine map. A sphere is
not a rolled-up sheet: by Gauss's theorem every flat map of it stretches something. Isomap's does so along the rim.
"""

import numpy as np

from gallery import show, title
from lowland.data import sphere
from sheets import explained, manifold_methods, manifold_panels, map_of

KS = (6, 8, 12, 20)
patch = sphere(1000, cap=90)
angle = np.degrees(np.arccos(patch.y))  # from the pole
names = list(manifold_methods(8))
figure, axes = manifold_panels(patch, angle, len(KS), len(names), "the two true coordinates")
found, maps = {}, {}
for k, line in zip(KS, axes, strict=True):
    for (name, model), ax in zip(manifold_methods(k).items(), line, strict=True):
        maps[name, k] = Z = model.fit_transform(patch.X)
        found[name, k] = explained(Z, patch.truth)
        map_of(ax, Z, angle, found[name, k])
    line[0].set_ylabel(f"k = {k}")
for name, ax in zip(names, axes[0], strict=True):
    title(ax, name)

folded = [name for name in names if min(found[name, 8]) < 0.5]
assert folded == ["LLE"], "with few neighbours the plain weights fold it"
assert all(min(found[name, 20]) > 0.9 for name in names), "with more of them all see the disc"
assert min(found["Isomap", 20]) > 0.99

# How much longer are ways on Isomap's map than on the sphere? From the pole to the rim, and along the rim
Z = maps["Isomap", 20]
rim, pole = np.flatnonzero(angle > 80), np.flatnonzero(angle < 15)


def stretch(rows, others, least):
    """How many times as long as on the sphere ways are on the map, if they are longer than some degrees."""
    on_sphere = np.arccos(np.clip(patch.X[rows] @ patch.X[others].T, -1, 1))
    on_map = np.linalg.norm(Z[rows][:, None] - Z[others][None], axis=2)
    some = (on_sphere > np.radians(least)) & (on_sphere < np.radians(90))
    return np.mean(on_map[some] / on_sphere[some])


around, outward = stretch(rim, rim, 45), stretch(pole, rim, 45)
assert around > 1.2 * outward
show(
    figure,
    f"With 8 neighbours plain LLE folds the disc (R² {min(found['LLE', 8]):.2f}), with 20 all methods see it (above "
    f"0.9). On Isomap's map ways from pole to rim are {outward:.2f} times as long as on the sphere, ways along the rim "
    f"{around:.2f} times: no flat map keeps both.",
)

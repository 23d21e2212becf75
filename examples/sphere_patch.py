"""A hemisphere by every manifold method: most find a disk, but none can flatten it without distortion.

A thousand points within 90 degrees of the pole, colored by the angle from it. The true coordinates are the azimuthal
equidistant projection, and the numbers are their R² in a linear regression on the embedding. A sphere is not
developable: by Gauss's theorem every flat map distorts some distances. Isomap stretches those along the rim.
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
assert folded == ["LLE"], "with few neighbors standard LLE folds it"
assert all(min(found[name, 20]) > 0.9 for name in names), "with more neighbors all methods find the disk"
assert min(found["Isomap", 20]) > 0.99

# Ratio of distances in the Isomap embedding to those on the sphere, from the pole to the rim and along the rim
Z = maps["Isomap", 20]
rim, pole = np.flatnonzero(angle > 80), np.flatnonzero(angle < 15)


def stretch(rows, others, least):
    """Mean ratio of distances in the embedding to those on the sphere, of ``least`` to 90 degrees."""
    on_sphere = np.arccos(np.clip(patch.X[rows] @ patch.X[others].T, -1, 1))
    on_map = np.linalg.norm(Z[rows][:, None] - Z[others][None], axis=2)
    some = (on_sphere > np.radians(least)) & (on_sphere < np.radians(90))
    return np.mean(on_map[some] / on_sphere[some])


around, outward = stretch(rim, rim, 45), stretch(pole, rim, 45)
assert around > 1.2 * outward
show(
    figure,
    f"With 8 neighbors standard LLE folds the disk (R² {min(found['LLE', 8]):.2f}), and with 20 all methods find it "
    f"(R² above 0.9). In the Isomap embedding distances from pole to rim are {outward:.2f} times those on the sphere, "
    f"distances along the rim {around:.2f} times: no flat map preserves both.",
)

"""Isomap of faces: 1,024 pixels, and three numbers move them all: left and right, up and down, and the light.

698 pictures of one modelled head, each joined to its 6 nearest. The first three coordinates are the pan and the tilt of
the head, and the direction of the light, which nobody told. The images are those along a path around the
map: the head looks the same way as the map goes. After Tenenbaum, de Silva and Langford (2000), figure 1.
"""

import numpy as np
from matplotlib.figure import Figure

from gallery import load_dataset, show, title
from lowland import Isomap, plots
from lowland.plots.style import STRONG, quiet

faces = load_dataset("isomap_faces")
isomap = Isomap(3, n_neighbors=6).fit(faces.X)
names = ("pan", "tilt", "light")
R = np.corrcoef(isomap.embedding_.T, faces.truth.T)[:3, 3:]  # (coordinate, what it might be)
Z = (
    isomap.embedding_ * np.sign(np.diag(R)) * [1, -1, 1]
)  # signs are free: who looks up is above, though tilt counts down
r = np.abs(np.diag(R))

assert isomap.n_connected_components_ == 1, "six neighbours join all faces"
assert all(r > (0.97, 0.85, 0.85)), "each coordinate is one of the three"
assert np.abs(R - np.diag(np.diag(R))).max() < 0.25, "and none of the others"

figure = Figure(figsize=(11, 6.2), layout="constrained")
axes = figure.subplot_mosaic([["map", name] for name in names], width_ratios=(3.6, 1))
(left, bottom), (right, top) = np.quantile(Z[:, :2], (0.06, 0.94), axis=0)
plots.thumbnails(
    Z, faces.X, faces.image_shape, count=18, colors="gray", size=12, ax=axes["map"],
    path=[[left, top], [right, top], [right, bottom], [left, bottom], [left, top]],
    axis_names=("coordinate 1", "coordinate 2"), title="698 faces on Isomap's map",
)  # fmt: skip
for i, name in enumerate(names):
    axes[name].scatter(Z[:, i], faces.truth[:, i], s=4, color=STRONG, linewidths=0)
    axes[name].set(xticks=[], yticks=[], xlabel=f"coordinate {i + 1}", ylabel=name)
    title(axes[name], f"|r| = {r[i]:.2f}")
    quiet(axes[name])
show(
    figure,
    f"Isomap's first three coordinates of 698 faces are the pan of the head (correlation {r[0]:.2f}), its tilt "
    f"({r[1]:.2f}) and the direction of the light ({r[2]:.2f}), none of which it was told.",
)

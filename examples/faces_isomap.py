"""Isomap of 698 face images recovers three parameters: left-right pose, up-down pose, and lighting.

698 images of a rendered head with 1,024 pixels, each connected to its 6 nearest neighbors. The first three coordinates
correspond to the pan and the tilt of the head and the direction of the light, which Isomap was not given. The images
shown lie along a path around the embedding. After Tenenbaum, de Silva and Langford (2000), figure 1.
"""

import numpy as np
from matplotlib.figure import Figure

from gallery import load_dataset, show, title
from lowland import Isomap, plots
from lowland.plots.style import STRONG, quiet

faces = load_dataset("isomap_faces")
isomap = Isomap(3, n_neighbors=6).fit(faces.X)
names = ("pan", "tilt", "light")
R = np.corrcoef(isomap.embedding_.T, faces.truth.T)[:3, 3:]  # (coordinate, parameter)
Z = isomap.embedding_ * np.sign(np.diag(R)) * [1, -1, 1]  # signs are arbitrary: faces that look up are at the top
r = np.abs(np.diag(R))

assert isomap.n_connected_components_ == 1, "the graph of six neighbors is connected"
assert all(r > (0.97, 0.85, 0.85)), "each coordinate corresponds to one parameter"
assert np.abs(R - np.diag(np.diag(R))).max() < 0.25, "and to none of the others"

figure = Figure(figsize=(11, 6.2), layout="constrained")
axes = figure.subplot_mosaic([["map", name] for name in names], width_ratios=(3.6, 1))
(left, bottom), (right, top) = np.quantile(Z[:, :2], (0.06, 0.94), axis=0)
plots.thumbnails(
    Z, faces.X, faces.image_shape, count=18, colors="gray", size=12, ax=axes["map"],
    path=[[left, top], [right, top], [right, bottom], [left, bottom], [left, top]],
    axis_names=("coordinate 1", "coordinate 2"), title="Isomap of 698 faces",
)  # fmt: skip
for i, name in enumerate(names):
    axes[name].scatter(Z[:, i], faces.truth[:, i], s=4, color=STRONG, linewidths=0)
    axes[name].set(xticks=[], yticks=[], xlabel=f"coordinate {i + 1}", ylabel=name)
    title(axes[name], f"|r| = {r[i]:.2f}")
    quiet(axes[name])
show(
    figure,
    f"The first three Isomap coordinates of 698 faces correlate with the pan of the head ({r[0]:.2f}), its tilt "
    f"({r[1]:.2f}) and the direction of the light ({r[2]:.2f}), which were not part of the input.",
)

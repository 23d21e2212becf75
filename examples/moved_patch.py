"""A small face moved over a picture, by LLE and by PCA: 961 places, and the grid they make.

A face of 20 x 20 pixels at each of 31 x 31 places in pictures of 50 x 50, over fresh noise. The pictures lie on a
curved sheet, and its two coordinates are the place. LLE with 4 neighbours lays it flat; PCA only casts its shadow on
a plane, where the border (red) is folded in. After Saul and Roweis (2003), Think globally, fit locally.
"""

import numpy as np

from gallery import panels, show
from lowland import PCA, LocallyLinearEmbedding, plots
from lowland.data import moved_patch
from lowland.quality.procrustes import Procrustes
from sheets import explained

patch = moved_patch(961)
places = patch.truth * [1, -1]  # to the right, and up
grid = np.arange(961).reshape(31, 31)
border = np.concatenate([grid[0, :-1], grid[:-1, -1], grid[-1, :0:-1], grid[:0:-1, 0], grid[0, :1]])
corners = grid[[0, 0, -1, -1], [0, -1, 0, -1]]

models = {"LLE, 4 neighbours": LocallyLinearEmbedding(2, n_neighbors=4), "PCA": PCA(2)}
figure, (axes,) = panels(1, 2, (11, 5.5))
found, reach = {}, {}
for (name, model), ax in zip(models.items(), axes, strict=True):
    Z = model.fit_transform(patch.X)
    Z = Procrustes.onto(Z, places)(Z)  # turned, mirrored and scaled to be compared: no more than that
    found[name] = explained(Z, places)
    radius = np.linalg.norm(Z - Z.mean(axis=0), axis=1)
    reach[name] = radius[corners].mean() / radius.mean()
    plots.thumbnails(
        Z, patch.X, patch.image_shape, border[:-1:8], path=Z[border], ax=ax, size=9,
        title=f"{name}: R² of the place {found[name].mean():.2f}",
    )  # fmt: skip

lle, pca = models
assert models[lle].n_connected_components_ == 1, "four neighbours join all places"
assert found[lle].min() > 0.95
assert found[pca].max() < 0.85
assert reach[lle] > 1.2, "the corners of the grid are corners of the map"
assert reach[pca] < 0.8, "here they lie further in than most places"
show(
    figure,
    f"LLE finds the place of the face with R² {found[lle].mean():.2f}, PCA with {found[pca].mean():.2f}: its map puts "
    f"the corners {reach[pca]:.1f} times as far from the middle as the average place, LLE's {reach[lle]:.1f} times.",
)

"""Images of a translated face patch: LLE recovers the grid of 961 positions, PCA distorts it.

A patch of 20 x 20 pixels is placed at 31 x 31 positions in images of 50 x 50 pixels with random backgrounds. The images
lie on a curved surface whose two coordinates are the position. LLE with 4 neighbors flattens it. PCA projects it onto a
plane, where the border (red) is folded inward. After Saul and Roweis (2003), Think globally, fit locally.
"""

import numpy as np

from gallery import panels, show
from lowland import PCA, LocallyLinearEmbedding, plots
from lowland.data import moved_patch
from lowland.quality.alignment import Procrustes
from sheets import explained

patch = moved_patch(961)
places = patch.truth * [1, -1]  # to the right, and up
grid = np.arange(961).reshape(31, 31)
border = np.concatenate([grid[0, :-1], grid[:-1, -1], grid[-1, :0:-1], grid[:0:-1, 0], grid[0, :1]])
corners = grid[[0, 0, -1, -1], [0, -1, 0, -1]]

models = {"LLE, 4 neighbors": LocallyLinearEmbedding(2, n_neighbors=4), "PCA": PCA(2)}
figure, (axes,) = panels(1, 2, (11, 5.5))
found, reach = {}, {}
for (name, model), ax in zip(models.items(), axes, strict=True):
    Z = model.fit_transform(patch.X)
    Z = Procrustes.onto(Z, places)(Z)  # rotation, reflection and scaling only
    found[name] = explained(Z, places)
    radius = np.linalg.norm(Z - Z.mean(axis=0), axis=1)
    reach[name] = radius[corners].mean() / radius.mean()
    plots.thumbnails(
        Z, patch.X, patch.image_shape, border[:-1:8], path=Z[border], ax=ax, size=9,
        title=f"{name}: R² of the position {found[name].mean():.2f}",
    )  # fmt: skip

lle, pca = models
assert models[lle].n_connected_components_ == 1, "the graph of four neighbors is connected"
assert found[lle].min() > 0.95
assert found[pca].max() < 0.85
assert reach[lle] > 1.2, "the corners of the grid are corners of the embedding"
assert reach[pca] < 0.8, "here they lie closer to the center than most positions"
show(
    figure,
    f"LLE recovers the position of the patch with R² {found[lle].mean():.2f}, PCA with {found[pca].mean():.2f}. "
    f"Relative to the mean distance from the center, the corners are at {reach[lle]:.1f} with LLE and "
    f"{reach[pca]:.1f} with PCA.",
)

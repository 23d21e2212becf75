"""Locally linear embedding of 1,965 video frames of a face orders them by pose and expression.

1,965 frames of Brendan Frey's face with 560 pixels, each reconstructed from its 12 nearest neighbors. The images shown
lie along a path through the embedding. Consecutive frames of the video are close together in the embedding, although
LLE was not given their order. After Roweis and Saul (2000), figure 3.
"""

import numpy as np

from gallery import load_dataset, panels, show, title
from lowland import LocallyLinearEmbedding, plots
from lowland.plots.style import STRONG, WEAK, quiet

film = load_dataset("frey")
lle = LocallyLinearEmbedding(2, n_neighbors=12).fit(film.X)
Z = lle.embedding_[:, ::-1]  # the order of the axes is arbitrary

following = np.linalg.norm(np.diff(Z, axis=0), axis=1)
other = np.random.default_rng(0).permutation(len(Z))
apart = np.linalg.norm(Z - Z[other], axis=1)
near, far = np.median(following), np.median(apart)
assert lle.n_connected_components_ == 1, "the graph of twelve neighbors is connected"
assert far > 5 * near, "consecutive frames are close together"

figure, ((map_, pairs),) = panels(1, 2, (11, 5.6), width_ratios=(3.2, 1))
plots.thumbnails(
    Z, film.X, film.image_shape, count=16, colors="gray", ax=map_, size=8,
    axis_names=("coordinate 2", "coordinate 1"), title="LLE of 1,965 frames",
)  # fmt: skip
edges = np.geomspace(1e-5, apart.max(), 40)
pairs.hist(apart, edges, color=WEAK, label="random pairs")
pairs.hist(following, edges, color=STRONG, alpha=0.7, label="consecutive frames")
pairs.set_xscale("log")
pairs.set(yticks=[], xlabel="distance in the embedding")
pairs.legend(frameon=False, loc="upper left", fontsize="small")
title(pairs, "Distances")
quiet(pairs)
show(
    figure,
    f"In the embedding of 1,965 frames, consecutive frames are {far / near:.0f} times closer together than random "
    "pairs (medians), although the order of the frames was not part of the input.",
)

"""Locally linear embedding of a film: the moods of one face, without a word about them.

1,965 frames of a film of Brendan Frey's face, 560 pixels each, each written as a mix of its 12 nearest. The images are
those along a walk over the map, from one end to the other. Frames that follow each other in the film lie near
each other on the map, though LLE was not told their order. After Roweis and Saul (2000), figure 3.
"""

import numpy as np

from gallery import load_dataset, panels, show, title
from lowland import LocallyLinearEmbedding, plots
from lowland.plots.style import STRONG, WEAK, quiet

film = load_dataset("frey")
lle = LocallyLinearEmbedding(2, n_neighbors=12).fit(film.X)
Z = lle.embedding_[:, ::-1]  # which of the two lies flat is free

following = np.linalg.norm(np.diff(Z, axis=0), axis=1)
other = np.random.default_rng(0).permutation(len(Z))
apart = np.linalg.norm(Z - Z[other], axis=1)
near, far = np.median(following), np.median(apart)
assert lle.n_connected_components_ == 1, "twelve neighbours join all frames"
assert far > 5 * near, "the order of the film can be seen"

figure, ((map_, pairs),) = panels(1, 2, (11, 5.6), width_ratios=(3.2, 1))
plots.thumbnails(
    Z, film.X, film.image_shape, count=16, colors="gray", ax=map_, size=8,
    axis_names=("coordinate 2", "coordinate 1"), title="1,965 frames on LLE's map",
)  # fmt: skip
edges = np.geomspace(1e-5, apart.max(), 40)
pairs.hist(apart, edges, color=WEAK, label="any two frames")
pairs.hist(following, edges, color=STRONG, alpha=0.7, label="one after the other")
pairs.set_xscale("log")
pairs.set(yticks=[], xlabel="distance on the map")
pairs.legend(frameon=False, loc="upper left", fontsize="small")
title(pairs, "How far apart")
quiet(pairs)
show(
    figure,
    f"On the map of 1,965 frames two that follow each other in the film lie {far / near:.0f} times nearer to each "
    "other than two drawn at random (medians), though the order of the film was not told.",
)

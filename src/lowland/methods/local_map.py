"""LocalMAP."""

from __future__ import annotations

from lowland.math.embeddings.pairs import LocalAdjustment, Pairs
from lowland.methods.base import costs
from lowland.methods.base.choices import positional
from lowland.methods.base.pair_embedding import PairEmbedding, graph_neighbors
from lowland.methods.base.traits import StudyHints


class LocalMAP(
    PairEmbedding,
    verb="localmap",
    group="Neighbor embeddings",
    cost=costs.pairs,
    order_free=False,
    min_rows=4,
    study=StudyHints(parameters={"n_neighbors": None}, graph_neighbors=graph_neighbors),
    warm={"num_iters": (0, 0, 450)},  # the first two phases would rearrange the points
    quick={"num_iters": (20, 20, 40)},
):
    """LocalMAP: PaCMAP whose last phase adjusts the pairs to the map, so that nearby clusters separate.

    The first two phases are those of ``PaCMAP``. From the second iteration of the third phase on, with
    D_ij = 1 + |z_i - z_j|² and the radius r = low_dist_thres,

    - the attraction between neighbors is multiplied by (r / 2) / sqrt(D): stronger than PaCMAP's within about r / 2,
      weaker beyond, so that false neighbors, which lie far apart in the map, attract each other less.
    - every ten iterations, the further pairs are drawn again among points within r of each other in the map: the
      repulsion acts where clusters touch.

    1. Pairs, initialization and the first two phases as in ``PaCMAP``.
    2. The third phase with adjusted forces and pairs.
    3. New points: the minimum of the attraction by their nearest training points.

    See Also
    --------
    PaCMAP : the same without the last phase.
    UMAP : attraction and repulsion on a neighbor graph.

    Notes
    -----
    The same seed gives the same bits on any number of threads.

    Gaps between clusters are exaggerated: a gap in the map does not prove a gap in the data. Prefer ``PaCMAP`` if
    continuous transitions matter.

    References
    ----------
    Wang, Sun, Huang and Rudin 2025, Dimension reduction with locally adjusted graphs, Proceedings of the AAAI
    Conference on Artificial Intelligence 39, doi:10.1609/aaai.v39i20.35436.

    Examples
    --------
    >>> import numpy as np
    >>> from lowland import LocalMAP
    >>> rng = np.random.default_rng(0)
    >>> X = np.concatenate([rng.normal(0, 1, (60, 5)), rng.normal(9, 1, (60, 5))])
    >>> Z = LocalMAP(random_state=0).fit_transform(X)
    >>> gap = np.linalg.norm(Z[:60].mean(axis=0) - Z[60:].mean(axis=0))
    >>> bool(gap > 2 * Z[:60].std(axis=0).max())  # two clusters
    True
    """

    low_dist_thres: float = positional(
        10.0,
        "Distance in the map within which further pairs are drawn in the last phase. A smaller one separates only "
        "clusters that nearly touch.",
        above=0,
    )

    def _adjustment(self, near: Pairs) -> LocalAdjustment:
        first, second, _ = self._iterations()
        return LocalAdjustment(float(self.low_dist_thres), first + second, near, self.seed_)

"""PaCMAP."""

from __future__ import annotations

from lowland.methods.base import costs
from lowland.methods.base.pair_embedding import PairEmbedding, graph_neighbors
from lowland.methods.base.traits import StudyHints


class PaCMAP(
    PairEmbedding,
    verb="pacmap",
    group="Neighbor embeddings",
    cost=costs.pairs,
    order_free=False,
    min_rows=4,
    study=StudyHints(parameters={"n_neighbors": None}, graph_neighbors=graph_neighbors),
    warm={"num_iters": (0, 0, 450)},  # the first two phases would rearrange the points
    quick={"num_iters": (20, 20, 40)},
):
    """PaCMAP: neighbors attract, mid-near pairs first arrange the map as a whole, further pairs repel.

    With D_ij = 1 + |z_i - z_j|², minimize

        w_NN sum D / (10 + D) + w_MN sum D / (10,000 + D) + w_FP sum 1 / (1 + D)

    over the neighbors, the mid-near pairs and the further pairs of all points. The weights change in three phases.

    1. Reduce more than 100 columns to 100 by PCA, and search 60 candidates.
    2. Choose the pairs. Neighbors are the 10 candidates with the smallest d² / (scale_i scale_j), where the scale of a
       point is its mean distance to its neighbors 4 to 6. Mid-near pairs are 5 times the second nearest of six random
       points. Further pairs are 20 random points that are not neighbors.
    3. Start at 0.01 times the principal components.
    4. Minimize by Adam.
    5. New points: the minimum of the attraction by their nearest training points.

    See Also
    --------
    LocalMAP : clearer gaps between clusters.
    UMAP : pairs of a neighbor graph only.
    TSNE : the most accurate neighborhoods.

    Notes
    -----
    The same seed gives the same bits on any number of threads. The distances between clusters and their sizes have
    little meaning.

    Prefer ``PCA`` if distances matter, and ``LocalMAP`` if clusters should be separated more clearly.

    References
    ----------
    Wang, Huang, Rudin and Shaposhnik 2021, Understanding how dimension reduction tools work: an empirical approach to
    deciphering t-SNE, UMAP, TriMap, and PaCMAP for data visualization, Journal of Machine Learning Research 22(201),
    doi:10.48550/arXiv.2012.04456.

    Examples
    --------
    >>> import numpy as np
    >>> from lowland import PaCMAP
    >>> rng = np.random.default_rng(0)
    >>> X = np.concatenate([rng.normal(0, 1, (60, 5)), rng.normal(9, 1, (60, 5))])
    >>> Z = PaCMAP(random_state=0).fit_transform(X)
    >>> gap = np.linalg.norm(Z[:60].mean(axis=0) - Z[60:].mean(axis=0))
    >>> bool(gap > 2 * Z[:60].std(axis=0).max())  # two clusters
    True
    """

"""Feature agglomeration."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection
from functools import partial
from typing import Any, Literal, Protocol, runtime_checkable

import numpy as np
from sklearn.utils import Tags
from sklearn.utils.validation import check_memory

from lowland.arrays.namespace import to_numpy
from lowland.data.rows import Rows
from lowland.errors import DataError, ParameterError
from lowland.math.optimize.outcome import Outcome
from lowland.math.selection.column_clustering import (
    EUCLIDEAN,
    METRIC_NAMES,
    ClusterTree,
    Graph,
    Linkage,
    PoolColumns,
    cluster_tree,
    column_distances,
    connectivity_graph,
    constrained_tree,
    cut_tree,
    named_groups,
    uses_spanning_tree,
)
from lowland.methods.base import costs
from lowland.methods.base.choices import ignored, positional
from lowland.methods.base.column_map import TakeColumns
from lowland.methods.base.method import InvertibleMethod, attribute, param
from lowland.run.run import Run
from lowland.suggestions import did_you_mean


@runtime_checkable
class JoblibMemory(Protocol):
    """The interface of joblib.Memory."""

    def cache(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Cache the results of a function."""


class FeatureAgglomeration(
    InvertibleMethod,
    verb="agglomerate",
    title="feature agglomeration",
    group="Columns",
    cost=costs.column_tree,
    scale_free=True,
    streams=True,
    all_rows=(lambda p: p.connectivity is not None and p.linkage == "ward", "with `connectivity` and Ward's linkage"),
    width_parameter="n_clusters",
    min_rows=1,
):
    """Feature agglomeration: hierarchical clustering of the columns, with one new column for each cluster.

    Problem: starting with one cluster per column, repeatedly merge the two nearest clusters A and B. Ward's linkage
    merges those with the smallest increase of the within-cluster sum of squares, |A||B|/(|A| + |B|) · |m_A - m_B|²,
    where m is the mean column. Average, complete and single linkage use the mean, largest or smallest distance between
    their columns. The tree is then cut into k clusters.

    1. Compute the distances of all pairs of columns: Euclidean, cosine and correlation distances from the moments in
       one pass. Pairs that would suffer from cancellation are recomputed from their differences in a second pass.
    2. Merge clusters with the nearest-neighbor chain algorithm, or with ``connectivity`` by scikit-learn's constrained
       trees.
    3. Cut the tree at a number of clusters or at a height.
    4. ``transform`` averages the columns of each cluster. The inverse transform assigns every column the value of its
       cluster.

    See Also
    --------
    PCA : weighted sums of all columns.
    FeatureFilter : selects columns instead of merging them.

    Notes
    -----
    Standardize columns in different units first, or use metric='correlation'. Prefer ``PCA`` if arbitrary linear
    combinations of the columns are acceptable: it keeps more variance with as many components. Prefer
    ``SequentialFeatureSelector`` to keep some columns unchanged.

    References
    ----------
    Ward 1963, Hierarchical grouping to optimize an objective function, Journal of the American Statistical Association
    58, doi:10.1080/01621459.1963.10500845.

    Lance and Williams 1967, A general theory of classificatory sorting strategies: 1. Hierarchical systems, The
    Computer Journal 9, doi:10.1093/comjnl/9.4.373.

    Examples
    --------
    >>> from lowland import FeatureAgglomeration
    >>> from lowland.data import load_dataset
    >>> groups = FeatureAgglomeration(2, metric="correlation", linkage="average").fit(load_dataset("iris").X)
    >>> groups.labels_.tolist(), groups.transform(load_dataset("iris").X).shape
    ([0, 1, 0, 0], (150, 2))
    """

    n_clusters: int | None = positional(
        2,
        "Number of clusters into which the tree is cut, and of columns of the result. None if distance_threshold "
        "is set.",
        at_least=1,
    )
    metric: str | Callable[..., Any] = param(
        "euclidean",
        "Distance between columns: euclidean, manhattan, cosine, correlation, absolute-correlation and others, or "
        "a function that returns all pairwise distances, or precomputed: X holds the distances.",
    )
    memory: str | JoblibMemory | None = param(
        None,
        "Folder or joblib.Memory that caches the tree, so that another cut needs no new tree.",
        wanted="the path of a folder, an object such as joblib.Memory, or None",
    )
    connectivity: Graph | Collection | Callable[..., Any] | None = param(
        None,
        "Adjacency matrix of the columns that may merge, or a function that returns it. None means that any two "
        "may merge.",
        wanted="a square matrix with one row and column per column of the data, a function that returns one, or None",
    )
    compute_full_tree: Literal["auto"] | bool = param(
        "auto",
        "With connectivity: whether to continue merging below n_clusters. 'auto' does so if n_clusters is small.",
    )
    linkage: Linkage = param(
        "ward",
        "Distance between clusters: 'ward' (increase of variance), or the largest ('complete'), the mean "
        "('average') or the smallest ('single') distance of their columns.",
    )
    pooling_func: Literal["mean", "median", "max", "min"] | Callable[..., Any] = param(
        "mean", "Statistic that pools the columns of a cluster, or a function of them and axis=1."
    )
    distance_threshold: float | None = param(
        None,
        "Cut the tree at this height instead of at n_clusters, which must be None. A lower height gives more clusters.",
        at_least=0,
        at_most=math.inf,
    )
    compute_distances: bool = ignored(False, "distances are always computed")

    labels_: np.ndarray = attribute("Cluster of each column.", "(n_features_in_,)")
    n_clusters_: int = attribute("Number of clusters.")
    children_: np.ndarray = attribute(
        "The two nodes of each merge. Nodes below n_leaves_ are columns, node n_leaves_ + i is merge i.",
        "(n_merges, 2)",
    )
    distances_: np.ndarray = attribute("Distance between the two clusters of each merge.", "(n_merges,)")
    n_leaves_: int = attribute("Number of leaves of the tree: the columns.")
    n_connected_components_: int = attribute("Number of connected components of the connectivity graph.")

    def _solve(self, rows: Rows, run: Run, y: np.ndarray | None, weights: np.ndarray | None) -> None:
        self._check(rows.d)
        tree = self._tree(rows, run)
        k = self.n_clusters
        if k is None:
            assert self.distance_threshold is not None
            k = tree.n_clusters_at(self.distance_threshold)
        self.n_clusters_ = int(k)
        self.labels_ = cut_tree(tree, self.n_clusters_)
        self.children_, self.distances_ = tree.children, tree.heights
        self.n_leaves_, self.n_connected_components_ = rows.d, tree.n_connected_components

    def _tree(self, rows: Rows, run: Run) -> ClusterTree:
        keep = check_memory(self.memory).cache
        by_ward = self.linkage == "ward" and self.metric == "correlation"
        if self.connectivity is None:
            D, self.n_samples_ = column_distances(rows, run, self.metric, as_euclidean=by_ward)
            self._record_convergence(Outcome("agglomerative", f"{self.linkage} linkage, all pairs of columns"))
            return keep(cluster_tree)(D, self.linkage, spanning_tree=uses_spanning_tree(self.metric))

        def columns() -> np.ndarray:
            X = to_numpy(run.to_array(rows, "FeatureAgglomeration with connectivity"))
            return np.ascontiguousarray(X.T, dtype=np.float64)

        links = connectivity_graph(self.connectivity, rows.d, columns)
        if self.linkage == "ward":
            points = columns()
            self.n_samples_ = points.shape[1]
        else:
            points, self.n_samples_ = column_distances(rows, run, self.metric)
        stop = None if self._whole(rows.d) else self.n_clusters
        self._record_convergence(Outcome("agglomerative", f"{self.linkage} linkage, along the connectivity graph"))
        return keep(constrained_tree)(links, points, self.linkage, stop)

    def _whole(self, d: int) -> bool:
        """Whether a constrained tree is built up to its root."""
        if self.compute_full_tree != "auto":
            return bool(self.compute_full_tree)
        return self.n_clusters is None or self.n_clusters < max(100, 0.02 * d)  # scikit-learn's rule

    def _check(self, d: int) -> None:
        k, height, metric = self.n_clusters, self.distance_threshold, self.metric
        refuse = partial(ParameterError, method="FeatureAgglomeration")
        if d < 2:
            raise DataError(
                f"The data has {d} column (`{d} feature(s), n_features={d}`), but FeatureAgglomeration needs at least "
                "2. Pass at least 2 columns."
            )
        if (k is None) == (height is None):
            reason = "exactly one of `n_clusters` and `distance_threshold` has to be set,"
            raise refuse(reason, "and the other needs to be `None`.", n_clusters=k, distance_threshold=height)
        if k is not None and k > d:
            raise refuse(f"the data has {d} columns (`n_features={d}`).", f"Choose at most {d}.", n_clusters=k)
        if height is not None and not self.compute_full_tree:
            raise refuse("`compute_full_tree` must be `True` if `distance_threshold` is set.")
        if isinstance(metric, str) and metric not in METRIC_NAMES:
            remedy = f"{did_you_mean(metric, METRIC_NAMES)}Choose one of {', '.join(METRIC_NAMES)}, or a function."
            raise refuse("unknown metric.", remedy, metric=metric)
        on_links = self.connectivity is not None
        if self.linkage == "ward" and metric not in (EUCLIDEAN if on_links else (*EUCLIDEAN, "correlation")):
            raise refuse(
                f"{metric if isinstance(metric, str) else 'a function'} was provided as metric. Ward can only work "
                "with euclidean distances (i.e. 'euclidean' and 'l2'; without connectivity also 'correlation', as the "
                "Euclidean distance of standardized columns).",
                "Choose `linkage='average'`.",
            )

    # --- rows and clusters ---

    def _encoding(self) -> PoolColumns:
        return PoolColumns(self.labels_, self._params.pooling_func)

    def inverse_transform(self, X: Any) -> Any:
        """Return rows in which every column has the value of its cluster, (n, d), or (d,) for a vector of k."""
        single = getattr(X, "ndim", None) == 1
        rows = super().inverse_transform(X[None, :] if single else X)
        return rows[0, :] if single else rows

    def _decoding(self) -> TakeColumns:
        return TakeColumns(self.labels_, keep_nan=True)  # each column has the value of its cluster

    def _encoding_width(self) -> int:
        return int(self.n_clusters_)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.array_api_support = False  # the tree is built on the host, and its attributes stay there
        tags.estimator_type = "clusterer"  # of columns, as in scikit-learn
        return tags

    def _facts(self) -> dict[str, Any]:
        names = getattr(self, "feature_names_in_", [f"x{j}" for j in range(self.n_features_in_)])
        return {"clusters": named_groups(self.labels_, names), "height of the last merge": float(self.distances_[-1])}

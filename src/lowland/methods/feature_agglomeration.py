"""Feature agglomeration."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any, Literal

import numpy as np
from sklearn.utils import Tags
from sklearn.utils.validation import check_memory

from lowland.arrays.namespace import to_numpy
from lowland.blocks.selection.column_clustering import (
    EUCLIDEAN,
    METRIC_NAMES,
    ClusterTree,
    Graph,
    JoblibMemory,
    Linkage,
    PoolColumns,
    SpreadGroups,
    column_distances,
    cut,
    grown,
    grown_along,
    links_of,
    named_groups,
    spans,
)
from lowland.data.rows import Rows
from lowland.errors import DataError, ParameterError
from lowland.methods.base.estimator import param
from lowland.methods.base.parameters import check_saved
from lowland.methods.base.row_map import RowMap
from lowland.run.run import Run


class FeatureAgglomeration(RowMap, verb="agglomerate", streams=True, width_parameter="n_clusters", min_rows=1):
    """Feature agglomeration: columns that are alike are joined, two groups at a time, and each group becomes one.

    Problem: a tree of the columns; at each join the two groups that are nearest, by the variance that joining them
    adds (Ward) or by the mean, largest or smallest distance of their columns. A cut leaves k groups.

    1. Find the distances of all pairs of columns: straight ones, cosines and correlations from the moments, summed in
       one pass; pairs so near that digits are lost, from their differences in a second (``blocks.selection.column_clustering``).
    2. Join groups by the chain of nearest neighbours; along given links by scikit-learn's own trees.
    3. Cut the tree at a number of groups or at a height.
    4. Coordinates are the mean of each group's columns; the way back gives every column its group's.

    Cost: n d² operations and one pass for the distances, d² for the tree; memory d². Prefer ``PCA`` where any sums of
    columns will do, ``SequentialFeatureSelector`` where columns should be kept as they are.

    Attributes: ``labels_`` (d,) the group of each column, ``n_clusters_``, ``children_`` (d - 1, 2) who joins whom,
    ``distances_`` (d - 1,) how far apart they are, ``n_leaves_``, ``n_connected_components_``, ``n_samples_``.

    Reference: Ward 1963, doi:10.1080/01621459.1963.10500845; Lance and Williams 1967, doi:10.1093/comjnl/9.4.373.

    Examples
    --------
    >>> from lowland import FeatureAgglomeration
    >>> from lowland.data import load_dataset
    >>> groups = FeatureAgglomeration(2, metric="correlation", linkage="average").fit(load_dataset("iris").X)
    >>> groups.labels_.tolist(), groups.transform(load_dataset("iris").X).shape
    ([0, 1, 0, 0], (150, 2))
    """

    n_clusters: int | None = param(
        2, "Groups to cut the tree into; None with distance_threshold.", at_least=1, positional=True
    )
    metric: str | Callable[..., Any] = param(
        "euclidean",
        "How columns are apart: euclidean, manhattan, cosine, correlation, absolute-correlation and others, or a "
        "function that makes distances of all columns; 'precomputed': X holds the distances.",
    )
    memory: str | JoblibMemory | None = param(
        None,
        "Folder or joblib.Memory that keeps the tree for another cut.",
        wanted="the path of a folder, an object such as joblib.Memory, or None",
    )
    connectivity: Graph | Collection | Callable[..., Any] | None = param(
        None,
        "Matrix of the columns that are neighbours, or a function that makes it of them; None: all are.",
        wanted="a matrix with a row and a column for each column of the data, a function that makes one, or None",
    )
    compute_full_tree: Literal["auto"] | bool = param(
        "auto", "With connectivity: whether to go on joining after n_clusters; auto: where these are few."
    )
    linkage: Linkage = param(
        "ward", "What makes groups near: the variance added, or the largest, mean or smallest distance."
    )
    pooling_func: Literal["mean", "median", "max", "min"] | Callable[..., Any] = param(
        "mean", "What a group's columns become, or a function of them and axis=1."
    )
    distance_threshold: float | None = param(
        None, "Cut the tree at this height instead of at n_clusters, which must be None.", at_least=0
    )
    compute_distances: bool = param(False, "Accepted as in scikit-learn; distances are always kept.")

    def _solve(self, rows: Rows, run: Run, y: np.ndarray | None, weights: np.ndarray | None) -> None:
        """Distances of the columns, a tree, a cut."""
        self._check(rows.d)
        tree = self._tree(rows, run)
        k = self.n_clusters
        if k is None:
            k = int(np.count_nonzero(tree.heights >= self.distance_threshold)) + 1
        self.n_clusters_ = int(k)
        self.labels_ = cut(tree, rows.d, self.n_clusters_)
        self.children_, self.distances_ = tree.children, tree.heights
        self.n_leaves_, self.n_connected_components_ = rows.d, tree.parts

    def _tree(self, rows: Rows, run: Run) -> ClusterTree:
        keep = check_memory(self.memory).cache
        on_angles = self.linkage == "ward" and self.metric == "correlation"
        if self.connectivity is None:
            D, self.n_samples_ = column_distances(rows, run, self.metric, squared_angles=on_angles)
            return keep(grown)(D, self.linkage, as_spanned=spans(self.metric))

        def columns() -> np.ndarray:
            X = to_numpy(run.to_array(rows, "FeatureAgglomeration with connectivity"))
            return np.ascontiguousarray(X.T, dtype=np.float64)

        links = links_of(self.connectivity, rows.d, columns)
        if self.linkage == "ward":
            points = columns()
            self.n_samples_ = points.shape[1]
        else:
            points, self.n_samples_ = column_distances(rows, run, self.metric)
        return keep(grown_along)(links, points, self.linkage, None if self._whole(rows.d) else self.n_clusters)

    def _whole(self, d: int) -> bool:
        """Whether the tree along links goes on to its root."""
        if self.compute_full_tree != "auto":
            return bool(self.compute_full_tree)
        return self.n_clusters is None or self.n_clusters < max(100, 0.02 * d)  # scikit-learn's rule

    def _check(self, d: int) -> None:
        """Refuse what makes no sense before the rows are read."""
        k, metric, owner = self.n_clusters, self.metric, type(self).__name__
        if d < 2:
            raise DataError(
                f"Found array with {d} feature(s) (n_features={d}) while a minimum of 2 is required by {owner}. One "
                "column has nothing to be joined to: pass more."
            )
        if (k is None) == (self.distance_threshold is None):
            raise ParameterError(
                f"{owner}(n_clusters={k}, distance_threshold={self.distance_threshold}): exactly one of n_clusters and "
                "distance_threshold has to be set, and the other needs to be None."
            )
        if k is not None and k > d:
            raise ParameterError(f"{owner}(n_clusters={k}): n_features={d}. Choose at most {d}.")
        if self.distance_threshold is not None and not self.compute_full_tree:
            raise ParameterError(f"{owner}: compute_full_tree must be True if distance_threshold is set.")
        if isinstance(metric, str) and metric not in METRIC_NAMES:
            raise ParameterError(f"{owner}(metric={metric!r}): choose one of {', '.join(METRIC_NAMES)}, or a function.")
        on_links = self.connectivity is not None
        if self.linkage == "ward" and metric not in (EUCLIDEAN if on_links else (*EUCLIDEAN, "correlation")):
            shown = metric if isinstance(metric, str) else "a function"
            raise ParameterError(
                f"{owner}: {shown} was provided as metric. Ward can only work with euclidean distances (i.e. "
                "'euclidean' and 'l2'; without connectivity also 'correlation', as the straight distance of "
                "standardised columns). Choose linkage='average'."
            )

    # --- rows and groups ---

    def _encoding(self) -> PoolColumns:
        check_saved(self, "pooling_func")
        return PoolColumns(self.labels_, self.pooling_func)

    def _decoding(self) -> SpreadGroups:
        return SpreadGroups(self.labels_)

    def _encoding_width(self) -> int:
        return int(self.n_clusters_)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.array_api_support = False  # the tree grows on the host, and what describes it stays there
        return tags

    def _facts(self) -> dict[str, Any]:
        names = getattr(self, "feature_names_in_", [f"x{j}" for j in range(self.n_features_in_)])
        return {"groups": named_groups(self.labels_, names), "highest join": float(self.distances_[-1])}

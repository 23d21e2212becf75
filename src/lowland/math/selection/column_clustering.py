"""Hierarchical clustering of columns: the tree of their distances, its cuts, and the pooling of each cluster."""

from __future__ import annotations

import heapq
import warnings
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any, Literal, Protocol, runtime_checkable

import numpy as np

from lowland.arrays.namespace import Array, like, to_numpy, xp_of
from lowland.errors import DataWarning, ParameterError, warn
from lowland.math.statistics.rescaling import power_of_two
from lowland.run.run import all_finite

Linkage = Literal["ward", "complete", "average", "single"]

_BY_SCIPY = ("cosine", "correlation", "sqeuclidean", "yule", "absolute-correlation", "precomputed")
_FUNCTIONS: dict[str, Any] = {"mean": np.mean, "median": np.median, "max": np.max, "min": np.min}
_AT_ONCE: dict[str, Any] = {"mean": np.add, "max": np.maximum, "min": np.minimum}


@runtime_checkable
class Graph(Protocol):
    """A sparse matrix of scipy."""

    def tocsr(self) -> Any:
        """Return the matrix in compressed sparse row format."""


@dataclass(frozen=True)
class ClusterTree:
    """The merges of a hierarchical clustering: merge i makes node d + i of two nodes; nodes below d are columns."""

    children: np.ndarray  # (t, 2); t = d - 1, unless it ends early
    heights: np.ndarray  # (t,) the distance between the two clusters of a merge
    n_leaves: int  # the number of columns, d
    n_connected_components: int = 1  # of the graph along which columns may merge
    parents: np.ndarray | None = None  # of every node; only where the tree ends early

    def n_clusters_at(self, height: float) -> int:
        """Return the number of clusters after a cut at this height."""
        return int(np.count_nonzero(self.heights >= height)) + 1


def cluster_tree(D: np.ndarray, linkage: Linkage = "average", *, spanning_tree: bool = False) -> ClusterTree:
    """Merge the two nearest clusters until one is left, by the nearest-neighbor chain (Müllner 2011).

    Parameters
    ----------
    D : ndarray of shape (d, d)
        Distances between columns, or any other points to cluster; Euclidean distances for Ward's linkage.
    linkage : {"ward", "complete", "average", "single"}
        Distance between clusters: increase of variance, or the largest, mean or smallest distance.
    spanning_tree : bool
        For single linkage: the two clusters of a merge in the order of a minimum spanning tree, by which scikit-learn
        numbers its clusters for most metrics.

    Returns
    -------
    ClusterTree
        ``children`` (d - 1, 2) and ``heights`` (d - 1,); ``cut_tree(tree, k)`` returns the clusters.

    Examples
    --------
    >>> import numpy as np
    >>> tree = cluster_tree(np.array([[0.0, 1.0, 4.0], [1.0, 0.0, 6.0], [4.0, 6.0, 0.0]]), "average")
    >>> tree.children.tolist(), tree.heights.tolist()
    ([[0, 1], [2, 3]], [1.0, 5.0])
    >>> cut_tree(tree, 2).tolist()
    [0, 0, 1]
    """
    from scipy.cluster.hierarchy import linkage as joined
    from scipy.spatial.distance import squareform

    if linkage == "single" and spanning_tree:
        return _spanning_tree(D)
    apart = squareform(D, checks=False)
    unit = float(power_of_two(apart.max()))  # Ward's linkage squares the distances
    Z = joined(np.divide(apart, unit, out=apart), method=linkage)
    return ClusterTree(Z[:, :2].astype(np.int64), Z[:, 2] * unit, len(D))


def _spanning_tree(D: np.ndarray) -> ClusterTree:
    """Single linkage by a minimum spanning tree, grown from the first column (Prim 1957)."""
    d = len(D)
    nearest, source, outside = D[0].copy(), np.zeros(d, dtype=np.int64), np.arange(d) > 0
    links, lengths = np.empty((d - 1, 2), dtype=np.int64), np.empty(d - 1)
    for step in range(d - 1):
        new = int(np.argmin(np.where(outside, nearest, np.inf)))
        links[step], lengths[step], outside[new] = (source[new], new), nearest[new], False
        closer = D[new] < nearest
        nearest[closer], source[closer] = D[new, closer], new
    order = np.argsort(lengths, kind="stable")
    above = np.arange(2 * d - 1)  # a node that contains each node, finally the largest so far
    children = np.empty_like(links)
    for join, ends in enumerate(links[order]):
        for side, end in enumerate(ends):
            top = end
            while above[top] != top:
                top = above[top]
            while above[end] != end:
                above[end], end = top, above[end]
            children[join, side] = top
        above[children[join]] = d + join
    return ClusterTree(children, lengths[order], d)


def constrained_tree(links: Any, points: np.ndarray, linkage: Linkage, n_clusters: int | None) -> ClusterTree:
    """Return the tree in which only adjacent clusters may merge, built by scikit-learn.

    ``points`` are the columns, (d, n), for Ward's linkage, and their distances, (d, d), for the others. The tree ends
    at ``n_clusters``, unless None. Connected components of the graph are connected at their nearest points.
    """
    from scipy.sparse.csgraph import connected_components
    from sklearn.cluster import linkage_tree, ward_tree

    A = links + links.T
    components = int(connected_components(A, directed=False)[0])
    if components > 1:
        warn(
            f"The connectivity graph has {components} connected components. Edges were added between their nearest "
            "columns to complete the tree. Pass a connected graph to avoid this.",
            DataWarning,
        )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about the components, as above, and about slow ways to connect them
        if linkage == "ward":
            unit = float(power_of_two(np.abs(points).max()))  # squares must not underflow
            children, _, _, parents, heights = ward_tree(
                points / unit, connectivity=links, n_clusters=n_clusters, return_distance=True
            )
            heights = heights * unit
        else:
            children, _, _, parents, heights = linkage_tree(
                points,
                connectivity=links,
                n_clusters=n_clusters,
                linkage=linkage,
                affinity="precomputed",
                return_distance=True,
            )
    ended_early = None if n_clusters is None else parents
    return ClusterTree(np.asarray(children, dtype=np.int64), heights, len(points), components, ended_early)


def connectivity_graph(connectivity: Any, d: int, columns: Callable[[], np.ndarray]) -> Any:
    """Return the edges along which columns may merge, (d, d) sparse; a function is given the columns, (d, n)."""
    import scipy.sparse

    given = connectivity(columns()) if callable(connectivity) else connectivity
    try:
        links = scipy.sparse.csr_array(given if isinstance(given, Graph) else np.asarray(given, dtype=np.float64))
        links = links.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise ParameterError(
            f"The connectivity is not a matrix of numbers. Pass a matrix of shape ({d}, {d}), a function that "
            "returns one, or `None`."
        ) from error
    if not np.isfinite(links.data).all():
        raise ParameterError(
            "The connectivity matrix contains NaN or infinity. Use 1 for columns that are adjacent, and 0 elsewhere."
        )
    if links.shape != (d, d):
        raise ParameterError(
            f"Wrong shape for connectivity matrix: it has shape {links.shape}, and the data has {d} columns. Pass a "
            f"matrix of shape ({d}, {d}), nonzero where two columns are adjacent."
        )
    return links


def cut_tree(tree: ClusterTree, k: int) -> np.ndarray:
    """Return the cluster of each column, (d,), after the last k - 1 merges are undone.

    Clusters are numbered as in scikit-learn, by their positions in a heap of nodes.
    """
    d = tree.n_leaves
    if tree.parents is not None:  # it ended early, at k clusters
        heads = tree.parents.copy()
        for node in range(len(heads) - 1, -1, -1):
            heads[node] = heads[heads[node]]
        return np.unique(heads[:d], return_inverse=True)[1]
    groups = [2 - 2 * d]  # negative, so that the last node is the first of the heap
    for _ in range(k - 1):
        left, right = (int(node) for node in tree.children[-groups[0] - d])
        heapq.heappush(groups, -left)
        heapq.heappushpop(groups, -right)
    group_of = np.zeros(2 * d - 1, dtype=np.int64)
    group_of[np.negative(groups)] = np.arange(k)
    inside = np.zeros(2 * d - 1, dtype=bool)
    inside[np.negative(groups)] = True
    for node in range(2 * d - 2, d - 1, -1):
        if inside[node]:
            group_of[tree.children[node - d]] = group_of[node]
            inside[tree.children[node - d]] = True
    return group_of[:d]


def uses_spanning_tree(metric: Any) -> bool:
    """Whether scikit-learn computes single linkage with this metric by a spanning tree."""
    return isinstance(metric, str) and metric not in _BY_SCIPY


# --- pooling ---


@dataclass(frozen=True)
class PoolColumns:
    """One number per cluster of columns, (m, k); an object, so that it can be sent to a worker."""

    labels: np.ndarray  # (d,)
    pooling: Any  # 'mean', 'median', 'max', 'min', or a function of columns (m, g) and axis=1

    def __call__(self, X: Array) -> Array:
        """Return the pooled values of one chunk; a row with NaN or infinity is NaN, whatever the function returns."""
        xp, sizes = xp_of(X), np.bincount(self.labels)
        name = next((name for name, function in _FUNCTIONS.items() if self.pooling is function), self.pooling)
        if name not in _AT_ONCE:
            Z = like(self._one_by_one(to_numpy(X), _FUNCTIONS.get(name, name)), X)
        elif isinstance(X, np.ndarray):
            order = np.argsort(self.labels, kind="stable")
            Z = _AT_ONCE[name].reduceat(np.take(X, order, axis=1), np.cumsum(sizes) - sizes, axis=1)
            Z = Z / sizes.astype(X.dtype) if name == "mean" else Z
        elif name == "mean":
            M = (self.labels[:, None] == np.arange(len(sizes))).astype(np.float64)
            Z = X @ like(M / M.sum(axis=0), X)
        else:
            groups = (like(np.flatnonzero(self.labels == g), X, xp.int64) for g in range(len(sizes)))
            Z = xp.stack([getattr(xp, name)(xp.take(X, group, axis=1), axis=1) for group in groups], axis=1)
        return Z if all_finite(X) else Z + xp.sum(X * 0, axis=1)[:, None]

    def _one_by_one(self, X: np.ndarray, function: Callable[..., Any]) -> np.ndarray:
        Z = np.empty((len(X), int(self.labels.max()) + 1), dtype=X.dtype)
        for group in range(Z.shape[1]):
            pooled = np.asarray(function(X[:, self.labels == group], axis=1))
            if pooled.shape != (len(X),):
                raise ParameterError(
                    f"The pooling function returned shape {pooled.shape} for {len(X)} rows. It receives the columns of "
                    "a cluster and axis=1, and must return one number per row."
                )
            Z[:, group] = pooled
        return Z


@dataclass(frozen=True)
class SpreadGroups:
    """The value of its cluster in every column, (m, d)."""

    labels: np.ndarray  # (d,)

    def __call__(self, Z: Array) -> Array:
        """Return the full-width rows of one chunk."""
        return xp_of(Z).take(Z, like(self.labels, Z, xp_of(Z).int64), axis=1)


def named_groups(labels: np.ndarray, names: Collection[str]) -> dict[int, list[str]]:
    """Return the names of the columns in each cluster."""
    groups: dict[int, list[str]] = {group: [] for group in range(int(labels.max()) + 1)}
    for group, name in zip(labels.tolist(), names, strict=True):
        groups[group].append(str(name))
    return groups

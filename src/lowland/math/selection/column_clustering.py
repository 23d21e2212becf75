"""Hierarchical clustering of columns from their distances: the tree, with or without constraints, and its cuts."""

from __future__ import annotations

import heapq
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, Protocol, runtime_checkable

import numpy as np

from lowland.arrays.precision import ROUNDINGS
from lowland.errors import DataWarning, ParameterError, warn
from lowland.math.optimize.outcome import Accuracy, Promise
from lowland.math.spectra.accuracy import UNIT
from lowland.math.statistics.rescaling import power_of_two

Linkage = Literal["ward", "complete", "average", "single"]

_BY_SCIPY = ("cosine", "correlation", "sqeuclidean", "yule", "absolute-correlation", "precomputed")


MERGE_HEIGHT = Promise(
    "height of the last merge, computed again from the distances, relative to the largest distance",
    f"{ROUNDINGS} eps d",
    "a sum over the pairs of columns",
)
FIRST_HEIGHT = Promise(
    "height of the first merge along the connectivity graph, computed again, relative to the largest value",
    f"{ROUNDINGS} eps n",
    "one distance",
)


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


def accuracy_of(tree: ClusterTree, D: np.ndarray, linkage: Linkage) -> Accuracy:
    """Return how far the last merge is from its linkage, computed again from the distances D of the columns."""
    last, largest = cut_tree(tree, 2) == 0, float(D.max())
    if not largest > 0:
        return MERGE_HEIGHT.checked(0.0, UNIT * len(D))
    height = _height(D, last, linkage, largest)
    return MERGE_HEIGHT.checked(abs(height - float(tree.heights[-1])) / largest, UNIT * len(D))


def accuracy_of_constrained(tree: ClusterTree, points: np.ndarray, linkage: Linkage) -> Accuracy:
    """Return how far the first merge is from the distance of its two columns; the arguments of ``constrained_tree``."""
    if not len(tree.heights):
        return FIRST_HEIGHT.checked(0.0, UNIT * len(points))
    i, j = tree.children[0]
    unit = max(float(np.abs(points).max()), float(np.finfo(np.float64).tiny))
    apart = points[i, j] / unit if linkage != "ward" else np.linalg.norm(points[i] / unit - points[j] / unit)
    return FIRST_HEIGHT.checked(abs(float(apart) - float(tree.heights[0]) / unit), UNIT * max(points.shape))


def _height(D: np.ndarray, first: np.ndarray, linkage: Linkage, unit: float) -> float:
    """The linkage of two clusters of columns: ``first`` and the others; for Ward's, of squared distances over a unit.

    The squared distance of two centroids is the mean squared distance between the clusters, minus half of those within.
    """
    a, b = np.flatnonzero(first), np.flatnonzero(~first)
    if linkage == "single":
        return min(float(D[i, b].min()) for i in a)
    if linkage == "complete":
        return max(float(D[i, b].max()) for i in a)
    if linkage == "average":
        return float(np.mean([D[i, b].mean() for i in a]))
    squares = np.array([[np.sum(row[part] ** 2) for part in (a, b)] for row in (row / unit for row in D)])  # (d, 2)
    between = squares[a, 1].mean() / len(b) - squares[a, 0].mean() / len(a) / 2 - squares[b, 1].mean() / len(b) / 2
    return unit * float(np.sqrt(max(2 * len(a) * len(b) / len(D) * between, 0.0)))


def cut_tree(tree: ClusterTree, k: int) -> np.ndarray:
    """Return the cluster of each column, (d,), after the last k - 1 merges are undone.

    Clusters are numbered as in scikit-learn, by their positions in a heap of nodes.
    """
    d = tree.n_leaves
    if tree.parents is not None:
        return _labels_of_roots(tree.parents, d)
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


def _labels_of_roots(parents: np.ndarray, d: int) -> np.ndarray:
    """The clusters of a tree that ended early."""
    heads = parents.copy()
    for node in range(len(heads) - 1, -1, -1):
        heads[node] = heads[heads[node]]
    return np.unique(heads[:d], return_inverse=True)[1]


def uses_spanning_tree(metric: Any) -> bool:
    """Whether scikit-learn computes single linkage with this metric by a spanning tree."""
    return isinstance(metric, str) and metric not in _BY_SCIPY

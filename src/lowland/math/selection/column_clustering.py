"""Hierarchical clustering of columns: their distances, the tree of these, its cuts, and the pooling of each cluster.

Distances follow from the moments of the rows, |x_i - x_j|² = S_ii + S_jj - 2 S_ij + n (μ_i - μ_j)², as cosines and
correlations do, in one pass. Where columns are so close that this difference suffers from cancellation, a second pass
sums the squared differences of these pairs directly; 1 - r = |u - v|²/2 for standardized columns u and v.
"""

from __future__ import annotations

import heapq
import warnings
from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, Protocol, Self, runtime_checkable

import numpy as np

from lowland.arrays.namespace import Array, as_double, like, to_numpy, xp_of
from lowland.data.rows import Rows
from lowland.errors import DataError, DataWarning, ParameterError, warn
from lowland.math.distances.metrics import METRICS
from lowland.math.distances.to_points import check_distances, distance_matrix
from lowland.math.selection.columns import listed
from lowland.math.statistics.moments import Moments, Total
from lowland.math.statistics.rescaling import power_of_two
from lowland.run.run import Run, all_finite

Linkage = Literal["ward", "complete", "average", "single"]

_BY_SCIPY = ("cosine", "correlation", "sqeuclidean", "yule", "absolute-correlation", "precomputed")
_FUNCTIONS: dict[str, Any] = {"mean": np.mean, "median": np.median, "max": np.max, "min": np.min}
_AT_ONCE: dict[str, Any] = {"mean": np.add, "max": np.maximum, "min": np.minimum}

EUCLIDEAN = ("euclidean", "l2")
_MANHATTAN = ("manhattan", "l1", "cityblock")
_CORRELATIONS = ("correlation", "absolute-correlation")
METRIC_NAMES = (*METRICS, "absolute-correlation", "precomputed")
_ROUNDING = 4 * float(np.finfo(np.float64).eps)
_SAME = (4 * _ROUNDING) ** 2  # squared distance of two directions that differ by rounding only
_LOST = 1e-9  # relative error of a squared distance above which it is recomputed from differences
_BLOCK = 1 << 18  # differences in memory at a time
_TINY, _RAISED = 1e-200, 2.0**700  # sum of squares that may have underflowed, and the factor that prevents it


# --- distances between columns ---


def moments_in_double(X: Array, times: np.ndarray | None = None) -> Moments:
    """Return the moments of a chunk, computed in float64 throughout, because distances are differences of them.

    ``times`` are powers of two, (d,), by which the columns are multiplied.
    """
    Y = as_double(X)
    return Moments.of(Y if times is None else Y * like(times, Y)[None, :])


def squares_of_pairs(
    X: Array, first: np.ndarray, second: np.ndarray, signs: np.ndarray | None = None, shift: np.ndarray | None = None,
    times: np.ndarray | None = None,
) -> Total:  # fmt: skip
    """Return the summed squared differences of pairs of columns, (p,), of which the second may change its sign.

    Columns are shifted and multiplied before, by ``shift`` and ``times``, (d,).
    """
    Y = as_double(X).T  # (d, m)
    xp = xp_of(Y)
    Y = Y if shift is None else Y - like(shift, Y)[:, None]
    Y = Y if times is None else Y * like(times, Y)[:, None]
    if isinstance(Y, np.ndarray):
        Y = np.ascontiguousarray(Y)  # once: numpy would copy all of it whenever columns are taken
    step, parts = max(1, _BLOCK // max(1, X.shape[0])), []
    for start in range(0, len(first), step):
        i, j = (like(part[start : start + step], Y, xp.int64) for part in (first, second))
        V = xp.take(Y, j, axis=0)
        V = V if signs is None else V * like(signs[start : start + step], Y)[:, None]
        E = xp.take(Y, i, axis=0) - V
        parts.append(xp.linalg.vecdot(E, E))
    return Total(xp.concat(parts))


@dataclass(frozen=True)
class CountedTotal(Total):
    """A sum over rows, and the number of rows."""

    rows: int = 0

    def __add__(self, other: Self) -> Self:
        return type(self)(as_double(self.value) + as_double(other.value), self.rows + other.rows)


def absolute_differences(X: Array) -> CountedTotal:
    """Return the summed absolute differences of all pairs of columns, (d, d)."""
    Y = as_double(X).T
    return CountedTotal(METRICS["manhattan"].of(Y, Y), X.shape[0])


def column_distances(rows: Rows, run: Run, metric: Any, *, as_euclidean: bool = False) -> tuple[np.ndarray, int]:
    """Return the distances of all pairs of columns, (d, d) float64, on the host, and the number of rows.

    ``as_euclidean``: for correlations, the Euclidean distance √(2 - 2r) of the standardized columns instead of 1 - r,
    as Ward's linkage needs it.
    """
    d = rows.d
    if metric in EUCLIDEAN:
        return euclidean_distances(rows, run)
    if metric in (*_CORRELATIONS, "cosine"):
        D, n = _cosine_distances(rows, run, metric)
        return np.sqrt(2 * D) if as_euclidean else D, n
    if metric in _MANHATTAN:
        found: CountedTotal = run.fold(rows, absolute_differences, name="comparing columns")
        return np.array(to_numpy(found.value)), found.rows
    why = "A precomputed distance matrix" if metric == "precomputed" else f"The metric {metric!r} between columns"
    X = np.asarray(to_numpy(run.to_array(rows, why)), dtype=np.float64)
    if metric == "precomputed":
        return np.array(check_distances(X)), len(X)
    if callable(metric):  # a function of all columns, called as in scikit-learn
        D = np.asarray(metric(X.T), dtype=np.float64)
        if D.shape != (d, d):
            raise ParameterError(
                f"The metric function returned an array of shape {D.shape}. It receives all columns, an array of shape "
                f"{X.T.shape}, and must return their distances, of shape ({d}, {d})."
            )
        return np.array(check_distances(D, source="The matrix returned by the metric function")), len(X)
    return distance_matrix(np.ascontiguousarray(X.T), Run(run.settings), metric), len(X)


def euclidean_distances(rows: Rows, run: Run) -> tuple[np.ndarray, int]:
    """Return the Euclidean distances of all pairs of columns, (d, d), and the number of rows."""
    moments, times = _moments(rows, run, alike=True)
    S, mean = to_numpy(moments.scatter), to_numpy(moments.mean)
    squares, d = S.diagonal().copy(), rows.d
    D = -2 * S
    D += squares[:, None]
    D += squares[None, :]
    first, second, step = [], [], max(1, _BLOCK // d)
    for start in range(0, d, step):  # a few rows at a time: temporaries would need several such matrices
        some = slice(start, start + step)
        apart = np.abs(mean[some, None] - mean)
        D[some] += moments.n * apart**2
        lost = squares[some, None] + squares + 2 * moments.n * apart * (np.abs(mean[some, None]) + np.abs(mean))
        i, j = np.nonzero(_LOST * D[some] <= _ROUNDING * lost)
        once = j > i + start
        first.append(i[once] + start)
        second.append(j[once])
    i, j = np.concatenate(first), np.concatenate(second)
    if len(i):
        squares_of = partial(squares_of_pairs, first=i, second=j, times=times)
        D[i, j] = D[j, i] = to_numpy(run.fold(rows, squares_of, name="comparing near columns").value)
    np.fill_diagonal(D, 0)
    np.sqrt(D, out=D)
    return D if times is None else D / times, moments.rows


def _moments(rows: Rows, run: Run, *, alike: bool) -> tuple[Moments, np.ndarray | None]:
    """The moments, and the factors of the columns, (d,), where the squares of some would underflow; otherwise None.

    ``alike``: the same factor for all columns.
    """
    moments: Moments = run.fold(rows, moments_in_double, name="summing moments")
    mean, squares = to_numpy(moments.mean), to_numpy(moments.scatter).diagonal()
    with np.errstate(over="ignore"):  # an overflow is not tiny
        lengths = squares + moments.n * mean**2
    tiny = (lengths < _TINY) & ((mean != 0) | (lengths > 0))  # a column of zeros needs no factor
    if alike:
        tiny[:] = tiny.any() and lengths.max() < _TINY
    if not tiny.any():
        return moments, None
    times = np.where(tiny, _RAISED, 1.0)
    return run.fold(rows, partial(moments_in_double, times=times), name="summing moments"), times


def _cosine_distances(rows: Rows, run: Run, metric: str) -> tuple[np.ndarray, int]:
    """1 minus the cosines of all pairs of columns, or their correlations (centered columns); and the number of rows."""
    moments, times = _moments(rows, run, alike=False)
    mean = to_numpy(moments.mean)
    if metric == "cosine":
        G = to_numpy(moments.uncentered)
        zero = G.diagonal() == 0
        if zero.any():
            raise DataError(
                f"Column {_listed(rows, zero)} is zero in every row, so its cosine is undefined (cosine affinity "
                "cannot be used with zero vectors). Drop it, or choose another metric."
            )
    else:
        G, zero = to_numpy(moments.scatter), to_numpy(moments.variances) == 0
        if zero.any():
            warn(
                f"Column {_listed(rows, zero)} is constant, so its correlation is undefined and set to 0. Drop "
                "constant columns.",
                DataWarning,
            )
    lengths = np.sqrt(np.where(zero, 1.0, G.diagonal()))
    R = G / lengths[:, None]
    R /= lengths[None, :]
    R[zero, :] = R[:, zero] = 0
    D = 1 - (np.abs(R) if metric == "absolute-correlation" else R)
    i, j = np.nonzero(np.triu(D <= _ROUNDING / _LOST, 1))
    if len(i):
        by = np.ones(rows.d) if times is None else times
        shift = None if metric == "cosine" else mean / by
        signs = np.sign(R[i, j])
        squares_of = partial(squares_of_pairs, first=i, second=j, signs=signs, shift=shift, times=by / lengths)
        found = np.array(to_numpy(run.fold(rows, squares_of, name="comparing near columns").value))
        off = 1 + moments.n * (mean / lengths) ** 2  # rounding of the mean matters where it is far from 0
        found[found <= _SAME * (off[i] + off[j])] = 0
        D[i, j] = D[j, i] = found / 2
    np.fill_diagonal(D, 0)
    return D, moments.rows


def _listed(rows: Rows, which: np.ndarray) -> str:
    return listed([rows.column_name(j) for j in range(rows.d)], np.flatnonzero(which))


# --- trees ---


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
        Distances between columns, or any other points to cluster. Ward's linkage takes Euclidean distances.
    linkage : {"ward", "complete", "average", "single"}
        Distance between clusters: increase of variance, or the largest, mean or smallest distance.
    spanning_tree : bool
        For single linkage: the two clusters of a merge in the order of a minimum spanning tree, by which scikit-learn
        numbers its clusters for most metrics.

    Returns
    -------
    ClusterTree
        ``children`` (d - 1, 2) and ``heights`` (d - 1,). ``cut_tree(tree, k)`` returns the clusters.

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
    top = np.arange(d)  # the largest node so far that contains each column
    children = np.empty_like(links)
    for merge, ends in enumerate(links[order]):
        children[merge] = top[ends]
        top[np.isin(top, children[merge])] = d + merge
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

    Examples
    --------
    >>> import numpy as np
    >>> from lowland.algorithms import cluster_tree
    >>> tree = cluster_tree(np.array([[0.0, 1.0, 4.0], [1.0, 0.0, 6.0], [4.0, 6.0, 0.0]]), "average")
    >>> cut_tree(tree, 3).tolist()
    [2, 1, 0]
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


def named_groups(labels: np.ndarray, names: Collection[str]) -> dict[int, list[str]]:
    """Return the names of the columns in each cluster."""
    groups: dict[int, list[str]] = {group: [] for group in range(int(labels.max()) + 1)}
    for group, name in zip(labels.tolist(), names, strict=True):
        groups[group].append(str(name))
    return groups

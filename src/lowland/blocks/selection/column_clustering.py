"""Trees of columns: how far columns are apart, who joins whom, where the tree is cut, and what groups make of rows.

Distances between columns follow from the moments of the rows, |x_i - x_j|² = S_ii + S_jj - 2 S_ij + n (μ_i - μ_j)²,
which are summed in one pass; cosines and correlations likewise. Where columns are so near to each other that the
difference loses digits, a second pass sums the squared differences of these pairs as they are, 1 - r = |u - v|²/2 of
standardised columns u and v. Columns too small to be squared are summed again, multiplied by a power of two.
"""

from __future__ import annotations

import heapq
import warnings
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any, Literal, Protocol, Self, runtime_checkable

import numpy as np

from lowland.arrays.namespace import Array, like, to_numpy, xp_of
from lowland.arrays.precision import as_double
from lowland.blocks.distances.metrics import METRICS
from lowland.blocks.distances.to_points import check_distances, distance_matrix
from lowland.blocks.statistics.moments import Moments, Total
from lowland.blocks.statistics.rescaling import power_of_two
from lowland.data.rows import Rows
from lowland.errors import DataError, DataWarning, ParameterError, warn
from lowland.run.local import LocalRun
from lowland.run.run import Run, all_finite

Linkage = Literal["ward", "complete", "average", "single"]

EUCLIDEAN = ("euclidean", "l2")
_MANHATTAN = ("manhattan", "l1", "cityblock")
_CORRELATIONS = ("correlation", "absolute-correlation")
_BY_SCIPY = ("cosine", "correlation", "sqeuclidean", "yule", "absolute-correlation", "precomputed")
METRIC_NAMES = (*METRICS, "absolute-correlation", "precomputed")
_ROUNDING = 4 * float(np.finfo(np.float64).eps)
_SAME = (4 * _ROUNDING) ** 2  # squared distance of two directions that are one
_LOST = 1e-9  # relative error of a squared distance above which it is summed again from differences
_BLOCK = 1 << 18  # differences held at a time
_TINY, _RAISED = 1e-200, 2.0**700  # sum of squares that may have underflowed, and what makes its column large enough


# --- distances between columns ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class MomentsInDouble:
    """What is folded: the moments of a slab, its products in float64: distances are differences of them."""

    times: np.ndarray | None = None  # (d,) powers of two

    def __call__(self, X: Array) -> Moments:
        """Of one slab."""
        Y = as_double(X)
        return Moments.of(Y if self.times is None else Y * like(self.times, Y)[None, :])


@dataclass(frozen=True)
class SquaresOfPairs:
    """What is folded: the squared differences of some pairs of columns, (x - shift) times a number, summed, (p,)."""

    first: np.ndarray  # (p,)
    second: np.ndarray  # (p,)
    signs: np.ndarray | None = None  # (p,) of the second
    shift: np.ndarray | None = None  # (d,)
    times: np.ndarray | None = None  # (d,)

    def __call__(self, X: Array) -> Total:
        """Of one slab."""
        Y = as_double(X).T  # (d, m)
        xp = xp_of(Y)
        if self.shift is not None:
            Y = Y - like(self.shift, Y)[:, None]
        if self.times is not None:
            Y = Y * like(self.times, Y)[:, None]
        if isinstance(Y, np.ndarray):
            Y = np.ascontiguousarray(Y)  # once: numpy would copy all of it whenever some columns are taken
        step, parts = max(1, _BLOCK // max(1, X.shape[0])), []
        for start in range(0, len(self.first), step):
            i, j = (like(part[start : start + step], Y, xp.int64) for part in (self.first, self.second))
            V = xp.take(Y, j, axis=0)
            if self.signs is not None:
                V = V * like(self.signs[start : start + step], Y)[:, None]
            E = xp.take(Y, i, axis=0) - V
            parts.append(xp.linalg.vecdot(E, E))
        return Total(xp.concat(parts))


@dataclass(frozen=True)
class CountedTotal(Total):
    """A sum over rows, and how many these are."""

    rows: int = 0

    def __add__(self, other: Self) -> Self:
        """Add."""
        return type(self)(as_double(self.value) + as_double(other.value), self.rows + other.rows)


@dataclass(frozen=True)
class AbsoluteDifferences:
    """What is folded: the absolute differences of all pairs of columns, summed, (d, d)."""

    def __call__(self, X: Array) -> CountedTotal:
        """Of one slab."""
        Y = as_double(X).T
        return CountedTotal(METRICS["manhattan"].of(Y, Y), X.shape[0])


def spans(metric: Any) -> bool:
    """Whether scikit-learn finds single linkage by a spanning tree, with this metric."""
    return isinstance(metric, str) and metric not in _BY_SCIPY


def column_distances(rows: Rows, run: Run, metric: Any, *, squared_angles: bool = False) -> tuple[np.ndarray, int]:
    """Return the distances of all pairs of columns, (d, d) float64, on the host, and how many rows there are.

    ``squared_angles``: for correlations, the straight distance √(2 - 2r) of the standardised columns, which Ward's
    linkage can do with, instead of 1 - r.
    """
    d = rows.d
    run.require(32 * d * d, f"Keeping the distances of all pairs of {d} columns", "Use fewer columns")
    if metric in EUCLIDEAN:
        return euclidean_distances(rows, run)
    if metric in (*_CORRELATIONS, "cosine"):
        D, n = _angles(rows, run, metric)
        return np.sqrt(2 * D) if squared_angles else D, n
    if metric in _MANHATTAN:
        found: CountedTotal = run.fold(rows, AbsoluteDifferences(), name="comparing columns")
        return np.array(to_numpy(found.value)), found.rows
    why = "A matrix of distances" if metric == "precomputed" else f"The metric {metric!r} between columns"
    X = np.asarray(to_numpy(run.to_array(rows, why)), dtype=np.float64)
    if metric == "precomputed":
        return np.array(check_distances(X)), len(X)
    if callable(metric):
        return _by_function(metric, X.T), len(X)
    return distance_matrix(np.ascontiguousarray(X.T), LocalRun(run.settings), metric), len(X)


def euclidean_distances(rows: Rows, run: Run) -> tuple[np.ndarray, int]:
    """Return the straight distances of all pairs of columns, (d, d), and how many rows there are."""
    moments, times = _moments(rows, run, alike=True)
    S, mean = to_numpy(moments.scatter), to_numpy(moments.mean)
    squares, d = S.diagonal().copy(), rows.d
    D = -2 * S
    D += squares[:, None]
    D += squares[None, :]
    first, second, step = [], [], max(1, _BLOCK // d)
    for start in range(0, d, step):  # by a few rows: the steps between would need several such matrices
        some = slice(start, start + step)
        apart = np.abs(mean[some, None] - mean)
        D[some] += moments.n * apart**2
        lost = squares[some, None] + squares + 2 * moments.n * apart * (np.abs(mean[some, None]) + np.abs(mean))
        i, j = np.nonzero(_LOST * D[some] <= _ROUNDING * lost)
        once = j > i + start
        first.append(i[once] + start)
        second.append(j[once])
    pairs = SquaresOfPairs(np.concatenate(first), np.concatenate(second), times=times)
    if len(pairs.first):
        found = to_numpy(run.fold(rows, pairs, name="comparing near columns").value)
        D[pairs.first, pairs.second] = D[pairs.second, pairs.first] = found
    np.fill_diagonal(D, 0)
    np.sqrt(D, out=D)
    return D if times is None else D / times, moments.rows


def _moments(rows: Rows, run: Run, *, alike: bool) -> tuple[Moments, np.ndarray | None]:
    """The moments, and what the columns were multiplied by, (d,), where some are too small to be squared.

    ``alike``: all or none.
    """
    moments: Moments = run.fold(rows, MomentsInDouble(), name="summing moments")
    mean, squares = to_numpy(moments.mean), to_numpy(moments.scatter).diagonal()
    with np.errstate(over="ignore"):  # what is large is not small
        lengths = squares + moments.n * mean**2
    tiny = (lengths < _TINY) & ((mean != 0) | (lengths > 0))  # a column of zeros is only that
    if alike:
        tiny[:] = tiny.any() and lengths.max() < _TINY
    if not tiny.any():
        return moments, None
    times = np.where(tiny, _RAISED, 1.0)
    return run.fold(rows, MomentsInDouble(times), name="summing moments"), times


def _angles(rows: Rows, run: Run, metric: str) -> tuple[np.ndarray, int]:
    """1 less the cosines of all pairs of columns, or of centered ones: their correlations; and how many rows."""
    moments, times = _moments(rows, run, alike=False)
    mean, names = to_numpy(moments.mean), [rows.column_name(j) for j in range(rows.d)]
    if metric == "cosine":
        G = to_numpy(moments.uncentered)
        zero = G.diagonal() == 0
        if zero.any():
            raise DataError(
                f"Column {_listed(names, zero)} is zero in every row, and has no direction: the metric 'cosine' cannot "
                "place it (cosine affinity cannot be used with zero vectors). Leave it out, or take another metric."
            )
    else:
        G, zero = to_numpy(moments.scatter), to_numpy(moments.variances) == 0
        if zero.any():
            warn(
                f"Column {_listed(names, zero)} is constant: its correlation with the others is taken to be 0.",
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
        pairs = SquaresOfPairs(i, j, np.sign(R[i, j]), shift, by / lengths)
        found = np.array(to_numpy(run.fold(rows, pairs, name="comparing near columns").value))
        off = 1 + moments.n * (mean / lengths) ** 2  # rounding of the mean is felt where it is far from 0
        found[found <= _SAME * (off[i] + off[j])] = 0
        D[i, j] = D[j, i] = found / 2
    np.fill_diagonal(D, 0)
    return D, moments.rows


def _listed(names: list[str], which: np.ndarray) -> str:
    some = [names[j] for j in np.flatnonzero(which)]
    return ", ".join(some[:5]) + (f" and {len(some) - 5} more" if len(some) > 5 else "")


def _by_function(metric: Callable[..., Any], columns: np.ndarray) -> np.ndarray:
    """A function of all columns, (d, n), as scikit-learn calls it."""
    D = np.asarray(metric(columns), dtype=np.float64)
    if D.shape != (len(columns), len(columns)):
        raise ParameterError(
            f"FeatureAgglomeration(metric=...): the function returned an array of shape {D.shape}. It is given all "
            f"columns, {columns.shape}, and must return their distances, ({len(columns)}, {len(columns)})."
        )
    return np.array(check_distances(D, source="What the metric returned"))


# --- trees ------------------------------------------------------------------------------------------------------------


@runtime_checkable
class Graph(Protocol):
    """A sparse matrix of scipy."""

    def tocsr(self) -> Any:
        """By rows."""


@runtime_checkable
class JoblibMemory(Protocol):
    """What joblib.Memory offers."""

    def cache(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Keep what a function returns."""


@dataclass(frozen=True)
class ClusterTree:
    """Who joins whom: line i joins two nodes to node d + i; nodes below d are columns."""

    children: np.ndarray  # (t, 2); t = d - 1, unless it ends early
    heights: np.ndarray  # (t,) how far apart the two are
    parts: int = 1  # of the graph along which columns may join
    parents: np.ndarray | None = None  # of every node; only where the tree ends early


def grown(D: np.ndarray, linkage: Linkage, *, as_spanned: bool = False) -> ClusterTree:
    """Join the two nearest groups until one is left, by the chain of nearest neighbours (Müllner 2011).

    ``as_spanned``: the two of a single linkage's join in the order in which a spanning tree meets them, by which
    scikit-learn numbers its groups for most metrics.
    """
    from scipy.cluster.hierarchy import linkage as joined
    from scipy.spatial.distance import squareform

    if linkage == "single" and as_spanned:
        return _spanned(D)
    apart = squareform(D, checks=False)
    unit = float(power_of_two(apart.max()))  # Ward's linkage squares the distances
    Z = joined(np.divide(apart, unit, out=apart), method=linkage)
    return ClusterTree(Z[:, :2].astype(np.int64), Z[:, 2] * unit)


def _spanned(D: np.ndarray) -> ClusterTree:
    """Single linkage by the shortest tree that spans all columns, grown from the first of them (Prim 1957)."""
    d = len(D)
    nearest, source, outside = D[0].copy(), np.zeros(d, dtype=np.int64), np.arange(d) > 0
    links, lengths = np.empty((d - 1, 2), dtype=np.int64), np.empty(d - 1)
    for step in range(d - 1):
        new = int(np.argmin(np.where(outside, nearest, np.inf)))
        links[step], lengths[step], outside[new] = (source[new], new), nearest[new], False
        closer = D[new] < nearest
        nearest[closer], source[closer] = D[new, closer], new
    order = np.argsort(lengths, kind="stable")
    above = np.arange(2 * d - 1)  # a node that each one lies in, in the end the largest so far
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
    return ClusterTree(children, lengths[order])


def grown_along(links: Any, points: np.ndarray, linkage: Linkage, n_clusters: int | None) -> ClusterTree:
    """The same where only groups that are linked may join, by scikit-learn's own trees.

    ``points`` are the columns, (d, n), for Ward's linkage, and for the others their distances, (d, d). The tree ends
    at ``n_clusters``, unless None. Parts of the graph are linked where they are nearest.
    """
    from scipy.sparse.csgraph import connected_components
    from sklearn.cluster import linkage_tree, ward_tree

    A = links + links.T
    parts = int(connected_components(A, directed=False)[0])
    if parts > 1:
        warn(
            f"The connectivity falls into {parts} parts: they are linked where they are nearest, so that the tree can "
            "be completed.",
            DataWarning,
        )
    options: dict[str, Any] = {"connectivity": links, "n_clusters": n_clusters, "return_distance": True}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the parts, told above, and of slow ways to complete them
        if linkage == "ward":
            unit = float(power_of_two(np.abs(points).max()))  # squares of the numbers must not vanish
            children, _, _, parents, heights = ward_tree(points / unit, **options)
            heights = heights * unit
        else:
            children, _, _, parents, heights = linkage_tree(points, linkage=linkage, affinity="precomputed", **options)
    return ClusterTree(np.asarray(children, dtype=np.int64), heights, parts, None if n_clusters is None else parents)


def links_of(connectivity: Any, d: int, columns: Callable[[], np.ndarray]) -> Any:
    """Return the links along which columns may join, (d, d) sparse; a function is given the columns, (d, n)."""
    import scipy.sparse

    given = connectivity(columns()) if callable(connectivity) else connectivity
    try:
        links = scipy.sparse.csr_array(given if isinstance(given, Graph) else np.asarray(given, dtype=np.float64))
        links = links.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise ParameterError(
            "FeatureAgglomeration(connectivity=...): it is no matrix of numbers. Give one with a row and a column for "
            "each column of the data, a function that makes one, or None."
        ) from error
    if not np.isfinite(links.data).all():
        raise ParameterError(
            "FeatureAgglomeration(connectivity=...): the matrix holds NaN or infinity. Put a 1 where two columns are "
            "neighbours, and 0 elsewhere."
        )
    if links.shape != (d, d):
        raise ParameterError(
            f"FeatureAgglomeration(connectivity=...): the matrix has shape {links.shape}, and there are {d} columns. "
            f"Wrong shape for connectivity matrix: it must be ({d}, {d}), with a number other than 0 where two columns "
            "are neighbours."
        )
    return links


def cut(tree: ClusterTree, d: int, k: int) -> np.ndarray:
    """Return the group of each column, (d,), after the last k - 1 joins are undone.

    Groups are numbered as scikit-learn numbers them, by their places in a heap of nodes.
    """
    if tree.parents is not None:
        return _by_heads(tree.parents, d)
    groups = [2 - 2 * d]  # negative, so that the node made last is the first of the heap
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


def _by_heads(parents: np.ndarray, d: int) -> np.ndarray:
    """The groups of a tree that ended with them."""
    heads = parents.copy()
    for node in range(len(heads) - 1, -1, -1):
        heads[node] = heads[heads[node]]
    return np.unique(heads[:d], return_inverse=True)[1]


# --- rows by groups ---------------------------------------------------------------------------------------------------

_FUNCTIONS: dict[str, Any] = {"mean": np.mean, "median": np.median, "max": np.max, "min": np.min}
_AT_ONCE: dict[str, Any] = {"mean": np.add, "max": np.maximum, "min": np.minimum}


@dataclass(frozen=True)
class PoolColumns:
    """One number for each group of columns, (m, k); an object, so that it can travel to a worker."""

    labels: np.ndarray  # (d,)
    pooling: Any  # 'mean', 'median', 'max', 'min', or a function of columns (m, g) and axis=1

    def __call__(self, X: Array) -> Array:
        """Of one slab; NaN or infinity marks its row, whatever the function makes of it."""
        Z = self._on_host(X) if isinstance(X, np.ndarray) else self._elsewhere(X)
        return Z if all_finite(X) else Z + xp_of(X).sum(X * 0, axis=1)[:, None]

    @property
    def name(self) -> Any:
        """The name of a function that has one here, else the function."""
        return next((name for name, function in _FUNCTIONS.items() if self.pooling is function), self.pooling)

    def _on_host(self, X: np.ndarray) -> np.ndarray:
        if self.name not in _AT_ONCE:
            return self._one_by_one(X)
        order = np.argsort(self.labels, kind="stable")
        sizes = np.bincount(self.labels)
        Z = _AT_ONCE[self.name].reduceat(np.take(X, order, axis=1), np.cumsum(sizes) - sizes, axis=1)
        return Z / sizes.astype(X.dtype) if self.name == "mean" else Z

    def _one_by_one(self, X: np.ndarray) -> np.ndarray:
        function = _FUNCTIONS.get(self.name, self.pooling) if isinstance(self.name, str) else self.pooling
        Z = np.empty((len(X), int(self.labels.max()) + 1), dtype=X.dtype)
        for group in range(Z.shape[1]):
            pooled = np.asarray(function(X[:, self.labels == group], axis=1))
            if pooled.shape != (len(X),):
                raise ParameterError(
                    f"FeatureAgglomeration(pooling_func=...): the function made {pooled.shape} of {len(X)} rows. It is "
                    "given the columns of a group and axis=1, and must return one number a row."
                )
            Z[:, group] = pooled
        return Z

    def _elsewhere(self, X: Array) -> Array:
        xp = xp_of(X)
        if self.name == "mean":
            M = (self.labels[:, None] == np.arange(self.labels.max() + 1)).astype(np.float64)
            return X @ like(M / M.sum(axis=0), X)
        if self.name not in _AT_ONCE:
            return like(self._one_by_one(to_numpy(X)), X)
        groups = (like(np.flatnonzero(self.labels == g), X, xp.int64) for g in range(int(self.labels.max()) + 1))
        return xp.stack([getattr(xp, self.name)(xp.take(X, group, axis=1), axis=1) for group in groups], axis=1)


@dataclass(frozen=True)
class SpreadGroups:
    """The number of its group in every column, (m, d)."""

    labels: np.ndarray  # (d,)

    def __call__(self, Z: Array) -> Array:
        """Of one slab."""
        return xp_of(Z).take(Z, like(self.labels, Z, xp_of(Z).int64), axis=1)


def named_groups(labels: np.ndarray, names: Collection[str]) -> dict[int, list[str]]:
    """Return which columns lie in which group."""
    groups: dict[int, list[str]] = {group: [] for group in range(int(labels.max()) + 1)}
    for group, name in zip(labels.tolist(), names, strict=True):
        groups[group].append(str(name))
    return groups

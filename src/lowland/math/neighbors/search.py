"""Nearest-neighbor search: the choice of an algorithm, k nearest neighbors, a radius, and neighbors of new points."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
import scipy.sparse

from lowland.arrays.namespace import Array, is_sparse, on_accelerator, take, to_numpy, xp_of
from lowland.errors import DataError, DataWarning, ParameterError, warn
from lowland.math.distances.incomplete_rows import first_unshared, no_shared_column
from lowland.math.distances.metrics import Metric, allows_nan, check_metric, usable_values
from lowland.math.distances.sparse_rows import all_equal, finite_rows
from lowland.math.distances.to_points import check_distances, check_new_distances
from lowland.math.neighbors.approximate import (
    approximate_neighbors,
    is_too_slow,
    measure_recall,
    require_approximate,
)
from lowland.math.neighbors.brute_force import BruteForce, Products, SparseSearch
from lowland.math.neighbors.graph import NeighborGraph, describe_fault
from lowland.math.neighbors.searcher import MetricSpace, Searcher
from lowland.math.neighbors.torch_search import TorchSearch
from lowland.run.run import Run, all_finite

Search = Literal["auto", "tree", "products", "approximate"]

_FEW_POINTS = 512  # up to this many points, all pairs are compared faster than a tree is built
_TREE_COLUMNS = 32  # above this many columns a tree is not tried
_TREE_FRACTION = 0.05  # of all points: if a tree computes more distances per row, products are faster
_TREE_POINTS = 500  # distances per row that a tree may always compute
_SMALL = 1e-150  # if no distance is longer, squares may have underflowed
_building = threading.Lock()  # several threads may build the same search at once


def choose_searcher(X: Array, metric: Metric, params: dict[str, Any], search: Search, k: int) -> Searcher:
    """Choose a search algorithm: a tree if it skips enough pairs, else matrix products, or comparisons of all pairs.

    All are exact. Sparse rows have a search of their own.
    """
    check_metric(metric, params)
    space = MetricSpace.of(metric, params)
    if space is not None:
        space.check(X)
    if is_sparse(X):
        return SparseSearch(X, metric, params)
    if allows_nan(metric):
        return BruteForce(X, metric, params)  # on the host, also for rows on a device
    if not isinstance(X, np.ndarray) and on_accelerator(X):
        return TorchSearch(X, metric, params)
    if space is None:
        return BruteForce(X, metric, params)
    by_products: Searcher = Products(X, space) if space.p == 2 else BruteForce(X, metric, params)
    from lowland.math.neighbors.kd_tree import KDTree  # loads numba

    if search == "tree":
        return KDTree(X, space)
    if search == "products":
        return by_products
    if X.shape[1] <= _TREE_COLUMNS:
        if X.shape[0] <= _FEW_POINTS:
            return BruteForce(X, metric, params)
        tree = KDTree(X, space)
        if tree.points_measured(k) < max(_TREE_POINTS, _TREE_FRACTION * X.shape[0]):
            return tree
    return by_products


def nearest_neighbors(
    X: Array,
    k: int,
    run: Run | None = None,
    *,
    metric: Metric = "euclidean",
    params: dict[str, Any] | None = None,
    search: Search = "auto",
    rng: np.random.Generator | None = None,
    takes_equal: bool = False,
) -> NeighborGraph:
    """Return the k nearest neighbors of every point, without the point itself.

    Ties go to the lower index. No n x n matrix is formed. With metric "precomputed", X is a distance matrix. If all
    points are equal, raise an error, unless ``takes_equal``. "auto" is approximate where an exact search would take
    minutes, and sparse rows are always searched exactly.

    Examples
    --------
    >>> import numpy as np
    >>> from lowland.algorithms import nearest_neighbors
    >>> graph = nearest_neighbors(np.array([[0.0], [1.0], [3.0]]), 1)
    >>> graph.to.tolist(), graph.length.tolist()
    ([1, 0, 1], [1.0, 1.0, 2.0])
    """
    run = run or Run()
    n = X.shape[0]
    if k >= n:
        raise ParameterError(f"{k} neighbors per point: the data has {n} points. Choose at most {n - 1}.")
    X = check_distances(X) if metric == "precomputed" else X
    space = MetricSpace.of(metric, params or {})
    searcher = choose_searcher(X, metric, params or {}, search, k)
    if isinstance(searcher, TorchSearch):
        searcher = replace(searcher, rounded=True)  # on the device, before they are copied from it
    if is_sparse(X):
        approximate = False
    elif search == "approximate":
        approximate, space = True, require_approximate(metric, space)
    else:
        searched = search == "auto" and isinstance(searcher, Products | BruteForce)
        approximate = searched and space is not None and is_too_slow(n, X.shape[1], space)
    if approximate:
        assert space is not None
        found = approximate_neighbors(X, k, space, run)
    else:
        found = searcher.nearest(k, run)
    if allows_nan(metric):
        refuse_incomparable(X, *found)
    indices, distances = check_found(*found, n)
    _refuse_if_equal(X, distances, metric, params or {}, takes_equal=takes_equal)
    graph = NeighborGraph.of_table(indices, _in_precision_of(X, distances), searcher.name)
    if not approximate:
        return graph
    assert space is not None
    recall, interval = measure_recall(X, distances, space, run, rng or np.random.default_rng(0))
    return replace(graph, search="approximate", recall=recall, recall_interval=interval)


def neighbors_within(
    X: Array,
    radius: float,
    run: Run | None = None,
    *,
    metric: Metric = "euclidean",
    params: dict[str, Any] | None = None,
    search: Search = "auto",
) -> NeighborGraph:
    """Return all points within ``radius`` of every point, nearest first, with a warning if some have none.

    Examples
    --------
    >>> import numpy as np
    >>> from lowland.algorithms import neighbors_within
    >>> graph = neighbors_within(np.array([[0.0], [1.0], [3.0], [4.0]]), 1.5)
    >>> graph.to.tolist()
    [1, 0, 3, 2]
    """
    run = run or Run()
    X = check_distances(X) if metric == "precomputed" else X
    searcher = choose_searcher(X, metric, params or {}, "auto" if search == "approximate" else search, 10)
    start, to, length = searcher.within(radius, run)
    _refuse_if_equal(X, length, metric, params or {})
    isolated = np.flatnonzero(np.diff(start) == 0)
    if len(isolated):
        _report_isolated_rows(len(isolated), X.shape[0], radius, searcher.nearest(1, run, rows=isolated)[1])
    return NeighborGraph(start, to, _in_precision_of(X, length), searcher.name)


def _report_isolated_rows(count: int, n: int, radius: float, nearest: np.ndarray) -> None:
    enough = float(nearest.max())
    if enough > 0:  # rounded up to three significant digits
        step = 10.0 ** (math.floor(math.log10(enough)) - 2)
        enough = float(f"{math.ceil(enough / step) * step:.3g}")
    rows = (
        "no point has a"
        if count == n
        else f"1 of {n} points has no"
        if count == 1
        else f"{count} of {n} points have no"
    )
    text = (
        f"Within the radius {radius:g}, {rows} neighbor. Within {enough:g}, every point has at least one. Choose a "
        "larger radius, or a number of neighbors."
    )
    if count == n:
        raise DataError(text)
    warn(text, DataWarning)


def check_found(indices: np.ndarray, distances: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Raise an error if a neighbor is missing: kernels on the graph use every index without a check."""
    if indices.size and (indices.min() < 0 or indices.max() >= n or not np.isfinite(distances).all()):
        raise DataError("Some rows are infinitely far from all others. Rescale the columns, or remove such rows.")
    return indices, distances


def refuse_incomparable(X: Array, indices: np.ndarray, distances: np.ndarray, rows: np.ndarray | None = None) -> None:
    """Raise an error if a row shares a column with fewer others than it needs as neighbors."""
    short = np.flatnonzero((indices[:, -1] < 0) | ~np.isfinite(distances[:, -1]))
    if len(short):
        i, host = int(short[0] if rows is None else rows[short[0]]), to_numpy(X)
        pair = first_unshared(host[i : i + 1], host)
        if pair is not None:
            raise no_shared_column(i, pair[1])


def _in_precision_of(X: Array, lengths: np.ndarray) -> np.ndarray:
    with np.errstate(over="ignore"):
        found = lengths.astype(X.dtype if is_sparse(X) else to_numpy(X[:1, :1]).dtype, copy=False)
    if not np.isfinite(found).all():
        raise DataError(
            f"Distances between rows are too large for `{found.dtype}`. Rescale the columns, or use `float64`."
        )
    return found


def _refuse_if_equal(
    X: Array, lengths: np.ndarray, metric: Metric, params: dict[str, Any], *, takes_equal: bool = False
) -> None:
    """Raise an error if rows differ so little that distances underflow, or unless ``takes_equal`` are all equal."""
    if float(lengths.max(initial=0)) > _SMALL:
        return
    space = MetricSpace.of(metric, params)
    if space is not None:
        space.check_differences(X)
    if takes_equal or lengths.max(initial=0) > 0:
        return
    if is_sparse(X):
        equal = all_equal(X)
    else:
        equal = bool((X == 0).all()) if metric == "precomputed" else bool((X[:1, :] == X).all())
    if equal and metric == "precomputed":
        raise DataError("All distances are zero. Check the distance matrix.")
    if equal:
        raise DataError("All rows are equal: all distances are zero. Check which columns were chosen.")


# --- new points -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class NearestAmong:
    """The k nearest of the training points to each row of a slab."""

    points: Array  # (n, d), sparse or not
    k: int
    metric: Metric = "euclidean"
    params: dict[str, Any] = field(default_factory=dict)
    search: Search = "auto"

    def __call__(self, X: Array) -> tuple[np.ndarray, np.ndarray]:
        """Return indices and distances, both (m, k), nearest first; ties go to the lower index."""
        n = X.shape[1] if self.metric == "precomputed" else self.points.shape[0]
        if self.k > n:
            raise ParameterError(f"{self.k} nearest points: there are only {n} points. Choose at most {n}.")
        with _building:
            searcher = self._for_sparse_rows if is_sparse(X) and not is_sparse(self.points) else self._searcher
        space = MetricSpace.of(self.metric, self.params)
        if space is not None:
            space.check(X)
        if allows_nan(self.metric):
            return self._among_comparable(searcher, X)
        if all_finite(X):
            return check_found(*searcher.nearest_to(X, self.k), n)
        # (m,); other rows have no neighbors
        finite = finite_rows(X) if is_sparse(X) else to_numpy(xp_of(X).all(usable_values(X, self.metric), axis=1))
        indices, distances = np.zeros((len(finite), self.k), dtype=np.int32), np.full((len(finite), self.k), np.nan)
        if finite.any():
            found = check_found(*searcher.nearest_to(take(X, finite), self.k), n)
            indices[finite], distances[finite] = found
        return indices, distances

    def _among_comparable(self, searcher: Searcher, X: Array) -> tuple[np.ndarray, np.ndarray]:
        """The same for incomplete rows: NaN for a row that shares a column with fewer than k points."""
        usable = to_numpy(xp_of(X).all(usable_values(X, self.metric), axis=1))  # (m,)
        indices, distances = searcher.nearest_to(X, self.k)
        bad = ~usable | (indices < 0).any(axis=1) | ~np.isfinite(distances).all(axis=1)
        indices[bad], distances[bad] = 0, np.nan
        return indices, distances

    @cached_property
    def _for_sparse_rows(self) -> Searcher:
        """The search for sparse new rows among dense points."""
        points = scipy.sparse.csr_array(to_numpy(self.points))
        return choose_searcher(points, self.metric, self.params, self.search, self.k)

    @cached_property
    def _searcher(self) -> Searcher:
        return choose_searcher(self.points, self.metric, self.params, self.search, self.k)


@dataclass(frozen=True)
class ByGivenDistances:
    """Maps new rows by their given distances to the training points, after checks of the distances.

    For sparse rows, stored distances count: the k shortest, those within the radius, or all.
    """

    place: Callable[[Array], Array]
    kept: np.ndarray  # (n,) bool: points that have coordinates
    k: int | None = None
    radius: float | None = None

    def __call__(self, X: Array) -> Array:
        """Return coordinates, (m, k)."""
        return self.place(self._chosen(X.tocsr()) if is_sparse(X) else check_new_distances(X))

    def _chosen(self, X: Any) -> Any:
        bad = np.flatnonzero(~((X.data >= 0) & np.isfinite(X.data)))
        if len(bad):
            raise DataError(
                f"A new row has a distance of {describe_fault(X.data[bad[0]])}, to training row {X.indices[bad[0]]}. "
                "Distances must be finite and nonnegative. Do not store unknown distances."
            )
        rows, here = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr)), self.kept[X.indices]
        rows, to, length = rows[here], X.indices[here], X.data[here]
        order = np.lexsort((to, length, rows))
        rows, to, length = rows[order], to[order], length[order]
        counts = np.bincount(rows, minlength=X.shape[0])
        if not counts.all():
            raise DataError(
                "A new row has no stored distance to any embedded training row, so it cannot be embedded. Store its "
                "nearest distances, or remove the row."
            )
        place = np.arange(len(rows)) - (np.cumsum(counts) - counts)[rows]
        near = place < (len(self.kept) if self.k is None else self.k)
        if self.radius is not None:
            near &= (length <= self.radius) | (place == 0)
        return scipy.sparse.csr_array((length[near], (rows[near], to[near])), shape=X.shape)


def edges_to_points(
    X: Array, nearest: NearestAmong | None, k: int, kept: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the edges of new rows to training points, nearest first: start (m + 1,), targets and lengths.

    Without ``nearest``, the rows are distances: the k smallest of dense ones, or all stored ones. ``kept`` are the
    columns of the points that have coordinates (None: all).
    """
    if nearest is None and is_sparse(X):
        X = X.tocsr() if kept is None else X.tocsr()[:, kept]
        order = np.lexsort((X.indices, X.data, np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))))
        return X.indptr.astype(np.int64), X.indices[order], X.data[order]
    if nearest is None:
        D = to_numpy(X) if kept is None else to_numpy(X)[:, kept]
        to, length = k_smallest(D, k)
    else:
        to, length = nearest(X)
    return np.arange(len(to) + 1, dtype=np.int64) * to.shape[1], to.ravel(), length.ravel()


def k_smallest(D: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the indices and values of the k smallest numbers in each row, both (rows, k); ties go to the first."""
    to = np.argsort(D, axis=1, kind="stable")[:, :k]
    return to, np.take_along_axis(D, to, axis=1)


def inverse_distances(start: np.ndarray, length: np.ndarray) -> np.ndarray:
    """Return d_min / d for the neighbors at ``start[i]:start[i + 1]`` of each row i: 1 for the nearest one.

    By these weights the place of a new row is continuous: near a training row, it tends to the place of that row.
    """
    least = np.repeat(np.minimum.reduceat(length, start[:-1]), np.diff(start)) if len(length) else length
    share = np.ones(len(length))
    np.divide(least, length, out=share, where=(length > 0) & np.isfinite(length))
    return share

"""Neighbours: the nearest points of every point, all within a radius, or a graph that was given."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, Self

import numpy as np
import scipy.sparse

from lowland.arrays.namespace import Array, is_sparse, like, on_accelerator, to_numpy, xp_of
from lowland.arrays.records import record
from lowland.blocks.distances.metrics import Metric, check_metric
from lowland.blocks.distances.to_points import check_distances, check_new_distances
from lowland.blocks.neighbors.exact_search import Comparisons, KDTree, Searcher, Space
from lowland.blocks.neighbors.hnsw import Approximate, approximate_search, is_worth_it
from lowland.blocks.neighbors.matrix_products import Products
from lowland.blocks.neighbors.torch_search import OnDevice
from lowland.errors import DataError, DataWarning, ParameterError, warn
from lowland.run.run import Run, all_finite

Search = Literal["auto", "tree", "products", "approximate"]

_FEW_POINTS = 512  # of which all pairs are compared before a tree is built, or its loops are compiled
_TREE_COLUMNS = 32  # beyond this many a tree is not tried
_TREE_SHARE = 0.05  # of all points: where a tree measures more for each row, products are faster
_TREE_POINTS = 500  # which it may always
_SMALL = 1e-150  # distances of which none is longer may have lost their digits
_building = threading.Lock()  # several threads may ask the same object first


@record
@dataclass(frozen=True)
class NeighborGraph:
    """Links from each of n points to its neighbours: those of point i stand at ``start[i]:start[i + 1]``.

    Not a sparse matrix, which would lose the links of length zero between points that coincide.
    """

    start: np.ndarray  # (n + 1,) int64
    to: np.ndarray  # (links,) int32
    length: np.ndarray  # (links,) nearest first, where neighbours were searched for
    search: str = "given"
    recall: float = 1.0  # share of the true neighbours found, measured on a sample where the search is approximate

    @classmethod
    def of_table(cls, indices: np.ndarray, distances: np.ndarray, search: str, recall: float = 1.0) -> Self:
        """The graph of k neighbours for each point, (n, k)."""
        n, k = indices.shape
        return cls(np.arange(n + 1) * k, indices.ravel().astype(np.int32), distances.ravel(), search, recall)

    @property
    def n(self) -> int:
        """The number of points."""
        return len(self.start) - 1

    @cached_property
    def sources(self) -> np.ndarray:
        """The point at which each link begins, (links,)."""
        return np.repeat(np.arange(self.n, dtype=np.int32), np.diff(self.start))

    def table(self) -> tuple[np.ndarray, np.ndarray]:
        """Return indices and distances as two tables, (n, k), of a graph in which each point has k neighbours."""
        k = int(self.start[1])
        return self.to.reshape(self.n, k), self.length.reshape(self.n, k)

    def nearest(self, k: int | np.ndarray) -> Self:
        """Return the k shortest links of each point, or (n,) numbers of them; its nearest must stand first."""
        most = np.broadcast_to(k, self.n)[self.sources]
        return self.chosen(np.arange(len(self.to)) - self.start[self.sources] < most)

    def within(self, radius: float) -> Self:
        """Return the links no longer than ``radius``."""
        return self.chosen(self.length <= radius)

    def chosen(self, links: np.ndarray) -> Self:
        """Return the marked links alone."""
        start = np.concatenate([[0], np.cumsum(np.bincount(self.sources[links], minlength=self.n))])
        return replace(self, start=start, to=self.to[links], length=self.length[links])

    def symmetric(self) -> Self:
        """Return the graph with every link in both directions, once; of two lengths the shorter."""
        from lowland.kernels import kd_tree as kernels

        start, links = np.empty(self.n + 1, dtype=np.int64), 2 * len(self.to)
        to, length = np.empty(links, dtype=np.int32), np.empty(links, dtype=self.length.dtype)
        kept = kernels.both_directions(self.start, self.to, self.length, start, to, length)
        return replace(self, start=start, to=to[:kept].copy(), length=length[:kept].copy())

    def with_links(self, i: np.ndarray, j: np.ndarray, length: np.ndarray) -> Self:
        """Return the graph with further links, in both directions."""
        n = np.int64(self.n)
        keys = self.sources * n + self.to
        shortest_first = np.argsort(length, kind="stable")
        i, j, length = (each[shortest_first] for each in (i, j, length))
        new, first = np.unique(np.stack([i * n + j, j * n + i], axis=1), return_index=True)
        more = np.repeat(length, 2)[first].astype(self.length.dtype)
        if not np.all(keys[1:] > keys[:-1]):  # one that is symmetric is sorted
            sorting = np.argsort(keys, kind="stable")
            return replace(self, to=self.to[sorting], length=self.length[sorting]).with_links(i, j, length)
        places = np.searchsorted(keys, new)
        held = (keys[np.minimum(places, len(keys) - 1)] == new) if len(keys) else np.zeros(len(new), dtype=bool)
        lengths = self.length.copy()
        np.minimum.at(lengths, places[held], more[held])
        new, places, more = new[~held], places[~held], more[~held]
        start = self.start + np.concatenate([[0], np.cumsum(np.bincount(new // n, minlength=self.n))])
        to = np.insert(self.to, places, (new % n).astype(np.int32))
        return replace(self, start=start, to=to, length=np.insert(lengths, places, more))

    def among(self, kept: np.ndarray) -> Self:
        """Return the links among the marked points, numbered anew."""
        number = np.cumsum(kept) - 1
        inner = self.chosen(kept[self.sources] & kept[self.to])
        start = np.append(inner.start[:-1][kept], len(inner.to))  # a point that is left out has no link
        return replace(inner, start=start, to=number[inner.to].astype(np.int32))

    def matrix(self, values: np.ndarray | None = None) -> scipy.sparse.csr_array:
        """Return the lengths, or other values of the links, as a sparse matrix."""
        values = self.length if values is None else values
        return scipy.sparse.csr_array((values, self.to, self.start), shape=(self.n, self.n))


@dataclass(frozen=True)
class NearestAmong:
    """The k nearest of kept points to each row of a slab; an object, so that it can travel to a worker."""

    points: Array  # (n, d)
    k: int
    metric: Metric = "euclidean"
    params: dict[str, Any] = field(default_factory=dict)
    search: Search = "auto"

    def __call__(self, X: Array) -> tuple[np.ndarray, np.ndarray]:
        """Return indices and distances, both (m, k), nearest first; of equally near ones the lower index."""
        n = X.shape[1] if self.metric == "precomputed" else self.points.shape[0]
        if self.k > n:
            raise ParameterError(f"n_neighbors={self.k}: there are {n} points. Choose at most {n}.")
        with _building:
            searcher = self._searcher
        space = Space.of(self.metric, self.params)
        if space is not None:
            space.check(X)
        if all_finite(X):
            return _all_found(*searcher.nearest_to(X, self.k), n)
        finite = to_numpy(xp_of(X).all(xp_of(X).isfinite(X), axis=1))  # (m,); other rows are near none
        indices, distances = np.zeros((len(finite), self.k), dtype=np.int32), np.full((len(finite), self.k), np.nan)
        if finite.any():
            rows = xp_of(X).take(X, like(np.flatnonzero(finite), X, xp_of(X).int64), axis=0)
            indices[finite], distances[finite] = _all_found(*searcher.nearest_to(rows, self.k), n)
        return indices, distances

    @cached_property
    def _searcher(self) -> Searcher:
        return searcher_of(self.points, self.metric, self.params, self.search, self.k)


def searcher_of(X: Array, metric: Metric, params: dict[str, Any], search: Search, k: int) -> Searcher:
    """Choose how neighbours are searched for: a tree where it spares enough of the pairs, products, or comparisons."""
    check_metric(metric, params)
    space = Space.of(metric, params)
    if space is not None:
        space.check(X)
    if search == "approximate":
        return approximate_search(X, space)
    if on_accelerator(X):
        return OnDevice(X, metric, params)
    if space is None:
        return Comparisons(X, metric, params)
    by_products: Searcher = Products(X, space) if space.p == 2 else Comparisons(X, metric, params)
    if search == "tree":
        return KDTree(X, space)
    if search == "products":
        return by_products
    if X.shape[1] <= _TREE_COLUMNS:
        if X.shape[0] <= _FEW_POINTS:
            return Comparisons(X, metric, params)
        tree = KDTree(X, space)
        if tree.points_measured(k) < max(_TREE_POINTS, _TREE_SHARE * X.shape[0]):
            return tree
    return by_products


def nearest_neighbors(
    X: Array,
    k: int,
    run: Run,
    *,
    metric: Metric = "euclidean",
    params: dict[str, Any] | None = None,
    search: Search = "auto",
    rng: np.random.Generator | None = None,
) -> NeighborGraph:
    """Return the k nearest neighbours of every row, itself left out; metric "precomputed": X holds the distances.

    Of equally near ones the lower index. Nothing of n x n numbers is made.
    """
    n = X.shape[0]
    if k >= n:
        raise ParameterError(f"n_neighbors={k}: the data has {n} rows. Choose at most {n - 1}.")
    X = check_distances(X) if metric == "precomputed" else X
    run.require(40 * n * k, f"A graph of {k} neighbours for each of {n:,} rows", "Choose fewer neighbours")
    searcher = searcher_of(X, metric, params or {}, search, k)
    if search == "auto" and isinstance(searcher, Products) and is_worth_it(*X.shape):
        searcher = Approximate(X, searcher.space)
    indices, distances = _all_found(*searcher.nearest(k, run), n)
    _refuse_if_equal(X, distances, metric, params or {})
    recall = 1.0
    if isinstance(searcher, Approximate):
        recall = searcher.recall(distances, run, rng or np.random.default_rng(0))
    return NeighborGraph.of_table(indices, _in_precision_of(X, distances), searcher.name, recall)


def neighbors_within(
    X: Array,
    radius: float,
    run: Run,
    *,
    metric: Metric = "euclidean",
    params: dict[str, Any] | None = None,
    search: Search = "auto",
) -> NeighborGraph:
    """Return, for every row, all others no farther than ``radius``, nearest first; those left alone are told of."""
    X = check_distances(X) if metric == "precomputed" else X
    searcher = searcher_of(X, metric, params or {}, "auto" if search == "approximate" else search, 10)
    start, to, length = searcher.within(radius, run)
    _refuse_if_equal(X, length, metric, params or {})
    alone = np.flatnonzero(np.diff(start) == 0)
    if len(alone):
        _tell_of_loners(searcher, alone, X.shape[0], radius, run)
    return NeighborGraph(start, to, _in_precision_of(X, length), searcher.name)


def _tell_of_loners(searcher: Searcher, alone: np.ndarray, n: int, radius: float, run: Run) -> None:
    _, nearest = searcher.nearest(1, run, rows=alone)
    enough = _rounded_up(float(nearest.max()))
    if len(alone) == n:
        raise DataError(
            f"radius={radius:g} leaves every row without a neighbour; with radius={enough:g} every row has one. "
            "Choose a larger radius, or n_neighbors."
        )
    rows = "1 row" if len(alone) == 1 else f"{len(alone)} rows"
    warn(
        f"radius={radius:g} leaves {rows} of {n} without a neighbour; with radius={enough:g} every row has one. "
        "Choose a larger radius, or n_neighbors.",
        DataWarning,
    )


def _rounded_up(x: float) -> float:
    """A number of three digits that is not smaller."""
    if x == 0:
        return x
    step = 10.0 ** (math.floor(math.log10(x)) - 2)
    return float(f"{math.ceil(x / step) * step:.3g}")


def _all_found(indices: np.ndarray, distances: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Refuse an answer in which a neighbour is missing: kernels that walk the graph take every index for a point."""
    if indices.size and (indices.min() < 0 or indices.max() >= n or not np.isfinite(distances).all()):
        raise DataError("Some rows are infinitely far from all others. Rescale the columns, or leave such rows out.")
    return indices, distances


def _in_precision_of(X: Array, lengths: np.ndarray) -> np.ndarray:
    with np.errstate(over="ignore"):
        found = lengths.astype(to_numpy(X[:1, :1]).dtype)
    if not np.isfinite(found).all():
        raise DataError(f"Distances of rows are too large for {found.dtype}. Rescale the columns, or pass float64.")
    return found


def _refuse_if_equal(X: Array, lengths: np.ndarray, metric: Metric, params: dict[str, Any]) -> None:
    """Refuse rows that do not differ at all, or too little to be told apart: there is nothing to draw."""
    if float(lengths.max(initial=0)) > _SMALL:
        return
    space = Space.of(metric, params)
    if space is not None:
        space.check_differences(X)
    if lengths.max(initial=0) > 0:
        return
    if bool((X == 0).all()) if metric == "precomputed" else bool((X[:1, :] == X).all()):
        raise DataError("All rows are equal: none is nearer than another. Check the columns that were chosen.")


def given_graph(G: Any, n: int | None = None) -> NeighborGraph:
    """Return a graph that the user has made, a sparse matrix of lengths; refuse what is none, saying why.

    What is stored is a link, also a zero, and what is stored twice is added up, as scipy does; in a dense matrix a
    zero, or infinity, stands for none. The diagonal is left out. A link stored in one direction counts for both once a
    method makes it symmetric.
    """
    if not is_sparse(G):
        try:
            G = np.asarray(to_numpy(G))
        except (TypeError, ValueError) as error:  # lists of unequal lengths
            raise DataError(
                f"The graph is a {type(G).__name__} and no matrix. Give a sparse (n, n) matrix of distances."
            ) from error
        if G.ndim == 2 and G.dtype.kind in "fiub":
            G = scipy.sparse.csr_array(np.where(np.isposinf(G), 0, G) if G.dtype.kind == "f" else G)
    if G.ndim != 2 or G.shape[0] != G.shape[1]:
        raise DataError(f"The graph has shape {G.shape}. It must be square, with one row and one column a point.")
    if n is not None and G.shape[0] != n:
        raise DataError(f"The graph joins {G.shape[0]} points, and there are {n} rows. Give one node for each row.")
    if G.dtype.kind not in "fiub":
        raise DataError(f"The graph holds {G.dtype}. Lengths are distances: real numbers, zero or more.")
    G = scipy.sparse.coo_array(G)
    G.sum_duplicates()  # which makes new arrays; zeros stay
    length = G.data.astype(np.float32 if G.data.dtype == np.float32 else np.float64)
    bad = np.flatnonzero(~((length >= 0) & np.isfinite(length)))
    if len(bad):
        i, j = int(G.coords[0][bad[0]]), int(G.coords[1][bad[0]])
        raise DataError(
            f"The graph has a link of {_fault(length[bad[0]])} at [{i}, {j}]. Lengths are distances, zero or more; "
            "leave out a link that is not there."
        )
    return _without_loops(G.coords[0], G.coords[1], length, G.shape[0])


def _fault(value: float) -> str:
    words = "negative" if value < 0 else "infinite" if np.isinf(value) else "missing (NaN)"
    return f"{words} length: {value:g}"


@dataclass(frozen=True)
class ByGivenDistances:
    """Places new rows by their distances to the points, which are checked; an object that can travel to a worker.

    Of sparse rows, what is stored counts: the k shortest, those within the radius, or all.
    """

    place: Callable[[Array], Array]
    kept: np.ndarray  # (n,) bool: points that have a place
    k: int | None = None
    radius: float | None = None

    def __call__(self, X: Array) -> Array:
        """Return coordinates, (m, k)."""
        return self.place(self._chosen(X.tocsr()) if is_sparse(X) else check_new_distances(X))

    def _chosen(self, X: Any) -> Any:
        bad = np.flatnonzero(~((X.data >= 0) & np.isfinite(X.data)))
        if len(bad):
            raise DataError(
                f"A new row has a distance of {_fault(X.data[bad[0]])}, to the fitted point {X.indices[bad[0]]}. "
                "Distances are zero or more; leave out one that is not known."
            )
        rows, here = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr)), self.kept[X.indices]
        rows, to, length = rows[here], X.indices[here], X.data[here]
        order = np.lexsort((to, length, rows))
        rows, to, length = rows[order], to[order], length[order]
        counts = np.bincount(rows, minlength=X.shape[0])
        if not counts.all():
            raise DataError(
                "A new row has no stored distance to any fitted point that has a place, so it has none itself. Give "
                "its nearest ones, or leave the row out."
            )
        place = np.arange(len(rows)) - (np.cumsum(counts) - counts)[rows]
        near = place < (len(self.kept) if self.k is None else self.k)
        if self.radius is not None:
            near &= (length <= self.radius) | (place == 0)
        return scipy.sparse.csr_array((length[near], (rows[near], to[near])), shape=X.shape)


def _without_loops(i: np.ndarray, j: np.ndarray, length: np.ndarray, n: int) -> NeighborGraph:
    other = i != j
    i, j, length = i[other], j[other], length[other]
    order = np.lexsort((j, length, i))
    start = np.concatenate([[0], np.cumsum(np.bincount(i, minlength=n))])
    return NeighborGraph(start, j[order].astype(np.int32), length[order])

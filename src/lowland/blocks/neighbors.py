"""Neighbours: the nearest points of every point, all within a radius, or a graph that was given."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, Self

import numpy as np
import scipy.sparse

from lowland.arrays.namespace import Array, to_numpy
from lowland.blocks.distances import DistancesTo, Metric
from lowland.data.rows import ArrayRows
from lowland.errors import DataError, ParameterError
from lowland.run.run import Run

Search = Literal["auto", "tree", "products", "approximate"]

_TREE_COLUMNS = 16  # beyond this many a tree visits most of its leaves
_BY_DIFFERENCES = {"euclidean": 2, "l2": 2, "manhattan": 1, "cityblock": 1, "l1": 1, "chebyshev": np.inf}


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

    def symmetric(self) -> Self:
        """Return the graph with every link in both directions, once; of two lengths the shorter."""
        i = np.concatenate([self.sources, self.to])
        j = np.concatenate([self.to, self.sources])
        return self._of_links(i, j, np.concatenate([self.length, self.length]))

    def with_links(self, i: np.ndarray, j: np.ndarray, length: np.ndarray) -> Self:
        """Return the graph with further links, in both directions."""
        return self._of_links(
            np.concatenate([self.sources, i, j]),
            np.concatenate([self.to, j, i]),
            np.concatenate([self.length, length, length]).astype(self.length.dtype),
        )

    def among(self, kept: np.ndarray) -> Self:
        """Return the links among the marked points, numbered anew."""
        number = np.cumsum(kept) - 1
        inside = kept[self.sources] & kept[self.to]
        i, j = number[self.sources[inside]], number[self.to[inside]]
        start = np.concatenate([[0], np.cumsum(np.bincount(i, minlength=int(kept.sum())))])
        return type(self)(start, j.astype(np.int32), self.length[inside], self.search, self.recall)

    def matrix(self, values: np.ndarray | None = None) -> scipy.sparse.csr_array:
        """Return the lengths, or other values of the links, as a sparse matrix."""
        values = self.length if values is None else values
        return scipy.sparse.csr_array((values, self.to, self.start), shape=(self.n, self.n))

    def _of_links(self, i: np.ndarray, j: np.ndarray, length: np.ndarray) -> Self:
        order = np.lexsort((length, j, i))
        i, j, length = i[order], j[order], length[order]
        first = np.ones(len(i), dtype=bool)
        first[1:] = (i[1:] != i[:-1]) | (j[1:] != j[:-1])
        start = np.concatenate([[0], np.cumsum(np.bincount(i[first], minlength=self.n))])
        return type(self)(start, j[first].astype(np.int32), length[first], self.search, self.recall)


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
        if self._by_tree:
            distances, indices = self._tree.query(to_numpy(X), self.k, p=self._power)
            return indices.reshape(-1, self.k), distances.reshape(-1, self.k)
        D = X if self.metric == "precomputed" else DistancesTo(self.points, self.metric, self.params)(X)
        return _smallest(to_numpy(D), self.k)

    @property
    def _power(self) -> float:
        return float(self.params.get("p", 2)) if self.metric == "minkowski" else _BY_DIFFERENCES[str(self.metric)]

    @property
    def _by_tree(self) -> bool:
        fits = self.metric == "minkowski" or self.metric in _BY_DIFFERENCES
        return fits and self.search != "products" and (self.search == "tree" or self.points.shape[1] <= _TREE_COLUMNS)

    @cached_property
    def _tree(self) -> Any:
        from scipy.spatial import cKDTree

        return cKDTree(to_numpy(self.points))


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
    """Return the k nearest neighbours of every row, itself left out; metric "precomputed": X holds the distances."""
    n = X.shape[0]
    if k >= n:
        raise ParameterError(f"n_neighbors={k}: the data has {n} rows. Choose at most {n - 1}.")
    if metric == "precomputed":
        indices, distances = _smallest(to_numpy(X), k + 1)
        name = "given distances"
    else:
        nearest = NearestAmong(X, k + 1, metric, params or {}, search)
        found = [nearest(chunk) for chunk in ArrayRows(X).chunks()]
        indices, distances = (np.concatenate(part) for part in zip(*found, strict=True))
        name = "tree" if nearest._by_tree else "products"
    indices, distances = _without_itself(indices, distances)
    return NeighborGraph.of_table(indices, distances.astype(to_numpy(X[:1, :1]).dtype), name)


def neighbors_within(
    X: Array,
    radius: float,
    run: Run,
    *,
    metric: Metric = "euclidean",
    params: dict[str, Any] | None = None,
    search: Search = "auto",
) -> NeighborGraph:
    """Return, for every row, all others no farther than ``radius``, nearest first."""
    D = to_numpy(X) if metric == "precomputed" else to_numpy(DistancesTo(X, metric, params or {})(X))
    near = radius >= D
    np.fill_diagonal(near, False)
    i, j = np.nonzero(near)
    order = np.lexsort((D[i, j], i))
    start = np.concatenate([[0], np.cumsum(near.sum(axis=1))])
    return NeighborGraph(start, j[order].astype(np.int32), D[i, j][order], "products")


def given_graph(G: Any, n: int | None = None) -> NeighborGraph:
    """Return a graph that the user has made, a sparse matrix of lengths; refuse what is none, saying why."""
    G = scipy.sparse.csr_array(G)
    if G.shape[0] != G.shape[1]:
        raise DataError(f"The graph has shape {G.shape}. It must be square, with one row and one column a point.")
    if n is not None and G.shape[0] != n:
        raise DataError(f"The graph joins {G.shape[0]} points, and there are {n} rows. Give one node for each row.")
    if len(G.data) and not np.all(G.data >= 0):
        raise DataError("The graph has a link of negative or missing length. Lengths are distances: zero or more.")
    return NeighborGraph(G.indptr.astype(np.int64), G.indices.astype(np.int32), G.data)


def _smallest(D: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the places and values of the k smallest in each row, smallest first."""
    part = np.argpartition(D, k - 1, axis=1)[:, :k] if k < D.shape[1] else np.broadcast_to(np.arange(k), D.shape)
    values = np.take_along_axis(D, part, axis=1)
    order = np.lexsort((part, values), axis=1)
    return np.take_along_axis(part, order, axis=1), np.take_along_axis(values, order, axis=1)


def _without_itself(indices: np.ndarray, distances: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Leave each point out of its own neighbours; where twins crowd it out, the last one goes instead."""
    n, k = indices.shape
    own = indices == np.arange(n)[:, None]
    own[~own.any(axis=1), -1] = True
    return indices[~own].reshape(n, k - 1), distances[~own].reshape(n, k - 1)

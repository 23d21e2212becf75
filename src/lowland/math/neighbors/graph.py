"""Neighbor graphs: searched for, or given by the user."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
import scipy.sparse

from lowland.arrays.namespace import is_sparse, to_numpy
from lowland.arrays.records import record
from lowland.errors import DataError
from lowland.run.progress import in_one_call

_EXACT = {
    "tree": "by a k-d tree",
    "products": "by matrix products",
    "sparse products": "by sparse products",
    "comparisons": "by comparisons of all pairs",
    "given distances": "by precomputed distances",
}
_LARGE = 1_000_000  # edges from which a loop over all of them may take a while


@record
@dataclass(frozen=True)
class NeighborGraph:
    """Edges from each of n points to its neighbors: those of point i are at ``start[i]:start[i + 1]``.

    Not a sparse matrix, which would lose the edges of length zero between duplicate points.
    """

    start: np.ndarray  # (n + 1,) int64
    to: np.ndarray  # (edges,) int32
    length: np.ndarray  # (edges,) shortest first, if neighbors were searched for
    search: str = "given"
    recall: float = 1.0  # fraction of the true neighbors found, measured on a sample where the search is approximate
    recall_interval: tuple[float, float] = (1.0, 1.0)  # of 95%

    @classmethod
    def of_table(cls, indices: np.ndarray, distances: np.ndarray, search: str) -> Self:
        """The graph of k neighbors per point, from tables (n, k)."""
        n, k = indices.shape
        return cls(np.arange(n + 1) * k, indices.ravel().astype(np.int32, copy=False), distances.ravel(), search)

    @property
    def n(self) -> int:
        """The number of points."""
        return len(self.start) - 1

    @property
    def search_in_words(self) -> str:
        """How the neighbors were found, with the recall of an approximate search."""
        if self.search == "approximate":
            low, high = self.recall_interval
            return f"approximate (nearest-neighbor descent), recall {self.recall:.3f} ({low:.3f} to {high:.3f})"
        return f"exact, {_EXACT[self.search]}" if self.search in _EXACT else self.search

    @cached_property
    def sources(self) -> np.ndarray:
        """The point at which each edge begins, (edges,)."""
        return np.repeat(np.arange(self.n, dtype=np.int32), np.diff(self.start))

    def table(self) -> tuple[np.ndarray, np.ndarray]:
        """Return indices and distances as two tables, (n, k). Every point must have k neighbors."""
        k = int(self.start[1])
        return self.to.reshape(self.n, k), self.length.reshape(self.n, k)

    def nearest(self, k: int | np.ndarray) -> Self:
        """Return the k shortest edges of each point, k an integer or (n,) integers. Edges must be sorted by length."""
        most = np.broadcast_to(k, self.n)[self.sources]
        return self.chosen(np.arange(len(self.to)) - self.start[self.sources] < most)

    def within(self, radius: float) -> Self:
        """Return the edges no longer than ``radius``."""
        return self.chosen(self.length <= radius)

    def chosen(self, edges: np.ndarray) -> Self:
        """Return the graph of the marked edges only."""
        start = np.concatenate([[0], np.cumsum(np.bincount(self.sources[edges], minlength=self.n))])
        return replace(self, start=start, to=self.to[edges], length=self.length[edges])

    def symmetric(self) -> Self:
        """Return the graph with every edge in both directions, once each, with the shorter of two lengths."""
        from lowland.kernels import graphs

        start, edges = np.empty(self.n + 1, dtype=np.int64), 2 * len(self.to)
        to, length = np.empty(edges, dtype=np.int32), np.empty(edges, dtype=self.length.dtype)
        arrays = (self.start, self.to, self.length, start, to, length)
        if edges < _LARGE:
            kept = graphs.symmetrize(*arrays)
        else:
            kept = in_one_call(lambda: graphs.symmetrize(*arrays), "the symmetric graph")
        return replace(self, start=start, to=to[:kept].copy(), length=length[:kept].copy())

    def with_edges(self, i: np.ndarray, j: np.ndarray, length: np.ndarray) -> Self:
        """Return the graph with further edges, in both directions. The edges of each point are sorted by target."""
        n = np.int64(self.n)
        keys = self.sources * n + self.to
        shortest_first = np.argsort(length, kind="stable")
        i, j, length = (each[shortest_first] for each in (i, j, length))
        new, first = np.unique(np.stack([i * n + j, j * n + i], axis=1), return_index=True)
        more = np.repeat(length, 2)[first].astype(self.length.dtype)
        if not np.all(keys[1:] > keys[:-1]):  # a symmetric graph is sorted already
            sorting = np.argsort(keys, kind="stable")
            return replace(self, to=self.to[sorting], length=self.length[sorting]).with_edges(i, j, length)
        places = np.searchsorted(keys, new)
        held = (keys[np.minimum(places, len(keys) - 1)] == new) if len(keys) else np.zeros(len(new), dtype=bool)
        lengths = self.length.copy()
        np.minimum.at(lengths, places[held], more[held])
        new, places, more = new[~held], places[~held], more[~held]
        start = self.start + np.concatenate([[0], np.cumsum(np.bincount(new // n, minlength=self.n))])
        to = np.insert(self.to, places, (new % n).astype(np.int32))
        return replace(self, start=start, to=to, length=np.insert(lengths, places, more))

    def with_farthest(self, edges: np.ndarray) -> Self:
        """Return the graph with the marked edges as long as the longest other one of their row, rows sorted by length.

        A row of marked edges alone keeps their lengths.
        """
        longest = np.full(self.n, -1.0, dtype=self.length.dtype)
        np.maximum.at(longest, self.sources[~edges], self.length[~edges])
        longest = longest[self.sources]
        length = np.where(edges & (longest >= 0), longest, self.length)
        order = np.lexsort((self.to, edges, length, self.sources))
        return replace(self, to=self.to[order], length=length[order])

    def first_of_equals(self) -> np.ndarray:
        """Return the first of the points at distance zero of each point, itself if there is none, (n,)."""
        first, zero = np.arange(self.n), np.flatnonzero(self.length == 0)
        if not len(zero):
            return first
        np.minimum.at(first, self.sources[zero], self.to[zero])
        while np.any(first[first] != first):
            first = first[first]
        return first

    def among(self, kept: np.ndarray) -> Self:
        """Return the edges among the marked points, which are renumbered."""
        number = np.cumsum(kept) - 1
        inner = self.chosen(kept[self.sources] & kept[self.to])
        start = np.append(inner.start[:-1][kept], len(inner.to))  # a point that is left out has no edge
        return replace(inner, start=start, to=number[inner.to].astype(np.int32))

    def matrix(self, values: np.ndarray | None = None) -> scipy.sparse.csr_array:
        """Return the lengths, or other values of the edges, as a sparse matrix."""
        values = self.length if values is None else values
        start = self.start.astype(np.int32) if len(self.to) < 2**31 else self.start  # else scipy copies the targets
        return scipy.sparse.csr_array((values, self.to, start), shape=(self.n, self.n))


def graph_without_edges(n: int) -> NeighborGraph:
    """Return the graph of n points that are no neighbors."""
    return NeighborGraph(np.zeros(n + 1, dtype=np.int64), np.empty(0, dtype=np.int32), np.empty(0))


def given_graph(G: Any, n: int | None = None) -> NeighborGraph:
    """Return the graph of a matrix of edge lengths that the user passed; raise a DataError if it is not valid.

    Each stored entry of a sparse matrix is an edge, also a zero; duplicate entries are summed, as in scipy. In a dense
    matrix, zero and infinity mean no edge. The diagonal is ignored. An edge stored in one direction counts for both
    once a method makes the graph symmetric.
    """
    if not is_sparse(G):
        try:
            G = np.asarray(to_numpy(G))
        except (TypeError, ValueError) as error:  # lists of unequal lengths
            raise DataError(
                f"The graph is a {type(G).__name__}, not a matrix. Pass a sparse (n, n) matrix of distances."
            ) from error
        if G.ndim == 2 and G.dtype.kind in "fiub":
            G = scipy.sparse.csr_array(np.where(np.isposinf(G), 0, G) if G.dtype.kind == "f" else G)
    if G.ndim != 2 or G.shape[0] != G.shape[1]:
        raise DataError(
            "The graph must be a square distance matrix, with one row and one column per data row "
            f"(`its shape is {G.shape}`)."
        )
    if n is not None and G.shape[0] != n:
        raise DataError(f"The graph has {G.shape[0]} nodes, but `X` has {n} rows. Pass a graph with one node per row.")
    if G.dtype.kind not in "fiub":
        raise DataError(f"The graph has dtype {G.dtype}. Edge lengths must be nonnegative real numbers.")
    G = scipy.sparse.coo_array(G)
    G.sum_duplicates()  # which makes new arrays; zeros stay
    length = G.data.astype(np.float32 if G.data.dtype == np.float32 else np.float64)
    bad = np.flatnonzero(~((length >= 0) & np.isfinite(length)))
    if len(bad):
        i, j = int(G.coords[0][bad[0]]), int(G.coords[1][bad[0]])
        raise DataError(
            f"The graph has an edge of {describe_fault(length[bad[0]])} in row {i + 1}, column {j + 1}. Edge lengths "
            "must be finite, and positive or zero. Do not store edges that do not exist."
        )
    other = G.coords[0] != G.coords[1]
    i, j, length = G.coords[0][other], G.coords[1][other], length[other]
    order = np.lexsort((j, length, i))
    start = np.concatenate([[0], np.cumsum(np.bincount(i, minlength=G.shape[0]))])
    return NeighborGraph(start, j[order].astype(np.int32), length[order])


def describe_fault(value: float) -> str:
    """Return in words what is wrong with a length."""
    words = "negative" if value < 0 else "infinite" if np.isinf(value) else "missing (NaN)"
    return f"{words} length: {value:g}"

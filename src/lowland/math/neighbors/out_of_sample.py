"""Out-of-sample extension through nearest training points: objects that can be sent to a worker."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse

from lowland.arrays.namespace import Array, is_sparse, like, to_numpy, xp_of
from lowland.errors import DataError, ParameterError
from lowland.math.distances.metrics import Metric, allows_nan, usable_values
from lowland.math.distances.sparse_rows import finite_rows
from lowland.math.distances.to_points import check_new_distances
from lowland.math.neighbors.graph import fault_of
from lowland.math.neighbors.metric_space import MetricSpace
from lowland.math.neighbors.search import Search, all_found, choose_searcher
from lowland.math.neighbors.searcher import Searcher
from lowland.run.run import all_finite

_building = threading.Lock()  # several threads may build the same search at once


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
            return all_found(*searcher.nearest_to(X, self.k), n)
        # (m,); other rows have no neighbors
        finite = finite_rows(X) if is_sparse(X) else to_numpy(xp_of(X).all(usable_values(X, self.metric), axis=1))
        indices, distances = np.zeros((len(finite), self.k), dtype=np.int32), np.full((len(finite), self.k), np.nan)
        if finite.any():
            rows = (
                X[finite] if is_sparse(X) else xp_of(X).take(X, like(np.flatnonzero(finite), X, xp_of(X).int64), axis=0)
            )
            indices[finite], distances[finite] = all_found(*searcher.nearest_to(rows, self.k), n)
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
                f"A new row has a distance of {fault_of(X.data[bad[0]])}, to training row {X.indices[bad[0]]}. "
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


def inverse_distances(start: np.ndarray, length: np.ndarray) -> np.ndarray:
    """Return d_min / d for the neighbors at ``start[i]:start[i + 1]`` of each row i: 1 for the nearest one.

    By these weights the place of a new row is continuous: near a training row, it tends to the place of that row.
    """
    least = np.repeat(np.minimum.reduceat(length, start[:-1]), np.diff(start)) if len(length) else length
    share = np.ones(len(length))
    np.divide(least, length, out=share, where=(length > 0) & np.isfinite(length))
    return share

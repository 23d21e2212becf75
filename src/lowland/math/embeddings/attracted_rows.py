"""The place of new rows in a PaCMAP map: attraction by their nearest training rows, which stay where they are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from lowland.arrays.namespace import Array, is_sparse, like, to_numpy
from lowland.math.embeddings.column_reduction import ColumnReduction
from lowland.math.embeddings.pairs import EXTRA, Pairs, scaled_neighbors
from lowland.math.neighbors.graph import NeighborGraph
from lowland.math.neighbors.out_of_sample import NearestAmong, inverse_distances
from lowland.run.local import serial_run

_STEPS = 50  # of a new row


@dataclass(frozen=True)
class ByAttraction:
    """Maps new rows: a minimum of sum w D / (10 + D) over the nearest training rows, chosen as in the fit.

    The weights are 1 / d, by the distances d in the data: the nearer a row is to one training row, the nearer is its
    place to that row's. The search starts at the weighted median of their places. A row at distance 0 from a training
    row is placed at it. A place depends on the row alone.
    """

    nearest: NearestAmong | None  # None: rows hold distances
    reduction: ColumnReduction | None
    scales: np.ndarray  # (n,) of the training rows
    Z: np.ndarray  # (n, k) float64: their places
    k: int  # neighbors
    columns: np.ndarray | None = None  # of given distances: those to embedded training rows

    def __call__(self, X: Array) -> Array:
        """Return the places of rows, (m, k); NaN for rows that are not finite."""
        from lowland.kernels.pacmap import attract

        graph = self._candidates(X)
        run = serial_run()
        chosen = scaled_neighbors(graph, self.scales, self.k, run, own=np.ones(graph.n))
        near, weight = self._neighborhoods(chosen, _lengths(graph, chosen))
        places = _weighted_medians(near, weight)
        attract(near, weight, _STEPS, places)
        first = graph.start[:-1]
        same = graph.length[first] == 0
        places[same] = self.Z[graph.to[first[same]]]
        places[~np.isfinite(graph.length[first])] = np.nan
        return like(places, X.data if is_sparse(X) else X)

    def _candidates(self, X: Any) -> NeighborGraph:
        """The nearest training rows of new rows, nearest first."""
        if self.nearest is not None:
            return NeighborGraph.of_table(*self.nearest(X if self.reduction is None else self.reduction(X)), "given")
        if not is_sparse(X):
            D = to_numpy(X)[:, self.columns]
            near = np.argsort(D, axis=1, kind="stable")[:, : self.k + EXTRA]
            return NeighborGraph.of_table(near, np.take_along_axis(D, near, axis=1), "given")
        to, rows = X.indices, np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
        order = np.lexsort((to, X.data, rows))
        places = np.full(X.shape[1], -1)
        places[self.columns] = np.arange(len(self.Z))
        return NeighborGraph(X.indptr.astype(np.int64), places[to[order]].astype(np.int32), X.data[order])

    def _neighborhoods(self, chosen: Pairs, length: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The places of each row's neighbors and their weights, (m, neighbors, k) and (m, neighbors).

        Where a row has fewer neighbors, the others have the weight zero.
        """
        weight = inverse_distances(chosen.start, length)
        at = chosen.start[:-1, None] + np.arange(self.k)
        there = at < chosen.start[1:, None]
        at = np.where(there, at, chosen.start[:-1, None])
        return self.Z[chosen.to[at]], np.where(there, weight[at], 0.0)


def _weighted_medians(near: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """The weighted median of the places of each row's neighbors, along each axis, (m, k)."""
    order = np.argsort(near, axis=1, kind="stable")
    mass = np.take_along_axis(np.broadcast_to(weight[:, :, None], near.shape), order, axis=1).cumsum(axis=1)
    middle = np.argmax(mass >= mass[:, -1:] / 2, axis=1)[:, None]
    return np.take_along_axis(near, np.take_along_axis(order, middle, axis=1), axis=1)[:, 0]


def _lengths(graph: NeighborGraph, chosen: Pairs) -> np.ndarray:
    """The distances of the chosen neighbors, (pairs,) float64."""
    wide = np.int64(max(graph.to.max(initial=0), chosen.to.max(initial=0)) + 2)  # neighbors that are missing are -1
    rows = np.repeat(np.arange(chosen.n), np.diff(chosen.start))
    keys = graph.sources * wide + graph.to
    order = np.argsort(keys, kind="stable")
    return graph.length[order[np.searchsorted(keys, rows * wide + chosen.to, sorter=order)]].astype(np.float64)

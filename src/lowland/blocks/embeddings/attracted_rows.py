"""The place of new rows in a PaCMAP map: attraction by their nearest training rows, which stay where they are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from lowland.arrays.namespace import Array, is_sparse, like, to_numpy
from lowland.blocks.embeddings.column_reduction import ColumnReduction
from lowland.blocks.embeddings.pairs import EXTRA, Pairs, scaled_neighbors
from lowland.blocks.neighbors.graph import NeighborGraph
from lowland.blocks.neighbors.out_of_sample import NearestAmong
from lowland.run.local import serial_run

_STEPS = 50  # of a new row


@dataclass(frozen=True)
class ByAttraction:
    """Maps new rows: the minimum of sum D / (10 + D) over the nearest training rows, chosen as in the fit.

    The search starts at the median of their places. A row at distance 0 from a training row is placed at it. A place
    depends on the row alone.
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
        places = self._medians(chosen)
        attract(self.Z, chosen.start, chosen.to, _STEPS, places)
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

    def _medians(self, chosen: Pairs) -> np.ndarray:
        """The median of the places of each row's neighbors, (m, k)."""
        counts = np.diff(chosen.start)
        if len(counts) and (counts == counts[0]).all():
            return np.median(self.Z[chosen.to.reshape(len(counts), -1)], axis=1)
        bounds = zip(chosen.start, chosen.start[1:], strict=False)
        return np.array([np.median(self.Z[chosen.to[a:b]], axis=0) for a, b in bounds]).reshape(len(counts), -1)

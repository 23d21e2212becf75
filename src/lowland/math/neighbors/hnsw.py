"""Approximate nearest-neighbor search for large tables, by the HNSW index of faiss (an extra).

HNSW is a hierarchical navigable small world graph, searched greedily. The distances of the neighbors it finds are
computed exactly, as everywhere; the recall is measured on sampled rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from typing import Any

import numpy as np

from lowland.arrays.namespace import Array, slices, to_numpy
from lowland.errors import DataWarning, MissingExtra, ParameterError, warn
from lowland.math.neighbors.brute_force import Products
from lowland.math.neighbors.searcher import Edges, Found, MetricSpace, Searcher
from lowland.run.run import Run

# Measured: with these, the recall of 10 neighbors is above 0.98 on 100,000 x 32 normal numbers, which have no
# structure, and above 0.99 on 60,000 x 784 handwritten digits. An inverted file (IVF) finds a third of the former.
_LINKS, _BUILDING, _WALKING = 32, 100, 128
_SAMPLE = 300  # rows on which the recall is measured
_LOW = 0.9  # recall below which there is a warning
_ROWS = 2048  # rows added or searched between two progress updates
_COST_LIMIT = 2.6e13  # n² (d + 110): five minutes of exact search on one core


def is_faster_approximately(n: int, d: int) -> bool:
    """Whether exact search would take minutes, and faiss is installed."""
    return float(n) * n * (d + 110) > _COST_LIMIT and find_spec("faiss") is not None


def can_approximate(metric: Any, params: dict[str, Any]) -> bool:
    """Whether there is an approximate search for a metric."""
    space = MetricSpace.of(metric, params)
    return space is not None and space.p == 2


def approximate_search(X: Array, space: MetricSpace | None) -> Approximate:
    """Return an approximate search; raise an error if the metric or the installation does not allow it."""
    if space is None or space.p != 2:
        name = "this metric" if space is None else f"the metric {space.metric!r}"
        raise ParameterError(
            f"The approximate search does not support {name}. Choose 'euclidean', 'cosine' or 'correlation', or an "
            "exact search."
        )
    _import_faiss()
    return Approximate(X, space)


@dataclass(frozen=True)
class Approximate(Searcher):
    """Points in an HNSW index."""

    X: Array  # (n, d) as passed
    space: MetricSpace
    name: str = "approximate"

    @cached_property
    def _exact(self) -> Products:
        return Products(self.X, self.space)

    def nearest(self, k: int, run: Run, *, rows: np.ndarray | None = None, labels: np.ndarray | None = None) -> Found:
        """Return the k nearest points found for all points; where fewer are found, the search is exact."""
        from lowland.kernels import neighbor_search

        if rows is not None or labels is not None:
            return self._exact.nearest(k, run, rows=rows, labels=labels)
        faiss = _import_faiss()
        P, A = self._exact._points, self._exact.single[0]
        n = len(A)
        before = faiss.omp_get_max_threads()
        faiss.omp_set_num_threads(run.settings.thread_count)
        try:
            index = faiss.IndexHNSWFlat(A.shape[1], _LINKS)
            index.hnsw.efConstruction, index.hnsw.efSearch = max(_BUILDING, 2 * k), max(_WALKING, 4 * k)
            with run.stage("building the index", n) as stage:
                for block in slices(n, _ROWS):
                    index.add(A[block])
                    stage.advance(block.stop - block.start)
            found = np.empty((n, k + 1), dtype=np.int32)
            with run.stage("searching neighbors", n) as stage:
                for block in slices(n, _ROWS):
                    found[block] = index.search(A[block], k + 1)[1]
                    stage.advance(block.stop - block.start)
        finally:
            faiss.omp_set_num_threads(before)
        found[found == np.arange(n)[:, None]] = -1  # a point is not its own neighbor
        powers = np.empty((n, k + 1))

        def measure(block: slice) -> None:
            neighbor_search.measure_candidates(P[block], P, 2.0, found[block], powers[block])

        run.each("computing candidate distances", slices(n, _ROWS), measure)
        short = np.flatnonzero(np.isinf(powers[:, k - 1]))
        indices, lengths = found[:, :k].copy(), self.space.lengths(powers[:, :k])
        if len(short):
            indices[short], lengths[short] = self._exact.nearest(k, run, rows=short)
        return indices, lengths

    def recall(self, lengths: np.ndarray, run: Run, rng: np.random.Generator) -> float:
        """Return the fraction of the true neighbors that were found, on sampled rows; warn if it is low."""
        n, k = lengths.shape
        rows = np.sort(rng.choice(n, min(n, _SAMPLE), replace=False))
        _, true = self._exact.nearest(k, run, rows=rows)
        found = float(np.mean(lengths[rows] <= true[:, -1:]))  # any of several ties counts
        if found < _LOW:
            warn(
                f"The approximate search found only {found:.0%} of the true neighbors of {len(rows)} sampled rows. Use "
                "an exact search, or reduce the number of columns first.",
                DataWarning,
            )
        return found

    def nearest_to(self, X: Array, k: int) -> Found:
        """Return the k nearest points of new rows, exactly."""
        return self._exact.nearest_to(to_numpy(X), k)

    def within(self, radius: float, run: Run) -> Edges:
        """Return all points within a radius, exactly."""
        return self._exact.within(radius, run)


def _import_faiss() -> Any:
    try:
        import faiss
    except ImportError as error:
        raise MissingExtra("faiss", "neighbors") from error
    return faiss

"""Exact nearest-neighbor search in a k-d tree, for few columns."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from lowland.arrays.namespace import Array, slices, to_numpy
from lowland.kernels import neighbor_search as kernels
from lowland.math.neighbors.searcher import Edges, Found, MetricSpace, require_edges
from lowland.run.run import Run

_LEAF = 32  # points in a leaf
_QUERIES = 4096  # rows that a thread searches at a time
_TRIED = 100  # rows on which the cost of a tree is measured


@dataclass(frozen=True)
class KDTree:
    """Points in nested boxes, each split at the median of its widest side."""

    X: Array  # (n, d) as passed
    space: MetricSpace
    name: str = "tree"

    @cached_property
    def _built(self) -> tuple[np.ndarray, ...]:
        P = np.asarray(self.space.points(to_numpy(self.X)), dtype=np.float64)
        n, d = P.shape
        depth = max(0, int(np.ceil(np.log2(n / _LEAF))))
        count = 2 ** (depth + 1) - 1
        order = np.empty(n, dtype=np.int64)
        borders = np.empty((count, 2), dtype=np.int64)
        lows, highs, lowest = np.empty((count, d)), np.empty((count, d)), np.empty(count, dtype=np.int64)
        kernels.build_tree(P, depth, order, borders, lows, highs, lowest)
        return np.ascontiguousarray(P[order].T), order, borders, lows, highs, lowest

    def _in_tree_order(self, labels: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
        """The labels of the points in the order of the tree, and those of the boxes."""
        order, borders = self._built[1], self._built[2]
        mine = order if labels is None else labels.astype(np.int64)[order]
        of_boxes = np.empty(len(borders), dtype=np.int64)
        kernels.label_boxes(mine, borders, of_boxes)
        return mine, of_boxes

    def points_measured(self, k: int) -> float:
        """The mean number of distances computed per query, measured on rows spread evenly over the table."""
        T, order = self._built[:2]
        n = len(order)
        places = np.linspace(0, n - 1, min(n, _TRIED)).astype(np.int64)
        mine, of_boxes = self._in_tree_order(None)
        values, indices = np.empty((len(places), k)), np.empty((len(places), k), dtype=np.int64)
        Q = np.ascontiguousarray(T[:, places].T)
        measured = kernels.nearest_in_tree(
            *self._built, mine, of_boxes, Q, mine[places], self.space.p, False, values, indices
        )
        return measured / len(places)

    def nearest(self, k: int, run: Run, *, rows: np.ndarray | None = None, labels: np.ndarray | None = None) -> Found:
        """Points are searched in the order of the tree: successive queries read the same memory."""
        T, order = self._built[:2]
        mine, of_boxes = self._in_tree_order(labels)
        if rows is None:
            places = np.arange(len(order))
        else:
            rank = np.empty_like(order)
            rank[order] = np.arange(len(order))
            places = np.sort(rank[rows])
        indices, lengths = np.empty((len(order), k), dtype=np.int32), np.empty((len(order), k))

        def look_up(block: slice) -> None:
            here = places[block]
            values, found = np.empty((len(here), k)), np.empty((len(here), k), dtype=np.int64)
            Q = np.ascontiguousarray(T[:, here].T)
            kernels.nearest_in_tree(*self._built, mine, of_boxes, Q, mine[here], self.space.p, False, values, found)
            indices[order[here]], lengths[order[here]] = found, self.space.lengths(values)

        run.each("searching neighbors", slices(len(places), _QUERIES), look_up)
        return (indices, lengths) if rows is None else (indices[rows], lengths[rows])

    def nearest_to(self, X: Array, k: int) -> Found:
        """Return the k nearest points of new rows."""
        Q = np.asarray(self.space.points(to_numpy(X)), dtype=np.float64)
        mine, of_boxes = self._in_tree_order(None)
        values, found = np.empty((len(Q), k)), np.empty((len(Q), k), dtype=np.int64)
        own = np.full(len(Q), -1)
        kernels.nearest_in_tree(*self._built, mine, of_boxes, Q, own, self.space.p, False, values, found)
        return found.astype(np.int32), self.space.lengths(values)

    def within(self, radius: float, run: Run) -> Edges:
        """Edges are counted first, so that the memory budget is checked before they are stored."""
        T, order, borders, lows, highs, _ = self._built
        n, reach = len(order), self.space.reach(radius)
        counts = np.empty(n, dtype=np.int64)
        none, no_one = np.empty(0), np.empty(0, dtype=np.int32)

        def count(block: slice) -> None:
            mine, Q = order[block], np.ascontiguousarray(T[:, block].T)
            found = np.empty(len(mine), dtype=np.int64)
            kernels.within_in_tree(T, order, borders, lows, highs, Q, mine, self.space.p, reach, found, none, no_one)
            counts[mine] = found

        def fill(block: slice) -> None:
            mine, Q = order[block], np.ascontiguousarray(T[:, block].T)
            kernels.within_in_tree(
                T, order, borders, lows, highs, Q, mine, self.space.p, reach, start[mine], powers, to
            )

        run.each("counting neighbors", slices(n, _QUERIES), count)
        start = np.concatenate([[0], np.cumsum(counts)])
        require_edges(run, int(start[-1]))
        powers, to = np.empty(start[-1]), np.empty(start[-1], dtype=np.int32)
        if start[-1]:
            run.each("searching neighbors", slices(n, _QUERIES), fill)
        return start, to, self.space.lengths(powers)

    def nearest_in_other_component(
        self, rows: np.ndarray, labels: np.ndarray, run: Run
    ) -> tuple[np.ndarray, np.ndarray]:
        """Points are searched label by label, so that the best edge so far bounds the search of later points."""
        T, order = self._built[:2]
        mine, of_boxes = self._in_tree_order(labels)
        rank = np.empty_like(order)
        rank[order] = np.arange(len(order))
        sorting = np.lexsort((rank[rows], labels[rows]))
        places = rank[rows][sorting]

        def look_up(block: slice) -> tuple[np.ndarray, np.ndarray]:
            here = places[block]
            values, found = np.empty((len(here), 1)), np.empty((len(here), 1), dtype=np.int64)
            Q = np.ascontiguousarray(T[:, here].T)
            kernels.nearest_in_tree(*self._built, mine, of_boxes, Q, mine[here], self.space.p, True, values, found)
            return found[:, 0], values[:, 0]

        found = run.each("connecting components", slices(len(places), _QUERIES), look_up)
        who, powers = np.empty(len(rows), dtype=np.int64), np.empty(len(rows))
        who[sorting] = np.concatenate([to for to, _ in found])
        powers[sorting] = np.concatenate([values for _, values in found])
        return who, self.space.lengths(powers)

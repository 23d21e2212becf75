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

    def _search(
        self, Q: np.ndarray, k: int, own: np.ndarray, labels: tuple[np.ndarray, ...], *, one_per_label: bool = False
    ) -> tuple[np.ndarray, np.ndarray, int]:
        """The k nearest points of rows Q with another label than ``own``, their powers, and the distances computed."""
        powers, found = np.empty((len(Q), k)), np.empty((len(Q), k), dtype=np.int64)
        Q = np.ascontiguousarray(Q)
        measured = kernels.nearest_in_tree(*self._built, *labels, Q, own, self.space.p, one_per_label, powers, found)
        return found, powers, measured

    def points_measured(self, k: int) -> float:
        """The mean number of distances computed per query, measured on rows spread evenly over the table."""
        T, order = self._built[:2]
        n = len(order)
        places = np.linspace(0, n - 1, min(n, _TRIED)).astype(np.int64)
        labels = self._in_tree_order(None)
        return self._search(T[:, places].T, k, labels[0][places], labels)[2] / len(places)

    def nearest(self, k: int, run: Run, *, rows: np.ndarray | None = None, labels: np.ndarray | None = None) -> Found:
        """Points are searched in the order of the tree: successive queries read the same memory."""
        T, order = self._built[:2]
        boxes = self._in_tree_order(labels)
        places = np.arange(len(order)) if rows is None else np.sort(np.argsort(order)[rows])
        indices, lengths = np.empty((len(order), k), dtype=np.int32), np.empty((len(order), k))

        def look_up(block: slice) -> None:
            here = places[block]
            found, powers, _ = self._search(T[:, here].T, k, boxes[0][here], boxes)
            indices[order[here]], lengths[order[here]] = found, self.space.lengths(powers)

        run.each("searching neighbors", slices(len(places), _QUERIES), look_up)
        return (indices, lengths) if rows is None else (indices[rows], lengths[rows])

    def nearest_to(self, X: Array, k: int) -> Found:
        """Return the k nearest points of new rows."""
        Q = np.asarray(self.space.points(to_numpy(X)), dtype=np.float64)
        found, powers, _ = self._search(Q, k, np.full(len(Q), -1), self._in_tree_order(None))
        return found.astype(np.int32), self.space.lengths(powers)

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
        boxes, rank = self._in_tree_order(labels), np.argsort(order)
        sorting = np.lexsort((rank[rows], labels[rows]))
        places = rank[rows][sorting]

        def look_up(block: slice) -> tuple[np.ndarray, np.ndarray]:
            here = places[block]
            found, powers, _ = self._search(T[:, here].T, 1, boxes[0][here], boxes, one_per_label=True)
            return found[:, 0], powers[:, 0]

        found = run.each("connecting components", slices(len(places), _QUERIES), look_up)
        who, powers = np.empty(len(rows), dtype=np.int64), np.empty(len(rows))
        who[sorting] = np.concatenate([to for to, _ in found])
        powers[sorting] = np.concatenate([values for _, values in found])
        return who, self.space.lengths(powers)

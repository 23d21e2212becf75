"""The interface of all nearest-neighbor searches, and the edges they return."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Protocol

import numpy as np

from lowland.arrays.namespace import Array
from lowland.arrays.slices import slices
from lowland.run.run import Run

Found = tuple[np.ndarray, np.ndarray]  # indices and distances, (m, k), nearest first
Edges = tuple[np.ndarray, np.ndarray, np.ndarray]  # start (m + 1,), targets of the edges, their lengths


class Searcher(Protocol):
    """A nearest-neighbor search among n points."""

    @property
    def name(self) -> str:
        """How the neighbors were found."""
        ...

    def nearest(self, k: int, run: Run, *, rows: np.ndarray | None = None, labels: np.ndarray | None = None) -> Found:
        """Return the k nearest points with another label, for all points or for those at ``rows``."""
        ...

    def nearest_to(self, X: Array, k: int) -> Found:
        """Return the k nearest points of new rows."""
        ...

    def within(self, radius: float, run: Run) -> Edges:
        """Return all points within ``radius`` of every point, nearest first."""
        ...

    def nearest_in_other_component(
        self, rows: np.ndarray, labels: np.ndarray, run: Run
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the nearest point with another label, and its distance, for the points at ``rows``.

        Only the shortest edge of each label is needed; other distances may be infinite.
        """
        indices, lengths = self.nearest(1, run, rows=rows, labels=labels)
        return indices[:, 0].astype(np.int64), lengths[:, 0]


def stacked(found: list[Found], k: int) -> Found:
    """The results of all blocks as one."""
    if not found:
        return np.empty((0, k), dtype=np.int32), np.empty((0, k))
    return np.concatenate([i for i, _ in found]), np.concatenate([v for _, v in found])


def sorted_edges(i: np.ndarray, j: np.ndarray, values: np.ndarray, block: slice) -> Edges:
    """The edges of a block of rows, sorted by length within each row, without the row itself."""
    others = i + block.start != j
    i, j, values = i[others], j[others], values[others]
    order = np.lexsort((j, values, i))
    counts = np.bincount(i, minlength=block.stop - block.start)
    return counts, j[order].astype(np.int32), values[order]


def joined_edges(
    run: Run, n: int, step: int, look_up: Callable[[slice], Edges], lengths: Callable[[np.ndarray], np.ndarray]
) -> Edges:
    """The edges of all rows; the memory budget is checked as they are found."""
    total = 0
    lock = threading.Lock()

    def counted(block: slice) -> Edges:
        nonlocal total
        edges = look_up(block)
        with lock:
            total += len(edges[1])
            require_edges(run, total)
        return edges

    parts = run.each("searching neighbors", slices(n, step), counted)
    counts, to, values = (np.concatenate(each) for each in zip(*parts, strict=True))
    return np.concatenate([[0], np.cumsum(counts)]), to, lengths(values)


def require_edges(run: Run, count: int) -> None:
    """Raise an error if so many edges, after symmetrizing, exceed the memory budget."""
    run.require(5 * 12 * count, f"A graph of {count:,} edges within the radius", "Choose a smaller radius")

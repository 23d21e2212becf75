"""The interface of all nearest-neighbor searches, the edges they return, and the metrics they can order by powers."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from lowland.arrays.namespace import Array, as_double, is_sparse, slices, xp_of
from lowland.errors import DataError
from lowland.math.distances.metrics import Metric, unit_rows
from lowland.math.statistics.rescaling import largest_of
from lowland.run.run import Run

Found = tuple[np.ndarray, np.ndarray]  # indices and distances, (m, k), nearest first
Edges = tuple[np.ndarray, np.ndarray, np.ndarray]  # start (m + 1,), targets of the edges, their lengths
_POWERS: dict[str, float] = {
    "euclidean": 2.0, "l2": 2.0, "sqeuclidean": 2.0, "cosine": 2.0, "correlation": 2.0, "angular": 2.0,
    "manhattan": 1.0, "cityblock": 1.0, "l1": 1.0, "chebyshev": np.inf,
}  # fmt: skip


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


def stack_blocks(found: list[Found], k: int) -> Found:
    """The results of all blocks as one."""
    if not found:
        return np.empty((0, k), dtype=np.int32), np.empty((0, k))
    return np.concatenate([i for i, _ in found]), np.concatenate([v for _, v in found])


def sort_edges(i: np.ndarray, j: np.ndarray, values: np.ndarray, block: slice) -> Edges:
    """The edges of a block of rows, sorted by length within each row, without the row itself."""
    others = i + block.start != j
    i, j, values = i[others], j[others], values[others]
    order = np.lexsort((j, values, i))
    counts = np.bincount(i, minlength=block.stop - block.start)
    return counts, j[order].astype(np.int32), values[order]


def join_edges(
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


# --- metrics as powers of differences ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class MetricSpace:
    """A metric whose order is that of sum |x - y|^p between transformed points; p = 2 for most metrics."""

    metric: str
    p: float

    @classmethod
    def of(cls, metric: Metric, params: dict[str, Any]) -> MetricSpace | None:
        """The space of a metric; None for a metric that can only compare pairs."""
        if metric == "minkowski" and params.get("w") is None:
            return cls("minkowski", float(params.get("p", 2)))
        return cls(metric, _POWERS[metric]) if isinstance(metric, str) and metric in _POWERS else None

    def points(self, X: Array) -> Array:
        """The rows as points. For angles and correlation: unit vectors, with an extra column for rows of zeros.

        The extra column makes rows of zeros orthogonal to all others.
        """
        if self.metric not in ("cosine", "angular", "correlation"):
            return np.ascontiguousarray(X) if isinstance(X, np.ndarray) else X
        A = as_double(X)
        xp = xp_of(A)
        if self.metric == "correlation":
            A = A - xp.mean(A, axis=1)[:, None]
        zero = xp.max(xp.abs(A), axis=1)[:, None] == 0
        return xp.concat([unit_rows(A), xp.astype(zero, A.dtype)], axis=1)

    def lengths(self, powers: Array) -> Array:
        """The distances of the metric, from powers."""
        if self.metric in ("cosine", "correlation"):
            return powers / 2  # |a - b|² = 2 - 2a'b
        if self.metric == "sqeuclidean" or self.p in (1, np.inf):
            return powers
        if self.p != 2:
            return powers ** (1 / self.p)
        return np.sqrt(powers) if isinstance(powers, np.ndarray) else xp_of(powers).sqrt(powers)

    def check(self, X: Array) -> None:
        """Raise an error for values whose distances would overflow."""
        if self.metric in ("cosine", "angular"):  # rows are scaled first
            return
        power = 1.0 if self.metric == "correlation" or self.p == np.inf else self.p
        widest, d = _widest(X), X.shape[1]
        if widest > 0 and power * math.log2(2 * widest) + math.log2(d) >= np.finfo(np.float64).maxexp:
            raise DataError(
                f"The values of `X`, up to {widest:.2g}, are too large to be {self._raised(power)}: distances "
                "overflow. Rescale the columns."
            )

    def check_differences(self, X: Array) -> None:
        """Raise an error for values that differ so little that their distances underflow."""
        if self.metric in ("cosine", "angular", "correlation") or self.p == np.inf:
            return
        widest = 2 * _widest(X) if is_sparse(X) else largest_of(X - X[:1, :])
        if widest > 0 and self.p * math.log2(widest) + math.log2(X.shape[1]) < np.finfo(np.float64).minexp:
            raise DataError(
                f"The differences between rows, at most {widest:.2g}, are too small to be {self._raised(self.p)}: "
                "distances underflow to zero. Rescale the columns."
            )

    def _raised(self, power: float) -> str:
        return {1.0: "added", 2.0: "squared"}.get(power, f"raised to the power {power:g}")

    def reach(self, radius: float) -> float:
        """The radius as a power."""
        if self.metric in ("cosine", "correlation"):
            return 2 * radius
        if self.metric == "sqeuclidean" or self.p in (1, np.inf):
            return radius
        with np.errstate(over="ignore"):
            return float(np.power(float(radius), self.p))


def _widest(X: Array) -> float:
    """The largest absolute value of rows, sparse or not."""
    if not is_sparse(X):
        return largest_of(X)
    return largest_of(X.data[:, None]) if X.nnz else 0.0

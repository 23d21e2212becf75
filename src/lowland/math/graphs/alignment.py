"""Alignment matrices: one small matrix per neighborhood, summed into one sparse matrix."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import scipy.sparse

from lowland.arrays.namespace import Array, is_sparse
from lowland.kernels.local_problems import count_entries, directions, modified_matrices, sum_matrices, tangent_matrices
from lowland.math.graphs.lle_weights import in_blocks
from lowland.math.graphs.neighborhoods import neighborhoods
from lowland.math.neighbors.graph import NeighborGraph
from lowland.run.run import Run


@dataclass(frozen=True)
class LocalMatrices:
    """A symmetric matrix for each set of points: that of set i, of m points, is the m² numbers from ``bases[i]``."""

    start: np.ndarray  # (sets + 1,) int64
    to: np.ndarray  # the points of the sets
    values: np.ndarray  # flat, in float64

    @property
    def bases(self) -> np.ndarray:
        """The offset of each matrix."""
        return bases_of(self.start)

    def sum(self, n: int, run: Run) -> scipy.sparse.csr_array:
        """Return the sum of the matrices over n points, each placed at the rows and columns of its set."""
        B = scipy.sparse.csr_array(
            (_places(self.start), self.to, self.start), shape=(len(self.start) - 1, n)
        ).tocsc()  # for each point: the sets that contain it, and its position in each
        mine, sets, places = B.indptr, B.indices, B.data
        counts, bases = np.empty(n, dtype=np.int64), self.bases

        def count(first: int, last: int) -> None:
            count_entries(first, last, self.start, self.to, mine, sets, np.full(n, -1, dtype=np.int32), counts)

        in_blocks(n, count, run, "counting entries")
        begin = np.concatenate([[0], np.cumsum(counts)])
        run.require(12 * begin[-1], f"The {begin[-1]} entries of the alignment matrix", "Use fewer neighbors")
        columns, values = np.empty(begin[-1], dtype=np.int32), np.empty(begin[-1])

        def fill(first: int, last: int) -> None:
            marks, sums = np.full(n, -1, dtype=np.int32), np.empty(n)
            sum_matrices(
                first, last, self.start, self.to, bases, self.values, mine, sets, places, marks, sums, begin, columns,
                values,
            )  # fmt: skip

        in_blocks(n, fill, run, "summing neighborhoods")
        return scipy.sparse.csr_array((values, columns, begin), shape=(n, n))


def tangent_alignment(
    X: Array, graph: NeighborGraph, k: int, run: Run, *, kind: Literal["ltsa", "hessian"]
) -> LocalMatrices:
    """Return the matrices of local tangent spaces (Zhang and Zha 2004) or of local Hessians (Donoho and Grimes 2003).

    v'Mv sums over the neighborhoods the squared part of v that is not linear in the k local coordinates (ltsa), or that
    is quadratic in them (hessian).
    """
    X, bases = X if is_sparse(X) else np.ascontiguousarray(X), bases_of(graph.start)
    values = _room(bases[-1], graph.n, run)

    def work(first: int, last: int) -> None:
        for some in neighborhoods(X, graph, first, last):
            a, b = some.first, some.last
            tangent_matrices(
                some.table, some.own, some.start, some.to, k, kind == "hessian",
                bases[a:b] - bases[a], values[bases[a] : bases[b]],
            )  # fmt: skip

    in_blocks(graph.n, work, run, "fitting tangent spaces" if kind == "ltsa" else "fitting quadratic functions")
    return LocalMatrices(graph.start, graph.to, values)


def modified_alignment(X: Array, graph: NeighborGraph, k: int, run: Run, *, reg: float = 1e-3) -> LocalMatrices:
    """Return the matrices of modified LLE (Zhang and Wang 2006): several independent weight vectors per point.

    Their number: eta is the ratio of the squared singular values beyond the k-th to the first k, in the median
    neighborhood; a neighborhood uses as many trailing directions as keep its own ratio below eta.
    """
    X, q = X if is_sparse(X) else np.ascontiguousarray(X), min(X.shape[1], int(np.diff(graph.start).max()))
    with_point = graph_with_points(graph)
    bases = bases_of(with_point.start)
    room = _room(bases[-1] + q * len(graph.to), graph.n, run)
    values, vectors = room[: bases[-1]], room[bases[-1] :]
    squares = np.empty((graph.n, q))

    def extend(first: int, last: int) -> None:
        for some in neighborhoods(X, graph, first, last):
            a, b = graph.start[some.first], graph.start[some.last]
            directions(
                some.table, some.own, some.start, some.to, vectors[a * q : b * q], squares[some.first : some.last]
            )

    in_blocks(graph.n, extend, run, "fitting tangent spaces")
    eta = _median_ratio(squares, k)

    def weigh(first: int, last: int) -> None:
        a, b = graph.start[first], graph.start[last]
        modified_matrices(
            graph.start[first : last + 1] - a, vectors[a * q : b * q], squares[first:last], float(reg), eta,
            bases[first:last] - bases[first], values[bases[first] : bases[last]],
        )  # fmt: skip

    in_blocks(graph.n, weigh, run, "computing weights")
    return LocalMatrices(with_point.start, with_point.to, values)


def graph_with_points(graph: NeighborGraph, which: np.ndarray | None = None) -> NeighborGraph:
    """Return the neighborhoods with their own point as first member, for the marked points or for all."""
    which = np.ones(graph.n, dtype=bool) if which is None else which
    points = np.flatnonzero(which)
    start = graph.start + np.concatenate([[0], np.cumsum(which)])
    to = np.insert(graph.to, graph.start[points], points.astype(graph.to.dtype))
    length = np.insert(graph.length, graph.start[points], np.zeros(1, dtype=graph.length.dtype))
    return NeighborGraph(start, to, length, graph.search, graph.recall)


def bases_of(start: np.ndarray) -> np.ndarray:
    """Return the offset of each set's matrix in a flat array of all matrices, and the total size."""
    return np.concatenate([[0], np.cumsum(np.diff(start).astype(np.int64) ** 2)])


def _places(start: np.ndarray) -> np.ndarray:
    """The position of each member within its set."""
    return (np.arange(start[-1]) - np.repeat(start[:-1], np.diff(start))).astype(np.int32)


def _median_ratio(squares: np.ndarray, k: int) -> float:
    """The median ratio of the squares beyond the k-th to the first k, over neighborhoods of nonzero extent."""
    first = squares[:, :k].sum(axis=1)
    some = first > 0
    return float(np.median(squares[some, k:].sum(axis=1) / first[some])) if some.any() else 0.0


def _room(numbers: int, n: int, run: Run) -> np.ndarray:
    run.require(8 * numbers, f"The small matrices of {n} neighborhoods", "Use fewer neighbors")
    return np.empty(numbers)

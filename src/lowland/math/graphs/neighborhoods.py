"""Neighborhoods as dense tables: of sparse rows, only the columns that a few neighborhoods use are made dense.

Weights, tangent spaces and Hessians depend on the differences within a neighborhood only. A column in which all members
are zero adds nothing to them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse

from lowland.arrays.namespace import Array, is_sparse
from lowland.math.neighbors.graph import NeighborGraph

_NUMBERS = 1 << 21  # in a dense table of sparse rows


@dataclass(frozen=True)
class Neighborhoods:
    """The neighborhoods of the rows ``first`` to ``last``: their points and members are rows of a dense table."""

    first: int
    last: int
    table: np.ndarray  # (rows, columns)
    own: int  # where the points themselves begin in the table
    start: np.ndarray  # (last - first + 1,) where the members of each begin
    to: np.ndarray  # the members

    @property
    def points(self) -> np.ndarray:
        """The points themselves."""
        return self.table[self.own : self.own + self.last - self.first]


def neighborhoods(X: Array, graph: NeighborGraph, first: int, last: int) -> Iterator[Neighborhoods]:
    """Yield the neighborhoods of the points ``first`` to ``last``, all at once, or a few at a time if X is sparse."""
    for a, b in pieces_of(X, graph.start, first, last):
        i, j = graph.start[a], graph.start[b]
        start, to = graph.start[a : b + 1] - i, graph.to[i:j]
        if is_sparse(X):
            table, to = joint_table(X[a:b], X, to)
            yield Neighborhoods(a, b, table, 0, start, to)
        else:
            yield Neighborhoods(a, b, X, a, start, to)


def pieces_of(X: Any, start: np.ndarray, first: int, last: int) -> Iterator[tuple[int, int]]:
    """Yield the bounds of pieces of neighborhoods: one piece, or several whose dense tables are small."""
    if not is_sparse(X):
        yield first, last
        return
    members = 1 + int(np.diff(start[first : last + 1]).max(initial=0))
    stored = 1 + X.nnz // X.shape[0]  # per row
    step = max(1, int(math.sqrt(_NUMBERS / stored)) // members, _NUMBERS // (members * X.shape[1]))
    for a in range(first, last, step):
        yield a, min(a + step, last)


def joint_table(own: Any, points: Any, to: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return sparse rows and the points at ``to`` as one dense table of the columns in use, and the points' places."""
    used, places = np.unique(to, return_inverse=True)
    rows = scipy.sparse.vstack([scipy.sparse.csr_array(own), scipy.sparse.csr_array(points)[used]], format="csr")
    columns, place = np.unique(rows.indices, return_inverse=True)
    table = scipy.sparse.csr_array((rows.data, place, rows.indptr), shape=(rows.shape[0], max(1, len(columns))))
    return table.toarray(), (places + own.shape[0]).astype(np.int32)

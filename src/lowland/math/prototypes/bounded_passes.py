"""Passes of Lloyd's algorithm over an array in memory that skip rows whose code vector cannot change.

Two bounds per row, one of the distance to its code vector and one of the distances to all others, follow the movement
of the code vectors (Hamerly 2010, Making k-means even faster). Rows that the bounds do not decide are searched as in a
full pass, so the assignment is the same. Sums change only by the rows that are reassigned.
"""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import reduce

import numpy as np

from lowland.arrays.namespace import Array
from lowland.data.rows import ArrayRows, Rows
from lowland.math.prototypes.code_sums import CodeSums
from lowland.math.prototypes.codebook import NearestCodebook
from lowland.run.local import LocalRun
from lowland.run.run import Run, RunsTogether

_TILE = 1 << 15  # products computed at a time
_TILE_ROWS = (64, 512)  # at least, for fast products; at most, so that they stay in the cache of a core
_MOST_CODES = 1024  # above this number, distances between code vectors are not computed
_ROUNDING = 1e-13  # of |v|² + |w|²: more than the error of a squared distance by products


class BoundedPasses:
    """Assignment of the rows to code vectors, and its sums, from one code book to the next."""

    def __init__(self, rows: ArrayRows, run: Run, together: RunsTogether) -> None:
        self.rows, self.run, self.together = rows, run, together
        self.labels, self.upper, self.lower = np.full(rows.n, -1, np.int32), np.zeros(rows.n), np.zeros(rows.n)
        self.W: np.ndarray | None = None
        self.sums: CodeSums | None = None

    def __call__(self, book: NearestCodebook) -> CodeSums:
        """Assign the rows to the nearest code vectors; return the sums, updated by the rows that changed."""
        old = book.W if self.W is None else self.W
        D = book.W - old
        step = Reassignment.of(book, np.linalg.norm(D, axis=1))
        changes = self._fold(step, self.labels, self.upper, self.lower)
        if self.sums is not None:
            counts, error = self.sums.counts[:, None], self.sums.error
            error += float(np.sum(D * (counts * D - 2 * (self.sums.sums - counts * old))))  # as the code vectors moved
            changes = CodeSums(self.sums.sums, self.sums.counts, error) + changes
            changes = CodeSums(changes.sums, changes.counts, max(changes.error, 0.0))
        self.W, self.sums = book.W, changes
        return changes

    def exact_sums(self, book: NearestCodebook) -> CodeSums:
        """Return the sums of the present assignment, summed again: updates may have lost digits."""
        self.sums = self._fold(SumByLabel(book), self.labels)
        return self.sums

    def _fold(self, statistic: Callable[..., CodeSums], *aligned: np.ndarray) -> CodeSums:
        """Return the statistic, summed over the slabs in order. The first pass checks that all values are finite."""
        if self.sums is None:
            first: CodeSums = self.run.fold(self.rows, statistic, *aligned, name="assigning rows")
            return first
        X, n, slab = self.rows.X, self.rows.n, self.rows.slab
        parts = np.array_split(np.arange(0, n, slab), min(self.run.settings.thread_count, math.ceil(n / slab)))

        def work(starts: np.ndarray) -> list[CodeSums]:
            slabs = [slice(start, start + slab) for start in starts.tolist()]
            return [statistic(self.rows.prepare(X[at]), *(a[at] for a in aligned)) for at in slabs]

        return reduce(operator.add, itertools.chain(*self.together(parts, work)))


@contextmanager
def bounded_passes(rows: Rows, run: Run, weights: np.ndarray | None) -> Iterator[BoundedPasses | None]:
    """Yield the passes; None where rows do not stay in memory, so that bounds cannot be kept, or have weights."""
    in_memory = isinstance(rows, ArrayRows) and isinstance(rows.X, np.ndarray) and isinstance(run, LocalRun)
    if isinstance(rows, ArrayRows) and in_memory and weights is None:
        with run.rounds() as together:
            yield BoundedPasses(rows, run, together)
    else:
        yield None


@dataclass(frozen=True)
class Reassignment:
    """Statistic of a pass: the changes of the ``CodeSums`` of a slab. Labels and bounds are updated in place."""

    book: NearestCodebook
    moved: np.ndarray  # (k,) distance by which each code vector has moved
    moved_others: np.ndarray  # (k,) the largest of the others
    half: np.ndarray  # (k,) half the distance to the nearest other code vector, or less

    @classmethod
    def of(cls, book: NearestCodebook, moved: np.ndarray) -> Reassignment:
        """Prepare a pass after the code vectors have moved."""
        k = len(moved)
        most = int(np.argmax(moved))
        moved_others = np.full(k, moved[most])
        moved_others[most] = np.delete(moved, most).max(initial=0.0)
        return cls(book, moved, moved_others, _half_gaps(book))

    def __call__(self, X: np.ndarray, labels: np.ndarray, upper: np.ndarray, lower: np.ndarray) -> CodeSums:
        """Compute for one slab."""
        from lowland.kernels.kmeans import reassign_rows, rows_to_search

        book, scaling = self.book, self.book.scaling
        X = np.ascontiguousarray(X)
        (n, d), k = X.shape, len(book.W)
        size = min(max(_TILE // k, _TILE_ROWS[0]), _TILE_ROWS[1], n)
        sums, counts, error, start = np.zeros((k, d)), np.zeros(k), 0.0, 0
        which, Y, single = np.empty(size, np.int64), np.empty((size, d)), np.ones((size, d + 1), np.float32)
        products = np.empty(k * size, np.float32)
        bounds = (self.moved, self.moved_others, self.half, labels, upper, lower)
        while start < n:
            start, m = rows_to_search(X, start, scaling.shift, 1 / scaling.unit, book.W, *bounds, which, Y, single)
            first, others = book.nearest_in_tile(Y[:m], single[:m], products)
            error += reassign_rows(Y, which[:m], first, others, book.W, labels, upper, lower, sums, counts)
        return CodeSums(sums, counts, error)


@dataclass(frozen=True)
class SumByLabel:
    """Statistic of a pass: the ``CodeSums`` of a slab of rows whose code vectors are known."""

    book: NearestCodebook

    def __call__(self, X: Array, labels: np.ndarray) -> CodeSums:
        """Compute for one slab."""
        from lowland.kernels.kmeans import sum_by_label

        W, scaling = self.book.W, self.book.scaling
        sums, counts = np.zeros(W.shape), np.zeros(len(W))
        error = sum_by_label(np.ascontiguousarray(X), scaling.shift, 1 / scaling.unit, labels, W, sums, counts)
        return CodeSums(sums, counts, float(error))


def _half_gaps(book: NearestCodebook) -> np.ndarray:
    """Return half the distance of each code vector to the nearest other one, reduced by rounding error, (k,)."""
    k = len(book.W)
    if k > _MOST_CODES:
        return np.zeros(k)
    both = book.squares[:, None] + book.squares
    squares = (1 - _ROUNDING) * both - 2 * (book.W @ book.W.T)
    np.fill_diagonal(squares, math.inf)
    return 0.5 * np.sqrt(np.maximum(squares.min(axis=1), 0.0))

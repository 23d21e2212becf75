"""K-means: Lloyd's algorithm on rows that are read slab by slab, or on a matrix.

One pass sums the rows nearest to each code vector and computes the distortion of the code vectors it started with, so
the last pass evaluates the result. Rows in memory keep bounds of their distances, by which most of them are skipped
once the code vectors move little (Hamerly 2010, Making k-means even faster).
"""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial, reduce
from typing import Any, Self

import numpy as np

from lowland.arrays.blas_threads import blas_on_one_thread
from lowland.arrays.namespace import Array, to_numpy
from lowland.data.rows import ArrayRows, Rows
from lowland.kernels import prototypes as kernels
from lowland.math.optimize.outcome import Outcome
from lowland.math.prototypes.codebook import Codebook, PrototypeSums, SumByPrototype, in_small_slabs
from lowland.math.statistics.moments import without_zero_weights
from lowland.math.statistics.rescaling import UniformScaling
from lowland.math.statistics.sampling import SelectedRows, evenly_spread
from lowland.run.run import Run, RunsTogether, run_for

_COINCIDENT = 1e-24  # squared distance, scaled, of a row that coincides with its code vector
_DRIFT = 1e-24  # of |w|²: squared movement by the rounding error of sums
_MOST_CODES = 1024  # above this number, distances between code vectors are not computed
_ROUNDING = 1e-13  # of |v|² + |w|²: more than the error of a squared distance by products
_SAMPLE, _SAMPLE_PER_CODE = 10_000, 32  # size of the sample for the initialization: at least, and per code vector


@dataclass(frozen=True)
class Quantization:
    """Code vectors, their sums over the rows, and the outcome of the iteration."""

    book: Codebook
    sums: PrototypeSums
    outcome: Outcome  # the trace holds the mean squared distance at the start and after each iteration
    labels: np.ndarray | None = None  # (n,) the code vector of each row, where the rows are in memory

    @property
    def inertia(self) -> float:
        """Sum of squared distances of the rows to their code vectors."""
        return self.sums.squares * self.book.scaling.unit**2

    @property
    def centers(self) -> np.ndarray:
        """The code vectors, (k, d) float64."""
        return self.book.prototypes


def lloyd(
    X: Array,
    centers: np.ndarray,
    *,
    weights: np.ndarray | None = None,
    max_iter: int = 300,
    tol: float = 0.0,
    run: Run | None = None,
) -> Quantization:
    """Return the code vectors found by Lloyd's algorithm (k-means): each is the mean of the rows nearest to it.

    Parameters
    ----------
    X : (n, d) the rows.
    centers : (k, d) the initial code vectors.
    weights : (n,) weights of the rows. None means all 1.
    max_iter : maximum number of iterations.
    tol : tolerance for the total squared movement of the code vectors.
    run : the engine. None means local threads.

    Examples
    --------
    >>> import numpy as np
    >>> from lowland.math.prototypes.kmeans import lloyd
    >>> found = lloyd(np.array([[0.0], [2.0], [10.0]]), np.array([[0.0], [2.0]]))
    >>> found.centers[:, 0].tolist(), found.inertia
    ([1.0, 10.0], 2.0)
    """
    rows = ArrayRows(X)
    scaling = UniformScaling(np.zeros(rows.d))
    return lloyd_over_rows(rows, run or run_for(rows), scaling, centers, weights, max_iter, tol)


def lloyd_over_rows(
    rows: Rows,
    run: Run,
    scaling: UniformScaling,
    start: np.ndarray,
    weights: np.ndarray | None,
    max_iter: int,
    tol: float,
) -> Quantization:
    """Move the code vectors to the means of their rows until the total squared movement is at most ``tol``.

    ``start`` (k, d) and ``tol`` are scaled. An empty cluster is moved to the row farthest from its code vector.
    """
    W, trace, updates, converged, moved = start, [], 0, False, 0.0
    rows = in_small_slabs(rows)
    with (
        blas_on_one_thread(),  # tiles are too small to be split among BLAS threads
        bounded_passes(rows, run, weights) as bounded,
    ):
        for step in run.iterate("k-means iterations", max_iter + 1):
            book = Codebook(scaling, W)
            last = converged or step == max_iter
            sums: PrototypeSums
            if bounded is None:
                sums = run.fold(rows, SumByPrototype(book), weights, name="assigning rows")
            else:
                sums = bounded(book)
                sums = bounded.exact_sums(book) if last else sums
            trace.append(sums.squares * scaling.unit**2 / sums.rows)
            if last:
                break
            new = _means(rows, run, book, sums, weights)
            if bounded is not None and step > 0 and (step == max_iter - 1 or _movement(new, W) <= tol):
                new = _means(rows, run, book, bounded.exact_sums(book), weights)
            moved, updates = _movement(new, W), updates + 1
            W, converged = new, moved <= tol
            if moved == 0 and bounded is None:  # another pass would give the same result
                trace.append(trace[-1])
                break
        if bounded is not None:  # labels of the code vectors as they are kept, in the precision of the rows
            bounded(Codebook(scaling, scaling.apply(book.prototypes.astype(rows.dtype))))
    why = "the code vectors no longer moved" if converged else f"it stopped after {max_iter} iterations"
    labels = None
    if bounded is not None:
        labels = bounded.labels
        trace = np.maximum.accumulate(trace[::-1])[::-1].tolist()  # only rounding error of updated sums makes it rise
    outcome = Outcome("lloyd", "", updates, converged, tuple(trace), why)
    return Quantization(book, sums, outcome, labels)


def _movement(new: np.ndarray, old: np.ndarray) -> float:
    """Return the total squared movement of the code vectors, without that by rounding error."""
    squares = np.sum((new - old) ** 2, axis=1)
    return float(np.sum(squares[squares > _DRIFT * np.sum(old**2, axis=1)]))


def _means(rows: Rows, run: Run, book: Codebook, sums: PrototypeSums, weights: np.ndarray | None) -> np.ndarray:
    """Return the means of the rows nearest to each code vector, (k, d); relocate empty clusters."""
    total, counts = sums.sums, sums.counts
    empty = np.flatnonzero(counts == 0)
    if len(empty):
        total, counts = total.copy(), counts.copy()
        find = partial(farthest_rows, book=book, most=len(empty))
        far: FarthestRows = run.fold(rows, find, weights, name="relocating empty clusters")
        for code, (square, old_code, w, *values) in zip(empty, far.table, strict=False):
            y, old = np.asarray(values), int(old_code)
            if square > _COINCIDENT and counts[old] > w:
                total[old] -= w * y
                counts[old] -= w
                total[code], counts[code] = w * y, w
    some = counts > 0
    return np.where(some[:, None], total / np.where(some, counts, 1.0)[:, None], book.W)


@dataclass(frozen=True)
class FarthestRows:
    """The rows farthest from their code vectors, in descending order of distance; ties keep the order of the rows."""

    table: np.ndarray  # (e, 3 + d): squared distance, code, weight, then the row, scaled
    most: int

    def __add__(self, other: Self) -> Self:
        both = np.concatenate([self.table, other.table])
        return type(self)(both[np.argsort(-both[:, 0], kind="stable")[: self.most]], self.most)

    def is_finite(self) -> bool:
        """Return True: the previous pass has checked the rows."""
        return True


def farthest_rows(X: Array, weights: np.ndarray | None = None, *, book: Codebook, most: int) -> FarthestRows:
    """Return the rows of a slab that are farthest from their code vectors."""
    X, weights = without_zero_weights(X, weights)
    found, start = FarthestRows(np.empty((0, 3 + X.shape[1])), most), 0
    for near in book.search(X):
        Y, first = to_numpy(near.Y), to_numpy(near.first)
        w = np.ones(len(Y)) if weights is None else weights[start : start + len(Y)]
        off = Y - book.W[first]
        found += FarthestRows(np.column_stack([np.vecdot(off, off), first, w, Y]), most)
        start += len(Y)
    return found


# --- passes that skip rows --------------------------------------------------------------------------------------------


class BoundedPasses:
    """Assignment of rows in memory to code vectors, and its sums, from one code book to the next.

    Two bounds per row, one of the distance to its code vector and one of the distances to all others, follow the
    movement of the code vectors. Rows that the bounds do not decide are searched as in a full pass, so the assignment
    is the same. Sums change only by the rows that are reassigned.
    """

    def __init__(self, rows: ArrayRows, run: Run, together: RunsTogether) -> None:
        self.rows, self.run, self.together = rows, run, together
        n = rows.n
        self.labels, self.upper, self.lower = np.full(n, -1), np.zeros(n), np.zeros(n)
        self.single, self.lengths = np.ones((n, rows.d + 1), np.float32), np.empty(n)
        self.W: np.ndarray | None = None
        self.sums: PrototypeSums | None = None

    def __call__(self, book: Codebook) -> PrototypeSums:
        """Assign the rows to the nearest code vectors; return the sums, updated by the rows that changed."""
        old = book.W if self.W is None else self.W
        D = book.W - old
        step = Reassignment.of(book, np.linalg.norm(D, axis=1))
        changes = self._fold(step, self.labels, self.upper, self.lower, self.single, self.lengths)
        if self.sums is not None:
            counts, squares = self.sums.counts[:, None], self.sums.squares
            squares += float(np.sum(D * (counts * D - 2 * (self.sums.sums - counts * old))))  # the code vectors moved
            changes = replace(self.sums, squares=squares) + changes
            changes = replace(changes, squares=max(changes.squares, 0.0))
        self.W, self.sums = book.W, changes
        return changes

    def exact_sums(self, book: Codebook) -> PrototypeSums:
        """Return the sums of the present assignment, summed again: updates may have lost digits."""
        self.sums = self._fold(lambda X, labels: sums_by_label(book.scaling.apply(X), labels, book), self.labels)
        return self.sums

    def _fold(self, statistic: Callable[..., PrototypeSums], *aligned: np.ndarray) -> PrototypeSums:
        """Return the statistic, summed over the slabs in order. The first pass checks that all values are finite."""
        if self.sums is None:
            first: PrototypeSums = self.run.fold(self.rows, statistic, *aligned, name="assigning rows")
            return first
        X, n, slab = self.rows.X, self.rows.n, self.rows.slab
        parts = np.array_split(np.arange(0, n, slab), min(self.run.settings.thread_count, math.ceil(n / slab)))

        def work(starts: np.ndarray) -> list[PrototypeSums]:
            slabs = [slice(start, start + slab) for start in starts.tolist()]
            return [statistic(self.rows.prepare(X[at]), *(a[at] for a in aligned)) for at in slabs]

        return reduce(operator.add, itertools.chain(*self.together(parts, work)))


@contextmanager
def bounded_passes(rows: Rows, run: Run, weights: np.ndarray | None) -> Iterator[BoundedPasses | None]:
    """Yield the passes; None where rows do not stay in memory, so that bounds cannot be kept, or have weights."""
    if (
        not (isinstance(rows, ArrayRows) and isinstance(rows.X, np.ndarray))
        or weights is not None
        or 4 * rows.n * rows.d >= run.budget / 4
    ):
        yield None
    else:
        with run.rounds() as together:
            yield BoundedPasses(rows, run, together)


@dataclass(frozen=True)
class Reassignment:
    """Statistic of a pass: the changes of the sums of a slab. Labels and bounds are updated in place."""

    book: Codebook
    moved: np.ndarray  # (k,) distance by which each code vector has moved
    moved_others: np.ndarray  # (k,) the largest of the others
    half: np.ndarray  # (k,) half the distance to the nearest other code vector, reduced by rounding error

    @classmethod
    def of(cls, book: Codebook, moved: np.ndarray) -> Self:
        """Prepare a pass after the code vectors have moved."""
        most = int(np.argmax(moved))
        moved_others = np.full(len(moved), moved[most])
        moved_others[most] = np.delete(moved, most).max(initial=0.0)
        k = len(book.W)
        half = np.zeros(k)
        if k <= _MOST_CODES:
            both = book.squares[:, None] + book.squares
            squares = (1 - _ROUNDING) * both - 2 * (book.W @ book.W.T)
            np.fill_diagonal(squares, math.inf)
            half = 0.5 * np.sqrt(np.maximum(squares.min(axis=1), 0.0))
        return cls(book, moved, moved_others, half)

    def __call__(
        self,
        X: np.ndarray,
        labels: np.ndarray,
        upper: np.ndarray,
        lower: np.ndarray,
        single: np.ndarray,
        lengths: np.ndarray,
    ) -> PrototypeSums:
        """Compute for one slab. Label -1 means that nothing is known: the first pass fills all arrays."""
        book, begin = self.book, bool(labels[0] < 0)
        if begin:
            Y = book.scaling.apply(X)
            single[:, :-1], lengths[:] = Y, np.vecdot(Y, Y)
            undecided = np.arange(len(X))
        else:
            undecided = kernels.move_bounds(labels, upper, lower, self.moved, self.moved_others, self.half)
        before, step, largest = labels.copy(), book.tile_rows(), float(book.squares.max())
        for start in range(0, len(undecided), step):
            which = undecided[start : start + step]
            D = book.single.T @ np.take(single, which, axis=0).T
            unsure = kernels.assign_rows(D, which, lengths, largest, book.rounding, labels, upper, lower)
            if len(unsure):
                rows = which[unsure]
                labels[rows], _, own, others = book.nearest_in_double(book.scaling.apply(X[rows]))
                upper[rows], lower[rows] = np.sqrt(own), np.sqrt(others)
        changed = np.flatnonzero(labels != before)
        Y = Y if begin else book.scaling.apply(X[changed])
        added = sums_by_label(Y, labels[changed], book)
        return added if begin else added + sums_by_label(Y, before[changed], book, weight=-1.0)


def sums_by_label(Y: np.ndarray, labels: np.ndarray, book: Codebook, weight: float = 1.0) -> PrototypeSums:
    """Return the sums of scaled rows whose code vectors are known."""
    sums, counts = np.zeros(book.W.shape), np.zeros(len(book.W))
    errors = kernels.add_by_label(Y, labels, np.full(len(Y), weight), book.W, sums, counts)
    return PrototypeSums(sums, counts, *errors)


# --- initialization ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class RowSample:
    """Sampled rows with weights, in an order that does not depend on the order of the table."""

    Y: np.ndarray  # (m, d) float64, scaled
    weights: np.ndarray  # (m,)

    @classmethod
    def of(
        cls, rows: Rows, run: Run, n: int, k: int, scaling: UniformScaling, weights: Any, rng: np.random.Generator
    ) -> Self:
        """Take all rows, or a sample spread evenly over the table. Rows of weight zero are left out."""
        most = max(_SAMPLE, _SAMPLE_PER_CODE * k)
        keep = None if weights is None else weights > 0
        count = n if keep is None else int(keep.sum())
        if count > most:
            chosen = evenly_spread(count, most, rng)
            if keep is None:
                keep = chosen  # no array of positions, which would be the largest one of a table with few columns
            else:
                keep[np.flatnonzero(keep)[~chosen]] = False
        Y = scaling.apply(to_numpy(run.fold(rows, SelectedRows.of, keep, name="sampling rows").rows))
        w = np.ones(len(Y)) if weights is None else weights[keep]
        order = np.argsort(Y @ np.random.default_rng(0).standard_normal(rows.d), kind="stable")
        return cls(Y[order], w[order])

    def kmeans_plus_plus(self, k: int, rng: np.random.Generator) -> np.ndarray:
        """Return k rows far apart, (k, d), by greedy k-means++ (Arthur and Vassilvitskii 2007)."""
        from sklearn.cluster import kmeans_plusplus

        with blas_on_one_thread():
            seed = int(rng.integers(2**31))
            codes: np.ndarray = kmeans_plusplus(self.Y, k, sample_weight=self.weights, random_state=seed)[0]
        return codes

    def random_codes(self, k: int, rng: np.random.Generator) -> np.ndarray:
        """Return k rows drawn without replacement in proportion to their weights, (k, d)."""
        return self.Y[rng.choice(len(self.Y), k, replace=False, p=self.weights / self.weights.sum())]

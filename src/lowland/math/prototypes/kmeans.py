"""K-means: Lloyd's algorithm on rows that are read slab by slab, or on a matrix.

One pass sums the rows nearest to each code vector and computes the distortion of the code vectors it started with, so
the last pass evaluates the result. Nearest code vectors are found by float32 products, and by float64 distances where
rounding error leaves it uncertain. Ties go to the lowest index, so rounding error never decides. Rows in memory keep
bounds of their distances, by which most are skipped once the code vectors move little.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from lowland.arrays.blas_threads import blas_on_one_thread
from lowland.arrays.namespace import Array, device_of, like, to_numpy, xp_of
from lowland.data.rows import ArrayRows, Rows
from lowland.math.optimize.outcome import Outcome
from lowland.math.prototypes.bounded_passes import bounded_passes
from lowland.math.prototypes.code_sums import CodeSums
from lowland.math.prototypes.codebook import Nearest, NearestCodebook, in_low_slabs
from lowland.math.statistics.moments import without_zero_weights
from lowland.math.statistics.rescaling import UniformScaling
from lowland.run.run import Run, run_for

_NOWHERE = 1e-24  # squared distance, scaled, of a row that coincides with its code vector
_DRIFT = 1e-24  # of |w|²: squared movement by the rounding error of sums
_NONE = np.empty(0)


@dataclass(frozen=True)
class Quantization:
    """Code vectors, their sums over the rows, and the outcome of the iteration."""

    book: NearestCodebook
    sums: CodeSums
    outcome: Outcome  # the trace holds the mean squared distance at the start and after each iteration
    labels: np.ndarray | None = None  # (n,) the code vector of each row, where the rows are in memory

    @property
    def inertia(self) -> float:
        """Sum of squared distances of the rows to their code vectors."""
        return self.sums.error * self.book.scaling.unit**2

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
    weights : (n,) weights of the rows; None: all 1.
    max_iter : maximum number of iterations.
    tol : tolerance for the total squared movement of the code vectors.
    run : the engine; None: local threads.

    Examples
    --------
    >>> import numpy as np
    >>> from lowland.math.prototypes.kmeans import lloyd
    >>> found = lloyd(np.array([[0.0], [2.0], [10.0]]), np.array([[0.0], [2.0]]))
    >>> found.centers[:, 0].tolist(), found.inertia
    ([1.0, 10.0], 2.0)
    """
    rows = ArrayRows(X)
    return lloyd_over_rows(
        rows, run or run_for(rows), UniformScaling(np.zeros(rows.d)), centers, weights, max_iter, tol
    )


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
    rows = in_low_slabs(rows)
    with (
        blas_on_one_thread(),  # tiles are too small to be split among BLAS threads
        bounded_passes(rows, run, weights) as bounded,
    ):
        for step in run.iterate("k-means iterations", max_iter + 1):
            book = NearestCodebook(scaling, W)
            last = converged or step == max_iter
            sums: CodeSums
            if bounded is None:
                sums = run.fold(rows, SumByCode(book), weights, name="assigning rows")
            else:
                sums = bounded(book)
                sums = bounded.exact_sums(book) if last else sums
            trace.append(sums.error * scaling.unit**2 / float(sums.counts.sum()))
            if last:
                break
            new = _moved(rows, run, book, sums, weights)
            if bounded is not None and step > 0 and (step == max_iter - 1 or _movement(new, W) <= tol):
                new = _moved(rows, run, book, bounded.exact_sums(book), weights)
            moved, updates = _movement(new, W), updates + 1
            W, converged = new, moved <= tol
            if moved == 0 and bounded is None:  # another pass would give the same result
                trace.append(trace[-1])
                break
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


def _moved(rows: Rows, run: Run, book: NearestCodebook, sums: CodeSums, weights: np.ndarray | None) -> np.ndarray:
    """Return the means of the rows nearest to each code vector, (k, d); relocate empty clusters."""
    total, counts = sums.sums, sums.counts
    empty = np.flatnonzero(counts == 0)
    if len(empty):
        total, counts = total.copy(), counts.copy()
        far: Farthest = run.fold(rows, FindFarthest(book, len(empty)), weights, name="relocating empty clusters")
        for code, square, y, old, w in zip(empty, far.squares, far.Y, far.codes, far.weights, strict=False):
            if square > _NOWHERE and counts[old] > w:
                total[old] -= w * y
                counts[old] -= w
                total[code], counts[code] = w * y, w
    some = counts > 0
    return np.where(some[:, None], total / np.where(some, counts, 1.0)[:, None], book.W)


# --- sums of a pass ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class SumByCode:
    """Statistic of a pass: the ``CodeSums`` of a slab."""

    book: NearestCodebook

    def __call__(self, X: Array, weights: np.ndarray | None = None) -> CodeSums:
        """Compute for one slab."""
        X, weights = without_zero_weights(X, weights)
        sums, counts, error, start = np.zeros(self.book.W.shape), np.zeros(len(self.book.W)), 0.0, 0
        add = self._add_on_host if isinstance(X, np.ndarray) else self._add
        for near in self.book.search(X):
            stop = start + near.Y.shape[0]
            error += add(near, None if weights is None else weights[start:stop], sums, counts)
            start = stop
        return CodeSums(sums, counts, error)

    def _add_on_host(self, near: Nearest, weights: np.ndarray | None, sums: np.ndarray, counts: np.ndarray) -> float:
        from lowland.kernels.kmeans import add_rows

        return float(add_rows(near.Y, near.first, _NONE if weights is None else weights, self.book.W, sums, counts))

    def _add(self, near: Nearest, weights: np.ndarray | None, sums: np.ndarray, counts: np.ndarray) -> float:
        """Add by a product with the assignment matrix: its order of summation is fixed on every device."""
        xp = xp_of(near.Y)
        numbers = xp.arange(len(self.book.W), device=device_of(near.Y))[None, :]
        M = xp.astype(near.first[:, None] == numbers, near.Y.dtype)  # (m, k)
        off = near.Y - xp.take(like(self.book.W, near.Y), near.first, axis=0)
        squares = xp.sum(off * off, axis=1)
        if weights is not None:
            w = like(weights, near.Y)
            M, squares = M * w[:, None], squares * w
        sums += to_numpy(M.T @ near.Y)
        counts += to_numpy(xp.sum(M, axis=0))
        return float(xp.sum(squares))


@dataclass(frozen=True)
class Farthest:
    """The rows farthest from their code vectors, in descending order of distance; ties keep the order of the rows."""

    squares: np.ndarray  # (e,)
    Y: np.ndarray  # (e, d) float64, scaled
    codes: np.ndarray  # (e,)
    weights: np.ndarray  # (e,)
    most: int

    def __add__(self, other: Self) -> Self:
        """Merge two parts."""
        return type(self)(
            np.concatenate([self.squares, other.squares]),
            np.concatenate([self.Y, other.Y]),
            np.concatenate([self.codes, other.codes]),
            np.concatenate([self.weights, other.weights]),
            self.most,
        ).first()

    def first(self) -> Self:
        """Return the first ``most`` of them."""
        order = np.argsort(-self.squares, kind="stable")[: self.most]
        return type(self)(self.squares[order], self.Y[order], self.codes[order], self.weights[order], self.most)

    def is_finite(self) -> bool:
        """Return True: the previous pass has checked the rows."""
        return True


@dataclass(frozen=True)
class FindFarthest:
    """Statistic of a pass: the ``Farthest`` rows of a slab."""

    book: NearestCodebook
    most: int

    def __call__(self, X: Array, weights: np.ndarray | None = None) -> Farthest:
        """Compute for one slab."""
        X, weights = without_zero_weights(X, weights)
        found, start = Farthest(_NONE, np.empty((0, X.shape[1])), np.empty(0, dtype=np.int64), _NONE, self.most), 0
        for near in self.book.search(X):
            Y, first = to_numpy(near.Y), to_numpy(near.first)
            w = np.ones(len(Y)) if weights is None else weights[start : start + len(Y)]
            off = Y - self.book.W[first]
            found, start = found + Farthest(np.vecdot(off, off), Y, first, w, self.most), start + len(Y)
        return found

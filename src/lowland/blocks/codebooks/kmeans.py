"""Code books: k codes that stand for all rows, found by k-means, and what they cost and lose.

Lloyd's iteration folds the sums and counts of the rows that each code has won; a fold also tells the distortion of the
codes it began with, so that the last one judges the result. Nearest codes are found by float32 products, and by
float64 where these leave a doubt; of codes equally far the first wins. So rounding never chooses a code, and a code far
from all others takes no digits from these.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from lowland.arrays.namespace import Array, device_of, like, to_numpy, xp_of
from lowland.blocks.codebooks.som import Codebook, CodebookScaling, Nearest, in_low_slabs
from lowland.blocks.statistics.moments import without_zero_weights
from lowland.blocks.statistics.sampling import Picked, evenly_spread
from lowland.data.rows import Rows
from lowland.errors import DataError
from lowland.run.local import blas_on_one_thread
from lowland.run.run import Run

_SAMPLE, _SAMPLE_A_CODE = 10_000, 32  # rows from which a start is drawn: at least, and for each code
_TILE, _LEAST_TILE = 1 << 15, 64  # distances held at a time, which stay in the cache of a core; rows, at least
_NEAR = 1e-6  # share of |y|² + |c|² below which a squared distance by products has lost too many digits
_NOWHERE = 1e-24  # squared distance, in the frame, of a row that its code stands for
_NONE = np.empty(0)


class Codes(Codebook):
    """Prototypes of which only the nearest is asked for; on the host a compiled loop finds it."""

    def search(self, X: Array) -> Iterator[Nearest]:
        """Yield the nearest codes of the rows, a tile after the other; its rows are for use before the next."""
        if not isinstance(X, np.ndarray):
            yield from super().search(X)
            return
        from lowland.kernels.kmeans import nearest_codes, see_rows

        (n, d), k = X.shape, len(self.W)
        step = min(max(_LEAST_TILE, _TILE // k), max(1, n))
        # made once for all tiles: fresh pages would cost more than the work
        Y, single, D = np.empty((step, d)), np.ones((step, d + 1), np.float32), np.empty(k * step, np.float32)
        slack = (self._rounding * self.squares).astype(np.float32)
        for start in range(0, max(1, n), step):
            m = min(step, n - start)
            see_rows(np.ascontiguousarray(X[start : start + m]), self.frame.shift, 1 / self.frame.unit, Y, single)
            products = np.matmul(self.single.T, single[:m].T, out=D[: k * m].reshape(k, m))
            first = self._surely(Y[:m], *nearest_codes(Y[:m], products, slack, self._rounding))
            yield Nearest(first, first, Y[:m])

    def _two_nearest(self, Y: Array) -> tuple[Array, Array]:
        """The nearest, twice: there is no use for the next."""
        first = self._surely(Y, *self._elsewhere(Y))
        return first, first

    def _surely(self, Y: Array, first: Array, unsure: Array) -> Array:
        """The nearest, with those found again that were in doubt."""
        xp = xp_of(Y)
        if not bool(xp.any(unsure)):
            return first
        again = self._in_double(xp.take(Y, xp.nonzero(unsure)[0], axis=0))[0]
        spots = xp.where(unsure, xp.cumulative_sum(xp.astype(unsure, xp.int64)) - 1, 0)  # where among those
        return xp.where(unsure, xp.take(again, spots), first)

    @property
    def _rounding(self) -> float:
        """By what share of |y|² + |w|² a float32 product may be off."""
        return (4 * math.sqrt(self.W.shape[1]) + 8) * float(np.finfo(np.float32).eps)

    def _elsewhere(self, Y: Array) -> tuple[Array, Array]:
        xp = xp_of(Y)
        ones = xp.ones((Y.shape[0], 1), dtype=xp.float32, device=device_of(Y))
        D = xp.concat([xp.astype(Y, xp.float32), ones], axis=1) @ like(self.single, Y, xp.float32)  # (m, k)
        slack = like(self._rounding * self.squares, Y, xp.float32)
        first, least = xp.argmin(D, axis=1), xp.min(D, axis=1)
        numbers = xp.arange(D.shape[1], device=device_of(D))[None, :]
        low = xp.min(xp.where(numbers == first[:, None], xp.full_like(D, xp.inf), D - slack[None, :]), axis=1)
        bound = xp.astype(xp.take(slack, first), Y.dtype) + 2 * self._rounding * xp.linalg.vecdot(Y, Y)
        return first, ~(xp.astype(low - least, Y.dtype) > bound)


# --- what a pass sums -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class CodeSums:
    """The rows that each code has won: their sum and count, weighted; and how far they are from it."""

    sums: np.ndarray  # (k, d) float64, in the frame
    counts: np.ndarray  # (k,)
    error: float  # sum of the squared distances of rows to their codes, in the frame

    def __add__(self, other: Self) -> Self:
        """Of two parts."""
        return type(self)(self.sums + other.sums, self.counts + other.counts, self.error + other.error)

    def is_finite(self) -> bool:
        """Whether NaN, infinity or an overflow is absent."""
        return math.isfinite(self.error)


@dataclass(frozen=True)
class SumByCode:
    """What is folded: a slab becomes its ``CodeSums``."""

    book: Codes

    def __call__(self, X: Array, weights: np.ndarray | None = None) -> CodeSums:
        """Of one slab."""
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
        """By a product with the table of who won whom, whose order of summation is fixed on every device."""
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
    """The rows farthest from their codes, the farthest first, of equally far ones the first."""

    squares: np.ndarray  # (e,)
    Y: np.ndarray  # (e, d) float64, in the frame
    codes: np.ndarray  # (e,)
    weights: np.ndarray  # (e,)
    most: int

    def __add__(self, other: Self) -> Self:
        """Of two parts."""
        return type(self)(
            np.concatenate([self.squares, other.squares]),
            np.concatenate([self.Y, other.Y]),
            np.concatenate([self.codes, other.codes]),
            np.concatenate([self.weights, other.weights]),
            self.most,
        ).first()

    def first(self) -> Self:
        """No more than are asked for."""
        order = np.argsort(-self.squares, kind="stable")[: self.most]
        return type(self)(self.squares[order], self.Y[order], self.codes[order], self.weights[order], self.most)

    def is_finite(self) -> bool:
        """Always: the pass before has looked."""
        return True


@dataclass(frozen=True)
class FindFarthest:
    """What is folded to find them."""

    book: Codes
    most: int

    def __call__(self, X: Array, weights: np.ndarray | None = None) -> Farthest:
        """Of one slab."""
        X, weights = without_zero_weights(X, weights)
        found, start = Farthest(_NONE, np.empty((0, X.shape[1])), np.empty(0, dtype=np.int64), _NONE, self.most), 0
        for near in self.book.search(X):
            Y, first = to_numpy(near.Y), to_numpy(near.first)
            w = np.ones(len(Y)) if weights is None else weights[start : start + len(Y)]
            off = Y - self.book.W[first]
            found, start = found + Farthest(np.vecdot(off, off), Y, first, w, self.most), start + len(Y)
        return found


# --- where codes start ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class RowSample:
    """Rows from which codes are drawn, with their weights, in an order that does not depend on where they stood."""

    Y: np.ndarray  # (m, d) float64, in the frame
    weights: np.ndarray  # (m,)

    @classmethod
    def of(
        cls, rows: Rows, run: Run, n: int, k: int, frame: CodebookScaling, weights: Any, rng: np.random.Generator
    ) -> Self:
        """Take all rows, or so many as suffice, spread over the table; rows of no weight are left out."""
        most = max(_SAMPLE, _SAMPLE_A_CODE * k)
        run.require(min(n, most) * rows.d * 16, "The rows from which the codes are drawn", "Ask for fewer codes")
        keep = None if weights is None else weights > 0
        count = n if keep is None else int(keep.sum())
        if count > most:
            places = np.arange(n) if keep is None else np.flatnonzero(keep)
            keep = np.zeros(n, dtype=bool)
            keep[places[evenly_spread(count, most, rng)]] = True
        Y = frame.seen(to_numpy(run.fold(rows, Picked.of, keep, name="drawing rows").rows))
        w = np.ones(len(Y)) if weights is None else weights[keep]
        order = np.argsort(Y @ np.random.default_rng(0).standard_normal(rows.d), kind="stable")
        return cls(Y[order], w[order])

    def spread_codes(self, k: int, rng: np.random.Generator) -> np.ndarray:
        """Return k rows far apart, (k, d), by greedy k-means++ (Arthur and Vassilvitskii 2007).

        Each is drawn by its squared distance to those before it; of a few such draws, the one that leaves the least.
        """
        Y, trials = self.Y, 2 + int(math.log(k))
        lengths = np.vecdot(Y, Y)
        chosen = [_drawn(self.weights, rng.random(1))[0]]
        nearest = self._squares_to(chosen, lengths)[0]
        while len(chosen) < k and nearest.any():
            tried = _drawn(self.weights * nearest, rng.random(trials))
            left = np.minimum(self._squares_to(tried, lengths), nearest)  # (trials, m)
            best = int(np.argmin(left @ self.weights))
            chosen.append(tried[best])
            nearest = left[best]
        return Y[np.pad(chosen, (0, k - len(chosen)), mode="edge")]  # fewer rows differ than there are codes

    def random_codes(self, k: int, rng: np.random.Generator) -> np.ndarray:
        """Return k rows drawn by their weights, each once, (k, d)."""
        return self.Y[rng.choice(len(self.Y), k, replace=False, p=self.weights / self.weights.sum())]

    def _squares_to(self, chosen: Any, lengths: np.ndarray) -> np.ndarray:
        """The squared distances of all rows to some, (c, m); near ones from their differences."""
        both = lengths[chosen][:, None] + lengths[None, :]
        squares = both - 2 * (self.Y[chosen] @ self.Y.T)
        for one, line, lost in zip(chosen, squares, squares <= _NEAR * both, strict=True):
            off = self.Y[lost] - self.Y[one]
            line[lost] = np.vecdot(off, off)
        return squares


def _drawn(shares: np.ndarray, at: np.ndarray) -> np.ndarray:
    """Where along the running sum of shares, between 0 and 1, the numbers fall."""
    sums = np.cumsum(shares)
    return np.minimum(np.searchsorted(sums, at * sums[-1], side="right"), np.flatnonzero(shares)[-1])


# --- Lloyd's iteration ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Quantization:
    """Codes that were found, what they sum over the rows, and how they were found."""

    book: Codes
    sums: CodeSums
    trace: tuple[float, ...]  # mean squared distance at the start and after each iteration
    iterations: int
    converged: bool

    @property
    def inertia(self) -> float:
        """Sum of the squared distances of rows to their codes."""
        return self.sums.error * self.book.frame.unit**2


def lloyd(
    rows: Rows,
    run: Run,
    frame: CodebookScaling,
    start: np.ndarray,
    weights: np.ndarray | None,
    max_iter: int,
    tol: float,
) -> Quantization:
    """Move codes to the mean of what they have won, until together they move by no more than the root of tol.

    ``start`` (k, d) and ``tol`` are in the frame. A code that won nothing goes to the row farthest from its own.
    """
    W, trace, updates, settled = start, [], 0, False
    rows = in_low_slabs(rows)
    with blas_on_one_thread():  # a tile is too small to be shared: threads would wait for each other at every product
        for step in run.iterate("moving the codes", max_iter + 1):
            book = Codes(frame, W)
            sums: CodeSums = run.fold(rows, SumByCode(book), weights, name="one pass")
            trace.append(sums.error * frame.unit**2 / float(sums.counts.sum()))
            if settled or step == max_iter:
                break
            new, updates = _moved(rows, run, book, sums, weights), updates + 1
            moved = float(np.sum((new - W) ** 2))
            W, settled = new, moved <= tol
            if moved == 0:  # another pass would find the same
                trace.append(trace[-1])
                break
    return Quantization(book, sums, tuple(trace), updates, settled)


def _moved(rows: Rows, run: Run, book: Codes, sums: CodeSums, weights: np.ndarray | None) -> np.ndarray:
    """The means of what was won, (k, d)."""
    total, counts = sums.sums, sums.counts
    dead = np.flatnonzero(counts == 0)
    if len(dead):
        total, counts = total.copy(), counts.copy()
        far: Farthest = run.fold(rows, FindFarthest(book, len(dead)), weights, name="seeding dead codes")
        for code, square, y, old, w in zip(dead, far.squares, far.Y, far.codes, far.weights, strict=False):
            if square > _NOWHERE and counts[old] > w:
                total[old] -= w * y
                counts[old] -= w
                total[code], counts[code] = w * y, w
    some = counts > 0
    return np.where(some[:, None], total / np.where(some, counts, 1.0)[:, None], book.W)


# --- what a code book costs -------------------------------------------------------------------------------------------


def entropy_in_bits(counts: np.ndarray) -> float:
    """Return the bits a row needs on average if frequent codes are given short names."""
    shares = counts[counts > 0] / counts.sum()
    return float(abs(np.sum(shares * np.log2(shares))))


@dataclass(frozen=True)
class FromCodes:
    """The code of a row's number, or that of its least distance, (m, d)."""

    codes: Array  # (k, d)
    by_number: bool

    def __call__(self, Z: Array) -> Array:
        """Of one slab; NaN for a row that is not finite."""
        xp, k = xp_of(Z), self.codes.shape[0]
        finite = xp.all(xp.isfinite(Z), axis=1)
        Z = xp.where(finite[:, None], Z, xp.zeros_like(Z))
        if self.by_number:
            numbers = xp.astype(Z[:, 0], xp.int64)
            fine = (numbers >= 0) & (numbers < k) & (xp.astype(numbers, Z.dtype) == Z[:, 0])
            if not bool(xp.all(fine)):
                wrong = float(to_numpy(Z[:, 0])[~to_numpy(fine)][0])
                raise DataError(
                    f"{wrong:g} is no number of a code: there are {k}, counted from 0. Pass what transform returned."
                )
        else:
            numbers = xp.argmin(Z, axis=1)
        X = xp.take(like(self.codes, Z), numbers, axis=0)
        return X if bool(xp.all(finite)) else xp.where(finite[:, None], X, xp.full_like(X, xp.nan))

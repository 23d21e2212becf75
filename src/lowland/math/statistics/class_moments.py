"""Mergeable statistics of labeled rows: counts and means of the classes, and the scatter about the means.

The moments of one class merge as in ``moments``. The pooled within-class scatter takes d x d numbers, one scatter per
class C x d x d.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from lowland.arrays.linalg import gram
from lowland.arrays.namespace import Array, device_of, like, xp_of
from lowland.arrays.precision import as_double, rounding_in
from lowland.arrays.records import record
from lowland.arrays.scratch import less_rows_of, shifted_with_sums
from lowland.math.statistics.moments import (
    Scattered,
    is_single,
    loses_squares,
    refuse_overflow,
    refuse_underflow,
    shift_of,
)

_MEMBERS = 2048  # rows summed at a time


@record
@dataclass(frozen=True)
class ClassMoments(Scattered):
    """Counts, means and scatter of the classes: pooled, (d, d), or one per class, (C, d, d)."""

    n: np.ndarray  # (C,) rows of each class
    mean: Array  # (C, d) float64; zero for a class without rows
    scatter: Array  # sum over the rows of (x - mean of its class)(x - mean of its class)'
    rounding: float  # as in Moments

    def _merged(self, other: Self, scatter: Array) -> Self:
        """The merger, given the sum of the scatters: each class adds (n_a n_b/n) δδ'."""
        n = self.n + other.n
        part = other.n / np.maximum(n, 1)  # (C,)
        delta = other.mean - self.mean  # (C, d)
        root = delta * like(np.sqrt(self.n * part), delta)[:, None]
        scatter += gram(root) if scatter.ndim == 2 else root[:, :, None] * root[:, None, :]
        mean = self.mean + delta * like(part, delta)[:, None]
        return type(self)(n, mean, scatter, max(self.rounding, other.rounding))

    def is_finite(self) -> bool:
        """Whether NaN, infinity or an overflow is absent."""
        xp = xp_of(self.mean)
        return all(bool(xp.all(xp.isfinite(a))) for a in (self.mean, xp.linalg.diagonal(self.scatter)))

    @property
    def count(self) -> int:
        """The number of rows."""
        return int(self.n.sum())

    @property
    def apart(self) -> bool:
        """Whether there is one scatter per class."""
        return self.scatter.ndim == 3

    @property
    def pooled(self) -> Array:
        """The pooled within-class scatter, (d, d) float64."""
        S = as_double(self.scatter)
        return xp_of(S).sum(S, axis=0) if self.apart else S

    @property
    def between(self) -> Array:
        """The between-class scatter: of the class means about the mean of all rows, (d, d) float64."""
        weights = like(self.n, self.mean)
        center = weights @ self.mean / self.count
        root = (self.mean - center[None, :]) * xp_of(weights).sqrt(weights)[:, None]
        return gram(root)

    def with_classes(self, places: np.ndarray, classes: int) -> Self:
        """The same statistic with more classes: class c becomes number ``places[c]``."""
        if classes == len(self.n):
            return self
        xp = xp_of(self.mean)
        source = np.full(classes, len(self.n))  # a class not seen yet takes the zeros appended at the end
        source[places] = np.arange(len(self.n))
        order = xp.asarray(source, device=device_of(self.mean))

        def placed(a: Array) -> Array:
            return xp.take(xp.concat([a, xp.zeros_like(a[:1, ...])], axis=0), order, axis=0)

        n = np.append(self.n, 0)[source]
        return type(self)(n, placed(self.mean), placed(self.scatter) if self.apart else self.scatter, self.rounding)


@dataclass(frozen=True)
class MomentsByClass:
    """Computes the ClassMoments of a chunk and its classes; an object, so that it can be sent to a worker."""

    classes: int
    apart: bool = False

    def __call__(self, X: Array, y: np.ndarray) -> ClassMoments:
        """Return the moments of one chunk; y is the class number of each row."""
        xp = xp_of(X)
        n = np.bincount(y, minlength=self.classes).astype(np.float64)
        Y, mean, seen = _means(X, y, n)
        rounding = rounding_in(X) ** 2
        if not self.apart and (scatter := _by_difference(Y, seen, n)) is not None:
            return self._checked(ClassMoments(n, mean, scatter, rounding), X, y)
        near = xp.astype(mean, X.dtype)
        Y = less_rows_of(X, near, y)
        lost = (mean - as_double(near)) * like(np.sqrt(n), mean)[:, None]  # the part of Y due to rounding the means
        if self.apart:
            parts = [as_double(gram(_of_class(Y, y, c))) for c in range(self.classes)]
            scatter = xp.stack(parts) - lost[:, :, None] * lost[:, None, :]
            return self._checked(ClassMoments(n, mean, scatter, rounding), X, y)
        scatter = gram(Y)
        scatter = scatter if X.dtype == xp.float64 else as_double(scatter) - gram(lost)
        return self._checked(ClassMoments(n, mean, scatter, rounding), X, y)

    def _checked(self, found: ClassMoments, X: Array, y: np.ndarray) -> ClassMoments:
        """The moments, computed again in float64 where float32 loses their squares; an error where float64 does."""
        xp, n = xp_of(found.mean), found.count
        weights = like(found.n, found.mean)[:, None]
        off = found.mean - xp.sum(weights * found.mean, axis=0)[None, :] / max(n, 1.0)
        squares = xp.linalg.diagonal(found.pooled) + xp.sum(weights * off * off, axis=0)  # within and between classes
        lost = loses_squares(X, squares, n)
        if lost and is_single(X):
            return self(as_double(X), y)
        refuse_underflow(lost, squares, n)
        if bool(xp.all(xp.isfinite(found.mean))):  # NaN and infinity are reported by column
            refuse_overflow(squares)
        return found


def _by_difference(Y: Array, means: Array, n: np.ndarray) -> Array | None:
    """Y'Y minus that of the class means, which avoids a copy of the rows; None where it would lose more than a bit."""
    xp = xp_of(Y)
    G = as_double(gram(Y))
    total = xp.linalg.diagonal(G)
    between = gram(means * like(np.sqrt(n), means)[:, None])
    return G - between if bool(xp.all(xp.linalg.diagonal(between) <= total / 2)) else None


def _of_class(Y: Array, y: np.ndarray, c: int) -> Array:
    xp = xp_of(Y)
    return xp.take(Y, xp.asarray(np.flatnonzero(y == c), device=device_of(Y)), axis=0)


def class_means(X: Array, y: np.ndarray, n: np.ndarray) -> Array:
    """Return the mean of each class, (C, d) float64, zero for a class without rows; n are the class counts."""
    return _means(X, y, n)[1]


def _means(X: Array, y: np.ndarray, n: np.ndarray) -> tuple[Array, Array, Array]:
    """The rows relative to a point near them, the class means, and the class means relative to it: no digits lost."""
    shift = shift_of(X, near=1.0)  # farther away, the means of the classes would hide their scatter
    Y = X if shift is None else shifted_with_sums(X, shift)[0]
    if isinstance(Y, np.ndarray):
        sums = np.zeros((len(n), Y.shape[1]))
        for start in range(0, len(Y), _MEMBERS):
            rows = Y[start : start + _MEMBERS].astype(np.float64, copy=False)
            sums += membership(y[start : start + _MEMBERS], len(n)).T @ rows
    else:
        member = y[:, None] == np.arange(len(n))[None, :]  # (m, C)
        Y64 = as_double(Y)
        sums = like(member.T, Y64) @ Y64
    seen = sums / like(np.maximum(n, 1), sums)[:, None]
    if shift is None:
        return Y, seen, seen
    return Y, (seen + as_double(shift)[None, :]) * like(n > 0, seen)[:, None], seen


def membership(y: np.ndarray, classes: int) -> Any:
    """Return the (m, C) indicator matrix of the classes."""
    from scipy.sparse import csr_array

    return csr_array((np.ones(len(y)), y, np.arange(len(y) + 1)), shape=(len(y), classes))

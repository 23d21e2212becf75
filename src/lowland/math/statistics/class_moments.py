"""Mergeable statistics of labeled rows: counts, means and scatter of the classes, and covariances from them.

The moments of one class merge as in ``moments``. The pooled within-class scatter takes d x d numbers, one scatter per
class C x d x d. Covariances are empirical, shrunk toward the identity, or by an estimator.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, Self, runtime_checkable

import numpy as np

from lowland.arrays.linalg import gram
from lowland.arrays.namespace import Array, as_double, device_of, is_sparse, like, rounding_in, to_numpy, xp_of
from lowland.arrays.records import record
from lowland.errors import ParameterError
from lowland.math.statistics.moments import (
    Scattered,
    Total,
    is_single,
    loses_squares,
    refuse_overflow,
    refuse_underflow,
    shift_of,
)
from lowland.run.run import all_finite

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
        return all_finite(self.mean) and all_finite(xp_of(self.scatter).linalg.diagonal(self.scatter))

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
        Y = X - xp.take(near, xp.asarray(y, device=device_of(X)), axis=0)
        lost = (mean - as_double(near)) * like(np.sqrt(n), mean)[:, None]  # the part of Y due to rounding the means
        if self.apart:
            members = (xp.asarray(np.flatnonzero(y == c), device=device_of(Y)) for c in range(self.classes))
            parts = [as_double(gram(xp.take(Y, rows, axis=0))) for rows in members]
            scatter = xp.stack(parts) - lost[:, :, None] * lost[:, None, :]
        else:
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
        if lost:
            refuse_underflow(squares, n)
        if all_finite(found.mean):  # NaN and infinity are reported by column
            refuse_overflow(squares)
        return found


def _by_difference(Y: Array, means: Array, n: np.ndarray) -> Array | None:
    """Y'Y minus that of the class means, which avoids a copy of the rows; None where it would lose more than a bit."""
    xp = xp_of(Y)
    G = as_double(gram(Y))
    total = xp.linalg.diagonal(G)
    between = gram(means * like(np.sqrt(n), means)[:, None])
    return G - between if bool(xp.all(xp.linalg.diagonal(between) <= total / 2)) else None


def class_means(X: Array, y: np.ndarray, n: np.ndarray) -> Array:
    """Return the mean of each class, (C, d) float64, zero for a class without rows; n are the class counts."""
    return _means(X, y, n)[1]


def _means(X: Array, y: np.ndarray, n: np.ndarray) -> tuple[Array, Array, Array]:
    """The rows relative to a point near them, the class means, and the class means relative to it: no digits lost."""
    shift = shift_of(X, near=1.0)  # farther away, the means of the classes would hide their scatter
    Y = X if shift is None else X - shift[None, :]
    sums = sums_by_class(Y, y, len(n))
    seen = sums / like(np.maximum(n, 1), sums)[:, None]
    if shift is None:
        return Y, seen, seen
    return Y, (seen + as_double(shift)[None, :]) * like(n > 0, seen)[:, None], seen


def sums_by_class(X: Any, y: np.ndarray, classes: int) -> Array:
    """Return the sums of the rows of each class, (C, d) float64; y holds the class index of each row."""
    if is_sparse(X):
        return (membership(y, classes).T @ X).toarray()
    if not isinstance(X, np.ndarray):
        xp, device = xp_of(X), device_of(X)
        member = xp.arange(classes, device=device)[:, None] == xp.asarray(y, device=device)[None, :]  # (C, m)
        return like(member, as_double(X)) @ as_double(X)
    sums = np.zeros((classes, X.shape[1]))
    for start in range(0, len(X), _MEMBERS):
        rows = X[start : start + _MEMBERS].astype(np.float64, copy=False)
        sums += membership(y[start : start + _MEMBERS], classes).T @ rows
    return sums


def membership(y: np.ndarray, classes: int) -> Any:
    """Return the (m, C) indicator matrix of the classes."""
    from scipy.sparse import csr_array

    return csr_array((np.ones(len(y)), y, np.arange(len(y) + 1)), shape=(len(y), classes))


# --- covariances ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class FourthPowers:
    """Sums of |z|⁴ over the rows of each class and, last, over all; z is a row standardized by its class or by all.

    Ledoit-Wolf shrinkage (2004) needs these sums in addition to the moments.
    """

    mean: Array  # (C + 1, d), the last of all rows
    scale: Array  # (C + 1, d)

    def __call__(self, X: Array, y: np.ndarray) -> Total:
        """Return the sums over one chunk."""
        classes = self.mean.shape[0] - 1
        own = self._of(X, y)
        total = self._of(X, np.full(len(y), classes))
        return Total(np.append(np.bincount(y, own, classes), total.sum()))

    def _of(self, X: Array, y: np.ndarray) -> np.ndarray:
        xp = xp_of(X)
        places = xp.asarray(y, device=device_of(X))
        scale = xp.take(like(self.scale, X), places, axis=0)
        Z = as_double((X - xp.take(like(self.mean, X), places, axis=0)) / scale)
        return to_numpy(xp.sum(Z * Z, axis=1) ** 2)


@dataclass(frozen=True)
class ClassCovariances:
    """Within-class covariance, weighted by the priors, and total covariance, divisor n; the shrinkage of each."""

    within: Array  # (d, d)
    total: Array  # (d, d)
    shrinkage: np.ndarray  # (C + 1,) intensities from 0 to 1, the last for all rows


def covariances(
    moments: ClassMoments, priors: np.ndarray, shrinkage: float = 0.0, fourth: np.ndarray | None = None
) -> ClassCovariances:
    """Return the covariances with the given shrinkage, or with Ledoit-Wolf shrinkage where ``fourth`` is given.

    Without one scatter matrix per class, the priors must be the class frequencies.
    """
    n = moments.count
    total = (moments.pooled + moments.between) / n
    if not moments.apart:
        within = shrunk(moments.pooled / n, shrinkage)
        return ClassCovariances(within, shrunk(total, shrinkage), np.full(len(priors) + 1, shrinkage))
    parts = [*(as_double(moments.scatter[c, ...]) / max(float(m), 1.0) for c, m in enumerate(moments.n)), total]
    scales = None if fourth is None else fourth_powers(moments).scale
    used = np.full(len(parts), shrinkage)
    for c, S in enumerate(parts):
        if fourth is None or scales is None:
            parts[c] = shrunk(S, shrinkage)
            continue
        both = scales[c, :, None] * scales[c, None, :]
        used[c] = ledoit_wolf_shrinkage(S / both, float([*moments.n, n][c]), float(fourth[c]))
        parts[c] = shrunk(S / both, float(used[c])) * both
    within = sum(S * float(p) for S, p in zip(parts, priors, strict=False))
    return ClassCovariances(within, parts[-1], used)


def fourth_powers(moments: ClassMoments) -> FourthPowers:
    """Return the statistic that sums |z|⁴ of rows standardized by these moments; constant columns are left as is."""
    xp = xp_of(moments.mean)
    n = moments.count
    center = like(moments.n, moments.mean) @ moments.mean / n
    means = xp.concat([moments.mean, center[None, :]], axis=0)  # (C + 1, d)
    own = xp.linalg.diagonal(as_double(moments.scatter)) / like(np.maximum(moments.n, 1), means)[:, None]
    total = xp.linalg.diagonal(moments.pooled + moments.between) / n
    variances = xp.concat([own, total[None, :]], axis=0)
    varies = variances > moments.rounding * xp.max(means**2, axis=0)[None, :]
    return FourthPowers(means, xp.sqrt(xp.where(varies, variances, xp.ones_like(variances))))


def shrunk(S: Array, shrinkage: float) -> Array:
    """Return a covariance shrunk toward the multiple of the identity with the same trace."""
    xp = xp_of(S)
    d = S.shape[0]
    level = float(xp.linalg.trace(S)) / d
    return S * (1 - shrinkage) + like(xp.eye(d), S) * (shrinkage * level)


def ledoit_wolf_shrinkage(R: Array, n: float, fourth: float) -> float:
    """Return the Ledoit-Wolf shrinkage of a covariance R (divisor n) of standardized rows, given their sum of |z|⁴.

    Ledoit and Wolf 2004, doi:10.1016/S0047-259X(03)00096-4: the variance of the entries of R over the squared distance
    of R from the multiple of the identity.
    """
    xp = xp_of(R)
    d = R.shape[0]
    squares = float(xp.sum(R * R))
    distance = squares - float(xp.linalg.trace(R)) ** 2 / d
    noise = (fourth / n - squares) / n
    return 0.0 if distance <= 0 or noise <= 0 else min(noise / distance, 1.0)


@runtime_checkable
class CovarianceEstimator(Protocol):
    """What a covariance estimator needs: ``fit(X)`` sets ``covariance_``, as in scikit-learn."""

    def fit(self, X: Any) -> Any:
        """Estimate the covariance of the rows."""


def estimated_covariances(
    estimator: CovarianceEstimator, X: np.ndarray, y: np.ndarray, priors: np.ndarray
) -> ClassCovariances:
    """Return the covariances by an estimator, fitted to the rows of each class and to all rows."""
    from sklearn.base import clone

    def estimate(part: np.ndarray) -> np.ndarray:
        fitted = clone(estimator, safe=False)  # any object: one without get_params is copied
        fitted.fit(part)
        if not hasattr(fitted, "covariance_"):
            raise ParameterError(
                f"{type(fitted).__name__} does not have a covariance_ attribute after fit. Use a covariance estimator "
                "such as OAS() of scikit-learn."
            )
        return np.asarray(fitted.covariance_, dtype=np.float64)

    within = sum(p * estimate(X[y == c]) for c, p in enumerate(priors))
    return ClassCovariances(within, estimate(X), np.zeros(len(priors) + 1))

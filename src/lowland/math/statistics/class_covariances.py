"""Within-class and total covariance matrices: empirical, shrunk toward the identity, or by an estimator."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, Self, runtime_checkable

import numpy as np

from lowland.arrays.namespace import Array, device_of, like, to_numpy, xp_of
from lowland.arrays.precision import as_double
from lowland.errors import ParameterError
from lowland.math.statistics.class_moments import ClassMoments


@dataclass(frozen=True)
class FourthPowers:
    """Sums of |z|⁴ over the rows of each class and, last, over all; z is a row standardized by its class or by all.

    Ledoit-Wolf shrinkage (2004) needs these sums besides the moments.
    """

    mean: Array  # (C + 1, d), the last of all rows
    scale: Array  # (C + 1, d)

    def __call__(self, X: Array, y: np.ndarray) -> FourthPowerSums:
        """Return the sums over one chunk."""
        classes = self.mean.shape[0] - 1
        own = self._of(X, y)
        total = self._of(X, np.full(len(y), classes))
        return FourthPowerSums(np.append(np.bincount(y, own, classes), total.sum()))

    def _of(self, X: Array, y: np.ndarray) -> np.ndarray:
        xp = xp_of(X)
        places = xp.asarray(y, device=device_of(X))
        scale = xp.take(like(self.scale, X), places, axis=0)
        Z = as_double((X - xp.take(like(self.mean, X), places, axis=0)) / scale)
        return to_numpy(xp.sum(Z * Z, axis=1) ** 2)


@dataclass(frozen=True)
class FourthPowerSums:
    """Mergeable sums of |z|⁴ of the classes and of all rows."""

    value: np.ndarray  # (C + 1,)

    def __add__(self, other: Self) -> Self:
        """Merge two parts."""
        return type(self)(self.value + other.value)

    def is_finite(self) -> bool:
        """Whether NaN, infinity or an overflow is absent."""
        return bool(np.isfinite(self.value).all())


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

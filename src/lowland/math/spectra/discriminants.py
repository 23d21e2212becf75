"""Fisher's linear discriminants: directions of maximal between-class over within-class variance."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from lowland.arrays.linalg import eigh, svd
from lowland.arrays.namespace import ROUNDINGS, Array, as_double, device_of, rounding_in, to_numpy, xp_of
from lowland.math.spectra.leading import fix_signs
from lowland.math.statistics.labels import shown
from lowland.math.statistics.moments import refuse_tiny_columns


@dataclass(frozen=True)
class WithinAxes:
    """Directions A with A' S_W A = I: a basis of all directions of nonzero within-class variance."""

    A: Array  # (d, r)
    patterns: Array  # (d, r) S_W A: within-class covariance of the columns with each
    constant: np.ndarray  # (d,) columns that are constant within each class

    @property
    def rank(self) -> int:
        """Number of directions."""
        return int(self.A.shape[1])


@dataclass(frozen=True)
class DiscriminantAxes:
    """Discriminants in descending order of the ratio of between-class to within-class variance (divisors n)."""

    directions: Array  # (d, m), of unit within-class variance
    patterns: Array  # (d, m) S_W times the directions: within-class covariance of the columns with each
    ratios: Array  # (m,)
    total: float  # sum of the ratios of all directions


def discriminant_axes_of_scatter(within: Array, between: Array, k: int | None = None) -> DiscriminantAxes:
    """Return the discriminants of two scatter matrices: S_B a = λ S_W a with a' S_W a = 1, largest λ first.

    Parameters
    ----------
    within
        S_W, (d, d): the within-class scatter or covariance. Directions of zero variance are dropped.
    between
        S_B, (d, d): the between-class scatter or covariance, with the same divisor.
    k
        Number of directions. None keeps all.

    Returns
    -------
    DiscriminantAxes
        ``directions`` (d, k) a, ``patterns`` (d, k) S_W a, ``ratios`` (k,) λ, and ``total``, the sum of all λ.

    Examples
    --------
    >>> import numpy as np
    >>> within, between = np.diag([1.0, 4.0]), np.diag([2.0, 1.0])
    >>> found = discriminant_axes_of_scatter(within, between, 1)
    >>> found.directions[:, 0], found.ratios.round(12), round(found.total, 12)
    (array([1., 0.]), array([2.]), 2.25)
    """
    S_W, S_B = (as_double(S) for S in (within, between))
    axes = within_axes(S_W, xp_of(S_W).zeros_like(S_W[:1, :]), 0.0, rounding_in(within))
    found = directions_of_ratio(S_W + S_B, axes)
    return replace(found, directions=found.directions[:, :k], patterns=found.patterns[:, :k], ratios=found.ratios[:k])


def within_axes(S: Array, means: Array, rounding: float, tol: float) -> WithinAxes:
    """Whiten the within-class covariance of the standardized columns; constant columns are dropped.

    Directions whose variance is at most ``tol`` are dropped.
    """
    xp = xp_of(S)
    constant, deviations = _deviations(xp.linalg.diagonal(S), means, rounding)
    R = S / (deviations[:, None] * deviations[None, :])
    R = xp.where(xp.isfinite(R), R, xp.zeros_like(R))
    R = (R + R.T) / 2
    values, V = eigh(R)
    kept = int(xp.sum(xp.astype(values > tol, xp.int64)))
    roots, V = xp.sqrt(values[S.shape[0] - kept :]), V[:, S.shape[0] - kept :]
    return WithinAxes(V / roots[None, :] / deviations[:, None], _times(V * roots[None, :], deviations), constant)


def within_axes_of_rows(X: Array, y: np.ndarray, means: Array, tol: float) -> WithinAxes:
    """The same from fewer rows than columns: the (n, n) Gram matrix of the rows has the same nonzero eigenvalues."""
    xp = xp_of(X)
    n = X.shape[0]
    C = (as_double(X) - xp.take(means, xp.asarray(y, device=device_of(X)), axis=0)) / n**0.5  # (n, d)
    constant, deviations = _deviations(xp.sum(C * C, axis=0), means, rounding_in(X) ** 2)
    C = C / deviations[None, :]
    G = C @ C.T
    values, U = eigh(G)
    kept = int(xp.sum(xp.astype(values > tol, xp.int64)))
    values, U = values[n - kept :], U[:, n - kept :]
    V = C.T @ (U / values[None, :])  # (d, r), divided by the square roots of the values
    return WithinAxes(V / deviations[:, None], _times(V * values[None, :], deviations), constant)


def _deviations(variances: Array, means: Array, rounding: float) -> tuple[np.ndarray, Array]:
    """Which columns are constant within the classes, and the standard deviations, infinite for these."""
    xp = xp_of(variances)
    largest = xp.max(xp.abs(means), axis=0)
    refuse_tiny_columns(variances, largest)
    deviations = xp.sqrt(xp.where(variances > 0, variances, xp.zeros_like(variances)))
    varies = deviations > math.sqrt(rounding) * largest  # the squared mean may overflow
    return ~to_numpy(varies), xp.where(varies, deviations, xp.full_like(variances, xp.inf))


def _times(V: Array, deviations: Array) -> Array:
    xp = xp_of(V)
    return V * xp.where(xp.isfinite(deviations), deviations, xp.zeros_like(deviations))[:, None]


def directions_of_means(means: Array, priors: Array, axes: WithinAxes, tol: float) -> DiscriminantAxes:
    """Principal axes of the class means, weighted by ``priors``, in the whitened coordinates."""
    xp = xp_of(means)
    centered = means - (priors @ means)[None, :]
    M = xp.sqrt(priors)[:, None] * centered @ axes.A
    _, s, Vt = svd(M)
    kept = int(xp.sum(xp.astype(s > tol * s[0], xp.int64))) if s.shape[0] else 0
    return _turned(axes, Vt[:kept, :].T, s[:kept] ** 2, float(xp.sum(s**2)))


def directions_of_ratio(S_total: Array, axes: WithinAxes) -> DiscriminantAxes:
    """Solve S_B a = λ S_W a with S_B = S_T - S_W: the ratio of total to within-class variance, minus one."""
    xp = xp_of(S_total)
    M = axes.A.T @ S_total @ axes.A
    M = (M + M.T) / 2
    values, V = eigh(M)
    ratios = xp.flip(values, axis=0) - 1
    return _turned(axes, xp.flip(V, axis=1), ratios, float(xp.sum(ratios)))


def _turned(axes: WithinAxes, V: Array, ratios: Array, total: float) -> DiscriminantAxes:
    xp = xp_of(V)
    directions = axes.A @ V
    signed = fix_signs(directions)
    flips = xp.sign(xp.sum(signed * directions, axis=0))
    return DiscriminantAxes(signed, (axes.patterns @ V) * flips[None, :], ratios, total)


def class_scores(means: Array, priors: Array, A: Array, center: Array | None = None) -> tuple[Array, Array]:
    """Return the coefficients (C, d) and intercepts (C,) of the scores log π_c + μ_c'S⁻¹x - μ_c'S⁻¹μ_c/2, S⁻¹ = AA'.

    The score is largest for the class with the smallest squared Mahalanobis distance minus 2 log π_c. With a ``center``
    the means are taken relative to it, and the intercepts are corrected.
    """
    xp = xp_of(means)
    seen = means if center is None else means - center[None, :]
    coef = (seen @ A) @ A.T
    own = xp.sum(seen * coef, axis=1) / 2
    return coef, log_priors(priors) - (own if center is None else own + coef @ center)


def log_priors(priors: Array) -> Array:
    """Return the logarithms of the priors; -inf for a prior of zero."""
    xp = xp_of(priors)
    logs = xp.log(xp.where(priors > 0, priors, xp.ones_like(priors)))
    return xp.where(priors > 0, logs, xp.full_like(logs, -xp.inf))


def why_singular(
    axes: WithinAxes, means: Array, center: Array, n: int, rounding: float, names: Any = None
) -> str | None:
    """Return why the within-class covariance of n rows is singular, and which column causes it; None if it is not.

    A column that is constant within each class but differs between classes separates the classes by itself.
    """
    d, C = means.shape[1], means.shape[0]
    if axes.rank == d:
        return None
    why = "columns are collinear or constant within the classes"
    if n - C < d:
        why = f"{n} rows in {C} classes span at most {n - C} dimensions"
    text = f"The within-class covariance is singular (rank {axes.rank} of {d}): {why}."
    centered = np.abs(to_numpy(means - center[None, :])).max(axis=0)
    perfect = np.flatnonzero(axes.constant & (centered > ROUNDINGS * rounding * np.abs(to_numpy(means)).max(0)))
    if len(perfect):
        names = np.arange(d) if names is None else names
        text += (
            f" Column {shown(names[perfect[0]])} is constant within each class but differs between classes: it "
            "separates classes by itself, and is dropped. Check whether it leaks the label."
        )
    return text

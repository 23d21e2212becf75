"""Out-of-sample extension by least stress: each new point minimizes its own stress to fixed points."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from lowland.arrays.linalg import eigh
from lowland.arrays.namespace import Array, as_double, like, on_accelerator, xp_of
from lowland.errors import DataError
from lowland.math.distances.metrics import allows_nan
from lowland.math.distances.to_points import DistancesTo, check_new_distances
from lowland.math.scaling.isotonic import IsotonicCurve
from lowland.math.statistics.rescaling import unit_of

_PAIRS = 1 << 18  # distances per block on the CPU: they stay in the cache
_ROUNDS = 60
_SHORTEST_STEP = 1e-11  # step, as a fraction of the extent of the points, at which a new point has converged
_ROUNDING = 1e-13  # fraction of the stress within which the gradient decides which of two points is better
_LEAST = 0.01  # damping, as a fraction of the sum of weights, below which there is none
_FLATTEST = 1e-3  # least curvature, as a fraction of the sum of weights, that a Newton step is divided by


@dataclass(frozen=True)
class LeastStressPlacement:
    """The map from rows to coordinates among fitted points; picklable, so that it can be sent to a worker.

    ``distances`` computes the distances of rows; without it rows are distances to the fitted points, NaN if missing.
    ``curve`` maps dissimilarities to disparities (non-metric). ``sammon``: the stress is weighted by one over the
    distance, and a row at distance zero of a fitted point gets its coordinates.
    """

    Z: Array  # (n, k) the points
    distances: DistancesTo | None
    curve: IsotonicCurve | None = None
    sammon: bool = False

    def __call__(self, X: Array) -> Array:
        """Return the coordinates of one slab, in its precision."""
        xp = xp_of(X)
        n = self.Z.shape[0]
        step = X.shape[0] if on_accelerator(X) else max(1, _PAIRS // n)
        parts = [self._placed(X[a : min(a + step, X.shape[0]), :]) for a in range(0, X.shape[0], step)]
        return xp.astype(parts[0] if len(parts) == 1 else xp.concat(parts, axis=0), X.dtype)

    def _placed(self, X: Array) -> Array:
        xp = xp_of(X)
        if self.distances is None:  # Sammon stress has no missing distances
            T = as_double(check_new_distances(X, missing=not self.sammon))
        else:
            T = as_double(self.distances(X))
        Z, unit = like(self.Z, T), unit_of(self.Z)
        W = xp.ones_like(T)
        if self.distances is None or (not self.sammon and allows_nan(self.distances.metric)):
            T, W = _filled(T)
        if self.curve is not None:
            T = self.curve(T)
        if unit != 1:
            T, Z = T / unit, Z / unit
        if self.sammon:
            W = xp.where(T > 0, W / xp.where(T > 0, T, xp.ones_like(T)), xp.zeros_like(T))
        placed = least_stress_points(T, W, Z)
        if self.sammon:
            there = xp.take(Z, xp.argmin(T, axis=1), axis=0)
            placed = xp.where(xp.min(T, axis=1)[:, None] == 0, there, placed)
        return placed if unit == 1 else placed * unit


def _filled(T: Array) -> tuple[Array, Array]:
    """Return distances with missing ones replaced by the mean of their row, and weights of zero for these."""
    xp = xp_of(T)
    known = ~xp.isnan(T)
    W = xp.astype(known, T.dtype)
    counts = xp.sum(W, axis=1)
    if not bool(xp.all(counts > 0)):
        raise DataError(
            "No distance of a new point to the fitted points is known: all are NaN. Pass some of them, or remove the "
            "point."
        )
    means = xp.sum(xp.where(known, T, xp.zeros_like(T)), axis=1) / counts
    return xp.where(known, T, means[:, None]), W


def least_stress_points(T: Array, W: Array, Z: Array) -> Array:
    """Return for each row of distances T the point that minimizes sum_i w_i (t_i - |z - z_i|)², (m, k).

    Newton's method with the absolute curvature, damped until every step lowers the stress: with damping of the sum of
    weights or more it is a majorizing step, which always does. The initial position is the better of two: the
    least-squares fit of the squared distances, which is a linear problem, and the nearest fitted point.
    """
    xp = xp_of(T)
    center = xp.mean(Z, axis=0)[None, :]
    Z = Z - center
    extent = xp.sqrt(xp.mean(xp.sum(Z * Z, axis=1)))
    starts, shortest = (_by_squares(T, Z), xp.take(Z, xp.argmin(T, axis=1), axis=0)), _SHORTEST_STEP * extent
    if not isinstance(T, np.ndarray):
        return place_at_once(T, W, Z, starts, shortest) + center
    from lowland.kernels.scaling import place_points

    out, Zt = np.empty_like(starts[0]), np.ascontiguousarray(Z.T)
    place_points(T, W, Zt, np.stack(starts), float(shortest), _ROUNDS, _LEAST, _FLATTEST, _ROUNDING, out)
    return out + center


def place_at_once(T: Array, W: Array, Z: Array, starts: tuple[Array, ...], shortest: Array) -> Array:
    """Place all new points at once, in any array library."""
    xp = xp_of(T)
    a, b = (_PointStress.at(start, T, W, Z) for start in starts)
    here = a.where(a.stress <= b.stress, b)
    damping = xp.zeros_like(here.stress)
    for _ in range(_ROUNDS):
        ahead = here.newton_step(damping)
        there = _PointStress.at(ahead, T, W, Z)
        flatter = xp.sum(there.gradient**2, axis=1) < xp.sum(here.gradient**2, axis=1)
        slack = _ROUNDING * (2 * xp.astype(flatter, here.stress.dtype) - 1)
        lower = there.stress <= here.stress * (1 + slack)
        moved = xp.linalg.vector_norm(ahead - here.z, axis=1)
        here = there.where(lower, here)
        if not bool(xp.any(moved > shortest)):
            break
        eased = xp.where(damping > _LEAST, damping / 4, xp.zeros_like(damping))
        raised = xp.where(damping > _LEAST, damping * 4, xp.full_like(damping, 4 * _LEAST))
        damping = xp.where(lower, eased, raised)
    return here.z


def _by_squares(T: Array, Z: Array) -> Array:
    """The point z whose 2 z_i'z best fit |z_i|² - t_i² up to a constant, (m, k); Z is centered."""
    xp = xp_of(T)
    values, V = eigh(Z.T @ Z)
    extended = values > 1e-12 * xp.max(values)
    inverse = xp.where(extended, 1 / xp.where(extended, values, xp.ones_like(values)), xp.zeros_like(values))
    A = (Z @ V) * inverse[None, :] @ V.T  # (n, k)
    return (xp.sum(Z * Z, axis=1)[None, :] - T * T) @ A / 2


@dataclass(frozen=True)
class _PointStress:
    """The stress of each new point, with its gradient and Hessian."""

    z: Array  # (m, k)
    stress: Array  # (m,)
    gradient: Array  # (m, k) half of it
    hessian: Array  # (m, k, k) half of it
    total: Array  # (m,) sum of the weights

    @classmethod
    def at(cls, z: Array, T: Array, W: Array, Z: Array) -> Self:
        """Measure at z: for each pair p = w(1 - t/d) and q = w t/d³; half the Hessian is sum p I + q ee'."""
        xp = xp_of(T)
        m, k = z.shape
        n = Z.shape[0]
        S = xp.zeros_like(T)
        for c in range(k):
            S += (z[:, c, None] - Z[None, :, c]) ** 2
        d = xp.sqrt(S)
        apart = d > 0
        d = xp.where(apart, d, xp.ones_like(d))
        gap = xp.where(apart, d, xp.zeros_like(d)) - T
        p = xp.where(apart, W * gap / d, xp.zeros_like(d))
        q = xp.where(apart, W * T / d**3, xp.zeros_like(d))
        one, eye = xp.ones_like(Z[:, :1]), like(np.eye(k), Z)
        sums = p @ xp.concat([one, Z], axis=1)  # (m, 1 + k)
        gradient = sums[:, :1] * z - sums[:, 1:]
        pairs = xp.reshape(Z[:, :, None] * Z[:, None, :], (n, k * k))
        moments = q @ xp.concat([one, Z, pairs], axis=1)  # (m, 1 + k + k²)
        cross = z[:, :, None] * moments[:, None, 1 : 1 + k]
        hessian = (
            moments[:, 0, None, None] * (z[:, :, None] * z[:, None, :])
            - cross
            - xp.matrix_transpose(cross)
            + xp.reshape(moments[:, 1 + k :], (m, k, k))
            + sums[:, 0, None, None] * eye[None, :, :]
        )
        return cls(z, xp.sum(W * gap * gap, axis=1), gradient, hessian, xp.sum(W, axis=1))

    def where(self, mine: Array, other: Self) -> Self:
        """These where marked, the other's elsewhere."""
        xp = xp_of(self.z)
        return type(self)(
            xp.where(mine[:, None], self.z, other.z),
            xp.where(mine, self.stress, other.stress),
            xp.where(mine[:, None], self.gradient, other.gradient),
            xp.where(mine[:, None, None], self.hessian, other.hessian),
            self.total,
        )

    def newton_step(self, damping: Array) -> Array:
        """Where a damped Newton step leads, (m, k), directions of negative curvature taken as if it were positive."""
        xp = xp_of(self.z)
        finite = xp.where(xp.isfinite(self.hessian), self.hessian, xp.zeros_like(self.hessian))
        values, V = eigh(finite)  # (m, k), (m, k, k)
        least = _FLATTEST * self.total[:, None]
        curvatures = xp.abs(values)
        curvatures = xp.where(curvatures > least, curvatures, xp.broadcast_to(least, curvatures.shape))
        curvatures += (damping * self.total)[:, None]
        along = xp.sum(V * self.gradient[:, :, None], axis=1) / curvatures
        return self.z - xp.sum(V * along[:, None, :], axis=2)

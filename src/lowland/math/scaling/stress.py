"""Stress, the squared error of the distances of a configuration, and its gradient, over all pairs of points."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from lowland.arrays.linalg import over_root, plus_square
from lowland.arrays.namespace import Array, device_of, like, on_accelerator, xp_of
from lowland.arrays.precision import as_double, eps_of
from lowland.math.scaling.targets import Targets
from lowland.run.run import Run


@dataclass(frozen=True)
class StressGradient:
    """The stress over some pairs, half its gradient, and for Sammon's half its second derivatives."""

    stress: Array | float  # sum over i < j of w (t - d)²
    F: Array  # (n, k) sum_j w (1 - t/d)(z_i - z_j)
    H: Array | None = None  # (n, k) second derivatives of half the stress, of Sammon's only

    def __add__(self, other: Self) -> Self:
        """Add those of other pairs."""
        H = None if self.H is None else self.H + other.H
        return type(self)(self.stress + other.stress, self.F + other.F, H)

    def is_finite(self) -> bool:
        """True: the targets were checked before, and a step that is too long is detected by its stress."""
        return True


@dataclass(frozen=True)
class StressGradientAt:
    """Stress and gradient at Z over the pairs of some points with all later ones."""

    targets: Targets
    Z: Array  # (n, k) float64
    exact: bool = False  # whether the stress must be summed from the residuals

    def __call__(self, numbers: np.ndarray) -> StressGradient:
        """Of a portion of the points."""
        start, stop = int(numbers[0, 0]), int(numbers[-1, 0]) + 1
        if self.targets.on_host:
            return self._by_loops(start, stop)
        by = gradient_by_ratios if self.targets.by_ratios and not self.exact else gradient_by_slabs
        return by(self.targets, self.Z, start, stop)

    def _by_loops(self, start: int, stop: int) -> StressGradient:
        from lowland.kernels.stress import add_sammon_gradient, add_stress_gradient

        targets, Z = self.targets, np.ascontiguousarray(self.Z.T)  # (k, n)
        F, bases = np.zeros_like(Z), targets.bases[start:stop]
        T = targets.T.ravel()
        if targets.masses is not None:
            H = np.zeros_like(Z)
            stress = add_sammon_gradient(T, targets.masses, bases, start, Z, F, H)
            return StressGradient(stress, F.T, H.T)
        W = np.empty(0) if targets.W is None else targets.W.ravel()
        return StressGradient(add_stress_gradient(T, W, bases, start, Z, F), F.T)


def gradient_by_slabs(targets: Targets, Z: Array, start: int, stop: int) -> StressGradient:
    """The same in any array library: a slab of the matrix from its diagonal on, in few, large operations."""
    n = targets.n
    T = targets.T[start:stop, start:]
    xp = xp_of(T)
    T = T if on_accelerator(T) else as_double(T)
    Y = like(Z[start:, :], T)
    own = Y[: stop - start, :]
    d = _distances(own, Y)  # (m, n - start)
    residual = d - T
    if targets.missing:
        residual = xp.where(xp.isnan(residual), xp.zeros_like(residual), residual)
    W = _slab_weights(targets, T, start, stop)
    stress = _half_within(residual if W is None else residual * xp.sqrt(W))
    residual /= d
    if W is not None:
        residual *= W
    F = _differences_times(residual, Y, start, n)
    if targets.masses is None:
        return StressGradient(stress, F)
    return StressGradient(stress, F, _second_derivatives(residual, W * T / (d * d * d), own, Y, start, n))


def gradient_by_ratios(targets: Targets, Z: Array, start: int, stop: int) -> StressGradient:
    """The same for unweighted, complete targets in the fewest passes over a device's memory, without the stress.

    sum_j (1 - t/d)(z_i - z_j) = n(z_i - mean) - sum_j t/d (z_i - z_j), the first of which needs no pairs.
    """
    T = targets.T[start:stop, start:]
    Y = like(Z[start:, :], T)
    S = _squared_distances(Y[: stop - start, :], Y)
    F = -_differences_times(over_root(T, S), Y, start, targets.n)
    if start == 0:
        F += targets.n * (Z - xp_of(Z).mean(Z, axis=0)[None, :])
    return StressGradient(0.0, F)


def _differences_times(M: Array, Y: Array, start: int, n: int) -> Array:
    """sum_j m_ij (z_i - z_j) over the pairs of a slab from its diagonal on, for both of each pair, (n, k) float64."""
    xp = xp_of(M)
    m = M.shape[0]
    own, ones = Y[:m, :], xp.ones_like(Y[:, :1])
    sums = as_double(M @ xp.concat([Y, ones], axis=1))  # (m, k + 1)
    F = xp.zeros((n, Y.shape[1]), dtype=sums.dtype, device=device_of(M))
    F[start : start + m, :] += sums[:, -1:] * as_double(own) - sums[:, :-1]
    if start + m < n:
        sums = as_double(M[:, m:].T @ xp.concat([own, ones[:m, :]], axis=1))
        F[start + m :, :] += sums[:, -1:] * as_double(Y[m:, :]) - sums[:, :-1]
    return F


def _distances(own: Array, Y: Array) -> Array:
    return xp_of(Y).sqrt(_squared_distances(own, Y))


def _squared_distances(own: Array, Y: Array) -> Array:
    """Squared distances by differences, (m, n); that of a point to itself or a duplicate is tiny instead of zero."""
    xp = xp_of(Y)
    S = xp.reshape(eps_of(Y) ** 2 * xp.max(xp.abs(Y)) ** 2 + float(xp.finfo(Y.dtype).smallest_normal), (1, 1))
    for c in range(Y.shape[1]):
        S = plus_square(S, own[:, c, None] - Y[None, :, c])
    return S


def _half_within(residual: Array) -> Array:
    """The sum of squares, float64, in which pairs within the leading square are counted twice."""
    xp = xp_of(residual)
    m = residual.shape[0]
    within, all_of_them = (
        xp.sum(as_double(xp.linalg.vector_norm(g, axis=1)) ** 2) for g in (residual[:, :m], residual)
    )
    return all_of_them - within / 2


def _second_derivatives(ratio: Array, curvature: Array, own: Array, Y: Array, start: int, n: int) -> Array:
    """Sums over pairs of ratio + curvature e² for each coordinate e, (n, k) float64."""
    xp = xp_of(Y)
    m = own.shape[0]
    H = xp.zeros((n, Y.shape[1]), dtype=xp.float64, device=device_of(Y))
    for c in range(Y.shape[1]):
        curves = ratio + curvature * (own[:, c, None] - Y[None, :, c]) ** 2
        H[start : start + m, c] += as_double(xp.sum(curves, axis=1))
        H[start + m :, c] += as_double(xp.sum(curves[:, m:], axis=0))
    return H


def _slab_weights(targets: Targets, T: Array, start: int, stop: int) -> Array | None:
    xp = xp_of(T)
    if targets.masses is None:
        return None if targets.W is None else like(targets.W[start:stop, start:], T)
    m = like(targets.masses, T)
    positive = xp.where(T > 0, T, xp.full_like(T, float("inf")))
    return m[start:stop, None] * m[None, start:] / positive


def stress_gradient(targets: Targets, Z: Array, run: Run, *, exact: bool = True) -> StressGradient:
    """Return the stress at Z, over pairs i < j, and half its gradient; not ``exact``: perhaps without the stress."""
    return run.fold(targets.rows(), StressGradientAt(targets, Z, exact), name="computing stress")

"""Negentropy and mutual information of components y, from one pass: the means of e = exp(−y²/2) and of ye."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import reduce
from operator import add

import numpy as np

from lowland.arrays.linalg import work_space
from lowland.arrays.namespace import Array, as_double, like, to_numpy, xp_of
from lowland.math.ica.whitened_rows import Whiten, in_blocks
from lowland.math.statistics.moments import Sums

# Weights of the two functions in the maximum-entropy approximation (Hyvärinen 1998)
_SKEWED = 36 / (8 * math.sqrt(3) - 9)
_PEAKED = 24 / (16 * math.sqrt(3) - 27)
_BELL_OF_NORMAL = math.sqrt(0.5)  # E exp(−y²/2) of a standard normal y
_NOISE_FLOOR = 1e-4  # variance of noise added to the functions, so that effects at the level of rounding do not count
_FEWEST_ROWS = 200  # with fewer rows, a uniform source cannot be distinguished from a Gaussian one
_ROWS_PER_FUNCTION = 5  # rows per function, below which their correlations are not reliable


@dataclass(frozen=True)
class ShapeSums(Sums):
    """Sums over rows of the two functions of each component and of all their products, in float64."""

    n: int
    sums: Array  # (2k,) first e of each, then ye
    products: Array  # (2k, 2k)


def shape_sums(B: np.ndarray, shift: np.ndarray | None, whiten: Whiten | None, X: Array) -> ShapeSums:
    """Return the sums of one slab for the components y = Bz + shift, of unit variance; B is (k, j), shift (k,)."""
    Z = X if whiten is None else whiten(X)
    B = like(B, Z)
    add_to = None if shift is None else like(shift, Z)[:, None]

    def part(z: Array) -> ShapeSums:
        if isinstance(z, np.ndarray):
            F = _in_place(B, z, add_to)
        else:
            y = B @ z  # (k, b)
            y = y if add_to is None else y + add_to
            bell = xp_of(y).exp(y * y / -2)
            F = xp_of(y).concat([bell, y * bell], axis=0)  # (2k, b)
        return ShapeSums(z.shape[1], as_double(xp_of(F).sum(F, axis=1)), as_double(F @ F.T))

    return reduce(add, map(part, in_blocks(Z)))


def _in_place(B: np.ndarray, z: np.ndarray, shift: np.ndarray | None) -> np.ndarray:
    """The values of both functions, (2k, b), without temporary arrays."""
    k = len(B)
    F = work_space(2 * k, z.shape[1], z.dtype)
    bell, y = F[:k], np.matmul(B, z, out=F[k:])
    if shift is not None:
        y += shift
    np.multiply(y, y, out=bell)
    bell /= -2
    np.exp(bell, out=bell)
    y *= bell
    return F


def negentropies(shape: ShapeSums) -> Array:
    """Return the negentropy of each component in nats, (k,) float64: J(y) = H(normal) − H(y) ≥ 0.

    This is the approximation by the maximum-entropy density with the same E e and E ye:
    J ≈ 36/(8√3 − 9) (E ye)² + 24/(16√3 − 27) (E e − 1/√2)² (Hyvärinen 1998). It is accurate near a Gaussian and
    rough far from it (uniform 0.065 instead of 0.176, Laplace 0.088 instead of 0.072), but orders sources well.
    """
    k = shape.sums.shape[0] // 2
    means = shape.sums / shape.n
    return _SKEWED * means[k:] ** 2 + _PEAKED * (means[:k] - _BELL_OF_NORMAL) ** 2


def mutual_information(shape: ShapeSums) -> np.ndarray:
    """Return the mutual information of each component with all others together, in nats, (k,); NaN for too few rows.

    Were the functions f_i = (e_i, y_i e_i) jointly normal with correlation R, then I_i = ½ log(det R_ii det (R⁻¹)_ii).
    Otherwise it is the part that the correlations of these functions capture. The bias of independent components,
    2(k − 1)/n, is subtracted.
    """
    sums, products, n = to_numpy(shape.sums), to_numpy(shape.products), shape.n
    k = len(sums) // 2
    if n < _ROWS_PER_FUNCTION * 2 * k:
        return np.full(k, np.nan)
    S = products / n - np.outer(sums / n, sums / n) + _NOISE_FLOOR * np.eye(2 * k)
    deviations = np.sqrt(np.diagonal(S))
    R = S / np.outer(deviations, deviations)
    P = np.linalg.inv(R)
    e, o = np.arange(k), np.arange(k, 2 * k)
    within = R[e, e] * R[o, o] - R[e, o] ** 2
    against = P[e, e] * P[o, o] - P[e, o] ** 2
    return np.maximum(np.log(np.maximum(within * against, 1.0)) / 2 - 2 * (k - 1) / n, 0.0)


def count_gaussian(J: np.ndarray, n: int) -> int:
    """Return the number of components not significantly different from Gaussian with n rows; 0 where n is too small.

    Unmixing m Gaussian sources finds m components that look slightly non-Gaussian, since it selects the rotation where
    they do by chance. n times the largest of their negentropies then does not depend on n, and grows with m: over
    logcosh, exp and cube, m from 2 to 30 and n from 200 to 5000, nine in ten simulations stay below 4 + 1.3 m. The m
    components of smallest negentropy count as Gaussian while all of them are below it.
    """
    if n < max(_FEWEST_ROWS, 10 * len(J)):
        return 0
    faint = n * np.sort(J)  # ascending: the last of the first m is their largest
    m = np.arange(1, len(J) + 1)
    doubted = np.flatnonzero(faint <= 4 + 1.3 * m)
    return int(doubted[-1]) + 1 if doubted.size else 0

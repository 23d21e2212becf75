"""Target distances of a configuration: a matrix or its upper triangle, with weights, some of them missing."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from lowland.arrays.namespace import Array, device_of, like, on_accelerator, to_numpy, xp_of
from lowland.arrays.precision import as_double
from lowland.data.rows import ArrayRows, Rows, slab_rows
from lowland.errors import DataError
from lowland.run.run import Run

PAIRS = 1 << 19  # pairs per task of a thread


@dataclass(frozen=True)
class Targets:
    """Target distances of all pairs, and their weights.

    On the CPU the pairs are read from one flat array, a matrix or its upper triangle. NaN: missing.
    """

    T: Array  # (n, n), or on the CPU also the upper triangle, row by row, (n(n - 1)/2,)
    W: Array | None = None  # (n, n) weights, or None: ones
    masses: Array | None = None  # (n,) of Sammon's stress: the weights are m_i m_j / t
    n: int = 0
    missing: bool = False  # whether any target is NaN

    @classmethod
    def of(cls, T: Array, W: Array | None = None, masses: Array | None = None, *, missing: bool = False) -> Self:
        """Targets in a matrix, (n, n)."""
        return cls(_flat_ready(T), None if W is None else _flat_ready(W), masses, T.shape[0], missing)

    @property
    def on_host(self) -> bool:
        """Whether compiled loops can read them."""
        return isinstance(self.T, np.ndarray)

    @property
    def bases(self) -> np.ndarray:
        """Where each row begins in the flat array, less the positions before its diagonal, (n,)."""
        i = np.arange(self.n, dtype=np.int64)
        return i * self.n if self.T.ndim == 2 else condensed_bases(self.n)

    @property
    def by_ratios(self) -> bool:
        """Whether a device may use the faster formula, which computes the stress from its gradient."""
        return on_accelerator(self.T) and self.W is None and self.masses is None and not self.missing

    def rows(self) -> Rows:
        """The numbers of the points, divided into tasks."""
        numbers = np.arange(self.n, dtype=np.float64)[:, None]
        if self.on_host:
            return ArrayRows(numbers, most_rows=max(1, PAIRS // self.n))
        most = slab_rows(self.n, 8, accelerator=on_accelerator(self.T))
        most = min(most, max(256, self.n // 5))  # five tasks: a third of the square is skipped
        return ArrayRows(
            xp_of(self.T).asarray(numbers), most_rows=most
        )  # in its library, so that no threads of the run are used


def condensed_bases(n: int) -> np.ndarray:
    """Where the pairs of each point stand in the upper triangle: that of (i, j) at bases[i] + j, (n,)."""
    i = np.arange(n, dtype=np.int64)
    return i * n - i * (i + 1) // 2 - i - 1


def upper_triangle(D: np.ndarray) -> np.ndarray:
    """Return the entries above the diagonal, row by row, (n(n - 1)/2,)."""
    n = D.shape[0]
    flat = np.empty(n * (n - 1) // 2, dtype=D.dtype)
    bases = condensed_bases(n)
    for i in range(n - 1):
        flat[bases[i] + i + 1 : bases[i] + n] = D[i, i + 1 :]
    return flat


def _flat_ready(A: Array) -> Array:
    """Return a symmetric matrix in row order, where its transpose serves as well."""
    if not isinstance(A, np.ndarray) or A.flags.c_contiguous:
        return A
    return A.T if A.flags.f_contiguous else np.ascontiguousarray(A)


# --- sums over the pairs of a point -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class WeightSums:
    """The weights of each point's pairs, summed, and the squared targets of all pairs."""

    weights: Array  # (n,)
    squares: float  # sum over i < j of w t²

    @property
    def divisors(self) -> Array:
        """What half the gradient is divided by to make a majorizing step, (n, 1).

        Without weights this is n, and the step is the Guttman transform. With them the inverse of the Laplacian V is
        replaced by that of its diagonal, which needs no second matrix. Half of that step lowers the stress in any case,
        since V never exceeds twice its diagonal.
        """
        xp = xp_of(self.weights)
        return (self.weights + xp.sum(self.weights) / (self.weights.shape[0] * (self.weights.shape[0] - 1)))[:, None]

    @property
    def mean_target(self) -> float:
        """The root of the weighted mean of the squared targets."""
        return math.sqrt(2 * self.squares / max(1e-300, float(xp_of(self.weights).sum(self.weights))))


def weight_sums(targets: Targets, run: Run) -> WeightSums:
    """Sum weights and squared targets over the pairs of every point."""
    sums = run.gather(_WeightSumsOf(targets), targets.rows(), 2, name="summing weights", dtype=np.dtype(np.float64))
    xp = xp_of(sums)
    return WeightSums(sums[:, 0], float(xp.sum(sums[:, 1])) / 2)


@dataclass(frozen=True)
class _WeightSumsOf:
    targets: Targets

    def __call__(self, numbers: np.ndarray) -> Array:
        start, stop = int(numbers[0, 0]), int(numbers[-1, 0]) + 1
        T = self.targets.T[start:stop, :]
        xp = xp_of(T)
        W = None if self.targets.W is None else like(self.targets.W[start:stop, :], T)
        if self.targets.missing:
            known = xp.astype(~xp.isnan(T), T.dtype)
            W = known if W is None else W * known
            T = xp.where(xp.isnan(T), xp.zeros_like(T), T)
        if W is None:
            counts = xp.full((T.shape[0],), float(self.targets.n - 1), dtype=xp.float64, device=device_of(T))
            return xp.stack([counts, row_sums(T * T)], axis=1)
        own = xp.linalg.diagonal(W, offset=start)  # the diagonal is ignored
        return xp.stack([row_sums(W) - as_double(own), row_sums(W * T * T)], axis=1)


def row_sums(A: Array) -> Array:
    """Return the sum of each row, (n,) float64."""
    return xp_of(A).sum(A, axis=1, dtype=xp_of(A).float64)


# --- checks -----------------------------------------------------------------------------------------------------------


def check_pair_weights(weights: Any, beside: Array) -> Array:
    """Return weights of pairs, (n, n), checked: symmetric, finite and not negative."""
    n, W = beside.shape[0], weights
    if W.shape != (n, n):
        raise DataError(
            f"weights has shape {tuple(W.shape)}. It must be {n} x {n}, with one weight for each pair of points."
        )
    host = to_numpy(W)
    if not np.isfinite(host).all() or host.min() < 0:
        raise DataError("weights contains negative or non-finite values. Set the weight of a pair to 0 to ignore it.")
    if not np.allclose(host, host.T):
        raise DataError("weights is not symmetric, but a pair has one weight. Pass (W + W.T) / 2.")
    return like(W, beside)


def without_weightless(D: Array, W: Array) -> Array:
    """Return the dissimilarities with NaN for pairs of weight zero: the initialization ignores them too."""
    xp = xp_of(W)
    weightless = (W == 0) & ~like(np.eye(W.shape[0], dtype=bool), W, xp.bool)  # the diagonal is ignored
    return xp.where(weightless, xp.full_like(D, float("nan")), D) if bool(xp.any(weightless)) else D


def check_connected(D: Array) -> None:
    """Raise an error where the graph of known distances is disconnected."""
    n = D.shape[0]
    reached, waiting = np.zeros(n, dtype=bool), [0]
    reached[0] = True
    while waiting:
        i = waiting.pop()
        fresh = np.flatnonzero(~np.isnan(to_numpy(D[i, :])) & ~reached)
        reached[fresh] = True
        waiting.extend(fresh.tolist())
    if not reached.all():
        lost = int(np.argmin(reached))
        raise DataError(
            f"The graph of known distances is disconnected: {n - int(reached.sum())} of {n} points, such as point "
            f"{lost}, are not connected to point 0. Pass more distances or positive weights, or scale each connected "
            "component."
        )

"""Sammon mapping: coordinates that minimize the stress weighted by one over the distance. Duplicates are merged."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from lowland.arrays.namespace import Array, as_double, like, take, to_numpy, xp_of
from lowland.data.rows import slab_rows
from lowland.math.optimize.lbfgs import Evaluation, Minimum, safeguarded_lbfgs
from lowland.math.optimize.outcome import Outcome, Watch
from lowland.math.scaling.stress import Targets, rotate_to_axes, starting_configurations, stress_gradient
from lowland.run.run import Run

# --- duplicates -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class MergedPoints:
    """Distances of points of which no two are at distance zero."""

    D: Array  # (m, m)
    masses: Array  # (m,) float64: number of points merged to each
    first: np.ndarray  # (m,) the first of each
    inverse: np.ndarray  # (n,) the merged point of each point
    total: float  # sum of the distances over pairs of points
    fixed: float  # constant part of the Sammon stress: of merged points whose distances differ

    def representatives(self, Z: Array) -> Array:
        """The coordinates of merged points, (m, k); their mean where these differ."""
        if len(self.first) == len(self.inverse):
            return Z
        if not self.fixed:
            return take(Z, self.first)
        sums = np.zeros((len(self.first), Z.shape[1]))
        np.add.at(sums, self.inverse, to_numpy(Z))
        return like(sums / to_numpy(self.masses)[:, None], Z)

    def expanded(self, Z: Array) -> Array:
        """One row for every original point, (n, k)."""
        return Z if len(self.first) == len(self.inverse) else take(Z, self.inverse)


def merge_duplicates(D: Array) -> MergedPoints:
    """Merge points at distance zero, or connected by zero distances; D itself is returned where there are none.

    In a metric, merged points have the same distances to all others. Where those of a given matrix differ, all of them
    are included: over points with targets t to a point at distance d, sum (t - d)²/t = m(h - d)²/h + sum t - m h
    with their number m and harmonic mean h. So h is the distance of the merged point, and sum t - m h is fixed.
    """
    xp = xp_of(D)
    n, step = D.shape[0], slab_rows(D.shape[0], 8)
    first, inverse, counts = np.unique(_owners(D), return_inverse=True, return_counts=True)
    masses = like(counts.astype(np.float64), D, xp.float64)
    if len(first) == n:
        return MergedPoints(D, masses, first, inverse, _sum_of_pairs(D, masses), 0.0)
    others = np.setdiff1d(np.arange(n), first)
    parts = (others[start : start + step] for start in range(0, len(others), step))
    if all(bool(xp.all(take(D, part) == take(D, first[inverse[part]]))) for part in parts):
        merged = take(take(D, first), first, axis=1)
        return MergedPoints(merged, masses, first, inverse, _sum_of_pairs(merged, masses), 0.0)
    merged, total = _by_harmonic_means(to_numpy(D), inverse, counts)
    merged = like(merged, D)
    return MergedPoints(merged, masses, first, inverse, total, total - _sum_of_pairs(merged, masses))


def _owners(D: Array) -> np.ndarray:
    """The first point that each is connected to by zero distances, (n,)."""
    n, step = D.shape[0], slab_rows(D.shape[0], 8)

    def by_slabs(of: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
        return np.concatenate([of(to_numpy(D[a : min(a + step, n), :] == 0)) for a in range(0, n, step)])

    owner = by_slabs(lambda zero: np.argmax(zero, axis=1))  # the first at distance zero, often itself
    while not np.array_equal(owner, np.arange(n)):
        lowest = by_slabs(lambda zero, owner=owner: np.where(zero, owner[None, :], n).min(axis=1))  # type: ignore[misc]
        if np.array_equal(lowest, owner):
            break
        owner = lowest
    return owner


def _by_harmonic_means(D: np.ndarray, inverse: np.ndarray, counts: np.ndarray) -> tuple[np.ndarray, float]:
    """The harmonic mean of the distances between the members of two merged points, (m, m), and the sum of all."""
    order, borders = np.argsort(inverse, kind="stable"), np.concatenate([[0], np.cumsum(counts)[:-1]])
    A = D.astype(np.float64)
    total = float(np.triu(A, 1).sum())
    apart = inverse[:, None] != inverse[None, :]
    reciprocals = np.divide(1.0, A, where=apart, out=np.zeros_like(A))[np.ix_(order, order)]
    sums = np.add.reduceat(np.add.reduceat(reciprocals, borders, axis=0), borders, axis=1)
    pairs = counts[:, None] * counts[None, :].astype(np.float64)
    return np.divide(pairs, sums, where=sums > 0, out=np.zeros_like(sums)), total


def _sum_of_pairs(D: Array, masses: Array) -> float:
    """The sum of m_i m_j d_ij over pairs."""
    xp = xp_of(D)
    n, step, total = D.shape[0], slab_rows(D.shape[0], 8), 0.0
    for start in range(0, n, step):
        stop = min(start + step, n)
        total += float(xp.sum(masses[start:stop] * (as_double(D[start:stop, :]) @ masses))) / 2
    return total


# --- Sammon -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class SammonConfiguration:
    """The result of a Sammon mapping."""

    Z: Array  # (n, k) float64, centered, along its principal axes
    n_merged: int  # duplicate points, at distance zero of an earlier one
    outcome: Outcome  # the trace holds the initial Sammon stress and that after each iteration

    @property
    def stress(self) -> float:
        """Sammon's stress, a fraction of the sum of the distances."""
        return self.outcome.trace[-1]


def sammon_coordinates(
    D: Array,
    k: int = 2,
    *,
    init: Any = "classical_mds",
    tol: float = 1e-6,
    max_iter: int = 1000,
    rng: np.random.Generator | None = None,
    run: Run | None = None,
    watch: Watch | None = None,
) -> SammonConfiguration:
    """Return points in k dimensions that minimize sum_{i<j} (δ_ij - |z_i - z_j|)²/δ_ij over sum_{i<j} δ_ij.

    Parameters
    ----------
    D : (n, n) symmetric distances δ. Points at distance zero share their coordinates.
    k : the number of dimensions.
    init : "classical_mds", "random", or an initial configuration, (n, k).
    tol : stop when a Newton step is shorter than this fraction of the extent of the embedding, twice in succession.
    max_iter : maximum number of iterations.
    rng, run : random numbers and engine. None means a fixed seed, this machine.
    watch : receives the iteration, the configuration and the stress, and returning False stops the computation.

    Examples
    --------
    >>> import numpy as np
    >>> from lowland.math.scaling.sammon import sammon_coordinates
    >>> D = np.array([[0.0, 1.0, 3.0], [1.0, 0.0, 2.0], [3.0, 2.0, 0.0]])
    >>> np.abs(sammon_coordinates(D, 1).Z[:, 0]).round(4).tolist()
    [1.3333, 0.3333, 1.6667]
    """
    run = run or Run()
    rng = np.random.default_rng(0) if rng is None else rng
    xp = xp_of(D)
    merged = merge_duplicates(D)
    stress = SammonStress(Targets.of(merged.D, masses=merged.masses), merged.total, run)
    size = 0.0
    if not isinstance(init, str) or init == "random":
        size = math.sqrt(float(xp.mean(xp.astype(D, xp.float64) ** 2)))
    (start,) = starting_configurations(D, k, run, init=init, n_init=1, size=size, rng=rng)
    Z = merged.representatives(start)

    def shown(iteration: int, Z: Array, value: float) -> Any:
        """Report a configuration as the result is returned."""
        assert watch is not None
        relative = (2 * value + merged.fixed) / (merged.total or 1.0)
        return watch(iteration, rotate_to_axes(merged.expanded(Z)), relative)

    def is_short(before: Evaluation, at: Evaluation) -> bool:
        """Whether the next Newton step is short relative to the extent of the configuration."""
        step = float(xp.max(xp.abs(at.preconditioner * at.gradient)))
        return step <= tol * float(xp.max(xp.abs(at.Z - xp.mean(at.Z, axis=0)[None, :])))

    seen = None if watch is None else shown
    if len(merged.first) == 1:  # all points coincide
        found = Minimum(Evaluation(Z * 0, 0.0, Z, Z, 0.0), Outcome.of_trace("none", [0.0], "all points coincide"))
    else:
        with run.rounds():
            found = safeguarded_lbfgs(Z, stress, is_short, max_iter=max_iter, run=run, watch=seen)
    trace = tuple((2 * value + merged.fixed) / (merged.total or 1.0) for value in found.outcome.trace)
    Z = rotate_to_axes(merged.expanded(found.at.Z))
    return SammonConfiguration(Z, D.shape[0] - len(merged.first), replace(found.outcome, trace=trace))


@dataclass(frozen=True)
class SammonStress:
    """Half of Sammon's stress, without its divisor: sum (t - d)²/t over pairs."""

    targets: Targets
    total: float  # sum of the targets over pairs
    run: Run

    def __call__(self, Z: Array) -> Evaluation:
        """The stress at Z, its gradient, and Newton's scale: one over the second derivative by each coordinate."""
        found = stress_gradient(self.targets, Z, self.run)
        H = found.H
        assert H is not None
        xp = xp_of(H)
        curvatures = xp.abs(H)  # as Sammon did, so that a step also descends where the curvature is negative
        least = 1e-3 * xp.mean(curvatures)
        curvatures = xp.where(curvatures > least, curvatures, xp.broadcast_to(least, curvatures.shape))
        stress = float(found.stress)
        return Evaluation(Z, stress / 2, found.F, 1 / curvatures, self.total / 2)

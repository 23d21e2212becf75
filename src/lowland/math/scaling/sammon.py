"""Sammon mapping: coordinates that minimize the stress weighted by one over the distance."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from lowland.arrays.namespace import Array, xp_of
from lowland.data.rows import ArrayRows
from lowland.math.optimize.lbfgs import Evaluation, Minimum, safeguarded_lbfgs
from lowland.math.optimize.outcome import Outcome, Watch
from lowland.math.scaling.duplicate_points import merge_duplicates
from lowland.math.scaling.starts import in_principal_axes, starting_configurations
from lowland.math.scaling.stress import stress_gradient
from lowland.math.scaling.targets import Targets
from lowland.run.run import Run, run_for


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
    D : (n, n) symmetric distances δ; points at distance zero share their coordinates.
    k : the number of dimensions.
    init : "classical_mds", "random", or an initial configuration, (n, k).
    tol : stop when a Newton step is shorter than this fraction of the extent of the embedding, twice in succession.
    max_iter : maximum number of iterations.
    rng, run : random numbers and engine; None: a fixed seed, this machine.
    watch : receives the iteration, the configuration and the stress; returning False stops.

    Examples
    --------
    >>> import numpy as np
    >>> from lowland.math.scaling.sammon import sammon_coordinates
    >>> D = np.array([[0.0, 1.0, 3.0], [1.0, 0.0, 2.0], [3.0, 2.0, 0.0]])
    >>> np.abs(sammon_coordinates(D, 1).Z[:, 0]).round(4).tolist()
    [1.3333, 0.3333, 1.6667]
    """
    run = run or run_for(ArrayRows(D))
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
        return watch(iteration, in_principal_axes(merged.expanded(Z)), relative)

    seen = None if watch is None else shown
    if len(merged.first) == 1:  # all points coincide
        found = Minimum(Evaluation(Z * 0, 0.0, Z, Z, 0.0), Outcome.of_trace("none", [0.0], "all points coincide"))
    else:
        found = safeguarded_lbfgs(Z, stress, _ShortStep(tol), max_iter=max_iter, run=run, watch=seen)
    trace = tuple((2 * value + merged.fixed) / (merged.total or 1.0) for value in found.outcome.trace)
    Z = in_principal_axes(merged.expanded(found.at.Z))
    return SammonConfiguration(Z, D.shape[0] - len(merged.first), replace(found.outcome, trace=trace))


@dataclass(frozen=True)
class _ShortStep:
    """Whether a Newton step is short relative to the extent of the configuration."""

    tol: float

    def __call__(self, before: Evaluation, after: Evaluation) -> bool:
        step, extent = self.lengths(after)
        return step <= self.tol * extent

    @staticmethod
    def lengths(at: Evaluation) -> tuple[float, float]:
        """The length of the next Newton step, and the extent of the configuration."""
        xp = xp_of(at.Z)
        step = float(xp.max(xp.abs(at.preconditioner * at.gradient)))
        return step, float(xp.max(xp.abs(at.Z - xp.mean(at.Z, axis=0)[None, :])))


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

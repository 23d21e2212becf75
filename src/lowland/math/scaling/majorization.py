"""Metric multidimensional scaling by stress majorization (SMACOF)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal, Self

import numpy as np

from lowland.arrays.namespace import Array, like, xp_of
from lowland.math.optimize.gradient_descent import StepSize, descend
from lowland.math.optimize.lbfgs import Evaluation, Minimum, safeguarded_lbfgs
from lowland.math.optimize.outcome import Outcome, Watch
from lowland.math.scaling.isotonic import IsotonicCurve
from lowland.math.scaling.stress import (
    Targets,
    WeightSums,
    check_connected,
    check_pair_weights,
    drop_weightless,
    rotate_to_axes,
    starting_configurations,
    stress_gradient,
    weight_sums,
)
from lowland.run.run import Run, all_finite

StressSolver = Literal["majorization", "gradient"]


@dataclass(frozen=True)
class Configuration:
    """Points whose distances d approximate targets t."""

    Z: Array  # (n, k) float64, centered, along its principal axes
    stress: float  # sum over i < j of w (t - d)²
    extent: float  # sum over i < j of w d²
    squares: float  # sum over i < j of w t²
    outcome: Outcome  # the trace holds the initial stress and that after each iteration
    init_stresses: tuple[float, ...]  # final stress of each initialization
    curve: IsotonicCurve | None = None  # nonmetric: disparities as a function of the dissimilarities

    @property
    def stress1(self) -> float:
        """Kruskal's stress-1 of the configuration at its optimal scale."""
        return math.sqrt(self.stress / self.squares) if self.squares > 0 else 0.0

    @property
    def normalized_stress(self) -> float | None:
        """The root of the stress as a fraction of the squared distances; None where all points coincide."""
        return math.sqrt(self.stress / self.extent) if self.extent > 0 else None


def stress_majorization(
    D: Array,
    k: int = 2,
    *,
    weights: Array | None = None,
    init: Any = "classical_mds",
    n_init: int = 1,
    eps: float = 1e-6,
    max_iter: int = 300,
    solver: StressSolver = "majorization",
    accelerate: bool = True,
    turned: bool = True,
    rng: np.random.Generator | None = None,
    run: Run | None = None,
    watch: Watch | None = None,
) -> Configuration:
    """Return points in k dimensions that minimize the stress sum_{i<j} w_ij (δ_ij - |z_i - z_j|)².

    Parameters
    ----------
    D : (n, n) symmetric dissimilarities δ, with NaN for missing ones.
    k : the number of dimensions.
    weights : (n, n) symmetric weights w of the pairs. None means ones.
    init : "classical_mds", "random", or an initial configuration, (n, k).
    n_init : number of initializations: the first is ``init`` and the others are random. The best result is returned.
    eps : stop when an iteration lowers the stress by less than this fraction of the squared distances.
    max_iter : maximum number of iterations per initialization.
    solver : "majorization" (SMACOF), or "gradient": accelerated gradient descent.
    accelerate : majorization accelerated by L-BFGS. False means plain SMACOF.
    turned : rotate the result to its principal axes. False keeps the orientation of its initial configuration.
    rng, run : random numbers and engine. None means a fixed seed, this machine.
    watch : receives the iteration, the configuration and half the stress, and returning False stops the computation.

    Examples
    --------
    >>> import numpy as np
    >>> from lowland.math.scaling.majorization import stress_majorization
    >>> D = np.array([[0.0, 3.0, 5.0], [3.0, 0.0, 4.0], [5.0, 4.0, 0.0]])
    >>> found = stress_majorization(D, 2)
    >>> round(float(np.linalg.norm(found.Z[0] - found.Z[2])), 6), round(found.stress, 12)
    (5.0, 0.0)
    """
    problem = ScalingProblem.of(D, weights, run)
    stress = MetricStress(problem.targets, problem.sums, problem.run)
    minima = problem.minima(
        stress,
        problem.starts(k, init=init, n_init=n_init, rng=rng),
        eps=eps,
        max_iter=max_iter,
        solver=solver,
        accelerate=accelerate,
        watch=None if watch is None else problem.watched(watch, turned),
    )
    best = min(minima, key=lambda minimum: minimum.at.value)
    at = stress(best.at.Z, exact=True) if problem.targets.by_ratios else best.at
    return Configuration(
        problem.turned(at.Z, to_axes=turned),
        2 * at.value,
        2 * at.scale,
        problem.sums.squares,
        stress_outcome(best),
        tuple(2 * minimum.at.value for minimum in minima),
    )


@dataclass(frozen=True)
class ScalingProblem:
    """Checked dissimilarities and weights of all pairs."""

    D: Array  # (n, n), NaN where missing or of weight zero
    W: Array | None
    targets: Targets
    sums: WeightSums
    run: Run

    @classmethod
    def of(cls, D: Array, weights: Array | None, run: Run | None) -> Self:
        """Check the weights, and that enough distances are known."""
        run = run or Run()
        W = None if weights is None else check_pair_weights(weights, D)
        D = D if W is None else drop_weightless(D, W)
        missing = not all_finite(D)
        if W is not None or missing:
            check_connected(D)
        targets = Targets.of(D, W, missing=missing)
        return cls(D, W, targets, weight_sums(targets, run), run)

    def starts(self, k: int, *, init: Any, n_init: int, rng: np.random.Generator | None) -> Iterator[Array]:
        """Yield the initial configurations."""
        rng = np.random.default_rng(0) if rng is None else rng
        size, missing = self.sums.mean_target, self.targets.missing
        return starting_configurations(
            self.D, k, self.run, init=init, n_init=n_init, size=size, rng=rng, missing=missing
        )

    def minima(self, stress: Callable[[Array], Evaluation], starts: Iterator[Array], **options: Any) -> list[Minimum]:
        """Minimize from each initial configuration."""
        if self.sums.squares > 0:
            with self.run.rounds():
                return [minimize_stress(Z, stress, self.run, **options) for Z in starts]
        outcome = Outcome.of_trace("none", [0.0], "all points coincide")
        return [Minimum(Evaluation(Z * 0, 0.0, Z * 0, Z * 0 + 1, 0.0), outcome) for Z in starts]

    def watched(self, watch: Watch, to_axes: bool) -> Watch:
        """Return a watcher that sees configurations as the result is returned."""
        return lambda iteration, Z, value: watch(iteration, self.turned(Z, to_axes=to_axes), value)

    def turned(self, Z: Array, *, to_axes: bool) -> Array:
        """Center a configuration and rotate it to its principal axes, on the device of the dissimilarities."""
        Z = like(Z, self.D, xp_of(self.D).float64)
        return rotate_to_axes(Z) if to_axes else Z - xp_of(Z).mean(Z, axis=0)[None, :]


def stress_outcome(minimum: Minimum) -> Outcome:
    """Return the outcome of a minimization with the stress, twice the objective, in its trace."""
    return replace(minimum.outcome, trace=tuple(2 * value for value in minimum.outcome.trace))


@dataclass(frozen=True)
class MetricStress:
    """Half the raw stress as an objective."""

    targets: Targets
    sums: WeightSums
    run: Run

    def __call__(self, Z: Array, *, exact: bool = False) -> Evaluation:
        """The stress at Z, its gradient, and the scale of the majorizing step.

        ``exact``: the stress is summed from the residuals, also where a device has a faster formula.
        """
        found = stress_gradient(self.targets, Z, self.run, exact=exact)
        xp = xp_of(Z)
        # sum w(t - d)² = sum w t² - 2 sum w t d + sum w d², F'Z = sum w d² - sum w t d: two of three give the third
        known = self.sums.squares + 2 * float(xp.sum(found.F * Z))
        if exact or not self.targets.by_ratios:
            stress = float(found.stress)
            extent = known - stress
        else:
            extent = self.targets.n * float(xp.sum((Z - xp.mean(Z, axis=0)[None, :]) ** 2))
            stress = max(0.0, known - extent)
        return Evaluation(Z, stress / 2, found.F, 1 / self.sums.divisors, extent / 2)


def minimize_stress(
    Z: Array,
    stress: Callable[[Array], Evaluation],
    run: Run,
    *,
    eps: float,
    max_iter: int,
    solver: StressSolver = "majorization",
    accelerate: bool = True,
    watch: Watch | None = None,
) -> Minimum:
    """Minimize a stress from Z by majorization, or by accelerated gradient descent.

    Both stop when an iteration lowers the stress by less than ``eps`` times sum w d².
    """
    if solver == "majorization":
        return safeguarded_lbfgs(
            Z,
            stress,
            lambda before, after: before.value - after.value < eps * after.scale,
            max_iter=max_iter,
            run=run,
            accelerate=accelerate,
            watch=watch,
        )
    loss = _RelativeStress(stress, Z)
    first = loss.at(Z)
    step = float(xp_of(Z).min(first.preconditioner)) * first.scale if first.scale > 0 else 1.0
    seen = None if watch is None else lambda iteration, Z, value: watch(iteration, Z, value * loss.unit)
    descent = descend(Z, loss, StepSize(step, math.sqrt(eps / step), 1.0, max_iter), run, seen)
    trace = tuple(value * loss.unit for value in descent.outcome.trace)
    return Minimum(loss.at(descent.theta), replace(descent.outcome, trace=trace))


class _RelativeStress:
    """A stress relative to its initial extent, for ``descend``; each configuration is evaluated once."""

    def __init__(self, stress: Callable[[Array], Evaluation], Z: Array) -> None:
        self.stress, self.last = stress, stress(Z)
        self.unit = self.last.scale or 1.0

    def at(self, Z: Array) -> Evaluation:
        if Z is not self.last.Z:
            self.last = self.stress(Z)
        return self.last

    def __call__(self, theta: Array) -> float:
        return self.at(theta).value / self.unit

    def least_curvature(self, theta: Array) -> float:
        """One: gradients are compared with the whole stress."""
        return 1.0

    def gradient(self, theta: Array) -> Array:
        return self.at(theta).gradient / self.unit

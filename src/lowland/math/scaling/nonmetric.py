"""Non-metric stress: only the order of the dissimilarities matters. On the CPU, since monotone regression is a loop."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from lowland.arrays.namespace import Array, to_numpy
from lowland.math.optimize.lbfgs import Evaluation
from lowland.math.optimize.outcome import Watch
from lowland.math.scaling.isotonic import IsotonicCurve, Ranking, Ties, curve_through, monotone_regression, rank
from lowland.math.scaling.majorization import Configuration, ScalingProblem, StressSolver, stress_outcome
from lowland.math.scaling.stress import Targets, stress_gradient, upper_triangle
from lowland.run.run import Run


def nonmetric_scaling(
    D: Array,
    k: int = 2,
    *,
    ties: Ties = "primary",
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
    """Return points in k dimensions whose distances have the order of the dissimilarities, as closely as possible.

    The stress is that of ``stress_majorization`` with disparities in place of the dissimilarities: the monotone
    transformation of the δ closest to the distances. ``ties``: equal δ may get different disparities ("primary"), or
    may not ("secondary"). The scale is arbitrary: here the disparities have a mean square of one. The other parameters
    are those of ``stress_majorization``.

    Examples
    --------
    >>> import numpy as np
    >>> from lowland.math.scaling.nonmetric import nonmetric_scaling
    >>> D = np.array([[0.0, 1.0, 9.0], [1.0, 0.0, 4.0], [9.0, 4.0, 0.0]])  # squares of distances along a line
    >>> found = nonmetric_scaling(D, 1)
    >>> round(found.stress1, 6)
    0.0
    """
    problem = ScalingProblem.of(D, weights, run)
    stress = NonmetricStress.of(problem.D, problem.W, ties, to_numpy(problem.sums.divisors), problem.run)
    starts = (to_numpy(Z) for Z in problem.starts(k, init=init, n_init=n_init, rng=rng))
    watched = None if watch is None else problem.watched(watch, turned)
    minima = problem.minima(
        stress, starts, eps=eps, max_iter=max_iter, solver=solver, accelerate=accelerate, watch=watched
    )
    best = min(minima, key=lambda minimum: minimum.at.value)
    Z, relative, squares, curve = best.at.Z, 2 * best.at.value, problem.sums.squares, None
    raw, extent = relative, 2 * best.at.scale
    if squares > 0:  # relative is S/E, the squared sine between distances and disparities
        Z, disparities = stress.scaled(Z)
        curve = stress.curve(problem.D, disparities)
        squares = stress.pairs
        raw, extent = squares * relative, squares * (1 - relative)
    init_stresses = tuple(2 * minimum.at.value for minimum in minima)
    return Configuration(
        problem.turned(Z, to_axes=turned), raw, extent, squares, stress_outcome(best), init_stresses, curve
    )


@dataclass(frozen=True)
class NonmetricStress:
    """Half of Kruskal's stress-1 squared: min over disparities t in the order of the dissimilarities of
    sum w(t - d)² / sum w d², d the distances at Z. It does not depend on the scale of the d.
    """

    ranking: Ranking
    ties: Ties
    n: int
    zeros: Targets | None  # targets of zero with the weights; None: every pair counts once
    divisors: np.ndarray  # (n, 1) what half the gradient is divided by to make a majorizing step
    run: Run

    @classmethod
    def of(cls, D: Array, W: Array | None, ties: Ties, divisors: np.ndarray, run: Run) -> Self:
        """Rank the dissimilarities of a matrix; NaN: missing."""
        delta = upper_triangle(to_numpy(D))
        n = D.shape[0]
        weights = None if W is None else upper_triangle(to_numpy(W)).astype(np.float64)
        zeros = None
        if weights is not None or np.isnan(delta).any():
            zeros = Targets(np.where(np.isnan(delta), np.nan, 0.0), weights, n=n, missing=True)
        return cls(rank(delta), ties, n, zeros, divisors, run)

    def disparities(self, Z: np.ndarray) -> np.ndarray:
        """The monotone regression of the distances at Z, (n(n - 1)/2,); NaN where missing."""
        from scipy.spatial.distance import pdist

        return monotone_regression(pdist(Z), self.ranking, self.ties, None if self.zeros is None else self.zeros.W)

    def __call__(self, Z: np.ndarray) -> Evaluation:
        """The stress at Z, its gradient, and the scale of the majorizing step.

        With S = sum w(t - d)², E = sum w d² and t fixed, which is allowed in a gradient at its minimum (Kruskal
        1964), the gradient of S/E is (S' - S/E E')/E. A majorizing step toward t/(1 - S/E) lowers S/E, and is
        -E/(1 - S/E) times that gradient over n.
        """
        t = self.disparities(Z)
        w = None if self.zeros is None else self.zeros.W
        found = stress_gradient(Targets(t, w, n=self.n, missing=self.zeros is not None), Z, self.run)
        squares = float(np.nansum(t * t if w is None else w * t * t))
        E = squares + 2 * float(np.sum(found.F * Z)) - float(found.stress)
        f = float(found.stress) / E
        spreading = self.n * (Z - Z.mean(axis=0)) if self.zeros is None else stress_gradient(self.zeros, Z, self.run).F
        return Evaluation(Z, f / 2, (found.F - f * spreading) / E, E / (1 - f) / self.divisors, (1 - f) / 2)

    @property
    def pairs(self) -> float:
        """Number of known pairs, or the sum of their weights."""
        if self.zeros is None:
            return self.n * (self.n - 1) / 2
        known = ~np.isnan(self.zeros.T)
        return float(np.sum(known if self.zeros.W is None else self.zeros.W[known]))

    def scaled(self, Z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Z and its disparities in the scale where sum w t² is the number of pairs, and Z fits them best."""
        t = self.disparities(Z)
        w = None if self.zeros is None or self.zeros.W is None else self.zeros.W
        squares = float(np.nansum(t * t if w is None else w * t * t))
        factor = np.sqrt(self.pairs / squares) if squares > 0 else 1.0
        return Z * (factor * (1 - 2 * self(Z).value)), t * factor

    def curve(self, D: Array, disparities: np.ndarray) -> IsotonicCurve:
        """Disparities as a function of the dissimilarities."""
        return curve_through(upper_triangle(to_numpy(D)), disparities, self.ranking)

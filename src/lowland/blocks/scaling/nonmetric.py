"""Non-metric stress: only the order of the dissimilarities counts. On the host, since monotone regression is a loop."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from lowland.arrays.namespace import Array, to_numpy
from lowland.blocks.optimize.lbfgs import Spot
from lowland.blocks.scaling.isotonic import IsotonicCurve, Ranking, Ties, curve_through, monotone_regression, rank
from lowland.blocks.scaling.stress import Targets, condensed_bases, stress_pulls
from lowland.run.run import Run


@dataclass(frozen=True)
class NonMetricStress:
    """Half of Kruskal's stress-1 squared: min over disparities t in the order of the dissimilarities of
    sum w(t - d)² / sum w d², d the distances at Z. Being a share of the d, it has no scale.
    """

    ranking: Ranking
    ties: Ties
    n: int
    flat: Targets | None  # zeros with the weights, None: every pair counts once
    steps: np.ndarray  # (n, 1) what a pull is divided by to make a step
    run: Run

    @classmethod
    def of(cls, D: Array, W: Array | None, ties: Ties, steps: np.ndarray, run: Run) -> Self:
        """Rank the dissimilarities of a matrix, NaN being not known."""
        delta = upper_triangle(to_numpy(D))
        n = D.shape[0]
        weights = None if W is None else upper_triangle(to_numpy(W)).astype(np.float64)
        flat = None
        if weights is not None or np.isnan(delta).any():
            flat = Targets(np.where(np.isnan(delta), np.nan, 0.0), weights, n=n, missing=True)
        return cls(rank(delta), ties, n, flat, steps, run)

    def disparities(self, Z: np.ndarray) -> np.ndarray:
        """The monotone regression of the distances at Z, (n(n - 1)/2,); NaN where nothing is known."""
        from lowland.kernels.stress import distances_of_pairs

        d = np.empty(self.n * (self.n - 1) // 2)
        distances_of_pairs(condensed_bases(self.n), 0, np.ascontiguousarray(Z.T), d)
        return monotone_regression(d, self.ranking, self.ties, None if self.flat is None else self.flat.W)

    def __call__(self, Z: np.ndarray) -> Spot:
        """The stress at Z, its slope, and the scale of the majorizing step.

        With S = sum w(t - d)², E = sum w d² and t held fixed, as it may be for a slope at its minimum (Kruskal 1964),
        the slope of S/E is (S' - S/E E')/E. A majorizing step towards t/(1 - S/E) lowers S/E, and is -E/(1 - S/E)
        times that slope over n.
        """
        t = self.disparities(Z)
        w = None if self.flat is None else self.flat.W
        pulls = stress_pulls(Targets(t, w, n=self.n, missing=self.flat is not None), Z, self.run)
        squares = float(np.nansum(t * t if w is None else w * t * t))
        E = squares + 2 * float(np.sum(pulls.F * Z)) - float(pulls.stress)
        f = float(pulls.stress) / E
        spreading = self.n * (Z - Z.mean(axis=0)) if self.flat is None else stress_pulls(self.flat, Z, self.run).F
        return Spot(Z, f / 2, (pulls.F - f * spreading) / E, E / (1 - f) / self.steps, (1 - f) / 2)

    @property
    def pairs(self) -> float:
        """How many pairs count, or the sum of their weights."""
        if self.flat is None:
            return self.n * (self.n - 1) / 2
        known = ~np.isnan(self.flat.T)
        return float(np.sum(known if self.flat.W is None else self.flat.W[known]))

    def scaled(self, Z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Z and its disparities in the scale where sum w t² is the number of pairs, and Z fits them best."""
        t = self.disparities(Z)
        w = None if self.flat is None or self.flat.W is None else self.flat.W
        squares = float(np.nansum(t * t if w is None else w * t * t))
        factor = np.sqrt(self.pairs / squares) if squares > 0 else 1.0
        return Z * (factor * (1 - 2 * self(Z).value)), t * factor

    def curve(self, D: Array, disparities: np.ndarray) -> IsotonicCurve:
        """How dissimilarities become disparities."""
        return curve_through(upper_triangle(to_numpy(D)), disparities, self.ranking)


def upper_triangle(D: np.ndarray) -> np.ndarray:
    """Return the entries above the diagonal, row by row, (n(n - 1)/2,)."""
    n = D.shape[0]
    flat = np.empty(n * (n - 1) // 2, dtype=D.dtype)
    bases = condensed_bases(n)
    for i in range(n - 1):
        flat[bases[i] + i + 1 : bases[i] + n] = D[i, i + 1 :]
    return flat

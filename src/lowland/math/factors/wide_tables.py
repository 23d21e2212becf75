"""Factor analysis of many columns: the maximum of the likelihood from the k leading eigenpairs alone.

The deviance at log uniquenesses x, the loadings being the best for them, and its slope need no more of the eigenpairs
(θ, ω) of Ψ^-1/2 R Ψ^-1/2 than the kept ones, since all of them together have Σ ω_i² = 1 and Σ θ ω_i² = 1/ψ_i:

deviance = Σ x + Σ_K (1 + log θ - θ) + Σ 1/ψ,    slope_i = 1 - 1/ψ_i - Σ_K (1 - θ) ω_i².

The curvature by log uniquenesses is near the identity where columns are many: L-BFGS needs few iterations.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from lowland.math.factors.estimate import FLATTEST_OF_MANY, FactorEstimate, estimate_at
from lowland.math.spectra.leading import fix_signs, leading_eigenpairs
from lowland.run.run import Run

MANY = 400  # columns from which this algorithm is faster
_FEW = 0.2  # fraction of the columns above which this many eigenpairs cost as much as all
_FLAT = 1e-7  # gradient of the deviance, per log uniqueness, at which the search has converged
_LEAST_FIRST = 1e-3  # of the initial uniquenesses
_MEMORY = 20  # memory of L-BFGS


@dataclass(frozen=True)
class Root:
    """A correlation matrix R, and where its rank is low a root of it, R = Z'Z, that is cheaper to work with."""

    R: np.ndarray  # (d, d)
    Z: np.ndarray | None = None  # (r, d)

    def suits(self, k: int) -> bool:
        """Whether this algorithm is faster for k factors."""
        d = len(self.R)
        return self.Z is not None or (d >= MANY and k <= _FEW * d)

    def pairs(self, x: np.ndarray, k: int, run: Run) -> tuple[np.ndarray, np.ndarray]:
        """Return the k leading eigenvalues and eigenvectors of Ψ^-1/2 R Ψ^-1/2, as far as they exceed 1."""
        s = np.exp(-x / 2)
        if self.Z is None:
            found = leading_eigenpairs(self.R * np.outer(s, s), k, run=run)
            above = found.values > 1
            return found.values[above], found.vectors[:, above]
        B = self.Z * s  # (r, d)
        found = leading_eigenpairs(B @ B.T, min(k, len(B)), run=run, solver="eigh")
        above = found.values > 1
        return found.values[above], B.T @ (found.vectors[:, above] / np.sqrt(found.values[above]))

    def first(self, k: int, lower: float, run: Run) -> np.ndarray:
        """Return initial uniquenesses: the fractions of the variances that k principal components do not explain.

        From Jöreskog's values, which are smaller, the search takes twice as long, and may end at a Heywood case.
        """
        d = len(self.R)
        if k == d:
            return np.full(d, lower)  # any small Ψ fits exactly, none is small enough where R is singular
        values, vectors = self.pairs(np.zeros(d), k, run)
        return np.clip(1 - vectors**2 @ values, max(lower, _LEAST_FIRST), 1.0)


@dataclass(frozen=True)
class Leading:
    """The deviance at log uniquenesses x, from the leading eigenpairs."""

    x: np.ndarray  # (d,)
    theta: np.ndarray  # (kept,) decreasing, above 1
    omega: np.ndarray  # (d, kept)

    @classmethod
    def at(cls, x: np.ndarray, root: Root, k: int, run: Run) -> Leading:
        """Return the deviance at log uniquenesses x."""
        return cls(x, *root.pairs(x, k, run))

    @property
    def value(self) -> float:
        """The deviance."""
        kept = float(np.sum(1 + np.log(self.theta) - self.theta))
        return float(np.sum(self.x)) + kept + float(np.sum(np.exp(-self.x)))

    @cached_property
    def slope(self) -> np.ndarray:
        """Its derivative by x, (d,)."""
        return 1 - np.exp(-self.x) - self.omega**2 @ (1 - self.theta)

    def steepest(self, bottom: float) -> float:
        """The largest derivative by a uniqueness that is not at a bound."""
        held = ((self.x <= bottom) & (self.slope > 0)) | ((self.x >= 0) & (self.slope < 0))
        return float(np.max(np.abs(self.slope[~held]), initial=0.0))

    @property
    def rounding(self) -> float:
        """The rounding error of the eigenvalues, and so of the gradient."""
        return 16 * float(np.finfo(np.float64).eps) * float(np.max(self.theta, initial=1.0))

    def loadings(self, k: int) -> np.ndarray:
        """The best loadings, Ψ^1/2 Ω_K (Θ_K - I)^1/2, (d, k)."""
        L = np.zeros((len(self.x), k))
        L[:, : len(self.theta)] = np.exp(self.x / 2)[:, None] * self.omega * np.sqrt(self.theta - 1)
        return fix_signs(L)


def by_leading_pairs(
    root: Root, k: int, psi: np.ndarray, lower: float, tol: float, max_iter: int, run: Run
) -> FactorEstimate:
    """Minimize the deviance over log uniquenesses between ``lower`` and 1, by L-BFGS (Byrd and others 1995).

    It stops where an iteration decreases the deviance by less than ``tol``.
    """
    from scipy.optimize import Bounds, minimize

    bottom, trace = math.log(lower), []
    first = np.clip(np.log(psi), bottom, 0.0)

    def deviance(x: np.ndarray) -> tuple[float, np.ndarray]:
        here = Leading.at(x, root, k, run)
        return here.value, here.slope

    with run.stage("fitting factors", max_iter) as stage:

        def record(intermediate_result: object) -> None:
            trace.append(float(intermediate_result.fun))  # type: ignore[attr-defined]
            stage.advance()
            if len(trace) > 1 and trace[-2] - trace[-1] < tol:
                raise StopIteration

        limits = {"maxiter": max_iter, "maxfun": 20 * max_iter, "maxcor": _MEMORY, "ftol": 1e-15, "gtol": _FLAT}
        ended = minimize(
            deviance, first, jac=True, method="L-BFGS-B", bounds=Bounds(bottom, 0.0), callback=record, options=limits
        )
    end = Leading.at(np.clip(ended.x, bottom, 0.0), root, k, run)
    steepest, reason = end.steepest(bottom), ""
    if len(trace) > 1 and trace[-2] - trace[-1] < tol:
        reason = "the log-likelihood increased by less than tol"
    elif steepest <= max(_FLAT, end.rounding):
        reason = "the gradient is zero"
    elif len(trace) < max_iter and steepest <= FLATTEST_OF_MANY + 100 * end.rounding:
        reason = "rounding error prevents further improvement"
    return estimate_at(end, k, trace or [end.value], reason, max_iter, solver="lbfgs")

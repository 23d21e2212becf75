"""Searches for the maximum of the likelihood of a factor model: by L-BFGS, or expectation-maximization.

With the best loadings for given log uniquenesses x, the deviance log|Σ| + tr Σ^-1 R depends on x alone.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from lowland.arrays.namespace import Array, like, to_numpy, xp_of
from lowland.math.optimize.outcome import Outcome, iteration_limit
from lowland.math.spectra.leading import fix_signs, leading_eigenpairs
from lowland.run.run import Run

_FLATTEST = 1e-5  # gradient at which rounding error may prevent further descent


@dataclass(frozen=True)
class FactorEstimate:
    """Loadings and uniquenesses of standardized columns, and how they were found."""

    loadings: np.ndarray  # (d, k), with L'Ψ^-1 L diagonal and decreasing
    uniquenesses: np.ndarray  # (d,)
    outcome: Outcome  # its trace is the deviance after each iteration
    start_deviances: tuple[float, ...] = ()  # final deviance of each initialization

    @property
    def deviance(self) -> float:
        """The final value of log|Σ| + tr Σ^-1 R."""
        return self.outcome.trace[-1]


def _estimate(end: Leading, k: int, trace: Sequence[float], reason: str, max_iter: int, solver: str) -> FactorEstimate:
    """The estimate where a search over log uniquenesses ended; ``reason`` is "" if it did not converge."""
    why = reason
    if not reason:
        limit = len(trace) >= max_iter
        why = iteration_limit(len(trace)) if limit else "no step increased the likelihood, but the gradient is not zero"
    outcome = Outcome(solver, "", len(trace), bool(reason), tuple(trace), why)
    return FactorEstimate(end.loadings(k), np.exp(end.x), outcome)


def _steepest(x: np.ndarray, slope: np.ndarray, bottom: float) -> float:
    """The largest derivative by a log uniqueness that is not at a bound, 0 or ``bottom``."""
    held = ((x <= bottom) & (slope > 0)) | ((x >= 0) & (slope < 0))
    return float(np.max(np.abs(slope[~held]), initial=0.0))


# --- L-BFGS from the leading eigenpairs -------------------------------------------------------------------------------


MANY = 400  # columns from which a root of low rank, and a start from principal components, pay off
_FEW = 0.2  # fraction of the columns above which this many eigenpairs cost as much as all
_FLAT = 1e-8  # gradient of the deviance, per log uniqueness, at which the search has converged
_LEAST_FIRST = 1e-3  # of the initial uniquenesses
_MEMORY = 20  # memory of L-BFGS


@dataclass(frozen=True)
class Root:
    """A correlation matrix R, and where its rank is low a root of it, R = Z'Z, that is cheaper to work with."""

    R: np.ndarray  # (d, d)
    Z: np.ndarray | None = None  # (r, d)
    home: Array | None = None  # an array on the device that computes eigenpairs

    @cached_property
    def _matrix(self) -> Array:
        return self.R if self.home is None else like(self.R, self.home, xp_of(self.home).float64)

    def is_large(self, k: int) -> bool:
        """Whether k factors of so many columns take a while: their search begins near the maximum, and ends by tol."""
        d = len(self.R)
        return self.Z is not None or (d >= MANY and k <= _FEW * d)

    def pairs(self, x: np.ndarray, k: int, run: Run) -> tuple[np.ndarray, np.ndarray]:
        """Return the k leading eigenvalues and eigenvectors of Ψ^-1/2 R Ψ^-1/2, as far as they exceed 1."""
        s = np.exp(-x / 2)
        if self.Z is None:
            scale = like(s, self._matrix)
            found = leading_eigenpairs(self._matrix * (scale[:, None] * scale[None, :]), k, run=run)
            values, vectors = to_numpy(found.values), to_numpy(found.vectors)
            return values[values > 1], vectors[:, values > 1]
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
    """The deviance at log uniquenesses x, the loadings being the best for them (Lawley 1940, Jöreskog 1967).

    With the leading eigenpairs of Ψ^-1/2 R Ψ^-1/2 = ΩΘΩ' these are L = Ψ^1/2 Ω_K (Θ_K - I)^1/2, K those above 1.
    """

    x: np.ndarray  # (d,)
    theta: np.ndarray  # (kept,) decreasing, above 1
    omega: np.ndarray  # (d, kept)

    @property
    def value(self) -> float:
        """The deviance."""
        kept = float(np.sum(1 + np.log(self.theta) - self.theta))
        return float(np.sum(self.x)) + kept + float(np.sum(np.exp(-self.x)))

    @cached_property
    def slope(self) -> np.ndarray:
        """Its derivative by x, (d,)."""
        return 1 - np.exp(-self.x) - self.omega**2 @ (1 - self.theta)

    @property
    def rounding(self) -> float:
        """The rounding error of the eigenvalues, and so of the deviance and its gradient."""
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
        here = Leading(x, *root.pairs(x, k, run))
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
    x = np.clip(ended.x, bottom, 0.0)
    end = Leading(x, *root.pairs(x, k, run))
    steepest, reason = _steepest(end.x, end.slope, bottom), ""
    if len(trace) > 1 and trace[-2] - trace[-1] < tol:
        reason = "the log-likelihood increased by less than tol"
    elif steepest <= max(_FLAT, end.rounding):
        reason = "the gradient is zero"
    elif len(trace) < max_iter and steepest <= _FLATTEST + 4 * math.sqrt(end.rounding):  # that of the deviance, too
        reason = "rounding error prevents further improvement"
    return _estimate(end, k, trace or [end.value], reason, max_iter, "lbfgs")


# --- expectation-maximization -----------------------------------------------------------------------------------------


def by_em(root: Root, k: int, psi: np.ndarray, lower: float, tol: float, max_iter: int, run: Run) -> FactorEstimate:
    """Minimize the deviance by expectation-maximization (Rubin and Thayer 1982), from the correlations alone.

    E: the factors given a row have mean β(x - μ), β = GL'Ψ^-1, and covariance G = (I + L'Ψ^-1 L)^-1.
    M: L = Rβ' (G + βRβ')^-1 and ψ = diag(R - LβR). It stops where the deviance decreases by less than ``tol``.
    """
    R, psi = root.R, np.clip(psi, lower, None)
    x = np.log(psi)
    L = Leading(x, *root.pairs(x, k, run)).loadings(k)
    trace: list[float] = []
    converged = False
    for _ in run.iterate("expectation-maximization", max_iter):
        B = L / psi[:, None]  # Ψ^-1 L
        G = np.linalg.inv(np.eye(k) + L.T @ B)  # (k, k)
        Rb = R @ B @ G  # Rβ', (d, k)
        log_det = float(np.sum(np.log(psi))) - float(np.linalg.slogdet(G)[1])
        trace.append(log_det + float(np.sum(np.diagonal(R) / psi)) - float(np.sum(B * Rb)))
        if len(trace) > 1 and trace[-2] - trace[-1] < tol:
            converged = True
            break
        if len(trace) == max_iter:
            break
        L = np.linalg.solve(G + G @ B.T @ Rb, Rb.T).T
        psi = np.maximum(np.diagonal(R) - np.sum(L * Rb, axis=1), lower)
    reason = "the log-likelihood increased by less than tol" if converged else iteration_limit(max_iter)
    outcome = Outcome("em", "", len(trace), converged, tuple(trace), reason)
    # rotated so that L'Ψ^-1 L is diagonal with decreasing entries, as the other searches return loadings
    _, _, Vt = np.linalg.svd(L / np.sqrt(psi)[:, None], full_matrices=False)
    return FactorEstimate(fix_signs(L @ Vt.T), psi, outcome)

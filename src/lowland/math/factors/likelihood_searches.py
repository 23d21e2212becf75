"""Searches for the maximum of the likelihood of a factor model: by Newton, L-BFGS, or expectation-maximization.

With the best loadings for given log uniquenesses x, the deviance log|Σ| + tr Σ^-1 R depends on x alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.linalg

from lowland.arrays.linalg import eigh
from lowland.arrays.namespace import Array, like, to_numpy, xp_of
from lowland.math.optimize.outcome import Outcome, iteration_limit
from lowland.math.spectra.leading import fix_signs, leading_eigenpairs
from lowland.run.run import Run

_FLATTEST, _FLATTEST_OF_MANY = 1e-6, 1e-5  # gradients at which rounding error may prevent further descent


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


def _estimate(
    end: FullProfile | Leading, k: int, trace: Sequence[float], reason: str, max_iter: int, solver: str
) -> FactorEstimate:
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


# --- Newton's method, for a few hundred columns at most ---------------------------------------------------------------


_FLAT = 1e-10  # gradient of the deviance, per log uniqueness, at which the search has converged
_LONGEST = 3.0  # largest change of a log uniqueness per step
_HALVINGS = 20
_CHANGES = 30  # maximum changes of the active set
_FAR, _TERMS = 8.0, 3  # ratio to the others above which the curvature of an eigenvalue is computed by a short series
_GAP = 1e-3  # relative gap of eigenvalues below which the second derivative is bounded


@dataclass(frozen=True)
class FullProfile:
    """The deviance at log uniquenesses x, the loadings being the best for them (Lawley 1940, Jöreskog 1967).

    With Ψ^-1/2 R Ψ^-1/2 = ΩΘΩ', these are L = Ψ^1/2 Ω_K (Θ_K - I)^1/2 over the k leading eigenvalues, as far as they
    exceed 1; the deviance is Σ x + Σ_K (1 + log θ) + Σ_M θ, K the kept and M the other directions.
    """

    x: np.ndarray  # (d,)
    theta: np.ndarray  # (d,) decreasing
    omega: np.ndarray  # (d, d)
    kept: int

    @classmethod
    def at(cls, x: np.ndarray, R: np.ndarray, k: int) -> FullProfile:
        """Return the deviance of a correlation matrix R at log uniquenesses x."""
        s = np.exp(-x / 2)
        theta, omega = eigh(R * np.outer(s, s))
        theta, omega = np.maximum(theta[::-1], 0.0), omega[:, ::-1]
        return cls(x, theta, omega, int(np.sum(theta[:k] > 1)))

    @cached_property
    def value(self) -> float:
        """The deviance."""
        kept, left = self.theta[: self.kept], self.theta[self.kept :]
        return float(np.sum(self.x) + np.sum(1 + np.log(kept)) + np.sum(left))

    @cached_property
    def slope(self) -> np.ndarray:
        """Its derivative by x_i: Σ_M (1 - θ) ω_i²."""
        return self.omega[:, self.kept :] ** 2 @ (1 - self.theta[self.kept :])

    @property
    def rounding(self) -> float:
        """The rounding error of the eigenvalues, and so of the gradient."""
        return 16 * float(np.finfo(np.float64).eps) * float(self.theta[0])

    def curvature(self) -> tuple[np.ndarray, np.ndarray]:
        """Its second derivative, and the positive semidefinite part of it.

        H = (Ω_M Θ_M Ω_M') ∘ (Ω_M Ω_M') + Σ_{n in K} ω_n ω_n' ∘ (Ω_M diag[(1 - θ)(θ + θ_n) / (θ_n - θ)] Ω_M').
        Where θ_n is far above every θ the fraction is 1 + 2 θ/θ_n + 2 (θ/θ_n)² + …, one product for all such n.
        """
        kept, theta_kept = self.omega[:, : self.kept], self.theta[: self.kept]
        left, theta = self.omega[:, self.kept :], self.theta[self.kept :]
        positive = ((left * theta) @ left.T) * (left @ left.T)
        whole = positive.copy()
        far = int(np.sum(theta_kept > _FAR * theta[0])) if len(theta) else self.kept
        for power in range(_TERMS):
            of_kept = (kept[:, :far] * theta_kept[:far] ** -power) @ kept[:, :far].T
            whole += (1 if power == 0 else 2) * of_kept * ((left * ((1 - theta) * theta**power)) @ left.T)
        for n in range(far, self.kept):
            gap = np.maximum(theta_kept[n] - theta, _GAP * theta_kept[n])
            scaled = left * kept[:, n, None]
            whole += (scaled * ((1 - theta) * (theta + theta_kept[n]) / gap)) @ scaled.T
        return whole, positive

    def loadings(self, k: int) -> np.ndarray:
        """The best loadings, Ψ^1/2 Ω_K (Θ_K - I)^1/2, (d, k)."""
        beyond = np.sqrt(np.maximum(self.theta[:k] - 1, 0.0))
        return fix_signs(np.exp(self.x / 2)[:, None] * self.omega[:, :k] * beyond)


def by_uniquenesses(R: np.ndarray, k: int, psi: np.ndarray, lower: float, max_iter: int, run: Run) -> FactorEstimate:
    """Minimize the deviance over the log uniquenesses between ``lower`` and 1, by Newton's method (Jöreskog 1967).

    Where the second derivative is not positive definite, its positive part is used, which is the Fisher information
    where the model fits.
    """
    bottom = math.log(lower)
    now = FullProfile.at(np.clip(np.log(psi), bottom, 0.0), R, k)
    trace, reason = [now.value], ""
    for _ in run.iterate("fitting factors", max_iter):
        steepest = _steepest(now.x, now.slope, bottom)
        if steepest <= max(_FLAT, now.rounding):
            reason = "the gradient is zero"
            break
        steps = _steps(now, bottom)
        further = next(filter(None, (_step_downhill(now, step, bottom, R, k) for step in steps)), None)
        if further is None:
            reason = "rounding error prevents further improvement" if steepest <= _FLATTEST + 100 * now.rounding else ""
            break
        now = further
        trace.append(now.value)
    return _estimate(now, k, trace[1:] or trace, reason, max_iter, "newton")


def _steps(now: FullProfile, bottom: float) -> Iterator[np.ndarray]:
    """Yield steps to try, best first: Newton, with the positive part of the Hessian, and with its diagonal."""
    low, high = np.maximum(bottom - now.x, -_LONGEST), np.minimum(-now.x, _LONGEST)
    whole, positive = now.curvature()
    for H in (whole, positive):
        H[np.diag_indices_from(H)] += 1e-12 * (1 + np.trace(H) / len(H))  # the positive part may be singular
        with suppress(np.linalg.LinAlgError):
            yield least_in_box(H, now.slope, low, high)
    yield np.clip(-now.slope / np.maximum(np.diagonal(positive), 1e-8), low, high)


def least_in_box(H: np.ndarray, g: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Minimize g'p + p'Hp/2 over low <= p <= high, for low <= 0 <= high and a positive H.

    An active-set method: entries that would leave the box are fixed at its boundary, many at once; when none would,
    those whose gradient points inside are released. In about one of a thousand cases this cycles and stops slightly
    above the minimum, which suffices for a step that is checked before it is taken.
    """
    p, held = np.zeros_like(g), ((low >= 0) & (g > 0)) | ((high <= 0) & (g < 0))
    for _ in range(_CHANGES):
        free = ~held
        if free.any():
            H_free = scipy.linalg.cho_factor(H[np.ix_(free, free)], check_finite=False)
            p[free] = -scipy.linalg.cho_solve(H_free, g[free] + H[np.ix_(free, held)] @ p[held])
        outside = free & ((p < low) | (p > high))
        p = np.clip(p, low, high)
        if outside.any():
            held = held | outside
            continue
        slope = g + H @ p
        back = held & (((p <= low) & (slope < 0)) | ((p >= high) & (slope > 0)))
        if not back.any():
            break
        held = held & ~back
    return p


def _step_downhill(now: FullProfile, step: np.ndarray, bottom: float, R: np.ndarray, k: int) -> FullProfile | None:
    """Take the step, halved until the deviance decreases; None where it does not."""
    promised = float(now.slope @ step)
    if promised >= 0:
        return None
    for _ in range(_HALVINGS):
        there = FullProfile.at(now.x + step, R, k)
        if there.value <= now.value + 1e-4 * promised:
            return there
        flatter = _steepest(there.x, there.slope, bottom) < _steepest(now.x, now.slope, bottom) / 2
        if there.value <= now.value + now.rounding and flatter:
            return there  # the value is within rounding error, the gradient decreases
        step, promised = step / 2, promised / 2
    return None


# --- L-BFGS from the leading eigenpairs, for many columns -------------------------------------------------------------


MANY = 400  # columns from which this algorithm is faster
_FEW = 0.2  # fraction of the columns above which this many eigenpairs cost as much as all
_FLAT_OF_MANY = 1e-7  # gradient of the deviance, per log uniqueness, at which the search has converged
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

    def suits(self, k: int) -> bool:
        """Whether this algorithm is faster for k factors."""
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
    """The deviance at log uniquenesses x, from the leading eigenpairs."""

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
        here = Leading(x, *root.pairs(x, k, run))
        return here.value, here.slope

    with run.stage("fitting factors", max_iter) as stage:

        def record(intermediate_result: object) -> None:
            trace.append(float(intermediate_result.fun))  # type: ignore[attr-defined]
            stage.advance()
            if len(trace) > 1 and trace[-2] - trace[-1] < tol:
                raise StopIteration

        limits = {"maxiter": max_iter, "maxfun": 20 * max_iter, "maxcor": _MEMORY, "ftol": 1e-15, "gtol": _FLAT_OF_MANY}
        ended = minimize(
            deviance, first, jac=True, method="L-BFGS-B", bounds=Bounds(bottom, 0.0), callback=record, options=limits
        )
    x = np.clip(ended.x, bottom, 0.0)
    end = Leading(x, *root.pairs(x, k, run))
    steepest, reason = _steepest(end.x, end.slope, bottom), ""
    if len(trace) > 1 and trace[-2] - trace[-1] < tol:
        reason = "the log-likelihood increased by less than tol"
    elif steepest <= max(_FLAT_OF_MANY, end.rounding):
        reason = "the gradient is zero"
    elif len(trace) < max_iter and steepest <= _FLATTEST_OF_MANY + 100 * end.rounding:
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
    L = (Leading(x, *root.pairs(x, k, run)) if root.suits(k) else FullProfile.at(x, R, k)).loadings(k)
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

"""Maximum likelihood factors by Newton's method on the uniquenesses, for up to some hundred columns."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.linalg

from lowland.arrays.linalg import eigh
from lowland.math.factors.estimate import FLATTEST, FactorEstimate, estimate_at
from lowland.math.spectra.leading import fix_signs
from lowland.run.run import Run

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

    def steepest(self, bottom: float) -> float:
        """The largest derivative by a uniqueness that is not at a bound."""
        held = ((self.x <= bottom) & (self.slope > 0)) | ((self.x >= 0) & (self.slope < 0))
        return float(np.max(np.abs(self.slope[~held]), initial=0.0))

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
        steepest = now.steepest(bottom)
        if steepest <= max(_FLAT, now.rounding):
            reason = "the gradient is zero"
            break
        further = next(filter(None, (_downhill(now, step, bottom, R, k) for step in _steps(now, bottom))), None)
        if further is None:
            reason = "rounding error prevents further improvement" if steepest <= FLATTEST + 100 * now.rounding else ""
            break
        now = further
        trace.append(now.value)
    return estimate_at(now, k, trace[1:] or trace, reason, max_iter, solver="newton")


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


def _downhill(now: FullProfile, step: np.ndarray, bottom: float, R: np.ndarray, k: int) -> FullProfile | None:
    """Take the step, halved until the deviance decreases; None where it does not."""
    promised = float(now.slope @ step)
    if promised >= 0:
        return None
    for _ in range(_HALVINGS):
        there = FullProfile.at(now.x + step, R, k)
        if there.value <= now.value + 1e-4 * promised:
            return there
        if there.value <= now.value + now.rounding and there.steepest(bottom) < now.steepest(bottom) / 2:
            return there  # the value is within rounding error, the gradient decreases
        step, promised = step / 2, promised / 2
    return None

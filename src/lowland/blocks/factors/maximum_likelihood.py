"""Factor analysis of a correlation matrix: R ≈ LL' + Ψ with Ψ diagonal, by maximum likelihood.

Maximum likelihood does not care for units, so everything here is of standardised columns: L (d, k) are the loadings,
the diagonal ψ of Ψ holds the uniquenesses. What is minimised is the deviance log|Σ| + tr Σ^-1 R, Σ = LL' + Ψ: minus
twice the mean log-likelihood, less d log 2π.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np
import scipy.linalg

from lowland.arrays.linalg import eigh
from lowland.blocks.factors.wide_tables import Leading, Root, search
from lowland.blocks.spectra.component_rules import ComponentChoice
from lowland.blocks.spectra.leading import fix_signs
from lowland.run.local import blas_on_one_thread
from lowland.run.run import Run

_FLAT = 1e-10  # slope of the deviance, per log uniqueness, at which the search ends
_FLATTEST = 1e-6  # what counts as flat where rounding lets no step go further down
_LONGEST = 3.0  # the most a log uniqueness may change in a step
_HALVINGS = 20
_BETTER = 1e-9  # by which a later start must be better, lest rounding choose
_PATIENCE = 5  # how long BIC may stay above its least before no more factors are tried
_CHANGES = 30  # of the entries held at the sides of a box
_SINGULAR = 1e-10  # an eigenvalue of a correlation matrix below this is zero
_FAR, _TERMS = 8.0, 3  # so far above the others an eigenvalue's share of the curvature is a short series
_THREADS_FROM, _THREADS_PAY_FROM = 32, 400  # columns from which BLAS takes threads, and from which they pay
_GAP = 1e-3  # eigenvalues of a kept and a left direction nearer than this share have no second derivative to trust


@dataclass(frozen=True)
class Estimate:
    """Loadings and uniquenesses, and how they were found."""

    loadings: np.ndarray  # (d, k), with L'Ψ^-1 L diagonal and falling
    uniquenesses: np.ndarray  # (d,)
    trace: tuple[float, ...]  # the deviance after each iteration
    converged: bool
    reason: str  # why it stopped, in words
    reached: tuple[float, ...] = ()  # the deviance at the end of each start

    @property
    def deviance(self) -> float:
        """log|Σ| + tr Σ^-1 R at the end."""
        return self.trace[-1]


# --- counting ---------------------------------------------------------------------------------------------------------


def degrees_of_freedom(d: int, k: int) -> int:
    """Return by how many the variances and covariances outnumber the free parameters, ((d - k)² - (d + k)) / 2."""
    return ((d - k) ** 2 - (d + k)) // 2


def most_factors(d: int) -> int:
    """Return the largest k whose degrees of freedom are not negative (Ledermann 1937)."""
    return int((2 * d + 1 - math.sqrt(8 * d + 1)) / 2 + 1e-9)


def free_parameters(d: int, k: int) -> int:
    """Return the number of means, uniquenesses and loadings, less the rotations that change nothing."""
    return 2 * d + d * k - k * (k - 1) // 2


# --- starts -----------------------------------------------------------------------------------------------------------


def estimate(
    root: Root,
    k: int,
    *,
    route: Literal["uniqueness", "em"],
    lower: float,
    run: Run,
    first: np.ndarray | None = None,
    starts: int = 1,
    rng: np.random.Generator | None = None,
    least: float = 1e-10,
    max_iter: int = 1000,
) -> Estimate:
    """Return the maximum likelihood loadings and uniquenesses of a correlation matrix, by either route.

    The one on the uniquenesses needs few eigenpairs where columns are many (``blocks.factors.wide_tables``), else all of them.
    Uniquenesses are held at ``lower`` or above. The first start is ``first`` or Jöreskog's, the others are random; the
    least deviance wins. ``least`` is the fall of the deviance at which the route by expectation and maximisation ends.
    """
    R, d, rng = root.R, len(root.R), rng if rng is not None else np.random.default_rng(0)
    if first is None:
        first = start(R, k, lower) if root.Z is None else root.first(k, lower)
    found = []
    for i in range(1 if k == d else starts):  # with as many factors as columns every start is as good
        psi = random_start(d, lower, rng) if i else first
        if route == "em":
            found.append(by_em(root, k, psi, lower, least, max_iter, run))
        elif root.suits(k):
            found.append(by_leading_pairs(root, k, psi, lower, max_iter, run))
        else:
            found.append(by_uniquenesses(R, k, psi, lower, max_iter, run))
    best = found[0]
    for other in found[1:]:
        if other.deviance < best.deviance - _BETTER:
            best = other
    return replace(best, reached=tuple(one.deviance for one in found))


def small_products(d: int) -> AbstractContextManager[None]:
    """Hold BLAS to one thread for d x d problems in which its threads would only wait for each other."""
    return blas_on_one_thread() if _THREADS_FROM <= d <= _THREADS_PAY_FROM else nullcontext()


def start(R: np.ndarray, k: int, lower: float) -> np.ndarray:
    """Return Jöreskog's first uniquenesses, (1 - k/2d) / diag R^-1: a share of what the other columns cannot predict.

    With as many factors as columns every small enough Ψ fits exactly; half of the largest such multiple is taken.
    """
    d = len(R)
    inverse = inverse_of(R)
    if inverse is None:  # shrink towards no correlation first
        inverse = inverse_of(0.9 * R + 0.1 * np.eye(d))
    assert inverse is not None  # no eigenvalue is below 0.1 but for rounding
    unpredicted = 1 / np.diagonal(inverse)
    if k < d:
        return np.clip((1 - k / (2 * d)) * unpredicted, lower, 1.0)
    s = 1 / np.sqrt(unpredicted)
    return np.clip(eigh(R * np.outer(s, s))[0][0] / 2 * unpredicted, lower, 1.0)


def inverse_of(R: np.ndarray) -> np.ndarray | None:
    """Return the inverse of a correlation matrix by its Cholesky factor; None where an eigenvalue is next to zero."""
    C, failed = scipy.linalg.lapack.dpotrf(R)
    if failed:
        return None
    inverse, failed = scipy.linalg.lapack.dpotri(C, overwrite_c=True)
    if failed or not float(np.trace(inverse)) < 1 / _SINGULAR:  # the trace is at least 1 / the least eigenvalue
        return None
    inverse = np.triu(inverse)
    return inverse + np.triu(inverse, 1).T


def random_start(d: int, lower: float, rng: np.random.Generator) -> np.ndarray:
    """Return uniquenesses drawn evenly."""
    return rng.uniform(max(lower, 0.005), 1.0, d)


def fewest_by_bic(R: np.ndarray, n: float, fit: Callable[[int], Estimate]) -> tuple[ComponentChoice, Estimate]:
    """Return the number of factors with the least BIC, and the fit; counts are tried upwards until it keeps rising."""
    d, found, values = len(R), [], []
    for k in range(1, max(most_factors(d), 1) + 1):
        found.append(fit(k))
        values.append(n * found[-1].deviance + math.log(n) * free_parameters(d, k))
        if k - 1 - int(np.argmin(values)) >= _PATIENCE:
            break
    k = int(np.argmin(values)) + 1
    reason = f"{k} factor{'s' * (k != 1)}: the least BIC of 1 to {len(values)}"
    return ComponentChoice(k, "bic", reason, {"bic": np.array(values)}), found[k - 1]


# --- the fast route: on the uniquenesses ------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Profile:
    """The deviance at log uniquenesses x, the loadings being the best for them (Lawley 1940, Jöreskog 1967).

    With Ψ^-1/2 R Ψ^-1/2 = ΩΘΩ', these are L = Ψ^1/2 Ω_K (Θ_K - I)^1/2 over the k leading eigenvalues, as far as they
    exceed 1; the deviance is Σ x + Σ_K (1 + log θ) + Σ_M θ, K the kept and M the other directions.
    """

    x: np.ndarray  # (d,)
    theta: np.ndarray  # (d,) falling
    omega: np.ndarray  # (d, d)
    kept: int

    @classmethod
    def at(cls, x: np.ndarray, R: np.ndarray, k: int) -> _Profile:
        s = np.exp(-x / 2)
        theta, omega = eigh(R * np.outer(s, s))
        theta, omega = np.maximum(theta[::-1], 0.0), omega[:, ::-1]
        return cls(x, theta, omega, int(np.sum(theta[:k] > 1)))

    @cached_property
    def value(self) -> float:
        kept, left = self.theta[: self.kept], self.theta[self.kept :]
        return float(np.sum(self.x) + np.sum(1 + np.log(kept)) + np.sum(left))

    @cached_property
    def slope(self) -> np.ndarray:
        """Its derivative by x_i: Σ_M (1 - θ) ω_i²."""
        return self.omega[:, self.kept :] ** 2 @ (1 - self.theta[self.kept :])

    def steepest(self, bottom: float) -> float:
        """The largest slope of a uniqueness that no bound holds."""
        held = ((self.x <= bottom) & (self.slope > 0)) | ((self.x >= 0) & (self.slope < 0))
        return float(np.max(np.abs(self.slope[~held]), initial=0.0))

    @property
    def rounding(self) -> float:
        """The error of the eigenvalues, and so of the slope."""
        return 16 * float(np.finfo(np.float64).eps) * float(self.theta[0])

    def curvature(self) -> tuple[np.ndarray, np.ndarray]:
        """Its second derivative, and the part of it that is always positive.

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
        beyond = np.sqrt(np.maximum(self.theta[:k] - 1, 0.0))
        return fix_signs(np.exp(self.x / 2)[:, None] * self.omega[:, :k] * beyond)


def by_uniquenesses(R: np.ndarray, k: int, psi: np.ndarray, lower: float, max_iter: int, run: Run) -> Estimate:
    """Minimise the deviance over the log uniquenesses between ``lower`` and 1, by Newton's method (Jöreskog 1967).

    Where the second derivative is not positive, its positive part is taken, which is Fisher's information where the
    model fits.
    """
    bottom = math.log(lower)
    now = _Profile.at(np.clip(np.log(psi), bottom, 0.0), R, k)
    trace, reason = [now.value], ""
    for _ in run.iterate("fitting factors", max_iter):
        steepest = now.steepest(bottom)
        if steepest <= max(_FLAT, now.rounding):
            reason = "the slope is zero"
            break
        further = next(filter(None, (_downhill(now, step, bottom, R, k) for step in _steps(now, bottom))), None)
        if further is None:
            reason = "rounding lets it go no further" if steepest <= _FLATTEST + 100 * now.rounding else ""
            break
        now = further
        trace.append(now.value)
    return _told(now, k, trace[1:] or trace, reason, max_iter)


def by_leading_pairs(root: Root, k: int, psi: np.ndarray, lower: float, max_iter: int, run: Run) -> Estimate:
    """Minimise the deviance over the log uniquenesses by the k leading eigenpairs and a limited-memory search."""
    found = search(root, k, psi, lower, max_iter, run)
    return _told(found.end, k, found.trace, found.reason, max_iter)


def _told(end: _Profile | Leading, k: int, trace: Sequence[float], reason: str, max_iter: int) -> Estimate:
    told = reason
    if not reason:
        told = "it had not converged" if len(trace) >= max_iter else "no step led further, short of the maximum,"
        told = f"{told} after {len(trace)} iteration{'s' * (len(trace) != 1)}"
    return Estimate(end.loadings(k), np.exp(end.x), tuple(trace), bool(reason), told)


def _steps(now: _Profile, bottom: float) -> Iterator[np.ndarray]:
    """Yield steps to try, the best first: Newton's, the one of the positive part, the slope over its curvature."""
    low, high = np.maximum(bottom - now.x, -_LONGEST), np.minimum(-now.x, _LONGEST)
    whole, positive = now.curvature()
    for H in (whole, positive):
        H[np.diag_indices_from(H)] += 1e-12 * (1 + np.trace(H) / len(H))  # the positive part may be singular
        with suppress(np.linalg.LinAlgError):
            yield least_in_box(H, now.slope, low, high)
    yield np.clip(-now.slope / np.maximum(np.diagonal(positive), 1e-8), low, high)


def least_in_box(H: np.ndarray, g: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Minimise g'p + p'Hp/2 over low <= p <= high, for low <= 0 <= high and a positive H.

    Entries that would leave the box are held at its side, many at once; when none would, those that the slope drives
    back are let go. Once in a thousand times that goes in circles and ends a little above the least, which is as good
    for a step that is tried before it is taken.
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


def _downhill(now: _Profile, step: np.ndarray, bottom: float, R: np.ndarray, k: int) -> _Profile | None:
    """Go along the step, halved until the deviance falls; None where it does not."""
    promised = float(now.slope @ step)
    if promised >= 0:
        return None
    for _ in range(_HALVINGS):
        there = _Profile.at(now.x + step, R, k)
        if there.value <= now.value + 1e-4 * promised:
            return there
        if there.value <= now.value + now.rounding and there.steepest(bottom) < now.steepest(bottom) / 2:
            return there  # the value cannot tell any more, the slope can
        step, promised = step / 2, promised / 2
    return None


# --- the textbook's route: expectation, maximisation ------------------------------------------------------------------


def by_em(root: Root, k: int, psi: np.ndarray, lower: float, least: float, max_iter: int, run: Run) -> Estimate:
    """Minimise the deviance by expectation and maximisation (Rubin and Thayer 1982), on the correlations alone.

    E: the factors given a row have mean β(x - μ), β = GL'Ψ^-1, and covariance G = (I + L'Ψ^-1 L)^-1.
    M: L = Rβ' (G + βRβ')^-1 and ψ = diag(R - LβR). It stops where the deviance falls by less than ``least``.
    """
    R, psi = root.R, np.clip(psi, lower, None)
    x = np.log(psi)
    L = (Leading.at(x, root, k, run) if root.suits(k) else _Profile.at(x, R, k)).loadings(k)
    trace: list[float] = []
    converged = False
    for _ in run.iterate("expectation, maximisation", max_iter):
        B = L / psi[:, None]  # Ψ^-1 L
        G = np.linalg.inv(np.eye(k) + L.T @ B)  # (k, k)
        Rb = R @ B @ G  # Rβ', (d, k)
        log_det = float(np.sum(np.log(psi))) - float(np.linalg.slogdet(G)[1])
        trace.append(log_det + float(np.sum(np.diagonal(R) / psi)) - float(np.sum(B * Rb)))
        if len(trace) > 1 and trace[-2] - trace[-1] < least:
            converged = True
            break
        if len(trace) == max_iter:
            break
        L = np.linalg.solve(G + G @ B.T @ Rb, Rb.T).T
        psi = np.maximum(np.diagonal(R) - np.sum(L * Rb, axis=1), lower)
    told = (
        "the likelihood rose by less than tol"
        if converged
        else f"it had not converged after {max_iter} iteration{'s' * (max_iter != 1)}"
    )
    return Estimate(canonical(L, psi), psi, tuple(trace), converged, told)


def canonical(L: np.ndarray, psi: np.ndarray) -> np.ndarray:
    """Turn loadings so that L'Ψ^-1 L is diagonal and falling: the one rotation that both routes return."""
    _, _, Vt = np.linalg.svd(L / np.sqrt(psi)[:, None], full_matrices=False)
    return fix_signs(L @ Vt.T)

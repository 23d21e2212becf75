"""The lasso: a squared or logistic loss plus α times the sum of the absolute coefficients, solved at one α.

The strong rule (Tibshirani and others 2012, doi:10.1111/j.1467-9868.2011.01004.x) restricts the problem to columns that
may become active. Coordinate descent solves it, with direct solves on the active set in between. The gradient of all
columns is then checked, and columns that violate the optimality conditions are added. For the logistic loss, proximal
Newton steps minimize the penalized quadratic approximation in the same way. Coefficients are those of standardized
columns. Every solution has its duality gap.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from lowland.kernels.selection import descend
from lowland.math.statistics.moments import Moments
from lowland.run.progress import pulse

_ROUNDING = 64 * np.finfo(np.float64).eps
_ORTHOGONAL = 1e-12  # a correlation with the target below this is rounding error
_SWEEPS = 10  # sweeps before each direct solve on the active set
_LESS, _IN_VAIN = 0.99, 100  # a decrease of the gap by one percent, within this many rounds
_SINGULAR = 1e-9  # fraction of the largest eigenvalue below which an eigenvalue counts as zero
_DUPLICATE = 1e-10  # correlations within this of one count as one


@dataclass(frozen=True)
class Solution:
    """The model at one penalty; K = 1 for numbers and for two classes, otherwise the number of classes."""

    alpha: float
    coef: np.ndarray  # (K, d), of standardized columns
    intercept: np.ndarray  # (K,), at the mean of the columns
    gradient: np.ndarray  # (K, d), negative gradient of the loss
    loss: float
    gap: float  # duality gap as a fraction of the null model's loss
    steps: int

    @property
    def support(self) -> np.ndarray:
        """Which columns have a nonzero coefficient, (d,) bool."""
        return (self.coef != 0).any(axis=0)


@dataclass(frozen=True)
class SquaredLoss:
    """|y - Zβ|²/2n + α|β|₁ for centered Z and y, from Z'Z/n, or from rows that give the blocks of it."""

    q: np.ndarray  # (d,) Z'y/n
    power: float  # y'y/n
    largest_variance: float  # of a column
    block: Callable[[np.ndarray], np.ndarray]  # Z'Z/n of the columns A, (a, a)
    gradient: Callable[[np.ndarray, np.ndarray], np.ndarray]  # Z'(y - Zβ)/n, (d,), where β is zero outside A

    @classmethod
    def of_covariances(cls, G: np.ndarray, q: np.ndarray, power: float) -> SquaredLoss:
        """Return the problem of G = Z'Z/n, (d, d): d x d numbers stand for the rows."""
        return cls(
            q, power, float(G.diagonal().max()), lambda A: G[np.ix_(A, A)], lambda A, beta: q - beta @ G[A]
        )  # fmt: skip

    @classmethod
    def of_moments(cls, moments: Moments, scale: np.ndarray) -> SquaredLoss:
        """Return the problem of the moments of columns and target; ``scale`` is zero for a column to be left out."""
        over = inverse_scale(scale)
        S = moments.scatter / moments.n
        G, q = S[:-1, :-1] * over[:, None] * over[None, :], S[:-1, -1] * over
        return cls.of_covariances(G, q, float(S[-1, -1]))

    @classmethod
    def of_rows(cls, Z: np.ndarray, y: np.ndarray) -> SquaredLoss:
        """Return the problem of rows, for more columns than rows, whose d x d moments would be larger."""
        Z, y = Z - Z.mean(axis=0), y - y.mean()
        n, largest = len(y), float(np.einsum("ij,ij->j", Z, Z).max())

        def block(A: np.ndarray) -> np.ndarray:
            some = Z[:, A]
            return some.T @ some / n

        def gradient(A: np.ndarray, beta: np.ndarray) -> np.ndarray:
            return (y - Z[:, A] @ beta) @ Z / n

        return cls(y @ Z / n, float(y @ y) / n, largest / n, block, gradient)

    @property
    def alpha_max(self) -> float:
        """The smallest penalty at which all coefficients are zero; 0 if no column is correlated with the target."""
        largest = float(np.abs(self.q).max())
        return largest if largest > _ORTHOGONAL * math.sqrt(self.power * self.largest_variance) else 0.0

    def start(self) -> Solution:
        """Return the null model, without any column."""
        zeros = np.zeros((1, self.q.size))
        return Solution(self.alpha_max, zeros, np.zeros(1), self.q[None, :], self.power / 2, 0.0, 0)

    def at(self, alpha: float, before: Solution, tol: float, max_iter: int) -> Solution:
        """Coordinate descent on the working set, until the duality gap is at most tol times y'y/2n."""
        slack = _ROUNDING * float(np.abs(self.q).max())
        coef, steps, gap = before.coef[0].copy(), 0, 0.0
        working = _strong_set(before, alpha)[0]
        while True:
            A = np.flatnonzero(working)
            G, q, beta = self.block(A), self.q[A], coef[A]
            g, wanted = q - G @ beta, tol * self.power / 2
            made, gap = minimize(G, q, g, beta, alpha, slack, self.power, wanted, max_iter - steps)
            steps += made
            coef[A] = beta
            gradient = self.gradient(A, beta)
            left_out = (np.abs(gradient) > alpha + 2 * slack) & ~working
            if not left_out.any() or steps >= max_iter:
                break
            working |= left_out
        loss = float((self.power - self.q @ coef - gradient @ coef) / 2)
        gap = max(gap, 0.0) / (self.power / 2) if self.power > 0 else 0.0
        return Solution(alpha, coef[None, :], np.zeros(1), gradient[None, :], loss, gap, steps)


def _strong_set(before: Solution, alpha: float) -> np.ndarray:
    """Return which coefficients may be nonzero at a penalty, (K, d) bool: the strong rule.

    Those that are nonzero now, and those whose gradient could reach α if it changed as fast as the penalty.
    """
    return (before.coef != 0) | (np.abs(before.gradient) >= 2 * alpha - before.alpha)


def inverse_scale(scale: np.ndarray) -> np.ndarray:
    """Return one over the scale, zero where the scale is zero."""
    return np.where(scale > 0, 1 / np.where(scale > 0, scale, 1.0), 0.0)


# --- coordinate descent on β'Gβ/2 - q'β + α|β|₁ ---


class _Stalled:
    """Whether a duality gap has stopped decreasing: it is called once per round, and remembers the smallest gap."""

    def __init__(self) -> None:
        self.least, self.rounds = np.inf, 0

    def __call__(self, gap: float) -> bool:
        """Record the gap of one round; return whether the last rounds were in vain."""
        self.rounds += 1
        if gap < _LESS * self.least:
            self.least, self.rounds = gap, 0
        return self.rounds >= _IN_VAIN


def minimize(
    G: np.ndarray, q: np.ndarray, g: np.ndarray, beta: np.ndarray, alpha: float, slack: float, power: float,
    wanted: float, most: int,
) -> tuple[int, float]:  # fmt: skip
    """Minimize β'Gβ/2 - q'β + α|β|₁ in place, alternating sweeps and direct solves; return the sweeps and the gap."""
    steps, stalled = 0, _Stalled()
    while True:
        made, gap = descend(G, q, g, beta, alpha, slack, power, wanted, min(_SWEEPS, most - steps))
        steps += made
        pulse()
        done = gap <= wanted or steps >= most or stalled(gap)
        if done or not _solve_active_set(G, q, g, beta, alpha):
            _merge_duplicates(G, q, g, beta)
        if done:
            return steps, gap


def _merge_duplicates(G: np.ndarray, q: np.ndarray, g: np.ndarray, beta: np.ndarray) -> None:
    """Move the coefficients of collinear columns, multiples of each other, to the largest; of equal ones, the first."""
    A = np.flatnonzero(beta)
    size = np.sqrt(G[A, A])
    duplicates = np.argwhere(np.triu(np.abs(G[np.ix_(A, A)]) >= (1 - _DUPLICATE) * np.outer(size, size), 1))
    for i, j in duplicates:
        to, of = (i, j) if size[i] >= (1 - _DUPLICATE) * size[j] else (j, i)
        beta[A[to]] += beta[A[of]] * G[A[to], A[of]] / G[A[to], A[to]]
        beta[A[of]] = 0.0
    if len(duplicates):
        g[:] = q - G @ beta


def _solve_active_set(G: np.ndarray, q: np.ndarray, g: np.ndarray, beta: np.ndarray, alpha: float) -> bool:
    """Solve for the minimum at these columns and signs, or step to the first coefficient that would change sign.

    Sweeps find the active set quickly, but converge slowly to the values where columns are correlated. Return False
    where the equations are too close to singular.
    """
    A = np.flatnonzero(beta)
    if not A.size:
        return True
    before, signs = beta[A], np.sign(beta[A])
    try:
        goal = cho_solve(cho_factor(G[np.ix_(A, A)], check_finite=False), q[A] - alpha * signs, check_finite=False)
    except np.linalg.LinAlgError:  # linearly dependent columns
        return _drop_dependent(G, g, beta, alpha)
    flips = np.flatnonzero(goal * signs <= 0)
    if flips.size:
        t = before[flips] / (before[flips] - goal[flips])  # fractions of the step
        first = flips[np.argmin(t)]
        goal = before + t.min() * (goal - before)
        goal[first] = 0.0
    change = goal - before
    after = g - change @ G[A]
    if change @ (alpha * signs - (g[A] + after[A]) / 2) > 0:  # the objective would increase
        return _drop_dependent(G, g, beta, alpha)
    beta[A], g[:] = goal, after
    return True


def _drop_dependent(G: np.ndarray, g: np.ndarray, beta: np.ndarray, alpha: float) -> bool:
    """Drop a linearly dependent column: move along a null direction of G until a coefficient is zero.

    With as many columns as rows, sweeps alone would need very long for this.
    """
    A = np.flatnonzero(beta)
    values, vectors = np.linalg.eigh(G[np.ix_(A, A)])
    if values[0] > _SINGULAR * values[-1]:
        return False
    v = vectors[:, 0]
    v = -v if v @ (alpha * np.sign(beta[A]) - g[A]) > 0 else v  # the direction of descent
    t = np.where(beta[A] * v < 0, -beta[A] / np.where(v == 0, 1.0, v), np.inf)
    first = int(np.argmin(t))
    if not np.isfinite(t[first]):
        return False
    change = t[first] * v
    change[first] = -beta[A[first]]
    beta[A] += change
    beta[A[first]] = 0.0
    g -= change @ G[A]
    return True


# --- logistic loss ---

_LEAST_WEIGHT = 1e-12  # smallest curvature, also where all predicted probabilities are 0 or 1
_FAST = 0.1  # if a step reduces the gap by this factor, the Hessian is reused
_MOST_HALVINGS = 30
_ROUNDED_LOSS = 1e-13  # fraction of the loss below which an increase is rounding error


@dataclass(frozen=True)
class LogLoss:
    """-log p(class)/n + α|β|₁, with one logit for two classes, otherwise one per class (multinomial)."""

    Z: np.ndarray  # (n, d), approximately centered
    Y: np.ndarray  # (n, K) 0 or 1

    @classmethod
    def of(cls, Z: np.ndarray, codes: np.ndarray) -> LogLoss:
        """Return the problem of rows and their class indices; every class must occur."""
        C = int(codes.max()) + 1
        return cls(np.asfortranarray(Z), (codes[:, None] == (np.arange(C) if C > 2 else [1])).astype(np.float64))

    @property
    def fractions(self) -> np.ndarray:
        """The fraction of rows in the class of each logit, (K,)."""
        return self.Y.mean(axis=0)

    @property
    def null(self) -> float:
        """The loss of the null model, without any column."""
        p = self.fractions
        return float(-(p @ np.log(p)) if len(p) > 1 else -(p @ np.log(p) + (1 - p) @ np.log(1 - p)))

    @property
    def alpha_max(self) -> float:
        """The smallest penalty at which all coefficients are zero; 0 if no column is correlated with a class."""
        n = len(self.Y)
        largest = float(np.abs((self.Y - self.fractions).T @ self.Z).max()) / n
        length = math.sqrt(float(np.einsum("ij,ij->j", self.Z, self.Z).max()) / n)
        return largest if largest > _ORTHOGONAL * length else 0.0

    def start(self) -> Solution:
        """Return the null model, without any column."""
        p, n = self.fractions, len(self.Y)
        b = np.log(p) - np.log(p).mean() if len(p) > 1 else np.log(p / (1 - p))
        gradient = (self.Y - p).T @ self.Z / n
        alpha_max = float(np.abs(gradient).max())
        return Solution(alpha_max, np.zeros_like(gradient), b, gradient, self.null, 0.0, 0)

    def at(self, alpha: float, before: Solution, tol: float, max_iter: int) -> Solution:
        """Proximal Newton steps on the working set, until the duality gap is at most tol times the null loss."""
        null, n = self.null, len(self.Y)
        slack = _ROUNDING * null
        coef, b, steps, gap = before.coef.copy(), before.intercept, 0, 0.0
        working = _strong_set(before, alpha)  # (K, d)
        while True:
            newton = _NewtonIteration(self.Z, self.Y, np.nonzero(working), coef, b, alpha)
            gap, stalled = newton.gap(slack), _Stalled()
            while gap > tol * null and steps < max_iter and not stalled(gap):
                gap = newton.step(slack)
                steps += 1
                pulse()
            coef, b = newton.coef, newton.b
            gradient = (self.Y - newton.P).T @ self.Z / n
            left_out = (np.abs(gradient) > alpha * (1 + tol) + slack) & ~working
            if not left_out.any() or steps >= max_iter:
                break
            working |= left_out
        coef, b = without_shift(coef, b)
        return Solution(alpha, coef, b, gradient, newton.loss, max(gap, 0.0) / null, steps)


class _NewtonIteration:
    """The state of a Newton iteration on some coefficients: those of ``pairs`` of a logit and a column."""

    def __init__(self, Z: np.ndarray, Y: np.ndarray, pairs: Any, coef: np.ndarray, b: np.ndarray, alpha: float) -> None:
        self.Y, self.pairs, self.alpha = Y, pairs, alpha
        columns, self.place = np.unique(pairs[1], return_inverse=True)
        self.Z = Z[:, columns]  # (n, a)
        self.coef, self.b = coef.copy(), b.copy()
        self.logits = self._logits_of(coef[pairs]) + b  # (n, K)
        self.loss, self.P = loss_and_probabilities(self.logits, Y)
        self.H: np.ndarray | None = None
        self._fit_intercepts()
        self.found_gap = np.inf

    def step(self, slack: float) -> float:
        """Minimize the quadratic and step there; return the gap. The Hessian is reused while the gap decreases fast."""
        if self.H is None:
            self._update_hessian()
        assert self.H is not None
        g, old = self._gradient(), self.coef[self.pairs]
        new = old.copy()
        # The gap of the quadratic is not the gap of the problem: a fixed number of sweeps, with direct solves.
        minimize(self.H, g + self.H @ old, g, new, self.alpha, slack, 0.0, -np.inf, 2 * _SWEEPS)
        self._line_search(new - old, -self.response @ (new - old))
        self._fit_intercepts()
        gap = self.gap(slack)
        if gap > _FAST * self.found_gap:
            self.H = None
        self.found_gap = gap
        return gap

    def _update_hessian(self) -> None:
        """The Hessian with the intercepts eliminated: they respond to every change by -``response``."""
        (n, K), logit = self.Y.shape, self.pairs[0]
        U = self.Z[:, self.place]  # (n, M)
        V = U * self.P[:, logit]
        H = V.T @ V / -n  # (M, M)
        across = self.P.T @ V / -n  # (K, M)
        for c in range(K):
            mine = np.flatnonzero(logit == c)
            H[np.ix_(mine, mine)] += U[:, mine].T @ V[:, mine] / n
            across[c, mine] += V[:, mine].sum(axis=0) / n
        self.response = np.linalg.solve(self._intercept_hessian(), across)  # (K, M)
        H -= across.T @ self.response
        H[np.diag_indices_from(H)] += _LEAST_WEIGHT * (self.Z**2).mean(axis=0)[self.place]
        self.H = H

    def _gradient(self) -> np.ndarray:
        by_column = (self.Y - self.P).T @ self.Z / len(self.Y)  # (K, a)
        return by_column[self.pairs[0], self.place]  # (M,)

    def _logits_of(self, change: np.ndarray) -> np.ndarray:
        """The logits of some coefficients, (n, K)."""
        spread = np.zeros((self.Y.shape[1], self.Z.shape[1]))
        spread[self.pairs[0], self.place] = change
        return self.Z @ spread.T

    def _line_search(self, change: np.ndarray, shift: np.ndarray) -> None:
        """Backtrack along a direction until the penalized loss does not increase."""
        along, before = self._logits_of(change) + shift, self.loss + self.alpha * float(np.abs(self.coef).sum())
        t = 1.0
        for _ in range(_MOST_HALVINGS):
            coef, logits = self.coef.copy(), self.logits + t * along
            coef[self.pairs] += t * change
            loss, P = loss_and_probabilities(logits, self.Y)
            if loss + self.alpha * float(np.abs(coef).sum()) <= before * (1 + _ROUNDED_LOSS):
                self.coef, self.b, self.logits, self.loss, self.P = coef, self.b + t * shift, logits, loss, P
                return
            t /= 2
        self.H = None

    def _fit_intercepts(self) -> None:
        """Optimize the intercepts for these coefficients: the duality gap is valid only then."""
        for _ in range(_MOST_HALVINGS):
            r = (self.Y - self.P).sum(axis=0) / len(self.Y)  # (K,)
            if np.abs(r).max() <= _ROUNDED_LOSS:
                return
            shift = np.linalg.solve(self._intercept_hessian(), r)
            logits = self.logits + shift
            loss, P = loss_and_probabilities(logits, self.Y)
            if loss > self.loss * (1 + _ROUNDED_LOSS):
                return
            self.b, self.logits, self.loss, self.P = self.b + shift, logits, loss, P

    def _intercept_hessian(self) -> np.ndarray:
        n, K = self.Y.shape
        own = np.diag(self.P.mean(axis=0)) - self.P.T @ self.P / n + _LEAST_WEIGHT * np.ones((K, K))
        return own + _ROUNDED_LOSS * np.eye(K)

    def gap(self, slack: float) -> float:
        """The duality gap among these coefficients; a gradient within ``slack`` of the penalty is rounding error."""
        largest = np.abs(self._gradient()).max(initial=0.0)
        scale = 1.0 if largest <= self.alpha + slack else self.alpha / largest
        U = self.Y - scale * (self.Y - self.P)  # scaled residuals are feasible for the dual, whose value is an entropy
        U = np.clip(U if U.shape[1] > 1 else np.concatenate([U, 1 - U], axis=1), 0.0, 1.0)
        entropy = float(-(U * np.log(np.where(U > 0, U, 1.0))).sum(axis=1).mean())
        return self.loss + self.alpha * float(np.abs(self.coef).sum()) - entropy


def without_shift(coef: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Among models that differ by a common shift of all logits and have the same loss, return the sparsest.

    Intercepts then sum to zero. The coefficients of a column may be shifted between their two middle values, which
    differ only for an even number of classes: the more frequent of the two becomes zero, otherwise the lower.
    """
    K = len(b)
    if K == 1:
        return coef, b
    if K % 2 == 0:
        low, high = np.sort(coef, axis=0)[K // 2 - 1 : K // 2 + 1]
        coef = coef - np.where((coef == high).sum(axis=0) > (coef == low).sum(axis=0), high, low)
    return coef, b - b.mean()


def loss_and_probabilities(logits: np.ndarray, Y: np.ndarray) -> tuple[float, np.ndarray]:
    """Return the mean of -log p of the true class, and the probabilities; all matrices are (n, K)."""
    if logits.shape[1] == 1:
        s = logits[:, 0]
        loss = np.logaddexp(0.0, s) - Y[:, 0] * s
        return float(loss.mean()), (0.5 * (1 + np.tanh(s / 2)))[:, None]
    s = logits - logits.max(axis=1)[:, None]
    E = np.exp(s)
    total = E.sum(axis=1)
    return float((np.log(total) - (Y * s).sum(axis=1)).mean()), E / total[:, None]

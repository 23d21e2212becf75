"""Sparse linear models: a loss of the rows plus α times the sum of the absolute coefficients, solved at one α.

Only the columns that may take part are worked on (strong rule of Tibshirani and others 2012, doi:
10.1111/j.1467-9868.2011.01004.x); then the gradient of all is looked at, and what was left out wrongly is taken in.
Coefficients are those of standardised columns. Every solution comes with its duality gap.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from lowland.blocks.statistics.moments import Moments
from lowland.kernels.coordinate_descent import descend

_ROUNDING = 64 * np.finfo(np.float64).eps
_SWEEPS = 10  # made at a time, before the equations of the columns that take part are solved outright
_LEAST_WEIGHT = 1e-12  # curvature that is always there, also where all classes are certain
_SINGULAR = 1e-9  # share of the largest eigenvalue below which a direction is none
_TWINS = 1e-10  # correlations that differ from one by less are one
_FAST = 0.1  # a gap that falls by this factor a step needs no new curvature
_MOST_HALVINGS = 30
_AT_REST = 1e-13  # share of the loss below which a rise is rounding


@dataclass(frozen=True)
class Solution:
    """The model at one penalty; K = 1 for numbers and for two classes, else the number of classes."""

    alpha: float
    coef: np.ndarray  # (K, d), of standardised columns
    intercept: np.ndarray  # (K,), at the mean of the columns
    gradient: np.ndarray  # (K, d), of the loss, with its sign changed
    loss: float
    gap: float  # as a share of the loss without any column
    steps: int

    @property
    def support(self) -> np.ndarray:
        """Which columns take part, (d,) bool."""
        return (self.coef != 0).any(axis=0)


class LassoProblem(Protocol):
    """A loss of rows that can be solved at one penalty after the other."""

    @property
    def alpha_max(self) -> float:
        """The least penalty at which no column takes part."""

    def start(self) -> Solution:
        """Return the model without any column."""

    def at(self, alpha: float, before: Solution, tol: float, max_iter: int) -> Solution:
        """Return the model at a penalty, from that at a larger one."""


# --- least squares ----------------------------------------------------------------------------------------------------


class SquaredLoss:
    """|y - Zβ|²/2n + α|β|₁ for centered Z and y. A subclass knows Z'Z/n, or makes it as far as it is needed."""

    q: np.ndarray  # (d,) Z'y/n
    power: float  # y'y/n

    def block(self, A: np.ndarray) -> np.ndarray:
        """Return Z'Z/n of the columns A, (a, a)."""
        raise NotImplementedError

    def gradient(self, A: np.ndarray, beta: np.ndarray) -> np.ndarray:
        """Return Z'(y - Zβ)/n, (d,), where β is zero but for A."""
        raise NotImplementedError

    @property
    def alpha_max(self) -> float:
        """The least penalty at which no column takes part."""
        return float(np.abs(self.q).max())

    def start(self) -> Solution:
        """Return the model without any column."""
        zeros = np.zeros((1, self.q.size))
        return Solution(self.alpha_max, zeros, np.zeros(1), self.q[None, :], self.power / 2, 0.0, 0)

    def at(self, alpha: float, before: Solution, tol: float, max_iter: int) -> Solution:
        """Coordinate descent on the columns that may take part, until the gap is at most tol times y'y/2n."""
        slack = _ROUNDING * self.alpha_max
        coef, steps, gap = before.coef[0].copy(), 0, 0.0
        working = _may_take_part(before, alpha)[0]
        while True:
            A = np.flatnonzero(working)
            G, q, beta = self.block(A), self.q[A], coef[A]
            g, wanted = q - G @ beta, tol * self.power / 2
            made, gap = _minimise(G, q, g, beta, alpha, slack, self.power, wanted, max_iter - steps)
            steps += made
            coef[A] = beta
            gradient = self.gradient(A, beta)
            left_out = (np.abs(gradient) > alpha + 2 * slack) & ~working
            if not left_out.any() or steps >= max_iter:
                break
            working |= left_out
        fitted, left = self.q @ coef, gradient @ coef
        loss = (self.power - fitted - left) / 2
        return Solution(
            alpha, coef[None, :], np.zeros(1), gradient[None, :], float(loss), _share(gap, self.power / 2), steps
        )


@dataclass(frozen=True)
class SquaresOfMoments(SquaredLoss):
    """Least squares of which the moments are known: nothing is left of the rows but d x d numbers."""

    G: np.ndarray  # (d, d)
    q: np.ndarray
    power: float

    @classmethod
    def of(cls, moments: Moments, scale: np.ndarray) -> SquaresOfMoments:
        """Of the moments of columns and target; ``scale`` is zero for a column to be left out."""
        over = _inverse(scale)
        S = moments.scatter / moments.n
        return cls(S[:-1, :-1] * over[:, None] * over[None, :], S[:-1, -1] * over, float(S[-1, -1]))

    def block(self, A: np.ndarray) -> np.ndarray:
        """Return Z'Z/n of the columns A, (a, a)."""
        return self.G[np.ix_(A, A)]

    def gradient(self, A: np.ndarray, beta: np.ndarray) -> np.ndarray:
        """Return Z'(y - Zβ)/n, (d,)."""
        return self.q - beta @ self.G[A]


@dataclass(frozen=True)
class SquaresOfRows(SquaredLoss):
    """Least squares of rows in memory: for more columns than rows, whose d x d numbers would be too many."""

    Z: np.ndarray  # (n, d), centered
    y: np.ndarray  # (n,), centered
    q: np.ndarray
    power: float

    @classmethod
    def of(cls, Z: np.ndarray, y: np.ndarray) -> SquaresOfRows:
        """Of rows and target, which are centered here."""
        Z, y = Z - Z.mean(axis=0), y - y.mean()
        return cls(Z, y, y @ Z / len(y), float(y @ y) / len(y))

    def block(self, A: np.ndarray) -> np.ndarray:
        """Return Z'Z/n of the columns A, (a, a)."""
        some = self.Z[:, A]
        return some.T @ some / len(self.y)

    def gradient(self, A: np.ndarray, beta: np.ndarray) -> np.ndarray:
        """Return Z'(y - Zβ)/n, (d,)."""
        return (self.y - self.Z[:, A] @ beta) @ self.Z / len(self.y)


# --- logistic ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class LogLoss:
    """-log p(class)/n + α|β|₁, with a logit for the second of two classes or one for each of more."""

    Z: np.ndarray  # (n, d), about centered
    Y: np.ndarray  # (n, K) 0 or 1

    @classmethod
    def of(cls, Z: np.ndarray, codes: np.ndarray) -> LogLoss:
        """Of rows and the numbers of their classes, each of which should be met."""
        C = int(codes.max()) + 1
        return cls(np.asfortranarray(Z), (codes[:, None] == (np.arange(C) if C > 2 else [1])).astype(np.float64))

    @property
    def shares(self) -> np.ndarray:
        """The share of the rows each logit speaks for, (K,)."""
        return self.Y.mean(axis=0)

    @property
    def null(self) -> float:
        """The loss without any column."""
        p = self.shares
        return float(-(p @ np.log(p)) if len(p) > 1 else -(p @ np.log(p) + (1 - p) @ np.log(1 - p)))

    @property
    def alpha_max(self) -> float:
        """The least penalty at which no column takes part."""
        return float(np.abs((self.Y - self.shares).T @ self.Z).max()) / len(self.Y)

    def start(self) -> Solution:
        """Return the model without any column."""
        p, n = self.shares, len(self.Y)
        b = np.log(p) - np.log(p).mean() if len(p) > 1 else np.log(p / (1 - p))
        gradient = (self.Y - p).T @ self.Z / n
        alpha_max = float(np.abs(gradient).max())
        return Solution(alpha_max, np.zeros_like(gradient), b, gradient, self.null, 0.0, 0)

    def at(self, alpha: float, before: Solution, tol: float, max_iter: int) -> Solution:
        """Newton steps on the coefficients that may take part, each a penalised quadratic, until the gap is closed."""
        null, n = self.null, len(self.Y)
        slack = _ROUNDING * null
        coef, b, steps, gap = before.coef.copy(), before.intercept, 0, 0.0
        working = _may_take_part(before, alpha)  # (K, d)
        while True:
            newton = _Newton(self.Z, self.Y, np.nonzero(working), coef, b, alpha)
            gap = newton.gap()
            while gap > tol * null and steps < max_iter:
                gap = newton.step(slack)
                steps += 1
            coef, b = newton.coef, newton.b
            gradient = (self.Y - newton.P).T @ self.Z / n
            left_out = (np.abs(gradient) > alpha * (1 + tol) + slack) & ~working
            if not left_out.any() or steps >= max_iter:
                break
            working |= left_out
        coef, b = _without_shift(coef, b)
        return Solution(alpha, coef, b, gradient, newton.loss, _share(gap, null), steps)


class _Newton:
    """The state of a Newton iteration on some coefficients: those of ``pairs`` of a logit and a column."""

    def __init__(self, Z: np.ndarray, Y: np.ndarray, pairs: Any, coef: np.ndarray, b: np.ndarray, alpha: float) -> None:
        self.Y, self.pairs, self.alpha = Y, pairs, alpha
        columns, self.place = np.unique(pairs[1], return_inverse=True)
        self.Z = Z[:, columns]  # (n, a)
        self.coef, self.b = coef.copy(), b.copy()
        self.logits = self._along(coef[pairs]) + b  # (n, K)
        self.loss, self.P = _loss_and_shares(self.logits, Y)
        self.H: np.ndarray | None = None
        self._settle()
        self.found_gap = np.inf

    def step(self, slack: float) -> float:
        """Minimise the quadratic and go there; return the gap. A curvature serves as long as the gap falls fast."""
        if self.H is None:
            self._curve()
        assert self.H is not None
        g, old = self._gradient(), self.coef[self.pairs]
        new = old.copy()
        # The gap of a quadratic says little of the whole: a fixed amount of work, and a jump within.
        _minimise(self.H, g + self.H @ old, g, new, self.alpha, slack, 0.0, -np.inf, 2 * _SWEEPS)
        self._walk(new - old, -self.follow @ (new - old))
        self._settle()
        gap = self.gap()
        if gap > _FAST * self.found_gap:
            self.H = None
        self.found_gap = gap
        return gap

    def _curve(self) -> None:
        """The second derivatives, with the intercepts eliminated: they follow every change by -``follow``."""
        (n, K), logit = self.Y.shape, self.pairs[0]
        U = self.Z[:, self.place]  # (n, M)
        V = U * self.P[:, logit]
        H = V.T @ V / -n  # (M, M)
        across = self.P.T @ V / -n  # (K, M)
        for c in range(K):
            mine = np.flatnonzero(logit == c)
            H[np.ix_(mine, mine)] += U[:, mine].T @ V[:, mine] / n
            across[c, mine] += V[:, mine].sum(axis=0) / n
        own = np.diag(self.P.mean(axis=0)) - self.P.T @ self.P / n + _LEAST_WEIGHT * np.ones((K, K))
        self.follow = np.linalg.solve(own + _AT_REST * np.eye(K), across)  # (K, M)
        H -= across.T @ self.follow
        H[np.diag_indices_from(H)] += _LEAST_WEIGHT * (self.Z**2).mean(axis=0)[self.place]
        self.H = H

    def _gradient(self) -> np.ndarray:
        by_column = (self.Y - self.P).T @ self.Z / len(self.Y)  # (K, a)
        return by_column[self.pairs[0], self.place]  # (M,)

    def _along(self, change: np.ndarray) -> np.ndarray:
        """The logits of some coefficients, (n, K)."""
        spread = np.zeros((self.Y.shape[1], self.Z.shape[1]))
        spread[self.pairs[0], self.place] = change
        return self.Z @ spread.T

    def _walk(self, change: np.ndarray, shift: np.ndarray) -> None:
        """Go along a direction as far as the penalised loss does not rise."""
        along, before = self._along(change) + shift, self.loss + self.alpha * float(np.abs(self.coef).sum())
        t = 1.0
        for _ in range(_MOST_HALVINGS):
            coef, logits = self.coef.copy(), self.logits + t * along
            coef[self.pairs] += t * change
            loss, P = _loss_and_shares(logits, self.Y)
            if loss + self.alpha * float(np.abs(coef).sum()) <= before * (1 + _AT_REST):
                self.coef, self.b, self.logits, self.loss, self.P = coef, self.b + t * shift, logits, loss, P
                return
            t /= 2
        self.H = None

    def _settle(self) -> None:
        """Bring the intercepts to their best for these coefficients: only then is the gap one."""
        n, K = self.Y.shape
        for _ in range(_MOST_HALVINGS):
            r = (self.Y - self.P).sum(axis=0) / n  # (K,)
            if np.abs(r).max() <= _AT_REST:
                return
            own = np.diag(self.P.mean(axis=0)) - self.P.T @ self.P / n + _LEAST_WEIGHT * np.ones((K, K))
            shift = np.linalg.solve(own + _AT_REST * np.eye(K), r)
            logits = self.logits + shift
            loss, P = _loss_and_shares(logits, self.Y)
            if loss > self.loss * (1 + _AT_REST):
                return
            self.b, self.logits, self.loss, self.P = self.b + shift, logits, loss, P

    def gap(self) -> float:
        """The duality gap among these coefficients."""
        largest = np.abs(self._gradient()).max(initial=0.0)
        scale = 1.0 if largest <= self.alpha else self.alpha / largest
        dual = _entropy(self.Y - scale * (self.Y - self.P))  # between truth and model, feasible for the dual
        return self.loss + self.alpha * float(np.abs(self.coef).sum()) - dual


def _without_shift(coef: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Of the models that differ by a shift of all logits, and cost the same, the one with most zeros.

    Intercepts then add up to zero. The coefficients of a column may be shifted between their two middle values, which
    differ only where the number of classes is even: the one that more of them share becomes zero, else the lower.
    """
    K = len(b)
    if K == 1:
        return coef, b
    if K % 2 == 0:
        low, high = np.sort(coef, axis=0)[K // 2 - 1 : K // 2 + 1]
        coef = coef - np.where((coef == high).sum(axis=0) > (coef == low).sum(axis=0), high, low)
    return coef, b - b.mean()


def _loss_and_shares(logits: np.ndarray, Y: np.ndarray) -> tuple[float, np.ndarray]:
    """The mean of -log p of the true class, and p of each logit's class, (n, K)."""
    if logits.shape[1] == 1:
        s = logits[:, 0]
        loss = np.logaddexp(0.0, s) - Y[:, 0] * s
        return float(loss.mean()), (0.5 * (1 + np.tanh(s / 2)))[:, None]
    s = logits - logits.max(axis=1)[:, None]
    E = np.exp(s)
    total = E.sum(axis=1)
    return float((np.log(total) - (Y * s).sum(axis=1)).mean()), E / total[:, None]


def log_loss(logits: np.ndarray, Y: np.ndarray) -> float:
    """Return the mean of -log p of the true class; logits and Y are (n, K)."""
    return _loss_and_shares(logits, Y)[0]


def _entropy(U: np.ndarray) -> float:
    """The mean entropy of shares, (n, K); of a single logit those of its class."""
    parts = U if U.shape[1] > 1 else np.concatenate([U, 1 - U], axis=1)
    parts = np.clip(parts, 0.0, 1.0)
    return float(-(parts * np.log(np.where(parts > 0, parts, 1.0))).sum(axis=1).mean())


# --- shared -----------------------------------------------------------------------------------------------------------


def _minimise(
    G: np.ndarray, q: np.ndarray, g: np.ndarray, beta: np.ndarray, alpha: float, slack: float, power: float,
    wanted: float, most: int,
) -> tuple[int, float]:  # fmt: skip
    """Minimise β'Gβ/2 - q'β + α|β|₁ in place: some sweeps, then a jump, in turns; return the sweeps and the gap."""
    steps = 0
    while True:
        made, gap = descend(G, q, g, beta, alpha, slack, power, wanted, min(_SWEEPS, most - steps))
        steps += made
        done = gap <= wanted or steps >= most
        if done or not _jump(G, q, g, beta, alpha):
            _merge_twins(G, q, g, beta)
        if done:
            return steps, gap


def _merge_twins(G: np.ndarray, q: np.ndarray, g: np.ndarray, beta: np.ndarray) -> None:
    """Give what columns share that are multiples of each other to the largest of them, and of equals to the first."""
    A = np.flatnonzero(beta)
    size = np.sqrt(G[A, A])
    twins = np.argwhere(np.triu(np.abs(G[np.ix_(A, A)]) >= (1 - _TWINS) * np.outer(size, size), 1))
    for i, j in twins:
        to, of = (i, j) if size[i] >= (1 - _TWINS) * size[j] else (j, i)
        beta[A[to]] += beta[A[of]] * G[A[to], A[of]] / G[A[to], A[to]]
        beta[A[of]] = 0.0
    if len(twins):
        g[:] = q - G @ beta


def _jump(G: np.ndarray, q: np.ndarray, g: np.ndarray, beta: np.ndarray, alpha: float) -> bool:
    """Go straight to the minimum for these columns and signs, or up to the first coefficient that would change sign.

    Sweeps find soon which columns take part, and take long to find the values where these are correlated. False: the
    equations are too close to singular to be solved.
    """
    A = np.flatnonzero(beta)
    if not A.size:
        return True
    before, signs = beta[A], np.sign(beta[A])
    try:
        goal = cho_solve(cho_factor(G[np.ix_(A, A)], check_finite=False), q[A] - alpha * signs, check_finite=False)
    except np.linalg.LinAlgError:  # columns that others make up
        return _leave(G, g, beta, alpha)
    flips = np.flatnonzero(goal * signs <= 0)
    if flips.size:
        t = before[flips] / (before[flips] - goal[flips])  # shares of the way
        first = flips[np.argmin(t)]
        goal = before + t.min() * (goal - before)
        goal[first] = 0.0
    change = goal - before
    after = g - change @ G[A]
    if change @ (alpha * signs - (g[A] + after[A]) / 2) > 0:  # the objective would rise
        return _leave(G, g, beta, alpha)
    beta[A], g[:] = goal, after
    return True


def _leave(G: np.ndarray, g: np.ndarray, beta: np.ndarray, alpha: float) -> bool:
    """Take a column out that the others make up: along a direction that changes no fit, until a coefficient is zero.

    With as many columns as rows the sweeps would take very long to find that one is too many.
    """
    A = np.flatnonzero(beta)
    values, vectors = np.linalg.eigh(G[np.ix_(A, A)])
    if values[0] > _SINGULAR * values[-1]:
        return False
    v = vectors[:, 0]
    v = -v if v @ (alpha * np.sign(beta[A]) - g[A]) > 0 else v  # the way the objective falls
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


def _may_take_part(before: Solution, alpha: float) -> np.ndarray:
    """Coefficients in the model, and those whose gradient could grow to α if it grew as fast as the penalty falls."""
    return (before.coef != 0) | (np.abs(before.gradient) >= 2 * alpha - before.alpha)


def _share(gap: float, null: float) -> float:
    return max(gap, 0.0) / null if null > 0 else 0.0


def _inverse(scale: np.ndarray) -> np.ndarray:
    """One over the scale, zero where that is zero."""
    return np.where(scale > 0, 1 / np.where(scale > 0, scale, 1.0), 0.0)

"""Logistic regression with an L1 penalty, solved at one penalty by proximal Newton steps.

Each step minimizes the penalized quadratic approximation by coordinate descent. Coefficients are those of standardized
columns. Every solution has its duality gap.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from lowland.math.selection.lasso import (
    ORTHOGONAL,
    ROUNDING,
    SWEEPS,
    Solution,
    Stalled,
    minimize,
    relative_gap,
    strong_set,
)
from lowland.run.progress import pulse

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
        return largest if largest > ORTHOGONAL * length else 0.0

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
        slack = ROUNDING * null
        coef, b, steps, gap = before.coef.copy(), before.intercept, 0, 0.0
        working = strong_set(before, alpha)  # (K, d)
        while True:
            newton = _NewtonIteration(self.Z, self.Y, np.nonzero(working), coef, b, alpha)
            gap, stalled = newton.gap(slack), Stalled()
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
        return Solution(alpha, coef, b, gradient, newton.loss, relative_gap(gap, null), steps)


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
        minimize(self.H, g + self.H @ old, g, new, self.alpha, slack, 0.0, -np.inf, 2 * SWEEPS)
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
        dual = _entropy(self.Y - scale * (self.Y - self.P))  # scaled residuals are feasible for the dual
        return self.loss + self.alpha * float(np.abs(self.coef).sum()) - dual


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


def _entropy(U: np.ndarray) -> float:
    """The mean entropy of probabilities, (n, K); a single logit stands for two classes."""
    parts = U if U.shape[1] > 1 else np.concatenate([U, 1 - U], axis=1)
    parts = np.clip(parts, 0.0, 1.0)
    return float(-(parts * np.log(np.where(parts > 0, parts, 1.0))).sum(axis=1).mean())

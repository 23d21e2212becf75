"""The lasso: a squared or logistic loss plus α times the sum of the absolute coefficients, solved at one α.

With the squared loss the coefficients are piecewise linear in α, and least-angle regression follows them exactly
(Efron, Hastie, Johnstone and Tibshirani 2004, doi:10.1214/009053604000000067). With the logistic loss proximal Newton
steps minimize the penalized quadratic approximation by coordinate descent, on the columns that may be active by the
strong rule (Tibshirani and others 2012, doi:10.1111/j.1467-9868.2011.01004.x). Coefficients are those of standardized
columns. Every solution has its duality gap.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import enet_path, lars_path, lars_path_gram

from lowland.math.statistics.moments import Moments
from lowland.run.progress import pulse

_ROUNDING = 64 * np.finfo(np.float64).eps
_ORTHOGONAL = 1e-12  # a correlation with the target below this is rounding error
_LATER = 1e-11  # fraction by which the last column counts less than the first, so that no two enter at the same penalty
_DROPPED = 1e-12  # fraction of its largest value below which a coefficient is zero, or a difference of penalties
_AHEAD = 6.0  # factor by which the path is followed beyond the penalty that is asked for


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


def inverse_scale(scale: np.ndarray) -> np.ndarray:
    """Return one over the scale, zero where the scale is zero."""
    return np.where(scale > 0, 1 / np.where(scale > 0, scale, 1.0), 0.0)


# --- squared loss ---


class SquaredLoss:
    """|y - Zβ|²/2n + α|β|₁ for centered Z and y, from Z'Z/n, or from the rows."""

    solver: ClassVar[str] = "least-angle regression"

    def __init__(
        self,
        q: np.ndarray,  # (d,) Z'y/n
        power: float,  # y'y/n
        variances: np.ndarray,  # (d,)
        columns: np.ndarray,  # (m, d), Z or Z'Z: multiples of each other where columns of Z are
        products: Callable[[np.ndarray], np.ndarray],  # Z'Zβ/n, (d,)
        follow: Callable[..., Any],  # least-angle regression for some columns times factors, (a,), and y times one
    ) -> None:
        self.q, self.power, self.products, self.follow = q, power, products, follow
        self.deviations = math.sqrt(variances.max()), math.sqrt(power)  # the largest of a column, and that of y
        self.candidates = without_multiples(columns)
        self.lowest, self.knots, self.coefs = np.inf, np.array([np.inf]), np.zeros((1, q.size))  # (m,), (m, d)

    @classmethod
    def of_covariances(cls, G: np.ndarray, q: np.ndarray, power: float) -> SquaredLoss:
        """Return the problem of G = Z'Z/n, (d, d): d x d numbers stand for the rows."""

        def follow(some: np.ndarray, factors: np.ndarray, of_y: float, **options: Any) -> Any:
            between = G[np.ix_(some, some)] * factors * factors[:, None]
            return lars_path_gram(q[some] * factors * of_y, between, n_samples=1, **options)

        return cls(q, power, G.diagonal(), G, lambda beta: G @ beta, follow)

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
        n = len(y)

        def follow(some: np.ndarray, factors: np.ndarray, of_y: float, **options: Any) -> Any:
            return lars_path(Z[:, some] * factors, y * of_y, Gram=None, **options)

        return cls(y @ Z / n, float(y @ y) / n, (Z**2).mean(axis=0), Z, lambda beta: Z @ beta @ Z / n, follow)

    @property
    def alpha_max(self) -> float:
        """The smallest penalty at which all coefficients are zero; 0 if no column is correlated with the target."""
        largest = float(np.abs(self.q).max())
        return largest if largest > _ORTHOGONAL * math.prod(self.deviations) else 0.0

    def start(self) -> Solution:
        """Return the null model, without any column."""
        zeros = np.zeros((1, self.q.size))
        return Solution(self.alpha_max, zeros, np.zeros(1), self.q[None, :], self.power / 2, 0.0, 0)

    def at(self, alpha: float, before: Solution, tol: float, max_iter: int) -> Solution:
        """Return the point of the path at a penalty, and its duality gap; ``tol`` is not needed, the path is exact."""
        pulse()
        if alpha < self.lowest:
            self._extend(alpha / _AHEAD, max_iter)
        knots = self.knots
        i = min(
            int(np.searchsorted(-knots, -alpha * (1 + _DROPPED))), len(knots) - 1
        )  # knots[i] <= alpha < knots[i - 1]
        part = max((alpha - knots[i]) / (knots[i - 1] - knots[i]), 0.0) if i > 1 else 0.0
        coef = (1 - part) * self.coefs[i] + part * self.coefs[i - 1]
        steps = max(i - int(np.searchsorted(-knots, -before.alpha)), 0)
        gradient = self.q - self.products(coef)
        fitted, largest = self.q @ coef, float(np.abs(gradient).max())
        residual = self.power - fitted - gradient @ coef  # |y - Zβ|²/n
        feasible = largest <= alpha + _ROUNDING * float(np.abs(self.q).max())
        scale = 1.0 if feasible else alpha / largest  # makes the residual feasible for the dual
        gap = residual * (1 + scale**2) / 2 + alpha * np.abs(coef).sum() - scale * (self.power - fitted)
        gap = max(float(gap), 0.0) / (self.power / 2) if self.power > 0 else 0.0
        return Solution(alpha, coef[None, :], np.zeros(1), gradient[None, :], float(residual) / 2, gap, steps)

    def _extend(self, lowest: float, max_iter: int) -> None:
        """Follow the path down to a penalty, or until ``max_iter`` columns have entered or left."""
        some, (largest, of_y) = self.candidates, self.deviations
        factors = (1 - _LATER * np.arange(len(some)) / len(some)) / largest
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # the duality gap tells
            knots, _, coefs = self.follow(
                some, factors, 1 / of_y, alpha_min=lowest / (largest * of_y), method="lasso", max_iter=max_iter
            )
        coefs = coefs.T * (factors * of_y)  # (m, a)
        coefs[np.abs(coefs) <= _DROPPED * np.abs(coefs).max(axis=0)] = 0.0
        self.coefs = np.zeros((len(knots) + 1, self.q.size))
        self.coefs[1:, some] = coefs
        self.lowest, self.knots = lowest, np.concatenate([[np.inf], knots * (largest * of_y)])


def without_multiples(M: np.ndarray) -> np.ndarray:
    """Return the columns of M that vary, one of all that are multiples of each other: the first of the largest.

    Multiples are found by their projections on two random directions.
    """
    size = np.linalg.norm(M, axis=0)
    over = inverse_scale(size)
    H = np.random.default_rng(0).standard_normal((2, len(M))) @ M * over
    group = np.unique((H * np.sign(H[0])).round(9), axis=1, return_inverse=True)[1].ravel()
    order = np.lexsort((np.log(over + (size == 0)).round(6), group))
    first = order[np.unique(group[order], return_index=True)[1]]
    return np.sort(first[size[first] > 0])


# --- logistic loss ---

_LEAST_WEIGHT = 1e-12  # smallest curvature, also where all predicted probabilities are 0 or 1
_FAST = 0.1  # if a step reduces the gap by this factor, the Hessian is reused
_MOST_HALVINGS = 30
_ROUNDED_LOSS = 1e-13  # fraction of the loss below which an increase is rounding error
_SWEEPS = 1000  # of coordinate descent in a Newton step
_LESS, _IN_VAIN = 0.99, 100  # a decrease of the gap by one percent, within this many steps


@dataclass(frozen=True)
class LogLoss:
    """-log p(class)/n + α|β|₁, with one logit for two classes, otherwise one per class (multinomial)."""

    solver: ClassVar[str] = "proximal Newton"
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
        # the strong rule: columns that are active now, or whose gradient could reach α if it changed as fast as that
        working = (before.coef != 0) | (np.abs(before.gradient) >= 2 * alpha - before.alpha)  # (K, d)
        while True:
            newton = _NewtonIteration(self.Z, self.Y, np.nonzero(working), coef, b, alpha)
            gap = least = newton.gap(slack)
            in_vain = 0
            while gap > tol * null and steps < max_iter and in_vain < _IN_VAIN:
                gap = newton.step(slack)
                in_vain = 0 if gap < _LESS * least else in_vain + 1
                steps, least = steps + 1, min(gap, least)
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
        old = self.coef[self.pairs]
        change = _minimum(self.H, self._gradient() + self.H @ old, old, self.alpha) - old
        self._line_search(change, -self.response @ change)
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


def _minimum(H: np.ndarray, q: np.ndarray, start: np.ndarray, alpha: float) -> np.ndarray:
    """Minimize β'Hβ/2 - q'β + α|β|₁ by coordinate descent."""
    if not q.size:
        return start
    power = 2 * abs(float(q @ np.linalg.lstsq(H, q)[0]))  # at least y'y of rows with this H and q
    unused = np.empty((1, q.size)), np.full(1, math.sqrt(power))  # H and q stand for rows and target
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the next step goes on
        _, coefs, _ = enet_path(
            *unused, l1_ratio=1.0, alphas=[alpha], precompute=H, Xy=q, coef_init=start.copy(), tol=1e-14,
            max_iter=_SWEEPS, check_input=False, random_state=0,
        )  # fmt: skip
    return coefs[:, 0]


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

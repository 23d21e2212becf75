"""The lasso: squared loss plus α times the sum of the absolute coefficients, solved at one α.

The strong rule (Tibshirani and others 2012, doi:10.1111/j.1467-9868.2011.01004.x) restricts the problem to columns that
may become active. Coordinate descent solves it, with direct solves on the active set in between. The gradient of all
columns is then checked, and columns that violate the optimality conditions are added. Coefficients are those of
standardized columns. Every solution has its duality gap.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from lowland.kernels.selection import descend
from lowland.math.statistics.moments import Moments
from lowland.run.progress import pulse

ROUNDING = 64 * np.finfo(np.float64).eps
ORTHOGONAL = 1e-12  # a correlation with the target below this is rounding error
SWEEPS = 10  # sweeps before each direct solve on the active set
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
        return largest if largest > ORTHOGONAL * math.sqrt(self.power * self.largest_variance) else 0.0

    def start(self) -> Solution:
        """Return the null model, without any column."""
        zeros = np.zeros((1, self.q.size))
        return Solution(self.alpha_max, zeros, np.zeros(1), self.q[None, :], self.power / 2, 0.0, 0)

    def at(self, alpha: float, before: Solution, tol: float, max_iter: int) -> Solution:
        """Coordinate descent on the working set, until the duality gap is at most tol times y'y/2n."""
        slack = ROUNDING * float(np.abs(self.q).max())
        coef, steps, gap = before.coef[0].copy(), 0, 0.0
        working = strong_set(before, alpha)[0]
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
        fitted, left = self.q @ coef, gradient @ coef
        loss = (self.power - fitted - left) / 2
        return Solution(
            alpha, coef[None, :], np.zeros(1), gradient[None, :], float(loss), relative_gap(gap, self.power / 2), steps
        )


def strong_set(before: Solution, alpha: float) -> np.ndarray:
    """Return which coefficients may be nonzero at a penalty, (K, d) bool: the strong rule.

    Those that are nonzero now, and those whose gradient could reach α if it changed as fast as the penalty.
    """
    return (before.coef != 0) | (np.abs(before.gradient) >= 2 * alpha - before.alpha)


def relative_gap(gap: float, null: float) -> float:
    """Return a duality gap as a fraction of the null model's loss."""
    return max(gap, 0.0) / null if null > 0 else 0.0


def inverse_scale(scale: np.ndarray) -> np.ndarray:
    """Return one over the scale, zero where the scale is zero."""
    return np.where(scale > 0, 1 / np.where(scale > 0, scale, 1.0), 0.0)


# --- coordinate descent on β'Gβ/2 - q'β + α|β|₁ ---


class Stalled:
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
    steps, stalled = 0, Stalled()
    while True:
        made, gap = descend(G, q, g, beta, alpha, slack, power, wanted, min(SWEEPS, most - steps))
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

"""The lasso: squared loss plus α times the sum of the absolute coefficients, solved at one α.

The strong rule (Tibshirani and others 2012, doi:10.1111/j.1467-9868.2011.01004.x) restricts the problem to columns that
may become active. The gradient of all columns is then checked, and columns that violate the optimality conditions are
added. Coefficients are those of standardized columns. Every solution has its duality gap.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from lowland.math.selection.coordinate_descent import minimize
from lowland.math.statistics.moments import Moments

ROUNDING = 64 * np.finfo(np.float64).eps
ORTHOGONAL = 1e-12  # a correlation with the target below this is rounding error


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


class LassoProblem(Protocol):
    """An L1-penalized loss that can be solved at a sequence of penalties."""

    @property
    def alpha_max(self) -> float:
        """The smallest penalty at which all coefficients are zero."""

    def start(self) -> Solution:
        """Return the null model, without any column."""

    def at(self, alpha: float, before: Solution, tol: float, max_iter: int) -> Solution:
        """Return the model at a penalty, warm-started from the model at a larger one."""


class SquaredLoss:
    """|y - Zβ|²/2n + α|β|₁ for centered Z and y. A subclass stores Z'Z/n, or computes the blocks it needs."""

    q: np.ndarray  # (d,) Z'y/n
    power: float  # y'y/n

    @property
    def largest_variance(self) -> float:
        """The largest variance of a column."""
        raise NotImplementedError

    def block(self, A: np.ndarray) -> np.ndarray:
        """Return Z'Z/n of the columns A, (a, a)."""
        raise NotImplementedError

    def gradient(self, A: np.ndarray, beta: np.ndarray) -> np.ndarray:
        """Return Z'(y - Zβ)/n, (d,), where β is zero outside A."""
        raise NotImplementedError

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


@dataclass(frozen=True)
class SquaresOfMoments(SquaredLoss):
    """Least squares from moments: d x d numbers stand for the rows."""

    G: np.ndarray  # (d, d)
    q: np.ndarray
    power: float

    @classmethod
    def of(cls, moments: Moments, scale: np.ndarray) -> SquaresOfMoments:
        """Return the problem of the moments of columns and target; ``scale`` is zero for a column to be left out."""
        over = inverse_scale(scale)
        S = moments.scatter / moments.n
        return cls(S[:-1, :-1] * over[:, None] * over[None, :], S[:-1, -1] * over, float(S[-1, -1]))

    @property
    def largest_variance(self) -> float:
        """The largest variance of a column."""
        return float(self.G.diagonal().max())

    def block(self, A: np.ndarray) -> np.ndarray:
        """Return Z'Z/n of the columns A, (a, a)."""
        return self.G[np.ix_(A, A)]

    def gradient(self, A: np.ndarray, beta: np.ndarray) -> np.ndarray:
        """Return Z'(y - Zβ)/n, (d,)."""
        return self.q - beta @ self.G[A]


@dataclass(frozen=True)
class SquaresOfRows(SquaredLoss):
    """Least squares from rows in memory: for more columns than rows, whose d x d moments would be larger."""

    Z: np.ndarray  # (n, d), centered
    y: np.ndarray  # (n,), centered
    q: np.ndarray
    power: float

    @classmethod
    def of(cls, Z: np.ndarray, y: np.ndarray) -> SquaresOfRows:
        """Return the problem of rows and target, which are centered here."""
        Z, y = Z - Z.mean(axis=0), y - y.mean()
        return cls(Z, y, y @ Z / len(y), float(y @ y) / len(y))

    @property
    def largest_variance(self) -> float:
        """The largest variance of a column."""
        return float(np.einsum("ij,ij->j", self.Z, self.Z).max()) / len(self.y)

    def block(self, A: np.ndarray) -> np.ndarray:
        """Return Z'Z/n of the columns A, (a, a)."""
        some = self.Z[:, A]
        return some.T @ some / len(self.y)

    def gradient(self, A: np.ndarray, beta: np.ndarray) -> np.ndarray:
        """Return Z'(y - Zβ)/n, (d,)."""
        return (self.y - self.Z[:, A] @ beta) @ self.Z / len(self.y)


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

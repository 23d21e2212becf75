"""Coordinate descent on β'Gβ/2 - q'β + α|β|₁, with direct solves on the active set in between."""

from __future__ import annotations

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from lowland.kernels.coordinate_descent import descend
from lowland.run.progress import pulse

SWEEPS = 10  # sweeps before each direct solve on the active set
_LESS, _IN_VAIN = 0.99, 100  # a decrease of the gap by one percent, within this many rounds
_SINGULAR = 1e-9  # fraction of the largest eigenvalue below which an eigenvalue counts as zero
_DUPLICATE = 1e-10  # correlations within this of one count as one


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

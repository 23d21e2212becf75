"""Regularization paths: the models at decreasing penalties, the order in which columns enter, and cross-validation."""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from lowland.errors import DataError, ParameterError
from lowland.math.optimize.outcome import Outcome, Promise
from lowland.math.selection.lasso import LassoProblem, Solution, SquaresOfMoments
from lowland.math.selection.lasso_data import LassoData
from lowland.math.selection.selection_path import Move

_HALVINGS = 40
_LOWEST = 1e-6  # fraction of the largest penalty down to which the path is extended where columns are missing

DUALITY_GAP = Promise(
    "largest duality gap on the path, relative to the loss of the null model", "tol", "none: the solver computes it"
)


@dataclass(frozen=True)
class LassoPath:
    """The models at the penalties of a grid, from the largest to the smallest."""

    solutions: tuple[Solution, ...]
    null_loss: float  # of the null model, without any column

    @property
    def alphas(self) -> np.ndarray:
        """The penalties, (m,), in decreasing order."""
        return np.array([each.alpha for each in self.solutions])

    @property
    def coef(self) -> np.ndarray:
        """The coefficients, (m, K, d); K = 1 for numbers and for two classes."""
        return np.stack([each.coef for each in self.solutions])

    @property
    def dual_gaps(self) -> np.ndarray:
        """The duality gaps as fractions of the null model's loss, (m,)."""
        return np.array([each.gap for each in self.solutions])

    @property
    def entry_alphas(self) -> np.ndarray:
        """The largest penalty at which each column is active, (d,); zero for a column that never is."""
        took_part = np.stack([each.support for each in self.solutions])  # (m, d)
        return np.where(took_part.any(axis=0), self.alphas[np.argmax(took_part, axis=0)], 0.0)

    def moves(self) -> Iterator[Move]:
        """Yield every entry and removal of a column; the score is the fraction of the null loss explained there."""
        inside: tuple[int, ...] = ()
        for each in self.solutions:
            now, score = each.support, 1 - each.loss / self.null_loss
            gone = [j for j in inside if not now[j]]
            for action, columns in (("remove", gone), ("add", _entering(each, list(inside)))):
                for j in columns:
                    inside = tuple(i for i in inside if i != j) if action == "remove" else tuple(sorted((*inside, j)))
                    yield Move(action, j, float(score), inside)

    def outcome(self, tol: float) -> Outcome:
        """Return the outcome of the solver; ``tol`` is the duality gap at which a penalty counts as solved."""
        gaps = self.dual_gaps
        return Outcome(
            "coordinate descent",
            iterations=sum(each.steps for each in self.solutions),
            converged=bool((gaps <= tol).all()),
            trace=tuple(gaps.tolist()),
            accuracy=DUALITY_GAP.checked(float(gaps.max()), tol),
        )


def lasso_path(
    G: np.ndarray,
    q: np.ndarray,
    alphas: int | Sequence[float] | np.ndarray = 100,
    *,
    y_squares: float = 1.0,
    eps: float = 1e-3,
    tol: float = 1e-9,
    max_iter: int = 100_000,
) -> LassoPath:
    """Minimize β'Gβ/2 - q'β + α Σ_j |β_j| on a grid of decreasing penalties α, with warm starts.

    Parameters
    ----------
    G : ndarray of shape (d, d)
        Z'Z/n of centered columns: their correlations, if standardized.
    q : ndarray of shape (d,)
        Z'y/n: their correlations with the target, if it is standardized too.
    alphas : int or sequence of float
        Number of penalties, or the penalties themselves.
    y_squares : float
        y'y/n, 1 for a standardized target; the duality gap is relative to it.
    eps : float
        Smallest penalty of the grid as a fraction of the largest.
    tol : float
        Duality gap at which a penalty counts as solved, as a fraction of y'y/2n.
    max_iter : int
        Largest number of sweeps over the columns at each penalty.

    Returns
    -------
    LassoPath
        ``alphas`` (m,) in decreasing order, ``coef`` (m, 1, d), ``entry_alphas`` (d,), ``dual_gaps`` (m,).

    Examples
    --------
    >>> import numpy as np
    >>> path = lasso_path(np.eye(2), np.array([0.8, -0.5]), [0.6, 0.1])
    >>> path.coef[:, 0].round(3).tolist()
    [[0.2, 0.0], [0.7, -0.4]]
    """
    problem = SquaresOfMoments(np.asarray(G, dtype=np.float64), np.asarray(q, dtype=np.float64), float(y_squares))
    return path_of(problem, grid_of(alphas, problem.alpha_max, eps), tol, max_iter)


def path_of(
    problem: LassoProblem, alphas: np.ndarray, tol: float, max_iter: int, tick: Callable[[], Any] = lambda: None
) -> LassoPath:
    """Return the path of a problem; ``tick`` is called after each penalty."""
    found = [problem.start()]
    for alpha in alphas:  # with warm starts
        found.append(problem.at(float(alpha), found[-1], tol, max_iter))
        tick()
    return LassoPath(tuple(found[1:]), found[0].loss)


def grid_of(alphas: Any, alpha_max: float, eps: float, *, unit: float = 1.0) -> np.ndarray:
    """Return penalties in decreasing order: a geometric grid of the given number, or the given penalties.

    Given penalties are divided by ``unit``.
    """
    if not alpha_max > 0:
        raise DataError(
            "Every covariance of a column with `y` is zero, up to rounding error, so no column enters at any "
            "penalty. Pass columns that are correlated with `y`."
        )
    if isinstance(alphas, numbers.Integral):
        m = int(alphas)
        return np.geomspace(alpha_max, alpha_max * eps, m) if m > 1 else np.array([alpha_max * eps])
    try:
        given = np.asarray(alphas, dtype=np.float64) / unit
    except (TypeError, ValueError) as error:
        raise ParameterError(
            f"The penalties {alphas!r}: {error}. Pass the number of penalties, or a list of positive numbers."
        ) from error
    if given.ndim != 1 or given.size == 0 or not np.isfinite(given).all() or (given <= 0).any():
        raise ParameterError("The penalties must be finite and positive. Pass a list of at least one such number.")
    return np.sort(given)[::-1]


def first_to_enter(
    problem: LassoProblem, alphas: np.ndarray, k: int, tol: float, max_iter: int, *, linger: bool = False
) -> tuple[list[int], Solution]:
    """Return the first k columns to enter, in order, and the last model that uses no others.

    Without ``linger`` the model is the first with k columns. Where several columns enter between two penalties of the
    grid, the interval is bisected until they enter one at a time. Where fewer than k have entered at the end of the
    grid, smaller penalties are tried.
    """
    order: list[int] = []
    found = problem.start()
    for alpha in _extended_grid(alphas, problem.alpha_max):
        if len(order) == k and not (linger and alpha >= alphas[-1]):
            break
        now = problem.at(alpha, found, tol, max_iter)
        new = _entering(now, order)
        if len(order) + len(new) > k:
            return _bisect(problem, found, now, order, k, tol, max_iter)
        order, found = order + new, now
    return order, found


def _extended_grid(alphas: np.ndarray, alpha_max: float) -> Iterator[float]:
    """The penalties of a grid, followed by smaller ones."""
    yield from alphas.tolist()
    top = min(float(alphas[0]), alpha_max)
    alpha = min(float(alphas[-1]) / 2, alpha_max)
    while alpha > _LOWEST * top:
        yield alpha
        alpha /= 2


def _bisect(
    problem: LassoProblem, before: Solution, after: Solution, order: list[int], k: int, tol: float, max_iter: int
) -> tuple[list[int], Solution]:
    """Bisect the interval between two penalties until exactly k columns have entered."""
    for _ in range(_HALVINGS):
        if len(order) == k:
            break
        now = problem.at(math.sqrt(before.alpha * after.alpha), before, tol, max_iter)
        new = _entering(now, order)
        if len(order) + len(new) > k:
            after = now
        else:
            order, before = order + new, now
    return order + _entering(after, order)[: k - len(order)], before


def _entering(found: Solution, order: list[int]) -> list[int]:
    """Columns that are active for the first time, the largest coefficient first."""
    sizes = np.abs(found.coef).max(axis=0)
    sizes[order] = 0.0
    new = np.flatnonzero(sizes)
    return new[np.argsort(-sizes[new], kind="stable")].tolist()


def fill_support(order: Sequence[int], sizes: np.ndarray, k: int) -> tuple[np.ndarray, int]:
    """Mark the first k columns, (d,) bool; where fewer entered, add those with the largest ``sizes``.

    Also return how many were added.
    """
    support = np.isin(np.arange(len(sizes)), order[:k])
    missing = k - int(support.sum())
    if missing:
        near = np.where(support, -1.0, sizes)
        support[np.argsort(-near, kind="stable")[:missing]] = True
    return support, missing


def cross_validated_losses(
    sample: LassoData, alphas: np.ndarray, tol: float, max_iter: int, tick: Callable[[], Any]
) -> np.ndarray:
    """Return the loss of each penalty on the held-out rows of each fold, (m, F)."""
    losses = np.empty((len(alphas), len(sample.layout.splits)))
    for fold in range(losses.shape[1]):
        problem = sample.part(fold, 0)
        assert problem is not None  # checked before
        losses[:, fold] = sample.losses(fold, path_of(problem, alphas, tol, max_iter, tick).solutions)
    return losses

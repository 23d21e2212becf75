"""Paths of sparse models: from the penalty that keeps every column out, down a grid; who enters, and when to stop."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from lowland.blocks.selection.lasso import LassoProblem, Solution
from lowland.blocks.selection.lasso_data import LassoData
from lowland.blocks.selection.subset_search import Move, Step
from lowland.errors import DataError, ParameterError

_HALVINGS = 40
_LOWEST = 1e-6  # of the largest penalty: below the grid it is followed so far, where columns are still wanted


def grid_of(alphas: Any, alpha_max: float, eps: float) -> np.ndarray:
    """Return penalties in falling order: as many as said, evenly by their logarithms, or those given."""
    if not alpha_max > 0:
        raise DataError(
            "No column varies together with y: every covariance is zero, so no penalty lets one in. Pass columns that "
            "say something of y."
        )
    if isinstance(alphas, int | np.integer):
        return np.geomspace(alpha_max, alpha_max * eps, int(alphas)) if alphas > 1 else np.array([alpha_max * eps])
    given = np.asarray(alphas, dtype=np.float64)
    if given.ndim != 1 or given.size == 0 or not np.isfinite(given).all() or (given <= 0).any():
        raise ParameterError("alphas: the penalties must be numbers above zero, one or more. Give a list of such.")
    return np.sort(given)[::-1]


def follow(problem: LassoProblem, alphas: np.ndarray, tol: float, max_iter: int) -> Iterator[Solution]:
    """Yield the model at each penalty, each starting from the one before."""
    found = problem.start()
    for alpha in alphas:
        found = problem.at(float(alpha), found, tol, max_iter)
        yield found


def first_to_enter(
    problem: LassoProblem, alphas: np.ndarray, k: int, tol: float, max_iter: int, *, linger: bool = False
) -> tuple[list[int], Solution]:
    """Return the first k columns to enter, in order, and the last model before there were more (or as soon as k).

    Where several enter between two penalties of the grid, that stretch is halved until they come one by one. Where
    fewer than k have entered at its end, smaller penalties are tried.
    """
    order: list[int] = []
    found = problem.start()
    for alpha in _on_and_on(alphas, problem.alpha_max):
        if len(order) == k and not (linger and alpha >= alphas[-1]):
            break
        now = problem.at(alpha, found, tol, max_iter)
        new = _newcomers(now, order)
        if len(order) + len(new) > k:
            return _one_by_one(problem, found, now, order, k, tol, max_iter)
        order, found = order + new, now
    return order, found


def _on_and_on(alphas: np.ndarray, alpha_max: float) -> Iterator[float]:
    """The penalties of a grid, and then smaller ones, from where columns enter."""
    yield from alphas.tolist()
    top = min(float(alphas[0]), alpha_max)
    alpha = min(float(alphas[-1]) / 2, alpha_max)
    while alpha > _LOWEST * top:
        yield alpha
        alpha /= 2


def _one_by_one(
    problem: LassoProblem, before: Solution, after: Solution, order: list[int], k: int, tol: float, max_iter: int
) -> tuple[list[int], Solution]:
    """Halve the stretch between two penalties until exactly k columns have entered."""
    for _ in range(_HALVINGS):
        if len(order) == k:
            break
        now = problem.at(math.sqrt(before.alpha * after.alpha), before, tol, max_iter)
        new = _newcomers(now, order)
        if len(order) + len(new) > k:
            after = now
        else:
            order, before = order + new, now
    return order + _newcomers(after, order)[: k - len(order)], before


def _newcomers(found: Solution, order: list[int]) -> list[int]:
    """Columns that take part for the first time, the largest coefficient first."""
    sizes = np.abs(found.coef).max(axis=0)
    sizes[order] = 0.0
    new = np.flatnonzero(sizes)
    return new[np.argsort(-sizes[new], kind="stable")].tolist()


# --- what a path tells ---------------------------------------------------------------------------------------------


def entered_at(found: Sequence[Solution]) -> np.ndarray:
    """Return the largest penalty at which each column takes part, (d,); zero for one that never does."""
    alphas = np.array([each.alpha for each in found])
    took_part = np.stack([each.support for each in found])  # (m, d)
    return np.where(took_part.any(axis=0), alphas[np.argmax(took_part, axis=0)], 0.0)


def steps_of(found: Sequence[Solution], null: float, names: Sequence[str]) -> tuple[Step, ...]:
    """Return every coming and going of a column; the score is the share of the loss that is explained there."""
    steps: list[Step] = []
    inside: tuple[int, ...] = ()
    for each in found:
        now, score = each.support, 1 - each.loss / null
        gone = [j for j in inside if not now[j]]
        for action, columns in (("remove", gone), ("add", _newcomers(each, list(inside)))):
            for j in columns:
                inside = tuple(i for i in inside if i != j) if action == "remove" else tuple(sorted((*inside, j)))
                steps.append(Step.of(len(steps) + 1, Move(action, j, float(score), inside), names))
    return tuple(steps)


# --- cross-validation and stability --------------------------------------------------------------------------------


def validated(sample: LassoData, alphas: np.ndarray, tol: float, max_iter: int, tick: Callable[[], None]) -> np.ndarray:
    """Return the loss of each penalty on the rows that each fold has held out, (m, F)."""
    losses = np.empty((len(alphas), len(sample.layout.splits)))
    for fold in range(losses.shape[1]):
        problem = sample.part(fold, 0)
        assert problem is not None  # checked before
        found = []
        for each in follow(problem, alphas, tol, max_iter):
            found.append(each)
            tick()
        losses[:, fold] = sample.losses(fold, found)
    return losses


def selection_frequencies(
    sample: LassoData, q: int, shares: np.ndarray, tol: float, max_iter: int, tick: Callable[[], None]
) -> np.ndarray:
    """Return how often each column is among the first q to enter, over both halves of all pairs, (d,) shares.

    ``shares`` are the penalties of a grid, as shares of the largest of each half.
    """
    counts = np.zeros(len(sample.scale))
    for pair in range(len(sample.layout.splits)):
        for side in (0, 1):
            problem = sample.part(pair, side)
            if problem is not None and problem.alpha_max > 0:
                counts[first_to_enter(problem, problem.alpha_max * shares, q, tol, max_iter)[0]] += 1
            tick()
    return counts / (2 * len(sample.layout.splits))


def entrants_allowed(d: int, threshold: float, false: float) -> int:
    """Return how many columns each half may choose, so that at most ``false`` wrong ones are expected to be kept."""
    return max(1, min(d, math.floor(math.sqrt(false * (2 * threshold - 1) * d) + 1e-9)))


def expected_false(d: int, threshold: float, q: int) -> float:
    """Return the bound on how many wrong columns are kept on average, q²/((2π - 1)d).

    Meinshausen and Bühlmann (2010) for noise columns that are as good as each other. Shah and Samworth (2013), with
    both halves of a split: without that, for columns that a half chooses less often than at random.
    """
    return q**2 / ((2 * threshold - 1) * d)

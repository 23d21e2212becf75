"""Greedy search over subsets of columns, one column at a time: forward, backward, and floating in both directions.

Each search is a generator of moves, so the caller has the path so far even if the search is interrupted.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np

from lowland.errors import DataError
from lowland.math.selection.selection_path import Move
from lowland.math.selection.subset_scores import SubsetScores


def forward(scores: SubsetScores, k: int, least_gain: float | None = None) -> Iterator[Move]:
    """Add the best column until there are k, or until the gain is less than ``least_gain``."""
    return _greedy(scores, (), best_addition, k, least_gain)


def backward(scores: SubsetScores, k: int, least_gain: float | None = None) -> Iterator[Move]:
    """Remove the least important column until k are left, or until the gain is less than ``least_gain``."""
    return _greedy(scores, tuple(range(scores.d)), best_removal, k, least_gain)


def floating_forward(scores: SubsetScores, k: int, least_gain: float | None = None) -> Iterator[Move]:
    """Add as in ``forward``; after each addition remove columns as long as that improves on the best of that size.

    Sequential floating forward selection (SFFS) of Pudil, Novovičová and Kittler (1994).
    """
    return _floating(scores, (), 1, k, least_gain)


def floating_backward(scores: SubsetScores, k: int, least_gain: float | None = None) -> Iterator[Move]:
    """Remove as in ``backward``; after each removal add columns as long as that improves on the best of that size."""
    return _floating(scores, tuple(range(scores.d)), -1, k, least_gain)


def best_addition(scores: SubsetScores, S: tuple[int, ...]) -> Move:
    """Return the addition to S with the best score."""
    J = np.setdiff1d(np.arange(scores.d), S)
    values = scores.with_each(S, J)
    i = first_best(values, scores.tie)
    return Move("add", int(J[i]), float(values[i]), tuple(sorted((*S, int(J[i])))))


def best_removal(scores: SubsetScores, S: tuple[int, ...]) -> Move:
    """Return the removal from S with the best score."""
    values = scores.without_each(S)
    i = first_best(values, scores.tie)
    return Move("remove", S[i], float(values[i]), S[:i] + S[i + 1 :])


def first_best(values: np.ndarray, tie: float) -> int:
    """Return the index of the first of the highest scores, ignoring NaN."""
    known = np.where(np.isnan(values), -np.inf, values)
    top = known.max()
    if top == -np.inf:
        raise DataError(
            "No subset has a score: the scorer returns NaN or minus infinity for every subset. R² needs at least two "
            "rows in every test fold: use fewer folds, or check the scorer on a single fitted model."
        )
    return int(np.argmax(known >= top - tie * max(1.0, abs(top))))


def _greedy(
    scores: SubsetScores,
    S: tuple[int, ...],
    ahead: Callable[[SubsetScores, tuple[int, ...]], Move],
    k: int,
    least_gain: float | None,
) -> Iterator[Move]:
    before = -math.inf
    while len(S) != k:
        move = ahead(scores, S)
        if least_gain is not None and move.score - before < least_gain:
            return
        S, before = move.features, move.score
        yield move


def _floating(
    scores: SubsetScores, S: tuple[int, ...], direction: int, k: int, least_gain: float | None
) -> Iterator[Move]:
    ahead, back = (best_addition, best_removal) if direction > 0 else (best_removal, best_addition)
    best: dict[int, float] = {}  # the best score of each size so far
    while len(S) != k:
        move = ahead(scores, S)
        size = len(move.features)
        gain = move.score - best.get(len(S), -math.inf)
        if least_gain is not None and size not in best and gain < least_gain:
            return
        S, best[size] = move.features, max(move.score, best.get(size, -math.inf))
        yield move
        while len(S) - direction in best:
            move = back(scores, S)
            size = len(move.features)
            if not move.score > best[size] + scores.tie * max(1.0, abs(best[size])):
                break
            S, best[size] = move.features, move.score
            yield move

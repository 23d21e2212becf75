"""Exhaustive searches over subsets of columns: all of a size, or with branch and bound where a criterion allows it."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from lowland.blocks.selection.greedy_search import backward, first_best, forward
from lowland.blocks.selection.refit_scores import Refitted
from lowland.blocks.selection.selection_path import Move
from lowland.blocks.selection.subset_scores import SubsetScores
from lowland.blocks.selection.wilks import Wilks
from lowland.errors import ParameterError

_BATCH = 2048  # subsets scored at a time
_MOST_SUBSETS, _MOST_REFITTED = 2_000_000, 20_000  # of an exhaustive search without bounds
_NEAR = 1e-12  # a criterion nearer than this to another is the same: rounding must not choose


def best_subset(G: np.ndarray, q: np.ndarray, k: int, *, y_squares: float = 1.0) -> Move:
    """Return the k columns of the largest R², found by branch and bound from covariances alone.

    Parameters
    ----------
    G : ndarray of shape (d, d)
        Covariances of the columns, or their correlations.
    q : ndarray of shape (d,)
        Covariances, or correlations, of the columns with the target.
    k : int
        How many columns to choose.
    y_squares : float
        Variance of the target; 1 for correlations.

    Returns
    -------
    Move
        ``features``, the columns in order, and ``score``, their R².

    Examples
    --------
    >>> import numpy as np
    >>> best = best_subset(np.eye(3), np.array([0.8, 0.1, 0.5]), 2)
    >>> best.features, round(best.score, 2)
    ((0, 2), 0.89)
    """
    *_, best = exhaustive(Wilks.of_covariances(G, q, y_squares), k)
    return best


def exhaustive(scores: SubsetScores, k: int, least_gain: float | None = None) -> Iterator[Move]:
    """Find the best of all subsets of k columns; every better one that is met is a move.

    With ``least_gain`` sizes are tried from 1 on, until the best of a size gains less over that of the size before.
    """
    best_of_size: Callable[[Any, int], Iterator[Move]] = every_subset
    if isinstance(scores, Wilks) and scores.is_regular:
        best_of_size = branch_and_bound
    if least_gain is None:
        check_exhaustible(scores, k)
        yield from best_of_size(scores, k)
        return
    before = -math.inf
    for size in range(1, k + 1):
        check_exhaustible(scores, size)
        *_, best = best_of_size(scores, size)
        if best.score - before < least_gain:
            return
        before = best.score
        yield best


def check_exhaustible(scores: SubsetScores, k: int) -> None:
    """Refuse a search that would not end."""
    if isinstance(scores, Wilks) and scores.is_regular:
        return
    most, n = (_MOST_REFITTED if isinstance(scores, Refitted) else _MOST_SUBSETS), math.comb(scores.d, k)
    if n > most:
        raise ParameterError(
            f"There are {n:,} subsets of {k} of the {scores.d} columns, and an exhaustive search looks at no more than "
            f"{most:,} one by one. Ask for fewer columns, score by Wilks' lambda ('wilks'), whose bounds leave most of "
            "them out, or search 'floating-forward'."
        )


def every_subset(scores: SubsetScores, k: int) -> Iterator[Move]:
    """Score all subsets of k columns, for scores that may fall when a column is added."""
    best = -math.inf
    for batch in _batches(itertools.combinations(range(scores.d), k)):
        subsets = np.array(batch)
        values = scores.many(subsets)
        i = first_best(values, scores.tie)
        if values[i] > best + (scores.tie * max(1.0, abs(best)) if best > -math.inf else 0.0):
            best = float(values[i])
            yield Move("find", None, best, tuple(subsets[i].tolist()))


def branch_and_bound(criterion: Wilks, k: int) -> Iterator[Move]:
    """The best k columns by a criterion that never rises when a column leaves (Narendra and Fukunaga 1977).

    Columns are removed one by one. A branch whose columns together score no better than a subset already met cannot
    hold a better one. Columns that are missed most are tried first at the root of the widest branches, which are cut.
    """
    start = max((list(search(criterion, k))[-1:] for search in (forward, backward)), key=_last_score)
    known = start[0].features if start else tuple(range(criterion.d))
    yield Move("find", None, criterion.value(known), known)
    if k == criterion.d:
        return
    best = criterion.ratio(known)  # Wilks' Λ, the less the better

    def visit(ratio: float, KW: np.ndarray, KT: np.ndarray, kept: list[int], free: np.ndarray) -> Iterator[Move]:
        """Try the subsets that keep all of ``kept`` but some of ``free``."""
        nonlocal best
        criterion.tally(1)
        ratios = ratio * (KW[free, free] / KT[free, free])  # det W'/det T' without each
        order = np.argsort(-ratios, kind="stable")
        free, ratios = free[order], ratios[order]
        out = len(kept) - k
        for i in range(len(free) - out, -1, -1):  # from the child that is missed least, with the fewest below it
            if ratios[i] >= best * (1 - _NEAR):
                return
            j = int(free[i])
            left = [c for c in kept if c != j]
            if out == 1:
                best = float(ratios[i])
                yield Move("find", None, criterion.value(tuple(left)), tuple(left))
            else:
                yield from visit(float(ratios[i]), _without(KW, j), _without(KT, j), left, free[i + 1 :])

    everything = np.arange(criterion.d)
    yield from visit(
        criterion.ratio(tuple(everything)),
        np.linalg.inv(criterion.W),
        np.linalg.inv(criterion.T),
        everything.tolist(),
        everything,
    )


def _last_score(moves: list[Move]) -> float:
    return moves[-1].score if moves else -math.inf


def _without(K: np.ndarray, j: int) -> np.ndarray:
    """The inverse of a matrix less its row and column j, from the inverse; that row and column become zero."""
    return K - np.outer(K[:, j], K[j] / K[j, j])


def _batches(subsets: Iterator[tuple[int, ...]]) -> Iterator[list[tuple[int, ...]]]:
    while batch := list(itertools.islice(subsets, _BATCH)):
        yield batch

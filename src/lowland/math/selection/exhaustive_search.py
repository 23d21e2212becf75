"""Exhaustive search over subsets of columns: all subsets of a size, or branch and bound for a monotone criterion."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from lowland.errors import ParameterError
from lowland.math.selection.greedy_search import backward, first_best, forward
from lowland.math.selection.refit_scores import Refitted
from lowland.math.selection.selection_path import Move
from lowland.math.selection.subset_scores import SubsetScores
from lowland.math.selection.wilks import Wilks

_BATCH = 2048  # subsets scored at a time
_MOST_SUBSETS, _MOST_REFITTED = 2_000_000, 20_000  # subsets scored without bounds, in closed form and by refitting
_NEAR = 1e-12  # criteria closer than this are tied: rounding must not decide


def best_subset(G: np.ndarray, q: np.ndarray, k: int, *, y_squares: float = 1.0) -> Move:
    """Return the k columns with the largest R² (best subset regression), by branch and bound on the covariances.

    Parameters
    ----------
    G : ndarray of shape (d, d)
        Covariances of the columns, or their correlations.
    q : ndarray of shape (d,)
        Covariances, or correlations, of the columns with the target.
    k : int
        Number of columns to select.
    y_squares : float
        Variance of the target; 1 for correlations.

    Returns
    -------
    Move
        ``features``, the selected columns in order, and ``score``, their R².

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
    """Find the best of all subsets of k columns; every improvement found on the way is a move.

    With ``least_gain`` sizes are tried from 1 on, until the best subset gains less over the best of the previous size.
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
    """Refuse a search over too many subsets."""
    if isinstance(scores, Wilks) and scores.is_regular:
        return
    most, n = (_MOST_REFITTED if isinstance(scores, Refitted) else _MOST_SUBSETS), math.comb(scores.d, k)
    if n > most:
        raise ParameterError(
            f"There are {n:,} subsets of {k} of the {scores.d} columns, and an exhaustive search scores at most "
            f"{most:,}. Select fewer columns, use Wilks' lambda ('wilks'), for which branch and bound skips most "
            "subsets, or use the search 'floating-forward'."
        )


def every_subset(scores: SubsetScores, k: int) -> Iterator[Move]:
    """Score all subsets of k columns, for scores that may decrease when a column is added."""
    best = -math.inf
    for batch in _batches(itertools.combinations(range(scores.d), k)):
        subsets = np.array(batch)
        values = scores.many(subsets)
        i = first_best(values, scores.tie)
        if values[i] > best + (scores.tie * max(1.0, abs(best)) if best > -math.inf else 0.0):
            best = float(values[i])
            yield Move("find", None, best, tuple(subsets[i].tolist()))


def branch_and_bound(criterion: Wilks, k: int) -> Iterator[Move]:
    """The best k columns by a criterion that never increases when a column is removed (Narendra and Fukunaga 1977).

    Columns are removed one at a time. A branch whose columns together score no better than the best subset so far
    cannot contain a better one. The most important columns root the widest branches, which are pruned early.
    """
    start = max((list(search(criterion, k))[-1:] for search in (forward, backward)), key=_last_score)
    known = start[0].features if start else tuple(range(criterion.d))
    yield Move("find", None, criterion.value(known), known)
    if k == criterion.d:
        return
    best = criterion.ratio(known)  # Wilks' Λ; smaller is better

    def visit(ratio: float, KW: np.ndarray, KT: np.ndarray, kept: list[int], free: np.ndarray) -> Iterator[Move]:
        """Try the subsets of ``kept`` that lack some columns of ``free``."""
        nonlocal best
        criterion.tally(1)
        ratios = ratio * (KW[free, free] / KT[free, free])  # det W'/det T' without each
        order = np.argsort(-ratios, kind="stable")
        free, ratios = free[order], ratios[order]
        out = len(kept) - k
        for i in range(len(free) - out, -1, -1):  # from the least important column, whose branch is the smallest
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
    """The inverse of a matrix without row and column j, from its inverse; that row and column become zero."""
    return K - np.outer(K[:, j], K[j] / K[j, j])


def _batches(subsets: Iterator[tuple[int, ...]]) -> Iterator[list[tuple[int, ...]]]:
    while batch := list(itertools.islice(subsets, _BATCH)):
        yield batch

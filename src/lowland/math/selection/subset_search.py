"""Search over subsets of columns: forward, backward, floating, exhaustive; and the path that a search leaves.

Each search is a generator of moves, so the caller has the path so far even if the search is interrupted.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np

from lowland.arrays.records import record
from lowland.errors import DataError, ParameterError
from lowland.math.selection.subset_scores import RefitScores, SubsetScores, Wilks

_BATCH = 2048  # subsets scored at a time
_MOST_SUBSETS, _MOST_REFITS = 2_000_000, 20_000  # subsets scored without bounds, in closed form and by refitting
_NEAR = 1e-12  # criteria closer than this are tied: rounding must not decide


class Move(NamedTuple):
    """A move of a search: the action, and the columns and their score after it."""

    action: str  # "add", "remove", or "find": a whole subset at once
    feature: int | None
    score: float
    features: tuple[int, ...]  # in order


@record
@dataclass(frozen=True)
class Step:
    """A step of a path: a move, numbered from 1, with the name of the column."""

    number: int
    action: str  # "add", "remove", or "find": a whole subset at once
    feature: int | None
    name: str
    score: float
    size: int
    features: tuple[int, ...]


def numbered(moves: Iterable[Move], names: Sequence[str], start: int = 1) -> Iterator[Step]:
    """Yield moves as the steps of a path."""
    for number, move in enumerate(moves, start):
        name = ", ".join(names[j] for j in move.features) if move.feature is None else names[move.feature]
        yield Step(number, move.action, move.feature, name, move.score, len(move.features), move.features)


def path_table(path: Iterable[Step]) -> str:
    """Return a path as a text table: step, action, column, score, number of columns after the step."""
    rows = [("step", "action", "feature", "score", "columns")]
    rows += [(str(s.number), s.action, s.name, f"{s.score:.6g}", str(s.size)) for s in path]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    layout = "  ".join(f"{{:{side}{width}}}" for side, width in zip("><<>>", widths, strict=True))
    return "\n".join(layout.format(*row) for row in rows)


def search(scores: SubsetScores, k: int, direction: str = "forward", least_gain: float | None = None) -> Iterator[Move]:
    """Yield the moves of a search for k columns; it stops earlier when a step gains less than ``least_gain``.

    "forward" adds columns, "backward" removes them, "floating-forward" and "floating-backward" do both, and
    "exhaustive" scores all subsets.
    """
    if direction == "exhaustive":
        return exhaustive_search(scores, k, least_gain)
    floats = direction.startswith("floating")
    return greedy_search(scores, k, least_gain, removes=removes_columns(direction), floats=floats)


def removes_columns(direction: str) -> bool:
    """Whether a search starts from all columns."""
    return direction in ("backward", "floating-backward")


def n_scores(d: int, k: int, direction: str) -> float | None:
    """Return the number of subsets that a search for k of d columns scores; None where it is not known in advance."""
    if direction == "forward":
        return float(sum(range(d - k + 1, d + 1)))
    return float(sum(range(k + 1, d + 1))) if direction == "backward" else None


def final_step(path: Sequence[Step], direction: str) -> Step:
    """Return the best step of the final size of a search."""
    size = (min if removes_columns(direction) else max)(step.size for step in path)
    return max((step for step in path if step.size == size), key=lambda step: step.score)


# --- greedy searches ---


def greedy_search(
    scores: SubsetScores, k: int, least_gain: float | None = None, *, removes: bool = False, floats: bool = False
) -> Iterator[Move]:
    """Add the best column until there are k, or remove the least important one until k are left.

    ``floats``: after each step, reverse steps as long as that improves on the best subset of that size (Pudil,
    Novovičová and Kittler 1994). ``least_gain``: stop when a step to a new size gains less.
    """
    ahead, back, forth = (best_removal, best_addition, -1) if removes else (best_addition, best_removal, 1)
    S = tuple(range(scores.d)) if removes else ()
    best: dict[int, float] = {}  # the best score of each size so far
    while len(S) != k:
        move = ahead(scores, S)
        size = len(move.features)
        if least_gain is not None and size not in best and move.score - best.get(len(S), -math.inf) < least_gain:
            return
        S, best[size] = move.features, max(move.score, best.get(size, -math.inf))
        yield move
        while floats and len(S) - forth in best:
            move = back(scores, S)
            size = len(move.features)
            if not move.score > best[size] + scores.tie * max(1.0, abs(best[size])):
                break
            S, best[size] = move.features, move.score
            yield move


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


# --- exhaustive search ---


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
        Variance of the target, 1 for correlations.

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
    *_, best = exhaustive_search(Wilks.of_covariances(G, q, y_squares), k)
    return best


def exhaustive_search(scores: SubsetScores, k: int, least_gain: float | None = None) -> Iterator[Move]:
    """Find the best of all subsets of k columns; every improvement found on the way is a move.

    With ``least_gain`` sizes are tried from 1 on, until the best subset gains less over the best of the previous size.
    """
    best_of_size: Callable[[int], Iterator[Move]] = partial(every_subset, scores)
    if isinstance(scores, Wilks) and scores.is_regular:
        best_of_size = partial(branch_and_bound, scores)
    if least_gain is None:
        yield from best_of_size(k)
        return
    before = -math.inf
    for size in range(1, k + 1):
        *_, best = best_of_size(size)
        if best.score - before < least_gain:
            return
        before = best.score
        yield best


def every_subset(scores: SubsetScores, k: int) -> Iterator[Move]:
    """Score all subsets of k columns, for scores that may decrease when a column is added."""
    most, n = (_MOST_REFITS if isinstance(scores, RefitScores) else _MOST_SUBSETS), math.comb(scores.d, k)
    if n > most:
        raise ParameterError(
            f"There are {n:,} subsets of {k} of the {scores.d} columns, and an exhaustive search scores at most "
            f"{most:,}.",
            "Select fewer columns, choose the scoring 'wilks', for which branch and bound skips most subsets, or the "
            "direction 'floating-forward'.",
        )
    best, subsets = -math.inf, itertools.combinations(range(scores.d), k)
    while batch := list(itertools.islice(subsets, _BATCH)):
        values = scores.many(np.array(batch))
        i = first_best(values, scores.tie)
        if values[i] > best + (scores.tie * max(1.0, abs(best)) if best > -math.inf else 0.0):
            best = float(values[i])
            yield Move("find", None, best, batch[i])


def branch_and_bound(criterion: Wilks, k: int) -> Iterator[Move]:
    """The best k columns by a criterion that never increases when a column is removed (Narendra and Fukunaga 1977).

    Columns are removed one at a time. A branch whose columns together score no better than the best subset so far
    cannot contain a better one. The most important columns root the widest branches, which are pruned early.
    """
    everything = np.arange(criterion.d)
    known = tuple(everything.tolist())
    if k < criterion.d:
        ends = [list(greedy_search(criterion, k, removes=removes))[-1] for removes in (False, True)]
        known = ends[first_best(np.array([end.score for end in ends]), criterion.tie)].features
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

    W, T = np.linalg.inv(criterion.W), np.linalg.inv(criterion.T)
    yield from visit(criterion.ratio(everything), W, T, everything.tolist(), everything)


def _without(K: np.ndarray, j: int) -> np.ndarray:
    """The inverse of a matrix without row and column j, from its inverse; that row and column become zero."""
    return K - np.outer(K[:, j], K[j] / K[j, j])

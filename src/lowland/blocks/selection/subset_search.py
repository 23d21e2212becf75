"""Searches over subsets of columns: forward, backward, floating both ways, and exhaustive with branch and bound.

Each search is a generator of moves. Whoever reads it has the path so far in hand, also when it is stopped in between.
``scores`` is anything that scores subsets: ``with_each``, ``without_each``, ``many`` (see ``subset_scores``).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np

from lowland.arrays.records import record
from lowland.blocks.selection.closed_form_scores import Wilks
from lowland.blocks.selection.refit_scores import Refitted
from lowland.errors import DataError, ParameterError

_BATCH = 2048  # subsets scored at a time
_MOST_SUBSETS, _MOST_REFITTED = 2_000_000, 20_000  # of an exhaustive search without bounds
_NEAR = 1e-12  # a criterion nearer than this to another is the same: rounding must not choose


class SubsetScores(Protocol):
    """What scores subsets of columns; higher is better."""

    @property
    def d(self) -> int:
        """The number of columns."""

    @property
    def tie(self) -> float:
        """Scores nearer than this are equal, and the first column wins."""

    @property
    def unit(self) -> float:
        """What scores are divided by, so that they are of the order of one whatever the unit of y."""

    def with_each(self, S: tuple[int, ...], J: np.ndarray) -> np.ndarray:
        """Return the scores of S with each column of J."""

    def without_each(self, S: tuple[int, ...]) -> np.ndarray:
        """Return the scores of S without each of its columns."""

    def many(self, subsets: np.ndarray) -> np.ndarray:
        """Return the scores of subsets of one size, (B, k)."""


class Move(NamedTuple):
    """A move of a search: what was done, and the columns and their score after it."""

    action: str  # "add", "remove", or "find": a whole subset at once
    feature: int | None
    score: float
    features: tuple[int, ...]  # in order


@record
@dataclass(frozen=True)
class Step:
    """A move as it stands in a path: numbered from 1, with the name of the column."""

    number: int
    action: str  # "add", "remove", or "find": a whole subset at once
    feature: int | None
    name: str
    score: float
    size: int
    features: tuple[int, ...]

    @classmethod
    def of(cls, number: int, move: Move, names: Iterable[str]) -> Step:
        """Number a move and name its columns."""
        listed = list(names)
        name = ", ".join(listed[j] for j in move.features) if move.feature is None else listed[move.feature]
        return cls(number, move.action, move.feature, name, move.score, len(move.features), move.features)


def path_table(path: Iterable[Step]) -> str:
    """Return a path as a text: step, what was added or removed, score, number of columns after it."""
    rows = [("step", "action", "feature", "score", "columns")]
    rows += [(str(s.number), s.action, s.name, f"{s.score:.6g}", str(s.size)) for s in path]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = (
        f"{step:>{widths[0]}}  {action:<{widths[1]}}  {name:<{widths[2]}}  {score:>{widths[3]}}  {size:>{widths[4]}}"
        for step, action, name, score, size in rows
    )
    return "\n".join(lines)


def forward(scores: SubsetScores, k: int, least_gain: float | None = None) -> Iterator[Move]:
    """Add the best column until there are k, or until the best gains less than ``least_gain``."""
    return _greedy(scores, (), best_addition, k, least_gain)


def backward(scores: SubsetScores, k: int, least_gain: float | None = None) -> Iterator[Move]:
    """Remove the column that is missed least until k are left, or until that gains less than ``least_gain``."""
    return _greedy(scores, tuple(range(scores.d)), best_removal, k, least_gain)


def floating_forward(scores: SubsetScores, k: int, least_gain: float | None = None) -> Iterator[Move]:
    """Add as ``forward``; after each addition remove again as long as that beats the best subset of that size so far.

    Sequential floating forward selection of Pudil, Novovičová and Kittler (1994).
    """
    return _floating(scores, (), 1, k, least_gain)


def floating_backward(scores: SubsetScores, k: int, least_gain: float | None = None) -> Iterator[Move]:
    """Remove as ``backward``; after each removal add again as long as that beats the best of that size so far."""
    return _floating(scores, tuple(range(scores.d)), -1, k, least_gain)


def best_addition(scores: SubsetScores, S: tuple[int, ...]) -> Move:
    """The column outside S that scores best with it."""
    J = np.setdiff1d(np.arange(scores.d), S)
    values = scores.with_each(S, J)
    i = first_best(values, scores.tie)
    return Move("add", int(J[i]), float(values[i]), tuple(sorted((*S, int(J[i])))))


def best_removal(scores: SubsetScores, S: tuple[int, ...]) -> Move:
    """The column of S without which the others score best."""
    values = scores.without_each(S)
    i = first_best(values, scores.tie)
    return Move("remove", S[i], float(values[i]), S[:i] + S[i + 1 :])


def first_best(values: np.ndarray, tie: float) -> int:
    """The first of the highest scores; NaN is none."""
    known = np.where(np.isnan(values), -np.inf, values)
    top = known.max()
    if top == -np.inf:
        raise DataError(
            "No subset has a score: the scorer returns NaN or minus infinity for each. Try it on one fitted model; R² "
            "wants two rows or more in every test part, which fewer folds give."
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


# --- exhaustive -------------------------------------------------------------------------------------------------------


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
            f"SequentialFeatureSelector(direction='exhaustive'): there are {n:,} subsets of {k} of the {scores.d} "
            f"columns, and at most {most:,} are looked at one by one. Ask for fewer columns, choose scoring='wilks', "
            "whose bounds leave most of them out, or direction='floating-forward'."
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

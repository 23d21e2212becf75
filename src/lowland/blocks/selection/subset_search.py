"""Searches over subsets of columns by name, on anything that scores subsets (see ``subset_scores``)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from lowland.blocks.selection.exhaustive_search import exhaustive
from lowland.blocks.selection.greedy_search import backward, floating_backward, floating_forward, forward
from lowland.blocks.selection.selection_path import Move, Step
from lowland.blocks.selection.subset_scores import SubsetScores

_SEARCHES: dict[str, Callable[..., Iterator[Move]]] = {
    "forward": forward,
    "backward": backward,
    "floating-forward": floating_forward,
    "floating-backward": floating_backward,
    "exhaustive": exhaustive,
}


def search(scores: SubsetScores, k: int, direction: str = "forward", least_gain: float | None = None) -> Iterator[Move]:
    """Yield the moves of a search over subsets of columns.

    Parameters
    ----------
    scores : SubsetScores
        What scores subsets: an object with ``d``, ``tie``, ``with_each``, ``without_each`` and ``many``.
    k : int
        How many columns to come to.
    direction : {"forward", "backward", "floating-forward", "floating-backward", "exhaustive"}
        Add columns, remove them, either with steps back, or look at all subsets.
    least_gain : float, optional
        Stop before k where a step gains less than this.

    Yields
    ------
    Move
        What was done, with the columns and their score after it.

    Examples
    --------
    >>> import numpy as np
    >>> from lowland.blocks.selection.wilks import Wilks
    >>> scores = Wilks.of_covariances(np.eye(3), np.array([0.8, 0.1, 0.5]))  # R² of uncorrelated columns
    >>> [(move.feature, round(move.score, 2)) for move in search(scores, 2)]
    [(0, 0.64), (2, 0.89)]
    """
    return _SEARCHES[direction](scores, k, least_gain)


def removes_columns(direction: str) -> bool:
    """Whether a search starts from all columns."""
    return direction in ("backward", "floating-backward")


def n_scores(d: int, k: int, direction: str) -> float | None:
    """Return how many subsets a search scores on its way to k of d columns, where that is known."""
    if direction == "forward":
        return float(sum(range(d - k + 1, d + 1)))
    return float(sum(range(k + 1, d + 1))) if direction == "backward" else None


def final_step(path: Sequence[Step], direction: str) -> Step:
    """Return the best step of the size that a search came to."""
    size = (min if removes_columns(direction) else max)(step.size for step in path)
    return max((step for step in path if step.size == size), key=lambda step: step.score)

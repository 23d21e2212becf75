"""Search over subsets of columns by name, with any scorer of subsets (see ``subset_scores``)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from lowland.math.selection.exhaustive_search import exhaustive
from lowland.math.selection.greedy_search import backward, floating_backward, floating_forward, forward
from lowland.math.selection.selection_path import Move, Step
from lowland.math.selection.subset_scores import SubsetScores

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
        Scorer of subsets: an object with ``d``, ``tie``, ``with_each``, ``without_each`` and ``many``.
    k : int
        Number of columns at which the search ends.
    direction : {"forward", "backward", "floating-forward", "floating-backward", "exhaustive"}
        Add columns, remove columns, either with floating steps, or score all subsets.
    least_gain : float, optional
        Stop before k when a step improves the score by less than this.

    Yields
    ------
    Move
        The action, with the columns and their score after it.

    Examples
    --------
    >>> import numpy as np
    >>> from lowland.math.selection.wilks import Wilks
    >>> scores = Wilks.of_covariances(np.eye(3), np.array([0.8, 0.1, 0.5]))  # R² of uncorrelated columns
    >>> [(move.feature, round(move.score, 2)) for move in search(scores, 2)]
    [(0, 0.64), (2, 0.89)]
    """
    return _SEARCHES[direction](scores, k, least_gain)


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

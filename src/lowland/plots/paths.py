"""The path of a search: which column came, which went, and what the score was."""

from __future__ import annotations

from typing import Any

from lowland.errors import DataError
from lowland.plots.canvas import INK, MARK, STRONG, WEAK, axes_for, figure_of, quiet

_MOST_NAMED = 40  # steps whose columns can be written beside each other


def selection_path(path: Any, *, ax: Any = None) -> Any:
    """Draw the score after each step of a feature selection, with the column that came or went; return the Figure.

    Parameters
    ----------
    path : the steps, such as ``path_`` of SequentialFeatureSelector; each has number, action, name, score and size.
    ax : matplotlib axes to draw in; None: a new figure.

    Examples
    --------
    >>> from lowland import SequentialFeatureSelector, plots
    >>> from lowland.data import load
    >>> wine = load("wine")
    >>> figure = plots.selection_path(SequentialFeatureSelector().fit(wine.X, wine.y).path_)
    """
    steps = list(path)
    if not steps:
        raise DataError("selection_path: the path has no steps, so there is nothing to draw.")
    ax = axes_for(ax, (max(5.5, 0.3 * min(len(steps), _MOST_NAMED) + 1.5), 3.8))
    numbers, scores = [step.number for step in steps], [step.score for step in steps]
    ax.plot(numbers, scores, color=WEAK, linewidth=1.4, zorder=1)
    shown = (("remove", "v", MARK, "removed"), ("add", "^", STRONG, "added"), ("find", "o", STRONG, "found"))
    for action, marker, color, words in shown:
        some = [step for step in steps if step.action == action]
        if some:
            places, heights = [step.number for step in some], [step.score for step in some]
            ax.scatter(places, heights, s=36, marker=marker, color=color, label=words, zorder=2)
    if len(steps) <= _MOST_NAMED:
        signs = {"add": "+ ", "remove": "− ", "find": ""}
        labels = [f"{signs[step.action]}{step.name}" for step in steps]
        ax.set_xticks(numbers, labels, rotation=60, ha="right", rotation_mode="anchor", fontsize="small")
    ax.set_xlabel("step")
    ax.set_ylabel("score")
    if len({step.action for step in steps}) > 1:
        ax.legend(frameon=False, labelcolor=INK)
    quiet(ax)
    return figure_of(ax)

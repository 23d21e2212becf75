"""Figures of feature selection: the score of each step, and regularization paths."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from lowland.errors import DataError
from lowland.plots.style import (
    COLORS,
    INK,
    MARK,
    STRONG,
    WEAK,
    axes_for,
    called_as,
    figure_of,
    names_of,
    numbers,
    plain,
    quiet,
)

_MOST_NAMED = 40  # more names of columns are not legible
_MOST_COLORED = 8  # columns with their own color and name


@called_as("selection_path(model.path_)", of="L1Selector, SequentialFeatureSelector and TreeSelector")
def selection_path(path: Any, *, ax: Any = None) -> Any:
    """Draw the score after each step of a feature selection, with the column that was added or removed.

    Parameters
    ----------
    path : sequence of steps
        Steps, such as ``path_`` of SequentialFeatureSelector; each has number, action, name, score and size.
    ax : matplotlib Axes or None, default None
        Axes to draw in. None: a new figure.

    Returns
    -------
    matplotlib Figure
        The figure; save it with ``figure.savefig(path)``.

    Examples
    --------
    >>> from lowland import SequentialFeatureSelector, plots
    >>> from lowland.data import load_dataset
    >>> wine = load_dataset("wine")
    >>> figure = plots.selection_path(SequentialFeatureSelector().fit(wine.X, wine.y).path_)
    """
    steps = list(path)
    if not steps:
        raise DataError("selection_path: the path has no steps, so there is nothing to draw. Fit the selector first.")
    if not all(hasattr(step, "score") for step in steps):
        raise DataError("selection_path: path does not contain steps of a feature selection. Pass model.path_.")
    ax = axes_for(ax, (max(5.5, 0.3 * min(len(steps), _MOST_NAMED) + 1.5), 3.8))
    numbers, scores = [step.number for step in steps], [step.score for step in steps]
    ax.plot(numbers, scores, color=WEAK, linewidth=1.4, zorder=1)
    shown = (("remove", "v", MARK, "removed"), ("add", "^", STRONG, "added"), ("find", "o", STRONG, "selected"))
    for action, marker, color, words in shown:
        some = [step for step in steps if step.action == action]
        if some:
            places, heights = [step.number for step in some], [step.score for step in some]
            ax.scatter(places, heights, s=36, marker=marker, color=color, label=words, zorder=2)
    if len(steps) <= _MOST_NAMED:
        signs = {"add": "+ ", "remove": "− ", "find": ""}
        labels = [f"{signs[step.action]}{plain(step.name)}" for step in steps]
        ax.set_xticks(numbers, labels, rotation=60, ha="right", rotation_mode="anchor", fontsize="small")
    ax.set_xlabel("step")
    ax.set_ylabel("score")
    if len({step.action for step in steps}) > 1:
        ax.legend(frameon=False, labelcolor=INK)
    quiet(ax)
    return figure_of(ax)


@called_as("coefficient_paths(model.alphas_, model.coef_path_)", of="L1Selector")
def coefficient_paths(
    alphas: Any, coefs: Any, *, names: Any = None, chosen: float | None = None, ax: Any = None
) -> Any:
    """Draw a regularization path: the coefficients of a sparse model over the penalty, one line per column.

    Parameters
    ----------
    alphas : array-like of shape (m,)
        Penalties, such as ``alphas_`` of L1Selector.
    coefs : array-like of shape (m, d) or (m, K, d)
        Coefficients at each penalty. With K classes, their Euclidean norms over the classes are drawn.
    names : sequence of str or None, default None
        Names of the columns, written at the ends of the largest coefficients.
    chosen : float or None, default None
        The selected penalty, marked by a vertical line.
    ax : matplotlib Axes or None, default None
        Axes to draw in. None: a new figure.

    Returns
    -------
    matplotlib Figure
        The figure; save it with ``figure.savefig(path)``.

    Examples
    --------
    >>> from lowland import L1Selector, plots
    >>> from lowland.data import load_dataset
    >>> wine = load_dataset("wine")
    >>> selector = L1Selector(3).fit(wine.X, wine.y)
    >>> figure = plots.coefficient_paths(selector.alphas_, selector.coef_path_, names=wine.names)
    """
    alphas, coefs = numbers(alphas, "alphas"), numbers(coefs, "coefs")
    if coefs.ndim == 3:
        coefs = np.linalg.norm(coefs, axis=1)  # (m, d)
    if coefs.ndim != 2 or coefs.shape[:1] != alphas.shape:
        raise DataError(
            f"coefficient_paths: alphas has {alphas.size} penalties, but coefs has shape {coefs.shape}. "
            "Pass one row of coefficients per penalty."
        )
    ax = axes_for(ax, (6.0, 3.8))
    largest = np.abs(coefs).max(axis=0)
    order = [int(j) for j in np.argsort(-largest, kind="stable") if largest[j] > 0]
    for place, j in enumerate(order):
        color = COLORS[place % len(COLORS)] if place < _MOST_COLORED else WEAK
        ax.plot(alphas, coefs[:, j], color=color, linewidth=1.3, zorder=2 if place < _MOST_COLORED else 1)
    if names is not None:
        words = names_of(names, coefs.shape[1], "columns of coefficients")
        ends = coefs[-1, order[:_MOST_COLORED]]
        for place, height in enumerate(_apart(ends, 0.05 * (coefs.max() - coefs.min()))):
            ax.annotate(plain(words[order[place]]), (alphas[-1], height), xytext=(4, 0), textcoords="offset points",
                        va="center", fontsize="small", color=COLORS[place % len(COLORS)])  # fmt: skip
    if chosen is not None:
        ax.axvline(chosen, color=INK, linewidth=1, linestyle="--")
    ax.set_xscale("log")
    ax.invert_xaxis()
    ax.set_xlabel("penalty α")
    ax.set_ylabel("coefficient")
    quiet(ax)
    return figure_of(ax)


def _apart(heights: np.ndarray, least: float) -> np.ndarray:
    """Move heights apart until neighbors differ by at least ``least``, crowded ones around their center."""
    order, moved = np.argsort(heights, kind="stable"), heights.astype(float)
    for _ in range(50):
        close = [(low, high) for low, high in pairwise(order) if moved[high] - moved[low] < 0.99 * least]
        for low, high in close:
            middle = (moved[low] + moved[high]) / 2
            moved[low], moved[high] = middle - least / 2, middle + least / 2
        if not close:
            break
    return moved

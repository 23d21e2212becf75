"""Figures of feature selection: the score of each step, and regularization paths."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from lowland.errors import DataError
from lowland.plots.legends import legend_of, shortened
from lowland.plots.models import attribute, called_as, column_names
from lowland.plots.style import (
    COLORS,
    INK,
    MARK,
    STRONG,
    WEAK,
    axes_for,
    figure_of,
    names_of,
    numbers,
    plain,
    quiet,
)

_MOST_NAMED = 40  # more names of columns are not legible
_MOST_COLORED = 8  # columns with their own color and name


@called_as(
    "selection_path(model)",
    of="FeatureFilter, L1Selector, SequentialFeatureSelector and TreeSelector",
    read=lambda model: {"path": attribute(model, "path_")},
)
def selection_path(path: Any, *, ax: Any = None) -> Any:
    """Draw the score after each step of a feature selection, with the column that was added or removed.

    Parameters
    ----------
    path : sequence of steps, or fitted selector
        Steps, such as ``path_`` of SequentialFeatureSelector; each has number, action, name, score and size. Or the
        selector itself.
    ax : matplotlib Axes or None, default None
        Axes to draw in. None: a new figure.

    Returns
    -------
    matplotlib Figure, or ``ax`` if it was given
        A notebook shows the figure; ``figure.savefig(path)`` saves it.

    Examples
    --------
    >>> from lowland import SequentialFeatureSelector, plots
    >>> from lowland.data import load_dataset
    >>> wine = load_dataset("wine")
    >>> figure = plots.selection_path(SequentialFeatureSelector().fit(wine.X, wine.y))
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
    drawn = {}
    for action, marker, color, words in shown:
        some = [step for step in steps if step.action == action]
        if some:
            places, heights = [step.number for step in some], [step.score for step in some]
            drawn[words] = ax.scatter(places, heights, s=36, marker=marker, color=color, zorder=2)
    if len(steps) <= _MOST_NAMED:
        signs = {"add": "+ ", "remove": "− ", "find": ""}
        short = dict(zip(given := sorted({str(step.name) for step in steps}), shortened(given), strict=True))
        labels = [f"{signs[step.action]}{plain(short[str(step.name)])}" for step in steps]
        ax.set_xticks(numbers, labels, rotation=60, ha="right", rotation_mode="anchor", fontsize="small")
    ax.set_xlabel("step")
    ax.set_ylabel("score")
    if len(drawn) > 1:
        legend_of(ax, list(drawn.values()), list(drawn), inside=3)
    quiet(ax)
    return figure_of(ax)


def _coefficients_of(model: Any) -> dict[str, Any]:
    coefs = attribute(model, "coef_path_")
    found = {"alphas": attribute(model, "alphas_"), "coefs": coefs, "chosen": attribute(model, "alpha_", default=None)}
    return {**found, **column_names(model, coefs.shape[-1])}


@called_as("coefficient_paths(model)", of="L1Selector", read=_coefficients_of)
def coefficient_paths(
    alphas: Any, coefs: Any, *, names: Any = None, chosen: float | None = None, ax: Any = None
) -> Any:
    """Draw a regularization path: the coefficients of a sparse model over the penalty, one line per column.

    Parameters
    ----------
    alphas : array-like of shape (m,), or fitted L1Selector
        Penalties, such as ``alphas_`` of L1Selector; or the selector itself, without ``coefs``.
    coefs : array-like of shape (m, d), (m, K, d) or (d, m)
        Coefficients at each penalty; (d, m) is the result of scikit-learn's ``lasso_path``. With K classes, their
        Euclidean norms over the classes are drawn.
    names : sequence of str or None, default None
        Names of the columns, written at the ends of the largest coefficients. None: those of the model, if any.
    chosen : float or None, default None
        The selected penalty, marked by a vertical line. None: that of the model, if any.
    ax : matplotlib Axes or None, default None
        Axes to draw in. None: a new figure.

    Returns
    -------
    matplotlib Figure, or ``ax`` if it was given
        A notebook shows the figure; ``figure.savefig(path)`` saves it.

    Examples
    --------
    >>> from lowland import L1Selector, plots
    >>> from lowland.data import load_dataset
    >>> wine = load_dataset("wine")
    >>> selector = L1Selector(3).fit(wine.X, wine.y)
    >>> figure = plots.coefficient_paths(selector, names=wine.names)
    """
    alphas, coefs = numbers(alphas, "alphas"), numbers(coefs, "coefs")
    if coefs.ndim == 3:
        coefs = np.linalg.norm(coefs, axis=1)  # (m, d)
    if coefs.ndim == 2 and len(coefs) != alphas.size == coefs.shape[1]:
        coefs = coefs.T
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
        words = shortened(names_of(names, coefs.shape[1], "columns of coefficients"))
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

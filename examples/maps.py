"""Shared functions of the neighbor embedding scripts: random triplets, and panels of maps colored by class."""

from __future__ import annotations

from typing import Any

import numpy as np

from gallery import title
from lowland import plots
from lowland.plots.style import INK


def random_triplets(X: Any, Z: Any, per_row: int = 5) -> float:
    """Return the fraction of random triplets i, j, k in which j or k is nearer to i in both X and Z: 0.5 is chance."""
    i = np.repeat(np.arange(len(X)), per_row)
    j, k = np.random.default_rng(0).integers(len(X), size=(2, len(i)))
    nearer = [np.linalg.norm(A[i] - A[j], axis=1) < np.linalg.norm(A[i] - A[k], axis=1) for A in (X, Z)]
    return float(np.mean(nearer[0] == nearer[1]))


def class_map(ax: Any, Z: Any, labels: Any, name: str, words: str, size: float = 5, **options: Any) -> None:
    """Draw a map colored by class, its name above and ``words`` below; the legend is left to the figure."""
    plots.embedding(Z, labels, axis_names=("", ""), size=size, ax=ax, **options)
    ax.get_legend().remove()
    ax.set(xticks=[], yticks=[])
    ax.set_xlabel(words, fontsize="medium", color=INK)
    title(ax, name)


def legend_below(figure: Any, ax: Any, **options: Any) -> None:
    """Write one legend for all panels, from the classes in ``ax``."""
    handles, names = ax.get_legend_handles_labels()
    figure.legend(handles, names, loc="outside lower center", ncols=len(names), frameon=False, **options)

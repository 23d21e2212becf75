"""Pictures of a spectrum: how much each component holds, and what is lost without it."""

from __future__ import annotations

from typing import Any

import numpy as np

from lowland.errors import DataError, ParameterError
from lowland.plots.style import INK, MARK, STRONG, WEAK, axes_for, called_as, figure_of, numbers, quiet


@called_as(
    "scree(model.explained_variance_, model.total_variance_)", "scree(model.explained_variance_)",
    of="IncrementalPCA, PCA and TruncatedSVD",
)  # fmt: skip
def scree(values: Any, total: float | None = None, choice: Any = None, *, ax: Any = None) -> Any:
    """Draw the eigenvalues as shares of the variance, one bar each; return the Figure.

    Parameters
    ----------
    values : eigenvalues in descending order, such as ``explained_variance_``.
    total : what they are shares of, such as ``total_variance_``; None: their sum.
    choice : how many were kept, as a number or as ``choice_``; those bars stand out, and the reason is written.
    ax : matplotlib axes to draw in; None: a new figure.

    Examples
    --------
    >>> from lowland import PCA, plots
    >>> from lowland.data import load_dataset
    >>> pca = PCA().fit(load_dataset("iris").X)
    >>> figure = plots.scree(pca.explained_variance_, pca.total_variance_, choice=2)
    """
    values = _line(values, "values")
    sum_of_all = float(values.sum()) if total is None else float(numbers(total, "total"))
    if not sum_of_all > 0:
        raise DataError("scree: the eigenvalues add up to nothing, so there are no shares to draw.")
    kept, reason = _kept(choice, len(values))
    ax = axes_for(ax, (5.5, 3.6))
    shares = 100 * values / sum_of_all
    of = "the values shown" if total is None else "the variance"  # components left out may hold more
    places = np.arange(1, len(values) + 1)
    colors = [STRONG if kept is None or place <= kept else WEAK for place in places]
    ax.bar(places, shares, width=0.8, color=colors)
    if kept is not None:
        ax.axvline(kept + 0.5, color=MARK, linewidth=1.2, linestyle="--")
        text = reason or f"{kept} kept: {shares[:kept].sum():.1f}% of {of}"
        ax.set_title(text, fontsize="medium", color=INK, loc="left")
    ax.set_xlabel("component")
    ax.set_ylabel(f"share of {of} (%)")
    ax.xaxis.get_major_locator().set_params(integer=True)
    ax.set_xlim(0.3, len(values) + 0.7)
    quiet(ax)
    return figure_of(ax)


@called_as("distortion_curve([model.distortion(M) for M in range(model.n_components_ + 1)])", of="PCA")
def distortion_curve(distortions: Any, choice: Any = None, *, ax: Any = None) -> Any:
    """Draw the mean squared error J(M) of keeping M components, M = 0, 1, 2, …; return the Figure.

    Parameters
    ----------
    distortions : J(0), J(1), …, such as ``[pca.distortion(M) for M in range(pca.n_components_ + 1)]``.
    choice : how many were kept, as a number or as ``choice_``; that point is marked.
    ax : matplotlib axes to draw in; None: a new figure.

    Examples
    --------
    >>> from lowland import PCA, plots
    >>> from lowland.data import load_dataset
    >>> pca = PCA().fit(load_dataset("iris").X)
    >>> figure = plots.distortion_curve([pca.distortion(M) for M in range(5)], choice=2)
    """
    J = _line(distortions, "distortions")
    kept, _ = _kept(choice, len(J) - 1)
    ax = axes_for(ax, (5.5, 3.6))
    ax.plot(np.arange(len(J)), J, color=STRONG, linewidth=1.6, marker="o", markersize=4 if len(J) <= 40 else 2.5)
    if kept is not None:
        ax.plot([kept], [J[kept]], color=MARK, marker="o", markersize=8, markerfacecolor="none", markeredgewidth=1.8)
        ax.annotate(
            f"J({kept}) = {J[kept]:.3g}", (kept, J[kept]), xytext=(8, 10), textcoords="offset points", color=INK
        )
    ax.set_xlabel("components kept, M")
    ax.set_ylabel("mean squared error J(M)")
    ax.xaxis.get_major_locator().set_params(integer=True)
    ax.set_ylim(bottom=0)
    quiet(ax)
    return figure_of(ax)


@called_as("decay(model.eigenvalues_, [1, model.diffusion_time_])", of="DiffusionMap")
def decay(eigenvalues: Any, times: Any = (1, 2, 4, 8, 16), *, ax: Any = None) -> Any:
    """Draw the powers λ^t of a walk's eigenvalues, a line for each time t: what each coordinate counts by then.

    Parameters
    ----------
    eigenvalues : in descending order, such as ``DiffusionMap.eigenvalues_``.
    times : the times t.
    ax : matplotlib axes to draw in; None: a new figure.

    Examples
    --------
    >>> from lowland import DiffusionMap, plots
    >>> from lowland.data import load_dataset
    >>> figure = plots.decay(DiffusionMap(10).fit(load_dataset("iris").X).eigenvalues_)
    """
    values, times = _line(eigenvalues, "eigenvalues"), _line(times, "times")
    if (worst := float(np.abs(values).max())) > 1 + 1e-6:  # float32 rounds that much
        raise DataError(
            f"decay: an eigenvalue of size {worst:.3g} is none of a random walk, whose lie from -1 to 1. "
            "Pass eigenvalues_ of a DiffusionMap."
        )
    ax = axes_for(ax, (5.5, 3.6))
    places = np.arange(1, len(values) + 1)
    for i, t in enumerate(times):
        shade = 1 - 0.65 * i / max(1, len(times) - 1)
        powers = np.maximum(values, 0) ** t
        ax.plot(places, powers, marker="o", markersize=3.5, color=STRONG, alpha=shade, label=f"t = {t:g}")
    ax.legend(frameon=False, labelcolor=INK)
    ax.set_xlabel("coordinate")
    ax.set_ylabel("what it counts, λᵗ")
    ax.xaxis.get_major_locator().set_params(integer=True)
    ax.set_xlim(0.3, len(values) + 0.7)
    ax.set_ylim(0, 1.03)
    quiet(ax)
    return figure_of(ax)


def _line(values: Any, name: str) -> np.ndarray:
    line = numbers(values, name)
    if line.ndim != 1 or not line.size:
        raise DataError(f"{name} has shape {line.shape}. Pass a list of one or more numbers.")
    return line


def _kept(choice: Any, most: int) -> tuple[int | None, str]:
    """How many were kept and why, from a number or from a Choice."""
    if choice is None:
        return None, ""
    kept, reason = getattr(choice, "n_components", choice), getattr(choice, "reason", "")
    if isinstance(kept, bool) or not isinstance(kept, int | np.integer) or not 0 <= kept <= most:
        raise ParameterError(f"choice={choice!r}: give a whole number from 0 to {most}, or a model's choice_.")
    return int(kept), str(reason)

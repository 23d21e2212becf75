"""Figures of spectra: explained variance, reconstruction error, and the decay of diffusion eigenvalues."""

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
    """Draw a scree plot: the explained variance ratio of each component as a bar.

    Parameters
    ----------
    values : array-like of shape (k,)
        Eigenvalues in descending order, such as ``explained_variance_``.
    total : float or None, default None
        Total variance, such as ``total_variance_``. None: the sum of the values.
    choice : int, Choice or None, default None
        Number of components kept, or ``choice_`` of a model; they are highlighted.
    ax : matplotlib Axes or None, default None
        Axes to draw in. None: a new figure.

    Returns
    -------
    matplotlib Figure
        The figure; save it with ``figure.savefig(path)``.

    References
    ----------
    Cattell 1966, *The scree test for the number of factors*, doi:10.1207/s15327906mbr0102_10.

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
        raise DataError("scree: the eigenvalues add up to zero, so there is no variance to draw. Check the values.")
    kept, reason = _kept(choice, len(values))
    ax = axes_for(ax, (5.5, 3.6))
    percent = 100 * values / sum_of_all
    of = "the values shown" if total is None else "the variance"  # there may be more components than shown
    places = np.arange(1, len(values) + 1)
    colors = [STRONG if kept is None or place <= kept else WEAK for place in places]
    ax.bar(places, percent, width=0.8, color=colors)
    if kept is not None:
        ax.axvline(kept + 0.5, color=MARK, linewidth=1.2, linestyle="--")
        text = reason or f"{kept} of {len(values)} components: {percent[:kept].sum():.1f}% of {of}"
        ax.set_title(text, fontsize="medium", color=INK, loc="left")
    ax.set_xlabel("component")
    ax.set_ylabel("explained variance (%)" if total is not None else f"fraction of {of} (%)")
    ax.xaxis.get_major_locator().set_params(integer=True)
    ax.set_xlim(0.3, len(values) + 0.7)
    quiet(ax)
    return figure_of(ax)


@called_as("distortion_curve([model.distortion(M) for M in range(model.n_components_ + 1)])", of="PCA")
def distortion_curve(distortions: Any, choice: Any = None, *, ax: Any = None) -> Any:
    """Draw the mean squared reconstruction error J(M) over the number of components M = 0, 1, 2, …

    Parameters
    ----------
    distortions : array-like of shape (k + 1,)
        J(0), J(1), …, such as ``[pca.distortion(M) for M in range(pca.n_components_ + 1)]``.
    choice : int, Choice or None, default None
        Number of components kept, or ``choice_`` of a model; they are highlighted.
    ax : matplotlib Axes or None, default None
        Axes to draw in. None: a new figure.

    Returns
    -------
    matplotlib Figure
        The figure; save it with ``figure.savefig(path)``.

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
    ax.set_xlabel("number of components M")
    ax.set_ylabel("mean squared error J(M)")
    ax.xaxis.get_major_locator().set_params(integer=True)
    ax.set_ylim(bottom=0)
    quiet(ax)
    return figure_of(ax)


@called_as("decay(model.eigenvalues_, [1, model.diffusion_time_])", of="DiffusionMap")
def decay(eigenvalues: Any, times: Any = (1, 2, 4, 8, 16), *, ax: Any = None) -> Any:
    """Draw the powers λ^t of the eigenvalues of a random walk, one line per diffusion time t.

    λ^t is the weight of a diffusion coordinate after t steps of the random walk.

    Parameters
    ----------
    eigenvalues : array-like of shape (k,)
        Eigenvalues in descending order, such as ``DiffusionMap.eigenvalues_``.
    times : sequence of numbers, default (1, 2, 4, 8, 16)
        Diffusion times t.
    ax : matplotlib Axes or None, default None
        Axes to draw in. None: a new figure.

    Returns
    -------
    matplotlib Figure
        The figure; save it with ``figure.savefig(path)``.

    Examples
    --------
    >>> from lowland import DiffusionMap, plots
    >>> from lowland.data import load_dataset
    >>> figure = plots.decay(DiffusionMap(10).fit(load_dataset("iris").X).eigenvalues_)
    """
    values, times = _line(eigenvalues, "eigenvalues"), _line(times, "times")
    if (worst := float(np.abs(values).max())) > 1 + 1e-6:  # rounding error of float32
        raise DataError(
            f"decay: an eigenvalue has the absolute value {worst:.3g}, but those of a random walk lie in [-1, 1]. "
            "Pass eigenvalues_ of a DiffusionMap."
        )
    ax = axes_for(ax, (5.5, 3.6))
    places = np.arange(1, len(values) + 1)
    for i, t in enumerate(times):
        shade = 1 - 0.65 * i / max(1, len(times) - 1)
        powers = np.maximum(values, 0) ** t
        ax.plot(places, powers, marker="o", markersize=3.5, color=STRONG, alpha=shade, label=f"t = {t:g}")
    ax.legend(frameon=False, labelcolor=INK)
    ax.set_xlabel("diffusion coordinate")
    ax.set_ylabel("weight λᵗ")
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
    """The number of components kept and the reason, from an integer or a Choice."""
    if choice is None:
        return None, ""
    kept, reason = getattr(choice, "n_components", choice), getattr(choice, "reason", "")
    if isinstance(kept, bool) or not isinstance(kept, int | np.integer) or not 0 <= kept <= most:
        raise ParameterError(f"choice={choice!r}: choose an integer from 0 to {most}, or pass choice_ of a model.")
    return int(kept), str(reason)

"""Figures of spectra: explained variance, reconstruction error, and the decay of diffusion eigenvalues."""

from __future__ import annotations

from typing import Any

import numpy as np

from lowland.errors import DataError, ParameterError
from lowland.plots.legends import legend_of
from lowland.plots.models import attribute, called_as
from lowland.plots.style import INK, MARK, STRONG, WEAK, axes_for, figure_of, numbers, quiet


def _variances_of(model: Any) -> dict[str, Any]:
    ratios = attribute(model, "explained_variance_ratio_", default=None)
    if ratios is not None:
        return {"values": ratios, "total": 1.0}
    return {"values": attribute(model, "explained_variance_")}


@called_as(
    "scree(model)",
    of="FactorAnalysis, IncrementalPCA, LinearDiscriminantAnalysis, PCA and TruncatedSVD",
    read=_variances_of,
)
def scree(values: Any, total: float | None = None, choice: Any = None, *, ax: Any = None) -> Any:
    """Draw a scree plot: the explained variance ratio of each component as a bar.

    Parameters
    ----------
    values : array-like of shape (k,), or fitted model
        Eigenvalues in descending order, such as ``explained_variance_``; or a model with
        ``explained_variance_ratio_``, of Lowland or scikit-learn, also as the last step of a pipeline.
    total : float or None, default None
        Total variance, such as ``total_variance_``. None: that of the model, or the sum of the values.
    choice : int, Choice or None, default None
        Number of components kept, or ``choice_`` of a model; they are highlighted.
    ax : matplotlib Axes or None, default None
        Axes to draw in. None: a new figure.

    Returns
    -------
    matplotlib Figure, or ``ax`` if it was given
        A notebook shows the figure; ``figure.savefig(path)`` saves it.

    References
    ----------
    Cattell 1966, *The scree test for the number of factors*, doi:10.1207/s15327906mbr0102_10.

    Examples
    --------
    >>> from lowland import PCA, plots
    >>> from lowland.data import load_dataset
    >>> pca = PCA().fit(load_dataset("iris").X)
    >>> figure = plots.scree(pca, choice=2)
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


def _distortions_of(model: Any) -> dict[str, Any]:
    """J(0), …, J(k) of a PCA; scikit-learn's divides the variances by n - 1, the distortion is a mean over n rows."""
    distortion = attribute(model, "distortion", default=None)
    if distortion is not None:
        return {"distortions": [distortion(M) for M in range(attribute(model, "n_components_") + 1)]}
    values, ratios, n = (
        attribute(model, word) for word in ("explained_variance_", "explained_variance_ratio_", "n_samples_")
    )
    total = values.sum() / ratios.sum()
    return {"distortions": np.maximum(total - np.cumsum([0.0, *values]), 0) * (n - 1) / n}


@called_as("distortion_curve(model)", of="PCA", read=_distortions_of)
def distortion_curve(distortions: Any, choice: Any = None, *, ax: Any = None) -> Any:
    """Draw the mean squared reconstruction error J(M) over the number of components M = 0, 1, 2, …

    Parameters
    ----------
    distortions : array-like of shape (k + 1,), or fitted PCA
        J(0), J(1), …, such as ``[pca.distortion(M) for M in range(pca.n_components_ + 1)]``; or the PCA itself.
    choice : int, Choice or None, default None
        Number of components kept, or ``choice_`` of a model; they are highlighted.
    ax : matplotlib Axes or None, default None
        Axes to draw in. None: a new figure.

    Returns
    -------
    matplotlib Figure, or ``ax`` if it was given
        A notebook shows the figure; ``figure.savefig(path)`` saves it.

    Examples
    --------
    >>> from lowland import PCA, plots
    >>> from lowland.data import load_dataset
    >>> pca = PCA().fit(load_dataset("iris").X)
    >>> figure = plots.distortion_curve(pca, choice=2)
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


def _eigenvalues_of(model: Any) -> dict[str, Any]:
    attribute(model, "diffusion_time_")  # other methods have eigenvalues that are not of a random walk
    return {"eigenvalues": attribute(model, "eigenvalues_")}


@called_as("decay(model)", of="DiffusionMap", read=_eigenvalues_of)
def decay(eigenvalues: Any, times: Any = (1, 2, 4, 8, 16), *, ax: Any = None) -> Any:
    """Draw the powers λ^t of the eigenvalues of a random walk, one line per diffusion time t.

    λ^t is the weight of a diffusion coordinate after t steps of the random walk.

    Parameters
    ----------
    eigenvalues : array-like of shape (k,), or fitted DiffusionMap
        Eigenvalues in descending order, such as ``eigenvalues_``; or the DiffusionMap itself.
    times : sequence of numbers, default (1, 2, 4, 8, 16)
        Diffusion times t.
    ax : matplotlib Axes or None, default None
        Axes to draw in. None: a new figure.

    Returns
    -------
    matplotlib Figure, or ``ax`` if it was given
        A notebook shows the figure; ``figure.savefig(path)`` saves it.

    Examples
    --------
    >>> from lowland import DiffusionMap, plots
    >>> from lowland.data import load_dataset
    >>> figure = plots.decay(DiffusionMap(10).fit(load_dataset("iris").X))
    """
    values, times = _line(eigenvalues, "eigenvalues"), _line(times, "times")
    if (worst := float(np.abs(values).max())) > 1 + 1e-6:  # rounding error of float32
        raise DataError(
            f"decay: an eigenvalue has the absolute value {worst:.3g}, but those of a random walk lie in [-1, 1]. "
            "Pass eigenvalues_ of a DiffusionMap."
        )
    ax = axes_for(ax, (5.5, 3.6))
    places = np.arange(1, len(values) + 1)
    lines = []
    for i, t in enumerate(times):
        shade = 1 - 0.65 * i / max(1, len(times) - 1)
        powers = np.maximum(values, 0) ** t
        lines += ax.plot(places, powers, marker="o", markersize=3.5, color=STRONG, alpha=shade)
    ax.set_xlabel("diffusion coordinate")
    legend_of(ax, lines, [f"t = {t:g}" for t in times], inside=6)
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

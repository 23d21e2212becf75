"""Figures of quality measures: Shepard diagram, R_NX curves, residual variances."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from lowland.errors import DataError
from lowland.plots.legends import legend_of, shortened
from lowland.plots.models import attribute, called_as
from lowland.plots.style import (
    COLORS,
    INK,
    MARK,
    SEQUENTIAL,
    STRONG,
    WEAK,
    as_integer,
    axes_for,
    figure_of,
    numbers,
    on_host,
    quiet,
    title_above,
)

_FEW_PAIRS = 3_000  # more are drawn as a histogram
_CELLS = 60  # per axis
_STYLES = ("-", "--", "-.", ":")


@called_as("shepard(quality.shepard(X, Z))")
def shepard(diagram: Any, *, title: str | None = None, ax: Any = None) -> Any:
    """Draw a Shepard diagram: pairwise distances in the embedding over those in the data.

    The line shows the least-squares scale. Pairs above the line are too far apart in the embedding, pairs below it too
    close.
    Many pairs are drawn as a 2D histogram.

    Parameters
    ----------
    diagram : Shepard
        Result of ``quality.shepard``.
    title : str or None, default None
        Title of the figure. None: the two correlations.
    ax : matplotlib Axes or None, default None
        Axes to draw in. None: a new figure.

    Returns
    -------
    matplotlib Figure, or ``ax`` if it was given
        A notebook shows the figure; ``figure.savefig(path)`` saves it.

    References
    ----------
    Shepard 1962, *The analysis of proximities*, doi:10.1007/BF02289630.

    Examples
    --------
    >>> from lowland import PCA, plots, quality
    >>> from lowland.data import load_dataset
    >>> X = load_dataset("iris").X
    >>> figure = plots.shepard(quality.shepard(X, PCA(2).fit_transform(X)))
    """
    if not hasattr(diagram, "original"):
        raise DataError(f"{type(diagram).__name__} is not a Shepard diagram. Pass the result of quality.shepard(X, Z).")
    x, z = on_host(diagram.original), on_host(diagram.embedded)
    ax = axes_for(ax, (5.2, 4.2))
    if len(x) <= _FEW_PAIRS:
        ax.scatter(x, z, s=8, color=STRONG, alpha=0.5, linewidths=0)
    else:
        counts, *edges = np.histogram2d(x, z, bins=_CELLS)
        shown = np.ma.masked_equal(counts.T, 0)
        cells = ax.pcolormesh(*edges, np.ma.log10(shown), cmap=SEQUENTIAL, rasterized=True)
        bar = ax.figure.colorbar(cells, ax=ax)
        bar.set_label("number of pairs (log₁₀)", fontsize="small", color=INK)
        bar.outline.set_visible(False)
    far = float(x.max())
    ax.plot([0, far], [0, far / diagram.scale], color=MARK, linewidth=1.4, label="least-squares scale")
    ax.legend(frameon=False, labelcolor=INK, loc="best")
    ax.set_xlabel("distance in the data")
    ax.set_ylabel("distance in the embedding")
    ax.set_xlim(left=0)
    ax.set_ylim(bottom=0)
    correlations = f"Spearman {diagram.spearman.value:.3f}, Pearson {diagram.pearson.value:.3f}"
    title_above(ax, correlations if title is None else title)
    quiet(ax)
    return figure_of(ax)


@called_as("rnx_curve(quality.co_ranking(X, Z))")
def rnx_curve(curves: Any, *, title: str | None = None, ax: Any = None) -> Any:
    """Draw R_NX over the neighborhood size k on a logarithmic axis: 1 is perfect, 0 is chance.

    Parameters
    ----------
    curves : CoRanking, or dict or list of them
        Result of ``quality.co_ranking``, or several, by name or numbered from 1. Bands show the confidence intervals of
        samples.
    title : str or None, default None
        Title of the figure.
    ax : matplotlib Axes or None, default None
        Axes to draw in. None: a new figure.

    Returns
    -------
    matplotlib Figure, or ``ax`` if it was given
        A notebook shows the figure; ``figure.savefig(path)`` saves it.

    References
    ----------
    Lee et al. 2013, doi:10.1016/j.neucom.2012.12.036.

    Examples
    --------
    >>> from lowland import PCA, plots, quality
    >>> from lowland.data import load_dataset
    >>> X = load_dataset("iris").X
    >>> found = {f"PCA({k})": quality.co_ranking(X, PCA(k).fit_transform(X)) for k in (1, 2)}
    >>> figure = plots.rnx_curve(found)
    """
    if isinstance(curves, list | tuple):
        curves = {str(i): one for i, one in enumerate(curves, start=1)}
    several = dict(curves) if isinstance(curves, Mapping) else {"": curves}
    if not several:
        raise DataError("rnx_curve: there are no curves to draw. Pass the result of quality.co_ranking(X, Z).")
    for one in several.values():
        if not hasattr(one, "r_nx"):
            raise DataError(
                f"{type(one).__name__} is not an R_NX curve. Pass the result of quality.co_ranking(X, Z), or a dict."
            )
    ax = axes_for(ax, (5.5, 3.8))
    lines = []
    for i, one in enumerate(several.values()):
        color, style = COLORS[i % len(COLORS)], _STYLES[i % len(_STYLES)]
        lines += ax.plot(one.k, one.r_nx, color=color, linestyle=style, linewidth=1.8)
        if one.r_nx_low is not None:
            ax.fill_between(one.k, one.r_nx_low, one.r_nx_high, color=color, alpha=0.2, linewidth=0)
    ax.set_xscale("log")
    ax.set_ylim(min(0.0, *(float(one.r_nx.min()) for one in several.values())), 1.02)
    short = shortened(list(several), 22)
    areas = [f"{name}: area {one.area.value:.3f}" for name, one in zip(short, several.values(), strict=True)]
    areas = [area.removeprefix(": ") for area in areas]
    ax.set_xlabel("neighborhood size k")
    legend_of(ax, lines, areas, inside=5, most=40)
    ax.set_ylabel("neighborhood agreement R_NX(k)")
    title_above(ax, title)
    quiet(ax)
    return figure_of(ax)


@called_as(
    "residual_variances(model)",
    of="Isomap",
    read=lambda model: {"variances": attribute(model, "residual_variances_")},
)
def residual_variances(variances: Any, choice: int | None = None, *, title: str | None = None, ax: Any = None) -> Any:
    """Draw the residual variance over the number of dimensions; the elbow suggests how many are enough.

    Parameters
    ----------
    variances : array-like of shape (k,), or fitted Isomap
        Residual variance of embeddings of 1, 2, …, k dimensions, such as ``residual_variances_``; or the Isomap
        itself.
    choice : int or None, default None
        Number of dimensions to mark.
    title : str or None, default None
        Title of the figure.
    ax : matplotlib Axes or None, default None
        Axes to draw in. None: a new figure.

    Returns
    -------
    matplotlib Figure, or ``ax`` if it was given
        A notebook shows the figure; ``figure.savefig(path)`` saves it.

    Examples
    --------
    >>> from lowland import Isomap, plots
    >>> from lowland.data import load_dataset
    >>> isomap = Isomap(6).fit(load_dataset("swiss_roll", n=300, seed=1).X)
    >>> figure = plots.residual_variances(isomap, choice=2)
    """
    line = numbers(variances, "variances")
    if line.ndim != 1 or not line.size:
        raise DataError(f"variances has shape {line.shape}. Pass one residual variance per number of dimensions.")
    choice = None if choice is None else as_integer(choice, "choice", most=len(line))
    ax = axes_for(ax, (5.5, 3.6))
    places = np.arange(1, len(line) + 1)
    ax.plot(places, line, color=STRONG, linewidth=1.6, marker="o", markersize=5)
    if choice is not None:
        at = (choice, line[choice - 1])
        ax.plot(*([each] for each in at), color=MARK, marker="o", markersize=9, fillstyle="none", markeredgewidth=1.8)
        ax.annotate(f"{choice}: {at[1]:.3g}", at, xytext=(8, 10), textcoords="offset points", color=INK)
    ax.set_xlabel("number of dimensions")
    ax.set_ylabel("residual variance")
    ax.xaxis.get_major_locator().set_params(integer=True)
    ax.set_ylim(bottom=0)
    ax.axhline(0, color=WEAK, linewidth=0.8)
    title_above(ax, title)
    quiet(ax)
    return figure_of(ax)

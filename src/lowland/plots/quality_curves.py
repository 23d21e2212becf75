"""Pictures of measures: distances before and after, common neighbours of every size, what each dimension explains."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from lowland.errors import DataError
from lowland.plots.style import (
    COLORS,
    INK,
    MARK,
    SEQUENTIAL,
    STRONG,
    WEAK,
    axes_for,
    called_as,
    figure_of,
    legend_of,
    numbers,
    on_host,
    quiet,
    title_above,
    whole,
)

_FEW_PAIRS = 3_000  # that can be seen as points; more are counted in cells
_CELLS = 60  # along each side
_STYLES = ("-", "--", "-.", ":")


@called_as("shepard(quality.shepard(X, Z))")
def shepard(diagram: Any, *, title: str | None = None, ax: Any = None) -> Any:
    """Draw the distances of pairs in the embedding over those in the data, and the line of the best scale.

    Points above the line were pulled apart, points below pressed together. Many pairs are counted in cells.

    Parameters
    ----------
    diagram : what ``quality.shepard`` gives.
    title : what stands above; None: the two correlations.
    ax : matplotlib axes to draw in; None: a new figure.

    Examples
    --------
    >>> from lowland import PCA, plots, quality
    >>> from lowland.data import load_dataset
    >>> X = load_dataset("iris").X
    >>> figure = plots.shepard(quality.shepard(X, PCA(2).fit_transform(X)))
    """
    if not hasattr(diagram, "original"):
        raise DataError(f"{type(diagram).__name__} is no Shepard diagram. Pass what quality.shepard(X, Z) gives.")
    x, z = on_host(diagram.original), on_host(diagram.embedded)
    ax = axes_for(ax, (5.2, 4.2))
    if len(x) <= _FEW_PAIRS:
        ax.scatter(x, z, s=8, color=STRONG, alpha=0.5, linewidths=0)
    else:
        counts, *edges = np.histogram2d(x, z, bins=_CELLS)
        shown = np.ma.masked_equal(counts.T, 0)
        cells = ax.pcolormesh(*edges, np.ma.log10(shown), cmap=SEQUENTIAL, rasterized=True)
        bar = ax.figure.colorbar(cells, ax=ax)
        bar.set_label("pairs, log₁₀", fontsize="small", color=INK)
        bar.outline.set_visible(False)
    far = float(x.max())
    ax.plot([0, far], [0, far / diagram.scale], color=MARK, linewidth=1.4, label="best scale")
    ax.legend(frameon=False, labelcolor=INK, loc="upper left")
    ax.set_xlabel("distance in the data")
    ax.set_ylabel("distance in the embedding")
    ax.set_xlim(left=0)
    ax.set_ylim(bottom=0)
    told = f"Spearman {diagram.spearman.value:.3f}, Pearson {diagram.pearson.value:.3f}"
    title_above(ax, told if title is None else title)
    quiet(ax)
    return figure_of(ax)


@called_as("rnx_curve(quality.co_ranking(X, Z))")
def rnx_curve(curves: Any, *, title: str | None = None, ax: Any = None) -> Any:
    """Draw R_NX over the size of the neighbourhood, on a logarithmic axis: 1 is perfect, 0 is chance.

    Parameters
    ----------
    curves : what ``quality.co_ranking`` gives, or several of them by name; bands show intervals of samples.
    title : what stands above.
    ax : matplotlib axes to draw in; None: a new figure.

    Examples
    --------
    >>> from lowland import PCA, plots, quality
    >>> from lowland.data import load_dataset
    >>> X = load_dataset("iris").X
    >>> found = {f"PCA({k})": quality.co_ranking(X, PCA(k).fit_transform(X)) for k in (1, 2)}
    >>> figure = plots.rnx_curve(found)
    """
    several = dict(curves) if isinstance(curves, Mapping) else {"": curves}
    if not several:
        raise DataError("rnx_curve: there is no curve to draw. Pass what quality.co_ranking gives.")
    for one in several.values():
        if not hasattr(one, "r_nx"):
            raise DataError(
                f"{type(one).__name__} is no curve. Pass what quality.co_ranking(X, Z) gives, or a dict of it."
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
    areas = [f"{name}: area {one.area.value:.3f}".removeprefix(": ") for name, one in several.items()]
    legend_of(ax, lines, areas, labelcolor=INK)
    ax.set_xlabel("neighbours, k")
    ax.set_ylabel("common neighbours, R_NX(k)")
    title_above(ax, title)
    quiet(ax)
    return figure_of(ax)


@called_as("residual_variances(model.residual_variances_)", of="Isomap")
def residual_variances(variances: Any, choice: int | None = None, *, title: str | None = None, ax: Any = None) -> Any:
    """Draw the residual variance of embeddings of 1, 2, 3, … dimensions: where the line bends they are enough.

    Parameters
    ----------
    variances : one for each number of dimensions from 1 on, such as ``Isomap.residual_variances_``.
    choice : a number of dimensions to mark.
    title : what stands above.
    ax : matplotlib axes to draw in; None: a new figure.

    Examples
    --------
    >>> from lowland import Isomap, plots
    >>> from lowland.data import load_dataset
    >>> isomap = Isomap(6).fit(load_dataset("swiss_roll", n=300, seed=1).X)
    >>> figure = plots.residual_variances(isomap.residual_variances_, choice=2)
    """
    line = numbers(variances, "variances")
    if line.ndim != 1 or not line.size:
        raise DataError(f"variances has shape {line.shape}. Pass one number for each number of dimensions.")
    choice = None if choice is None else whole(choice, "choice", most=len(line))
    ax = axes_for(ax, (5.5, 3.6))
    places = np.arange(1, len(line) + 1)
    ax.plot(places, line, color=STRONG, linewidth=1.6, marker="o", markersize=5)
    if choice is not None:
        at = (choice, line[choice - 1])
        ax.plot(*([each] for each in at), color=MARK, marker="o", markersize=9, fillstyle="none", markeredgewidth=1.8)
        ax.annotate(f"{choice}: {at[1]:.3g}", at, xytext=(8, 10), textcoords="offset points", color=INK)
    ax.set_xlabel("dimensions")
    ax.set_ylabel("residual variance")
    ax.xaxis.get_major_locator().set_params(integer=True)
    ax.set_ylim(bottom=0)
    ax.axhline(0, color=WEAK, linewidth=0.8)
    title_above(ax, title)
    quiet(ax)
    return figure_of(ax)

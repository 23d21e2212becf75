"""Figures of curves: spectra, quality measures over a size, and the steps of a feature selection."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np

from lowland.errors import DataError, ParameterError
from lowland.plots.models import attribute, called_as, column_names
from lowland.plots.names import legend_of, shorten
from lowland.plots.style import (
    COLORS,
    INK,
    MARK,
    SEQUENTIAL,
    STRONG,
    WEAK,
    as_integer,
    axes_for,
    darker,
    figure_of,
    label_axes,
    names_of,
    numbers,
    on_host,
    plain,
)

_FEW_PAIRS = 3_000  # more are drawn as a histogram
_CELLS = 60  # per axis
_STYLES = ("-", "--", "-.", ":")
_MOST_NAMED = 40  # more names of columns are not legible
_WORSE = "#858c96"  # settings that are not the best
_LONGEST_SETTING = 44  # characters
_MOST_COLORED = 8  # columns with their own color and name


# --- spectra ---


def _variances_of(model: Any) -> dict[str, Any]:
    values = attribute(model, "explained_variance_ratio_", "explained_variance_")
    ratios = attribute(model, "explained_variance_ratio_", default=None) is not None
    return {"values": values, **({"total": 1.0} if ratios else {})}


@called_as("scree(model)", read=_variances_of)
def scree(values: Any, total: float | None = None, choice: Any = None, *, ax: Any = None) -> Any:
    """Draw a scree plot: the explained variance ratio of each component as a bar.

    Parameters
    ----------
    values : array-like of shape (k,), or fitted model
        Eigenvalues in descending order, such as ``explained_variance_``, or a model with ``explained_variance_ratio_``,
        of Lowland or scikit-learn, also as the last step of a pipeline.
    total : float or None, default None
        Total variance, such as ``total_variance_``. None means that of the model, or the sum of the values.

    References
    ----------
    Cattell 1966, *The scree test for the number of factors*, doi:10.1207/s15327906mbr0102_10.

    Examples
    --------
    >>> from lowland import PCA, data, plots
    >>> pca = PCA().fit(data.load_dataset("iris").X)
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
    ax.set_xlim(0.3, len(values) + 0.7)
    up = "explained variance (%)" if total is not None else f"fraction of {of} (%)"
    label_axes(ax, "component", up, integers=True)
    return figure_of(ax)


def _distortions_of(model: Any) -> dict[str, Any]:
    """J(0), …, J(k) of a PCA; scikit-learn's divides the variances by n - 1, the distortion is a mean over n points."""
    distortion = attribute(model, "distortion", default=None)
    if distortion is not None:
        return {"distortions": [distortion(m) for m in range(attribute(model, "n_components_") + 1)]}
    values, ratios, n = (
        attribute(model, word) for word in ("explained_variance_", "explained_variance_ratio_", "n_samples_")
    )
    total = values.sum() / ratios.sum()
    return {"distortions": np.maximum(total - np.cumsum([0.0, *values]), 0) * (n - 1) / n}


@called_as("distortion_curve(model)", read=_distortions_of)
def distortion_curve(distortions: Any, choice: Any = None, *, ax: Any = None) -> Any:
    """Draw the mean squared reconstruction error J(m) over the number of components m = 0, 1, 2, …

    Parameters
    ----------
    distortions : array-like of shape (k + 1,), or fitted PCA
        J(0), J(1), …, such as ``[pca.distortion(m) for m in range(pca.n_components_ + 1)]``, or the PCA itself.

    Examples
    --------
    >>> from lowland import PCA, data, plots
    >>> pca = PCA().fit(data.load_dataset("iris").X)
    >>> figure = plots.distortion_curve(pca, choice=2)
    """
    J = _line(distortions, "distortions")
    kept, _ = _kept(choice, len(J) - 1)
    ax = axes_for(ax, (5.5, 3.6))
    _draw_over_dimensions(ax, 0, J, kept, f"J({kept}) = ")
    label_axes(ax, "number of components m", "mean squared error J(m)", integers=True)
    return figure_of(ax)


def _eigenvalues_of(model: Any) -> dict[str, Any]:
    attribute(model, "diffusion_time_")  # other methods have eigenvalues that are not of a random walk
    return {"eigenvalues": attribute(model, "eigenvalues_")}


@called_as("decay(model)", read=_eigenvalues_of)
def decay(eigenvalues: Any, times: Any = (1, 2, 4, 8, 16), *, ax: Any = None) -> Any:
    """Draw the powers λ^t of the eigenvalues of a random walk, one line per diffusion time t.

    λ^t is the weight of a diffusion coordinate after t steps of the random walk.

    Parameters
    ----------
    eigenvalues : array-like of shape (k,), or fitted DiffusionMap
        Eigenvalues in descending order, such as ``eigenvalues_``, or the DiffusionMap itself.
    times : sequence of numbers, default (1, 2, 4, 8, 16)
        Diffusion times t.

    Examples
    --------
    >>> from lowland import DiffusionMap, data, plots
    >>> figure = plots.decay(DiffusionMap(10).fit(data.load_dataset("iris").X))
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
    ax.set(xlim=(0.3, len(values) + 0.7), ylim=(0, 1.03))
    label_axes(ax, "diffusion coordinate", "weight λᵗ", integers=True)
    legend_of(ax, lines, [f"t = {t:g}" for t in times], inside=6)
    return figure_of(ax)


def _draw_over_dimensions(ax: Any, first: int, values: np.ndarray, kept: int | None, word: str) -> None:
    """Draw values over the number of dimensions, which begins at ``first``; mark and name the one that is kept."""
    places = np.arange(first, first + len(values))
    ax.plot(places, values, color=STRONG, linewidth=1.6, marker="o", markersize=4 if len(values) <= 40 else 2.5)
    if kept is not None:
        x, y = kept, values[kept - first]
        ax.plot([x], [y], color=MARK, marker="o", markersize=8, fillstyle="none", markeredgewidth=1.8)
        ax.annotate(f"{word}{y:.3g}", (x, y), xytext=(8, 10), textcoords="offset points", color=INK)
    ax.set_ylim(bottom=0)


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


# --- quality measures ---


@called_as("shepard(quality.shepard(X, Z))")
def shepard(diagram: Any, *, title: str | None = None, ax: Any = None) -> Any:
    """Draw a Shepard diagram: pairwise distances in the embedding over those in the data.

    The line shows the least-squares scale. Pairs above the line are too far apart in the embedding, pairs below it too
    close. Many pairs are drawn as a 2D histogram.

    Parameters
    ----------
    diagram : Shepard
        Result of ``quality.shepard``.
    title : str or None, default None
        Title of the figure. None means the two correlations.

    References
    ----------
    Shepard 1962, *The analysis of proximities*, doi:10.1007/BF02289630.

    Examples
    --------
    >>> from lowland import PCA, data, plots, quality
    >>> X = data.load_dataset("iris").X
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
    ax.set_xlim(left=0)
    ax.set_ylim(bottom=0)
    if title is None:
        title = f"Spearman {diagram.spearman.value:.3f}, Pearson {diagram.pearson.value:.3f}"
    label_axes(ax, "distance in the data", "distance in the embedding", title)
    return figure_of(ax)


@called_as("rnx_curve(quality.co_ranking(X, Z))")
def rnx_curve(curves: Any, *, title: str | None = None, ax: Any = None) -> Any:
    """Draw R_NX over the neighborhood size k on a logarithmic axis: 1 is perfect, 0 is chance.

    Parameters
    ----------
    curves : CoRanking, or dict or list of them
        Result of ``quality.co_ranking``, or several, by name or numbered from 1. Bands show the confidence intervals of
        samples.

    References
    ----------
    Lee et al. 2013, doi:10.1016/j.neucom.2012.12.036.

    Examples
    --------
    >>> from lowland import PCA, data, plots, quality
    >>> X = data.load_dataset("iris").X
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
    short = shorten(list(several), 22)
    areas = [f"{name}: area {one.area.value:.3f}" for name, one in zip(short, several.values(), strict=True)]
    label_axes(ax, "neighborhood size k", "neighborhood agreement R_NX(k)", title)
    legend_of(ax, lines, [area.removeprefix(": ") for area in areas], inside=5, most=40)
    return figure_of(ax)


@called_as("residual_variances(model)", read=lambda model: {"variances": attribute(model, "residual_variances_")})
def residual_variances(variances: Any, choice: int | None = None, *, title: str | None = None, ax: Any = None) -> Any:
    """Draw the residual variance over the number of dimensions. The elbow suggests how many are enough.

    Parameters
    ----------
    variances : array-like of shape (k,), or fitted Isomap
        Residual variance of embeddings of 1, 2, …, k dimensions, such as ``residual_variances_``, or the Isomap itself.
    choice : int or None, default None
        Number of dimensions to mark.

    Examples
    --------
    >>> from lowland import Isomap, data, plots
    >>> isomap = Isomap(6).fit(data.load_dataset("swiss_roll", n=300, seed=1).X)
    >>> figure = plots.residual_variances(isomap, choice=2)
    """
    line = _line(variances, "variances")
    choice = None if choice is None else as_integer(choice, "choice", len(line))
    ax = axes_for(ax, (5.5, 3.6))
    _draw_over_dimensions(ax, 1, line, choice, f"{choice}: ")
    ax.axhline(0, color=WEAK, linewidth=0.8)
    label_axes(ax, "number of dimensions", "residual variance", title, integers=True)
    return figure_of(ax)


# --- choice of parameters ---


@called_as("sweep(lowland.sweep(method, X, perplexity=[5, 15, 50]))")
def sweep(result: Any, *, title: str | None = None, ax: Any = None) -> Any:
    """Draw the scores of a sweep with 95% confidence intervals: the best, its equivalents, and worse settings.

    A setting is worse if its score or its stability is, so the intervals of scores alone can overlap.

    Parameters
    ----------
    result : Sweep
        Result of ``lowland.sweep``.

    Examples
    --------
    >>> import lowland
    >>> X = lowland.data.load_dataset("iris").X
    >>> found = lowland.sweep(lowland.KernelPCA(2, kernel="rbf"), X, gamma=[0.01, 0.1, 1])
    >>> figure = lowland.plots.sweep(found)
    """
    settings = result.settings
    names = list(settings[0].parameters)
    one = len(names) == 1 and len({str(s.parameters) for s in settings}) == len(settings)  # values of one parameter
    texts = [str(s.parameters[names[0]]) if one else s.name for s in settings]
    ax = axes_for(ax, (5.5, 3.6) if one else (7.0, 1.2 + 0.4 * len(settings)))
    marks = {}
    for place, s in enumerate(settings):
        low, high = s.interval
        x, y = ([place], [s.score]) if one else ([s.score], [place])
        style = {"color": STRONG if s.equivalent else _WORSE, "marker": "o", "capsize": 3, "linestyle": "none"}
        error = [[max(0.0, s.score - low)], [max(0.0, high - s.score)]]
        marks["equivalent to it" if s.equivalent else "worse"] = ax.errorbar(
            x, y, **{"yerr" if one else "xerr": error}, **style
        )
        if s is result.best:
            ring = {"color": MARK, "marker": "o", "markersize": 11, "fillstyle": "none", "markeredgewidth": 1.8}
            marks["best"] = ax.plot(x, y, **ring, linestyle="none")[0]
    words, label = sorted(marks), "fraction of nearest neighbors kept"
    if one:
        ax.set_xticks(range(len(texts)), shorten([plain(text) for text in texts]))
        label_axes(ax, names[0], label, title)
    else:
        ax.set_yticks(range(len(texts)), shorten([plain(text) for text in texts], _LONGEST_SETTING))
        ax.set_ylim(len(texts) - 0.5, -0.5)
        label_axes(ax, label, "", title)
    legend_of(ax, [marks[word] for word in words], words)
    return figure_of(ax)


# --- feature selection ---


@called_as("selection_path(model)", read=lambda model: {"path": attribute(model, "path_")})
def selection_path(path: Any, *, ax: Any = None) -> Any:
    """Draw the score after each step of a feature selection, with the column that was added or removed.

    Parameters
    ----------
    path : sequence of steps, or fitted selector
        Steps, such as ``path_`` of SequentialFeatureSelector. Each has number, action, name, score and size. Or the
        selector itself.

    Examples
    --------
    >>> from lowland import SequentialFeatureSelector, data, plots
    >>> wine = data.load_dataset("wine")
    >>> figure = plots.selection_path(SequentialFeatureSelector().fit(wine.X, wine.y))
    """
    steps = list(path)
    if not steps:
        raise DataError("selection_path: the path has no steps, so there is nothing to draw. Fit the selector first.")
    if not all(hasattr(step, "score") for step in steps):
        raise DataError("selection_path: path does not contain steps of a feature selection. Pass model.path_.")
    ax = axes_for(ax, (max(5.5, 0.3 * min(len(steps), _MOST_NAMED) + 1.5), 3.8))
    points = np.array([(step.number, step.score) for step in steps])
    ax.plot(*points.T, color=WEAK, linewidth=1.4, zorder=1)
    shown = (("remove", "v", MARK, "removed"), ("add", "^", STRONG, "added"), ("find", "o", STRONG, "selected"))
    drawn = {}
    for action, marker, color, words in shown:
        some = points[[step.action == action for step in steps]]
        if len(some):
            drawn[words] = ax.scatter(*some.T, s=36, marker=marker, color=color, zorder=2)
    if len(steps) <= _MOST_NAMED:
        signs = {"add": "+ ", "remove": "− ", "find": ""}
        short = dict(zip(given := sorted({str(step.name) for step in steps}), shorten(given), strict=True))
        labels = [f"{signs[step.action]}{plain(short[str(step.name)])}" for step in steps]
        ax.set_xticks(points[:, 0], labels, rotation=60, ha="right", rotation_mode="anchor", fontsize="small")
    label_axes(ax, "step", "score")
    if len(drawn) > 1:
        legend_of(ax, list(drawn.values()), list(drawn), inside=3)
    return figure_of(ax)


def _coefficients_of(model: Any) -> dict[str, Any]:
    coefs = attribute(model, "coef_path_")
    found = {"alphas": attribute(model, "alphas_"), "coefs": coefs, "chosen": attribute(model, "alpha_", default=None)}
    return {**found, **column_names(model, coefs.shape[-1])}


@called_as("coefficient_paths(model)", read=_coefficients_of)
def coefficient_paths(
    alphas: Any, coefs: Any, *, names: Any = None, chosen: float | None = None, ax: Any = None
) -> Any:
    """Draw a regularization path: the coefficients of a sparse model over the penalty, one line per column.

    Parameters
    ----------
    alphas : array-like of shape (m,), or fitted L1Selector
        Penalties, such as ``alphas_`` of L1Selector, or the selector itself, without ``coefs``.
    coefs : array-like of shape (m, d), (m, K, d) or (d, m)
        Coefficients at each penalty. (d, m) is the result of scikit-learn's ``lasso_path``. With K classes, their
        Euclidean norms over the classes are drawn.
    names : sequence of str or None, default None
        Names of the columns, written at the ends of the largest coefficients. None means those of the model, if any.
    chosen : float or None, default None
        The selected penalty, marked by a vertical line. None means that of the model, if any.

    Examples
    --------
    >>> from lowland import L1Selector, data, plots
    >>> wine = data.load_dataset("wine")
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
        words = shorten(names_of(names, coefs.shape[1], "columns of coefficients"))
        ends = coefs[-1, order[:_MOST_COLORED]]
        for place, height in enumerate(_apart(ends, 0.05 * (coefs.max() - coefs.min()))):
            ax.annotate(plain(words[order[place]]), (alphas[-1], height), xytext=(4, 0), textcoords="offset points",
                        va="center", fontsize="small", color=darker(COLORS[place % len(COLORS)]))  # fmt: skip
    if chosen is not None:
        ax.axvline(chosen, color=INK, linewidth=1, linestyle="--")
    ax.set_xscale("log")
    ax.invert_xaxis()
    label_axes(ax, "penalty α", "coefficient")
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

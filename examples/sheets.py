"""Shared functions of the manifold learning scripts: the methods, their R², and panels of embeddings."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib import colormaps
from matplotlib.figure import Figure

import lowland
from gallery import title
from lowland.plots.style import INK, MARK, SEQUENTIAL, WEAK

GOOD = 0.9  # R² above which a coordinate counts as recovered
_TEN_COLORS = colormaps[SEQUENTIAL].resampled(10)  # few colors without antialiasing halve the file size


def manifold_methods(k: int) -> dict[str, Any]:
    """Return the manifold methods with k neighbors, by their name in figures."""
    names = {"standard": "LLE", "modified": "modified LLE", "hessian": "Hessian LLE", "ltsa": "LTSA"}
    return {
        "Isomap": lowland.Isomap(2, n_neighbors=k),
        **{
            name: lowland.LocallyLinearEmbedding(2, n_neighbors=k, method=method)  # type: ignore[arg-type]
            for method, name in names.items()
        },
        "Laplacian": lowland.SpectralEmbedding(2, n_neighbors=k + 1),  # which counts the point itself
        "diffusion": lowland.DiffusionMap(2, n_neighbors=k),
    }


def explained(Z: Any, truth: Any) -> Any:
    """Return R² of each true coordinate in a linear regression on the embedding: 1 is perfect."""
    A = np.column_stack([np.ones(len(Z)), Z])
    left = truth - A @ np.linalg.lstsq(A, truth, rcond=None)[0]
    return 1 - left.var(axis=0) / truth.var(axis=0)


def manifold_panels(sample: lowland.data.Dataset, color: Any, rows: int, columns: int, of: str) -> tuple[Figure, Any]:
    """Return a figure with the data and its true coordinates at the left, and axes for embeddings, (rows, columns).

    ``of`` names the two true coordinates in the caption.
    """
    figure = Figure(figsize=(11, 1.35 * rows + 0.8), layout="constrained")
    figure.get_layout_engine().set(w_pad=0.03, h_pad=0.03)  # type: ignore[union-attr]
    left, right = figure.subfigures(1, 2, width_ratios=(1.25, columns))
    bent, flat = left.add_subplot(2, 1, 1, projection="3d"), left.add_subplot(2, 1, 2)
    bent.scatter(*sample.X.T, c=color, s=1.5, depthshade=False, linewidths=0, cmap=_TEN_COLORS, antialiased=False)
    bent.view_init(12, -72)
    bent.set_box_aspect(np.ptp(sample.X, axis=0), zoom=1.5)
    bent.set_axis_off()
    title(bent, "data")
    map_of(flat, sample.truth, color)
    flat.set_aspect("equal")
    title(flat, "true coordinates")
    words = f"numbers: R² of {of} in a linear regression on the embedding (red: one of them is below {GOOD:.2f})"
    right.supxlabel(words, fontsize="medium", color=INK)
    return figure, right.subplots(rows, columns, squeeze=False)


def map_of(ax: Any, Z: Any, color: Any, found: Any = None) -> None:
    """Draw an embedding scaled to its panel, and below it the two R², in red if one is low."""
    ax.scatter(*Z.T, c=color, s=2, linewidths=0, cmap=_TEN_COLORS, antialiased=False)
    ax.margins(0.06)
    ax.set(xticks=[], yticks=[])
    for spine in ax.spines.values():
        spine.set_color(WEAK)
    if found is not None:
        words, color = "{:.2f}   {:.2f}".format(*found), INK if min(found) > GOOD else MARK
        ax.set_xlabel(words, fontsize="small", color=color, labelpad=2)

"""Rows that are images, drawn as a grid."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from lowland.errors import DataError, ParameterError
from lowland.plots.models import attribute, called_as, refuse_model
from lowland.plots.names import shortened
from lowland.plots.style import (
    DIVERGING,
    INK,
    WEAK,
    as_integer,
    axes_for,
    figure_of,
    height_and_width,
    image_rows,
    numbers,
    on_host,
    plain,
)

_LONGEST = 14  # characters of a title above an image


@called_as("images(X, image_shape)")
def images(
    rows: Any,
    image_shape: tuple[int, int] | None = None,
    *,
    columns: int | None = None,
    titles: Sequence[str] | None = None,
    limits: tuple[float, float] | None = None,
    colors: str = "gray_r",
    ax: Any = None,
) -> Any:
    """Draw each row as a small image, all of them in a grid.

    Parameters
    ----------
    rows : array-like of shape (n, height * width), (height * width,) or (n, height, width)
        Pixels, line by line.
    image_shape : tuple (height, width) or None, default None
        Shape of the images in pixels, such as ``Sample.image_shape``. None: that of ``rows``, if it has three
        dimensions.
    titles : sequence of str or None, default None
        Title of each image.
    limits : tuple of two float or None, default None
        Values at the two ends of the colormap. None: the smallest and the largest pixel.

    Examples
    --------
    >>> from lowland import plots
    >>> from lowland.data import load_dataset
    >>> digits = load_dataset("digits")
    >>> figure = plots.images(digits.X[:20], digits.image_shape)
    """
    pixels, image_shape = image_rows(rows, image_shape)
    table = numbers(np.atleast_2d(pixels), "rows", finite=False)
    height, width = height_and_width(image_shape)
    if table.ndim != 2 or table.shape[1] != height * width:
        raise DataError(
            f"rows has shape {table.shape}, but images of {height} x {width} need {height * width} columns. "
            "Pass the image_shape of the rows."
        )
    if not np.isfinite(table).any():
        raise DataError(
            f"None of the {len(table)} images has a finite pixel, so there is nothing to draw. Check the rows."
        )
    if titles is not None and len(titles) != len(table):
        raise DataError(f"There are {len(titles)} titles for {len(table)} images. Pass one title per image.")
    if columns is None:
        columns = min(len(table), math.ceil(math.sqrt(2 * len(table))))
    columns = as_integer(columns, "columns")
    words = [""] * len(table) if titles is None else [_short_lines(one) for one in titles] if ax is None else titles
    words = [plain(one) for one in words]
    gap, beside = max(1, round(0.06 * height)), max(1, round(0.06 * width))  # space between the images in pixels
    titled = [
        any(words[start : start + columns]) for start in range(0, len(table), columns)
    ]  # whether each line has titles
    tops = np.cumsum([(max(2, round(0.3 * height)) if line else gap) + height for line in titled]) - height
    mosaic = np.full((tops[-1] + height + 1, columns * (width + beside) - beside + 2), np.nan)  # room for frames
    ax = axes_for(ax, (0.9 * columns, 0.9 * (tops[-1] + height) / height))
    from matplotlib.patches import Rectangle

    for i, row in enumerate(table):
        top = tops[i // columns]
        left = (i % columns) * (width + beside) + 1
        mosaic[top : top + height, left : left + width] = row.reshape(height, width)
        ax.add_patch(Rectangle((left - 0.5, top - 0.5), width, height, fill=False, edgecolor=WEAK, linewidth=0.6))
        if words[i]:
            middle = left + (width - 1) / 2
            ax.text(middle, top - 0.8, words[i], ha="center", va="bottom", fontsize="small", color=INK)
    low, high = limits or (float(np.nanmin(mosaic)), float(np.nanmax(mosaic)))
    ax.imshow(mosaic, cmap=colors, vmin=low, vmax=high, interpolation="nearest")
    ax.set_axis_off()
    return figure_of(ax)


def _short_lines(title: Any) -> str:
    return "\n".join(shortened([line], _LONGEST)[0] for line in str(title).split("\n"))


@called_as(
    "components_as_images(model, image_shape)",
    read=lambda model: {"components": attribute(model, "components_")},
)
def components_as_images(
    components: Any,
    image_shape: tuple[int, int],
    *,
    columns: int | None = None,
    titles: Sequence[str] | None = None,
    ax: Any = None,
) -> Any:
    """Draw components as images: zero is white, the signs have two colors, each image has its own scale.

    Parameters
    ----------
    components : array-like of shape (k, height * width), or fitted model
        Components, such as ``components_``; or a model that has them.
    titles : sequence of str or None, default None
        Title of each image. None: the number of the component, from 1.

    Examples
    --------
    >>> from lowland import PCA, plots
    >>> from lowland.data import load_dataset
    >>> digits = load_dataset("digits")
    >>> figure = plots.components_as_images(PCA(10).fit(digits.X), digits.image_shape)
    """
    table = numbers(components, "components")
    largest = np.abs(table).max(axis=1, keepdims=True) if table.ndim == 2 and table.size else 1.0
    scaled = table / np.where(largest > 0, largest, 1.0)
    titles = [str(i + 1) for i in range(len(table))] if titles is None else titles
    return images(
        scaled, image_shape, columns=columns, titles=titles, limits=(-1.0, 1.0), colors=DIVERGING, ax=ax
    )  # fmt: skip


@called_as("reconstructions(model, X[:4], image_shape)", model=True)
def reconstructions(
    model: Any,
    rows: Any,
    image_shape: tuple[int, int],
    components: Sequence[int] = (1, 10, 50, 250),
    *,
    limits: tuple[float, float] | None = None,
    colors: str = "gray_r",
    ax: Any = None,
) -> Any:
    """Draw images next to their reconstructions from the first M components.

    Parameters
    ----------
    model : fitted linear method
        Method with ordered components and an inverse transform, such as PCA. The first M components are kept, the
        others set to zero.
    rows : array-like of shape (n, height * width)
        Pixels of a few images.
    components : sequence of int, default (1, 10, 50, 250)
        The numbers M. Numbers above the number of components are skipped.
    limits : tuple of two float or None, default None
        Values at the two ends of the colormap. None: those of the rows.

    Examples
    --------
    >>> from lowland import PCA, plots
    >>> from lowland.data import load_dataset
    >>> digits = load_dataset("digits")
    >>> figure = plots.reconstructions(PCA().fit(digits.X), digits.X[:4], digits.image_shape, (1, 5, 10, 30))
    """
    if not (hasattr(model, "transform") and hasattr(model, "inverse_transform")):
        name = type(model).__name__
        raise DataError(
            f"{name} has no inverse_transform. Pass a fitted model that has one, then the rows: "
            "plots.reconstructions(model, X[:4], image_shape)."
        )
    refuse_model(rows, "reconstructions(model, X[:4], image_shape)")
    table = numbers(rows, "rows")
    counts = [as_integer(m, "components: M") for m in np.atleast_1d(np.asarray(components, dtype=object))]
    Z = on_host(model.transform(rows))
    kept = [m for m in counts if m <= Z.shape[1]]
    if not kept:
        raise ParameterError(
            f"components={tuple(counts)}: the model has {Z.shape[1]} components. Choose numbers from 1 to {Z.shape[1]}."
        )
    tiles, titles = [table], ["original"]
    for m in kept:
        cut = np.where(np.arange(Z.shape[1]) < m, Z, 0).astype(Z.dtype)
        tiles.append(on_host(model.inverse_transform(cut)))
        titles.append(f"M = {m}")
    mosaic = np.stack(tiles, axis=1).reshape(len(table) * len(tiles), -1)  # one line per row
    words = titles + [""] * (len(mosaic) - len(titles))
    limits = limits or (float(table.min()), float(table.max()))
    return images(mosaic, image_shape, columns=len(tiles), titles=words, limits=limits, colors=colors, ax=ax)

"""Rows that are images: grids of them, and thumbnails around a scatter plot, along a path through the points."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from lowland.errors import DataError, ParameterError
from lowland.plots.models import attribute, called_as, coordinates, refuse_model
from lowland.plots.names import shorten
from lowland.plots.scatter import embedding, plane_of
from lowland.plots.style import DIVERGING, INK, MARK, WEAK, as_integer, axes_for, figure_of, numbers, on_host, plain

_LONGEST = 14  # characters of a title above an image
_LARGEST = 0.17  # height of an image relative to the longer side of the points
_SPARE = 1.4  # positions per image, so that most images are near their point
_LEAST_SIDE = 0.4  # relative to the longer side: elongated points get space above and below


# --- grids ---


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
        Shape of the images in pixels, such as ``Dataset.image_shape``. None means that of ``rows``, if it has three
        dimensions.
    titles : sequence of str or None, default None
        Title of each image.
    limits : tuple of two float or None, default None
        Values at the two ends of the colormap. None means the smallest and the largest pixel.

    Examples
    --------
    >>> from lowland import data, plots
    >>> digits = data.load_dataset("digits")
    >>> figure = plots.images(digits.X[:20], digits.image_shape)
    """
    pixels, (height, width) = _pixels(rows, image_shape, "rows")
    table = numbers(pixels, "rows", finite=False)
    if not np.isfinite(table).any():
        raise DataError(
            f"None of the {len(table)} images has a finite pixel, so there is nothing to draw. Check the rows."
        )
    if titles is not None and len(titles) != len(table):
        raise DataError(f"There are {len(titles)} titles for {len(table)} images. Pass one title per image.")
    if columns is None:
        columns = min(len(table), math.ceil(math.sqrt(2 * len(table))))
    columns = as_integer(columns, "columns")
    words = [""] * len(table) if titles is None else [str(one) for one in titles]
    if ax is None:
        words = ["\n".join(shorten([line], _LONGEST)[0] for line in one.split("\n")) for one in words]
    words = [plain(one) for one in words]
    gap, beside = max(1, round(0.06 * height)), max(1, round(0.06 * width))  # space between the images in pixels
    lines = [words[start : start + columns] for start in range(0, len(table), columns)]
    tops = np.cumsum([(max(2, round(0.3 * height)) if any(line) else gap) + height for line in lines]) - height
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


def _pixels(images: Any, image_shape: Any, name: str) -> tuple[np.ndarray, tuple[int, int]]:
    """Images as rows of pixels, and their shape; (n, height, width) gives the shape, if none is given."""
    pixels = on_host(images)
    if pixels.ndim == 3:
        image_shape = pixels.shape[1:] if image_shape is None else image_shape
        pixels = pixels.reshape(len(pixels), -1)
    pixels = np.atleast_2d(pixels)
    try:
        height, width = image_shape
    except (TypeError, ValueError):
        raise ParameterError(f"image_shape={image_shape!r}: pass height and width, such as (8, 8).") from None
    height, width = as_integer(height, "image_shape: height"), as_integer(width, "image_shape: width")
    if pixels.ndim != 2 or pixels.shape[1] != height * width:
        raise DataError(
            f"{name} has shape {pixels.shape}, but images of {height} x {width} need {height * width} columns. "
            "Pass the image_shape of the rows."
        )
    return pixels, (height, width)


@called_as(
    "components_as_images(model, image_shape)", read=lambda model: {"components": attribute(model, "components_")}
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
        Components, such as ``components_``, or a model that has them.
    titles : sequence of str or None, default None
        Title of each image. None means the number of the component, from 1.

    Examples
    --------
    >>> from lowland import PCA, data, plots
    >>> digits = data.load_dataset("digits")
    >>> figure = plots.components_as_images(PCA(10).fit(digits.X), digits.image_shape)
    """
    table = numbers(components, "components")
    largest = np.abs(table).max(axis=1, keepdims=True) if table.ndim == 2 and table.size else 1.0
    scaled = table / np.where(largest > 0, largest, 1.0)
    titles = [str(i + 1) for i in range(len(table))] if titles is None else titles
    return images(scaled, image_shape, columns=columns, titles=titles, limits=(-1.0, 1.0), colors=DIVERGING, ax=ax)


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
    """Draw images next to their reconstructions from the first m components.

    Parameters
    ----------
    model : fitted linear method
        Method with ordered components and an inverse transform, such as PCA. The first m components are kept, the
        others set to zero.
    rows : array-like of shape (n, height * width)
        Pixels of a few images.
    components : sequence of int, default (1, 10, 50, 250)
        The numbers m. Numbers above the number of components are skipped.
    limits : tuple of two float or None, default None
        Values at the two ends of the colormap. None means those of the rows.

    Examples
    --------
    >>> from lowland import PCA, data, plots
    >>> digits = data.load_dataset("digits")
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
    counts = [as_integer(m, "components: m") for m in np.atleast_1d(np.asarray(components, dtype=object))]
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
        titles.append(f"m = {m}")
    mosaic = np.stack(tiles, axis=1).reshape(len(table) * len(tiles), -1)  # one line per row
    words = titles + [""] * (len(mosaic) - len(titles))
    limits = limits or (float(table.min()), float(table.max()))
    return images(mosaic, image_shape, columns=len(tiles), titles=words, limits=limits, colors=colors, ax=ax)


# --- thumbnails ---


@called_as(
    "thumbnails(model, X, image_shape)",
    rows=True,
    read=lambda model, X: {"Z": coordinates(model, X), **({} if X is None else {"images": X})},
)
def thumbnails(
    Z: Any,
    images: Any,
    image_shape: tuple[int, int] | None = None,
    rows: Any = None,
    *,
    path: Any = None,
    count: int = 14,
    labels: Any = None,
    label_names: Sequence[str] | None = None,
    axis_names: tuple[str, str] = ("coordinate 1", "coordinate 2"),
    title: str | None = None,
    limits: tuple[float, float] | None = None,
    colors: str = "gray_r",
    size: float | None = None,
    ax: Any = None,
) -> Any:
    """Draw a scatter plot of the first two coordinates, with the images of some rows around it.

    A thin line connects each image with its point. Images do not overlap and lines do not cross.

    Parameters
    ----------
    Z : array-like of shape (n, 2 or more), or fitted model
        Coordinates, of which the first two columns are drawn. Rows with NaN are left out. Or a model, with ``images``
        its rows X.
    images : array-like of shape (n, height * width) or (n, height, width)
        Pixels of the same rows, line by line.
    image_shape : tuple (height, width) or None, default None
        Shape of the images in pixels, such as ``Dataset.image_shape``. None means that of ``images``, if it has three
        dimensions.
    rows : sequence of int or None, default None
        Rows whose images are shown. None means rows along the path.
    path : array-like or None, default None
        Path to draw: vertices, shape (p, 2), or two or more row numbers, connected through nearby points. None means,
        without ``rows``, a path from the smallest to the largest first coordinate, and with ``rows`` no path.
    count : int, default 14
        Number of images, at even intervals along the path. A row is shown only once.
    labels : array-like of shape (n,) or None, default None
        One value per row for the color of its point, as for ``plots.embedding``.
    limits : tuple of two float or None, default None
        Values at the two ends of the colormap. None means the smallest and the largest pixel shown.

    Examples
    --------
    >>> from lowland import Isomap, plots
    >>> from lowland.data import moved_patch
    >>> patch = moved_patch(100)
    >>> figure = plots.thumbnails(Isomap(2, n_neighbors=4).fit(patch.X), patch.X, patch.image_shape)
    """
    from scipy.optimize import linear_sum_assignment

    plane = plane_of(Z)
    images, image_shape = _pixels(images, image_shape, "images")
    if len(images) != len(plane):
        raise DataError(
            f"images has shape {images.shape}, but Z has {len(plane)} rows. Pass the pixels of the same rows."
        )
    known = np.isfinite(plane).all(axis=1)
    way = None if path is None and rows is not None else _path_points(plane, known, path)
    if rows is None:
        assert way is not None
        shown = rows_along(plane, way, as_integer(count, "count"))
    else:
        shown = _rows("rows", rows, known, 1)
    pixels = numbers(images[shown], "images", finite=False)
    corners, (width, height) = _places_around(plane[known], len(shown), image_shape)
    # The total length of the lines is minimal, so no two lines cross: swapping their ends would shorten them.
    half = np.array([width, height]) / 2
    lengths = np.linalg.norm(plane[shown][:, None] - (corners + half)[None], axis=2)  # (m, places)
    corners = corners[linear_sum_assignment(lengths)[1]]
    everything, edge = np.vstack([plane[known], corners, corners + 2 * half]), 0.1 * height
    low, high = everything.min(axis=0) - edge, everything.max(axis=0) + edge
    sides = (high - low) / (high - low).max()
    ax = axes_for(ax, (8.0 * sides[0] + (0.4 if labels is None else 1.6), 8.0 * sides[1] + 0.5))
    from matplotlib.patches import Rectangle

    embedding(plane, labels, label_names=label_names, axis_names=axis_names, title=title, size=size, ax=ax)
    if way is not None:
        ax.plot(*way.T, color=MARK, linewidth=1.6, alpha=0.9, zorder=3, solid_joinstyle="round")
    lowest, highest = limits or (float(np.nanmin(pixels)), float(np.nanmax(pixels)))
    look = {"cmap": colors, "vmin": lowest, "vmax": highest, "interpolation": "nearest"}
    for point, image, corner in zip(plane[shown], pixels.reshape(-1, *image_shape), corners, strict=True):
        ends = np.stack([point, corner + half])  # the image covers the rest of the line
        ax.plot(*ends.T, color=INK, linewidth=0.6, alpha=0.7, zorder=4)
        ax.plot(*point, marker="o", markersize=5, color="white", markeredgecolor=MARK, markeredgewidth=1.4, zorder=5)
        left, bottom = corner
        ax.imshow(image, extent=(left, left + width, bottom, bottom + height), zorder=6, **look)
        ax.add_patch(Rectangle(corner, width, height, fill=False, edgecolor=WEAK, linewidth=0.8, zorder=7))
    ax.set_aspect("equal", adjustable="box")  # keep the limits, with the images at the border
    ax.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), xticks=[], yticks=[])
    return figure_of(ax)


def _places_around(
    points: np.ndarray, count: int, image_shape: tuple[int, int]
) -> tuple[np.ndarray, tuple[float, float]]:
    """Lower left corners of images on all four sides of the points, 1.4 times as many as needed; width and height."""
    low, high = points.min(axis=0), points.max(axis=0)
    longer = float((high - low).max()) or 1.0
    middle, sides = (low + high) / 2, np.maximum(high - low, _LEAST_SIDE * longer)
    tall = _LARGEST * longer
    while True:
        wide, gap = tall * (image_shape[1] / image_shape[0]), 0.18 * tall
        inner = sides + 2 * gap  # area of the points
        across = int((inner[0] + 2 * wide + gap) // (wide + gap))
        up = int((inner[1] - gap) // (tall + gap))
        if 2 * (across + up) >= _SPARE * count:
            break
        tall *= 0.9
    outer = np.maximum(inner + 2 * np.array([wide, tall]), [across * (wide + gap) - gap, 0])
    left, bottom = middle - outer / 2
    x = np.linspace(left, left + outer[0] - wide, max(across, 2))
    y = np.linspace(bottom, bottom + outer[1] - tall, up + 2)
    corners = [(u, v) for v in (y[0], y[-1]) for u in x] + [(u, v) for u in (x[0], x[-1]) for v in y[1:-1]]
    return np.array(corners), (wide, tall)


def _path_points(plane: np.ndarray, known: np.ndarray, path: Any) -> np.ndarray:
    """The vertices of the path, (p, 2)."""
    if path is None:
        first = np.where(known, plane[:, 0], np.nan)
        path = [np.nanargmin(first), np.nanargmax(first)]
    given = on_host(path)
    if given.ndim == 1:
        stops = _rows("path", given, known, 2)
        numbers = np.flatnonzero(known)
        return plane[numbers][walk(plane[numbers], np.searchsorted(numbers, stops))]
    if given.ndim != 2 or given.shape[1] != 2 or len(given) < 2 or not np.isfinite(given).all():
        raise DataError(
            f"path has shape {given.shape}. Pass two or more finite points, shape (p, 2), or two or more row numbers."
        )
    return given.astype(float)


def _rows(name: str, rows: Any, known: np.ndarray, least: int) -> np.ndarray:
    """Indices of rows with coordinates, checked."""
    numbers = on_host(rows)
    if numbers.ndim != 1 or numbers.dtype.kind not in "iu" or len(numbers) < least:
        raise DataError(f"{name} must be a list of {least} or more row numbers, from 0 to {len(known) - 1}.")
    if numbers.min() < 0 or numbers.max() >= len(known) or not known[numbers].all():
        raise DataError(
            f"{name} contains rows without coordinates in Z. Choose among the {known.sum()} rows without NaN."
        )
    return numbers.astype(np.int64)


# --- paths through points ---


def walk(Z: np.ndarray, stops: np.ndarray) -> np.ndarray:
    """Return the rows of the path from stop to stop, (m,), that minimizes the sum of squared step lengths.

    With squares, two short steps cost less than one long step, so the path stays where points are. A step whose
    diametral circle contains a point is more expensive than the path through that point, so the edges of the Delaunay
    triangulation suffice.

    Z      (n, 2) finite points stops  (p,) two or more rows to visit
    """
    from scipy.sparse import csr_matrix
    from scipy.sparse.csgraph import dijkstra
    from scipy.spatial import Delaunay, QhullError

    places, first, node = np.unique(Z, axis=0, return_index=True, return_inverse=True)
    node = node.reshape(-1)
    try:  # edges of the Delaunay triangulation
        i, j = Delaunay(places).simplices[:, [[0, 1, 2], [1, 2, 0]]].transpose(1, 0, 2).reshape(2, -1)
    except (QhullError, ValueError):  # collinear, or fewer than three points: connect consecutive points
        i = np.arange(len(places) - 1)
        j = i + 1
    i, j = np.unique(np.sort(np.stack([i, j]), axis=0), axis=1)
    squares = np.sum((places[i] - places[j]) ** 2, axis=1)
    graph = csr_matrix((squares, (i, j)), shape=(len(places), len(places)))
    rows = [int(stops[0])]
    for start, end in pairwise(stops):
        before = dijkstra(graph, directed=False, indices=node[start], return_predecessors=True)[1]
        way, at = [int(end)], int(before[node[end]])
        while at >= 0 and at != node[start]:
            way.append(int(first[at]))
            at = int(before[at])
        rows += way[::-1]
    return np.array(rows)


def rows_along(Z: np.ndarray, path: np.ndarray, count: int) -> np.ndarray:
    """Return the rows nearest to `count` points at even intervals along a path, without repetition, in order.

    Z     (n, 2) points; rows with NaN are skipped path  (p, 2) its vertices
    """
    lengths = np.linalg.norm(np.diff(path, axis=0), axis=1)
    at = np.concatenate([[0.0], np.cumsum(lengths)])  # (p,) arc length at each vertex
    wanted = np.linspace(0.0, at[-1], count)
    places = np.column_stack([np.interp(wanted, at, path[:, axis]) for axis in (0, 1)])
    known = np.flatnonzero(np.isfinite(Z).all(axis=1))
    squares = np.sum((places[:, None] - Z[known][None]) ** 2, axis=2)  # (count, n)
    rows = known[np.argmin(squares, axis=1)]
    return rows[np.sort(np.unique(rows, return_index=True)[1])]

"""A column over a map, as a smooth surface."""

from __future__ import annotations

from typing import Any

import numpy as np

from lowland.plots.models import called_as
from lowland.plots.scatter import plane_of
from lowland.plots.style import INK, SEQUENTIAL, axes_for, figure_of, label_axes, plain

_CELLS = 80  # of the grid, along each axis
_REACH = 0.12  # how far the surface reaches beyond the points, relative to the extent of the map


@called_as("surface(Z, lowland.describe(model, X).surface(name))")
def surface(Z: Any, height: Any, *, title: str | None = None, ax: Any = None) -> Any:
    """Draw a smooth surface of a column over a map: filled contours behind the points.

    Parameters
    ----------
    Z : array-like of shape (n, 2 or more)
        Coordinates, of which the first two columns are drawn.
    height : function of points (m, 2)
        The surface, such as ``lowland.describe(model, X).surface("age")``. It is drawn only near points.

    Examples
    --------
    >>> import lowland
    >>> X = lowland.data.load_dataset("iris").X
    >>> model = lowland.PCA(2).fit(X)
    >>> figure = lowland.plots.surface(model.transform(X), lowland.describe(model, X).surface("x1"))
    """
    from scipy.spatial import cKDTree

    points = plane_of(Z)
    points = points[np.isfinite(points).all(axis=1)]
    low, high = points.min(axis=0), points.max(axis=0)
    reach = _REACH * float(np.max(high - low))
    x, y = (np.linspace(low[i] - reach, high[i] + reach, _CELLS) for i in range(2))
    grid = np.stack(np.meshgrid(x, y), axis=-1)
    heights = np.asarray(height(grid.reshape(-1, 2)), dtype=np.float64).reshape(_CELLS, _CELLS)
    far = cKDTree(points).query(grid.reshape(-1, 2))[0].reshape(_CELLS, _CELLS) > reach
    ax = axes_for(ax, (6.0, 4.8))
    filled = ax.contourf(x, y, np.ma.masked_where(far, heights), 12, cmap=SEQUENTIAL, alpha=0.75)
    ax.scatter(*points.T, s=float(np.clip(5_000 / len(points), 1, 8)), color=INK, alpha=0.6, linewidths=0)
    label_axes(ax, "coordinate 1", "coordinate 2", title)
    ax.grid(visible=False)
    ax.set_aspect("equal", adjustable="datalim")
    bar = ax.figure.colorbar(filled, ax=ax)
    bar.outline.set_visible(False)
    bar.set_label(plain(str(getattr(height, "name", ""))), color=INK)
    return figure_of(ax)

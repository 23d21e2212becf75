"""Figures of a self-organizing map: one cell per unit, squares or hexagons."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, get_args

import numpy as np

from lowland.errors import DataError, ParameterError
from lowland.math.prototypes.grids import Grid, Topology
from lowland.plots.models import attribute, called_as, column_names
from lowland.plots.names import shorten
from lowland.plots.style import (
    INK,
    SEQUENTIAL,
    STRONG,
    WEAK,
    as_integer,
    axes_for,
    figure_of,
    names_of,
    numbers,
    plain,
    title_above,
)

_LONGEST = 14  # characters of a name above a panel, next to its range of values


def _cells_of(name: str, word: str) -> Any:
    return lambda model: {name: attribute(model, word), "topology": attribute(model, "topology")}


def _planes_of(model: Any) -> dict[str, Any]:
    units = attribute(model, "prototypes_")
    found = {"units": units, "grid": attribute(model, "grid_"), "topology": attribute(model, "topology")}
    return {**found, **column_names(model, units.shape[1])}


@called_as("u_matrix(model)", read=_cells_of("distances", "u_matrix_"))
def u_matrix(distances: Any, topology: Topology = "hexagonal", *, title: str | None = None, ax: Any = None) -> Any:
    """Draw the U-matrix: the mean distance of each unit to its neighboring units. Dark ridges separate clusters.

    Parameters
    ----------
    distances : array-like of shape (rows, columns), or fitted SelfOrganizingMap
        Mean distances, such as ``u_matrix_``, or the map itself.

    References
    ----------
    Ultsch and Siemon 1990, *Kohonen's self organizing feature maps for exploratory data analysis*, INNC Paris.

    Examples
    --------
    >>> from lowland import SelfOrganizingMap, data, plots
    >>> som = SelfOrganizingMap((6, 10)).fit(data.load_dataset("iris").X)
    >>> figure = plots.u_matrix(som)
    """
    table = _table(distances, "distances", topology)
    ax = _axes(ax, table)
    cells = _draw_cells(ax, table, topology, "gray_r")
    beside = ax.inset_axes((1.03, 0.1, 0.035, 0.8))  # as high as the map, whatever the width of the panel
    bar = ax.figure.colorbar(cells, cax=beside)
    bar.set_label("mean distance to neighboring units", fontsize="small", color=INK)
    bar.outline.set_visible(False)
    bar.ax.tick_params(labelsize="x-small", color=WEAK, labelcolor=INK)
    return _finished(ax, title)


@called_as("component_planes(model)", read=_planes_of)
def component_planes(
    units: Any,
    grid: tuple[int, int],
    topology: Topology = "hexagonal",
    *,
    names: Sequence[str] | None = None,
    panels_across: int | None = None,
    ax: Any = None,
) -> Any:
    """Draw the component planes: each column of the prototypes on the grid, on its own color scale.

    Parameters
    ----------
    units : array-like of shape (u, d), or fitted SelfOrganizingMap
        Prototypes, such as ``prototypes_``, or some of their columns, or the map itself, without ``grid``.
    grid : tuple of two int
        Rows and columns of the grid, such as ``grid_``.
    names : sequence of str or None, default None
        Titles of the panels, followed by the range of values. None means those of the model, or the numbers of the
        columns.
    panels_across : int or None, default None
        Number of panels per line. None means about as many as lines.

    Examples
    --------
    >>> from lowland import SelfOrganizingMap, data, plots
    >>> iris = data.load_dataset("iris")
    >>> som = SelfOrganizingMap((6, 10)).fit(iris.X)
    >>> figure = plots.component_planes(som, names=iris.names)
    """
    table = numbers(units, "units", finite=False)
    if not isinstance(grid, Sequence | np.ndarray) or len(grid) != 2:
        raise ParameterError(f"grid={grid!r}: pass the numbers of rows and columns, such as model.grid_.")
    if table.ndim != 2 or len(table) != grid[0] * grid[1]:
        raise DataError(
            f"units has shape {table.shape}, but a grid of {grid[0]} x {grid[1]} has {grid[0] * grid[1]} units. Pass "
            "model.prototypes_ and model.grid_."
        )
    _check_topology(topology)
    d = table.shape[1]
    words = shorten(names_of(names, d, "columns of units"), _LONGEST)
    across = math.ceil(math.sqrt(d)) if panels_across is None else as_integer(panels_across, "panels_across")
    wide, high = _centers(grid, topology).max(axis=0) + np.array([2.0, 3.0])  # with space between panels and for titles
    ax = axes_for(ax, (2.3 * across, 2.3 * high / wide * math.ceil(d / across)))
    for j, word in enumerate(words):
        corner = np.array([j % across * wide, -(j // across) * high])
        plane = table[:, j].reshape(grid)
        _draw_cells(ax, plane, topology, SEQUENTIAL, corner)
        limits = f"{plain(word)}: {plane.min():.3g} to {plane.max():.3g}"
        ax.text(corner[0] - 0.5, corner[1] + high - 2.2, limits, fontsize="small", color=INK, va="bottom")
    return _finished(ax, None)


@called_as("hit_map(model)", read=_cells_of("hits", "hits_"))
def hit_map(hits: Any, topology: Topology = "hexagonal", *, title: str | None = None, ax: Any = None) -> Any:
    """Draw the hit map: the number of points per best-matching unit, as the area of a mark in its cell.

    Parameters
    ----------
    hits : array-like of shape (rows, columns), or fitted SelfOrganizingMap
        Number of points per unit, such as ``hits_``, or the map itself.
    title : str or None, default None
        Title of the figure. None means the number of points, units and dead units.

    Examples
    --------
    >>> from lowland import SelfOrganizingMap, data, plots
    >>> som = SelfOrganizingMap((6, 10)).fit(data.load_dataset("iris").X)
    >>> figure = plots.hit_map(som)
    """
    table = _table(hits, "hits", topology, finite=True)
    ax = _axes(ax, table)
    _draw_cells(ax, np.zeros_like(table), topology, None)
    widths = np.sqrt(np.maximum(table, 0) / max(1.0, table.max()))  # relative to the cell
    marks = _collection(_corners(topology) * 0.92, _centers(table.shape, topology), widths.ravel())
    marks.set(facecolor=STRONG, edgecolor="none")
    ax.add_collection(marks)
    empty = int((table == 0).sum())
    return _finished(ax, title or f"{int(table.sum()):,} rows, {table.size} units, {empty} dead")


def _check_topology(topology: str) -> None:
    if topology not in get_args(Topology):
        raise ParameterError(f"topology={topology!r}: choose 'hexagonal' or 'rectangular', as in model.topology.")


def _table(values: Any, name: str, topology: str, finite: bool = False) -> np.ndarray:
    _check_topology(topology)
    table = numbers(values, name, finite=finite)
    if table.ndim != 2 or not table.size:
        raise DataError(f"{name} has shape {table.shape}. Pass one number per unit, shape (rows, columns).")
    return table


def _axes(ax: Any, table: np.ndarray) -> Any:
    rows, columns = table.shape
    return axes_for(ax, (5.5, max(1.6, min(7.0, 0.9 + 4.2 * rows / columns))))


def _centers(shape: tuple[int, int], topology: Topology) -> np.ndarray:
    return Grid(shape[0], shape[1], topology).positions


def _corners(topology: Topology) -> np.ndarray:
    """The corners of a cell relative to its center."""
    if topology == "rectangular":
        return np.array([[-0.5, -0.5], [0.5, -0.5], [0.5, 0.5], [-0.5, 0.5]])
    angles = np.pi / 6 + np.pi / 3 * np.arange(6)
    return np.column_stack([np.cos(angles), np.sin(angles)]) / math.sqrt(3)


def _collection(corners: np.ndarray, centers: np.ndarray, sizes: np.ndarray) -> Any:
    from matplotlib.collections import PolyCollection

    return PolyCollection(list(centers[:, None, :] + sizes[:, None, None] * corners[None]))


def _draw_cells(ax: Any, table: np.ndarray, topology: Topology, colors: str | None, corner: Any = (0.0, 0.0)) -> Any:
    cells = _collection(_corners(topology), _centers(table.shape, topology) + corner, np.ones(table.size))
    if colors is None:
        cells.set(facecolor="none", edgecolor=WEAK, linewidth=0.6)
    else:
        cells.set(cmap=colors, edgecolor=WEAK, linewidth=0.4)  # the edge makes white cells visible
        cells.set_array(table.ravel())
    ax.add_collection(cells)
    return cells


def _finished(ax: Any, title: str | None) -> Any:
    ax.autoscale_view()
    ax.set_aspect("equal")
    ax.set_axis_off()
    title_above(ax, title)
    return figure_of(ax)

"""Paths through points in the plane, and rows at even intervals along them."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np


def walk(Z: np.ndarray, stops: np.ndarray) -> np.ndarray:
    """Return the rows of the path from stop to stop, (m,), that minimizes the sum of squared step lengths.

    With squares, two short steps cost less than one long step, so the path stays where points are. A step whose
    diametral
    circle contains a point is more expensive than the path through that point, so the edges of the Delaunay
    triangulation
    suffice.

    Z      (n, 2) finite points
    stops  (p,) two or more rows to visit
    """
    from scipy.sparse.csgraph import dijkstra

    places, first, node = np.unique(Z, axis=0, return_index=True, return_inverse=True)
    node = node.reshape(-1)
    graph = _edges(places)
    rows = [int(stops[0])]
    for start, end in pairwise(stops):
        before = dijkstra(graph, directed=False, indices=node[start], return_predecessors=True)[1]
        way, at = [int(end)], int(before[node[end]])
        while at >= 0 and at != node[start]:
            way.append(int(first[at]))
            at = int(before[at])
        rows += way[::-1]
    return np.array(rows)


def _edges(places: np.ndarray) -> Any:
    """Edges of the Delaunay triangulation with their squared lengths; the points are distinct and sorted."""
    from scipy.sparse import csr_matrix
    from scipy.spatial import Delaunay, QhullError

    try:
        i, j = Delaunay(places).simplices[:, [[0, 1, 2], [1, 2, 0]]].transpose(1, 0, 2).reshape(2, -1)
    except (QhullError, ValueError):  # collinear, or fewer than three points: connect consecutive points
        i = np.arange(len(places) - 1)
        j = i + 1
    i, j = np.unique(np.sort(np.stack([i, j]), axis=0), axis=1)
    squares = np.sum((places[i] - places[j]) ** 2, axis=1)
    return csr_matrix((squares, (i, j)), shape=(len(places), len(places)))


def rows_along(Z: np.ndarray, path: np.ndarray, count: int) -> np.ndarray:
    """Return the rows nearest to `count` points at even intervals along a path, without repetition, in order.

    Z     (n, 2) points; rows with NaN are skipped
    path  (p, 2) its vertices
    """
    lengths = np.linalg.norm(np.diff(path, axis=0), axis=1)
    at = np.concatenate([[0.0], np.cumsum(lengths)])  # (p,) arc length at each vertex
    wanted = np.linspace(0.0, at[-1], count)
    places = np.column_stack([np.interp(wanted, at, path[:, axis]) for axis in (0, 1)])
    known = np.flatnonzero(np.isfinite(Z).all(axis=1))
    squares = np.sum((places[:, None] - Z[known][None]) ** 2, axis=2)  # (count, n)
    rows = known[np.argmin(squares, axis=1)]
    return rows[np.sort(np.unique(rows, return_index=True)[1])]

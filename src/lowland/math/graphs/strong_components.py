"""Strongly connected components: points that a connected but directed neighbor graph does not constrain.

LLE reconstructs a point from its own neighbors, not from points that have it as a neighbor. So groups of points may be
unconstrained relative to the others although the graph is connected.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse
from scipy.sparse.csgraph import connected_components

from lowland.math.neighbors.graph import NeighborGraph


def without_self_loops(graph: NeighborGraph) -> NeighborGraph:
    """Return the graph without edges from a point to itself."""
    other = graph.to != graph.sources
    return graph if other.all() else graph.chosen(other)


def sink_components(graph: NeighborGraph) -> tuple[int, np.ndarray]:
    """Return the number of sink components, and which points cannot reach the largest of them.

    A sink is a strongly connected component without outgoing edges. Any constant on a sink satisfies its weights: with
    several sinks, each would collapse to a point.
    """
    count, label = connected_components(_ones(graph), directed=True, connection="strong")
    if count == 1:
        return 1, np.zeros(graph.n, dtype=bool)
    leaves = label[graph.sources] != label[graph.to]
    is_sink = np.ones(count, dtype=bool)
    is_sink[label[graph.sources[leaves]]] = False
    sizes = np.where(is_sink, np.bincount(label), 0)
    if is_sink.sum() == 1:
        return 1, np.zeros(graph.n, dtype=bool)
    towards = scipy.sparse.csr_array(
        (np.ones(int(leaves.sum()), dtype=np.int8), (label[graph.to[leaves]], label[graph.sources[leaves]])),
        shape=(count, count),
    )  # reversed edges between the components
    reached = scipy.sparse.csgraph.breadth_first_order(
        towards, int(np.argmax(sizes)), directed=True, return_predecessors=False
    )
    cut_off = np.ones(count, dtype=bool)
    cut_off[reached] = False
    return int(is_sink.sum()), cut_off[label]


def with_reverse_edges(graph: NeighborGraph, cut_off: np.ndarray) -> NeighborGraph:
    """Return the graph with the reverse of every edge that leads to a marked point from another component.

    In a connected graph, one sink component remains.
    """
    _, label = connected_components(_ones(graph), directed=True, connection="strong")
    back = cut_off[graph.to] & (label[graph.sources] != label[graph.to])
    i, j = graph.sources[back], graph.to[back]
    return graph.with_edges(i, j, graph.length[back])


def with_reinforced_bridges(graph: NeighborGraph, label: np.ndarray) -> NeighborGraph:
    """Return the graph with each bridge between components, (n,) ``label``, extended to the neighbors of its ends.

    A single edge hardly constrains the offset between components: in its neighborhood it is a dimension of its own. So
    each end, and the nearer half of its neighbors, get edges to those of the other end, with the length of the bridge.
    """
    joins = np.flatnonzero((label[graph.sources] != label[graph.to]) & (graph.sources < graph.to))
    ends = [(*(_around(graph, label, int(e)) for e in (graph.sources[a], graph.to[a])), graph.length[a]) for a in joins]
    i = np.concatenate([np.repeat(p, len(q)) for p, q, _ in ends])
    j = np.concatenate([np.tile(q, len(p)) for p, q, _ in ends])
    return graph.with_edges(i, j, np.concatenate([np.full(len(p) * len(q), length) for p, q, length in ends]))


def _around(graph: NeighborGraph, label: np.ndarray, i: int) -> np.ndarray:
    """Point i and the nearer half of its neighbors in its own component."""
    to, length = (each[graph.start[i] : graph.start[i + 1]] for each in (graph.to, graph.length))
    to, length = to[label[to] == label[i]], length[label[to] == label[i]]
    return np.append(to[np.argsort(length, kind="stable")][: (len(to) - 1) // 2], i).astype(np.int64)


def points_to_add(graph: NeighborGraph) -> np.ndarray:
    """Mark the points, (n,), that must be members of their own neighborhoods so that these are connected.

    Tangent spaces are aligned through shared points. A point in no neighborhood, or a group whose neighborhoods share
    no point with the others, would be unconstrained.
    """
    n = graph.n
    both = scipy.sparse.block_array([[None, _ones(graph)], [scipy.sparse.csr_array((n, n), dtype=np.int8), None]])
    _, label = connected_components(both, directed=False)  # neighborhoods, then points
    return label[:n] != label[n:]


def _ones(graph: NeighborGraph) -> scipy.sparse.csr_array:
    return graph.matrix(np.ones(len(graph.to), dtype=np.int8))

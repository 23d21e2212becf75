"""Directed neighbors: sink components, and edges that leave them."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from lowland.math.graphs.alignment import graph_with_points
from lowland.math.graphs.strong_components import (
    points_to_add,
    sink_components,
    with_reinforced_bridges,
    with_reverse_edges,
    without_self_loops,
)
from lowland.math.neighbors.graph import NeighborGraph


def graph_of(*neighbors):
    start = np.concatenate([[0], np.cumsum([len(each) for each in neighbors])])
    to = np.array([j for each in neighbors for j in each], dtype=np.int32)
    return NeighborGraph(start, to, np.ones(len(to)))


def test_components_that_no_edge_leaves():
    # 0-1-2 and 3-4 have edges only among themselves; 5 has edges to both, 6 only to 3
    graph = graph_of([1, 2], [0, 2], [0, 1], [4], [3], [2, 3], [3])
    count, cut_off = sink_components(graph)
    assert count == 2
    assert cut_off.tolist() == [False, False, False, True, True, False, True]
    opened = with_reverse_edges(graph, cut_off)
    assert sink_components(opened)[0] == 1
    assert opened.to[opened.start[3] : opened.start[4]].tolist() == [4, 5, 6]  # 3 gets reverse edges
    assert opened.to[opened.start[2] : opened.start[3]].tolist() == [0, 1]  # the largest component is unchanged


@settings(deadline=None, max_examples=50)
@given(st.integers(0, 2**32 - 1), st.integers(2, 12))
def test_a_connected_graph_ends_with_one_sink_component(seed, n):
    rng = np.random.default_rng(seed)
    neighbors = [[] for _ in range(n)]
    for i in range(1, n):  # a tree with edges in random directions is connected
        a, b = rng.permutation([i, rng.integers(0, i)])
        neighbors[a].append(int(b))
    graph = graph_of(*neighbors)
    count, cut_off = sink_components(graph)
    assert (count > 1) == cut_off.any()
    assert sink_components(with_reverse_edges(graph, cut_off))[0] == 1


def test_points_in_no_other_neighborhood_are_added_to_their_own():
    graph = graph_of([1, 2], [0, 2], [0, 1], [0, 1])  # no edge leads to 3
    apart = points_to_add(graph)
    assert apart.tolist() == [False, False, False, True]
    whole = graph_with_points(graph, apart)
    assert whole.to[whole.start[3] : whole.start[4]].tolist() == [3, 0, 1]
    assert not points_to_add(whole).any()


def test_edges_from_a_point_to_itself_are_dropped():
    graph = without_self_loops(graph_of([0, 1], [0], [2, 1]))
    assert graph.to.tolist() == [1, 0, 1]
    assert graph.start.tolist() == [0, 1, 2, 3]


def test_a_bridge_is_reinforced_by_the_neighborhoods_at_its_ends():
    graph = graph_of([1, 2], [0, 2], [0, 1, 3], [2, 4, 5], [3, 5], [3, 4])  # 2-3 joins two triangles
    label = np.array([0, 0, 0, 1, 1, 1])
    wide = with_reinforced_bridges(graph, label)
    crossing = {(int(i), int(j)) for i, j in zip(wide.sources, wide.to, strict=True) if label[i] != label[j]}
    assert crossing == {(2, 3), (3, 2)}  # half of two neighbors each, without the end point itself, is none
    larger = graph_of([1, 2, 3], [0, 2, 3], [0, 1, 3], [0, 1, 2, 4], [3, 5, 6, 7], [4, 6, 7], [4, 5, 7], [4, 5, 6])
    label = np.repeat([0, 1], 4)
    wide = with_reinforced_bridges(larger, label)
    crossing = {(int(i), int(j)) for i, j in zip(wide.sources, wide.to, strict=True) if i < j and label[i] != label[j]}
    assert crossing == {(0, 4), (0, 5), (3, 4), (3, 5)}

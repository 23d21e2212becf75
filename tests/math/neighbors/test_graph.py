"""Graphs of neighbors: directions, further edges, and graphs that were given."""

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

from lowland.errors import DataError
from lowland.math.neighbors.graph import NeighborGraph, given_graph


def links(graph):
    return {(int(i), int(j)): float(w) for i, j, w in zip(graph.sources, graph.to, graph.length, strict=True)}


@settings(max_examples=30, deadline=None)
@given(data=st.data(), n=st.integers(2, 30))
def test_symmetric_holds_every_edge_in_both_directions_and_the_shorter_length(data, n):
    pairs = data.draw(st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)), max_size=60, unique=True))
    pairs = [(i, j) for i, j in pairs if i != j]
    i, j = (np.array([pair[side] for pair in pairs], dtype=int) for side in (0, 1))
    w = np.array([data.draw(st.integers(0, 3)) for _ in pairs], dtype=float)
    graph = given_graph(scipy.sparse.coo_array((w, (i, j)), shape=(n, n)))
    before, after = links(graph), links(graph.symmetric())
    assert set(after) == set(before) | {(b, a) for a, b in before}
    for (a, b), length in after.items():
        assert length == min(before.get((a, b), np.inf), before.get((b, a), np.inf)) == after[b, a]
    assert links(graph.symmetric().symmetric()) == after
    kept = np.array([data.draw(st.booleans()) for _ in range(n)])
    kept[0] = True
    number = np.cumsum(kept) - 1
    inner = {(number[a], number[b]): x for (a, b), x in before.items() if kept[a] and kept[b]}
    assert links(graph.among(kept)) == inner


def test_stored_zeros_are_edges_and_the_diagonal_is_ignored():
    G = scipy.sparse.csr_array((np.array([0.0, 2, 5, 1]), ([0, 1, 1, 2], [1, 2, 1, 1])), shape=(3, 3))
    assert links(given_graph(G)) == {(0, 1): 0, (1, 2): 2, (2, 1): 1}
    assert links(given_graph(G).symmetric()) == {(0, 1): 0, (1, 0): 0, (1, 2): 1, (2, 1): 1}
    D = np.array([[0, 1.5, np.inf], [1.5, 0, 0], [np.inf, 0, 0]])
    assert links(given_graph(D)) == {(0, 1): 1.5, (1, 0): 1.5}
    assert links(given_graph(np.array([[False, True], [True, False]]))) == {(0, 1): 1, (1, 0): 1}


def test_duplicate_entries_are_summed():
    G = scipy.sparse.coo_array((np.array([1.0, 2, 0, 0, 3, 3]), ([0, 0, 1, 1, 2, 2], [1, 1, 2, 2, 2, 0])), shape=(3, 3))
    assert links(given_graph(G)) == {(0, 1): 3, (1, 2): 0, (2, 0): 3}
    assert G.nnz == 6
    twice = scipy.sparse.csr_array((np.array([1.0, 2]), np.array([1, 1]), np.array([0, 2, 2])), shape=(2, 2))
    assert links(given_graph(twice)) == {(0, 1): 3}


@pytest.mark.parametrize(
    ("G", "words"),
    [
        (np.ones((3, 4)), r"shape is \(3, 4\)"),
        (np.ones(3), "shape"),
        (np.ones((3, 3)), "3 nodes, but X has 5 rows"),
        (np.array([[0, -1.0], [1, 0]]), r"negative length: -1 in row 1, column 2"),
        (np.array([[0, np.nan], [1, 0]]), r"missing \(NaN\)"),
        (scipy.sparse.csr_array(([np.inf], ([0], [1])), shape=(2, 2)), "infinite"),
        (np.array([[0, 1j], [1j, 0]]), "complex128"),
        ([[0, 1], [1]], "list, not a matrix"),
        ("rubbish", r"shape is \(\)"),
        ([["a", "b"], ["c", "d"]], "dtype <U1"),
        (np.array([[0, None], [None, 0]]), "dtype object"),
    ],
)
def test_invalid_graphs_are_refused(G, words):
    with pytest.raises(DataError, match=words):
        given_graph(G, 5 if words.startswith("3 nodes") else None)


def test_added_edges_are_symmetric_and_the_shorter_length_is_kept():
    G = scipy.sparse.csr_array((np.array([1.0, 2, 4]), ([0, 1, 1], [1, 2, 3])), shape=(5, 5))
    graph = given_graph(G).symmetric()
    turned = NeighborGraph(graph.start, graph.to[[0, 3, 2, 1, 4, 5]], graph.length[[0, 3, 2, 1, 4, 5]])  # not sorted
    for each in (graph, turned):
        more = each.with_edges(np.array([0, 1, 1]), np.array([4, 3, 2]), np.array([7.0, 3, 9]))
        assert links(more) == links(graph) | {(0, 4): 7, (4, 0): 7, (1, 3): 3, (3, 1): 3}
    for i in range(5):
        assert np.all(np.diff(more.to[more.start[i] : more.start[i + 1]]) > 0)


def test_edges_marked_as_farthest_are_as_long_as_the_longest_other_one():
    G = scipy.sparse.csr_array((np.array([9.0, 1, 3, 8, 2]), ([0, 0, 0, 1, 2], [1, 2, 3, 0, 0])), shape=(4, 4))
    graph = given_graph(G).with_edges(np.array([0]), np.array([1]), np.array([9.0]))  # sorted by target
    bridge = (graph.sources + graph.to) == 1
    found = graph.with_farthest(bridge)
    assert found.to[:3].tolist() == [2, 3, 1]
    assert found.length[:3].tolist() == [1, 3, 3]
    assert links(found)[1, 0] == 8  # its only edge

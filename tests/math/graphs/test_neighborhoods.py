"""Neighborhoods of dense and of sparse rows: the same points and members."""

import numpy as np
import pytest
import scipy.sparse

from lowland.math.graphs import neighborhoods as module
from lowland.math.graphs.neighborhoods import joint_table, neighborhoods, pieces_of
from lowland.math.neighbors.graph import NeighborGraph


@pytest.fixture
def table(rng):
    """Rows that are mostly zero, and a graph of three members each."""
    X = np.where(rng.random((30, 40)) < 0.1, rng.standard_normal((30, 40)), 0.0)
    to = np.array([rng.choice(np.delete(np.arange(30), i), 3, replace=False) for i in range(30)])
    graph = NeighborGraph.of_table(to, np.ones((30, 3)), "given")
    return X, graph


def test_dense_rows_are_one_piece_of_the_table_itself(table):
    X, graph = table
    (found,) = neighborhoods(X, graph, 5, 20)
    assert found.table is X
    np.testing.assert_array_equal(found.points, X[5:20])
    np.testing.assert_array_equal(found.to, graph.to[15:60])
    assert (found.start[0], found.start[-1]) == (0, 45)


@pytest.mark.parametrize("numbers", [1, 200, 1 << 21])
def test_sparse_rows_have_the_differences_of_dense_rows(table, monkeypatch, numbers):
    X, graph = table
    monkeypatch.setattr(module, "_NUMBERS", numbers)
    seen = []
    for few in neighborhoods(scipy.sparse.csr_array(X), graph, 0, 30):
        assert few.table.shape[1] <= 40
        for i in range(few.first, few.last):
            a, b = few.start[i - few.first : i - few.first + 2]
            off = few.table[few.to[a:b]] - few.points[i - few.first]
            expected = X[graph.to[3 * i : 3 * i + 3]] - X[i]
            np.testing.assert_allclose(off @ off.T, expected @ expected.T, atol=1e-12)
            seen.append(i)
    assert seen == list(range(30))


def test_pieces_cover_all_rows_once(table, monkeypatch):
    X, graph = table
    monkeypatch.setattr(module, "_NUMBERS", 500)
    pieces = list(pieces_of(scipy.sparse.csr_array(X), graph.start, 2, 29))
    assert len(pieces) > 1
    assert [i for a, b in pieces for i in range(a, b)] == list(range(2, 29))


def test_a_joint_table_holds_only_the_columns_in_use():
    S = scipy.sparse.csr_array(np.eye(6)[[0, 1, 2, 0]])
    table, places = joint_table(S[:2], S, np.array([2, 3, 2]))
    assert table.shape == (4, 3)
    np.testing.assert_array_equal(places, [2, 3, 2])
    empty, _ = joint_table(scipy.sparse.csr_array((1, 5)), scipy.sparse.csr_array((3, 5)), np.array([1]))
    assert empty.shape == (2, 1)

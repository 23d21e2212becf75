"""Edges that a search returns: sorted, concatenated, and refused beyond the memory budget."""

import numpy as np
import pytest

import lowland
from lowland.errors import MemoryBudgetError
from lowland.math.neighbors.searcher import joined_edges, sorted_edges, stacked
from lowland.run.local import LocalRun


def test_edges_of_a_block_are_sorted_and_leave_the_point_itself_out():
    i, j, values = np.array([0, 0, 0, 1, 1]), np.array([2, 4, 1, 3, 2]), np.array([0.0, 2.0, 2.0, 0.0, 1.0])
    counts, to, length = sorted_edges(i, j, values, slice(2, 4))  # rows 2 and 3, which are not their own neighbors
    assert counts.tolist() == [2, 1]
    assert to.tolist() == [1, 4, 2]  # ties go to the lower index
    assert length.tolist() == [2, 2, 1]


def test_blocks_are_concatenated_in_their_order():
    def look_up(block):
        n = block.stop - block.start
        return np.ones(n, dtype=int), np.arange(block.start, block.stop, dtype=np.int32), np.full(n, 4.0)

    with lowland.config(threads=3):
        start, to, length = joined_edges(LocalRun(), 7, 2, look_up, np.sqrt)
    assert start.tolist() == list(range(8))
    assert to.tolist() == list(range(7))
    assert np.all(length == 2)
    with lowland.config(memory="1KB"), pytest.raises(MemoryBudgetError, match="smaller radius"):
        joined_edges(LocalRun(), 100, 10, look_up, np.sqrt)


def test_an_empty_search_returns_empty_arrays():
    indices, lengths = stacked([], 3)
    assert indices.shape == lengths.shape == (0, 3)

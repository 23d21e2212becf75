"""Heaps of the smallest values, against sorting."""

import numpy as np
import pytest

from lowland.kernels import heaps


@pytest.mark.parametrize("k", [1, 3, 20])
@pytest.mark.parametrize("by_columns", [False, True])
def test_the_smallest_of_several_blocks_are_those_of_a_stable_sort(rng, k, by_columns):
    V = rng.integers(0, 6, (15, 200)).astype(float)  # many ties
    own, labels = rng.integers(0, 9, 15), rng.integers(0, 9, 200)
    values, indices = np.full((15, k), np.inf), np.full((15, k), 200, dtype=np.int32)
    for first in (0, 100):
        part = slice(first, first + 100)
        if by_columns:
            block = np.ascontiguousarray(V[:, part].T)
            heaps.keep_smallest_of_columns(block, np.zeros(100), first, own, labels[part], values, indices)
        else:
            heaps.keep_smallest(V[:, part], np.zeros(100), first, own, labels[part], values, indices)
    heaps.sort_heaps(values, indices)
    masked = np.where(own[:, None] == labels[None, :], np.inf, V)
    np.testing.assert_array_equal(indices, np.argsort(masked, axis=1, kind="stable")[:, :k])
    np.testing.assert_array_equal(values, np.sort(masked, axis=1)[:, :k])


def test_what_is_added_to_a_column_counts():
    values, indices = np.full((1, 1), np.inf), np.full((1, 1), 9, dtype=np.int32)
    heaps.keep_smallest(
        np.array([[1.0, 2.0]]), np.array([5.0, 0.0]), 0, np.array([-1]), np.array([0, 1]), values, indices
    )
    assert (values[0, 0], indices[0, 0]) == (2.0, 1)


def test_sorting_breaks_ties_by_index(rng):
    values, indices = rng.integers(0, 5, 100).astype(float), rng.permutation(100)
    order = np.lexsort((indices, values))
    expected = values[order], indices[order]
    heaps.sort_by_value(values, indices)
    np.testing.assert_array_equal(values, expected[0])
    np.testing.assert_array_equal(indices, expected[1])
    empty = np.empty(0)
    heaps.sort_by_value(empty, empty)  # an empty array is not an error


def test_order_of_pairs():
    assert heaps.comes_before(1.0, 9, 2.0, 0)
    assert heaps.comes_before(1.0, 0, 1.0, 1)
    assert not heaps.comes_before(1.0, 1, 1.0, 1)

"""Paths stay near the points, and rows are spread evenly along a path."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lowland.plots.thumbnail_maps import rows_along, walk


@given(seed=st.integers(0, 2**32 - 1), n=st.integers(2, 40))
@settings(max_examples=60, deadline=None)
def test_the_path_minimizes_the_sum_of_squared_steps(seed, n):
    Z = np.random.default_rng(seed).random((n, 2))
    costs = np.sum((Z[:, None] - Z[None]) ** 2, axis=2)
    least = costs.copy()
    for k in range(n):  # Floyd and Warshall, over all pairs
        least = np.minimum(least, least[:, [k]] + least[[k]])
    rows = walk(Z, np.array([0, n - 1]))
    assert (rows[0], rows[-1]) == (0, n - 1)
    np.testing.assert_allclose(costs[rows[:-1], rows[1:]].sum(), least[0, n - 1])


def test_the_path_follows_a_curve_through_the_given_points():
    angle = np.linspace(0, 1.6 * np.pi, 80)
    ring = np.column_stack([np.cos(angle), np.sin(angle)])
    np.testing.assert_array_equal(walk(ring, np.array([0, 79])), np.arange(80))
    np.testing.assert_array_equal(walk(ring, np.array([5, 9, 7])), [5, 6, 7, 8, 9, 8, 7])


@pytest.mark.parametrize("slope", [0.0, 0.3, np.inf])
def test_paths_over_collinear_and_duplicate_points(slope):
    t = np.array([3.0, 0.0, 1.0, 1.0, 2.0])
    Z = np.column_stack([0 * t, t]) if np.isinf(slope) else np.column_stack([t, slope * t])
    assert walk(Z, np.array([1, 0])).tolist() == [1, 2, 4, 0]
    assert walk(Z, np.array([3, 0])).tolist() == [3, 4, 0]
    assert walk(Z, np.array([2, 3])).tolist() == [2, 3]
    assert walk(Z[:2], np.array([0, 1])).tolist() == [0, 1]


def test_rows_are_spread_evenly_over_the_length_of_the_path():
    Z = np.stack(np.meshgrid(np.arange(11.0), np.arange(5.0)), axis=-1).reshape(-1, 2)
    corners = np.array([[0, 0], [1, 0], [10, 0], [10, 2]])  # 12 long; how it is cut into pieces does not matter
    np.testing.assert_array_equal(Z[rows_along(Z, corners, 4)], [[0, 0], [4, 0], [8, 0], [10, 2]])
    assert rows_along(Z, corners, 1).tolist() == [0]


def test_rows_appear_once_and_have_coordinates():
    Z = np.array([[2.0, 0], [0, 0], [np.nan, np.nan], [1, 0]])
    assert rows_along(Z, np.array([[0.0, 0], [2, 0]]), 50).tolist() == [1, 3, 0]
    assert rows_along(Z, np.array([[1.0, 0], [1, 0]]), 3).tolist() == [3]

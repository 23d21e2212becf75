"""Rows of categories on the map."""

import numpy as np
import pytest

from lowland.errors import DataError
from lowland.math.correspondence.coding import Coding
from lowland.math.correspondence.indicator_points import IndicatorPoints, row_distances

CODING = Coding.of((0, 1), (np.array([0.0, 1.0]), np.array([5.0, 6.0, 7.0])), (False, False))
G = np.arange(10.0).reshape(5, 2)
NAMES = ("'a'", "'b'")


def points(remedy=None, refuse_missing=False):
    return IndicatorPoints(CODING, G, NAMES, refuse_missing, remedy)


def test_a_row_is_the_mean_of_its_levels():
    X = np.array([[0.0, 7.0], [1.0, 5.0]])
    np.testing.assert_allclose(points()(X), [(G[0] + G[4]) / 2, (G[1] + G[2]) / 2])
    assert points()(X.astype(np.float32)).dtype == np.float32


def test_values_that_are_left_out():
    X = np.array([[0.0, 9.0], [np.nan, 5.0], [np.nan, np.nan]])
    np.testing.assert_allclose(points()(X), [G[0], G[2], [0, 0]])
    with pytest.raises(DataError, match=r"'b' has 1 value .* Do this"):
        points("Do this.")(X)
    marked = points("Do this.", refuse_missing=True)(X)  # missing values are reported first, by the run
    assert np.isnan(marked).all(axis=1).tolist() == [False, True, True]


def test_distances_are_those_of_the_profiles():
    X = np.array([[0.0, 7.0], [1.0, 5.0], [0.0, np.nan], [np.nan, np.nan]])
    masses = np.array([0.3, 0.2, 0.25, 0.05, 0.2])
    Z = np.array([[1, 0, 0, 0, 1], [0, 1, 1, 0, 0], [1, 0, 0, 0, 0]]) / [[2], [2], [1]]
    expected = ((Z - masses) ** 2 / masses).sum(axis=1)
    np.testing.assert_allclose(row_distances(CODING, masses, X), [*expected, 0])

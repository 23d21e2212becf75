"""Warnings of the methods that scale distances."""

import warnings

import numpy as np
import pytest

from lowland.errors import DataWarning
from lowland.methods.base.distance_warnings import warn_if_distances, warn_of_one_point


def test_rows_that_look_like_distances_give_a_warning():
    D = np.array([[0.0, 3.0, 5.0], [3.0, 0.0, 4.0], [5.0, 4.0, 0.0]])
    with pytest.warns(DataWarning, match="MDS: X looks like a distance matrix.*metric='precomputed'"):
        warn_if_distances(D, "MDS")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_if_distances(D + np.eye(3), "MDS")
        warn_if_distances(D[:2], "MDS")


def test_coincident_points_give_a_warning():
    with pytest.warns(DataWarning, match="MDS: all points coincide"):
        warn_of_one_point("MDS")

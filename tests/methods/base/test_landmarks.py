"""Every method chooses landmarks in the same way."""

import numpy as np
import pytest

from lowland.errors import DataWarning
from lowland.methods.base.landmarks import choose_landmarks


def test_one_landmark_per_equal_range_of_rows():
    marks = choose_landmarks(100, 10, lambda: np.random.default_rng(0), "Isomap")
    assert marks.reshape(10, 10).sum(axis=1).tolist() == [1] * 10


def test_as_many_landmarks_as_rows_means_no_landmarks():
    def no_numbers():
        raise AssertionError("nothing is to be drawn")

    for m in (10, 11):
        with pytest.warns(DataWarning, match=rf"Isomap\(n_landmarks={m}\): the data has 10 rows.*fewer than 10"):
            assert choose_landmarks(10, m, no_numbers, "Isomap") is None

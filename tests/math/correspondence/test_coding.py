"""Levels of columns, and the level of each value."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from lowland.math.correspondence.coding import PASSIVE, UNKNOWN, Coding, LevelSetsOf

X = np.array([[1.5, 0.0], [np.nan, 2.0], [-3.0, 0.0], [1.5, 1.0]])


def test_level_sets():
    found = LevelSetsOf((0, 1))(X)
    assert [values.tolist() for values in found.values] == [[-3.0, 1.5], [0.0, 1.0, 2.0]]
    assert found.missing
    assert not LevelSetsOf((1,))(X).missing
    merged = LevelSetsOf((0,))(X[:2]) + LevelSetsOf((0,))(X[2:])
    assert merged.values[0].tolist() == [-3.0, 1.5]
    assert not LevelSetsOf((0,))(np.array([[np.inf]])).is_finite()


def test_codes():
    coding = Coding.of((0, 1), (np.array([-3.0, 1.5]), np.array([0.0, 1.0])), (True, False))
    a, b = coding.codes(X)
    assert a.tolist() == [1, 2, 0, 1]  # the last level stands for missing values
    assert b.tolist() == [0, UNKNOWN, 0, 1]
    assert (coding.sizes, coding.starts, coding.length) == ([3, 2], [0, 3], 5)
    plain = Coding.of((0,), (np.array([-3.0, 1.5]),), (False,))
    assert plain.codes(X)[0].tolist() == [1, PASSIVE, 0, 1]
    assert plain.codes(np.array([[np.inf], [7.0]]))[0].tolist() == [PASSIVE, UNKNOWN]
    assert Coding.of((0,), (np.empty(0),), (False,)).codes(np.array([[1.0]]))[0].tolist() == [UNKNOWN]


@settings(max_examples=50, deadline=None)
@given(values=arrays(np.float64, st.integers(1, 30), elements=st.sampled_from([-1.0, 0.0, 0.5, 1.0, 2.0, 7.0])))
def test_keys_at_codes_are_the_values(values):
    keys = np.unique(values)
    (codes,) = Coding.of((0,), (keys,), (False,)).codes(values[:, None])
    np.testing.assert_array_equal(keys[codes], values)

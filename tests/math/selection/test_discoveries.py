"""Which columns to keep: ranks, and discoveries against scipy's adjusted p-values."""

import numpy as np
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

from lowland.math.selection.discoveries import discoveries, ranked


def test_ties_are_ranked_by_the_first_column():
    strength = np.array([1.0, 3.0, np.nan, 3.0 * (1 + 1e-14), np.inf, np.inf, -2.0])
    assert ranked(strength).tolist() == [4, 5, 1, 3, 0, 6, 2]


@settings(max_examples=50, deadline=None)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=30), st.floats(0.001, 1))
def test_false_discovery_rate_by_its_definition(p, rate):
    p = np.array(p)
    adjusted = scipy.stats.false_discovery_control(p, method="bh")
    clear = np.abs(adjusted - rate) > 1e-9
    np.testing.assert_array_equal(discoveries(p, rate)[clear], (adjusted <= rate)[clear])
    adjusted = scipy.stats.false_discovery_control(p, method="by")
    clear = np.abs(adjusted - rate) > 1e-9
    found = discoveries(p, rate, any_dependence=True)
    np.testing.assert_array_equal(found[clear], (adjusted <= rate)[clear])


def test_false_discovery_rate_by_hand():
    """Of three p-values the k-th smallest may be k/3 of the rate."""
    assert discoveries(np.array([0.06, 0.01, 0.9]), 0.09).tolist() == [True, True, False]
    assert discoveries(np.array([0.07, 0.01, 0.9]), 0.09).tolist() == [False, True, False]
    assert not discoveries(np.array([0.04, 0.5]), 0.05).any()

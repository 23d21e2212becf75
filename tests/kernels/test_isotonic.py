"""Pooling adjacent violators against scikit-learn, and ties in the order of other values."""

import numpy as np
import pytest
from sklearn.isotonic import isotonic_regression

from lowland.kernels.isotonic import order_ties, pool_adjacent_violators


def test_three_values_by_hand():
    y = np.array([3.0, 1.0, 5.0])
    pool_adjacent_violators(y, np.empty(0), np.empty(3, dtype=np.int64))
    assert y.tolist() == [2, 2, 5]
    y = np.array([3.0, 1.0, 5.0])
    pool_adjacent_violators(y, np.array([1.0, 3.0, 1.0]), np.empty(3, dtype=np.int64))
    assert y.tolist() == [1.5, 1.5, 5]


@pytest.mark.parametrize("weighted", [False, True])
def test_values_agree_with_scikit_learn(rng, weighted):
    y, w = rng.standard_normal(200) + np.linspace(0, 2, 200), rng.random(200)
    expected = isotonic_regression(y, sample_weight=w if weighted else None)
    pool_adjacent_violators(y, w if weighted else np.empty(0), np.empty(200, dtype=np.int64))
    np.testing.assert_allclose(y, expected, atol=1e-12)


def test_ties_are_sorted_by_other_values():
    order = np.array([4, 0, 2, 1, 3], dtype=np.int32)  # two groups: 4, 0, 2 and 1, 3
    order_ties(order, np.array([0, 3, 5]), np.array([5.0, 1.0, 3.0, 0.0, 3.0]))
    assert order.tolist() == [2, 4, 0, 3, 1]

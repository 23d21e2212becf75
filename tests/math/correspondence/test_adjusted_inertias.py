"""Benzécri's and Greenacre's adjustments."""

import numpy as np
import pytest

from lowland.math.correspondence.adjusted_inertias import benzecri, greenacre_total


def test_two_columns_have_the_inertias_of_their_cross_table():
    ca = np.array([0.4, 0.1])
    indicators = np.concatenate([(1 + np.sqrt(ca)) / 2, (1 - np.sqrt(ca)) / 2])
    np.testing.assert_allclose(benzecri(indicators, 2), [*ca, 0, 0])
    n_levels = len(indicators) + 2
    assert greenacre_total(float((indicators**2).sum()), n_levels, 2) == pytest.approx(ca.sum())


def test_axes_below_the_mean_are_zero():
    np.testing.assert_allclose(benzecri(np.array([0.5, 0.25, 0.2]), 4), [(4 / 3 * 0.25) ** 2, 0, 0])


def test_one_column_has_nothing_to_explain():
    assert not benzecri(np.ones(3), 1).any()
    assert greenacre_total(3.0, 4, 1) == 0

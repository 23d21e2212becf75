"""Stability selection: the bound of Meinshausen and Bühlmann, and columns that most halves select."""

import numpy as np
import pytest

from lowland.math.selection.lasso_data import RowsSample
from lowland.math.selection.stability_selection import StableColumns, entrants_allowed, error_bound
from lowland.math.statistics.fold_moments import Layout
from lowland.math.statistics.labels import Target


def test_the_bound_by_hand():
    """q²/((2π - 1) d): 10 of 100 columns at a threshold of 3/4 give 2; to expect one, sqrt(50) = 7 may be chosen."""
    assert error_bound(100, 0.75, 10) == pytest.approx(2)
    assert entrants_allowed(100, 0.75, 2.0) == 10
    assert entrants_allowed(100, 0.75, 1.0) == 7
    assert entrants_allowed(3, 0.75, 0.01) == 1


def test_informative_columns_are_selected_in_every_subsample():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((120, 10))
    target = Target.of_numbers(3 * X[:, 2] - 3 * X[:, 5] + 0.1 * rng.standard_normal(120)).standardized()
    sample = RowsSample.of(X, target, Layout.of_halves(120, 8, 120, rng), standardize=True)
    found = StableColumns.of(
        sample, np.geomspace(1, 1e-2, 20), threshold=0.9, expected_false_positives=0.5, at_least=0, tol=1e-8,
        max_iter=1000, tick=lambda: None,
    )  # fmt: skip
    assert found.q == 2
    assert np.flatnonzero(found.frequencies == 1).tolist() == [2, 5]
    assert found.frequencies.sum() == pytest.approx(2)
    sizes = np.zeros(10)
    sizes[5] = 1.0
    assert found.ranked(sizes) == [5, 2]

"""Rows and moments give the same problems, the same losses, and coefficients in the units of the columns."""

import numpy as np
import pytest

from lowland.data.open import open_rows
from lowland.errors import DataError, DataWarning
from lowland.math.selection.lasso_data import (
    MomentsSample,
    RowsSample,
    check_classes_of_folds,
    check_columns,
    in_own_units,
    sample_of,
)
from lowland.math.statistics.fold_moments import Layout
from lowland.math.statistics.labels import Target
from lowland.run.local import LocalRun


def folds(n, F):
    parts = np.arange(n) % F
    return Layout.of_folds([(np.flatnonzero(parts != f), np.flatnonzero(parts == f)) for f in range(F)], n)


def sample(X, y, kind):
    target = Target.of(y, kind).standardized()
    layout = folds(len(y), 3)
    return sample_of(open_rows(X), LocalRun(), target, lambda parts: layout, standardize=True), target


def test_regression_needs_only_moments_and_classification_or_wide_tables_need_rows():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((30, 4)), rng.standard_normal(30)
    assert isinstance(sample(X, y, "numbers")[0], MomentsSample)
    assert isinstance(sample(X, np.arange(30) % 2, "classes")[0], RowsSample)
    assert isinstance(sample(rng.standard_normal((30, 40)), y, "numbers")[0], RowsSample)


def test_least_squares_coefficients_are_in_original_units():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((50, 3)) * [1.0, 100.0, 0.01] + [5.0, -3.0, 0.0]
    y = X @ [2.0, -0.1, 30.0] + 7
    data, target = sample(X, y, "numbers")
    problem = data.whole()
    found = problem.at(1e-12, problem.start(), 1e-14, 10_000)
    coef, intercept = in_own_units(found, data, target)
    np.testing.assert_allclose(coef[0], [2.0, -0.1, 30.0], rtol=1e-8)
    np.testing.assert_allclose(intercept, [7.0], rtol=1e-8)
    assert data.losses(0, [found])[0] < 0.01


def test_constant_columns_and_classes_missing_in_a_fold():
    X = np.column_stack([np.ones(12), np.arange(12.0)])
    data, _ = sample(X, np.sin(np.arange(12.0)), "numbers")
    with pytest.warns(DataWarning, match="Column 'a' is constant and never enters"):
        check_columns(data, ["a", "b"])
    y = np.zeros(9, dtype=int)
    y[0] = 1
    with pytest.raises(DataError, match="no row of class 1"):
        check_classes_of_folds(Target.of_classes(y), folds(9, 3))

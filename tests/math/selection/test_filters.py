"""Scores from statistics of one pass, with known results."""

import numpy as np
import pytest

from lowland.errors import DataError
from lowland.math.selection import filters
from lowland.math.selection.column_statistics import ClassSums, ColumnsByClass, SumsByClass, TargetColumns
from lowland.math.statistics.moments import ColumnMoments


def test_constant_columns_have_no_score():
    rng = np.random.default_rng(0)
    X = np.column_stack([np.full(60, 0.1), rng.standard_normal(60), np.full(60, 1e9 / 3), np.zeros(60)])
    y = np.arange(60) % 3
    for found in (
        filters.anova_scores(ColumnsByClass(3)(X, y)),
        filters.pearson_scores(TargetColumns.of(X, rng.standard_normal(60))),
        filters.chi2_scores(SumsByClass(3)(np.abs(X), y), list("abcd")),
    ):
        assert found.constant.tolist() == [True, False, True, True]
        assert found.values[[0, 2, 3]].tolist() == [0, 0, 0]
        assert found.pvalues[[0, 2, 3]].tolist() == [1, 1, 1]
    variances = filters.variance_scores(ColumnMoments.of(X))
    assert variances.values[[0, 2, 3]].tolist() == [0, 0, 0]
    assert variances.pvalues is None


def test_scores_of_perfect_predictors():
    y = np.repeat([0, 1], 10)
    found = filters.anova_scores(ColumnsByClass(2)(np.column_stack([y, y + 0.1]).astype(float), y))
    assert np.isinf(found.values).all()
    assert found.pvalues.tolist() == [0, 0]
    line = np.arange(20.0)
    r = filters.pearson_scores(TargetColumns.of(np.column_stack([line, -line]), line))
    np.testing.assert_allclose(r.values, [1, -1])
    assert r.pvalues.max() < 1e-100
    assert filters.pearson_scores(TargetColumns.of(np.array([[1.0], [2.0]]), np.array([1.0, 5.0]))).pvalues[0] == 1


def test_negative_counts_are_refused():
    sums = ClassSums(np.array([2.0, 2.0]), np.ones((2, 3)), np.array([0.0, -1.0, 0.0]), np.ones(3))
    with pytest.raises(DataError, match=r"column 'b'.*anova"):
        filters.chi2_scores(sums, list("abc"))


def test_scores_by_hand():
    """Means 1 and 3 of two classes of two rows, squares within 2 each: F = (4 / 1) / (4 / 2)."""
    X, y = np.array([[0.0], [2.0], [2.0], [4.0]]), np.array([0, 0, 1, 1])
    assert filters.anova_scores(ColumnsByClass(2)(X, y)).values[0] == pytest.approx(2)
    assert filters.correlation_ratios(ColumnsByClass(2)(X, y))[0] == pytest.approx(np.sqrt(4 / 8))
    assert filters.pearson_scores(TargetColumns.of(X, y.astype(float))).values[0] == pytest.approx(np.sqrt(4 / 8))
    assert filters.chi2_scores(SumsByClass(2)(X, y), ["x"]).values[0] == pytest.approx(2 * (2 - 4) ** 2 / 4)
    assert filters.variance_scores(ColumnMoments.of(X)).values[0] == pytest.approx(2)
    assert filters.correlation_pvalues(np.array([0.0, 1.0]), 4).tolist() == [1, 0]

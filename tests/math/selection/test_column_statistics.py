"""One-pass statistics and their scores: any chunks, precision, known results."""

import itertools
import operator
from functools import partial, reduce

import numpy as np
import pytest
import scipy.sparse
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sklearn.feature_selection import chi2, f_classif, r_regression

from lowland.math.selection import column_statistics
from lowland.math.selection.column_statistics import ClassColumns, ClassSums, TargetColumns
from lowland.math.statistics.moments import ColumnMoments


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 4, 300)
    return rng.standard_normal((300, 7)) * np.geomspace(1e-3, 1e3, 7) + rng.standard_normal((4, 7))[y], y


def parts_of(X, y, of, cuts):
    return reduce(operator.add, (of(X[a:b], y[a:b]) for a, b in itertools.pairwise([0, *cuts, len(y)])))


@settings(max_examples=10, deadline=None)
@example(cuts=[0, 70, 70], far=1e5, sparse=False)  # two empty chunks
@given(cuts=st.lists(st.integers(0, 300), max_size=5), far=st.sampled_from([0.0, 1e5]), sparse=st.booleans())
def test_any_chunks_give_the_same_scores(table, cuts, far, sparse):
    X, y = table
    X = np.where(np.abs(X) > 0.5, X, 0) if sparse else X + far * np.geomspace(1e-3, 1e3, 7)
    given = scipy.sparse.csr_array(X) if sparse else X
    rtol = 1e-6 if far else 1e-9
    cuts = sorted(cuts)
    F = column_statistics.anova_scores(parts_of(given, y, partial(ClassColumns.of, classes=4), cuts))
    centered = X - X.mean(axis=0)  # theirs would lose digits this far from the origin
    np.testing.assert_allclose(F.values, f_classif(centered, y)[0], rtol=rtol)
    numbers = np.sin(np.arange(300.0)) + 40
    r = column_statistics.pearson_scores(parts_of(given, numbers, TargetColumns.of, cuts))
    np.testing.assert_allclose(r.values, r_regression(centered, numbers), rtol=rtol, atol=1e-12)
    positive = abs(given) if sparse else np.abs(X)
    counts = column_statistics.chi2_scores(
        parts_of(positive, y, partial(ClassSums.of, classes=4), cuts), list("abcdefg")
    )
    np.testing.assert_allclose(counts.values, chi2(np.abs(X), y)[0], rtol=rtol)
    np.testing.assert_allclose(counts.pvalues, chi2(np.abs(X), y)[1], rtol=1e-5)


def test_scores_of_distant_classes_are_accurate():
    """The squares within are a trillionth of those between: a difference of the two would have four digits."""
    rng = np.random.default_rng(1)
    y = np.repeat([0, 1, 2], 50)
    noise = rng.standard_normal((150, 3))
    within = sum(((noise[y == c] - noise[y == c].mean(axis=0)) ** 2).sum(axis=0) for c in range(3))
    found = ClassColumns.of(noise + np.outer(y, [1e6, 1e6, 0]), y, 3)  # also in a table with other columns
    np.testing.assert_allclose(found.within, within, rtol=1e-8)


def test_float32_is_summed_in_float64(table):
    X, y = table
    single = (X + 100).astype(np.float32)
    ours = column_statistics.anova_scores(ClassColumns.of(single, y, 4)).values
    np.testing.assert_allclose(ours, f_classif(single.astype(np.float64) - 100, y)[0], rtol=1e-7)
    r = column_statistics.pearson_scores(TargetColumns.of(single, X[:, 0])).values
    np.testing.assert_allclose(r, r_regression(single.astype(np.float64), X[:, 0]), rtol=1e-7, atol=1e-9)


def test_scores_of_perfect_predictors():
    y = np.repeat([0, 1], 10)
    found = column_statistics.anova_scores(ClassColumns.of(np.column_stack([y, y + 0.1]).astype(float), y, 2))
    assert np.isinf(found.values).all()
    assert found.pvalues.tolist() == [0, 0]
    line = np.arange(20.0)
    r = column_statistics.pearson_scores(TargetColumns.of(np.column_stack([line, -line]), line))
    np.testing.assert_allclose(r.values, [1, -1])
    assert r.pvalues.max() < 1e-100
    two = TargetColumns.of(np.array([[1.0], [2.0]]), np.array([1.0, 5.0]))
    assert column_statistics.pearson_scores(two).pvalues[0] == 1


def test_scores_by_hand():
    """Means 1 and 3 of two classes of two rows, squares within 2 each: F = (4 / 1) / (4 / 2)."""
    X, y = np.array([[0.0], [2.0], [2.0], [4.0]]), np.array([0, 0, 1, 1])
    by_class = ClassColumns.of(X, y, 2)
    assert column_statistics.anova_scores(by_class).values[0] == pytest.approx(2)
    assert column_statistics.correlation_ratios(by_class)[0] == pytest.approx(np.sqrt(4 / 8))
    r = column_statistics.pearson_scores(TargetColumns.of(X, y.astype(float))).values[0]
    assert r == pytest.approx(np.sqrt(4 / 8))
    assert column_statistics.chi2_scores(ClassSums.of(X, y, 2), ["x"]).values[0] == pytest.approx(2 * (2 - 4) ** 2 / 4)
    assert column_statistics.variance_scores(ColumnMoments.of(X)).values[0] == pytest.approx(2)
    assert column_statistics.correlation_pvalues(np.array([0.0, 1.0]), 4).tolist() == [1, 0]


def test_a_column_that_differs_by_rounding_error_is_constant():
    """Means of 1e6 hold squares to about 1e-4: less within and between classes is no evidence."""
    columns = ClassColumns(
        np.array([50.0, 50.0]), np.array([[1e6, 0.0], [1e6, 1.0]]), np.array([1e-3, 10.0]), rounding=1e-16
    )
    found = column_statistics.anova_scores(columns)
    assert found.constant.tolist() == [True, False]
    assert (found.values[0], found.pvalues[0]) == (0, 1)
    assert found.values[1] == pytest.approx((100 * 0.25 / 1) / (10 / 98))

"""Rank correlation, distance correlation and mutual information against other libraries and definitions."""

import itertools
import math

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.feature_selection import mutual_info_classif, mutual_info_regression
from sklearn.metrics import mutual_info_score

from lowland.math.selection.dependence import (
    CenteredDistances,
    ColumnReader,
    DistanceCorrelation,
    MutualInformation,
    Spearman,
    column_scores,
    discrete_columns,
    standardized,
)
from lowland.math.statistics.labels import Target
from lowland.run.run import Run


@pytest.mark.parametrize(("n", "power"), [(6, 1), (29, 1), (60, 9)])
def test_few_or_dominant_rows_get_their_p_values_from_permutations(n, power):
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((n, 3)) ** power, rng.standard_normal(n) ** power
    measure = DistanceCorrelation.to(Target(y, None))
    columns = ColumnReader(np.column_stack([x, y]))
    found, permuted = (column_scores(columns, measure, Run(), count).pvalues for count in (0, 999))
    np.testing.assert_allclose(found, permuted, atol=0.2)  # ten hits estimate a fraction to about a third of itself
    if n > 6:
        assert found[-1] == permuted[-1] == 0.001  # no permutation reaches the correlation of a column with itself


def found(measure, x):
    z = measure.prepare(x, 0)
    return measure.score(z, 0), measure.pvalue(z, 0)


def test_permutations_by_hand():
    """Of six orders of three rows two are as strongly correlated as the order itself."""
    x = np.array([1.0, 2.0, 3.0])
    found = column_scores(ColumnReader(np.column_stack([x, np.ones(3)])), Spearman.to(x), Run(), 1000)
    assert found.values.tolist() == [1, 0]
    assert found.pvalues[0] == pytest.approx(1 / 3, abs=0.05)
    assert found.pvalues[1] == 1
    assert found.signed
    assert found.constant.tolist() == [False, True]


def test_rank_correlations_agree_with_scipy():
    rng = np.random.default_rng(0)
    x, y = np.round(3 * rng.standard_normal((2, 50)))
    measure = Spearman.to(y)
    np.testing.assert_allclose(found(measure, x), scipy.stats.spearmanr(x, y), rtol=1e-9)


@pytest.mark.parametrize("n", [2, 6])
@pytest.mark.parametrize("ties", [False, True])
def test_p_values_of_few_rows_enumerate_all_permutations(n, ties):
    rng = np.random.default_rng(n)
    x, y = rng.standard_normal((2, n))
    x, y = (np.round(x), np.round(2 * y)) if ties else (x, y)
    x[0], y[0] = 9, 9  # neither is constant
    measure = Spearman.to(y)
    z = measure.prepare(x, 0)
    r, p = measure.score(z, 0), measure.pvalue(z, 0)
    all_of_them = [abs(measure.score(z[list(order)], 0)) for order in itertools.permutations(range(n))]
    assert p == pytest.approx(np.mean(np.array(all_of_them) >= abs(r) - 1e-9))


def test_p_values_of_few_rows_are_not_too_small():
    """Two of n! orders are as strongly correlated as the same order."""
    x = np.arange(30.0)
    for n in (6, 9, 12, 30):
        measure = Spearman.to(x[:n])
        assert found(measure, x[:n] ** 3)[1] >= 2 / math.factorial(n) * (1 - 1e-9)


@pytest.mark.parametrize("unit", [1e-200, 1e200])
def test_columns_are_standardized_also_where_squares_leave_the_range(unit):
    z = standardized(np.array([1.0, 2.0, 6.0]) * unit)
    assert z @ z == pytest.approx(3)
    assert z.mean() == pytest.approx(0, abs=1e-15)


def by_definition(x, y):
    """Distance correlation from two n x n tables; y a vector, or a table of distances."""
    tables = [np.abs(x[:, None] - x[None, :]), np.abs(y[:, None] - y[None, :]) if y.ndim == 1 else y]
    A, B = (D - D.mean(axis=0) - D.mean(axis=1)[:, None] + D.mean() for D in tables)
    return np.sqrt((A * B).mean() / np.sqrt((A * A).mean() * (B * B).mean()))


def distance_correlation(x, target):
    measure = DistanceCorrelation.to(target)
    return found(measure, x)


@settings(max_examples=15, deadline=None)
@given(n=st.integers(2, 60), ties=st.booleans(), seed=st.integers(0, 1000))
def test_distance_correlation_agrees_with_its_definition(n, ties, seed):
    rng = np.random.default_rng(seed)
    x, y = rng.standard_normal((2, n))
    y = x**2 + y
    if ties:
        x, y = np.round(x), np.round(y)
    x[0], y[0] = 10, 20  # neither is constant
    value, p = distance_correlation(x, Target(y, None))
    np.testing.assert_allclose(value, by_definition(x, y), rtol=1e-7, atol=1e-7)
    assert np.isnan(p) or 0 <= p <= 1
    kinds = (rng.integers(0, 3, n) + np.arange(n)) % 3
    kinds = np.unique(kinds, return_inverse=True)[1]
    if kinds.max() > 0:
        apart = (kinds[:, None] != kinds[None, :]).astype(float)
        value, _ = distance_correlation(x, Target.of_classes(kinds))
        np.testing.assert_allclose(value, by_definition(x, apart), rtol=1e-7, atol=1e-7)


def test_distance_correlation_detects_nonlinear_dependence():
    x = np.linspace(-1, 1, 201)
    value, p = distance_correlation(x, Target(x**2, None))
    assert value == pytest.approx(0.49, abs=0.02)
    assert p < 1e-6
    assert distance_correlation(x, Target(3 - 7 * x, None))[0] == pytest.approx(1)
    two = (x > 0.3).astype(np.int64)
    assert distance_correlation(x, Target.of_classes(two))[0] == pytest.approx(
        distance_correlation(x, Target(two.astype(float), None))[0]
    )


def centered(D):
    return -(D - D.mean(axis=0) - D.mean(axis=1)[:, None] + D.mean())


@settings(max_examples=15, deadline=None)
@given(n=st.integers(2, 30), ties=st.booleans(), seed=st.integers(0, 1000))
def test_traces_of_centered_distances_agree_with_the_matrix(n, ties, seed):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(n)
    x = standardized(np.append(np.round(x) if ties else x, 5.0))
    y = rng.integers(0, 3, n)
    for sums, K in (
        (CenteredDistances.of_numbers(x), centered(np.abs(x[:, None] - x))),
        (CenteredDistances.of_classes(y), centered((y[:, None] != y).astype(float))),
    ):
        np.testing.assert_allclose(sums.diagonal, np.diag(K), atol=1e-12)
        powers = [np.trace(np.linalg.matrix_power(K, power)) for power in (1, 2, 3)]
        np.testing.assert_allclose([sums.trace, sums.square, sums.cube], powers, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("classes", [False, True])
def test_the_gamma_distribution_is_that_of_the_permutations(classes):
    rng = np.random.default_rng(0)
    x, y = rng.random((2, 40))
    measure = DistanceCorrelation.to(Target.of_classes((3 * y).astype(int)) if classes else Target(y, None))
    z = measure.prepare(x, 0)
    p = np.array([measure.pvalue(rng.permutation(z), 0) for _ in range(1000)])
    for level in (0.01, 0.05, 0.2):
        assert (p <= level).mean() == pytest.approx(level, abs=4 * np.sqrt(level * (1 - level) / 1000))


COLUMNS = {
    "normal": lambda r, n: r.standard_normal(n),
    "heavy tails": lambda r, n: r.standard_cauchy(n),
    "skewed": lambda r, n: np.exp(r.standard_normal(n)),
    "two values": lambda r, n: np.append(r.integers(0, 2, n - 2), [0, 1]),
    "rare": lambda r, n: np.append(r.random(n - 1) < 0.05, 1),
}


@pytest.mark.parametrize(("n", "kind"), [(6, "skewed"), *((40, kind) for kind in COLUMNS)])
def test_p_values_of_independent_columns_are_not_too_small(n, kind):
    """Each column is compared with a target of its own kind, the hardest case for rare values and heavy tails."""
    rng = np.random.default_rng(0)
    p = []
    for _ in range(8):
        X = np.column_stack([rng.permutation(COLUMNS[kind](rng, n).astype(float)) for _ in range(10)])
        measure = DistanceCorrelation.to(Target(X[:, 0], None))
        p += column_scores(ColumnReader(X[:, 1:]), measure, Run()).pvalues.tolist()
    for level in (0.01, 0.05, 0.2):
        assert np.mean(np.array(p) <= level) <= level + 4 * np.sqrt(level / len(p))


def information(x, target, discrete=False, k=3):
    measure = MutualInformation.to(target, np.array([discrete]), k, seed=0)
    return found(measure, x)[0]


@pytest.mark.parametrize("k", [1, 3])
def test_mutual_information_agrees_with_scikit_learn(k):
    rng = np.random.default_rng(0)
    y = rng.standard_normal(400)
    x = np.sin(2 * y) + 0.3 * rng.standard_normal(400)
    kinds = np.digitize(y, [-1, 0.5])
    kinds[0] = 3  # a class of one row
    steps = np.digitize(x, [-0.5, 0, 0.5])
    options = {"n_neighbors": k, "random_state": 0}
    pairs = [
        (information(x, Target(y, None), k=k), mutual_info_regression(x[:, None], y, **options)),
        (information(x, Target.of_classes(kinds), k=k), mutual_info_classif(x[:, None], kinds, **options)),
        (
            information(steps, Target(y, None), discrete=True, k=k),
            mutual_info_regression(steps[:, None], y, discrete_features=True, **options),
        ),
        (information(steps, Target.of_classes(kinds), discrete=True, k=k), mutual_info_score(steps, kinds)),
    ]
    for ours, theirs in pairs:
        np.testing.assert_allclose(ours, theirs, rtol=1e-6)


def test_tied_values_are_jittered():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 600)
    x = np.round(rng.standard_normal(600) + y)
    theirs = [mutual_info_classif(x[:, None], y, random_state=s)[0] for s in range(10)]
    assert information(x, Target.of_classes(y)) == pytest.approx(np.mean(theirs), abs=4 * np.std(theirs) + 1e-9)


def test_discrete_columns_are_given_by_index_or_mask_and_sparse_ones_are_discrete():
    assert discrete_columns("auto", 3, sparse=True).tolist() == [True, True, True]
    assert discrete_columns([0, 2], 3, sparse=False).tolist() == [True, False, True]
    assert discrete_columns([False, True, False], 3, sparse=False).tolist() == [False, True, False]

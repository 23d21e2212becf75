"""Statistics of single columns against their definitions, and the kernels against numpy."""

import itertools
import math

import numpy as np
import pytest
import scipy.sparse
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.feature_selection import chi2, f_classif, mutual_info_classif, mutual_info_regression, r_regression
from sklearn.metrics import mutual_info_score

from lowland.blocks.selection import dependence, filters
from lowland.blocks.selection.dependence import DistanceCorrelation, MutualInformation, Spearman
from lowland.blocks.selection.filters import ClassSums, ColumnsByClass, SumsByClass, TargetColumns
from lowland.blocks.selection.mrmr import GreedyChoice, correlations
from lowland.blocks.statistics.moments import ColumnMoments
from lowland.blocks.statistics.targets import Target, seems_classes
from lowland.errors import DataError
from lowland.kernels.dependence import concordant_products, count_nearer, nearest_radii
from lowland.run.local import LocalRun


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 4, 300)
    return rng.standard_normal((300, 7)) * np.geomspace(1e-3, 1e3, 7) + rng.standard_normal((4, 7))[y], y


def parts_of(X, y, of, cuts):
    borders = [0, *cuts, len(y)]
    parts = [of(X[a:b], y[a:b]) for a, b in itertools.pairwise(borders)]
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return total


# --- one pass


@settings(max_examples=20, deadline=None)
@given(cuts=st.lists(st.integers(0, 300), max_size=5), far=st.sampled_from([0.0, 1e5]), sparse=st.booleans())
def test_any_parts_give_the_same_scores(table, cuts, far, sparse):
    X, y = table
    X = np.where(np.abs(X) > 0.5, X, 0) if sparse else X + far * np.geomspace(1e-3, 1e3, 7)
    given = scipy.sparse.csr_array(X) if sparse else X
    rtol = 1e-6 if far else 1e-9
    cuts = sorted(cuts)
    F = filters.anova_scores(parts_of(given, y, ColumnsByClass(4), cuts))
    centered = X - X.mean(axis=0)  # theirs would lose the digits that far away
    np.testing.assert_allclose(F.values, f_classif(centered, y)[0], rtol=rtol)
    numbers = np.sin(np.arange(300.0)) + 40
    r = filters.pearson_scores(parts_of(given, numbers, TargetColumns.of, cuts))
    np.testing.assert_allclose(r.values, r_regression(centered, numbers), rtol=rtol, atol=1e-12)
    positive = abs(given) if sparse else np.abs(X)
    counts = filters.chi2_scores(parts_of(positive, y, SumsByClass(4), cuts), list("abcdefg"))
    np.testing.assert_allclose(counts.values, chi2(np.abs(X), y)[0], rtol=rtol)
    np.testing.assert_allclose(counts.pvalues, chi2(np.abs(X), y)[1], rtol=1e-5)


def test_classes_far_apart_lose_no_digits():
    """The squares within are a trillionth of those between: a difference of the two would have four digits."""
    rng = np.random.default_rng(1)
    y = np.repeat([0, 1, 2], 50)
    noise = rng.standard_normal((150, 3))
    within = sum(((noise[y == c] - noise[y == c].mean(axis=0)) ** 2).sum(axis=0) for c in range(3))
    found = ColumnsByClass(3)(noise + 1e6 * y[:, None], y)
    np.testing.assert_allclose(found.within, within, rtol=1e-8)


def test_float32_is_summed_in_float64(table):
    X, y = table
    single = (X + 100).astype(np.float32)
    ours = filters.anova_scores(ColumnsByClass(4)(single, y)).values
    np.testing.assert_allclose(ours, f_classif(single.astype(np.float64) - 100, y)[0], rtol=1e-7)
    r = filters.pearson_scores(TargetColumns.of(single, X[:, 0])).values
    np.testing.assert_allclose(r, r_regression(single.astype(np.float64), X[:, 0]), rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("far", [0.0, 1000.0])
def test_compiled_loops_and_their_twins(monkeypatch, dtype, far):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 4, 5000)  # more rows than are summed at a time
    X = (rng.standard_normal((5000, 6)) + rng.standard_normal((4, 6))[y] + far).astype(dtype)
    X.setflags(write=False)
    z = np.cos(np.arange(5000.0))
    for of, target in ((ColumnsByClass(4), y), (SumsByClass(4), y), (TargetColumns.of, z)):
        plain = of(X, target)
        with monkeypatch.context() as patch:
            patch.setattr(filters, "_LARGE", 0)
            compiled = of(X, target)
        for name in vars(plain):
            np.testing.assert_allclose(getattr(compiled, name), getattr(plain, name), rtol=1e-9, atol=1e-9)


def test_no_rows_add_nothing(table):
    X, y = table
    for of, target in ((ColumnsByClass(4), y), (SumsByClass(4), y), (TargetColumns.of, X[:, 0])):
        whole, with_none = of(X, target), of(X, target) + of(X[:0], target[:0])
        for name in vars(whole):
            np.testing.assert_array_equal(getattr(whole, name), getattr(with_none, name))


def test_constant_columns_have_nothing_to_say():
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


def test_perfect_answers():
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


# --- which to keep


def test_ranks_go_to_the_first_of_equal_scores():
    strength = np.array([1.0, 3.0, np.nan, 3.0 * (1 + 1e-14), np.inf, np.inf, -2.0])
    assert filters.ranked(strength).tolist() == [4, 5, 1, 3, 0, 6, 2]


@settings(max_examples=50, deadline=None)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=30), st.floats(0.001, 1))
def test_discoveries_by_their_definition(p, rate):
    p = np.array(p)
    adjusted = scipy.stats.false_discovery_control(p, method="bh")
    clear = np.abs(adjusted - rate) > 1e-9
    np.testing.assert_array_equal(filters.discoveries(p, rate)[clear], (adjusted <= rate)[clear])
    adjusted = scipy.stats.false_discovery_control(p, method="by")
    clear = np.abs(adjusted - rate) > 1e-9
    found = filters.discoveries(p, rate, any_dependence=True)
    np.testing.assert_array_equal(found[clear], (adjusted <= rate)[clear])


# --- the target


def test_what_a_target_seems_to_hold():
    assert seems_classes(np.array(["a", "b", "b"]))
    assert seems_classes(np.array([True, False]))
    assert seems_classes(np.array([0, 1]))
    assert seems_classes(np.array([0.0, 1.0, 2.0] * 5))
    assert not seems_classes(np.array([0.5, 1.0, 2.0] * 5))
    assert not seems_classes(np.array([0, 1, 2]))  # one row each
    assert not seems_classes(np.arange(2000) % 101)  # too many kinds
    assert Target.of_numbers(np.array(["yes", "no", "no"])).values.tolist() == [1, 0, 0]
    for y in (np.array([1.0, np.nan, 2.0]), np.array([1.0, np.inf, 2.0])):
        with pytest.raises(DataError, match="NaN or infinity"):
            seems_classes(y)


# --- columns in memory


def by_definition(x, y):
    """Distance correlation from two n x n tables; y a vector, or a table of distances."""
    tables = [np.abs(x[:, None] - x[None, :]), np.abs(y[:, None] - y[None, :]) if y.ndim == 1 else y]
    A, B = (D - D.mean(axis=0) - D.mean(axis=1)[:, None] + D.mean() for D in tables)
    return np.sqrt((A * B).mean() / np.sqrt((A * A).mean() * (B * B).mean()))


def distance_correlation(x, target):
    measure = DistanceCorrelation.to(target)
    return measure(measure.prepare(x, 0), 0)


@settings(max_examples=30, deadline=None)
@given(n=st.integers(2, 60), ties=st.booleans(), seed=st.integers(0, 1000))
def test_distance_correlation_is_that_of_its_definition(n, ties, seed):
    rng = np.random.default_rng(seed)
    x, y = rng.standard_normal((2, n))
    y = x**2 + y
    if ties:
        x, y = np.round(x), np.round(y)
    x[0], y[0] = 10, 20  # neither is constant
    value, p = distance_correlation(x, Target(y, None))
    np.testing.assert_allclose(value, by_definition(x, y), rtol=1e-7, atol=1e-7)
    assert 0 <= p <= 1
    kinds = (rng.integers(0, 3, n) + np.arange(n)) % 3
    kinds = np.unique(kinds, return_inverse=True)[1]
    if kinds.max() > 0:
        apart = (kinds[:, None] != kinds[None, :]).astype(float)
        value, _ = distance_correlation(x, Target.of_classes(kinds))
        np.testing.assert_allclose(value, by_definition(x, apart), rtol=1e-7, atol=1e-7)


def test_distance_correlation_sees_what_a_line_does_not():
    x = np.linspace(-1, 1, 201)
    value, p = distance_correlation(x, Target(x**2, None))
    assert value == pytest.approx(0.49, abs=0.02)
    assert p < 1e-6
    assert distance_correlation(x, Target(3 - 7 * x, None))[0] == pytest.approx(1)
    two = (x > 0.3).astype(np.int64)
    assert distance_correlation(x, Target.of_classes(two))[0] == pytest.approx(
        distance_correlation(x, Target(two.astype(float), None))[0]
    )


def test_the_bound_on_the_p_value_holds():
    rng = np.random.default_rng(0)
    pairs = rng.standard_normal((400, 2, 40))
    p = np.array([distance_correlation(x, Target(y, None))[1] for x, y in pairs])
    for level in (0.01, 0.05):
        assert (p <= level).mean() <= level + 3 * np.sqrt(level / 400)


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 40), st.integers(0, 1000), st.booleans())
def test_kernels_and_their_twins(n, seed, ties):
    rng = np.random.default_rng(seed)
    x, y = (np.round(a) if ties else a for a in 3 * rng.standard_normal((2, n)))
    x = np.sort(x)
    twin = sum((x[i] - x[j]) * (y[i] - y[j]) for i in range(n) for j in range(i) if y[j] <= y[i])
    assert concordant_products(x.copy(), y.copy()) == pytest.approx(twin, abs=1e-9)
    radii = np.abs(rng.standard_normal(n))
    near = (np.abs(x[None, :] - y[:, None]) < radii[:, None]).sum(axis=1)
    np.testing.assert_array_equal(count_nearer(x, y, radii), near)
    starts = np.array([0, n // 3, n])
    for a, b in itertools.pairwise(starts):
        distances = np.sort(np.abs(x[a:b, None] - x[None, a:b]), axis=1)
        if b > a:
            np.testing.assert_array_equal(nearest_radii(x, starts, 3)[a:b], distances[:, min(3, b - a - 1)])


def test_ranks_are_those_of_scipy():
    rng = np.random.default_rng(0)
    x, y = np.round(3 * rng.standard_normal((2, 50)))
    np.testing.assert_array_equal(dependence.ranks(x), scipy.stats.rankdata(x))
    measure = Spearman.to(y)
    np.testing.assert_allclose(measure(measure.prepare(x, 0), 0), scipy.stats.spearmanr(x, y), rtol=1e-9)


@pytest.mark.parametrize("n", [2, 3, 5, 7])
@pytest.mark.parametrize("ties", [False, True])
def test_of_few_rows_every_order_of_ranks_counts(n, ties):
    rng = np.random.default_rng(n)
    x, y = rng.standard_normal((2, n))
    x, y = (np.round(x), np.round(2 * y)) if ties else (x, y)
    x[0], y[0] = 9, 9  # neither is constant
    measure = Spearman.to(y)
    z = measure.prepare(x, 0)
    r, p = measure(z, 0)
    all_of_them = [abs(measure(z[list(order)], 0)[0]) for order in itertools.permutations(range(n))]
    assert p == pytest.approx(np.mean(np.array(all_of_them) >= abs(r) - 1e-9))


def test_p_values_of_few_rows_are_not_too_small():
    x = np.arange(30.0)
    for n in (6, 9, 12, 30):
        measure = Spearman.to(x[:n])
        assert measure(measure.prepare(x[:n] ** 3, 0), 0)[1] >= 2 / math.factorial(n) * (1 - 1e-9)
    rng = np.random.default_rng(0)
    y = np.exp(rng.standard_normal(6))
    columns = dependence.ColumnReader(np.exp(rng.standard_normal((6, 40))))
    p = dependence.column_scores(columns, DistanceCorrelation.to(Target(y, None)), LocalRun()).pvalues
    assert p is not None
    assert (p <= 0.05).mean() <= 0.08


def information(x, target, discrete=False, k=3):
    measure = MutualInformation.to(target, np.array([discrete]), k, seed=0)
    return measure(measure.prepare(x, 0), 0)[0]


@pytest.mark.parametrize("k", [1, 3, 7])
def test_mutual_information_is_that_of_scikit_learn(k):
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


def test_mutual_information_of_a_normal_pair():
    rng = np.random.default_rng(0)
    x, e = rng.standard_normal((2, 4000))
    assert information(x, Target(0.8 * x + 0.6 * e, None)) == pytest.approx(-0.5 * np.log(1 - 0.64), abs=0.05)
    assert information(x, Target(e, None)) < 0.03


def test_equal_numbers_are_set_apart():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 600)
    x = np.round(rng.standard_normal(600) + y)
    theirs = [mutual_info_classif(x[:, None], y, random_state=s)[0] for s in range(10)]
    assert information(x, Target.of_classes(y)) == pytest.approx(np.mean(theirs), abs=4 * np.std(theirs) + 1e-9)


# --- relevance and redundancy


def greedy(relevance, C, k, quotient):
    """The criterion as it is written in the books."""
    chosen = [int(np.argmax(relevance))]
    while len(chosen) < k:
        scores = {}
        for j in set(range(len(relevance))) - set(chosen):
            shared = np.mean([C[j, i] for i in chosen])
            scores[j] = relevance[j] / max(shared, 1e-3) if quotient else relevance[j] - shared
        chosen.append(max(scores, key=scores.get))
    return chosen


@pytest.mark.parametrize("quotient", [False, True])
def test_mrmr_is_greedy(quotient):
    rng = np.random.default_rng(0)
    for _ in range(20):
        relevance, C = rng.random(9), rng.random((9, 9))
        C = (C + C.T) / 2
        search = GreedyChoice(relevance, lambda j, C=C: C[j], np.zeros(9, dtype=bool), quotient=quotient)
        moves = list(search.moves(5))
        assert [move.feature for move in moves] == greedy(relevance, C, 5, quotient)
        assert search.ranking()[:5].tolist() == [move.feature for move in moves]
        assert sorted(search.ranking()) == list(range(9))


def test_correlations_of_constant_columns_are_zero():
    from lowland.blocks.statistics.moments import Moments

    X = np.random.default_rng(0).standard_normal((50, 4)) + 7
    X[:, 2] = 3
    C = correlations(Moments.of(X))
    kept = [0, 1, 3]
    np.testing.assert_allclose(C[np.ix_(kept, kept)], np.corrcoef(X[:, kept].T), atol=1e-12)
    assert not C[2].any()

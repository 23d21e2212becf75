"""Tables of categories and of counts: codes, the Burt table, profiles, and the points of a map."""

from functools import partial

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

from lowland.data.open import open_rows
from lowland.errors import DataError
from lowland.math.correspondence import categories
from lowland.math.correspondence.categories import (
    PASSIVE,
    UNKNOWN,
    Coding,
    Expanded,
    IndicatorPoints,
    MixedPoints,
    benzecri,
    burt_table,
    greenacre_total,
    level_sets,
    row_distances,
    standardized,
)
from lowland.math.correspondence.profiles import (
    Margins,
    ProfilePoints,
    map_points,
    profile_distances,
    profile_rows,
    row_sums_of,
    scaled_profiles,
    v_tests,
)
from lowland.math.statistics.moments import Moments

X = np.array([[1.5, 0.0], [np.nan, 2.0], [-3.0, 0.0], [1.5, 1.0]])


def test_level_sets():
    found = level_sets((0, 1), X)
    assert [values.tolist() for values in found.values] == [[-3.0, 1.5], [0.0, 1.0, 2.0]]
    assert found.missing
    assert not level_sets((1,), X).missing
    merged = level_sets((0,), X[:2]) + level_sets((0,), X[2:])
    assert merged.values[0].tolist() == [-3.0, 1.5]
    assert not level_sets((0,), np.array([[np.inf]])).is_finite()


def test_codes():
    coding = Coding((0, 1), (np.array([-3.0, 1.5]), np.array([0.0, 1.0])), (True, False))
    a, b = coding.codes(X)
    assert a.tolist() == [1, 2, 0, 1]  # the last level stands for missing values
    assert b.tolist() == [0, UNKNOWN, 0, 1]
    assert (coding.sizes, coding.starts, coding.length) == ([3, 2], [0, 3], 5)
    plain = Coding((0,), (np.array([-3.0, 1.5]),), (False,))
    assert plain.codes(X)[0].tolist() == [1, PASSIVE, 0, 1]
    assert plain.codes(np.array([[np.inf], [7.0]]))[0].tolist() == [PASSIVE, UNKNOWN]
    assert Coding((0,), (np.empty(0),), (False,)).codes(np.array([[1.0]]))[0].tolist() == [UNKNOWN]


def coding_of(sizes):
    return Coding(range(len(sizes)), [np.arange(size, dtype=float) for size in sizes], [False] * len(sizes))


def indicators(X, sizes):
    return np.concatenate([(X[:, [j]] == np.arange(size)).astype(float) for j, size in enumerate(sizes)], axis=1)


def drawn(seed, sizes, n=50, missing=0.0):
    rng = np.random.default_rng(seed)
    X = np.stack([rng.integers(0, size, n) for size in sizes], axis=1).astype(float)
    X[rng.random(X.shape) < missing] = np.nan
    return X


@pytest.mark.parametrize("missing", [0.0, 0.3])
@settings(max_examples=25, deadline=None)
@given(sizes=st.lists(st.integers(1, 6), min_size=1, max_size=8), seed=st.integers(0, 1000))
def test_it_is_the_product_of_the_indicators(missing, sizes, seed):
    X = drawn(seed, sizes, missing=missing)
    Z = indicators(X, sizes)
    answers = np.maximum(Z.sum(axis=1, keepdims=True), 1)
    table = burt_table(coding_of(sizes), X)
    np.testing.assert_allclose(table.pairs, (Z / answers).T @ Z, atol=1e-12)
    np.testing.assert_array_equal(table.counts, Z.sum(axis=0))
    assert table.passive == np.isnan(X).sum()
    assert table.empty == (Z.sum(axis=1) == 0).sum()
    parts = burt_table(coding_of(sizes), X[:20]) + burt_table(coding_of(sizes), X[20:])
    np.testing.assert_allclose(parts.pairs, table.pairs, atol=1e-12)
    assert (parts.rows, parts.passive, parts.empty) == (table.rows, table.passive, table.empty)


@pytest.mark.parametrize("cells", [1, 7, 1000])
def test_groups_of_any_size_count_the_same(cells, monkeypatch):
    sizes = [3, 2, 5, 4, 2]
    X = drawn(0, sizes)
    expected = burt_table(coding_of(sizes), X)
    monkeypatch.setattr(categories, "_MOST_CELLS", cells)
    np.testing.assert_allclose(burt_table(coding_of(sizes), X).pairs, expected.pairs)


def test_levels_that_do_not_occur_are_dropped():
    table, used = burt_table(coding_of([2, 3]), np.array([[0.0, 2.0], [0.0, 0.0]])).without_empty_levels()
    assert used.tolist() == [True, False, True, False, True]
    assert table.pairs.shape == (3, 3)


def test_standardized():
    sizes = [3, 4, 2]
    X = drawn(1, sizes)
    Z = indicators(X, sizes)
    P = Z / Z.sum()
    expected = np.outer(P.sum(axis=1), P.sum(axis=0))
    S = (P - expected) / np.sqrt(expected)
    masses, A = standardized(burt_table(coding_of(sizes), X))
    np.testing.assert_allclose(A, S.T @ S, atol=1e-14)
    np.testing.assert_allclose(masses, P.sum(axis=0))


def test_two_columns_have_the_inertias_of_their_cross_table():
    ca = np.array([0.4, 0.1])
    indicators = np.concatenate([(1 + np.sqrt(ca)) / 2, (1 - np.sqrt(ca)) / 2])
    np.testing.assert_allclose(benzecri(indicators, 2), [*ca, 0, 0])
    n_levels = len(indicators) + 2
    assert greenacre_total(float((indicators**2).sum()), n_levels, 2) == pytest.approx(ca.sum())


CODING = Coding((0, 1), (np.array([0.0, 1.0]), np.array([5.0, 6.0, 7.0])), (False, False))
G = np.arange(10.0).reshape(5, 2)
NAMES = ("'a'", "'b'")


def points(remedy=None, refuse_missing=False):
    return IndicatorPoints(CODING, G, NAMES, refuse_missing, remedy)


def test_a_row_is_the_mean_of_its_levels():
    X = np.array([[0.0, 7.0], [1.0, 5.0]])
    np.testing.assert_allclose(points()(X), [(G[0] + G[4]) / 2, (G[1] + G[2]) / 2])
    assert points()(X.astype(np.float32)).dtype == np.float32


def test_values_that_are_left_out():
    X = np.array([[0.0, 9.0], [np.nan, 5.0], [np.nan, np.nan]])
    np.testing.assert_allclose(points()(X), [G[0], G[2], [0, 0]])
    with pytest.raises(DataError, match=r"'b' has 1 value .* Do this"):
        points("Do this.")(X)
    marked = points("Do this.", refuse_missing=True)(X)  # missing values are reported first, by the run
    assert np.isnan(marked).all(axis=1).tolist() == [False, True, True]


def test_distances_are_those_of_the_profiles():
    X = np.array([[0.0, 7.0], [1.0, 5.0], [0.0, np.nan], [np.nan, np.nan]])
    masses = np.array([0.3, 0.2, 0.25, 0.05, 0.2])
    Z = np.array([[1, 0, 0, 0, 1], [0, 1, 1, 0, 0], [1, 0, 0, 0, 0]]) / [[2], [2], [1]]
    expected = ((Z - masses) ** 2 / masses).sum(axis=1)
    np.testing.assert_allclose(row_distances(CODING, masses, X), [*expected, 0])


LEVELS = Coding((1,), (np.array([0.0, 1.0, 2.0]),), (False,))
rng = np.random.default_rng(0)
MIXED = np.stack([rng.standard_normal(40) + 100, rng.integers(0, 3, 40), rng.exponential(size=40)], axis=1)
EXPANDED = Expanded((0, 2), LEVELS, ("a", "b", "c"))
Y = np.column_stack([MIXED[:, [0, 2]], MIXED[:, [1]] == np.arange(3)])


def test_expanded():
    np.testing.assert_array_equal(EXPANDED(MIXED), Y)
    bad = MIXED.copy()
    bad[3, 1] = np.nan
    assert np.isnan(EXPANDED(bad)[3]).all()


@pytest.mark.parametrize("size", [1, 300, 2**20])
def test_blocks_merge_to_the_moments_of_the_whole(size, monkeypatch):
    monkeypatch.setattr(categories, "_BLOCK_BYTES", size)
    found, expected = EXPANDED.moments(MIXED), Moments.of(Y)
    np.testing.assert_allclose(found.mean, expected.mean)
    np.testing.assert_allclose(found.scatter, expected.scatter, atol=1e-10)
    assert found.rows == 40
    A = rng.standard_normal((5, 2))
    points = MixedPoints(EXPANDED, Y.mean(axis=0), A)
    np.testing.assert_allclose(points(MIXED), (Y - Y.mean(axis=0)) @ A, atol=1e-10)
    scale = np.arange(1.0, 6.0)
    squares = (((Y - Y.mean(axis=0)) / scale) ** 2).sum(axis=1)
    np.testing.assert_allclose(points.squared_norms(MIXED, scale), squares)


def test_a_category_that_is_no_level_lies_at_the_mean():
    row = MIXED[:1].copy()
    row[0, 1] = 9.0
    Z = MixedPoints(EXPANDED, Y.mean(axis=0), np.eye(5))(row)
    np.testing.assert_allclose(Z[0, 2:], 0)


N = np.random.default_rng(0).poisson(2, (20, 6)).astype(float)
N[3] = 0


def test_margins_merge():
    whole, parts = Margins.of(N), Margins.of(N[:7]) + Margins.of(N[7:])
    np.testing.assert_allclose(parts.row_sums, whole.row_sums)
    np.testing.assert_allclose(parts.column_sums, N.sum(axis=0))
    assert parts.total == N.sum()
    assert (parts.smallest, Margins.of(-N).smallest) == (0, -N.max())
    bad = N.copy()
    bad[0, 0] = np.nan
    assert not Margins.of(bad).is_finite()


def library(kind):
    return scipy.sparse.csr_array if kind == "sparse" else pytest.importorskip(kind).asarray


@pytest.mark.parametrize("kind", ["sparse", "torch", "array_api_strict"])
def test_other_libraries_agree(kind):
    X, masses = library(kind)(N), N.sum(axis=0) / N.sum()
    np.testing.assert_allclose(row_sums_of(X), N.sum(axis=1))
    np.testing.assert_allclose(Margins.of(X).column_sums, N.sum(axis=0))
    points = ProfilePoints(masses, np.eye(6)[:, :2] - masses[:2])
    for f in (partial(scaled_profiles, np.sqrt(masses)), points, partial(profile_distances, masses)):
        got = f(X)
        got = got.toarray() if scipy.sparse.issparse(got) else np.asarray(got)
        np.testing.assert_allclose(got, f(N), atol=1e-12)


def test_weighted_moments_of_profiles_are_the_squared_residuals():
    P = N / N.sum()
    r, c = P.sum(axis=1), P.sum(axis=0)
    expected = np.outer(r, c)
    S = np.divide(P - expected, np.sqrt(expected), out=np.zeros_like(P), where=expected > 0)
    rows = profile_rows(open_rows(N), c)
    moments = Moments.of(rows.to_array(), r * 20)
    np.testing.assert_allclose(moments.scatter / moments.n, S.T @ S, atol=1e-14)


def test_distances_to_the_centroid():
    masses = N.sum(axis=0) / N.sum()
    profile = N[0] / N[0].sum()
    expected = ((profile - masses) ** 2 / masses).sum()
    found = profile_distances(masses, N)
    assert found[0] == pytest.approx(expected)
    assert found[3] == 0  # a row of zeros has no profile


def test_decompositions():
    F = np.array([[1.0, 2.0], [-1.0, 0.0], [0.0, -2.0]])
    masses = np.array([0.5, 0.25, 0.25])
    eigenvalues = masses @ F**2
    points = map_points(None, masses, F, eigenvalues, (F**2).sum(axis=1))
    np.testing.assert_allclose(points.contributions.sum(axis=0), 1)
    np.testing.assert_allclose(points.cos2.sum(axis=1), 1)
    np.testing.assert_allclose(points.inertias.sum(), eigenvalues.sum())
    np.testing.assert_allclose(masses @ points.standard_coordinates**2, 1)
    assert len(points) == 3


def test_an_axis_without_inertia_and_a_point_at_the_centroid():
    points = map_points(None, np.ones(2) / 2, np.zeros((2, 1)), np.zeros(1), np.zeros(2))
    for values in (points.contributions, points.cos2, points.standard_coordinates, points.inertias):
        assert not values.any()


def test_v_tests_are_standardized_under_chance():
    """Means of rows drawn without replacement: their v-tests have variance 1."""
    rng = np.random.default_rng(0)
    n, m = 60, 12
    z = rng.standard_normal(n)
    z = (z - z.mean()) / z.std()
    means = np.array([z[rng.permutation(n)[:m]].mean() for _ in range(20_000)])
    tests = v_tests(means[:, None], np.full(len(means), float(m)), n)
    assert abs(tests.std() - 1) < 0.02
    assert not v_tests(np.ones((1, 1)), np.array([60.0]), n).any()  # every row has this level

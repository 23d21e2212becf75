"""Paths of the lasso, their data, and stability selection."""

from functools import partial

import numpy as np
import pytest
from sklearn.model_selection import KFold, RepeatedKFold, ShuffleSplit

from lowland.data.open import open_rows
from lowland.errors import DataError, ParameterError
from lowland.math.selection.lasso import Solution, SquaredLoss
from lowland.math.selection.lasso_path import (
    LassoPath,
    Layout,
    MomentsSample,
    RowsSample,
    entrants_allowed,
    error_bound,
    fill_support,
    first_to_enter,
    grid_of,
    lasso_path,
    moments_by_group,
    sample_of,
)
from lowland.math.statistics.labels import Target
from lowland.math.statistics.moments import Moments
from lowland.run.run import Run

from .cases import lasso_table

TIGHT = 1e-12


def test_uncorrelated_columns_by_hand():
    """Where G is the identity every coefficient is its correlation, shrunk by the penalty to zero at most."""
    path = lasso_path(np.eye(3), np.array([0.8, -0.5, 0.1]), [0.6, 0.2, 0.05])
    np.testing.assert_allclose(path.coef[:, 0], [[0.2, 0, 0], [0.6, -0.3, 0], [0.75, -0.45, 0.05]], atol=1e-12)
    assert path.entry_alphas.tolist() == [0.6, 0.2, 0.05]
    assert [(move.action, move.feature) for move in path.moves()] == [("add", 0), ("add", 1), ("add", 2)]
    assert path.outcome(1e-9).converged
    assert path.outcome(1e-9).iterations == sum(each.steps for each in path.solutions)


def test_a_path_records_entries_and_removals():
    def at(alpha, coef, loss):
        return Solution(alpha, np.array([coef]), np.zeros(1), np.zeros((1, 3)), loss, 0.0, 1)

    path = LassoPath((at(3.0, [0, 1, 0], 0.5), at(2.0, [1, 0, 2], 0.25), at(1.0, [1, 0, 2], 0.125)), 1.0)
    moves = [(move.action, move.feature, move.score, move.features) for move in path.moves()]
    assert moves == [("add", 1, 0.5, (1,)), ("remove", 1, 0.75, ()), ("add", 2, 0.75, (2,)), ("add", 0, 0.75, (0, 2))]
    assert path.entry_alphas.tolist() == [2.0, 3.0, 2.0]
    assert path.outcome(1e-9).iterations == 3


def test_columns_enter_one_by_one_between_the_penalties_of_a_coarse_grid():
    X, y = lasso_table(200, 6, shared=0.0)
    problem = SquaredLoss.of_rows(X, y)
    order, _ = first_to_enter(problem, grid_of(500, problem.alpha_max, 1e-4), 6, TIGHT, 10_000)
    for k in range(1, 7):
        coarse, found = first_to_enter(problem, grid_of(3, problem.alpha_max, 1e-4), k, TIGHT, 10_000)
        assert coarse == order[:k]
        assert found.support.sum() <= k
    assert order[:3] == [0, 1, 2]
    assert sorted(order) == list(range(6))


def test_the_grid_of_penalties_is_sorted_and_checked():
    np.testing.assert_allclose(grid_of(3, 4.0, 0.25), [4.0, 2.0, 1.0])
    np.testing.assert_allclose(grid_of([1.0, 3.0], 4.0, 0.25), [3.0, 1.0])
    np.testing.assert_allclose(grid_of([2.0, 6.0], 4.0, 0.25, unit=2.0), [3.0, 1.0])
    for bad in ([], [0.0], [np.nan], [[1.0]]):
        with pytest.raises(ParameterError, match=r"must be .*positive"):
            grid_of(bad, 4.0, 0.25)
    with pytest.raises(ParameterError, match=r"number of penalties.*positive"):
        grid_of("abc", 4.0, 0.25)
    with pytest.raises(DataError, match=r"covariance .* is zero"):
        grid_of(3, 0.0, 0.25)


def test_if_too_few_columns_enter_the_next_ones_are_added():
    support, missing = fill_support([3], np.array([0.1, 0.5, 0.2, 9.0]), 3)
    assert support.tolist() == [False, True, True, True]
    assert missing == 2


def test_regression_needs_only_moments_and_classification_or_wide_tables_need_rows():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((30, 4)), rng.standard_normal(30)
    layout = Layout.of_folds([(np.arange(15), np.arange(15, 30))], 30)

    def sample(X, y, kind):
        target = Target.of(y, kind).standardized()
        return sample_of(open_rows(X), Run(), target, lambda parts: layout, standardize=True)

    assert isinstance(sample(X, y, "numbers"), MomentsSample)
    assert isinstance(sample(X, np.arange(30) % 2, "classes"), RowsSample)
    assert isinstance(sample(rng.standard_normal((30, 40)), y, "numbers"), RowsSample)


def test_the_bound_by_hand():
    """q²/((2π - 1) d): 10 of 100 columns at a threshold of 3/4 give 2; to expect one, sqrt(50) = 7 may be chosen."""
    assert error_bound(100, 0.75, 10) == pytest.approx(2)
    assert entrants_allowed(100, 0.75, 2.0) == 10
    assert entrants_allowed(100, 0.75, 1.0) == 7
    assert entrants_allowed(3, 0.75, 0.01) == 1


# --- groups of rows: any union of groups has the moments of its rows ---


@pytest.mark.parametrize("cv", [KFold(4), RepeatedKFold(n_splits=3, n_repeats=2)])
def test_every_training_set_has_the_moments_of_its_rows(cv):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((50, 3)) + 1e5, rng.standard_normal(50)
    folds = list(cv.split(X))
    layout = Layout.of_folds(folds, 50)
    by_group = partial(moments_by_group, groups=layout.groups)
    whole = by_group(X, y, layout.group)
    merged = by_group(X[:7], y[:7], layout.group[:7]) + by_group(X[7:], y[7:], layout.group[7:])
    for made, rows in zip(layout.splits, folds, strict=True):
        for parts, mine in zip(made, rows, strict=True):
            np.testing.assert_array_equal(layout.rows(parts), np.sort(mine))
            direct = Moments.of(np.column_stack([X, y])[mine])
            for moments in (whole.of(parts), merged.of(parts)):
                assert moments.n == len(mine)
                np.testing.assert_allclose(moments.mean, direct.mean, rtol=1e-12)
                np.testing.assert_allclose(moments.scatter, direct.scatter, atol=1e-8)
    assert not by_group(np.full((2, 3), np.nan), y[:2], layout.group[:2]).is_finite()


def test_disjoint_folds_need_one_group_each_and_overlapping_ones_several():
    assert Layout.of_folds(list(KFold(5).split(np.zeros(20))), 20).groups == 5
    folds = list(ShuffleSplit(20, random_state=0).split(np.zeros(500)))
    assert 64 < Layout.of_folds(folds, 500).groups <= 500


@pytest.mark.parametrize("fold", [([0, 0, 1], [2]), ([0, 1], [2, 2]), ([0, 1], [1, 2])])
def test_folds_that_contain_a_row_twice_are_refused(fold):
    with pytest.raises(ParameterError, match=r"cv.*row twice.*once per fold"):
        Layout.of_folds([tuple(np.array(rows) for rows in fold)], 4)


@pytest.mark.parametrize(("n", "parts"), [(100, 16), (7, 16)])
def test_random_halves_have_half_of_the_rows(n, parts):
    layout = Layout.of_halves(n, 200, parts, np.random.default_rng(0))
    counts = np.zeros(n)
    for one, other in layout.splits:
        first, second = layout.rows(one), layout.rows(other)
        assert not np.intersect1d(first, second).size
        assert abs(len(first) - len(second)) <= 8
        counts[first] += 1
    assert np.abs(counts / 200 - 0.5).max() < 0.2

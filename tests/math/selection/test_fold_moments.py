"""Moments of groups of rows: any union of groups has the moments of its rows."""

from functools import partial

import numpy as np
import pytest
from sklearn.model_selection import KFold, RepeatedKFold, ShuffleSplit

from lowland.errors import ParameterError
from lowland.math.selection.lasso_path import Layout, moments_by_group
from lowland.math.statistics.moments import Moments


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

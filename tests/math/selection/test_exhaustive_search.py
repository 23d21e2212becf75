"""Exhaustive searches against brute force, and the best subset of a correlation matrix by hand."""

import itertools

import numpy as np
import pytest
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from lowland.errors import ParameterError
from lowland.math.selection.exhaustive_search import best_subset, branch_and_bound, every_subset, exhaustive
from lowland.math.selection.scorers import model_of
from lowland.math.selection.subset_scores import Tally
from lowland.math.selection.wilks import Wilks

from .cases import Table, by, rows


def test_exhaustive_search_stops_where_the_gain_is_below_tol():
    scores = Table(4, lambda S: [0, 1.0, 1.5, 1.6, 1.9][len(S)] + 0.001 * min(S))
    assert [len(m.features) for m in exhaustive(scores, 4, least_gain=0.3)] == [1, 2]


@pytest.mark.parametrize("classes", [None, 3])
@pytest.mark.parametrize("seed", range(4))
def test_branch_and_bound_agrees_with_brute_force(classes, seed):
    X, y = rows(50, 9, seed, classes)
    criterion = Wilks.of(X, y, classes, Tally())
    for k in (1, 3, 6, 8, 9):
        values = {S: criterion.value(S) for S in itertools.combinations(range(9), k)}
        *_, found = branch_and_bound(criterion, k)
        assert found.features == max(values, key=values.__getitem__)
        assert found.score == pytest.approx(max(values.values()), rel=1e-12)


def test_branch_and_bound_evaluates_few_subsets():
    X, y = rows(300, 20, 1)
    criterion = Wilks.of(X, y, None, Tally())
    assert list(branch_and_bound(criterion, 6))
    assert criterion.tally.n < 38760 / 10  # of all subsets of 6 of 20 columns
    *_, slow = every_subset(Wilks.of(X[:, :12], y, None, Tally()), 3)
    *_, fast = branch_and_bound(Wilks.of(X[:, :12], y, None, Tally()), 3)
    assert slow.features == fast.features


@pytest.mark.parametrize("apart", [2e-5, 1e-6, 1e-7])
def test_columns_whose_small_difference_is_the_signal(apart):
    rng = np.random.default_rng(0)
    x, z = rng.standard_normal((2, 100))
    X, y = np.column_stack([x, x + apart * z, rng.standard_normal(100)]), z + 0.01 * rng.standard_normal(100)
    for scoring in (None, "wilks"):
        *_, found = exhaustive(by(model_of("linear", y, for_numbers=""), X, y, scoring=scoring), 2)
        assert found.features == (0, 1)
        assert found.score > 0.999
        scores = by(model_of("linear", y, for_numbers=""), X, y, scoring=scoring)
        assert scores.with_each((0,), np.array([1, 2]))[0] > 0.999
    assert by(LinearDiscriminantAnalysis(), X, (z > 0) + 0, scoring="wilks").value((0, 1)) > 0.5


def test_an_exhaustive_search_over_too_many_subsets_is_refused():
    scores = Table(60, lambda S: float(len(S)))
    path = exhaustive(scores, 60, least_gain=0.1)
    assert [len(next(path).features) for _ in range(2)] == [1, 2]
    with pytest.raises(ParameterError, match="5,461,512 subsets of 5 of the 60"):
        list(exhaustive(scores, 5))


def test_the_best_pair_of_three_by_hand():
    """Columns 0 and 1 are nearly equal: each alone is best, together they explain little more than either."""
    R = np.array([[1.0, 0.8, 0.0], [0.8, 1.0, 0.0], [0.0, 0.0, 1.0]])
    r = np.array([0.7, 0.7, 0.5])
    best = best_subset(R, r, 2)
    assert best.features == (0, 2)
    assert best.score == pytest.approx(0.49 + 0.25)
    assert best_subset(R, r, 1).score == pytest.approx(0.49)
    assert best_subset(R, r, 3).score == pytest.approx(2 * 0.49 / 1.8 + 0.25)
    assert best_subset(9 * R, 6 * r, 2, y_squares=4.0).score == pytest.approx(0.74)  # covariances in other units

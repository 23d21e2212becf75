"""Paths of the lasso: by hand from a Gram matrix, which columns enter between penalties, and what a path records."""

import numpy as np
import pytest

from lowland.errors import DataError, ParameterError
from lowland.math.selection.lasso import Solution, SquaresOfRows
from lowland.math.selection.lasso_path import LassoPath, fill_support, first_to_enter, grid_of, lasso_path

TIGHT = 1e-12


def table(n=60, d=8, seed=0, shared=0.5):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) + shared * rng.standard_normal((n, 1))
    return X, X[:, :3] @ [2.0, -1.0, 0.5] + rng.standard_normal(n)


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
    X, y = table(200, 6, shared=0.0)
    problem = SquaresOfRows.of(X, y)
    fine = [first_to_enter(problem, grid_of(500, problem.alpha_max, 1e-4), k, TIGHT, 10_000)[0] for k in range(1, 7)]
    for k, order in enumerate(fine, 1):
        coarse, found = first_to_enter(problem, grid_of(3, problem.alpha_max, 1e-4), k, TIGHT, 10_000)
        assert coarse == order
        assert found.support.sum() <= k
    assert fine[2] == [0, 1, 2]
    assert sorted(fine[5]) == list(range(6))


def test_the_grid_of_penalties_is_sorted_and_checked():
    np.testing.assert_allclose(grid_of(3, 4.0, 0.25), [4.0, 2.0, 1.0])
    np.testing.assert_allclose(grid_of([1.0, 3.0], 4.0, 0.25), [3.0, 1.0])
    for bad in ([], [0.0], [np.nan], [[1.0]]):
        with pytest.raises(ParameterError, match=r"must be .*positive"):
            grid_of(bad, 4.0, 0.25)
    with pytest.raises(DataError, match=r"covariance .* is zero"):
        grid_of(3, 0.0, 0.25)


def test_penalties_given_in_another_unit():
    np.testing.assert_allclose(grid_of([2.0, 6.0], 4.0, 0.25, unit=2.0), [3.0, 1.0])
    with pytest.raises(ParameterError, match=r"number of penalties.*positive"):
        grid_of("abc", 4.0, 0.25)


def test_if_too_few_columns_enter_the_next_ones_are_added():
    support, missing = fill_support([3], np.array([0.1, 0.5, 0.2, 9.0]), 3)
    assert support.tolist() == [False, True, True, True]
    assert missing == 2

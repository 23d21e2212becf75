"""The lasso at one penalty, against the conditions of an optimum and against scikit-learn."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import lasso_path

from lowland.math.selection.lasso import SquaresOfMoments, SquaresOfRows
from lowland.math.selection.lasso_path import grid_of, path_of
from lowland.math.statistics.moments import Moments

TIGHT = 1e-12


def table(n=60, d=8, seed=0, shared=0.5):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) + shared * rng.standard_normal((n, 1))
    return X, X[:, :3] @ [2.0, -1.0, 0.5] + rng.standard_normal(n)


def assert_optimal(problem, found, within=1e-6):
    """|gradient| is at most α, and equal to it, with the sign of the coefficient, where that is not zero."""
    g, B, alpha = found.gradient, found.coef, found.alpha
    assert np.abs(g).max() <= alpha * (1 + within)
    np.testing.assert_allclose(g[B != 0], alpha * np.sign(B[B != 0]), rtol=within)


def both(X, y):
    joined = Moments.of(np.column_stack([X, y]))
    return SquaresOfMoments.of(joined, np.ones(X.shape[1])), SquaresOfRows.of(X, y)


@pytest.mark.parametrize(("n", "d"), [(60, 8), (30, 50)])
def test_the_path_agrees_with_scikit_learn_from_moments_and_from_rows(n, d):
    X, y = table(n, d)
    for problem in both(X, y):
        alphas = grid_of(20, problem.alpha_max, 1e-2)
        found = list(path_of(problem, alphas, TIGHT, 100_000).solutions)
        _, theirs, _ = lasso_path(X - X.mean(0), y - y.mean(), alphas=alphas, tol=1e-14, max_iter=10**6)
        np.testing.assert_allclose(np.stack([each.coef[0] for each in found]), theirs.T, atol=1e-6)
        assert max(each.gap for each in found) <= TIGHT
        losses = [np.mean((y - y.mean() - (X - X.mean(0)) @ each.coef[0]) ** 2) / 2 for each in found]
        np.testing.assert_allclose([each.loss for each in found], losses, atol=1e-10)


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**6), n=st.integers(3, 40), d=st.integers(1, 30), shared=st.floats(0, 5))
def test_every_solution_satisfies_the_optimality_conditions(seed, n, d, shared):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) + shared * rng.standard_normal((n, 1))
    y = X[:, 0] + rng.standard_normal(n)
    for problem in both(X, y):
        assert not problem.at(problem.alpha_max, problem.start(), TIGHT, 1000).support.any()
        for found in path_of(problem, grid_of(8, problem.alpha_max, 0.05), TIGHT, 100_000).solutions:
            assert found.gap <= TIGHT
            assert_optimal(problem, found, 1e-4)


def test_of_equal_columns_the_first_is_selected():
    X, y = table()
    problem = SquaresOfMoments.of(Moments.of(np.column_stack([X, X, y])), np.ones(16))
    alone = SquaresOfMoments.of(Moments.of(np.column_stack([X, y])), np.ones(8))
    for alpha in (1.0, 0.1, 0.01):
        twice, once = (p.at(alpha, p.start(), TIGHT, 10_000) for p in (problem, alone))
        assert not twice.support[8:].any()
        np.testing.assert_allclose(twice.coef[:, :8], once.coef, atol=1e-8)


def test_a_column_of_scale_zero_never_enters():
    X, y = table()
    scale = np.ones(8)
    scale[0] = 0.0
    problem = SquaresOfMoments.of(Moments.of(np.column_stack([X, y])), scale)
    assert not any(
        found.support[0] for found in path_of(problem, grid_of(10, problem.alpha_max, 1e-3), TIGHT, 10_000).solutions
    )

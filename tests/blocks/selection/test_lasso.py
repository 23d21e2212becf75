"""Sparse linear models at one penalty, against the conditions of an optimum and against other solvers."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression, lasso_path

from lowland.blocks.selection.lasso import LogLoss, SquaresOfMoments, SquaresOfRows, _without_shift
from lowland.blocks.selection.lasso_path import first_to_enter, follow, grid_of
from lowland.blocks.statistics.moments import Moments
from lowland.errors import DataError, ParameterError
from lowland.kernels.coordinate_descent import descend

TIGHT = 1e-12


def table(n=60, d=8, seed=0, shared=0.5):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) + shared * rng.standard_normal((n, 1))
    return X, X[:, :3] @ [2.0, -1.0, 0.5] + rng.standard_normal(n)


def descend_in_numpy(G, q, beta, alpha, sweeps):
    """The same turns over the coordinates, a line each."""
    beta = beta.copy()
    for _ in range(sweeps):
        for j in range(len(q)):
            goal = q[j] - G[j] @ beta + G[j, j] * beta[j]
            beta[j] = np.sign(goal) * max(abs(goal) - alpha, 0) / G[j, j]
    return beta


def assert_optimal(problem, found, within=1e-6):
    """|gradient| is at most α, and equal to it, with the sign of the coefficient, where that is not zero."""
    g, B, alpha = found.gradient, found.coef, found.alpha
    assert np.abs(g).max() <= alpha * (1 + within)
    np.testing.assert_allclose(g[B != 0], alpha * np.sign(B[B != 0]), rtol=within)


# --- the kernel


def test_the_kernel_takes_the_turns_of_its_twin():
    X, y = table()
    G, q = X.T @ X / 60, X.T @ y / 60
    for sweeps in (1, 2, 7):
        beta, g = np.zeros(8), q.copy()
        made, _ = descend(G, q, g, beta, 0.3, 0.0, y @ y / 60, -np.inf, sweeps)
        assert made == sweeps
        np.testing.assert_allclose(beta, descend_in_numpy(G, q, np.zeros(8), 0.3, sweeps), atol=1e-12)
        np.testing.assert_allclose(g, q - G @ beta, atol=1e-12)


def test_the_gap_bounds_how_far_the_objective_is_from_its_least():
    X, y = table()
    G, q, power = X.T @ X / 60, X.T @ y / 60, y @ y / 60

    def objective(beta):
        return power / 2 - q @ beta + beta @ G @ beta / 2 + 0.3 * np.abs(beta).sum()

    best = objective(descend_in_numpy(G, q, np.zeros(8), 0.3, 5000))
    for sweeps in range(6):
        beta, g = np.zeros(8), q.copy()
        _, gap = descend(G, q, g, beta, 0.3, 0.0, power, -np.inf, sweeps)
        assert gap >= objective(beta) - best - 1e-12
    assert gap < 0.01
    made, gap = descend(G, q, g, beta, 0.3, 0.0, power, 1e-10, 10_000)
    assert gap <= 1e-10
    assert made < 1000


# --- least squares


def both(X, y):
    joined = Moments.of(np.column_stack([X, y]))
    return SquaresOfMoments.of(joined, np.ones(X.shape[1])), SquaresOfRows.of(X, y)


@pytest.mark.parametrize(("n", "d"), [(60, 8), (30, 50)])
def test_the_path_is_scikit_learns_from_moments_and_from_rows(n, d):
    X, y = table(n, d)
    for problem in both(X, y):
        alphas = grid_of(20, problem.alpha_max, 1e-2)
        found = list(follow(problem, alphas, TIGHT, 100_000))
        _, theirs, _ = lasso_path(X - X.mean(0), y - y.mean(), alphas=alphas, tol=1e-14, max_iter=10**6)
        np.testing.assert_allclose(np.stack([each.coef[0] for each in found]), theirs.T, atol=1e-6)
        assert max(each.gap for each in found) <= TIGHT
        losses = [np.mean((y - y.mean() - (X - X.mean(0)) @ each.coef[0]) ** 2) / 2 for each in found]
        np.testing.assert_allclose([each.loss for each in found], losses, atol=1e-10)


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**6), n=st.integers(3, 40), d=st.integers(1, 30), shared=st.floats(0, 5))
def test_every_solution_meets_the_conditions_of_an_optimum(seed, n, d, shared):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) + shared * rng.standard_normal((n, 1))
    y = X[:, 0] + rng.standard_normal(n)
    for problem in both(X, y):
        assert not problem.at(problem.alpha_max, problem.start(), TIGHT, 1000).support.any()
        for found in follow(problem, grid_of(8, problem.alpha_max, 0.05), TIGHT, 100_000):
            assert found.gap <= TIGHT
            assert_optimal(problem, found, 1e-4)


def test_of_equal_columns_the_first_takes_all():
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
    assert not any(found.support[0] for found in follow(problem, grid_of(10, problem.alpha_max, 1e-3), TIGHT, 10_000))


# --- logistic


def classes(C, n=150, d=6, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % C
    return rng.standard_normal((n, d)) + 0.8 * rng.standard_normal((C, d))[y], y


@pytest.mark.parametrize("C", [2, 3, 4])
def test_logistic_coefficients_are_scikit_learns(C):
    Z, y = classes(C)
    problem = LogLoss.of(Z, y)
    alphas = problem.alpha_max * np.array([1.0, 0.5, 0.2, 0.05])
    for found in list(follow(problem, alphas, 1e-11, 200))[1:]:
        theirs = LogisticRegression(l1_ratio=1, solver="saga", C=1 / (len(y) * found.alpha), tol=1e-8, max_iter=10**5)
        theirs.fit(Z, y)
        coef = _without_shift(theirs.coef_, theirs.intercept_)[0]  # of several equally good models, the same one
        np.testing.assert_allclose(np.abs(coef).sum(), np.abs(theirs.coef_).sum())
        np.testing.assert_allclose(found.coef, coef, atol=2e-5)
        np.testing.assert_allclose(
            found.intercept, theirs.intercept_ - (theirs.intercept_.mean() if C > 2 else 0), atol=2e-5
        )
        assert found.gap <= 1e-11
        assert found.steps < 15


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10**6), C=st.integers(2, 4), d=st.integers(1, 40))
def test_every_logistic_solution_meets_the_conditions_of_an_optimum(seed, C, d):
    Z, y = classes(C, 30, d, seed)
    problem = LogLoss.of(Z, y)
    assert not problem.at(problem.alpha_max, problem.start(), 1e-10, 100).support.any()
    for found in follow(problem, grid_of(6, problem.alpha_max, 0.05), 1e-10, 300):
        assert found.gap <= 1e-10
        assert_optimal(problem, found, 1e-3)


def test_classes_that_a_line_parts_are_still_solved():
    Z = np.linspace(-1, 1, 40)[:, None]
    problem = LogLoss.of(Z, (Z[:, 0] > 0).astype(int))
    *_, last = follow(problem, grid_of(50, problem.alpha_max, 1e-4), 1e-9, 200)
    assert last.gap <= 1e-9
    assert last.loss < 0.01


# --- who enters


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


def test_penalties_make_sense():
    np.testing.assert_allclose(grid_of(3, 4.0, 0.25), [4.0, 2.0, 1.0])
    np.testing.assert_allclose(grid_of([1.0, 3.0], 4.0, 0.25), [3.0, 1.0])
    for bad in ([], [0.0], [np.nan], [[1.0]]):
        with pytest.raises(ParameterError, match="above zero"):
            grid_of(bad, 4.0, 0.25)
    with pytest.raises(DataError, match="covariance is zero"):
        grid_of(3, 0.0, 0.25)

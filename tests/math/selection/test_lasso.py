"""The lasso and its logistic form at one penalty, against the conditions of an optimum and scikit-learn."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression, lasso_path

from lowland.math.selection.lasso import LogLoss, SquaredLoss, _minimum, without_shift
from lowland.math.selection.lasso_path import grid_of, path_of
from lowland.math.statistics.moments import Moments

from .cases import lasso_table

TIGHT = 1e-10


def assert_optimal(problem, found, within=1e-6):
    """|gradient| is at most α, and equal to it, with the sign of the coefficient, where that is not zero."""
    g, B, alpha = found.gradient, found.coef, found.alpha
    assert np.abs(g).max() <= alpha * (1 + within)
    np.testing.assert_allclose(g[B != 0], alpha * np.sign(B[B != 0]), rtol=within)


def both(X, y):
    joined = Moments.of(np.column_stack([X, y]))
    return SquaredLoss.of_moments(joined, np.ones(X.shape[1])), SquaredLoss.of_rows(X, y)


@pytest.mark.parametrize(("n", "d"), [(60, 8), (30, 50)])
def test_the_path_agrees_with_scikit_learn_from_moments_and_from_rows(n, d):
    X, y = lasso_table(n, d)
    for problem in both(X, y):
        alphas = grid_of(20, problem.alpha_max, 1e-2)
        found = list(path_of(problem, alphas, TIGHT, 100_000).solutions)
        _, theirs, _ = lasso_path(X - X.mean(0), y - y.mean(), alphas=alphas, tol=1e-14, max_iter=10**6)
        np.testing.assert_allclose(np.stack([each.coef[0] for each in found]), theirs.T, atol=1e-6)
        assert max(each.gap for each in found) <= TIGHT
        losses = [np.mean((y - y.mean() - (X - X.mean(0)) @ each.coef[0]) ** 2) / 2 for each in found]
        np.testing.assert_allclose([each.loss for each in found], losses, atol=1e-10)


@settings(max_examples=12, deadline=None)
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


def test_correlated_columns_are_solved_exactly():
    """Coordinate descent would take thousands of sweeps."""
    G = np.full((4, 4), 0.9999) + 0.0001 * np.eye(4)
    q = G @ [0.3, 0.2, 0.1, 0.1] + 0.01
    found = path_of(SquaredLoss.of_covariances(G, q, 1.0), np.array([0.01]), TIGHT, 100).solutions[0]
    np.testing.assert_allclose(found.coef[0], [0.3, 0.2, 0.1, 0.1], atol=1e-7)


@pytest.mark.parametrize("times", [1.0, 0.5, -1.0, -2.0])
def test_of_collinear_columns_the_largest_is_selected(times):
    G = np.array([[1.0, times], [times, times**2]])
    problem = SquaredLoss.of_covariances(G, np.array([0.8, 0.8 * times]), 1.0)
    for alpha in (0.1, 1e-9):
        found = problem.at(alpha, problem.start(), TIGHT, 100)
        goal = [0.8 - alpha, 0.0] if abs(times) <= 1 else [0.0, (0.8 * times + alpha) / times**2]
        np.testing.assert_allclose(found.coef[0], goal, atol=1e-10)
        assert found.support.sum() == 1


def test_columns_that_enter_at_the_same_penalty_enter_in_order():
    found = path_of(SquaredLoss.of_covariances(np.eye(5), np.full(5, 0.4), 1.0), np.array([0.3, 0.1]), TIGHT, 100)
    np.testing.assert_allclose(found.coef[:, 0], [[0.1] * 5, [0.3] * 5], atol=1e-9)


def test_the_duality_gap_bounds_the_suboptimality():
    """A path that ends too early returns its last model, and the gap tells how far that is from the minimum."""
    X, y = lasso_table()
    X, y = X - X.mean(0), y - y.mean()

    def after(steps):
        problem = SquaredLoss.of_rows(X, y)
        found = problem.at(0.05, problem.start(), TIGHT, steps)
        objective = np.mean((y - X @ found.coef[0]) ** 2) / 2 + 0.05 * np.abs(found.coef).sum()
        return objective, found.gap * np.mean(y**2) / 2

    best, gap = after(1000)
    assert gap <= TIGHT
    for steps in (1, 2, 3):
        objective, gap = after(steps)
        assert gap >= objective - best > 1e-6


def classes(C, n=150, d=6, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % C
    return rng.standard_normal((n, d)) + 0.8 * rng.standard_normal((C, d))[y], y


@pytest.mark.parametrize("C", [2, 4])
def test_logistic_coefficients_agree_with_scikit_learn(C):
    Z, y = classes(C)
    problem = LogLoss.of(Z, y)
    alphas = problem.alpha_max * np.array([1.0, 0.5, 0.2, 0.05])
    for found in list(path_of(problem, alphas, 1e-11, 200).solutions)[1:]:
        newer = LogisticRegression().get_params()["penalty"] == "deprecated"  # from scikit-learn 1.8 on
        l1 = {"l1_ratio": 1} if newer else {"penalty": "l1"}
        theirs = LogisticRegression(**l1, solver="saga", C=1 / (len(y) * found.alpha), tol=1e-8, max_iter=10**5)
        theirs.fit(Z, y)
        coef = without_shift(theirs.coef_, theirs.intercept_)[0]  # of several equally good models, the same one
        np.testing.assert_allclose(np.abs(coef).sum(), np.abs(theirs.coef_).sum())
        np.testing.assert_allclose(found.coef, coef, atol=2e-5)
        intercept = theirs.intercept_ - (theirs.intercept_.mean() if C > 2 else 0)
        np.testing.assert_allclose(found.intercept, intercept, atol=2e-5)
        assert found.gap <= 1e-11
        assert found.steps < 15


@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 10**6), C=st.integers(2, 4), d=st.integers(1, 40))
def test_every_logistic_solution_satisfies_the_optimality_conditions(seed, C, d):
    Z, y = classes(C, 30, d, seed)
    problem = LogLoss.of(Z, y)
    assert not problem.at(problem.alpha_max, problem.start(), 1e-10, 100).support.any()
    for found in path_of(problem, grid_of(6, problem.alpha_max, 0.05), 1e-10, 300).solutions:
        assert found.gap <= 1e-10
        assert_optimal(problem, found, 1e-3)


def test_linearly_separable_classes_are_solved():
    Z = np.linspace(-1, 1, 40)[:, None]
    problem = LogLoss.of(Z, (Z[:, 0] > 0).astype(int))
    *_, last = path_of(problem, grid_of(50, problem.alpha_max, 1e-4), 1e-9, 200).solutions
    assert last.gap <= 1e-9
    assert last.loss < 0.01


def test_a_newton_step_among_equal_columns():
    found = _minimum(np.ones((2, 2)), np.ones(2), np.zeros(2), 0.25)
    assert found.sum() == pytest.approx(0.75)


def test_of_equally_good_models_the_sparsest_is_chosen():
    coef, b = without_shift(np.array([[1.0], [1.0], [3.0], [0.0]]), np.array([1.0, 2.0, 3.0, 6.0]))
    assert coef[:, 0].tolist() == [0.0, 0.0, 2.0, -1.0]
    assert b.sum() == 0

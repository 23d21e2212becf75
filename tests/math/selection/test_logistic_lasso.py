"""Logistic regression with an L1 penalty, against the conditions of an optimum and against scikit-learn."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression

from lowland.math.selection.lasso_path import grid_of, path_of
from lowland.math.selection.logistic_lasso import LogLoss, log_loss, without_shift


def assert_optimal(problem, found, within=1e-6):
    """|gradient| is at most α, and equal to it, with the sign of the coefficient, where that is not zero."""
    g, B, alpha = found.gradient, found.coef, found.alpha
    assert np.abs(g).max() <= alpha * (1 + within)
    np.testing.assert_allclose(g[B != 0], alpha * np.sign(B[B != 0]), rtol=within)


def classes(C, n=150, d=6, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % C
    return rng.standard_normal((n, d)) + 0.8 * rng.standard_normal((C, d))[y], y


@pytest.mark.parametrize("C", [2, 3, 4])
def test_logistic_coefficients_agree_with_scikit_learn(C):
    Z, y = classes(C)
    problem = LogLoss.of(Z, y)
    alphas = problem.alpha_max * np.array([1.0, 0.5, 0.2, 0.05])
    for found in list(path_of(problem, alphas, 1e-11, 200).solutions)[1:]:
        theirs = LogisticRegression(l1_ratio=1, solver="saga", C=1 / (len(y) * found.alpha), tol=1e-8, max_iter=10**5)
        theirs.fit(Z, y)
        coef = without_shift(theirs.coef_, theirs.intercept_)[0]  # of several equally good models, the same one
        np.testing.assert_allclose(np.abs(coef).sum(), np.abs(theirs.coef_).sum())
        np.testing.assert_allclose(found.coef, coef, atol=2e-5)
        np.testing.assert_allclose(
            found.intercept, theirs.intercept_ - (theirs.intercept_.mean() if C > 2 else 0), atol=2e-5
        )
        assert found.gap <= 1e-11
        assert found.steps < 15


@settings(max_examples=15, deadline=None)
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


def test_losses_by_hand():
    """Logits of zero give each of K classes probability 1/K; a logit of log 3 gives its class 3/4."""
    assert log_loss(np.zeros((2, 3)), np.eye(3)[:2]) == pytest.approx(np.log(3))
    assert log_loss(np.array([[np.log(3.0)]]), np.array([[1.0]])) == pytest.approx(-np.log(0.75))


def test_of_equally_good_models_the_sparsest_is_chosen():
    coef, b = without_shift(np.array([[1.0], [1.0], [3.0], [0.0]]), np.array([1.0, 2.0, 3.0, 6.0]))
    assert coef[:, 0].tolist() == [0.0, 0.0, 2.0, -1.0]
    assert b.sum() == 0

"""Gradient descent: with momentum, and by batches of reduced variance."""

import numpy as np
import pytest

from lowland.math.optimize.gradient_descent import StepSize, descend, descend_by_batches
from lowland.math.optimize.outcome import Divergence
from lowland.run.run import Run

RUN = Run()


class LeastSquares:
    """Half the mean of (y - x'θ)² over rows (x, y)."""

    def __init__(self, A):
        self.A = A

    def __call__(self, theta):
        return float(np.mean((self.A[:, -1:] - self.A[:, :-1] @ theta) ** 2)) / 2

    def gradient(self, theta):
        return self.gradient_of_batch(self.A)(theta)

    def gradient_of_batch(self, Y):
        return lambda theta: Y[:, :-1].T @ (Y[:, :-1] @ theta - Y[:, -1:]) / len(Y)

    def least_curvature(self, theta):
        X = self.A[:, :-1]
        return float(np.linalg.eigvalsh(X.T @ X / len(X))[0])


def problem(seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((60, 3)) * [3, 1, 0.5]
    y = X @ np.array([[1.0], [-2.0], [0.5]]) + 0.1 * rng.standard_normal((60, 1))
    largest = float(np.linalg.eigvalsh(X.T @ X / 60)[-1])
    return LeastSquares(np.hstack([X, y])), np.linalg.lstsq(X, y)[0], largest


def test_the_first_step_on_paper():
    """θ = 0 for y = 2x at x = 1 and 3: the mean of x(0 - y) is -10, so a step of 0.1 gives 1."""
    found = descend(np.zeros((1, 1)), LeastSquares(np.array([[1.0, 2.0], [3.0, 6.0]])), StepSize(0.1, 0.0, 5.0, 1), RUN)
    assert found.theta[0, 0] == pytest.approx(1)
    assert found.outcome.trace == (pytest.approx(10), pytest.approx(2.5))
    assert found.outcome.stopped_because == "the limit of 1 iteration was reached"


def test_momentum_finds_the_least_squares_solution():
    loss, expected, largest = problem()
    found = descend(np.zeros((3, 1)), loss, StepSize(1 / largest, 1e-10, largest, 5000), RUN)
    np.testing.assert_allclose(found.theta, expected, atol=1e-8)
    assert found.outcome.converged
    assert (np.diff(found.outcome.trace) <= 0).all()
    assert found.step == 1 / largest


def test_batches_of_reduced_variance_find_the_same():
    loss, expected, largest = problem()
    rng = np.random.default_rng(1)

    def batches():
        order = rng.permutation(60)
        return (loss.A[order[start : start + 10]] for start in range(0, 60, 10))

    found = descend_by_batches(np.zeros((3, 1)), loss, batches, 10, StepSize(0.1 / largest, 1e-8, largest, 3000), RUN)
    assert found.outcome.converged
    np.testing.assert_allclose(found.theta, expected, atol=1e-6)


def test_a_step_too_long_is_halved_unless_it_is_fixed():
    loss, expected, largest = problem()
    start = np.zeros((3, 1))
    found = descend(start, loss, StepSize(100 / largest, 1e-8, largest, 5000), RUN)
    np.testing.assert_allclose(found.theta, expected, atol=1e-6)
    assert found.step < 100 / largest
    with pytest.raises(Divergence, match="the loss grew from"):
        descend(start, loss, StepSize(100 / largest, 1e-8, largest, 5000, fixed=True), RUN)

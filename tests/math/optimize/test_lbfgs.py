"""Limited-memory BFGS over a safe step."""

import itertools

import numpy as np
import pytest

from lowland.math.optimize.lbfgs import Evaluation, _Memory, safeguarded_lbfgs
from lowland.run.run import Run

RUN = Run()


def test_quasi_newton_minimizes_a_convex_function_monotonically(rng):
    A = np.diag(np.geomspace(1, 1000, 30))

    def bowl(Z):
        return Evaluation(Z, float(np.sum(Z * (A @ Z))) / 2, A @ Z, np.full((30, 1), 1 / 1000), 1.0)

    def quiet(before, after):
        return before.value - after.value < 1e-20

    start = rng.standard_normal((30, 1))
    quick = safeguarded_lbfgs(start, bowl, quiet, max_iter=3000, run=RUN)
    plain = safeguarded_lbfgs(start, bowl, quiet, max_iter=3000, run=RUN, accelerate=False)
    for found in (quick, plain):
        assert (np.diff(found.outcome.trace) <= 0).all()
        assert len(found.outcome.trace) == found.outcome.iterations + 1
    assert quick.outcome.converged
    assert quick.at.value < 1e-15
    assert quick.outcome.iterations < plain.outcome.iterations / 5


def test_newtons_step_is_exact_where_the_preconditioner_is_the_inverse_hessian():
    """f = (x - 3)² / 2 + 2 (y + 1)²: the Hessian is diag(1, 4), and one step leads to (3, -1)."""

    def bowl(Z):
        x, y = Z[:, 0]
        gradient = np.array([[x - 3], [4 * (y + 1)]])
        return Evaluation(Z, (x - 3) ** 2 / 2 + 2 * (y + 1) ** 2, gradient, np.array([[1.0], [0.25]]), 1.0)

    found = safeguarded_lbfgs(np.zeros((2, 1)), bowl, lambda before, after: False, max_iter=20, run=RUN)
    np.testing.assert_allclose(found.at.Z[:, 0], [3, -1])
    assert found.outcome.trace[:2] == (6.5, 0.0)
    assert found.outcome.stopped_because == "no step decreases the objective further"


def test_a_step_too_long_is_halved_until_the_value_falls():
    def bowl(Z):
        return Evaluation(Z, float(Z[0, 0] ** 2) / 2, Z, np.array([[3.0]]), 1.0)

    found = safeguarded_lbfgs(
        np.array([[1.0]]), bowl, lambda before, after: False, max_iter=1, run=RUN, accelerate=False
    )
    assert found.at.Z[0, 0] == pytest.approx(1 - 1.5)  # 1 - 3 would raise it
    assert not found.outcome.converged


def test_the_direction_satisfies_the_secant_equation(rng):
    """The approximate inverse Hessian H maps the last change of the gradient, y, to the last step, s: Hy = s."""
    A = np.diag(np.geomspace(1, 50, 8))
    points = [rng.standard_normal((8, 1)) for _ in range(4)]
    evaluations = [Evaluation(Z, 0.0, A @ Z, np.full((8, 1), 0.1), 1.0) for Z in points]
    memory = _Memory()
    for here, there in itertools.pairwise(evaluations):
        memory.add(here, there)
    s, y = points[3] - points[2], A @ (points[3] - points[2])
    np.testing.assert_allclose(memory.direction(Evaluation(points[3], 0.0, y, np.full((8, 1), 0.1), 1.0)), -s)

"""The M-step of factor analysis: the maximum likelihood model of the moments, in their units."""

import numpy as np

from lowland.math.factors.incomplete_rows import FitFactors
from lowland.math.statistics.moments import Moments
from lowland.run.local import LocalRun


def test_the_m_step_recovers_an_exact_model():
    rng = np.random.default_rng(0)
    W, psi = rng.standard_normal((6, 1)) * np.array([[1.0], [10], [1], [1], [1], [0.1]]), rng.uniform(0.5, 1, 6)
    S = W @ W.T + np.diag(psi)
    fit = FitFactors(1, 1e-6, 1000, LocalRun())
    moments = Moments(1000.0, 1000, np.zeros(6), S * 1000, 1e-30)
    for _ in range(2):  # the second fit starts from the first
        model = fit(moments)
        np.testing.assert_allclose((np.eye(6) + model.L @ model.L.T) * np.outer(model.unit, model.unit), S, atol=1e-5)


def test_a_constant_column_has_no_loading():
    X = np.random.default_rng(0).standard_normal((50, 4)).cumsum(axis=1)
    X[:, 2] = 3.0
    model = FitFactors(1, 1e-6, 1000, LocalRun())(Moments.of(X))
    assert model.L[2, 0] == 0
    assert np.isfinite(model.L).all()

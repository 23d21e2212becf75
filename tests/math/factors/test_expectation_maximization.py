"""EM algorithm: the deviance decreases, and the likelihood equations hold at its end."""

import numpy as np

from lowland.math.factors.expectation_maximization import by_em, canonical
from lowland.math.factors.uniqueness_search import by_uniquenesses
from lowland.math.factors.wide_tables import Root
from lowland.run.local import LocalRun

X = np.random.default_rng(0).standard_normal((200, 2)) @ np.random.default_rng(1).standard_normal((2, 6))
R = np.corrcoef((X + np.random.default_rng(2).standard_normal((200, 6))).T)


def test_em_converges_to_the_solution_of_newtons_method():
    psi = np.full(6, 0.5)
    found = by_em(Root(R), 2, psi, 1e-6, 1e-12, 20_000, LocalRun())
    assert found.outcome.name == "em"
    assert found.outcome.converged
    assert found.outcome.iterations == len(found.outcome.trace)
    assert np.all(np.diff(found.outcome.trace) <= 1e-12)
    newton = by_uniquenesses(R, 2, psi, 1e-6, 100, LocalRun())
    np.testing.assert_allclose(found.uniquenesses, newton.uniquenesses, atol=1e-4)
    np.testing.assert_allclose(found.loadings, newton.loadings, atol=1e-3)


def test_too_few_iterations_are_reported():
    found = by_em(Root(R), 2, np.full(6, 0.5), 1e-6, 0.0, 3, LocalRun())
    assert not found.outcome.converged
    assert found.outcome.stopped_because == "the limit of 3 iterations was reached"


def test_the_canonical_rotation_changes_no_covariance():
    L, psi = np.random.default_rng(0).standard_normal((6, 2)), np.linspace(0.1, 0.9, 6)
    turned = canonical(L, psi)
    np.testing.assert_allclose(turned @ turned.T, L @ L.T)
    D = turned.T / psi @ turned
    np.testing.assert_allclose(D, np.diag(np.diagonal(D)), atol=1e-12)
    assert D[0, 0] > D[1, 1]

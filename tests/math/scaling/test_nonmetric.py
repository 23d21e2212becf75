"""Nonmetric scaling: only the order of the dissimilarities counts."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime
from scipy.spatial.distance import cdist, pdist

from lowland.math.scaling.nonmetric import NonmetricStress, nonmetric_scaling
from lowland.run.local import LocalRun


def test_squared_distances_on_a_line_keep_their_order():
    D = np.array([[0.0, 1.0, 9.0], [1.0, 0.0, 4.0], [9.0, 4.0, 0.0]])
    found = nonmetric_scaling(D, 1)
    assert found.stress1 == pytest.approx(0, abs=1e-6)
    d = pdist(found.Z)  # pairs 01, 02, 12
    assert d[0] < d[2] < d[1]


def test_a_monotone_transformation_of_the_dissimilarities_changes_nothing(rng):
    D = cdist(*[rng.standard_normal((12, 4))] * 2)
    one, other = (
        nonmetric_scaling(A, 2, init=rng_start) for rng_start in [rng.standard_normal((12, 2))] for A in (D, D**3)
    )
    np.testing.assert_allclose(one.Z, other.Z, atol=1e-9)
    assert one.stress == pytest.approx(other.stress)


def test_the_gradient_agrees_with_finite_differences(rng):
    D, Z = cdist(*[rng.standard_normal((7, 4))] * 2), rng.standard_normal((7, 2))
    W = rng.random((7, 7))
    for weights in (None, W + W.T):
        stress = NonmetricStress.of(D, weights, "primary", np.full((7, 1), 7.0), LocalRun())
        gradient = approx_fprime(Z.ravel(), lambda z, f=stress: f(z.reshape(7, 2)).value, 1e-7)
        np.testing.assert_allclose(stress(Z).gradient.ravel(), gradient, atol=1e-5)


def test_tied_dissimilarities_may_be_kept_equal(rng):
    D = np.round(cdist(*[rng.standard_normal((12, 4))] * 2))
    free, held = (nonmetric_scaling(D, 2, ties=ties, max_iter=1000) for ties in ("primary", "secondary"))
    assert free.stress < held.stress  # fewer constraints

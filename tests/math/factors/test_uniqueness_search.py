"""Newton's method on the uniquenesses: derivatives, the quadratic in a box, where it ends."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from lowland.math.factors.expectation_maximization import by_em
from lowland.math.factors.maximum_likelihood import first_uniquenesses, most_factors
from lowland.math.factors.uniqueness_search import FullProfile, by_uniquenesses, least_in_box
from lowland.math.factors.wide_tables import Root
from lowland.run.local import LocalRun


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_slope_and_curvature_of_the_profile(seed):
    rng = np.random.default_rng(seed)
    R = np.corrcoef(rng.standard_normal((60, 3)) @ rng.standard_normal((3, 8)) + rng.standard_normal((60, 8)), rowvar=0)
    x, h = np.log(rng.uniform(0.2, 0.8, 8)), 1e-5
    here = FullProfile.at(x, R, 2)
    around = [(FullProfile.at(x + h * e, R, 2), FullProfile.at(x - h * e, R, 2)) for e in np.eye(8)]
    slope = [(a.value - b.value) / (2 * h) for a, b in around]
    curvature = np.array([(a.slope - b.slope) / (2 * h) for a, b in around])
    np.testing.assert_allclose(here.slope, slope, atol=1e-7)
    near = np.max(here.theta[2:] / here.theta[1])
    np.testing.assert_allclose(here.curvature()[0], curvature, atol=1e-2 if near > 1 / 8 else 2e-2)
    assert np.linalg.eigvalsh(here.curvature()[1])[0] > -1e-10  # the positive part is


def test_the_minimum_of_a_quadratic_in_a_box():
    rng, d, exact = np.random.default_rng(0), 8, 0
    for _ in range(200):
        B = rng.standard_normal((d, d))
        H, g = B @ B.T + 0.1 * np.eye(d), rng.standard_normal(d)
        low, high = -rng.uniform(0, 1, d), rng.uniform(0, 1, d)
        p = least_in_box(H, g, low, high)
        assert np.all((low <= p) & (p <= high))
        assert g @ p + p @ H @ p / 2 < 0
        slope = g + H @ p  # zero inside the box, pointing outward at its bounds
        exact += np.all(np.where(p <= low, slope > 0, np.where(p >= high, slope < 0, np.abs(slope) < 1e-9)))
    assert exact >= 198


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_ill_conditioned_correlations_converge_to_a_maximum(seed):
    """Little noise, few rows: uniquenesses reach the bound, and EM from there finds no better solution."""
    rng = np.random.default_rng(seed)
    d, n = int(rng.integers(4, 14)), int(rng.integers(5, 80))
    k = int(rng.integers(1, most_factors(d) + 1))
    X = rng.standard_normal((n, d)) @ rng.standard_normal((d, d)) * np.exp(rng.standard_normal(d))
    R, run = np.corrcoef(X, rowvar=0), LocalRun()
    found = by_uniquenesses(R, k, first_uniquenesses(R, k, 1e-4), 1e-4, 1000, run)
    assert found.outcome.converged
    assert np.all(np.diff(found.outcome.trace) <= 1e-6)
    further = by_em(Root(R), k, found.uniquenesses, 1e-4, 1e-9, 50, run)
    assert further.deviance >= found.deviance - 1e-6

"""Factors of many columns: the leading eigenpairs give the result of all."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lowland.math.factors.maximum_likelihood import first_uniquenesses
from lowland.math.factors.uniqueness_search import FullProfile, by_uniquenesses
from lowland.math.factors.wide_tables import Leading, Root, by_leading_pairs
from lowland.run.local import LocalRun


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_deviance_and_slope_from_leading_pairs(seed):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((6, 9)) + 2 * rng.standard_normal((6, 1))
    C = (X - X.mean(axis=0)) / X.std(axis=0)
    Z = C / np.sqrt(6)
    x, run = np.log(rng.uniform(0.1, 0.9, 9)), LocalRun()
    for root in (Root(Z.T @ Z), Root(Z.T @ Z, Z)):
        here, whole = Leading.at(x, root, 2, run), FullProfile.at(x, root.R, 2)
        assert here.value == pytest.approx(whole.value, abs=1e-10)
        np.testing.assert_allclose(here.slope, whole.slope, atol=1e-10)
        np.testing.assert_allclose(here.loadings(2), whole.loadings(2), atol=1e-8)


def test_the_search_agrees_with_newtons_method():
    rng = np.random.default_rng(0)
    R = np.corrcoef((rng.standard_normal((300, 2)) @ rng.standard_normal((2, 12)) + rng.standard_normal((300, 12))).T)
    first, run = first_uniquenesses(R, 2, 1e-6), LocalRun()
    found = by_leading_pairs(Root(R), 2, first, 1e-6, 0.0, 200, run)
    newton = by_uniquenesses(R, 2, first, 1e-6, 200, run)
    assert found.outcome.name == "lbfgs"
    assert found.outcome.converged
    np.testing.assert_allclose(found.uniquenesses, newton.uniquenesses, atol=1e-5)
    np.testing.assert_allclose(found.loadings, newton.loadings, atol=1e-5)


def test_a_root_of_low_rank_agrees_with_the_full_matrix():
    Z = np.random.default_rng(0).standard_normal((3, 8))
    Z /= np.sqrt(np.sum(Z**2, axis=0))
    root = Root(Z.T @ Z, Z)
    values, vectors = np.linalg.eigh(root.R)
    left = 1 - vectors[:, -2:] ** 2 @ values[-2:]  # not explained by two components
    for each in (root, Root(root.R)):
        np.testing.assert_allclose(each.first(2, 1e-6, LocalRun()), np.maximum(left, 1e-3))
    assert root.suits(2)
    assert not Root(root.R).suits(2)  # few columns
    np.testing.assert_array_equal(root.first(8, 1e-6, LocalRun()), 1e-6)

"""Sammon mapping."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.spatial.distance import cdist, pdist, squareform
from sklearn.exceptions import ConvergenceWarning

from lowland import MDS, SammonMapping
from lowland.data import load_dataset
from lowland.errors import DataError, ParameterError


def sammon_stress(D, Z):
    t, d = squareform(D, checks=False), pdist(Z)
    near = t > 0
    return np.sum((t - d)[near] ** 2 / t[near]) / t.sum()


def test_the_reported_stress_is_correct_and_minimal():
    X = load_dataset("iris").X[::4]
    sammon = SammonMapping().fit(X)
    D = cdist(X, X)
    assert sammon.stress_ == pytest.approx(sammon_stress(D, sammon.embedding_), rel=1e-9)
    again = minimize(lambda z: sammon_stress(D, z.reshape(-1, 2)), sammon.embedding_.ravel(), method="BFGS", tol=1e-9)
    assert again.fun == pytest.approx(sammon.stress_, rel=1e-6)


def test_sammon_stress_is_weighted_stress():
    X = load_dataset("wine").X[::4] / load_dataset("wine").X.std(axis=0)
    D = cdist(X, X)
    W = np.where(D > 0, 1 / np.where(D > 0, D, 1), 0)
    sammon = SammonMapping(tol=1e-8).fit(X)
    mds = MDS(metric="precomputed", eps=1e-14, max_iter=3000).fit(D, init=sammon.embedding_, weights=W)
    assert sammon.stress_ == pytest.approx(mds.stress_ / (D.sum() / 2), rel=1e-9)
    np.testing.assert_allclose(mds.embedding_, sammon.embedding_, atol=1e-5)


def test_duplicates_have_equal_coordinates(rng):
    X = rng.standard_normal((30, 5))
    twice = X[[*range(30), 3, 3, 7]]
    sammon = SammonMapping().fit(twice)
    assert sammon.n_merged_ == 3
    Z = sammon.embedding_
    assert np.array_equal(Z[[30, 31, 32]], Z[[3, 3, 7]])
    assert sammon.stress_ == pytest.approx(sammon_stress(cdist(twice, twice), Z), rel=1e-9)
    assert np.array_equal(sammon.transform(twice), Z)


def test_exact_distances_are_recovered_from_any_initialization(rng):
    X = rng.standard_normal((40, 2))
    for options in ({}, {"init": "random", "random_state": 4}):
        Z = SammonMapping(**options).fit(X).embedding_
        assert np.corrcoef(pdist(Z), pdist(X))[0, 1] > 0.9
    np.testing.assert_allclose(pdist(SammonMapping().fit(X).embedding_), pdist(X), atol=1e-9)


def test_two_points_keep_their_distance():
    Z = SammonMapping(1).fit(np.array([[0.0, 0], [3, 4]])).embedding_
    assert abs(Z[0, 0] - Z[1, 0]) == pytest.approx(5)


def test_the_stress_falls_and_newton_needs_few_steps():
    sammon = SammonMapping().fit(load_dataset("iris").X)
    assert (np.diff(sammon.trace_) <= 0).all()
    assert sammon.converged_
    assert sammon.n_iter_ < 100


def test_new_rows_are_placed_exactly(rng):
    X = rng.standard_normal((60, 2))
    sammon = SammonMapping().fit(X[:50])
    both = np.vstack([sammon.embedding_, sammon.transform(X[50:])])
    np.testing.assert_allclose(pdist(both), pdist(X), atol=1e-6)
    assert np.array_equal(sammon.transform(X[:50]), sammon.embedding_)
    given = SammonMapping(metric="precomputed").fit(cdist(X[:50], X[:50]))
    np.testing.assert_allclose(given.transform(cdist(X[50:], X[:50])), both[50:], atol=1e-6)


def test_invalid_parameters_are_reported(rng):
    X = rng.standard_normal((20, 3))
    with pytest.raises(ParameterError, match="at most"):
        SammonMapping(20).fit(X)
    D = cdist(X, X)
    D[1, 2] = D[2, 1] = np.nan
    with pytest.raises(DataError, match="missing"):
        SammonMapping(metric="precomputed").fit(D)
    with pytest.raises(DataError, match="square"):
        SammonMapping(metric="precomputed").fit(X)
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        SammonMapping(max_iter=1).fit(X)


def test_zero_distances_between_distinct_points(rng):
    """In a given matrix two points may be at distance zero though the others are not equally far from both."""
    D = cdist(*[rng.standard_normal((20, 4))] * 2)
    for i, j in ((2, 5), (5, 11), (0, 19)):
        D[i, j] = D[j, i] = 0
    sammon = SammonMapping(metric="precomputed", tol=1e-9).fit(D)
    Z = sammon.embedding_
    assert sammon.n_merged_ == 3
    assert np.array_equal(Z[[5, 11, 19]], Z[[2, 2, 0]])
    assert sammon.stress_ == pytest.approx(sammon_stress(D, Z), rel=1e-9)  # over all pairs, (2, 11) among them
    place = [{5: 2, 11: 2, 19: 0}.get(i, i) for i in range(20)]
    free = minimize(lambda z: sammon_stress(D, z.reshape(20, 2)[place]), Z.ravel(), method="BFGS", tol=1e-9)
    assert free.fun == pytest.approx(sammon.stress_, rel=1e-6)
    order = rng.permutation(20)
    again = SammonMapping(metric="precomputed", tol=1e-9).fit(D[np.ix_(order, order)])
    assert again.n_merged_ == 3
    assert again.stress_ == pytest.approx(sammon.stress_, rel=1e-5)

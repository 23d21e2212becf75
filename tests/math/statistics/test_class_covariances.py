"""Covariances of classes: weighted by priors, shrunk as scikit-learn shrinks them, or by an estimator."""

import numpy as np
import pytest
from sklearn.covariance import EmpiricalCovariance, ledoit_wolf

from lowland.errors import ParameterError
from lowland.math.statistics.class_covariances import (
    covariances,
    estimated_covariances,
    fourth_powers,
    ledoit_wolf_shrinkage,
    shrunk,
)
from lowland.math.statistics.class_moments import MomentsByClass

rng = np.random.default_rng(0)
y = rng.integers(0, 2, 60)
X = rng.standard_normal((60, 5)) @ rng.standard_normal((5, 5)) + 3.0 * y[:, None]


def test_shrinking_a_two_by_two_matrix():
    S = np.array([[3.0, 1.0], [1.0, 1.0]])
    np.testing.assert_allclose(shrunk(S, 0.5), [[2.5, 0.5], [0.5, 1.5]])  # halfway to 2 I, which has the same trace
    np.testing.assert_allclose(shrunk(S, 1.0), 2 * np.eye(2))


def test_priors_weight_the_classes():
    priors = np.array([0.25, 0.75])
    found = covariances(MomentsByClass(2, apart=True)(X, y), priors)
    own = [np.cov(X[y == c].T, bias=True) for c in range(2)]
    np.testing.assert_allclose(found.within, 0.25 * own[0] + 0.75 * own[1])
    np.testing.assert_allclose(found.total, np.cov(X.T, bias=True))
    np.testing.assert_array_equal(found.shrinkage, 0)
    by_estimator = estimated_covariances(EmpiricalCovariance(), X, y, priors)
    np.testing.assert_allclose(by_estimator.within, found.within)
    np.testing.assert_allclose(by_estimator.total, found.total)


def test_pooled_moments_suffice_without_moments_per_class():
    moments = [MomentsByClass(2, apart)(X, y) for apart in (False, True)]
    pooled, apart = (covariances(m, np.bincount(y) / 60, 0.3) for m in moments)
    np.testing.assert_allclose(pooled.within, apart.within)
    np.testing.assert_allclose(pooled.total, apart.total)


def test_ledoit_wolf_intensity_agrees_with_scikit_learn():
    moments = MomentsByClass(2, apart=True)(X, y)
    fourth = fourth_powers(moments)(X, y).value
    parts = fourth_powers(moments)(X[:20], y[:20]) + fourth_powers(moments)(X[20:], y[20:])
    np.testing.assert_allclose(parts.value, fourth)
    found = covariances(moments, np.array([0.5, 0.5]), fourth=fourth)
    for c, rows in enumerate((X[y == 0], X[y == 1], X)):
        Z = (rows - rows.mean(axis=0)) / rows.std(axis=0)
        _, theirs = ledoit_wolf(Z)
        assert found.shrinkage[c] == pytest.approx(theirs)
        assert ledoit_wolf_shrinkage(Z.T @ Z / len(Z), len(Z), np.sum(np.sum(Z**2, axis=1) ** 2)) == pytest.approx(
            theirs
        )


def test_invalid_covariance_estimators_are_refused():
    class Nothing(EmpiricalCovariance):
        def fit(self, X, y=None):
            return self

    with pytest.raises(ParameterError, match="does not have a covariance_"):
        estimated_covariances(Nothing(), X, y, np.array([0.5, 0.5]))

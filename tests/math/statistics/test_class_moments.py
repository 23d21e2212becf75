"""Moments and covariances of classes."""

import numpy as np
import pytest
from sklearn.covariance import EmpiricalCovariance, ledoit_wolf

from lowland.errors import ParameterError
from lowland.math.statistics.class_moments import (
    MomentsByClass,
    covariances,
    estimated_covariances,
    fourth_powers,
)

rng = np.random.default_rng(0)
y = rng.integers(0, 3, 90)
X = rng.standard_normal((90, 4)) @ rng.standard_normal((4, 4)) + 5.0 * y[:, None] + 100


def test_four_rows_by_hand():
    rows, labels = np.array([[0.0, 0.0], [2.0, 0.0], [5.0, 1.0], [5.0, 3.0]]), np.array([0, 0, 1, 1])
    for apart in (False, True):
        found = MomentsByClass(2, apart)(rows, labels)
        np.testing.assert_allclose(found.mean, [[1.0, 0.0], [5.0, 2.0]])
        np.testing.assert_allclose(found.pooled, [[2.0, 0.0], [0.0, 2.0]], atol=1e-12)
        np.testing.assert_allclose(found.between, [[16.0, 8.0], [8.0, 4.0]])
    np.testing.assert_allclose(found.scatter, [[[2.0, 0.0], [0.0, 0.0]], [[0.0, 0.0], [0.0, 2.0]]], atol=1e-12)


@pytest.mark.parametrize("apart", [False, True])
def test_chunks_merge_and_the_scatters_sum_to_the_total(apart):
    of = MomentsByClass(3, apart)
    whole, merged = of(X, y), of(X[:20], y[:20]) + of(X[20:], y[20:])
    np.testing.assert_allclose(merged.pooled, whole.pooled, atol=1e-9)
    np.testing.assert_allclose(merged.mean, [X[y == c].mean(axis=0) for c in range(3)])
    total = np.cov(X.T, bias=True) * 90
    np.testing.assert_allclose(merged.pooled + merged.between, total, rtol=1e-10)
    assert merged.count == 90
    assert merged.is_finite()


def test_float32_keeps_the_scatter_of_distant_classes():
    far = X + 1e4 * y[:, None]
    single, double = (MomentsByClass(3)(rows, y) for rows in (far.astype(np.float32), far))
    np.testing.assert_allclose(single.pooled, double.pooled, rtol=1e-2, atol=1)


rng = np.random.default_rng(0)
HALF = rng.integers(0, 2, 60)
TWO = rng.standard_normal((60, 5)) @ rng.standard_normal((5, 5)) + 3.0 * HALF[:, None]


def test_priors_weight_the_classes():
    priors = np.array([0.25, 0.75])
    found = covariances(MomentsByClass(2, apart=True)(TWO, HALF), priors)
    own = [np.cov(TWO[c == HALF].T, bias=True) for c in range(2)]
    np.testing.assert_allclose(found.within, 0.25 * own[0] + 0.75 * own[1])
    np.testing.assert_allclose(found.total, np.cov(TWO.T, bias=True))
    np.testing.assert_array_equal(found.shrinkage, 0)
    by_estimator = estimated_covariances(EmpiricalCovariance(), TWO, HALF, priors)
    np.testing.assert_allclose(by_estimator.within, found.within)
    np.testing.assert_allclose(by_estimator.total, found.total)


def test_pooled_moments_suffice_without_moments_per_class():
    moments = [MomentsByClass(2, apart)(TWO, HALF) for apart in (False, True)]
    pooled, apart = (covariances(m, np.bincount(HALF) / 60, 0.3) for m in moments)
    np.testing.assert_allclose(pooled.within, apart.within)
    np.testing.assert_allclose(pooled.total, apart.total)


def test_ledoit_wolf_intensity_agrees_with_scikit_learn():
    moments = MomentsByClass(2, apart=True)(TWO, HALF)
    fourth = fourth_powers(moments)(TWO, HALF).value
    parts = fourth_powers(moments)(TWO[:20], HALF[:20]) + fourth_powers(moments)(TWO[20:], HALF[20:])
    np.testing.assert_allclose(parts.value, fourth)
    found = covariances(moments, np.array([0.5, 0.5]), fourth=fourth)
    for c, rows in enumerate((TWO[HALF == 0], TWO[HALF == 1], TWO)):
        _, theirs = ledoit_wolf((rows - rows.mean(axis=0)) / rows.std(axis=0))
        assert found.shrinkage[c] == pytest.approx(theirs)


def test_invalid_covariance_estimators_are_refused():
    class Nothing(EmpiricalCovariance):
        def fit(self, TWO, y=None):
            return self

    with pytest.raises(ParameterError, match="does not have a covariance_"):
        estimated_covariances(Nothing(), TWO, HALF, np.array([0.5, 0.5]))

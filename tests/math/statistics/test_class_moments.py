"""Moments of labeled rows: within classes, pooled or per class, and between the classes."""

import numpy as np
import pytest

from lowland.math.statistics.class_moments import MomentsByClass, class_means, membership

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


@pytest.mark.parametrize("apart", [False, True])
def test_classes_may_be_added_later(apart):
    found = MomentsByClass(3, apart)(X, y).with_classes(np.array([0, 2, 3]), 4)
    assert found.n[1] == 0
    np.testing.assert_array_equal(found.mean[1], 0)
    np.testing.assert_allclose(found.mean[2], X[y == 1].mean(axis=0))
    assert found.with_classes(np.arange(4), 4) is found


def test_means_and_membership():
    n = np.bincount(y, minlength=4).astype(float)
    np.testing.assert_allclose(class_means(X, y, n)[:3], [X[y == c].mean(axis=0) for c in range(3)])
    np.testing.assert_array_equal(class_means(X, y, n)[3], 0)
    np.testing.assert_array_equal(membership(y, 4).toarray(), np.eye(4)[y])

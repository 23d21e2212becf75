"""Numbers and indicators together."""

import numpy as np
import pytest

from lowland.math.correspondence import mixed_moments
from lowland.math.correspondence.coding import Coding
from lowland.math.correspondence.mixed_moments import Expanded, MixedMomentsOf, MixedPoints
from lowland.math.statistics.moments import Moments

CODING = Coding.of((1,), (np.array([0.0, 1.0, 2.0]),), (False,))
rng = np.random.default_rng(0)
X = np.stack([rng.standard_normal(40) + 100, rng.integers(0, 3, 40), rng.exponential(size=40)], axis=1)
EXPANDED = Expanded((0, 2), CODING, ("a", "b", "c"))
Y = np.column_stack([X[:, [0, 2]], X[:, [1]] == np.arange(3)])


def test_expanded():
    np.testing.assert_array_equal(EXPANDED(X), Y)
    bad = X.copy()
    bad[3, 1] = np.nan
    assert np.isnan(EXPANDED(bad)[3]).all()


@pytest.mark.parametrize("size", [1, 300, 2**20])
def test_blocks_merge_to_the_moments_of_the_whole(size, monkeypatch):
    monkeypatch.setattr(mixed_moments, "_BLOCK_BYTES", size)
    found, expected = MixedMomentsOf(EXPANDED)(X), Moments.of(Y)
    np.testing.assert_allclose(found.mean, expected.mean)
    np.testing.assert_allclose(found.scatter, expected.scatter, atol=1e-10)
    assert found.rows == 40
    A = rng.standard_normal((5, 2))
    points = MixedPoints(EXPANDED, Y.mean(axis=0), A)
    np.testing.assert_allclose(points(X), (Y - Y.mean(axis=0)) @ A, atol=1e-10)
    scale = np.arange(1.0, 6.0)
    squares = (((Y - Y.mean(axis=0)) / scale) ** 2).sum(axis=1)
    np.testing.assert_allclose(points.squared_norms(X, scale), squares)


def test_a_category_that_is_no_level_lies_at_the_mean():
    row = X[:1].copy()
    row[0, 1] = 9.0
    Z = MixedPoints(EXPANDED, Y.mean(axis=0), np.eye(5))(row)
    np.testing.assert_allclose(Z[0, 2:], 0)

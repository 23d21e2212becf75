"""Initialization of k-means."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from lowland.data.rows import ArrayRows
from lowland.math.prototypes.kmeans_start import RowSample
from lowland.math.statistics.rescaling import UniformScaling
from lowland.run.local import LocalRun


@settings(max_examples=25, deadline=None)
@given(k=st.integers(1, 10), seed=st.integers(0, 10**6))
def test_kmeans_plus_plus_picks_distinct_rows(k, seed):
    rng = np.random.default_rng(seed)
    Y = rng.integers(0, 3, (40, 3)).astype(float)
    codes = RowSample(Y, np.ones(40)).kmeans_plus_plus(k, rng)
    assert len(np.unique(codes, axis=0)) == min(k, len(np.unique(Y, axis=0)))
    assert all((code == Y).all(axis=1).any() for code in codes)


def test_rows_of_small_weight_are_rarely_sampled():
    Y = np.array([[0.0], [1.0]])
    drawn = [RowSample(Y, np.array([1e-9, 1.0])).kmeans_plus_plus(1, np.random.default_rng(s))[0, 0] for s in range(50)]
    assert drawn == [1.0] * 50


def test_a_sample_does_not_depend_on_the_order_of_the_rows(rng):
    X = rng.standard_normal((50, 3))
    scaling = UniformScaling(X.mean(axis=0), 2.0)
    samples = [
        RowSample.of(ArrayRows(A), LocalRun(), 50, 4, scaling, None, np.random.default_rng(0)) for A in (X, X[::-1])
    ]
    np.testing.assert_array_equal(samples[0].Y, samples[1].Y)
    np.testing.assert_allclose(np.sort(samples[0].Y, axis=0), np.sort(scaling.apply(X), axis=0))


def test_rows_of_zero_weight_are_excluded(rng):
    X, weights = rng.standard_normal((20, 2)), np.arange(20) % 2.0
    found = RowSample.of(ArrayRows(X), LocalRun(), 20, 4, UniformScaling(np.zeros(2)), weights, rng)
    assert len(found.Y) == 10
    assert len(np.unique(found.random_codes(10, rng), axis=0)) == 10

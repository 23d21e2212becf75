"""Moments of rows: agreement with numpy, and equal from any chunks, far from the origin and sparse."""

import numpy as np
import pytest
import scipy.sparse

from lowland.errors import DataError
from lowland.math.statistics.moments import (
    ColumnMoments,
    Moments,
    Triangle,
    difference_underflows,
    refuse_overflow,
)

X = np.random.default_rng(0).standard_normal((50, 4)) * [1, 2, 3, 0.5] + 10


def test_three_rows_by_hand():
    found = Moments.of(np.array([[1.0, 2.0], [3.0, 2.0], [5.0, 5.0]]))
    np.testing.assert_array_equal(found.mean, [3.0, 3.0])
    np.testing.assert_allclose(found.scatter, [[8.0, 6.0], [6.0, 6.0]], atol=1e-12)
    np.testing.assert_allclose(found.covariance, [[4.0, 3.0], [3.0, 3.0]])
    np.testing.assert_allclose(found.uncentered, [[35.0, 33.0], [33.0, 33.0]])


@pytest.mark.parametrize("kind", [Moments, ColumnMoments, Triangle])
@pytest.mark.parametrize("far", [0.0, 1e8])
def test_chunks_merge_exactly(kind, far):
    rows = X + far
    whole, merged = kind.of(rows), kind.of(rows[:7]) + kind.of(rows[7:20]) + kind.of(rows[20:])
    assert (merged.n, merged.rows) == (50, 50)
    np.testing.assert_allclose(merged.mean, rows.mean(axis=0), rtol=1e-15)
    for found in (whole, merged):
        np.testing.assert_allclose(found.variances, rows.var(axis=0, ddof=1), rtol=1e-6 if far else 1e-12)
    assert whole.is_finite()


@pytest.mark.parametrize("kind", [Moments, ColumnMoments, Triangle])
def test_a_weight_counts_repetitions(kind):
    w = np.arange(50) % 3
    weighted, repeated = kind.of(X, w.astype(float)), kind.of(np.repeat(X, w, axis=0))
    assert weighted.n == repeated.n == w.sum()
    assert weighted.rows == np.sum(w > 0)
    np.testing.assert_allclose(weighted.mean, repeated.mean)
    np.testing.assert_allclose(weighted.variances, repeated.variances)


def test_the_triangle_is_the_root_of_the_scatter():
    R, S = Triangle.of(X).R, Moments.of(X).scatter
    np.testing.assert_allclose(R.T @ R, S, rtol=1e-10)
    assert np.allclose(R, np.triu(R))


def test_sparse_rows_have_the_moments_of_dense_ones():
    S = scipy.sparse.random(60, 8, 0.2, random_state=0, format="csr")
    for kind in (Moments, ColumnMoments):
        sparse, dense = kind.of(S), kind.of(S.toarray())
        np.testing.assert_allclose(sparse.mean, dense.mean, atol=1e-15)
        np.testing.assert_allclose(sparse.variances, dense.variances, atol=1e-12)
    np.testing.assert_allclose(Moments.of(S).scatter, Moments.of(S.toarray()).scatter, atol=1e-12)
    assert Moments.of(scipy.sparse.csr_matrix(np.ones((30, 2)) * 1e9 + X[:30, :2])).lost_digits


def test_rounding_errors_are_not_variance():
    constant = np.full((9, 1), 0.1) * 3
    for kind in (Moments, ColumnMoments, Triangle):
        assert kind.of(constant).variances[0] == 0


def test_one_row_has_no_variance_and_weights_must_not_sum_to_one():
    with pytest.raises(DataError, match="only one row"):
        _ = Moments.of(X[:1]).variances
    with pytest.raises(DataError, match="multiply them by the number of rows"):
        _ = Moments.of(X, np.full(50, 1 / 50)).covariance


def test_differences_underflow_only_where_their_squares_do():
    tiny = np.array([1e-160, 0.0])
    assert difference_underflows(tiny, tiny, 1e-16)
    assert not difference_underflows(np.array([1.0, 0.0]), np.ones(2), 1e-16)
    assert not difference_underflows(tiny, np.ones(2), 1e-16)  # rounding error
    assert not difference_underflows(np.zeros(0), np.zeros(0), 1e-16)


def test_a_reserve_is_kept_below_the_largest_number():
    refuse_overflow(np.array([1e307, 1e307]))
    with pytest.raises(DataError, match="too large"):
        refuse_overflow(np.array([1e308]))

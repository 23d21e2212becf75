"""Truths about code books."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lowland.blocks.codebooks.kmeans import Codes, FindFarthest, FromCodes, RowSample, SumByCode, entropy_in_bits
from lowland.kernels.kmeans import add_rows, nearest_codes, see_rows


def rows_and_codes(n=200, d=4, k=7, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, d)), rng.standard_normal((k, d))


def test_the_kernels_agree_with_their_numpy_twins():
    Y, W = rows_and_codes()
    seen, single = np.zeros_like(Y), np.ones((len(Y), 5), dtype=np.float32)
    see_rows(Y.astype(np.float32), np.arange(4.0), 0.5, seen, single)
    np.testing.assert_array_equal(seen, (Y.astype(np.float32) - np.arange(4.0)) / 2)
    np.testing.assert_array_equal(single, np.column_stack([seen, np.ones(len(Y))]).astype(np.float32))
    squares = (W**2).sum(axis=1)
    for dtype in (np.float32, np.float64):
        D = (squares - 2 * Y @ W.T).astype(dtype)
        first, unsure = nearest_codes(Y, np.ascontiguousarray(D.T), (1e-3 * squares).astype(dtype), 1e-3)
        np.testing.assert_array_equal(first, D.argmin(axis=1))
        low = D - 1e-3 * squares
        low[np.arange(len(Y)), first] = np.inf
        bound = 1e-3 * (squares[first] + 2 * (Y**2).sum(axis=1))
        np.testing.assert_array_equal(unsure, ~(low.min(axis=1) - D.min(axis=1) > bound))
        assert 0 < unsure.sum() < len(Y)
    for weights in (np.empty(0), np.random.default_rng(1).random(len(Y))):
        w = weights if len(weights) else np.ones(len(Y))
        sums, counts = np.zeros_like(W), np.zeros(len(W))
        error = add_rows(Y, first, weights, W, sums, counts)
        M = (first[:, None] == np.arange(len(W))) * w[:, None]
        np.testing.assert_allclose(sums, M.T @ Y, atol=1e-12)
        np.testing.assert_allclose(counts, M.sum(axis=0))
        assert error == pytest.approx((w * ((Y - W[first]) ** 2).sum(axis=1)).sum())


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6), k=st.integers(1, 12), whole=st.booleans(), far=st.sampled_from([0.0, 1e6]))
def test_every_library_sums_the_same(seed, k, whole, far):
    xp = pytest.importorskip("array_api_strict")
    X, W = rows_and_codes(60, 3, k, seed)
    if whole:  # many ties
        X, W = np.round(X), np.round(W)
    X, W = X + far, W + far
    weights = np.random.default_rng(seed).integers(0, 3, 60).astype(float)
    book = Codes.of(W)
    ours, other = SumByCode(book)(X, weights), SumByCode(book)(xp.asarray(X), weights)
    np.testing.assert_array_equal(ours.counts, other.counts)
    np.testing.assert_allclose(ours.sums, other.sums, atol=1e-9)
    assert ours.error == pytest.approx(other.error, abs=1e-9)
    assert ours.counts.sum() == weights.sum()


@pytest.mark.parametrize("library", ["numpy", "array_api_strict", "torch"])
@pytest.mark.parametrize("size", [1e-3, 1.0, 1e6, 1e9])
def test_a_code_far_from_all_others_takes_no_digits_from_these(size, library):
    xp = pytest.importorskip(library)
    X, W = rows_and_codes()
    W = np.vstack([W, np.full((1, 4), size)])
    nearest = ((X[:, None] - W) ** 2).sum(axis=2).argmin(axis=1)
    found = [near.first for near in Codes.of(W).search(xp.asarray(X))]
    np.testing.assert_array_equal(np.asarray(found[0]), nearest)


def test_parts_add_up():
    X, W = rows_and_codes()
    fold = SumByCode(Codes.of(W))
    whole, parts = fold(X), fold(X[:50]) + fold(X[50:])
    np.testing.assert_allclose(whole.sums, parts.sums)
    np.testing.assert_array_equal(whole.counts, parts.counts)
    far, in_parts = FindFarthest(Codes.of(W), 5)(X), FindFarthest(Codes.of(W), 5)
    joined = in_parts(X[:50]) + in_parts(X[50:])
    np.testing.assert_array_equal(far.Y, joined.Y)
    D = ((X[:, None] - W) ** 2).sum(axis=2).min(axis=1)
    unit = Codes.of(W).frame.unit
    np.testing.assert_allclose(far.squares * unit**2, np.sort(D)[::-1][:5])


@settings(max_examples=25, deadline=None)
@given(k=st.integers(1, 10), seed=st.integers(0, 10**6))
def test_a_start_takes_rows_that_differ(k, seed):
    rng = np.random.default_rng(seed)
    Y = rng.integers(0, 3, (40, 3)).astype(float)
    codes = RowSample(Y, np.ones(40)).spread_codes(k, rng)
    assert len(np.unique(codes, axis=0)) == min(k, len(np.unique(Y, axis=0)))
    assert all((code == Y).all(axis=1).any() for code in codes)


def test_rows_of_little_weight_are_seldom_drawn():
    Y = np.array([[0.0], [1.0]])
    drawn = [RowSample(Y, np.array([1e-9, 1.0])).spread_codes(1, np.random.default_rng(s))[0, 0] for s in range(50)]
    assert drawn == [1.0] * 50


@given(st.lists(st.integers(0, 50), min_size=1, max_size=8).filter(any))
def test_entropy_lies_between_nothing_and_the_bits_of_a_number(counts):
    bits = entropy_in_bits(np.array(counts, dtype=float))
    assert -1e-12 <= bits <= np.log2(len(counts)) + 1e-12


def test_even_usage_needs_all_bits():
    assert entropy_in_bits(np.full(8, 3.0)) == pytest.approx(3)


def test_codes_from_numbers_and_distances():
    codes = np.array([[1.0, 2.0], [3.0, 4.0]])
    np.testing.assert_array_equal(FromCodes(codes, True)(np.array([[1.0], [0.0]])), codes[[1, 0]])
    np.testing.assert_array_equal(FromCodes(codes, False)(np.array([[1.0, 0.5], [2.0, 2.0]])), codes[[1, 0]])
    assert np.isnan(FromCodes(codes, True)(np.array([[np.nan]]))).all()

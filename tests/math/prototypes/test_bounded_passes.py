"""Passes that skip rows: the same assignment as full passes, exact sums at the end, any number of threads."""

from dataclasses import replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from lowland.data.rows import ArrayRows
from lowland.math.prototypes.bounded_passes import bounded_passes
from lowland.math.prototypes.codebook import NearestCodebook
from lowland.math.prototypes.kmeans import SumByCode, lloyd
from lowland.run.local import LocalRun
from lowland.run.settings import settings as current_settings


def rows_and_codes(n=200, d=4, k=7, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, d)), rng.standard_normal((k, d))


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6), k=st.integers(1, 12), whole=st.booleans(), far=st.sampled_from([0.0, 1e6]))
def test_rows_that_bounds_skip_are_those_of_a_full_pass(seed, k, whole, far):
    """Equal weights are iterated without bounds, by full passes."""
    X, W = rows_and_codes(300, 3, k, seed)
    if whole:  # many ties
        X, W = np.round(X), np.round(W)
    X, W = X + far, W + far
    skipped, full = lloyd(X, W), lloyd(X, W, weights=np.ones(300))
    assert np.all(np.diff(skipped.outcome.trace) <= 0)
    assert skipped.outcome.iterations == full.outcome.iterations
    np.testing.assert_allclose(skipped.centers, full.centers, rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(skipped.sums.counts, full.sums.counts)
    np.testing.assert_allclose(skipped.outcome.trace, full.outcome.trace, rtol=1e-8, atol=1e-12 * (1 + far))
    np.testing.assert_array_equal(skipped.labels, next(full.book.search(X)).first)


def test_an_outlier_that_leaves_a_cluster_takes_no_digits_with_it():
    """The row 1e12 belongs to the small rows first, then to those at 1.5e12. Updated sums keep its rounding error."""
    small = np.random.default_rng(0).standard_normal((400, 1))
    X = np.vstack([small, [[1e12]], np.full((400, 1), 1.5e12)])
    found = lloyd(X, np.array([[0.0], [2.2e12]]))
    assert found.outcome.iterations > 1
    np.testing.assert_allclose(found.centers[0], small.mean(axis=0), rtol=0, atol=1e-14)


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10**6), scale=st.sampled_from([1e-9, 0.01, 1.0, 100.0]), single=st.booleans())
def test_any_movement_of_the_code_vectors_gives_the_sums_of_a_full_pass(seed, scale, single):
    X, W = rows_and_codes(500, 5, 9, seed)
    X = X.astype(np.float32) if single else X
    rng, rows = np.random.default_rng(seed), ArrayRows(X, most_rows=128)
    with bounded_passes(rows, LocalRun(), None) as passes:
        for _ in range(4):
            book = NearestCodebook.of(W)
            book = NearestCodebook(replace(book.scaling, shift=np.zeros(5), unit=1.0), W)
            found, expected = passes(book), SumByCode(book)(X)
            np.testing.assert_array_equal(found.counts, expected.counts)
            np.testing.assert_allclose(found.sums, expected.sums, atol=1e-9)
            np.testing.assert_allclose(found.error, expected.error, rtol=1e-9)
            W = W + scale * rng.standard_normal(W.shape)


def test_threads_change_no_bit():
    X, W = rows_and_codes(40_000, 3, 6)
    one, three = (lloyd(X, W, run=LocalRun(replace(current_settings(), threads=t))) for t in (1, 3))
    np.testing.assert_array_equal(one.centers, three.centers)
    assert one.outcome.trace == three.outcome.trace


def test_rows_with_weights_are_not_skipped():
    X, _ = rows_and_codes()
    with bounded_passes(ArrayRows(X), LocalRun(), np.ones(len(X))) as passes:
        assert passes is None

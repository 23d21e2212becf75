"""Lloyd's iteration by hand, passes that skip rows, empty clusters, and the initialization."""

import tracemalloc
from dataclasses import replace
from functools import partial

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from lowland.data.rows import ArrayRows
from lowland.math.prototypes.codebook import Codebook, SumByPrototype
from lowland.math.prototypes.kmeans import RowSample, bounded_passes, farthest_rows, lloyd
from lowland.math.statistics.rescaling import UniformScaling
from lowland.run.run import Run
from lowland.run.settings import settings as current_settings


def rows_and_codes(n=200, d=4, k=7, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, d)), rng.standard_normal((k, d))


def test_three_points_on_a_line():
    """From 0 and 2: the rows 2 and 10 are nearest to 2, their mean is 6; then only 10 is nearest to it."""
    found = lloyd(np.array([[0.0], [2.0], [10.0]]), np.array([[0.0], [2.0]]))
    assert found.sums.distances == 2
    assert found.centers[:, 0].tolist() == [1, 10]
    assert found.inertia == 2
    np.testing.assert_allclose(found.outcome.trace, [64 / 3, 20 / 3, 2 / 3, 2 / 3])
    assert found.outcome.converged


def test_the_farthest_rows_of_two_chunks_merge():
    X, W = rows_and_codes()
    book = Codebook.of(W)
    find = partial(farthest_rows, book=book, most=5)
    far = find(X)
    np.testing.assert_array_equal(far.table, (find(X[:50]) + find(X[50:])).table)
    D = ((X[:, None] - W) ** 2).sum(axis=2).min(axis=1)
    np.testing.assert_allclose(far.table[:, 0] * book.scaling.unit**2, np.sort(D)[::-1][:5])


# --- passes that skip rows


@settings(max_examples=15, deadline=None)
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


@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 10**6), scale=st.sampled_from([1e-9, 0.01, 1.0, 100.0]), single=st.booleans())
def test_any_movement_of_the_code_vectors_gives_the_sums_of_a_full_pass(seed, scale, single):
    X, W = rows_and_codes(500, 5, 9, seed)
    X = X.astype(np.float32) if single else X
    rng, rows = np.random.default_rng(seed), ArrayRows(X, most_rows=128)
    with bounded_passes(rows, Run(), None) as passes:
        for _ in range(4):
            book = Codebook.of(W)
            book = Codebook(replace(book.scaling, shift=np.zeros(5), unit=1.0), W)
            found, expected = passes(book), SumByPrototype(book)(X)
            np.testing.assert_array_equal(found.counts, expected.counts)
            np.testing.assert_allclose(found.sums, expected.sums, atol=1e-9)
            np.testing.assert_allclose(found.squares, expected.squares, rtol=1e-9)
            W = W + scale * rng.standard_normal(W.shape)


def test_threads_change_no_bit():
    X, W = rows_and_codes(40_000, 3, 6)
    one, three = (lloyd(X, W, max_iter=9, run=Run(replace(current_settings(), threads=t))) for t in (1, 3))
    np.testing.assert_array_equal(one.centers, three.centers)
    assert one.outcome.trace == three.outcome.trace


# --- initialization


@settings(max_examples=10, deadline=None)
@given(k=st.integers(1, 10), seed=st.integers(0, 10**6))
def test_kmeans_plus_plus_picks_distinct_rows(k, seed):
    rng = np.random.default_rng(seed)
    Y = rng.integers(0, 3, (40, 3)).astype(float)
    codes = RowSample(Y, np.ones(40)).kmeans_plus_plus(k, rng)
    assert len(np.unique(codes, axis=0)) == min(k, len(np.unique(Y, axis=0)))
    assert all((code == Y).all(axis=1).any() for code in codes)


def test_a_sample_does_not_depend_on_the_order_of_the_rows(rng):
    X = rng.standard_normal((50, 3))
    scaling = UniformScaling(X.mean(axis=0), 2.0)
    samples = [RowSample.of(ArrayRows(A), Run(), 50, 4, scaling, None, np.random.default_rng(0)) for A in (X, X[::-1])]
    np.testing.assert_array_equal(samples[0].Y, samples[1].Y)
    np.testing.assert_allclose(np.sort(samples[0].Y, axis=0), np.sort(scaling.apply(X), axis=0))


def test_a_sample_of_many_rows_needs_a_byte_per_row():
    n = 2_000_000
    rows, scaling = ArrayRows(np.broadcast_to(np.float32(1.5), (n, 1))), UniformScaling(np.zeros(1), 1.0)
    tracemalloc.start()
    sample = RowSample.of(rows, Run(), n, 2, scaling, None, np.random.default_rng(0))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(sample.Y) < n // 10
    assert peak < 4 * n  # positions of all rows have 8 bytes each

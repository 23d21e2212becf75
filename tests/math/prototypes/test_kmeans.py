"""Lloyd's iteration by hand, the sums of a pass, and empty clusters."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.cluster import KMeans

from lowland.math.prototypes.codebook import NearestCodebook
from lowland.math.prototypes.kmeans import FindFarthest, SumByCode, lloyd


def rows_and_codes(n=200, d=4, k=7, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, d)), rng.standard_normal((k, d))


def test_three_points_on_a_line():
    """From 0 and 2: the rows 2 and 10 are nearest to 2, their mean is 6; then only 10 is nearest to it."""
    found = lloyd(np.array([[0.0], [2.0], [10.0]]), np.array([[0.0], [2.0]]))
    assert found.centers[:, 0].tolist() == [1, 10]
    assert found.inertia == 2
    assert found.outcome.trace == (
        pytest.approx(64 / 3),
        pytest.approx(20 / 3),
        pytest.approx(2 / 3),
        pytest.approx(2 / 3),
    )
    assert found.outcome.converged


def test_weights_count_repetitions():
    X, W = rows_and_codes()
    times = np.random.default_rng(0).integers(0, 3, len(X))
    one, other = lloyd(X, W, weights=times.astype(float)), lloyd(np.repeat(X, times, axis=0), W)
    np.testing.assert_allclose(one.centers, other.centers, atol=1e-12)
    assert one.inertia == pytest.approx(other.inertia)


def test_code_vectors_agree_with_scikit_learn():
    X, W = rows_and_codes()
    peer = KMeans(7, init=W, n_init=1, tol=0, algorithm="lloyd").fit(X)
    found = lloyd(X, W)
    np.testing.assert_allclose(found.centers, peer.cluster_centers_, atol=1e-9)
    assert found.inertia == pytest.approx(peer.inertia_)


def test_an_empty_cluster_moves_to_the_farthest_row():
    found = lloyd(np.array([[0.0], [1.0], [9.0]]), np.array([[0.5], [100.0]]))
    assert sorted(found.centers[:, 0]) == [0.5, 9]
    stopped = lloyd(np.array([[0.0], [1.0], [9.0]]), np.array([[0.5], [100.0]]), max_iter=1, tol=-1)
    assert not stopped.outcome.converged


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6), k=st.integers(1, 12), whole=st.booleans(), far=st.sampled_from([0.0, 1e6]))
def test_all_array_libraries_give_the_same_sums(seed, k, whole, far):
    xp = pytest.importorskip("array_api_strict")
    X, W = rows_and_codes(60, 3, k, seed)
    if whole:  # many ties
        X, W = np.round(X), np.round(W)
    X, W = X + far, W + far
    weights = np.random.default_rng(seed).integers(0, 3, 60).astype(float)
    book = NearestCodebook.of(W)
    ours, other = SumByCode(book)(X, weights), SumByCode(book)(xp.asarray(X), weights)
    np.testing.assert_array_equal(ours.counts, other.counts)
    np.testing.assert_allclose(ours.sums, other.sums, atol=1e-9)
    assert ours.error == pytest.approx(other.error, abs=1e-9)
    assert ours.counts.sum() == weights.sum()


def test_statistics_of_two_chunks_merge():
    X, W = rows_and_codes()
    fold = SumByCode(NearestCodebook.of(W))
    whole, parts = fold(X), fold(X[:50]) + fold(X[50:])
    np.testing.assert_allclose(whole.sums, parts.sums)
    np.testing.assert_array_equal(whole.counts, parts.counts)
    far, in_parts = FindFarthest(NearestCodebook.of(W), 5)(X), FindFarthest(NearestCodebook.of(W), 5)
    joined = in_parts(X[:50]) + in_parts(X[50:])
    np.testing.assert_array_equal(far.Y, joined.Y)
    D = ((X[:, None] - W) ** 2).sum(axis=2).min(axis=1)
    unit = NearestCodebook.of(W).scaling.unit
    np.testing.assert_allclose(far.squares * unit**2, np.sort(D)[::-1][:5])

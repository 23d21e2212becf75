"""Code books: the nearest prototypes of rows and their sums, in every library."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist

from lowland.math.prototypes.codebook import (
    Codebook,
    NearestIndex,
    SumByPrototype,
)
from lowland.math.prototypes.grids import Grid


def rows(n=200, d=5, seed=0):
    return np.random.default_rng(seed).standard_normal((n, d))


@pytest.mark.parametrize(("far", "scale"), [(0.0, 1.0), (1e6, 1.0), (0.0, 1e100), (1e6, 1e-100)])
def test_the_two_nearest_units_agree_with_all_distances(far, scale):
    X, W = (rows() + far) * scale, (rows(37, seed=1) + far) * scale
    D = cdist(X / scale - far, W / scale - far)
    first = np.concatenate([near.first for near in Codebook.of(W).search(X)])
    second = np.concatenate([near.second for near in Codebook.of(W).search(X)])
    np.testing.assert_array_equal(np.argsort(D, axis=1)[:, :2], np.column_stack([first, second]))


@pytest.mark.parametrize("library", ["numpy", "torch", "array_api_strict"])
def test_ties_go_to_the_first_unit(library):
    xp = pytest.importorskip(library)
    W = np.array([[5.0, 0], [1, 0], [0, 1], [-1, 0], [0, -1]]) / 3 + 7.1
    X = np.full((300, 2), 7.1)
    X[::7] = W[4]  # among rows without ties
    found = NearestIndex(Codebook.of(W))(xp.asarray(X))
    assert type(found) is type(xp.asarray(X))
    expected = np.where(np.arange(300) % 7 == 0, 4, 1)
    assert np.array_equal(np.asarray(found)[:, 0], expected)


@pytest.mark.parametrize(
    ("library", "topology"),
    [("numpy", "hexagonal"), ("torch", "rectangular"), ("array_api_strict", "hexagonal")],
)
def test_sums_by_prototype(library, topology, monkeypatch):
    """Sparse sums and products with the assignment matrix, both compared with all distances."""
    xp = pytest.importorskip(library)
    monkeypatch.setattr("lowland.math.prototypes.codebook._LEAST_TILE", 16)
    monkeypatch.setattr("lowland.math.prototypes.codebook._TILE", 1)
    grid, X, W = Grid(3, 4, topology), rows(150), rows(12, seed=3)
    book = Codebook.of(W)
    total = SumByPrototype(book, grid)(xp.asarray(X))
    D = cdist(X, W)
    first, second = np.argsort(D, axis=1)[:, :2].T
    sums = np.stack([(X[first == u] - book.scaling.shift).sum(axis=0) for u in range(12)]) / book.scaling.unit
    np.testing.assert_allclose(total.sums, sums, atol=1e-12)
    np.testing.assert_array_equal(total.counts, np.bincount(first, minlength=12))
    assert total.distances * book.scaling.unit == pytest.approx(D.min(axis=1).sum(), rel=1e-12)
    assert total.squares * book.scaling.unit**2 == pytest.approx((D.min(axis=1) ** 2).sum(), rel=1e-12)
    apart = np.linalg.norm(grid.positions[first] - grid.positions[second], axis=1)
    assert total.torn == (apart > grid.neighbor_distance).sum()
    parts = SumByPrototype(book, grid)(xp.asarray(X[:40])) + SumByPrototype(book, grid)(xp.asarray(X[40:]))
    np.testing.assert_allclose(parts.sums, total.sums, atol=1e-12)
    assert (parts.torn, parts.rows) == (total.torn, 150)


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10**6), k=st.integers(1, 12), whole=st.booleans(), far=st.sampled_from([0.0, 1e6]))
def test_all_array_libraries_give_the_same_sums(seed, k, whole, far):
    xp = pytest.importorskip("array_api_strict")
    X, W = rows(60, 3, seed), rows(k, 3, seed + 1)
    if whole:  # many ties
        X, W = np.round(X), np.round(W)
    X, W = X + far, W + far
    weights = np.random.default_rng(seed).integers(0, 3, 60).astype(float)
    book = Codebook.of(W)
    ours, other = SumByPrototype(book)(X, weights), SumByPrototype(book)(xp.asarray(X), weights)
    np.testing.assert_array_equal(ours.counts, other.counts)
    np.testing.assert_allclose(ours.sums, other.sums, atol=1e-9)
    assert ours.squares == pytest.approx(other.squares, abs=1e-9)
    assert ours.counts.sum() == weights.sum()

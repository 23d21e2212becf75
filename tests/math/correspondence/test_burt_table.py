"""The Burt table: products of indicators, merged over slabs."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lowland.math.correspondence import burt_table
from lowland.math.correspondence.burt_table import BurtTableOf, standardized
from lowland.math.correspondence.coding import Coding


def coding_of(sizes):
    return Coding.of(range(len(sizes)), [np.arange(size, dtype=float) for size in sizes], [False] * len(sizes))


def indicators(X, sizes):
    return np.concatenate([(X[:, [j]] == np.arange(size)).astype(float) for j, size in enumerate(sizes)], axis=1)


def drawn(seed, sizes, n=50, missing=0.0):
    rng = np.random.default_rng(seed)
    X = np.stack([rng.integers(0, size, n) for size in sizes], axis=1).astype(float)
    X[rng.random(X.shape) < missing] = np.nan
    return X


@pytest.mark.parametrize("missing", [0.0, 0.3])
@settings(max_examples=25, deadline=None)
@given(sizes=st.lists(st.integers(1, 6), min_size=1, max_size=8), seed=st.integers(0, 1000))
def test_it_is_the_product_of_the_indicators(missing, sizes, seed):
    X = drawn(seed, sizes, missing=missing)
    Z = indicators(X, sizes)
    answers = np.maximum(Z.sum(axis=1, keepdims=True), 1)
    table = BurtTableOf(coding_of(sizes))(X)
    np.testing.assert_allclose(table.pairs, (Z / answers).T @ Z, atol=1e-12)
    np.testing.assert_array_equal(table.counts, Z.sum(axis=0))
    assert table.passive == np.isnan(X).sum()
    assert table.empty == (Z.sum(axis=1) == 0).sum()
    parts = BurtTableOf(coding_of(sizes))(X[:20]) + BurtTableOf(coding_of(sizes))(X[20:])
    np.testing.assert_allclose(parts.pairs, table.pairs, atol=1e-12)
    assert (parts.rows, parts.passive, parts.empty) == (table.rows, table.passive, table.empty)


@pytest.mark.parametrize("cells", [1, 7, 1000])
def test_groups_of_any_size_count_the_same(cells, monkeypatch):
    sizes = [3, 2, 5, 4, 2]
    X = drawn(0, sizes)
    expected = BurtTableOf(coding_of(sizes))(X)
    monkeypatch.setattr(burt_table, "_MOST_CELLS", cells)
    np.testing.assert_allclose(BurtTableOf(coding_of(sizes))(X).pairs, expected.pairs)


def test_levels_that_do_not_occur_are_dropped():
    X = np.array([[0.0, 2.0], [0.0, 0.0]])
    table, used = BurtTableOf(coding_of([2, 3]))(X).without_empty_levels()
    assert used.tolist() == [True, False, True, False, True]
    assert table.pairs.shape == (3, 3)


def test_standardized():
    sizes = [3, 4, 2]
    X = drawn(1, sizes)
    Z = indicators(X, sizes)
    P = Z / Z.sum()
    expected = np.outer(P.sum(axis=1), P.sum(axis=0))
    S = (P - expected) / np.sqrt(expected)
    masses, A = standardized(BurtTableOf(coding_of(sizes))(X))
    np.testing.assert_allclose(A, S.T @ S, atol=1e-14)
    np.testing.assert_allclose(masses, P.sum(axis=0))

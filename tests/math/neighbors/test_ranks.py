"""Ranks of neighbors against sorting every row."""

import numpy as np
import pytest

from lowland.kernels import ranks as kernels
from lowland.math.neighbors.ranks import PointSet, ShuffledPoints
from lowland.run.run import Run


def test_shuffling_changes_only_ties(rng):
    X = rng.standard_normal((60, 3))
    side = PointSet.of(X)
    shuffled = ShuffledPoints.of(side)
    np.testing.assert_array_equal(shuffled.nearest(5, Run()), side.nearest(5, Run()))
    tied = ShuffledPoints.of(PointSet.of(np.zeros((60, 3))))
    first = tied.order(np.arange(60))[:, 0]
    assert len(np.unique(first)) == 60  # no point is preferred by many rows


def test_very_large_values_are_scaled_by_a_power_of_two(rng):
    X = rng.standard_normal((30, 3))
    far = PointSet.of(X * 2.0**400)
    np.testing.assert_array_equal(
        far.distances(np.arange(3)) * far.length, PointSet.of(X).distances(np.arange(3)) * 2.0**400
    )


def order_of(row, me, around):
    """The other points by distance, ties by index, or by the cyclic order after ``me``."""
    n = len(row)
    places = (np.arange(n) - me) % n if around else np.arange(n)
    order = np.lexsort((places, row))
    return order[order != me]


@pytest.fixture
def table(rng):
    X = rng.integers(0, 4, (60, 2)).astype(float)
    return X, ((X[:, None] - X[None]) ** 2).sum(axis=2)


@pytest.mark.parametrize("around", [False, True])
def test_ranks_are_positions_in_the_sorted_order(table, rng, around):
    X, D = table
    own, targets = np.array([3, 40, 59]), np.array([[0, 58, 7], [41, 1, 2], [0, 30, 58]])
    orders = np.array([order_of(D[me], me, around) for me in own])
    expected = np.array([[list(o).index(j) + 1 for j in row] for o, row in zip(orders, targets, strict=True)])
    found = np.empty((3, 3), dtype=np.int64)
    kernels.rank_by_counting(D[own], own, around, targets, found)
    np.testing.assert_array_equal(found, expected)
    found[:] = 0
    kernels.rank_by_measuring(X[own], np.ascontiguousarray(X.T), 2.0, own, around, targets, found)
    np.testing.assert_array_equal(found, expected)
    settled = np.empty((3, 59), dtype=np.int32)
    for last in (63, 2**52 - 1):  # the distances differ in the bits of the key, or only in the others
        keys = np.empty((3, 60), dtype=np.uint64)
        kernels.write_keys(D[own].view(np.uint64), own, around, np.uint64(last), keys)
        kernels.points_of_keys(np.sort(keys, axis=1), own, around, np.uint64(last), D[own], settled)
        np.testing.assert_array_equal(settled, orders)
    all_ranks = PointSet(X, around=around).all_ranks(own)
    np.testing.assert_array_equal(np.take_along_axis(all_ranks, targets, axis=1), expected)


def test_counting_by_products_recomputes_uncertain_pairs(table):
    X, D = table
    own = np.array([5, 22])
    targets = np.array([[1, 9], [40, 0]])
    powers = np.take_along_axis(D[own], targets, axis=1)
    V = -2 * X[own] @ X.T
    counts = np.zeros((2, 2), dtype=np.int64)
    squares = (X**2).sum(axis=1)
    unit = 0.01  # as if products had errors of some percent
    measured = kernels.count_by_products(
        V, squares, 0, own, False, targets, powers, powers, squares[own], squares.max() ** 0.5, unit, X, counts
    )
    expected = [[list(order_of(D[me], me, False)).index(j) for j in row] for me, row in zip(own, targets, strict=True)]
    assert counts.tolist() == expected
    assert measured > 0

"""Ranks of neighbors against sorting every row."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from lowland.kernels import ranks as kernels
from lowland.math.neighbors.ranks import PointSet, ShuffledPoints
from lowland.run.local import LocalRun


def sorted_ranks(D):
    """The rank of every point in every row, ties by index; the point itself has 0."""
    D = D.copy()
    np.fill_diagonal(D, -1)
    ranks = np.empty(D.shape, dtype=int)
    np.put_along_axis(ranks, np.argsort(D, axis=1, kind="stable"), np.arange(len(D))[None, :], axis=1)
    return ranks


@pytest.mark.parametrize("d", [2, 40])  # by comparing, and by products
@pytest.mark.parametrize("some", [False, True])
def test_ranks_are_positions_in_the_sorted_row(rng, d, some):
    X = rng.integers(0, 3, (90, d)).astype(float)
    side, truth = PointSet.of(X), sorted_ranks(np.round(cdist(X, X) ** 2))
    rows = rng.permutation(90)[:20] if some else None
    own = np.arange(90) if rows is None else rows
    targets = (own[:, None] + np.array([1, 7, 30])) % 90
    expected = np.take_along_axis(truth[own], targets, axis=1)
    np.testing.assert_array_equal(side.ranks(targets, LocalRun(), rows), expected)
    ranks, near = side.ranks_and_nearest(targets, 4, LocalRun(), rows)
    np.testing.assert_array_equal(ranks, expected)
    np.testing.assert_array_equal(np.take_along_axis(truth[own], near, axis=1), np.tile([1, 2, 3, 4], (len(own), 1)))
    np.testing.assert_array_equal(side.all_ranks(own), truth[own])


def test_shuffling_changes_only_ties(rng):
    X = rng.standard_normal((60, 3))
    side = PointSet.of(X)
    shuffled = ShuffledPoints.of(side)
    np.testing.assert_array_equal(shuffled.nearest(5, LocalRun()), side.nearest(5, LocalRun()))
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
    all_ranks = np.empty((3, 60), dtype=np.int32)
    kernels.ranks_of_orders(settled, all_ranks)
    np.testing.assert_array_equal(np.take_along_axis(all_ranks, targets, axis=1), expected)


def test_counting_by_products_recomputes_uncertain_pairs(table):
    X, D = table
    own = np.array([5, 22])
    targets = np.array([[1, 9], [40, 0]])
    powers = np.take_along_axis(D[own], targets, axis=1)
    V = -2 * X[own] @ X.T
    a2 = (X[own] ** 2).sum(axis=1)[:, None]
    counts = np.zeros((2, 2), dtype=np.int64)
    slack = 1.0  # as if products had such errors
    measured = kernels.count_by_products(
        V, (X**2).sum(axis=1), 0, own, False, targets, powers, powers - a2 - slack, powers - a2 + slack, X, counts
    )
    expected = [[list(order_of(D[me], me, False)).index(j) for j in row] for me, row in zip(own, targets, strict=True)]
    assert counts.tolist() == expected
    assert measured > 0


def test_ties_go_to_the_next_index_after_the_row():
    D = np.array([[1.0, 0.0, 1.0, 1.0, 0.5]])
    near = np.array([[4, 0]], dtype=np.int32)
    kernels.settle_nearest(D, np.array([1]), near)
    assert near.tolist() == [[4, 2]]  # of the ties 0, 2 and 3, the next index after 1

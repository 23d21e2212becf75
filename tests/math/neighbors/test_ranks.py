"""Ranks of neighbors against sorting every row."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

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

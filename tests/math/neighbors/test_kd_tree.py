"""The k-d tree against comparing every pair."""

import numpy as np
import pytest

import lowland
from lowland.math.neighbors.brute_force import BruteForce
from lowland.math.neighbors.kd_tree import KDTree
from lowland.math.neighbors.searcher import MetricSpace
from lowland.run.local import LocalRun, serial_run


@pytest.fixture
def both(rng):
    X = rng.integers(0, 6, (300, 3)).astype(float)  # many ties and duplicates
    return KDTree(X, MetricSpace("euclidean", 2.0)), BruteForce(X, "euclidean")


def test_the_tree_agrees_with_brute_force(both, rng):
    tree, brute = both
    labels, rows = rng.integers(0, 4, 300), rng.permutation(300)[:50]
    for options in ({}, {"rows": rows}, {"labels": labels}, {"rows": rows, "labels": labels}):
        for mine, theirs in zip(
            tree.nearest(5, LocalRun(), **options), brute.nearest(5, LocalRun(), **options), strict=True
        ):
            np.testing.assert_array_equal(mine, theirs)
    Y = rng.random((7, 3)) * 6
    np.testing.assert_array_equal(tree.nearest_to(Y, 4)[0], brute.nearest_to(Y, 4)[0])
    for mine, theirs in zip(tree.within(1.5, LocalRun()), brute.within(1.5, LocalRun()), strict=True):
        np.testing.assert_array_equal(mine, theirs)


def test_the_shortest_edge_from_each_label_to_another(both, rng):
    labels, rows = rng.integers(0, 4, 300), np.arange(300)
    mine, theirs = (each.nearest_in_other_component(rows, labels, LocalRun())[1] for each in both)
    for label in range(4):
        assert mine[labels == label].min() == theirs[labels == label].min()


def test_a_tree_computes_few_of_the_distances(rng):
    plane = KDTree(rng.random((3000, 2)), MetricSpace("euclidean", 2.0))
    assert plane.points_measured(5) < 300
    with lowland.config(threads=3):
        several = plane.nearest(5, LocalRun())
    np.testing.assert_array_equal(several[0], plane.nearest(5, serial_run())[0])

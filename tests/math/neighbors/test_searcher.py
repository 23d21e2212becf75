"""Edges that a search returns: sorted, concatenated, and refused beyond the memory budget."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from lowland.math.neighbors.search import nearest_neighbors
from lowland.math.neighbors.searcher import MetricSpace
from lowland.run.local import LocalRun


def test_rows_of_zeros_are_orthogonal_to_others_and_equal_to_each_other():
    X = np.array([[1.0, 0], [2, 0], [0, 0], [0, 0], [0, 3], [1, 3]])
    indices, distances = nearest_neighbors(X, 2, LocalRun(), metric="cosine").table()
    assert indices[0, 0] == 1
    assert distances[0, 0] == 0
    assert indices[2, 0] == 3
    assert distances[2].tolist() == [0, 1]


@pytest.mark.parametrize("metric", ["euclidean", "sqeuclidean", "manhattan", "chebyshev", "cosine", "correlation"])
def test_minkowski_distances_of_the_points_of_the_space_give_the_metric(rng, metric):
    X = rng.standard_normal((12, 4)) + 1
    space = MetricSpace.of(metric, {})
    P = space.points(X)
    E = np.abs(P[:, None] - P[None])
    powers = E.max(axis=2) if space.p == np.inf else (E**space.p).sum(axis=2)
    D = cdist(X, X, {"manhattan": "cityblock"}.get(metric, metric))
    np.testing.assert_allclose(space.lengths(powers), D, atol=1e-12)
    np.testing.assert_allclose(space.lengths(np.array([space.reach(0.7)])), 0.7, rtol=1e-15)

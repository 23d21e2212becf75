"""The plain-matrix functions: documented, and correct on matrices computed by hand."""

import inspect

import numpy as np
import pytest

from lowland import algorithms


@pytest.mark.parametrize("name", algorithms.__all__)
def test_every_function_is_documented(name):
    assert inspect.getdoc(getattr(algorithms, name))


def test_a_covariance_gives_its_axes():
    S = np.array([[4.0, 0.0, 0.0], [0.0, 2.0, 1.0], [0.0, 1.0, 2.0]])  # eigenvalues 4, 3, 1
    found = algorithms.principal_axes_of_covariance(S, 2)
    np.testing.assert_allclose(found.values, [4, 3])
    np.testing.assert_allclose(found.vectors, np.array([[1, 0], [0, 0.5**0.5], [0, 0.5**0.5]]), atol=1e-14)


def test_whitening_makes_the_covariance_the_identity():
    S = np.array([[2.0, 1.0], [1.0, 2.0]])
    W = algorithms.whitening_matrix(S, "zca").W
    np.testing.assert_allclose(W @ S @ W.T, np.eye(2), atol=1e-14)
    np.testing.assert_allclose(W, W.T)


def test_distances_give_coordinates():
    D = np.abs(np.subtract.outer([0.0, 1.0, 3.0], [0.0, 1.0, 3.0]))  # three points on a line
    Z = algorithms.classical_scaling(D, 1).Z
    np.testing.assert_allclose(np.abs(Z - Z.T), D, atol=1e-12)
    for of in (algorithms.stress_majorization, algorithms.sammon_coordinates):
        Z = of(D, 1).Z
        np.testing.assert_allclose(np.abs(Z - Z.T), D, atol=1e-6)


def test_a_graph_gives_an_embedding():
    ring = np.zeros((4, 4))
    for i in range(4):
        ring[i, (i + 1) % 4] = ring[(i + 1) % 4, i] = 1.0
    np.testing.assert_array_equal(algorithms.geodesic_distances(ring)[0], [0, 1, 2, 1])
    found = algorithms.laplacian_eigenmaps(ring, 2)
    np.testing.assert_allclose(found.eigenvalues, [1, 1], atol=1e-12)  # of I - W/2: 0, 1, 1, 2
    np.testing.assert_allclose(np.linalg.norm(found.Z, axis=1), np.linalg.norm(found.Z[0]), rtol=1e-9)  # on a circle


def test_neighbors_of_points_on_a_line():
    graph = algorithms.nearest_neighbors(np.array([[0.0], [1.0], [3.0], [7.0]]), 1)
    indices, distances = graph.table()
    assert indices[:, 0].tolist() == [1, 0, 1, 2]
    assert distances[:, 0].tolist() == [1, 1, 2, 4]
    within = algorithms.neighbors_within(np.array([[0.0], [1.0], [3.0]]), 2.0)
    assert np.diff(within.start).tolist() == [1, 2, 1]

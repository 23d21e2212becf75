"""Weights of neighbors."""

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

from lowland.math.graphs.lle_weights import (
    BLOCK,
    WeightsOfNeighbors,
    coordinates_of_errors,
    error_matrix,
    lle_coordinates,
    reconstruction_weights,
    weight_matrix,
)
from lowland.math.neighbors.graph import NeighborGraph
from lowland.math.neighbors.out_of_sample import NearestAmong
from lowland.math.neighbors.search import nearest_neighbors
from lowland.run.local import LocalRun

RUN = LocalRun()


def weights(X, P, indices, reg=1e-3):
    m, k = indices.shape
    return reconstruction_weights(X, P, np.arange(m + 1) * k, indices.ravel().astype(np.int32), reg).reshape(m, k)


def by_numpy(X, P, indices, reg):
    """The formula of the textbook, point by point."""
    W = np.empty(indices.shape)
    for i, near in enumerate(indices):
        C = P[near] - X[i]
        G = C @ C.T
        w = np.linalg.solve(G + reg * np.trace(G) * np.eye(len(near)), np.ones(len(near)))
        W[i] = w / w.sum()
    return W


@pytest.mark.parametrize(("d", "k"), [(1, 1), (2, 3), (3, 12), (40, 7)])
def test_the_kernel_follows_the_textbook(d, k, rng):
    X, P = rng.standard_normal((30, d)), rng.standard_normal((50, d))
    indices = NearestAmong(P, k)(X)[0]
    np.testing.assert_allclose(weights(X, P, indices), by_numpy(X, P, indices, 1e-3), rtol=1e-9, atol=1e-12)


@settings(deadline=None, max_examples=30)
@given(
    st.integers(0, 2**32 - 1),
    st.floats(1e-3, 1e3),
    st.floats(-100, 100),
    st.integers(1, 6),
    st.sampled_from([1e-3, 0.1, 0]),
)
def test_rotations_shifts_and_scales_do_not_change_the_weights(seed, scale, shift, d, reg):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((20, d))
    Q = np.linalg.qr(rng.standard_normal((d, d)))[0]
    indices = np.argsort(((X[:, None] - X) ** 2).sum(axis=2), axis=1)[:, 1:6]
    Y = scale * (X @ Q + shift)
    np.testing.assert_allclose(weights(Y, Y, indices, reg), weights(X, X, indices, reg), atol=1e-6)


def test_a_point_is_reconstructed_from_its_neighbors():
    P = np.array([[0.0, 0.0], [4.0, 0.0], [0.0, 4.0]])
    x = np.array([[1.0, 2.0]])  # = 1/4 p0 + 1/4 p1 + 1/2 p2
    w = weights(x, P, np.array([[0, 1, 2]]), reg=0)
    np.testing.assert_allclose(w, [[0.25, 0.25, 0.5]], atol=1e-12)


def test_without_regularization_exact_weights_have_minimum_norm(rng):
    X, P = rng.uniform(-0.1, 0.1, (10, 2)), rng.standard_normal((8, 2))
    indices = np.tile(np.arange(8), (10, 1))  # 8 neighbors in a plane: five dimensions of exact weights
    W = weights(X, P, indices, reg=0)
    A = np.vstack([P.T, np.ones(8)])
    for x, w in zip(X, W, strict=True):
        np.testing.assert_allclose(w, np.linalg.pinv(A) @ np.append(x, 1), atol=1e-10)
    np.testing.assert_allclose(weights(X, P, indices, reg=1e-7), W, atol=1e-4)  # it is the limit for small values


def test_neighbors_that_coincide_with_the_point_have_equal_weights():
    P = np.ones((4, 3))
    np.testing.assert_allclose(weights(P[:1], P, np.array([[1, 2, 3]])), 1 / 3)
    np.testing.assert_allclose(weights(P[:1], P, np.array([[1, 2, 3]]), reg=0), 1 / 3)


def test_weights_are_accurate_far_from_the_origin(rng):
    X = rng.standard_normal((40, 3))
    indices = NearestAmong(X, 6)(X)[0][:, 1:]
    far = X + 2.0**20
    np.testing.assert_allclose(weights(far, far, indices), weights(far - 2.0**20, far - 2.0**20, indices), rtol=1e-12)


def test_rows_of_weights_sum_to_one_and_the_error_matrix_gives_the_error(rng):
    X = rng.standard_normal((60, 3))
    W = weight_matrix(X, nearest_neighbors(X, 7, RUN), RUN)
    np.testing.assert_allclose(W.sum(axis=1), 1)
    M, Z = error_matrix(W), rng.standard_normal((60, 2))
    np.testing.assert_allclose(np.trace(Z.T @ (M @ Z)), np.sum((Z - W @ Z) ** 2))
    np.testing.assert_allclose(M @ np.ones(60), 0, atol=1e-12)


def test_neighborhoods_of_different_sizes(rng):
    X = rng.standard_normal((5, 2))
    graph = NeighborGraph(
        np.array([0, 1, 4, 6, 7, 9]), np.array([1, 0, 2, 3, 1, 4, 0, 3, 2], dtype=np.int32), np.ones(9)
    )
    W = weight_matrix(X, graph, RUN).toarray()
    for i in range(5):
        near = graph.to[graph.start[i] : graph.start[i + 1]]
        np.testing.assert_allclose(W[i, near], by_numpy(X[[i]], X, near[None], 1e-3)[0], rtol=1e-9)


def test_threads_do_not_change_a_bit(rng):
    import lowland

    X = rng.standard_normal((BLOCK + 500, 3))
    graph = nearest_neighbors(X, 5, RUN)
    with lowland.config(threads=1):
        one = weight_matrix(X, graph, LocalRun())
    with lowland.config(threads=3):
        np.testing.assert_array_equal(weight_matrix(X, graph, LocalRun()).data, one.data)


def test_new_rows_are_the_weighted_means_of_their_neighbors(rng):
    P = rng.standard_normal((40, 3))
    A = rng.standard_normal((3, 2))
    place = WeightsOfNeighbors(
        NearestAmong(P, 4), P @ A, 0.0
    )  # affine images: four neighbors reconstruct a point exactly
    X = rng.standard_normal((6, 3))
    np.testing.assert_allclose(place(X), X @ A, atol=1e-8)


def test_coordinates_of_three_points_on_a_line_by_hand():
    """(I - W)'(I - W) of the middle point alone, w = (½, ½): the null space is spanned by (1, 1, 1) and (1, 0, -1)."""
    W = np.array([[1, 0, 0], [0.5, 0, 0.5], [0, 0, 1]])  # the end points reconstruct themselves: no error
    for found in (lle_coordinates(W, 1), lle_coordinates(scipy.sparse.csr_array(W), 1)):
        np.testing.assert_allclose(np.abs(found.Z[:, 0]), np.array([1, 0, 1]) / np.sqrt(2), atol=1e-12)
        np.testing.assert_allclose(found.eigenvalues, 0, atol=1e-14)


def test_coordinates_are_orthonormal_and_their_errors_are_the_eigenvalues(rng):
    X = rng.random((60, 2))
    W = weight_matrix(X, nearest_neighbors(X, 6, LocalRun()), LocalRun())
    found = lle_coordinates(W, 3)
    M = error_matrix(W)
    np.testing.assert_allclose(found.Z.T @ found.Z, np.eye(3), atol=1e-10)
    np.testing.assert_allclose(found.Z.sum(axis=0), 0, atol=1e-6)
    np.testing.assert_allclose(np.diag(found.Z.T @ (M @ found.Z)), found.eigenvalues, atol=1e-12)
    same = coordinates_of_errors(M, 3)
    np.testing.assert_array_equal(same.Z, found.Z)

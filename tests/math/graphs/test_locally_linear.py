"""Weights of neighbors."""

import numpy as np
import pytest
import scipy.sparse
import sklearn.manifold._locally_linear as theirs
from hypothesis import given, settings
from hypothesis import strategies as st

from lowland.data import load_dataset
from lowland.math.graphs import locally_linear as module
from lowland.math.graphs.locally_linear import (
    BLOCK,
    WeightsOfNeighbors,
    add_reverse_edges,
    coordinates_of_errors,
    graph_with_points,
    lle_coordinates,
    modified_alignment,
    neighborhoods,
    points_to_add,
    reconstruction_weights,
    reinforce_bridges,
    sink_components,
    tangent_alignment,
    weight_matrix,
)
from lowland.math.neighbors.graph import NeighborGraph
from lowland.math.neighbors.search import NearestAmong, nearest_neighbors
from lowland.run.run import Run

RUN = Run()


def error_matrix(W):
    """(I - W)'(I - W)."""
    E = scipy.sparse.csr_array(scipy.sparse.eye_array(W.shape[0]) - W)
    return (E.T.tocsr() @ E).tocsr()


# --- weights ----------------------------------------------------------------------------------------------------------


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
def test_the_weights_follow_the_textbook(d, k, rng):
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


def test_neighborhoods_of_different_sizes(rng):
    X = rng.standard_normal((5, 2))
    graph = graph_of([1], [0, 2, 3], [1, 4], [0], [3, 2])
    W = weight_matrix(X, graph, RUN).toarray()
    np.testing.assert_allclose(W.sum(axis=1), 1)
    for i in range(5):
        near = graph.to[graph.start[i] : graph.start[i + 1]]
        np.testing.assert_allclose(W[i, near], by_numpy(X[[i]], X, near[None], 1e-3)[0], rtol=1e-9)


def test_new_rows_are_the_weighted_means_of_their_neighbors(rng):
    P = rng.standard_normal((40, 3))
    A = rng.standard_normal((3, 2))
    place = WeightsOfNeighbors(
        NearestAmong(P, 4), P @ A, 0.0
    )  # affine images: four neighbors reconstruct a point exactly
    X = rng.standard_normal((6, 3))
    np.testing.assert_allclose(place(X), X @ A, atol=1e-8)


def test_coordinates_are_orthonormal_and_their_errors_are_the_eigenvalues(rng):
    X = rng.random((60, 2))
    W = weight_matrix(X, nearest_neighbors(X, 6, Run()), Run())
    found = lle_coordinates(W, 3)
    M = error_matrix(W)
    np.testing.assert_allclose(found.Z.T @ found.Z, np.eye(3), atol=1e-10)
    np.testing.assert_allclose(found.Z.sum(axis=0), 0, atol=1e-6)
    np.testing.assert_allclose(np.diag(found.Z.T @ (M @ found.Z)), found.eigenvalues, atol=1e-12)
    same = coordinates_of_errors(M, 3)
    np.testing.assert_array_equal(same.Z, found.Z)


# --- neighborhoods ----------------------------------------------------------------------------------------------------


@pytest.fixture
def table(rng):
    """Rows that are mostly zero, and a graph of three members each."""
    X = np.where(rng.random((30, 40)) < 0.1, rng.standard_normal((30, 40)), 0.0)
    to = np.array([rng.choice(np.delete(np.arange(30), i), 3, replace=False) for i in range(30)])
    graph = NeighborGraph.of_table(to, np.ones((30, 3)), "given")
    return X, graph


@pytest.mark.parametrize("numbers", [200, 1 << 21])
def test_sparse_rows_have_the_differences_of_dense_rows(table, monkeypatch, numbers):
    X, graph = table
    monkeypatch.setattr(module, "_NUMBERS", numbers)
    seen = []
    for few in neighborhoods(scipy.sparse.csr_array(X), graph, 0, 30):
        assert few.table.shape[1] <= 40
        for i in range(few.first, few.last):
            a, b = few.start[i - few.first : i - few.first + 2]
            off = few.table[few.to[a:b]] - few.points[i - few.first]
            expected = X[graph.to[3 * i : 3 * i + 3]] - X[i]
            np.testing.assert_allclose(off @ off.T, expected @ expected.T, atol=1e-12)
            seen.append(i)
    assert seen == list(range(30))


# --- alignment --------------------------------------------------------------------------------------------------------


def graph_of(*neighbors):
    start = np.concatenate([[0], np.cumsum([len(each) for each in neighbors])])
    to = np.array([j for each in neighbors for j in each], dtype=np.int32)
    return NeighborGraph(start, to, np.ones(len(to)))


def matrix(kind, X, graph, k, reg=1e-3):
    if kind == "standard":
        return error_matrix(weight_matrix(X, graph, RUN, reg=reg))
    if kind == "modified":
        return modified_alignment(X, graph, k, RUN, reg=reg).sum(len(X))
    return tangent_alignment(X, graph, k, RUN, kind=kind).sum(len(X))


def scikit_learns(method, X, k, m, monkeypatch):
    """The matrix of which scikit-learn takes the null space."""
    caught = []

    def null_space(M, *args, **kwargs):
        caught.append(M)
        return np.zeros((len(X), k)), 0.0

    monkeypatch.setattr(theirs, "null_space", null_space)
    theirs.LocallyLinearEmbedding(n_neighbors=m, n_components=k, method=method, eigen_solver="dense").fit(X)
    return caught[0]


@pytest.mark.parametrize("method", ["standard", "modified", "ltsa"])
@pytest.mark.parametrize(("d", "k", "m"), [(3, 2, 8), (10, 2, 6)])
def test_alignment_matrices_agree_with_scikit_learn(method, d, k, m, rng, monkeypatch):
    X = load_dataset("swiss_roll", n=200).X if d == 3 else rng.standard_normal((200, d))
    M = matrix(method, X, nearest_neighbors(X, m, RUN), k).toarray()
    expected = scikit_learns(method, X, k, m, monkeypatch)
    np.testing.assert_allclose(M, expected, atol=1e-9 * np.abs(expected).max())


@pytest.mark.parametrize("kind", ["standard", "modified", "ltsa", "hessian"])
@pytest.mark.parametrize("d", [2, 12])
def test_flat_sheets_have_their_coordinates_in_the_null_space(kind, d, rng):
    U = rng.uniform(-1, 1, (80, 2))
    X = U @ np.linalg.qr(rng.standard_normal((d, d)))[0][:2] + 5.0
    M = matrix(kind, X, nearest_neighbors(X, 9, RUN), 2, reg=0)  # regularized weights are not exact
    np.testing.assert_allclose(M @ np.ones(80), 0, atol=1e-10)
    np.testing.assert_allclose(M @ U, 0, atol=1e-10)
    assert np.linalg.eigvalsh(M.toarray())[3] > 1e-9


@settings(deadline=None, max_examples=20)
@given(st.integers(0, 2**32 - 1), st.sampled_from(["modified", "ltsa", "hessian"]), st.integers(1, 3), st.booleans())
def test_matrices_are_positive_semidefinite_with_constants_in_the_null_space(seed, kind, k, duplicates):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((30, 4))
    if duplicates:  # half of them coincide with others
        X[15:] = X[rng.integers(0, 5, 15)]
    M = matrix(kind, X, nearest_neighbors(X, 11, RUN), k).toarray()
    assert np.isfinite(M).all()
    np.testing.assert_allclose(M, M.T, atol=1e-9)
    np.testing.assert_allclose(M.sum(axis=1), 0, atol=1e-8)
    assert np.linalg.eigvalsh(M).min() > -1e-9 * np.abs(M).max()


@pytest.mark.parametrize("d", [3, 20])
def test_hessian_matrices_follow_the_textbook(d, rng):
    """[1, U, products of U] made orthonormal by QR; the last columns estimate the second derivatives."""
    X, k = rng.standard_normal((40, d)), 2
    graph = nearest_neighbors(X, 9, RUN)
    expected = np.zeros((40, 40))
    for near in graph.table()[0]:
        C = X[near] - X[near].mean(axis=0)
        U = np.linalg.svd(C, full_matrices=False)[0][:, :k]
        columns = [np.ones((9, 1)), U, U[:, :1] * U, U[:, 1:] * U[:, 1:]]
        Q = np.linalg.qr(np.hstack(columns))[0][:, 1 + k :]
        expected[np.ix_(near, near)] += Q @ Q.T
    np.testing.assert_allclose(matrix("hessian", X, graph, k).toarray(), expected, atol=1e-10)


def test_threads_do_not_change_a_bit_alignment(rng):
    import lowland

    X = rng.standard_normal((BLOCK + 100, 3))
    graph = nearest_neighbors(X, 6, RUN)
    found = []
    for threads in (1, 3):
        with lowland.config(threads=threads):
            run = Run()
            found.append(tangent_alignment(X, graph, 2, run, kind="ltsa").sum(len(X)))
    np.testing.assert_array_equal(found[0].data, found[1].data)
    np.testing.assert_array_equal(found[0].indices, found[1].indices)


# --- strong components ------------------------------------------------------------------------------------------------


def test_components_that_no_edge_leaves():
    # 0-1-2 and 3-4 have edges only among themselves; 5 has edges to both, 6 only to 3
    graph = graph_of([1, 2], [0, 2], [0, 1], [4], [3], [2, 3], [3])
    count, cut_off = sink_components(graph)
    assert count == 2
    assert cut_off.tolist() == [False, False, False, True, True, False, True]
    opened = add_reverse_edges(graph, cut_off)
    assert sink_components(opened)[0] == 1
    assert opened.to[opened.start[3] : opened.start[4]].tolist() == [4, 5, 6]  # 3 gets reverse edges
    assert opened.to[opened.start[2] : opened.start[3]].tolist() == [0, 1]  # the largest component is unchanged


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 2**32 - 1), st.integers(2, 12))
def test_a_connected_graph_ends_with_one_sink_component(seed, n):
    rng = np.random.default_rng(seed)
    neighbors = [[] for _ in range(n)]
    for i in range(1, n):  # a tree with edges in random directions is connected
        a, b = rng.permutation([i, rng.integers(0, i)])
        neighbors[a].append(int(b))
    graph = graph_of(*neighbors)
    count, cut_off = sink_components(graph)
    assert (count > 1) == cut_off.any()
    assert sink_components(add_reverse_edges(graph, cut_off))[0] == 1


def test_points_in_no_other_neighborhood_are_added_to_their_own():
    graph = graph_of([1, 2], [0, 2], [0, 1], [0, 1])  # no edge leads to 3
    apart = points_to_add(graph)
    assert apart.tolist() == [False, False, False, True]
    whole = graph_with_points(graph, apart)
    assert whole.to[whole.start[3] : whole.start[4]].tolist() == [3, 0, 1]
    assert not points_to_add(whole).any()


def test_a_bridge_is_reinforced_by_the_neighborhoods_at_its_ends():
    graph = graph_of([1, 2], [0, 2], [0, 1, 3], [2, 4, 5], [3, 5], [3, 4])  # 2-3 joins two triangles
    label = np.array([0, 0, 0, 1, 1, 1])
    wide = reinforce_bridges(graph, label)
    crossing = {(int(i), int(j)) for i, j in zip(wide.sources, wide.to, strict=True) if label[i] != label[j]}
    assert crossing == {(2, 3), (3, 2)}  # half of two neighbors each, without the end point itself, is none
    larger = graph_of([1, 2, 3], [0, 2, 3], [0, 1, 3], [0, 1, 2, 4], [3, 5, 6, 7], [4, 6, 7], [4, 5, 7], [4, 5, 6])
    label = np.repeat([0, 1], 4)
    wide = reinforce_bridges(larger, label)
    crossing = {(int(i), int(j)) for i, j in zip(wide.sources, wide.to, strict=True) if i < j and label[i] != label[j]}
    assert crossing == {(0, 4), (0, 5), (3, 4), (3, 5)}

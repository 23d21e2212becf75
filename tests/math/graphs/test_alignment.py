"""Alignment matrices: agreement with scikit-learn and with the textbook, and their null spaces."""

import numpy as np
import pytest
import sklearn.manifold._locally_linear as theirs
from hypothesis import given, settings
from hypothesis import strategies as st

from lowland.data import load_dataset
from lowland.math.graphs.alignment import (
    LocalMatrices,
    bases_of,
    modified_alignment,
    tangent_alignment,
)
from lowland.math.graphs.lle_weights import BLOCK, error_matrix, weight_matrix
from lowland.math.neighbors.graph import NeighborGraph
from lowland.math.neighbors.search import nearest_neighbors
from lowland.run.local import LocalRun

RUN = LocalRun()


def graph_of(*neighbors):
    start = np.concatenate([[0], np.cumsum([len(each) for each in neighbors])])
    to = np.array([j for each in neighbors for j in each], dtype=np.int32)
    return NeighborGraph(start, to, np.ones(len(to)))


def matrix(kind, X, graph, k, reg=1e-3):
    if kind == "standard":
        return error_matrix(weight_matrix(X, graph, RUN, reg=reg))
    if kind == "modified":
        return modified_alignment(X, graph, k, RUN, reg=reg).sum(len(X), RUN)
    return tangent_alignment(X, graph, k, RUN, kind=kind).sum(len(X), RUN)


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
@pytest.mark.parametrize(("d", "k", "m"), [(3, 2, 8), (3, 1, 4), (10, 2, 6), (2, 2, 5)])
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


def test_the_sum_places_each_matrix_at_its_points(rng):
    graph = graph_of([3, 1], [0, 4, 2], [2], [0, 1, 2, 3], [])
    values = rng.standard_normal(bases_of(graph.start)[-1])
    local = LocalMatrices(graph.start, graph.to, values)
    expected = np.zeros((5, 5))
    for i in range(5):
        near = graph.to[graph.start[i] : graph.start[i + 1]]
        expected[np.ix_(near, near)] += values[local.bases[i] : local.bases[i + 1]].reshape(len(near), len(near))
    found = local.sum(5, RUN)
    np.testing.assert_allclose(found.toarray(), expected)
    assert found.has_sorted_indices


def test_threads_do_not_change_a_bit(rng):
    import lowland

    X = rng.standard_normal((BLOCK + 100, 3))
    graph = nearest_neighbors(X, 6, RUN)
    found = []
    for threads in (1, 3):
        with lowland.config(threads=threads):
            run = LocalRun()
            found.append(tangent_alignment(X, graph, 2, run, kind="ltsa").sum(len(X), run))
    np.testing.assert_array_equal(found[0].data, found[1].data)
    np.testing.assert_array_equal(found[0].indices, found[1].indices)


def test_float32_rows_are_processed_in_float64():
    X = load_dataset("swiss_roll", n=100).X.astype(np.float32)
    graph = nearest_neighbors(X.astype(np.float64), 8, RUN)
    for kind in ("standard", "modified", "ltsa", "hessian"):
        np.testing.assert_array_equal(
            matrix(kind, X, graph, 2).toarray(), matrix(kind, X.astype(np.float64), graph, 2).toarray()
        )

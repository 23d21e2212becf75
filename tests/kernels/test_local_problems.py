"""Small problems of neighborhoods against numpy's linear algebra."""

import numpy as np
import pytest

from lowland.kernels import local_problems


@pytest.fixture
def X(rng):
    return rng.standard_normal((12, 3)) + 50


START, MEMBERS = np.array([0, 5, 9]), np.array([1, 2, 3, 4, 5, 0, 6, 7, 8], dtype=np.int32)


@pytest.mark.parametrize("weigh", [local_problems.reconstruct, local_problems.reconstruct_by_directions])
def test_weights_solve_the_normal_equations(X, weigh):
    W = np.empty(9)
    weigh(X[:2], X, START, MEMBERS, 1e-2, W)
    for i in range(2):
        near = MEMBERS[START[i] : START[i + 1]]
        C = X[near] - X[i]
        G = C @ C.T
        w = np.linalg.solve(G + 1e-2 * np.trace(G) * np.eye(len(near)), np.ones(len(near)))
        np.testing.assert_allclose(W[START[i] : START[i + 1]], w / w.sum(), rtol=1e-9)


def test_neighbors_that_coincide_with_the_point_have_equal_weights():
    X, W = np.ones((4, 2)), np.empty(3)
    for weigh in (local_problems.reconstruct, local_problems.reconstruct_by_directions):
        weigh(X[:1], X, np.array([0, 3]), np.array([1, 2, 3], dtype=np.int32), 1e-3, W)
        np.testing.assert_allclose(W, 1 / 3)


@pytest.mark.parametrize("d", [3, 9])  # fewer columns than members, and more
def test_directions_are_singular_vectors(rng, d):
    X = rng.standard_normal((12, d))
    q = min(d, 5)
    vectors, values = np.empty(9 * q), np.empty((2, q))
    local_problems.directions(X, 0, START, MEMBERS, vectors, values)
    for i in range(2):
        near = MEMBERS[START[i] : START[i + 1]]
        m = len(near)
        U, s, _ = np.linalg.svd(X[near] - X[i], full_matrices=False)
        r = min(q, m, d)
        np.testing.assert_allclose(values[i, :r] / values[i, 0], (s[:r] / s[0]) ** 2, rtol=1e-8)
        V = vectors[START[i] * q : START[i + 1] * q].reshape(q, m)
        np.testing.assert_allclose(np.abs(np.sum(V[:r] * U.T[:r], axis=1)), 1, atol=1e-8)


def test_tangent_matrices_annihilate_linear_functions(X):
    bases = np.array([0, 25])
    L = np.empty(25 + 16)
    local_problems.tangent_matrices(X, 0, START, MEMBERS, 2, False, bases, L)
    for i, base in enumerate(bases):
        near = MEMBERS[START[i] : START[i + 1]]
        m = len(near)
        U = np.linalg.svd(X[near] - X[near].mean(axis=0), full_matrices=False)[0][:, :2]
        B = np.column_stack([np.full(m, m**-0.5), U])
        np.testing.assert_allclose(L[base : base + m * m].reshape(m, m), np.eye(m) - B @ B.T, atol=1e-10)


def test_matrices_are_summed_at_the_points_of_their_sets(rng):
    import scipy.sparse

    L, bases = rng.standard_normal(25 + 16), np.array([0, 25])
    expected = np.zeros((12, 12))
    for i, base in enumerate(bases):
        near = MEMBERS[START[i] : START[i + 1]]
        expected[np.ix_(near, near)] += L[base : base + len(near) ** 2].reshape(len(near), -1)
    places = np.concatenate([np.arange(5), np.arange(4)]).astype(np.int32)
    B = scipy.sparse.csr_array((places, MEMBERS, START), shape=(2, 12)).tocsc()
    counts = np.empty(12, dtype=np.int64)
    marks = np.full(12, -1, dtype=np.int32)
    local_problems.count_entries(0, 12, START, MEMBERS, B.indptr, B.indices, marks, counts)
    begin = np.concatenate([[0], np.cumsum(counts)])
    columns, values = np.empty(begin[-1], dtype=np.int32), np.empty(begin[-1])
    marks[:] = -1
    local_problems.sum_matrices(
        0, 12, START, MEMBERS, bases, L, B.indptr, B.indices, B.data, marks, np.empty(12), begin, columns, values
    )
    found = scipy.sparse.csr_array((values, columns, begin), shape=(12, 12))
    np.testing.assert_allclose(found.toarray(), expected, atol=1e-14)

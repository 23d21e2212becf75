"""Affinities and Laplacians: spectra known in closed form, one zero per component; the Nyström extension."""

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist

from lowland.errors import DataError
from lowland.math.graphs.affinities import (
    affinity_components,
    edge_weights,
    kernel_sum_bandwidth,
    median_squared,
    sampled_distances,
    submatrix,
    symmetric_affinities,
)
from lowland.math.graphs.laplacian import (
    Laplacian,
    ShiftedLaplacian,
    diffusion_coordinates,
    diffusion_time,
    laplacian_eigenmaps,
    slowest_modes,
)
from lowland.math.graphs.nystrom import HeatTo, Nystrom, NystromNearest, check_new_affinities
from lowland.math.neighbors.graph import NeighborGraph
from lowland.math.neighbors.search import NearestAmong, nearest_neighbors
from lowland.run.run import Run

RUN = Run()


def path(n):
    return np.diag(np.ones(n - 1), 1) + np.diag(np.ones(n - 1), -1)


def cycle(n):
    W = path(n)
    W[0, -1] = W[-1, 0] = 1
    return W


def star(n):
    W = np.zeros((n, n))
    W[0, 1:] = W[1:, 0] = 1
    return W


def random_graph(n, share, seed):
    rng = np.random.default_rng(seed)
    W = np.triu(rng.random((n, n)) * (rng.random((n, n)) < share), 1)
    return W + W.T


def modes_of(W, k, *, normalized=True, kind=np.asarray, **options):
    W = kind(W)
    L = Laplacian.of(W, RUN, normalized=normalized)
    return slowest_modes(L, k, RUN, label=affinity_components(W), rng=np.random.default_rng(0), **options)


# --- spectra in closed form -------------------------------------------------------------------------------------------

N = 12
PATH = 2 - 2 * np.cos(np.pi * np.arange(N) / N)
CYCLE = np.sort(2 - 2 * np.cos(2 * np.pi * np.arange(N) / N))
STAR = np.r_[0.0, np.ones(N - 2), N]
NORMALIZED_PATH = 1 - np.cos(np.pi * np.arange(N) / (N - 1))
NORMALIZED_STAR = np.r_[0.0, np.ones(N - 2), 2.0]


@pytest.mark.parametrize("kind", [np.asarray, scipy.sparse.csr_array])
@pytest.mark.parametrize(
    ("W", "normalized", "spectrum"),
    [
        (path(N), False, PATH),
        (cycle(N), False, CYCLE),
        (star(N), False, STAR),
        (path(N), True, NORMALIZED_PATH),
        (cycle(N), True, CYCLE / 2),
        (star(N), True, NORMALIZED_STAR),
    ],
)
def test_spectra_of_paths_cycles_and_stars(W, normalized, spectrum, kind):
    modes = modes_of(W, N, normalized=normalized, kind=kind, drop_first=False)
    np.testing.assert_allclose(modes.values, spectrum, atol=1e-12)


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10_000), share=st.floats(0.02, 0.5), normalized=st.booleans())
def test_eigenvalues_are_nonnegative_with_one_zero_per_component(seed, share, normalized):
    W = random_graph(30, share, seed)
    L = Laplacian.of(scipy.sparse.csr_array(W), RUN, normalized=normalized).matrix().toarray()
    np.testing.assert_allclose(L, L.T)
    values = np.linalg.eigvalsh(L)
    assert values[0] > -1e-10
    label = affinity_components(scipy.sparse.csr_array(W))
    assert np.sum(values < 1e-9) == label.max() + 1
    assert np.array_equal(label, affinity_components(W))
    N = Laplacian.of(W, RUN, normalized=normalized).null_vectors(label)
    np.testing.assert_allclose(L @ N, 0, atol=1e-12)


def test_the_diagonal_of_the_affinities_is_ignored():
    W = random_graph(15, 0.6, 0) + 0.1 * (1 - np.eye(15))
    for kind in (np.asarray, scipy.sparse.csr_array):
        for normalized in (True, False):
            a = modes_of(W, 3, normalized=normalized, kind=kind)
            b = modes_of(W + 5 * np.eye(15), 3, normalized=normalized, kind=kind)
            np.testing.assert_allclose(a.values, b.values, atol=1e-12)
            np.testing.assert_allclose(np.abs(a.vectors), np.abs(b.vectors), atol=1e-9)


@pytest.mark.parametrize("loops", [True, False])
@pytest.mark.parametrize("normalized", [True, False])
def test_dense_sparse_and_operator_forms_agree(loops, normalized):
    rng = np.random.default_rng(0)
    W = random_graph(25, 0.4, 1) + np.diag(rng.random(25))
    W[3] = W[:, 3] = 0  # a point without edges
    g = None if not normalized else rng.random(25) + 0.5
    options = {"normalized": normalized, "loops": loops, "density": g}
    dense = Laplacian.of(W, RUN, **options)
    sparse = Laplacian.of(scipy.sparse.csr_array(W), RUN, **options)
    A = W if loops else W - np.diag(np.diag(W))
    A = A if g is None else A * np.outer(g, g)
    d = A.sum(axis=1)
    np.testing.assert_allclose(dense.degree, d, atol=1e-12)
    np.testing.assert_allclose(sparse.degree, d, atol=1e-12)
    r = np.sqrt(np.where(d > 0, d, 1))
    truth = np.diag(d) - A if not normalized else np.diag((d > 0) * 1.0) - A / np.outer(r, r)
    np.testing.assert_allclose(dense.matrix(), truth, atol=1e-12)
    np.testing.assert_allclose(sparse.matrix().toarray(), truth, atol=1e-12)
    shifted = ShiftedLaplacian(dense, RUN)
    np.testing.assert_allclose(shifted @ np.eye(25), shifted.top * np.eye(25) - truth, atol=1e-12)


def test_iteration_on_dense_affinities_agrees_with_lapack(monkeypatch):
    x = np.random.default_rng(0).standard_normal((200, 2))
    W = np.exp(-np.sum((x[:, None] - x[None]) ** 2, axis=-1))
    for normalized in (True, False):
        direct = modes_of(W, 3, normalized=normalized)
        with monkeypatch.context() as patch:
            patch.setattr("lowland.math.graphs.laplacian._SMALL", 50)
            iterated = modes_of(W, 3, normalized=normalized)
        assert iterated.outcome.name == "krylov" if normalized else "eigh"
        np.testing.assert_allclose(iterated.values, direct.values, atol=1e-10)
        np.testing.assert_allclose(np.abs(iterated.vectors), np.abs(direct.vectors), atol=1e-6)


# --- connected components ---


def test_null_vectors_indicate_components_and_eigenvalues_are_those_of_all_components():
    blocks = [cycle(7), path(5), np.zeros((1, 1))]
    W = scipy.sparse.block_diag(blocks).toarray()
    truth = np.sort(np.concatenate([np.linalg.eigvalsh(Laplacian.of(B, RUN).matrix()) for B in blocks]))
    for kind in (np.asarray, scipy.sparse.csr_array):
        modes = modes_of(W, 5, kind=kind)
        np.testing.assert_allclose(modes.values, truth[1:6], atol=1e-12)
        np.testing.assert_allclose(modes.vectors.T @ modes.vectors, np.eye(5), atol=1e-10)
        marks = modes.vectors[:, :2] != 0
        assert np.array_equal(np.flatnonzero(marks[:, 0]), np.arange(7, 12))
        assert np.array_equal(np.flatnonzero(marks[:, 1]), [12])
        assert modes_of(W, 2, kind=kind).outcome.name == "component indicators"


# --- eigenmaps --------------------------------------------------------------------------------------------------------


def test_eigenmaps_of_a_path_of_three_points_by_hand():
    """D - W has the eigenpairs 1, (1, 0, -1)/√2 and 3, (1, -2, 1)/√6; normalized, 1, (1, 0, -1)/√2 and 2."""
    for kind in (np.asarray, scipy.sparse.csr_array):
        found = laplacian_eigenmaps(kind(path(3)), 2, normalized=False)
        np.testing.assert_allclose(found.eigenvalues, [1, 3], atol=1e-12)
        np.testing.assert_allclose(np.abs(found.Z[:, 0]), np.array([1, 0, 1]) / np.sqrt(2), atol=1e-12)
        np.testing.assert_allclose(found.Z[:, 1] / found.Z[0, 1], [1, -2, 1], atol=1e-12)
        by_degree = laplacian_eigenmaps(kind(path(3)), 2)
        np.testing.assert_allclose(by_degree.eigenvalues, [1, 2], atol=1e-12)
        np.testing.assert_allclose(by_degree.Z.T @ np.diag([1, 2, 1]) @ by_degree.Z, np.eye(2), atol=1e-12)
        constant = laplacian_eigenmaps(kind(path(3)), 1, drop_first=False)
        assert np.ptp(constant.Z) < 1e-12


def test_a_weakly_connected_component_is_counted():
    W = scipy.sparse.block_diag([cycle(7), cycle(5)]).toarray()
    W[0, 7] = W[7, 0] = 1e-14
    assert laplacian_eigenmaps(W, 2).n_weak == 1
    assert laplacian_eigenmaps(W + 1e-3 * (1 - np.eye(12)), 2).n_weak == 0


# --- diffusion --------------------------------------------------------------------------------------------------------


def test_diffusion_time():
    values = np.array([0.9, 0.8, 0.45])
    t = diffusion_time(values, 2)
    assert t == 4.0  # (½)^4 < 0.1 < (½)^3
    assert diffusion_time(np.array([0.9, 0.9]), 1) == 1.0
    assert diffusion_time(values[:2], 2) == 1.0
    turns = np.array([[1.0, 3], [3, 1]])  # λ is -½, which has no root
    np.testing.assert_allclose(np.abs(diffusion_coordinates(turns, 1, 2).Z), 0.25)
    assert not diffusion_coordinates(turns, 1, 0.5).Z.any()


@pytest.mark.parametrize("alpha", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("t", [1, 2])
def test_euclidean_distances_are_diffusion_distances(rng, alpha, t):
    X = rng.random((20, 2))
    W = np.exp(-np.sum((X[:, None] - X[None]) ** 2, axis=-1) / 0.3)
    found = diffusion_coordinates(W, 19, t, alpha=alpha)
    q = W.sum(axis=1)
    K = W / np.outer(q, q) ** alpha
    degree = K.sum(axis=1)
    P = np.linalg.matrix_power(K / degree[:, None], t)
    pi = degree / degree.sum()
    np.testing.assert_allclose(found.stationary, pi, rtol=1e-12)
    np.testing.assert_allclose(found.density, q**-alpha, rtol=1e-12)
    expected = np.sqrt((((P[:, None] - P[None]) ** 2) / pi).sum(axis=-1))
    D = np.linalg.norm(found.Z[:, None] - found.Z[None], axis=-1)
    np.testing.assert_allclose(D, expected, atol=1e-9)


# --- affinities -------------------------------------------------------------------------------------------------------


def test_weights_of_edges():
    x = np.array([[0.0], [1.0], [3.0], [4.0], [9.0]])
    found = nearest_neighbors(x, 1, RUN)
    C = np.zeros((5, 5))
    C[[0, 1, 2, 3, 4], [1, 0, 3, 2, 3]] = 1
    graph = found.symmetric()
    np.testing.assert_array_equal(edge_weights(graph, "binary").toarray(), np.maximum(C, C.T))
    np.testing.assert_array_equal(edge_weights(graph, "average", found=found).toarray(), (C + C.T) / 2)
    D = np.abs(x - x.T)
    heat = np.where(np.maximum(C, C.T) > 0, np.exp(-(D**2) / 2.0), 0)
    np.testing.assert_allclose(edge_weights(graph, "heat", t=2.0).toarray(), np.maximum(heat, 1e-6 * (heat > 0)))
    joined = found.with_edges(np.array([1]), np.array([2]), np.array([2.0]))
    assert edge_weights(joined.symmetric(), "average", found=found)[1, 2] == 1
    duplicates = NeighborGraph(np.array([0, 1, 2]), np.array([1, 0]), np.zeros(2))
    assert edge_weights(duplicates, "heat").nnz == 2  # an edge of length zero is an edge


def test_invalid_affinities_are_refused():
    for kind in (np.asarray, scipy.sparse.csr_array):
        with pytest.raises(DataError, match=r"3 x 4.*square"):
            symmetric_affinities(kind(np.ones((3, 4))))
        with pytest.raises(DataError, match="negative"):
            symmetric_affinities(kind(-np.ones((3, 3))))


@pytest.mark.parametrize("kind", [np.asarray, scipy.sparse.csr_array, scipy.sparse.csr_matrix])
def test_asymmetric_affinities_are_averaged_with_their_transpose(kind):
    given = kind(np.ones((3, 3)))
    W, averaged = symmetric_affinities(given)
    assert W is given
    assert not averaged
    W, averaged = symmetric_affinities(kind(np.triu(np.ones((3, 3)))))
    assert averaged
    np.testing.assert_array_equal(W @ np.eye(3), (np.ones((3, 3)) + np.eye(3)) / 2)
    assert not symmetric_affinities(kind(np.ones((3, 3)) + 1e-15 * np.triu(np.ones((3, 3)))))[1]  # rounding


def test_an_edge_added_between_components_has_the_median_weight():
    x = np.array([[0.0], [1.0], [100.0], [101.0]])
    joined = nearest_neighbors(x, 1, RUN).symmetric().with_edges(np.array([1]), np.array([2]), np.array([99.0]))
    W = edge_weights(joined, "heat", t=1.0, label=np.array([0, 0, 1, 1]))
    np.testing.assert_allclose(W[[0, 1, 2]][:, [1, 2, 3]].diagonal(), np.exp(-1), rtol=1e-15)


@pytest.mark.parametrize("kind", [np.asarray, scipy.sparse.csr_array])
def test_components_are_numbered_by_size_and_zero_affinities_are_not_edges(kind):
    W = np.zeros((5, 5))
    for i, j, w in ((0, 1, 1.0), (2, 3, 1.0), (3, 4, 1.0), (1, 2, 1e-20)):
        W[i, j] = W[j, i] = w
    assert affinity_components(kind(W)).tolist() == [1, 1, 0, 0, 0]
    W[1, 2] = W[2, 1] = 1e-10
    assert affinity_components(kind(W)).tolist() == [0] * 5
    loops = W + 1e12 * np.eye(5)  # compared with which 1e-10 is rounding error
    assert affinity_components(kind(loops), loops=True).tolist() == [1, 1, 0, 0, 0]
    chosen = submatrix(kind(W), np.array([True, False, True, True, False]))
    np.testing.assert_array_equal(
        chosen.toarray() if scipy.sparse.issparse(chosen) else chosen, W[np.ix_([0, 2, 3], [0, 2, 3])]
    )


# --- bandwidth --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dimension", [1, 3])
def test_the_kernel_sum_gives_bandwidth_and_dimension(dimension):
    rng = np.random.default_rng(0)
    X = rng.random((1500, dimension))
    some = X[:300]
    D = np.sqrt(np.sum((some[:, None] - X[None]) ** 2, axis=-1))
    width = kernel_sum_bandwidth(D)
    assert abs(width.dimension - dimension) < 0.25 * dimension
    near = np.sort(D, axis=1)[:, 1] ** 2
    assert np.median(near) < width.epsilon < 0.3  # wider than the gaps, narrower than the data
    again = kernel_sum_bandwidth(1000 * D)
    np.testing.assert_allclose(again.epsilon, 1e6 * width.epsilon, rtol=1e-9)
    with pytest.raises(DataError, match="All rows are equal"):
        kernel_sum_bandwidth(np.zeros((3, 3)))


def test_the_binned_kernel_sum_equals_the_sum():
    x = np.linspace(0, 1, 80) ** 2
    D = np.abs(x - x[:, None])
    width = kernel_sum_bandwidth(D)
    S = D**2 / width.epsilon
    assert abs(2 * np.sum(S * np.exp(-S)) / np.sum(np.exp(-S)) - width.dimension) < 1e-3


def test_distances_of_sampled_rows_are_rows_of_the_matrix(rng):
    X = rng.random((700, 2))
    D = sampled_distances(X, "euclidean", {})
    assert D.shape == (500, 700)
    np.testing.assert_allclose(D[-1], np.linalg.norm(X - X[-1], axis=1), atol=1e-12)
    assert sampled_distances(D[:, :500], "precomputed", {}).shape == (500, 500)


def test_the_median_of_squared_lengths_ignores_zeros_if_most_are_zero():
    assert median_squared(np.array([1.0, 2.0, 3.0])) == 4.0
    assert median_squared(np.array([0.0, 0.0, 0.0, 3.0])) == 9.0
    assert median_squared(np.zeros(3)) == 1.0


@pytest.fixture
def X(rng):
    return rng.random((40, 2))


def heat(X):
    return np.exp(-cdist(X, X, "sqeuclidean") / 0.2)


def test_rows_without_affinity_have_no_coordinates(X):
    place = Nystrom(check_new_affinities, np.ones((40, 1)), np.ones(1), np.ones(1))
    with pytest.raises(DataError, match=r"Row 1 of the 2 .*has no affinity"):
        place(np.vstack([np.ones(40), np.zeros(40)]))
    with pytest.raises(DataError, match="negative affinity"):
        place(-np.ones((1, 40)))
    with pytest.raises(DataError, match=r"distances.*sparse matrix lacks some.*dense"):
        HeatTo(1.0, None)(scipy.sparse.csr_array((2, 40)))


def test_a_row_is_placed_among_its_neighbors_and_a_training_row_on_itself(X):
    Z = X[:, :1]
    place = NystromNearest(NearestAmong(X, 9), 3, np.zeros(40), Z, np.zeros(1), np.ones(1))
    np.testing.assert_array_equal(place(X), Z)
    new = X[:5] + 1e-3
    indices = NearestAmong(X, 3)(new)[0]
    np.testing.assert_allclose(place(new)[:, 0], Z[indices, 0].mean(axis=1), rtol=1e-12)
    assert np.isnan(place(np.full((1, 2), np.nan))).all()

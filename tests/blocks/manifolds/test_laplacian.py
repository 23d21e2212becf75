"""Laplacians: spectra known in closed form, parts and zeros, dense and sparse alike; widths, times, extension."""

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

from lowland.blocks.manifolds.bandwidth import kernel_sum_bandwidth, median_squared
from lowland.blocks.manifolds.diffusion import diffusion_time, powers
from lowland.blocks.manifolds.graph_affinities import affinity_components, check_affinities, edge_weights
from lowland.blocks.manifolds.laplacian import Laplacian, Turned, kept_parts, slowest_modes
from lowland.blocks.neighbors.graph import NeighborGraph
from lowland.blocks.neighbors.search import nearest_neighbors
from lowland.errors import DataError, DataWarning
from lowland.run.local import LocalRun

RUN = LocalRun()


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
def test_positive_with_as_many_zeros_as_parts(seed, share, normalized):
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


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10_000), factor=st.floats(1e-3, 1e3))
def test_factors_of_the_affinities(seed, factor):
    W = random_graph(20, 0.5, seed) + 0.1 * (1 - np.eye(20))
    for normalized, power in ((True, 0), (False, 1)):
        a, b = modes_of(W, 3, normalized=normalized), modes_of(W * factor, 3, normalized=normalized)
        np.testing.assert_allclose(b.values, a.values * factor**power, rtol=1e-8)


def test_what_a_point_shares_with_itself_does_not_count():
    W = random_graph(15, 0.6, 0) + 0.1 * (1 - np.eye(15))
    for kind in (np.asarray, scipy.sparse.csr_array):
        for normalized in (True, False):
            a = modes_of(W, 3, normalized=normalized, kind=kind)
            b = modes_of(W + 5 * np.eye(15), 3, normalized=normalized, kind=kind)
            np.testing.assert_allclose(a.values, b.values, atol=1e-12)
            np.testing.assert_allclose(np.abs(a.vectors), np.abs(b.vectors), atol=1e-9)


@pytest.mark.parametrize("loops", [True, False])
@pytest.mark.parametrize("normalized", [True, False])
def test_dense_sparse_and_operator_are_one(loops, normalized):
    rng = np.random.default_rng(0)
    W = random_graph(25, 0.4, 1) + np.diag(rng.random(25))
    W[3] = W[:, 3] = 0  # a point without links
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
    turned = Turned(dense, RUN)
    np.testing.assert_allclose(turned @ np.eye(25), turned.top * np.eye(25) - truth, atol=1e-12)


def test_an_iteration_on_dense_affinities_finds_what_lapack_finds(monkeypatch):
    x = np.random.default_rng(0).standard_normal((200, 2))
    W = np.exp(-np.sum((x[:, None] - x[None]) ** 2, axis=-1))
    for normalized in (True, False):
        direct = modes_of(W, 3, normalized=normalized)
        with monkeypatch.context() as patch:
            patch.setattr("lowland.blocks.manifolds.laplacian._SMALL", 50)
            iterated = modes_of(W, 3, normalized=normalized)
        assert iterated.solver.name == "krylov" if normalized else "eigh"
        np.testing.assert_allclose(iterated.values, direct.values, atol=1e-10)
        np.testing.assert_allclose(np.abs(iterated.vectors), np.abs(direct.vectors), atol=1e-6)


# --- parts ------------------------------------------------------------------------------------------------------------


def test_parts_are_marked_one_by_one_and_the_rest_is_that_of_each_part():
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
        assert modes_of(W, 2, kind=kind).solver.name == "parts"


def test_policies_on_given_affinities():
    label = np.array([0, 0, 0, 1])
    assert kept_parts(np.zeros(4, dtype=int), "error", "It", "Do this").all()
    with pytest.raises(DataError, match=r"2 parts.*of 3, 1 points\. Do this, or say disconnected='largest'"):
        kept_parts(label, "error", "It", "Do this")
    with pytest.warns(DataWarning, match="largest was kept; the other 1 rows"):
        assert kept_parts(label, "largest", "It", "Do this").tolist() == [True, True, True, False]
    with pytest.warns(DataWarning, match=r"no distances to join them by.*Do this\."):
        assert kept_parts(label, "connect", "It", "Do this").all()
    with pytest.warns(DataWarning, match="They were left"):
        assert kept_parts(label, "ignore", "It", "Do this").all()


# --- affinities -------------------------------------------------------------------------------------------------------


def test_weights_of_links():
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


def test_links_of_no_length_are_links():
    graph = NeighborGraph(np.array([0, 1, 2]), np.array([1, 0]), np.zeros(2))
    assert edge_weights(graph, "heat").nnz == 2
    assert median_squared(np.array([0.0, 0.0, 0.0, 3.0])) == 9.0


def test_what_is_no_affinity_is_refused():
    for kind in (np.asarray, scipy.sparse.csr_array):
        with pytest.raises(DataError, match=r"shape \(3, 4\).*square"):
            check_affinities(kind(np.ones((3, 4))))
        with pytest.raises(DataError, match="negative"):
            check_affinities(kind(-np.ones((3, 3))))
        with pytest.raises(DataError, match=r"(?s)\[\d, \d\].*not symmetric.*/ 2"):
            check_affinities(kind(np.triu(np.ones((3, 3)))))
        check_affinities(kind(np.ones((3, 3))))


# --- width and time ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dimension", [1, 2, 3])
def test_the_kernel_sum_tells_width_and_dimension(dimension):
    rng = np.random.default_rng(0)
    X = rng.random((1500, dimension))
    some = X[:300]
    D = np.sqrt(np.sum((some[:, None] - X[None]) ** 2, axis=-1))
    width = kernel_sum_bandwidth(D)
    assert abs(width.dimension - dimension) < 0.25 * dimension
    near = np.sort(D, axis=1)[:, 1] ** 2
    assert np.median(near) < width.epsilon < 0.3  # wider than the gaps, narrower than the whole
    again = kernel_sum_bandwidth(1000 * D)
    np.testing.assert_allclose(again.epsilon, 1e6 * width.epsilon, rtol=1e-9)
    with pytest.raises(DataError, match="All rows are equal"):
        kernel_sum_bandwidth(np.zeros((3, 3)))


def test_the_sum_by_bins_is_the_sum():
    D = np.abs(np.subtract.outer(np.linspace(0, 1, 80) ** 2, np.linspace(0, 1, 80) ** 2))
    width = kernel_sum_bandwidth(D)
    x = D**2 / width.epsilon
    assert abs(2 * np.sum(x * np.exp(-x)) / np.sum(np.exp(-x)) - width.dimension) < 1e-3


def test_time():
    values = np.array([0.9, 0.8, 0.45])
    t = diffusion_time(values, 2)
    assert t == 4.0  # (½)^4 < 0.1 < (½)^3
    assert diffusion_time(np.array([0.9, 0.9]), 1) == 1.0
    assert diffusion_time(values[:2], 2) == 1.0
    np.testing.assert_array_equal(powers(np.array([0.5, -0.5]), 2), [0.25, 0.25])
    np.testing.assert_array_equal(powers(np.array([0.25, -0.5]), 0.5), [0.5, 0.0])

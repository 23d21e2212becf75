"""Initial coordinates, and the fuzzy graph by its defining equations. Its reference is in tests/references."""

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

from lowland.errors import DataError
from lowland.math.embeddings import starts
from lowland.math.embeddings.fuzzy_graph import (
    connect_locally,
    fuzzy_graph,
    fuzzy_union,
    intersection,
    local_scales,
    mean_length,
    memberships,
    weaken_between_classes,
)
from lowland.math.embeddings.starts import ColumnReduction, separate_start
from lowland.math.graphs.affinities import affinity_components
from lowland.math.neighbors.graph import NeighborGraph
from lowland.math.neighbors.search import nearest_neighbors
from lowland.run.run import Run

RNG = np.random.default_rng(0)
X = RNG.standard_normal((200, 5)) * [5, 3, 1, 0.5, 0.1] + 7
RUN = Run()
WIDE = np.random.default_rng(0).standard_normal((600, 130)) * np.geomspace(3, 0.1, 130) + 5


def test_principal_components_are_those_of_the_svd():
    U, s, _ = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)
    Z = starts.principal_start(X, 2, Run(), RNG)
    np.testing.assert_allclose(np.abs(Z), np.abs(U[:, :2] * s[:2]), atol=1e-9)
    S = starts.principal_start(scipy.sparse.csr_array(X), 2, Run(), RNG)
    np.testing.assert_allclose(S, Z, atol=1e-8)


def test_more_dimensions_than_columns_are_filled_with_small_noise():
    Z = starts.principal_start(X[:, :1], 3, Run(), RNG)
    assert Z.shape == (200, 3)
    assert 0 < np.abs(Z[:, 1:]).max() < 0.01 * np.abs(Z[:, 0]).max()


def test_scaling_of_a_start():
    Z = starts.scale_deviation(RNG.standard_normal((300, 2)) * 9 + 4, 1e-4)
    assert np.std(Z[:, 0]) == pytest.approx(1e-4)
    np.testing.assert_allclose(Z.mean(axis=0), 0, atol=1e-12)
    assert np.abs(starts.scale_largest(Z, 10.0)).max() == pytest.approx(10)
    wide = starts.scale_range(np.column_stack([Z * [1, 3], np.ones(300)]), 10.0)
    np.testing.assert_allclose(wide.min(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(wide.max(axis=0), [10, 10, 0])
    assert np.std(starts.add_jitter(np.zeros((3000, 2)), 0.1, RNG)) == pytest.approx(0.1, rel=0.05)


def test_spectral_start_of_a_path_is_monotone():
    n = 60
    W = scipy.sparse.diags_array([np.ones(n - 1), np.ones(n - 1)], offsets=[-1, 1], format="csr")
    z = starts.spectral_start(W, 1, Run(), RNG)[:, 0]
    assert (np.diff(z) > 0).all() or (np.diff(z) < 0).all()


def test_given_coordinates_are_copied_and_checked():
    init = np.eye(4, 2)
    Z = starts.given_start(init, 4, 2)
    Z[:] = 5
    assert (init == np.eye(4, 2)).all()
    with pytest.raises(DataError, match="shape"):
        starts.given_start(init, 5, 2)
    with pytest.raises(DataError, match="NaN"):
        starts.given_start(np.full((4, 2), np.nan), 4, 2)
    with pytest.raises(DataError, match="equal"):
        starts.given_start(np.ones((4, 2)), 4, 2)


def test_the_spectral_start_of_a_device_is_that_of_the_host():
    torch = pytest.importorskip("torch")
    from lowland.math.embeddings.descent import TensorEdges
    from lowland.math.embeddings.fuzzy_graph import fuzzy_graph
    from lowland.math.neighbors.search import nearest_neighbors

    angle = np.linspace(0, 5, 400)
    arc = np.column_stack([np.cos(angle), np.sin(angle)]) + 0.01 * RNG.standard_normal((400, 2))
    graph = fuzzy_graph(nearest_neighbors(arc, 12), Run())
    home = torch.zeros(1)
    found = starts.spectral_start_on_device(
        TensorEdges.of(graph.start, graph.to, home), torch.as_tensor(graph.weight), 2, Run(), RNG
    )
    expected = starts.spectral_start(graph.matrix(), 2, Run(), RNG)
    for c in range(2):
        assert abs(np.corrcoef(found[:, c], expected[:, c])[0, 1]) > 0.99


def test_landmark_start_is_the_principal_components_of_complete_rows():
    Z = starts.landmark_start(X, 2, Run(), RNG, "nan_euclidean", {})
    P = starts.principal_start(X, 2, Run(), RNG)
    np.testing.assert_allclose(np.abs(Z), np.abs(P), atol=1e-7)
    many = np.random.default_rng(1).standard_normal((2500, 3)) * [5, 2, 0.1]  # more rows than landmarks
    placed = starts.landmark_start(many, 2, Run(), RNG, "nan_euclidean", {})
    exact = starts.principal_start(many, 2, Run(), RNG)
    for j in range(2):
        assert abs(np.corrcoef(placed[:, j], exact[:, j])[0, 1]) > 0.999


def test_landmark_start_of_incomplete_rows_is_near_that_of_the_complete_ones():
    holes = X.copy()
    holes[RNG.random(X.shape) < 0.05] = np.nan
    Z = starts.landmark_start(holes, 2, Run(), RNG, "nan_euclidean", {})
    assert np.isfinite(Z).all()
    assert abs(np.corrcoef(Z[:, 0], starts.principal_start(X, 2, Run(), RNG)[:, 0])[0, 1]) > 0.9


# --- disconnected graphs ----------------------------------------------------------------------------------------------


def test_components_do_not_overlap():
    rng = np.random.default_rng(0)
    label = np.repeat([0, 1, 2, 3], [60, 50, 40, 12])
    X = rng.normal(size=(162, 4)) + 100 * label[:, None] * np.array([1, 0.3, 0, 0])
    W = fuzzy_graph(nearest_neighbors(X, 8, RUN), RUN).matrix()
    found = affinity_components(W)
    assert found.max() == 3
    centers = np.array([X[found == c, :2].mean(axis=0) for c in range(4)])
    Z = separate_start(W, found, centers, 2, RUN, rng)
    middle = np.array([Z[found == c].mean(axis=0) for c in range(4)])
    nearest = np.argmin(((Z[:, None] - middle[None]) ** 2).sum(axis=2), axis=1)
    assert np.mean(nearest == found) > 0.95
    for c in range(4):
        assert np.all(np.std(Z[found == c], axis=0) > 0.05)


# --- many columns -----------------------------------------------------------------------------------------------------


def test_rows_are_projected_on_their_principal_axes():
    Z = ColumnReduction.of(WIDE, 100, Run())(WIDE)
    U, s, _ = np.linalg.svd(WIDE - WIDE.mean(axis=0), full_matrices=False)
    np.testing.assert_allclose(np.abs(Z), np.abs(U[:, :100] * s[:100]), atol=1e-6)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_row_does_not_depend_on_its_batch(dtype):
    rows = WIDE.astype(dtype)
    reduce = ColumnReduction.of(rows, 100, Run())
    Z = reduce(rows)
    assert Z.dtype == dtype
    for part in (slice(0, 1), slice(3, 40), slice(599, 600), slice(100, 500)):
        np.testing.assert_array_equal(reduce(rows[part]), Z[part])


def test_sparse_rows_give_the_same():
    sparse = scipy.sparse.csr_array(np.where(np.abs(WIDE - 5) > 1, WIDE, 0))
    reduce = ColumnReduction.of(sparse, 20, Run())
    np.testing.assert_allclose(reduce(sparse), reduce(sparse.toarray()), atol=1e-9)


PLACES = np.random.default_rng(0).normal(size=(60, 3))
GRAPH = fuzzy_graph(nearest_neighbors(PLACES, 8, RUN), RUN)
LABELS = np.arange(60) % 3


def neighbors(n=80, k=9, seed=0):
    return nearest_neighbors(np.random.default_rng(seed).normal(size=(n, 4)), k, RUN)


def scales(graph, connectivity=1.0):
    return local_scales(graph.start, graph.length, mean_length(graph), RUN, connectivity=connectivity)


def weights(graph):
    return memberships(graph.start, graph.length, mean_length(graph), RUN)


def random_directed(n, seed):
    rng = np.random.default_rng(seed)
    A = rng.random((n, n)) * (rng.random((n, n)) < 0.2)
    np.fill_diagonal(A, 0)
    return scipy.sparse.csr_array(A.astype(np.float32))


def test_zero_distances_do_not_count_as_nearest():
    graph = NeighborGraph.of_table(np.array([[1, 2], [0, 2], [0, 1]]), np.array([[0.0, 2], [0, 2], [2, 2]]), "given")
    np.testing.assert_array_equal(scales(graph)[0], [2, 2, 2])


def test_scales_do_not_depend_on_the_unit():
    graph = neighbors()
    for unit in (2.0**-400, 2.0**400):
        other = NeighborGraph(graph.start, graph.to, unit * graph.length)
        assert np.array_equal(fuzzy_graph(other, RUN).weight, fuzzy_graph(graph, RUN).weight)


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10_000), mix=st.floats(0, 1))
def test_the_union_is_that_of_matrices(seed, mix):
    A = random_directed(25, seed)
    found = fuzzy_union(A.indptr.astype(np.int64), A.indices.astype(np.int32), A.data, mix).matrix().toarray()
    D = A.toarray()
    np.testing.assert_allclose(found, mix * (D + D.T - D * D.T) + (1 - mix) * D * D.T, atol=1e-6)


def test_every_row_has_all_its_edges_once_sorted():
    graph = fuzzy_graph(neighbors(), RUN)
    W = graph.matrix()
    np.testing.assert_array_equal(W.toarray(), W.toarray().T)
    assert all(np.all(np.diff(graph.to[a:b]) > 0) for a, b in zip(graph.start[:-1], graph.start[1:], strict=True))
    assert (graph.to.dtype, graph.weight.dtype) == (np.int32, np.float32)
    np.testing.assert_allclose(graph.degree(), W.toarray().sum(axis=1), rtol=1e-6)


def test_weak_edges_are_dropped():
    graph = fuzzy_graph(neighbors(), RUN)
    strong = graph.strongest(0.5).matrix().toarray()
    W = graph.matrix().toarray()
    np.testing.assert_array_equal(strong, np.where(W >= 0.5, W, 0))


# --- targets ----------------------------------------------------------------------------------------------------------


def between(graph, labels):
    W = graph.matrix().toarray()
    return W[labels[:, None] != labels[None, :]].sum() / W.sum()


def test_more_weight_of_the_target_leaves_less_between_classes():
    fractions = [between(weaken_between_classes(GRAPH, LABELS, weight), LABELS) for weight in (0.0, 0.5, 0.8, 1.0)]
    assert fractions == sorted(fractions, reverse=True)
    assert fractions[-1] == 0


def test_unknown_labels_keep_the_structure():
    """All edges are weaker by the same factor, which the largest weight of each row removes."""
    found = weaken_between_classes(GRAPH, np.full(60, -1), 0.5)
    np.testing.assert_allclose(found.matrix().toarray(), connect_locally(GRAPH).matrix().toarray(), atol=1e-6)


def test_the_weight_decides_which_graph_prevails():
    target = fuzzy_graph(nearest_neighbors(LABELS[:, None] + 0.1 * PLACES[:, :1], 8, RUN), RUN)
    pulls = [between(intersection(GRAPH, target, weight), LABELS) for weight in (0.1, 0.5, 0.9)]
    assert pulls == sorted(pulls, reverse=True)


def test_centers_of_components_are_the_same_for_sparse_rows():
    rng = np.random.default_rng(0)
    X, label = rng.poisson(0.5, (30, 6)).astype(float), np.arange(30) % 4
    means = np.array([X[label == j].mean(axis=0) for j in range(4)])
    Z = starts.component_centers(scipy.sparse.csr_array(X), label, 2)
    np.testing.assert_allclose(Z, starts.component_centers(X, label, 2), atol=1e-12)
    spread = np.linalg.svd(means - means.mean(axis=0), compute_uv=False)[:2]  # what two components keep
    np.testing.assert_allclose(np.sort((Z**2).sum(axis=0)), np.sort(spread**2), rtol=1e-10)

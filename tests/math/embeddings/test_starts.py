import numpy as np
import pytest
import scipy.sparse

from lowland.errors import DataError
from lowland.math.embeddings import starts
from lowland.run.local import LocalRun

RNG = np.random.default_rng(0)
X = RNG.standard_normal((200, 5)) * [5, 3, 1, 0.5, 0.1] + 7


def test_principal_components_are_those_of_the_svd():
    U, s, _ = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)
    Z = starts.principal_start(X, 2, LocalRun(), RNG)
    np.testing.assert_allclose(np.abs(Z), np.abs(U[:, :2] * s[:2]), atol=1e-9)
    S = starts.principal_start(scipy.sparse.csr_array(X), 2, LocalRun(), RNG)
    np.testing.assert_allclose(S, Z, atol=1e-8)


def test_more_dimensions_than_columns_are_filled_with_small_noise():
    Z = starts.principal_start(X[:, :1], 3, LocalRun(), RNG)
    assert Z.shape == (200, 3)
    assert 0 < np.abs(Z[:, 1:]).max() < 0.01 * np.abs(Z[:, 0]).max()


def test_spectral_start_of_a_path_is_monotone():
    n = 60
    W = scipy.sparse.diags_array([np.ones(n - 1), np.ones(n - 1)], offsets=[-1, 1], format="csr")
    z = starts.spectral_start(W, 1, LocalRun(), RNG)[:, 0]
    assert (np.diff(z) > 0).all() or (np.diff(z) < 0).all()


def test_classical_start_recovers_distances():
    P = RNG.standard_normal((40, 2))
    D = np.linalg.norm(P[:, None] - P[None], axis=2)
    Z = starts.classical_start(D, 2, LocalRun(), RNG)
    np.testing.assert_allclose(np.linalg.norm(Z[:, None] - Z[None], axis=2), D, atol=1e-7)


def test_scaling_of_a_start():
    Z = starts.with_deviation(RNG.standard_normal((300, 2)) * 9 + 4, 1e-4)
    assert np.std(Z[:, 0]) == pytest.approx(1e-4)
    np.testing.assert_allclose(Z.mean(axis=0), 0, atol=1e-12)
    assert np.abs(starts.with_largest(Z, 10.0)).max() == pytest.approx(10)
    wide = starts.with_range(np.column_stack([Z * [1, 3], np.ones(300)]), 10.0)
    np.testing.assert_allclose(wide.min(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(wide.max(axis=0), [10, 10, 0])
    assert np.std(starts.with_jitter(np.zeros((3000, 2)), 0.1, RNG)) == pytest.approx(0.1, rel=0.05)


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
    from lowland.math.embeddings.fuzzy_graph import fuzzy_graph
    from lowland.math.embeddings.tensor_edges import TensorEdges
    from lowland.math.neighbors.search import nearest_neighbors

    angle = np.linspace(0, 5, 400)
    arc = np.column_stack([np.cos(angle), np.sin(angle)]) + 0.01 * RNG.standard_normal((400, 2))
    graph = fuzzy_graph(nearest_neighbors(arc, 12), LocalRun())
    home = torch.zeros(1)
    found = starts.spectral_start_on_device(
        TensorEdges.of(graph.start, graph.to, home), torch.as_tensor(graph.weight), 2, LocalRun(), RNG
    )
    expected = starts.spectral_start(graph.matrix(), 2, LocalRun(), RNG)
    for c in range(2):
        assert abs(np.corrcoef(found[:, c], expected[:, c])[0, 1]) > 0.99


def test_landmark_start_is_the_principal_components_of_complete_rows():
    Z = starts.landmark_start(X, 2, LocalRun(), RNG, "nan_euclidean", {})
    P = starts.principal_start(X, 2, LocalRun(), RNG)
    np.testing.assert_allclose(np.abs(Z), np.abs(P), atol=1e-7)
    many = np.random.default_rng(1).standard_normal((2500, 3)) * [5, 2, 0.1]  # more rows than landmarks
    placed = starts.landmark_start(many, 2, LocalRun(), RNG, "nan_euclidean", {})
    exact = starts.principal_start(many, 2, LocalRun(), RNG)
    for j in range(2):
        assert abs(np.corrcoef(placed[:, j], exact[:, j])[0, 1]) > 0.999


def test_landmark_start_of_incomplete_rows_is_near_that_of_the_complete_ones():
    holes = X.copy()
    holes[RNG.random(X.shape) < 0.05] = np.nan
    Z = starts.landmark_start(holes, 2, LocalRun(), RNG, "nan_euclidean", {})
    assert np.isfinite(Z).all()
    assert abs(np.corrcoef(Z[:, 0], starts.principal_start(X, 2, LocalRun(), RNG)[:, 0])[0, 1]) > 0.9

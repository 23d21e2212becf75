"""Shortest paths by two algorithms, compared with scipy and by hand."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse.csgraph import shortest_path

import lowland
from lowland.data import swiss_roll
from lowland.errors import DataError, ParameterError
from lowland.math.graphs.geodesics import (
    GeodesicsToNewRows,
    geodesic_distances,
    landmark_coordinates,
    replace_infinite,
    residual_variances,
    strain,
    sweep_neighbors,
    symmetric_part,
)
from lowland.math.neighbors.graph import NeighborGraph
from lowland.math.neighbors.search import NearestAmong, nearest_neighbors
from lowland.math.scaling.classical import classical_scaling
from lowland.run.run import Run

RUN = Run()


# --- geodesic distances -----------------------------------------------------------------------------------------------


def random_graph(n, links, seed):
    """Edges of n points in both directions; lengths are integers, including zero."""
    rng = np.random.default_rng(seed)
    i, j = rng.integers(0, n, (2, links))
    length = rng.integers(0, 20, links).astype(float)
    graph = NeighborGraph(np.zeros(n + 1, dtype=np.int64), np.empty(0, np.int32), np.empty(0))
    apart = i != j
    return graph.with_edges(i[apart], j[apart], length[apart])


def by_definition(graph):
    """Floyd and Warshall's recursion, one matrix at a time."""
    D = np.full((graph.n, graph.n), np.inf)
    D[graph.sources, graph.to] = graph.length
    np.fill_diagonal(D, 0)
    for k in range(graph.n):
        D = np.minimum(D, D[:, k, None] + D[None, k, :])
    return D


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 60), st.integers(0, 200), st.integers(0, 10**6))
def test_both_algorithms_are_exact_on_integer_lengths(n, links, seed):
    graph = random_graph(n, links, seed)
    D = by_definition(graph)
    for dtype in (np.float32, np.float64):
        for method in ("D", "FW"):
            np.testing.assert_array_equal(geodesic_distances(graph, RUN, method=method, dtype=dtype), D)


@pytest.fixture(scope="module")
def roll():
    X = swiss_roll(400, seed=2).X
    return X, nearest_neighbors(X, 9, RUN).symmetric()


def test_paths_agree_with_scipy(roll):
    _, graph = roll
    M = graph.matrix()
    M.indices, M.indptr = M.indices.astype(np.int32), M.indptr.astype(np.int32)  # scipy 1.13 takes no others
    D = shortest_path(M, directed=False)
    for method in ("D", "FW"):
        found = geodesic_distances(graph, RUN, method=method)
        np.testing.assert_allclose(found, D, rtol=1e-13)
        assert np.array_equal(found, found.T)
    np.testing.assert_allclose(geodesic_distances(graph, RUN, dtype=np.float32), D, rtol=2e-6)


@pytest.mark.parametrize("m", [3, 250])  # one at a time, and many together
def test_paths_from_landmarks_are_rows_of_all(roll, m):
    _, graph = roll
    marks = np.random.default_rng(0).permutation(graph.n)[:m]
    D = geodesic_distances(graph, RUN, method="D")
    np.testing.assert_allclose(geodesic_distances(graph, RUN, sources=marks), D[marks], rtol=1e-14)
    np.testing.assert_allclose(geodesic_distances(graph, RUN, sources=marks, method="FW"), D[marks], rtol=1e-13)


def test_threads_do_not_change_a_bit(roll):
    _, graph = roll
    found = []
    for threads in (1, 3):
        with lowland.config(threads=threads):
            found.append(geodesic_distances(graph, Run(), method="D", dtype=np.float32))
    assert np.array_equal(*found)


def test_a_very_long_edge_does_not_cost_precision():
    n = 50
    i = np.arange(n - 1)
    length = np.where(i == 20, 1e12, 1e-3)
    graph = random_graph(n, 0, 0).with_edges(i, i + 1, length)
    D = geodesic_distances(graph, RUN, method="D")
    np.testing.assert_allclose(D[0, -1], length.sum(), rtol=1e-12)
    assert D[0, 20] == pytest.approx(0.02)


@pytest.mark.timeout(20)
@pytest.mark.parametrize("power", [-1040, 0, 124, 1010])  # powers of two, so that nothing is rounded
@pytest.mark.parametrize("method", ["D", "FW"])
def test_units_do_not_matter(roll, power, method):
    graph = roll[1]
    other = replace(graph, length=np.ldexp(graph.length.round(3), power))  # the smallest floats hold few digits
    graph = replace(graph, length=np.ldexp(other.length, -power))
    for dtype in (np.float32, np.float64):
        D = geodesic_distances(graph, RUN, method=method, dtype=dtype)
        found = geodesic_distances(other, RUN, method=method, dtype=dtype)
        assert found.dtype == (np.float32 if dtype == np.float32 and power == 0 else np.float64)
        np.testing.assert_allclose(np.ldexp(found, -power), D, rtol=1e-7 if power > -1000 else 1e-3)


def test_float32_lengths_stay_float32_and_overflow_is_refused(roll):
    graph = replace(roll[1], length=roll[1].length.astype(np.float32))
    D = geodesic_distances(graph, RUN)
    for power in (-130, 118):
        found = geodesic_distances(replace(graph, length=np.ldexp(graph.length, power)), RUN)
        assert found.dtype == np.float32
        np.testing.assert_allclose(np.ldexp(found, -power), D, rtol=1e-6, atol=1e-5)
    with pytest.raises(DataError, match="overflow float32"):
        geodesic_distances(replace(graph, length=np.ldexp(graph.length, 124)), RUN)
    with pytest.raises(DataError, match="infinitely long"):
        geodesic_distances(replace(graph, length=np.full_like(graph.length, np.inf)), RUN)


def test_unreachable_pairs_get_the_largest_distance():
    D = np.array([[0.0, 2.0, np.inf], [2.0, 0.0, np.inf], [np.inf, np.inf, 0.0]])
    assert replace_infinite(D)
    assert D.tolist() == [[0, 2, 2], [2, 0, 2], [2, 2, 0]]
    assert not replace_infinite(D)


def test_geodesic_distances_of_new_rows_pass_through_their_neighbors(roll):
    X, graph = roll
    D = geodesic_distances(graph, RUN)
    Y = swiss_roll(20, seed=9).X
    nearest = NearestAmong(X, 4)
    to, length = nearest(Y)
    duplicate = np.array([np.min(D[t] + w[:, None], axis=0) for t, w in zip(to, length, strict=True)])
    np.testing.assert_allclose(GeodesicsToNewRows(D, nearest)(Y), duplicate, rtol=1e-14)
    marks = np.arange(0, graph.n, 50)
    np.testing.assert_allclose(GeodesicsToNewRows(D[marks], nearest)(Y), duplicate[:, marks], rtol=1e-14)
    np.testing.assert_allclose(GeodesicsToNewRows(D, nearest)(X), D, atol=1e-12)


def test_a_matrix_of_edge_lengths_is_accepted():
    G = np.array([[0.0, 1, 4], [0, 0, 2], [0, 0, 0]])  # 0-1-2 is shorter than 0-2
    expected = [[0, 1, 3], [1, 0, 2], [3, 2, 0]]
    for kind in (np.asarray, scipy.sparse.csr_array):
        assert geodesic_distances(kind(G)).tolist() == expected
    alone = geodesic_distances(scipy.sparse.csr_array((3, 3)))
    assert np.isinf(alone[~np.eye(3, dtype=bool)]).all()
    assert geodesic_distances(G, sources=np.array([2])).tolist() == expected[2:]


def test_landmarks_recover_points_on_a_line():
    x = np.arange(5.0)
    D = np.abs(x[:, None] - x[None])
    scaling = classical_scaling(symmetric_part(D[[0, 4]], np.array([0, 4])), 1, RUN)
    Z = landmark_coordinates(D[[0, 4]], scaling)[:, 0]
    np.testing.assert_allclose(np.abs(np.diff(Z)), 1, rtol=1e-12)


# --- diagnostics ------------------------------------------------------------------------------------------------------


def test_residual_variance_of_planar_points_is_zero_from_two_dimensions_on():
    P = np.random.default_rng(0).standard_normal((80, 2)) * [3, 1]
    D = np.linalg.norm(P[:, None] - P[None, :], axis=2)
    left = residual_variances(D, 4)
    assert left[0] > 0.01
    np.testing.assert_allclose(left[1:], 0, atol=1e-9)
    values = np.linalg.eigvalsh(np.cov(P.T, bias=True) * 80)[::-1]
    means = (D * D).mean(axis=0)
    assert strain(D, means, values) == pytest.approx(0, abs=1e-6)
    assert strain(D, means, values[:1]) == pytest.approx(values[1] / 80)


@pytest.mark.parametrize("unit", [1e-150, 1e150])
def test_diagnostics_do_not_depend_on_units(unit, roll):
    D = geodesic_distances(roll[1], RUN)[:90, :90]
    np.testing.assert_allclose(residual_variances(D * unit, 3), residual_variances(D, 3), rtol=1e-6)
    means = (D * D).mean(axis=0)
    kept = np.array([means.mean()])
    assert strain(D * unit, means * unit * unit, kept * unit * unit) / unit / unit == pytest.approx(
        strain(D, means, kept)
    )


# --- sweep ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("seed", "cut"), [(0, False), (3, True)])
def test_the_sweep_detects_short_circuits_of_a_roll(seed, cut):
    roll = swiss_roll(1024, seed=seed)
    steps = sweep_neighbors(roll.X, (8, 10, 12), RUN)
    assert steps[-1].short_circuit is cut
    assert not steps[0].short_circuit
    for i, j in steps[-1].shortcuts:  # and names the edges that leave the sheet
        length = np.linalg.norm(roll.X[i] - roll.X[j])
        assert np.linalg.norm(roll.truth[i] - roll.truth[j]) > 3 * length


@pytest.mark.parametrize("ks", [(6, 8, 20, 40), (40,)])
def test_many_shortcuts_are_still_detected(ks):  # though they lead around each other
    roll = swiss_roll(400, seed=0)
    graph = nearest_neighbors(roll.X, 40, RUN)
    for step in sweep_neighbors(roll.X, ks, RUN):
        links = graph.table()[0][:, : step.n_neighbors]
        i, j = np.repeat(np.arange(400), step.n_neighbors), links.ravel()
        leaves = np.linalg.norm(roll.truth[i] - roll.truth[j], axis=1) > 3 * np.linalg.norm(
            roll.X[i] - roll.X[j], axis=1
        )
        true = {(min(a, b), max(a, b)) for a, b in zip(i[leaves].tolist(), j[leaves].tolist(), strict=True)}
        assert step.short_circuit is bool(true) is (step.n_neighbors > 6)
        assert set(step.shortcuts) <= true
        assert len(step.shortcuts) >= 0.9 * len(true)


def test_the_sweep_reports_connected_components():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.random((30, 2)), rng.random((20, 2)) + 5])
    few, many = sweep_neighbors(X, (29, 4), RUN)
    assert (few.n_neighbors, few.split, few.n_connected_components, few.sizes) == (4, True, 2, (30, 20))
    assert (many.split, many.sizes) == (False, (50,))
    assert not few.short_circuit
    assert not many.short_circuit  # an edge that joins two components is not a shortcut


def test_the_sweep_of_many_points_uses_a_sample(monkeypatch):
    monkeypatch.setattr("lowland.math.graphs.geodesics._EXACT", 300)
    flagged = [sweep_neighbors(swiss_roll(1024, seed=seed).X, (12,), RUN)[0].short_circuit for seed in (0, 5)]
    assert flagged == [False, True]


@pytest.mark.parametrize("ks", [(), (0, 3), (3, 50)])
def test_the_sweep_refuses_invalid_numbers_of_neighbors(ks):
    with pytest.raises(ParameterError, match="from 1 to 49"):
        sweep_neighbors(np.random.default_rng(0).random((50, 2)), ks, RUN)

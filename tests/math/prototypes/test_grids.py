"""Grids of units: neighbors, smoothing, the U-matrix and the default size."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist

from lowland.math.prototypes.grids import Grid, nearness, usual_grid

TOPOLOGIES = ["hexagonal", "rectangular"]


def rows(n=200, d=5, seed=0):
    return np.random.default_rng(seed).standard_normal((n, d))


@settings(max_examples=15, deadline=None)
@given(st.integers(1, 7), st.integers(1, 7), st.sampled_from(TOPOLOGIES))
def test_neighbors_are_those_within_the_radius(r, c, topology):
    grid = Grid(r, c, topology)
    near = (cdist(grid.positions, grid.positions) <= grid.neighbor_distance) & ~np.eye(grid.units, dtype=bool)
    for unit, listed in enumerate(grid.neighbors):
        assert sorted(set(listed) - {unit}) == np.flatnonzero(near[unit]).tolist()
    if topology == "hexagonal" and grid.units > 1:
        apart = cdist(grid.positions, grid.positions)
        assert apart[~np.eye(grid.units, dtype=bool)].min() == pytest.approx(1)


@pytest.mark.parametrize("topology", TOPOLOGIES)
@pytest.mark.parametrize("kind", ["gaussian", "bubble"])
def test_smoothing_is_the_product_with_the_neighborhood_matrix(topology, kind, monkeypatch):
    monkeypatch.setattr("lowland.math.prototypes.grids._STRIPE", 50)
    grid, A = Grid(4, 6, topology), rows(24, 3)
    H = nearness(cdist(grid.positions, grid.positions) ** 2, 1.3, kind)
    np.testing.assert_allclose(grid.smoothed(A, 1.3, kind), H @ A, atol=1e-12)
    assert np.array_equal(H, H.T)


def test_u_matrix_of_a_step_function():
    grid = Grid(3, 4, "rectangular")
    W = np.repeat([[0.0], [0.0], [9.0], [9.0]], 3, axis=1).T.reshape(12, 1)  # two columns of 0, two of 9
    U = grid.u_matrix(W)
    assert np.array_equal(U[:, [0, 3]], np.zeros((3, 2)))
    np.testing.assert_allclose(U[1, 1:3], 9 * 3 / 8)  # three of its eight neighbors are across the step
    np.testing.assert_allclose(U[0, 1:3], 9 * 2 / 5)


def test_the_default_grid_follows_vesanto():
    r, c = usual_grid(10_000, np.array([4.0, 1.0]), "rectangular")
    assert abs(r * c - 500) <= c
    assert c / r == pytest.approx(2, rel=0.1)
    assert usual_grid(10_000, np.array([36.0, 9.0]), "rectangular") == (r, c)  # whatever the unit
    assert usual_grid(400, np.array([1.0]), "hexagonal")[0] == 1
    assert usual_grid(2, np.array([1.0, 0.5]), "hexagonal") in ((1, 2), (2, 1))
    assert np.prod(usual_grid(30, np.array([1.0, 0.9]), "hexagonal")) <= 16

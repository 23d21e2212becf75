"""Rows to positions on the grid and back."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from lowland.math.prototypes.codebook import Codebook
from lowland.math.prototypes.grids import Grid
from lowland.math.prototypes.som_maps import GridPosition, PrototypeAt, tangents

TOPOLOGIES = ["hexagonal", "rectangular"]


def rows(n=200, d=5, seed=0):
    return np.random.default_rng(seed).standard_normal((n, d))


@pytest.mark.parametrize("topology", TOPOLOGIES)
@pytest.mark.parametrize("shape", [(4, 5), (1, 6), (2, 2)])
def test_smooth_coordinates_of_a_linear_map_are_exact(topology, shape):
    """Where prototypes depend linearly on their positions, smooth coordinates are exact."""
    grid = Grid(*shape, topology)
    J = rows(2, 4, seed=1)
    W = grid.positions @ J + 3.0
    rng = np.random.default_rng(2)
    Z = grid.positions + rng.uniform(-0.2, 0.2, grid.positions.shape) * (np.ptp(grid.positions, axis=0) > 0)
    X = PrototypeAt(W, grid, smooth=True)(Z)
    np.testing.assert_allclose(X, Z @ J + 3.0, atol=1e-9)
    nearest = cdist(X, W).argmin(axis=1) == np.arange(grid.units)  # the plane is stretched, which moves borders
    np.testing.assert_allclose(GridPosition(Codebook.of(W), grid, smooth=True)(X)[nearest], Z[nearest], atol=1e-9)
    np.testing.assert_array_equal(PrototypeAt(W, grid)(grid.positions), W)


def test_the_tangents_of_a_linear_map_are_its_slopes():
    grid, J = Grid(3, 4, "rectangular"), rows(2, 3)
    np.testing.assert_allclose(tangents(grid, grid.positions @ J), np.broadcast_to(J, (12, 2, 3)), atol=1e-12)


def test_a_distant_row_stays_within_the_cell_of_its_unit():
    grid = Grid(3, 3, "rectangular")
    W = grid.positions @ np.eye(2)
    far = np.array([[50.0, 1.0], [1.2, 1.3]])
    np.testing.assert_allclose(GridPosition(Codebook.of(W), grid, smooth=True)(far), [[2.499, 1.0], [1.2, 1.3]])

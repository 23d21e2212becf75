import numpy as np
import pytest

from lowland.kernels import repulsion

RNG = np.random.default_rng(0)


def grid_of(k, m=12):
    steps = np.array([m ** (k - 1 - c) for c in range(k)], dtype=np.int64)
    return steps, np.zeros(m**k, dtype=np.float32)


@pytest.mark.parametrize("k", [1, 2, 3])
def test_spreading_keeps_the_charge_and_its_center(k):
    Z = RNG.uniform(0, 8, (50, k)).astype(np.float32)
    steps, grid = grid_of(k)
    repulsion.spread(Z, np.arange(50, dtype=np.int32), np.zeros(k), 1.0, steps, grid)
    assert grid.sum() == pytest.approx(50, rel=1e-5)
    nodes = np.indices((12,) * k).reshape(k, -1)
    np.testing.assert_allclose(nodes @ grid / 50, Z.mean(axis=0) + 1, rtol=1e-4)  # node 1 is where cell 0 begins


@pytest.mark.parametrize("k", [1, 2, 3])
def test_a_linear_potential_is_read_exactly(k):
    steps, _ = grid_of(k)
    slopes = RNG.standard_normal(k)
    spacing = 0.5
    nodes = np.indices((12,) * k).reshape(k, -1)
    potential = ((slopes * spacing) @ (nodes - 1)).astype(np.float32)
    Z = RNG.uniform(0, 4, (30, k)).astype(np.float32)
    G = np.empty_like(Z)
    total = repulsion.read_potential(Z, 0, 30, np.zeros(k), 1 / spacing, steps, potential, G)
    np.testing.assert_allclose(G, np.broadcast_to(-slopes / 2, G.shape), atol=1e-5)
    assert total == pytest.approx(float((Z @ slopes).sum()), abs=1e-3)


def test_rows_are_sorted_by_bands_and_stay_in_order_within():
    Z = RNG.uniform(0, 30, (200, 2)).astype(np.float32)
    start, rows = np.empty(5, dtype=np.int64), np.empty(200, dtype=np.int32)
    repulsion.sort_by_bands(Z, np.zeros(2), 1.0, 8, start, rows)
    np.testing.assert_array_equal(rows, np.argsort(Z[:, 0] // 8, kind="stable"))
    np.testing.assert_array_equal(start, np.concatenate([[0], np.cumsum(np.bincount((Z[:, 0] // 8).astype(int)))]))


def test_the_extent():
    Z = RNG.standard_normal((100, 3)).astype(np.float32)
    low, high = np.empty(3), np.empty(3)
    repulsion.extent(Z, low, high)
    np.testing.assert_array_equal(low, Z.min(axis=0))
    np.testing.assert_array_equal(high, Z.max(axis=0))


def spline(u):
    """The cubic B-spline with support 0 ... 4."""
    from scipy.interpolate import BSpline

    return np.nan_to_num(BSpline.basis_element(np.arange(5), extrapolate=False)(u))


def test_refined_coefficients_are_the_same_function():
    """Fine node j has the support j - 3 ... j + 1 in fine cells, coarse node J the same in coarse ones."""
    from lowland.kernels.repulsion import add_refined

    m, C = (30, 41), np.random.default_rng(0).standard_normal((10, 13))
    A = np.zeros(m)
    add_refined(C, 0, m[0], A)
    u, v = np.random.default_rng(1).uniform(0, [[27], [38]], (2, 50))
    fine = sum(A[i, j] * spline(u - i + 3) * spline(v - j + 3) for i in range(m[0]) for j in range(m[1]))
    coarse = sum(C[i, j] * spline(u / 4 - i + 3) * spline(v / 4 - j + 3) for i in range(10) for j in range(13))
    np.testing.assert_allclose(fine, coarse, atol=1e-12)


def test_charges_move_to_the_coarse_grid_by_the_adjoint_of_refining():
    from lowland.kernels.repulsion import add_refined, coarsen_columns, coarsen_rows

    rng = np.random.default_rng(2)
    A, C = rng.standard_normal((30, 41)), rng.standard_normal((10, 13))
    R, coarse, fine = np.empty((30, 13)), np.empty((10, 13)), np.zeros((30, 41))
    for a, b in ((0, 7), (7, 30)):
        coarsen_rows(A, a, b, R)
        add_refined(C, a, b, fine)
    coarsen_columns(R, coarse)
    assert np.vdot(coarse, C) == pytest.approx(np.vdot(A, fine))

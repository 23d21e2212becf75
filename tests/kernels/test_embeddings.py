"""Steps, new rows, grids and random numbers of neighbor embeddings by their formulas."""

import numpy as np
import pytest
import scipy.stats
from scipy.interpolate import BSpline

from lowland.kernels import tsne, umap
from lowland.kernels.compile import kernel
from lowland.kernels.counter_random import below, draw, fraction, key_of
from lowland.kernels.descent_steps import adam_rows, momentum_rows
from lowland.kernels.grid import read_potential, spread


def test_momentum_and_gains_follow_their_formulas():
    rng = np.random.default_rng(0)
    Z, G, V, gains = (rng.standard_normal((6, 2)) for _ in range(4))
    gains = np.abs(gains)
    grown = np.maximum(np.where((G > 0) != (V > 0), gains + 0.2, 0.8 * gains), 0.01)
    moved = 0.8 * V - 0.1 * grown * G
    length = np.linalg.norm(moved, axis=1, keepdims=True)
    moved *= np.minimum(1, 0.5 / length)
    expected = Z + moved
    squares, farthest = momentum_rows(Z, G, V, gains, 0, 6, 0.1, 0.8, 0.01, 0.5)
    np.testing.assert_allclose(Z, expected, rtol=1e-12)
    np.testing.assert_allclose([squares, farthest], [(G**2).sum(), (moved**2).sum(axis=1).max()], rtol=1e-12)


def test_adam_follows_its_formula_on_its_rows_only():
    rng = np.random.default_rng(1)
    Z, G, M, S = (rng.standard_normal((6, 3)).astype(np.float32) for _ in range(4))
    S = np.abs(S)
    before = Z.copy()
    m, s = 0.9 * M + 0.1 * G, 0.999 * S + 0.001 * G**2
    expected = Z - 0.5 * (m / 0.19) / (np.sqrt(s / 0.002) + 1e-7)
    adam_rows(Z, G, M, S, 2, 5, 0.5, 0.9, 0.999, 0.19, 0.002, 1e-7)
    np.testing.assert_allclose(Z[2:5], expected[2:5], rtol=1e-5)
    assert (Z[[0, 1, 5]] == before[[0, 1, 5]]).all()


RNG = np.random.default_rng(0)


def test_a_new_row_among_all_comes_to_rest_where_the_forces_cancel():
    Y, Z = RNG.normal(0, 4, (40, 4)), np.zeros((1, 4))
    to, p = np.array([[0, 1, 2]]), np.array([[0.5, 0.3, 0.2]])
    tsne.place_among_all(Y, to, p, 1.0, 0.1, 0.3, 500, Z)
    u = 1 / (1 + ((Z - Y) ** 2).sum(axis=1))
    pull = (p[0] * u[:3]) @ (Z - Y[:3])
    np.testing.assert_allclose(pull, 0.1 * (u**2) @ (Z - Y), atol=1e-6)


# --- grids ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("k", [1, 2, 3])
def test_spreading_keeps_the_charge_and_its_center_and_a_linear_potential_is_read_exactly(k):
    rng, spacing = np.random.default_rng(0), 0.5
    steps, nodes = 12 ** np.arange(k)[::-1], np.indices((12,) * k).reshape(k, -1)
    Z, grid, slopes = (4 * rng.random((50, k))).astype(np.float32), np.zeros(12**k, np.float32), rng.standard_normal(k)
    spread(Z, np.zeros(k), 1 / spacing, steps, grid)
    assert grid.sum() == pytest.approx(50, rel=1e-5)
    np.testing.assert_allclose(nodes @ grid / 50, Z.mean(axis=0) / spacing + 1, rtol=1e-4)  # cell 0 begins at node 1
    potential, G = ((slopes * spacing) @ (nodes - 1)).astype(np.float32), np.empty_like(Z)
    total = read_potential(Z, np.zeros(k), 1 / spacing, steps, potential, G)
    np.testing.assert_allclose(G, np.broadcast_to(-slopes / 2, G.shape), atol=1e-5)
    assert total == pytest.approx(float((Z @ slopes).sum()), abs=1e-3)


def spline(u):
    """The cubic B-spline with support 0 ... 4."""
    return np.nan_to_num(BSpline.basis_element(np.arange(5), extrapolate=False)(u))


@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize("far", [-12.0, 40.0, 1e300, -np.inf, np.nan])
def test_points_outside_of_the_grid_touch_no_other_memory(k, far):
    nodes = 16
    around = np.zeros(3 * nodes**k)
    grid = around[nodes**k : 2 * nodes**k]
    Z, steps = np.full((1, k), far), nodes ** np.arange(k)[::-1]
    spread(Z, np.zeros(k), 1.0, steps, grid)
    assert not around[: nodes**k].any()
    assert not around[2 * nodes**k :].any()


# --- random numbers ---------------------------------------------------------------------------------------------------


@kernel
def drawn(seed, iterations, rows, slots, n):
    out = np.empty((iterations, rows, slots), np.int64)
    parts = np.empty((iterations, rows, slots))
    for t in range(iterations):
        for i in range(rows):
            key = key_of(seed, t, i)
            for s in range(slots):
                bits = draw(key, s)
                out[t, i, s] = below(bits, n)
                parts[t, i, s] = fraction(bits)
    return out, parts


def test_draws_are_uniform_and_uncorrelated():
    numbers, parts = drawn(3, 20, 100, 50, 10)
    counts = np.bincount(numbers.ravel(), minlength=10)
    expected = numbers.size / 10
    assert ((counts - expected) ** 2 / expected).sum() < 30  # chi-squared with nine degrees of freedom, p < 0.001
    assert parts.min() >= 0
    assert parts.max() < 1
    assert abs(parts.mean() - 0.5) < 0.005
    for axis in range(3):
        a, b = np.take(parts, range(parts.shape[axis] - 1), axis), np.take(parts, range(1, parts.shape[axis]), axis)
        assert abs(np.corrcoef(a.ravel(), b.ravel())[0, 1]) < 0.015


def test_the_draw_depends_on_seed_iteration_row_and_slot_alone():
    small, _ = drawn(3, 2, 5, 4, 1000)
    large, _ = drawn(3, 4, 9, 8, 1000)
    assert (small == large[:2, :5, :4]).all()
    assert (drawn(4, 2, 5, 4, 1000)[0] != small).mean() > 0.9


def test_the_first_numbers_of_a_counter_are_those_of_splitmix64():
    """SplitMix64 with seed 0 begins with 0xE220A8397B1DCDAF (a published test vector)."""
    assert int(draw(np.uint64(0), 0)) == 0xE220A8397B1DCDAF
    assert int(draw(np.uint64(0), 1)) == 0x6E789E6AA1B965F4


def test_negatives_are_uniform():
    counts, found = np.zeros(17), np.empty(40, np.int32)
    for epoch in range(500):
        umap.negatives(np.uint64(key_of(1, epoch, 5)), 0, 17, 40, found)
        counts += np.bincount(found, minlength=17)
    assert scipy.stats.chisquare(counts).pvalue > 1e-3

"""Truths about grids of units, the search of the nearest, and training."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist

from lowland.blocks.codebooks.grids import Grid, asked_grid, nearness, usual_grid
from lowland.blocks.codebooks.som import (
    Codebook,
    CodebookScaling,
    FromGrid,
    PlaceOnGrid,
    Schedule,
    SumByUnit,
    UnitOf,
    decayed,
    principal_plane,
    smoothed_means,
    train_online,
)
from lowland.errors import ParameterError
from lowland.run.local import LocalRun

TOPOLOGIES = ["hexagonal", "rectangular"]


def rows(n=200, d=5, seed=0):
    return np.random.default_rng(seed).standard_normal((n, d))


# --- grids


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 7), st.integers(1, 7), st.sampled_from(TOPOLOGIES))
def test_neighbors_are_those_within_reach(r, c, topology):
    grid = Grid(r, c, topology)
    near = (cdist(grid.places, grid.places) <= grid.reach) & ~np.eye(grid.units, dtype=bool)
    for unit, listed in enumerate(grid.neighbors):
        assert sorted(set(listed) - {unit}) == np.flatnonzero(near[unit]).tolist()
    if topology == "hexagonal" and grid.units > 1:
        apart = cdist(grid.places, grid.places)
        assert apart[~np.eye(grid.units, dtype=bool)].min() == pytest.approx(1)


def test_inner_units_have_six_or_eight_neighbors():
    for topology, count in (("hexagonal", 6), ("rectangular", 8)):
        grid = Grid(5, 5, topology)
        assert len(set(grid.neighbors[12]) - {12}) == count


@pytest.mark.parametrize("topology", TOPOLOGIES)
@pytest.mark.parametrize("kind", ["gaussian", "bubble"])
def test_smoothing_is_the_product_with_all_nearnesses(topology, kind, monkeypatch):
    monkeypatch.setattr("lowland.blocks.codebooks.grids._STRIPE", 50)
    grid, A = Grid(4, 6, topology), rows(24, 3)
    H = nearness(cdist(grid.places, grid.places) ** 2, 1.3, kind)
    np.testing.assert_allclose(grid.smoothed(A, 1.3, kind), H @ A, atol=1e-12)
    assert np.array_equal(H, H.T)


@pytest.mark.parametrize("topology", TOPOLOGIES)
@pytest.mark.parametrize("shape", [(4, 5), (1, 6), (2, 2)])
def test_a_flat_map_is_read_and_laid_out_exactly(topology, shape):
    """Where prototypes depend linearly on their places, smooth coordinates are the places of the rows themselves."""
    grid = Grid(*shape, topology)
    J = rows(2, 4, seed=1)
    W = grid.places @ J + 3.0
    rng = np.random.default_rng(2)
    Z = grid.places + rng.uniform(-0.2, 0.2, grid.places.shape) * (np.ptp(grid.places, axis=0) > 0)
    X = FromGrid(W, grid, smooth=True)(Z)
    np.testing.assert_allclose(X, Z @ J + 3.0, atol=1e-9)
    nearest = cdist(X, W).argmin(axis=1) == np.arange(grid.units)  # the plane is stretched, which moves borders
    np.testing.assert_allclose(PlaceOnGrid(Codebook.of(W), grid, smooth=True)(X)[nearest], Z[nearest], atol=1e-9)
    np.testing.assert_array_equal(FromGrid(W, grid)(grid.places), W)


def test_u_matrix_of_a_step():
    grid = Grid(3, 4, "rectangular")
    W = np.repeat([[0.0], [0.0], [9.0], [9.0]], 3, axis=1).T.reshape(12, 1)  # two columns of 0, two of 9
    U = grid.u_matrix(W)
    assert np.array_equal(U[:, [0, 3]], np.zeros((3, 2)))
    np.testing.assert_allclose(U[1, 1:3], 9 * 3 / 8)  # three of its eight neighbours lie across the step
    np.testing.assert_allclose(U[0, 1:3], 9 * 2 / 5)


def test_the_usual_grid_follows_vesanto():
    r, c = usual_grid(10_000, np.array([4.0, 1.0]), "rectangular")
    assert abs(r * c - 500) <= c
    assert c / r == pytest.approx(2, rel=0.1)
    assert usual_grid(400, np.array([1.0]), "hexagonal")[0] == 1
    assert usual_grid(2, np.array([1.0, 0.5]), "hexagonal") in ((1, 2), (2, 1))
    assert np.prod(usual_grid(30, np.array([1.0, 0.9]), "hexagonal")) <= 16


def test_grids_may_be_written_in_several_ways():
    for grid in ((20, 30), [20.0, 30.0], "20x30", " 20 X 30", "20,30", "20×30", np.array([20, 30])):
        assert asked_grid(grid, "SOM") == (20, 30)
    for grid in ((20,), (0, 3), "20", "axb", (2.5, 3), (1, 2, 3), "", (np.inf, 1)):
        with pytest.raises(ParameterError, match=r"grid=.*20x30"):
            asked_grid(grid, "SOM")


# --- the nearest units


@pytest.mark.parametrize("far", [0.0, 1e6, 1e-8])
@pytest.mark.parametrize("scale", [1.0, 1e100, 1e-100])
def test_the_nearest_two_are_those_of_all_distances(far, scale):
    X, W = (rows() + far) * scale, (rows(37, seed=1) + far) * scale
    D = cdist(X / scale - far, W / scale - far)
    first = np.concatenate([near.first for near in Codebook.of(W).search(X)])
    second = np.concatenate([near.second for near in Codebook.of(W).search(X)])
    np.testing.assert_array_equal(np.argsort(D, axis=1)[:, :2], np.column_stack([first, second]))


@pytest.mark.parametrize("library", ["numpy", "torch", "array_api_strict"])
def test_of_units_equally_far_the_first_wins(library):
    xp = pytest.importorskip(library)
    W = np.array([[5.0, 0], [1, 0], [0, 1], [-1, 0], [0, -1]]) / 3 + 7.1
    X = np.full((300, 2), 7.1)
    X[::7] = W[4]  # among rows that are in no doubt
    found = UnitOf(Codebook.of(W))(xp.asarray(X))
    assert type(found) is type(xp.asarray(X))
    expected = np.where(np.arange(300) % 7 == 0, 4, 1)
    assert np.array_equal(np.asarray(found)[:, 0], expected)


def test_one_unit_wins_all():
    for near in Codebook.of(np.ones((1, 3))).search(rows(10, 3)):
        assert not near.first.any()
        assert not near.second.any()


def test_a_row_that_is_not_finite_has_no_unit():
    X = rows(6, 3)
    X[2, 1], X[4, 0] = np.nan, np.inf
    with np.errstate(invalid="ignore"):  # as a run does
        found = UnitOf(Codebook.of(rows(9, 3, seed=1)))(X)[:, 0]
        total = SumByUnit(Codebook.of(rows(9, 3, seed=1)), Grid(3, 3))(X)
    assert np.flatnonzero(np.isnan(found)).tolist() == [2, 4]
    assert not total.is_finite()


# --- what a pass sums


@pytest.mark.parametrize("library", ["numpy", "torch", "array_api_strict"])
@pytest.mark.parametrize("topology", TOPOLOGIES)
def test_sums_by_unit(library, topology, monkeypatch):
    """Runs of rows and products with the table of who won, both against all distances."""
    xp = pytest.importorskip(library)
    monkeypatch.setattr("lowland.blocks.codebooks.som._LEAST_TILE", 16)
    monkeypatch.setattr("lowland.blocks.codebooks.som._TILE", 1)
    grid, X, W = Grid(3, 4, topology), rows(150), rows(12, seed=3)
    book = Codebook.of(W)
    total = SumByUnit(book, grid)(xp.asarray(X))
    D = cdist(X, W)
    first, second = np.argsort(D, axis=1)[:, :2].T
    sums = np.stack([(X[first == u] - book.frame.shift).sum(axis=0) for u in range(12)]) / book.frame.unit
    np.testing.assert_allclose(total.sums, sums, atol=1e-12)
    np.testing.assert_array_equal(total.counts, np.bincount(first, minlength=12))
    assert total.error == pytest.approx(D.min(axis=1).sum(), rel=1e-12)
    apart = np.linalg.norm(grid.places[first] - grid.places[second], axis=1)
    assert total.astray == (apart > grid.reach).sum()
    parts = SumByUnit(book, grid)(xp.asarray(X[:40])) + SumByUnit(book, grid)(xp.asarray(X[40:]))
    np.testing.assert_allclose(parts.sums, total.sums, atol=1e-12)
    assert (parts.astray, parts.rows) == (total.astray, 150)


def test_units_near_no_row_stay():
    grid, W = Grid(1, 4, "rectangular"), np.arange(4.0)[:, None]
    sums = SumByUnit(Codebook(CodebookScaling(np.zeros(1)), W), grid)(np.array([[0.1], [0.3]]))
    np.testing.assert_allclose(smoothed_means(sums, W, grid, 1.0, "bubble")[:, 0], [0.2, 0.2, 2, 3])
    np.testing.assert_allclose(smoothed_means(sums, W, grid, 0.01, "gaussian")[:, 0], [0.2, 1, 2, 3])


# --- training


@pytest.mark.parametrize("decay", ["exponential", "linear", "inverse"])
def test_schedules_fall_from_first_to_last(decay):
    values = decayed((8.0, 0.5), np.linspace(0, 1, 11), decay)
    assert (values[0], values[-1]) == (pytest.approx(8.0), pytest.approx(0.5))
    assert np.all(np.diff(values) < 0)


def learnt_plainly(X, order, W, grid, radii, rates, kind):
    """The loop of the kernel in numpy."""
    W = W.copy()
    for i, radius, rate in zip(order, radii, rates, strict=True):
        best = ((X[i] - W) ** 2).sum(axis=1).argmin()
        h = nearness(((grid.places - grid.places[best]) ** 2).sum(axis=1), radius, kind)
        W += rate * h[:, None] * (X[i] - W)
    return W


@pytest.mark.parametrize("topology", TOPOLOGIES)
@pytest.mark.parametrize("kind", ["gaussian", "bubble"])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_online_training_is_the_plain_loop(topology, kind, dtype):
    X, grid = rows(120).astype(dtype), Grid(5, 4, topology)
    start = rows(20, seed=4).astype(dtype)
    schedule = Schedule(2, (2.5, 0.6), (0.4, 0.05), "linear", kind)
    units, trace = train_online(
        X, LocalRun(), grid, CodebookScaling.of(start.astype(float)), start, schedule, np.random.default_rng(0)
    )
    rng = np.random.default_rng(0)
    order = np.concatenate([rng.permutation(120), rng.permutation(120)])
    t = np.arange(240) / 239
    plain = learnt_plainly(
        X.astype(float), order, start.astype(float), grid, decayed((2.5, 0.6), t, "linear"),
        decayed((0.4, 0.05), t, "linear"), kind,
    )  # fmt: skip
    assert units.dtype == dtype
    assert len(trace) == 2
    np.testing.assert_allclose(units, plain, atol=1e-6 if dtype == "float64" else 2e-4)


def test_the_start_lies_on_the_plane_and_spans_it():
    axes, mean = np.linalg.qr(rows(6, 2))[0], np.arange(6.0)
    for shape in ((3, 8), (8, 3)):
        grid = Grid(*shape, "rectangular")
        W = principal_plane(grid, mean, axes, np.array([3.0, 0.5]))
        along = (W - mean) @ axes
        np.testing.assert_allclose(along @ axes.T + mean, W, atol=1e-12)
        np.testing.assert_allclose(np.abs(along).max(axis=0), [6, 1])
        assert len(np.unique(along[:, 0].round(9))) == 8  # the longer side lies along the first axis
    for a, b in itertools.combinations(range(grid.units), 2):
        assert not np.allclose(W[a], W[b])

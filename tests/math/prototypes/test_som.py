"""Self-organizing maps: both kinds of training, the schedule, the initialization, and positions on the grid."""

import itertools

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from lowland.data.rows import ArrayRows
from lowland.math.prototypes.codebook import Codebook, SumByPrototype, centering_scaling
from lowland.math.prototypes.grids import Grid, nearness
from lowland.math.prototypes.som import (
    GridPosition,
    PrototypeAt,
    Schedule,
    decay_value,
    map_errors,
    principal_plane,
    smoothed_means,
    train_in_batches,
    train_online,
)
from lowland.math.statistics.rescaling import UniformScaling
from lowland.run.run import Run


def rows(n=200, d=5, seed=0):
    return np.random.default_rng(seed).standard_normal((n, d))


def test_units_without_nearby_rows_stay():
    grid, W = Grid(1, 4, "rectangular"), np.arange(4.0)[:, None]
    sums = SumByPrototype(Codebook(UniformScaling(np.zeros(1)), W), grid)(np.array([[0.1], [0.3]]))
    np.testing.assert_allclose(smoothed_means(sums, W, grid, 1.0, "bubble")[:, 0], [0.2, 0.2, 2, 3])
    np.testing.assert_allclose(smoothed_means(sums, W, grid, 0.01, "gaussian")[:, 0], [0.2, 1, 2, 3])


def test_the_initial_map_lies_in_the_principal_plane_and_spans_it():
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


@pytest.mark.parametrize("decay", ["exponential", "linear", "inverse"])
def test_schedules_fall_from_first_to_last(decay):
    values = decay_value((8.0, 0.5), np.linspace(0, 1, 11), decay)
    assert (values[0], values[-1]) == (pytest.approx(8.0), pytest.approx(0.5))
    assert np.all(np.diff(values) < 0)


def test_an_epoch_follows_the_formula():
    """W = HS / Hc with the rows nearest to each unit, once for every radius of the schedule."""
    X, grid, W = rows(150), Grid(3, 4, "hexagonal"), rows(12, seed=3)
    found = train_in_batches(ArrayRows(X), Run(), grid, centering_scaling(W), W, Schedule(3, (2.0, 0.8)))
    for radius in decay_value((2.0, 0.8), np.array([0, 0.5, 1]), "exponential"):
        first = cdist(X, W).argmin(axis=1)
        H = nearness(cdist(grid.positions, grid.positions) ** 2, radius, "gaussian")
        M = first[:, None] == np.arange(12)
        W = (H @ M.T @ X) / (H @ M.sum(axis=0))[:, None]
    np.testing.assert_allclose(found.prototypes, W, atol=1e-9)
    assert found.outcome.trace[-1] == pytest.approx(cdist(X, W).min(axis=1).mean())
    assert (found.outcome.iterations, found.radii[0], found.radii[-1]) == (3, 2.0, pytest.approx(0.8))
    assert map_errors(ArrayRows(X), Run(), W, grid).quantization == pytest.approx(found.outcome.trace[-1])


def trained_row_by_row(X, order, W, grid, radii, rates, kind):
    """The loop of the kernel in numpy."""
    W = W.copy()
    for i, radius, rate in zip(order, radii, rates, strict=True):
        best = ((X[i] - W) ** 2).sum(axis=1).argmin()
        h = nearness(((grid.positions - grid.positions[best]) ** 2).sum(axis=1), radius, kind)
        W += rate * h[:, None] * (X[i] - W)
    return W


@pytest.mark.parametrize(
    ("topology", "kind", "dtype"), [("hexagonal", "gaussian", "float64"), ("rectangular", "bubble", "float32")]
)
def test_online_training_agrees_with_a_plain_loop(topology, kind, dtype):
    X, grid = rows(120).astype(dtype), Grid(5, 4, topology)
    start = rows(20, seed=4).astype(dtype)
    schedule = Schedule(2, (2.5, 0.6), (0.4, 0.05), "linear", kind)
    scaling = centering_scaling(start.astype(float))
    found = train_online(ArrayRows(X), Run(), grid, scaling, start, schedule, np.random.default_rng(0))
    rng = np.random.default_rng(0)
    order = np.concatenate([rng.permutation(120), rng.permutation(120)])
    t = np.arange(240) / 239
    plain = trained_row_by_row(
        X.astype(float), order, start.astype(float), grid, decay_value((2.5, 0.6), t, "linear"),
        decay_value((0.4, 0.05), t, "linear"), kind,
    )  # fmt: skip
    assert found.prototypes.dtype == dtype
    assert len(found.outcome.trace) == 3
    np.testing.assert_allclose(found.prototypes, plain, atol=1e-6 if dtype == "float64" else 2e-4)


@pytest.mark.parametrize(
    ("topology", "shape"),
    [("hexagonal", (4, 5)), ("rectangular", (4, 5)), ("hexagonal", (1, 6)), ("hexagonal", (2, 2))],
)
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

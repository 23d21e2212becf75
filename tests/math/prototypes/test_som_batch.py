"""Batch training of self-organizing maps: the sums of a pass, the schedule, the initialization."""

import itertools

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from lowland.data.rows import ArrayRows
from lowland.math.prototypes.codebook import Codebook, centering_scaling
from lowland.math.prototypes.grids import Grid, nearness
from lowland.math.prototypes.som_batch import (
    Schedule,
    SumByUnit,
    decayed,
    principal_plane,
    quantization_sums,
    smoothed_means,
    train_in_batches,
)
from lowland.math.statistics.rescaling import UniformScaling
from lowland.run.local import LocalRun

TOPOLOGIES = ["hexagonal", "rectangular"]


def rows(n=200, d=5, seed=0):
    return np.random.default_rng(seed).standard_normal((n, d))


@pytest.mark.parametrize("library", ["numpy", "torch", "array_api_strict"])
@pytest.mark.parametrize("topology", TOPOLOGIES)
def test_sums_by_unit(library, topology, monkeypatch):
    """Sums over sorted rows and products with the assignment matrix, both compared with all distances."""
    xp = pytest.importorskip(library)
    monkeypatch.setattr("lowland.math.prototypes.codebook._LEAST_TILE", 16)
    monkeypatch.setattr("lowland.math.prototypes.codebook._TILE", 1)
    grid, X, W = Grid(3, 4, topology), rows(150), rows(12, seed=3)
    book = Codebook.of(W)
    total = SumByUnit(book, grid)(xp.asarray(X))
    D = cdist(X, W)
    first, second = np.argsort(D, axis=1)[:, :2].T
    sums = np.stack([(X[first == u] - book.scaling.shift).sum(axis=0) for u in range(12)]) / book.scaling.unit
    np.testing.assert_allclose(total.sums, sums, atol=1e-12)
    np.testing.assert_array_equal(total.counts, np.bincount(first, minlength=12))
    assert total.error == pytest.approx(D.min(axis=1).sum(), rel=1e-12)
    apart = np.linalg.norm(grid.positions[first] - grid.positions[second], axis=1)
    assert total.torn == (apart > grid.neighbor_distance).sum()
    parts = SumByUnit(book, grid)(xp.asarray(X[:40])) + SumByUnit(book, grid)(xp.asarray(X[40:]))
    np.testing.assert_allclose(parts.sums, total.sums, atol=1e-12)
    assert (parts.torn, parts.rows) == (total.torn, 150)


def test_units_without_nearby_rows_stay():
    grid, W = Grid(1, 4, "rectangular"), np.arange(4.0)[:, None]
    sums = SumByUnit(Codebook(UniformScaling(np.zeros(1)), W), grid)(np.array([[0.1], [0.3]]))
    np.testing.assert_allclose(smoothed_means(sums, W, grid, 1.0, "bubble")[:, 0], [0.2, 0.2, 2, 3])
    np.testing.assert_allclose(smoothed_means(sums, W, grid, 0.01, "gaussian")[:, 0], [0.2, 1, 2, 3])


@pytest.mark.parametrize("decay", ["exponential", "linear", "inverse"])
def test_schedules_fall_from_first_to_last(decay):
    values = decayed((8.0, 0.5), np.linspace(0, 1, 11), decay)
    assert (values[0], values[-1]) == (pytest.approx(8.0), pytest.approx(0.5))
    assert np.all(np.diff(values) < 0)


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


def test_a_non_finite_row_is_detected_in_the_sums():
    X = rows(6, 3)
    X[2, 1] = np.nan
    with np.errstate(invalid="ignore"):  # as a run does
        assert not SumByUnit(Codebook.of(rows(9, 3, seed=1)), Grid(3, 3))(X).is_finite()


def test_an_epoch_follows_the_formula():
    """W = HS / Hc with the rows nearest to each unit, once for every radius of the schedule."""
    X, grid, W = rows(150), Grid(3, 4, "hexagonal"), rows(12, seed=3)
    found = train_in_batches(ArrayRows(X), LocalRun(), grid, centering_scaling(W), W, Schedule(3, (2.0, 0.8)))
    for radius in decayed((2.0, 0.8), np.array([0, 0.5, 1]), "exponential"):
        first = cdist(X, W).argmin(axis=1)
        H = nearness(cdist(grid.positions, grid.positions) ** 2, radius, "gaussian")
        M = first[:, None] == np.arange(12)
        W = (H @ M.T @ X) / (H @ M.sum(axis=0))[:, None]
    np.testing.assert_allclose(found.prototypes, W, atol=1e-9)
    assert found.outcome.trace[-1] == pytest.approx(cdist(X, W).min(axis=1).mean())
    assert (found.outcome.iterations, found.radii[0], found.radii[-1]) == (3, 2.0, pytest.approx(0.8))
    sums = quantization_sums(ArrayRows(X), LocalRun(), found.prototypes, grid)
    assert sums.error / sums.rows == pytest.approx(found.outcome.trace[-1])


def test_further_epochs_stop_when_the_error_stops_changing():
    X, W = rows(150), rows(6, seed=3)
    schedule = Schedule(2, (1.0, 0.5), convergence_epochs=200, tol=1e-6)
    found = train_in_batches(ArrayRows(X), LocalRun(), Grid(2, 3), centering_scaling(W), W, schedule)
    assert found.outcome.converged
    assert 2 < found.outcome.iterations < 202

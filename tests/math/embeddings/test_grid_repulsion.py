import numpy as np
import pytest

from lowland.math.embeddings.grid_repulsion import GridRepulsion, SplineGrid
from lowland.math.embeddings.row_blocks import Together, together
from lowland.run.local import LocalRun
from lowland.run.settings import Settings

from .tsne_formulas import repulsion

SERIAL = Together(None, 1)


def clusters(n, k, wide, seed=0):
    rng = np.random.default_rng(seed)
    centers = rng.uniform(-wide, wide, (12, k))
    return centers[rng.integers(0, 12, n)] + rng.normal(0, 2, (n, k))


def errors_of(Z, dof=1.0):
    """The error of each force in units of the mean force, and the relative error of the sum."""
    forces, total = repulsion(Z.astype(np.float64), dof)
    G = np.empty_like(Z)
    found = GridRepulsion(dof)(Z, G, SERIAL)
    return np.linalg.norm(G - forces, axis=1) / np.linalg.norm(forces, axis=1).mean(), abs(found - total) / total


@pytest.mark.parametrize(("k", "wide", "rms", "most"), [(1, 100, 0.02, 0.1), (2, 30, 0.02, 0.1), (3, 12, 0.04, 0.2)])
@pytest.mark.parametrize("dof", [1.0, 0.5, 2.0])
def test_forces_are_those_of_the_exact_sum(k, wide, rms, most, dof):
    error, of_total = errors_of(clusters(1500, k, wide).astype(np.float32), dof)
    assert np.sqrt((error**2).mean()) < rms
    assert error.max() < most
    assert of_total < 5e-3


@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize(("unit", "most"), [(1e-4, 0.03), (1e-2, 0.03), (1.0, 0.02)])
def test_forces_of_a_small_map_are_accurate_in_float32(k, unit, most):
    Z = (unit * np.random.default_rng(1).standard_normal((2000, k))).astype(np.float32)
    error, of_total = errors_of(Z)
    assert np.sqrt((error**2).mean()) < most
    assert of_total < 1e-3


def test_a_finer_grid_is_more_accurate_than_a_coarse_one(monkeypatch):
    from lowland.math.embeddings import grid_repulsion

    Z, found = clusters(1500, 2, 30).astype(np.float32), []
    for spacing in (0.8, 0.4, 0.2):
        monkeypatch.setitem(grid_repulsion._SPACING, 2, spacing)
        found.append(errors_of(Z)[0].max())
    assert found[2] < 0.5 * found[1] < 0.25 * found[0]


def test_the_ends_of_the_grid_do_not_touch():
    """The transform is long enough: a group does not feel another one from across the border."""
    far = clusters(700, 2, 1, seed=1) + np.array([200.0, 0.0])
    error, _ = errors_of(np.concatenate([clusters(700, 2, 1), far]).astype(np.float32))
    assert np.sqrt((error**2).mean()) < 0.1


def test_the_number_of_nodes_is_bounded_and_far_rows_are_handled():
    Z = clusters(1500, 2, 5).astype(np.float32)
    Z[0] = 1e5
    grid = SplineGrid.around(Z, 1.0)
    assert max(grid.nodes) < 400
    G = np.empty_like(Z)
    assert np.isfinite(GridRepulsion()(Z, G, SERIAL))
    assert np.isfinite(G).all()


@pytest.mark.parametrize("k", [1, 2, 3])
def test_all_rows_at_one_place(k):
    Z = np.full((600, k), 3.25, dtype=np.float32)
    G = np.empty_like(Z)
    assert GridRepulsion()(Z, G, SERIAL) == pytest.approx(600 * 599, rel=1e-4)
    assert np.abs(G).max() < 1e-2


@pytest.mark.parametrize("k", [1, 2, 3])
def test_bits_are_equal_on_any_number_of_threads(k):
    Z = clusters(5000, k, 12).astype(np.float32)
    found = []
    for threads in (1, 2, 16):
        G = np.empty_like(Z)
        with together(LocalRun(Settings(threads=threads, progress=False))) as blocks:
            found.append((GridRepulsion()(Z, G, blocks), G))
    totals, forces = zip(*found, strict=True)
    assert len(set(totals)) == 1
    assert all((forces[0] == G).all() for G in forces)

import numpy as np
import pytest
import scipy.sparse

from lowland import TSNE
from lowland.data import load_dataset
from lowland.math.embeddings.descent import RowBlocks, row_blocks
from lowland.math.embeddings.repulsion import (
    ExactRepulsion,
    GridRepulsion,
    SampledRepulsion,
    TreeRepulsion,
    choose_repulsion,
    convolve,
)
from lowland.run.run import Run
from lowland.run.settings import Settings

from .tsne_formulas import repulsion

SERIAL = RowBlocks(None, 1)
SPLINE = np.array([1, 4, 1]) / 6  # values of the cubic B-spline at its nodes
RNG = np.random.default_rng(0)
Z = RNG.uniform(-6, 6, (6, 5))[RNG.integers(0, 6, 900)] + RNG.normal(0, 1, (900, 5))


@pytest.mark.parametrize("k", [2, 5])
@pytest.mark.parametrize("dof", [1.0, 0.3])
def test_the_exact_repulsion_is_the_formula(k, dof):
    Z = np.random.default_rng(0).normal(0, 3, (600, k))
    forces, total = repulsion(Z, dof)
    G = np.empty_like(Z)
    assert ExactRepulsion(dof)(Z, G, RowBlocks(None, 1)) == pytest.approx(total, rel=1e-12)
    np.testing.assert_allclose(G, forces, rtol=1e-9, atol=1e-12)


def chosen(n, k, dof=1.0, **given):
    return choose_repulsion(scipy.sparse.csr_array((n, n)), k, dof, **given)


def test_the_choice_is_by_rows_and_dimensions_and_has_a_reason():
    assert isinstance(chosen(500, 2)[0], ExactRepulsion)
    assert isinstance(chosen(50_000, 2)[0], GridRepulsion)
    assert isinstance(chosen(50_000, 3)[0], TreeRepulsion)
    assert isinstance(chosen(1000, 3)[0], ExactRepulsion)
    assert isinstance(chosen(50_000, 4)[0], SampledRepulsion)
    assert isinstance(chosen(5000, 4)[0], ExactRepulsion)
    assert chosen(50_000, 2, 0.5)[1].name == "interpolation by FFT"
    assert chosen(50_000, 3)[1].name == "Barnes-Hut"
    assert chosen(50_000, 4)[1].name == "sampled"
    assert all("50,000 rows" in chosen(50_000, k)[1].reason for k in (1, 2, 3, 4))
    for k in (2, 3, 4):
        exact, solver = chosen(50_000, k, exact=True)
        assert isinstance(exact, ExactRepulsion)
        assert (solver.name, solver.reason) == ("exact", "requested")
    assert chosen(50_000, 3, theta=0.3)[0].theta == 0.3
    assert isinstance(chosen(50_000, 3, theta=0.0)[0], ExactRepulsion)


# --- convolution ------------------------------------------------------------------------------------------------------


def spread_at_nodes(charges):
    """Unit charges at nodes, spread by splines; the same function reads a potential at the nodes."""
    for axis in range(charges.ndim):
        charges = np.apply_along_axis(np.convolve, axis, charges, SPLINE, mode="same")
    return charges


def similarity(shape, node, spacing, dof):
    squares = sum((spacing * (i - at)) ** 2 for i, at in zip(np.indices(shape), node, strict=True))
    return (1 + squares / dof) ** -dof


@pytest.mark.parametrize("dof", [1.0, 0.5])
@pytest.mark.parametrize("shape", [(90,), (40, 30), (20, 14, 12), (150, 131)])
def test_a_charge_at_a_node_has_the_similarity_as_its_potential(shape, dof):
    """The potential interpolates w at the nodes."""
    node, inner = tuple(m // 3 for m in shape), tuple(slice(2, -2) for _ in shape)
    charges = np.zeros(shape)
    charges[node] = 1
    coefficients = convolve(spread_at_nodes(charges), 0.4, dof)
    error = spread_at_nodes(coefficients) - similarity(shape, node, 0.4, dof)
    assert np.abs(error[inner]).max() < 1e-12


# --- grid -------------------------------------------------------------------------------------------------------------


def clusters(n, k=3, wide=12, seed=0):
    rng = np.random.default_rng(seed)
    centers = rng.uniform(-wide, wide, (12, k))
    return centers[rng.integers(0, 12, n)] + rng.normal(0, 2, (n, k))


@pytest.fixture
def grids_of_any_size(monkeypatch):
    """A tree never takes over because of the time."""
    monkeypatch.setattr("lowland.math.embeddings.repulsion._NODE", 0)


def errors_of(Z, dof=1.0):
    """The error of each force in units of the mean force, and the relative error of the sum."""
    forces, total = repulsion(Z.astype(np.float64), dof)
    G = np.empty_like(Z)
    found = GridRepulsion(dof)(Z, G, SERIAL)
    return np.linalg.norm(G - forces, axis=1) / np.linalg.norm(forces, axis=1).mean(), abs(found - total) / total


@pytest.mark.usefixtures("grids_of_any_size")
@pytest.mark.parametrize(("k", "wide", "rms", "most"), [(1, 100, 0.02, 0.1), (2, 30, 0.02, 0.1), (3, 12, 0.04, 0.2)])
@pytest.mark.parametrize("dof", [1.0, 0.5])
def test_forces_are_those_of_the_exact_sum(k, wide, rms, most, dof):
    error, of_total = errors_of(clusters(1500, k, wide).astype(np.float32), dof)
    assert np.sqrt((error**2).mean()) < rms
    assert error.max() < most
    assert of_total < 5e-3


@pytest.mark.usefixtures("grids_of_any_size")
@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize(("unit", "most"), [(1e-4, 0.03), (1.0, 0.02)])
def test_forces_of_a_small_map_are_accurate_in_float32(k, unit, most):
    Z = (unit * np.random.default_rng(1).standard_normal((1000, k))).astype(np.float32)
    error, of_total = errors_of(Z)
    assert np.sqrt((error**2).mean()) < most
    assert of_total < 1e-3


@pytest.mark.usefixtures("grids_of_any_size")
def test_the_ends_of_the_grid_do_not_touch():
    """The transform is long enough: a group does not feel another one from across the border."""
    far = clusters(700, 2, 1, seed=1) + np.array([200.0, 0.0])
    error, _ = errors_of(np.concatenate([clusters(700, 2, 1), far]).astype(np.float32))
    assert np.sqrt((error**2).mean()) < 0.1


@pytest.mark.parametrize("k", [1, 2])
@pytest.mark.parametrize("dof", [1.0, 3.0])
def test_a_map_too_wide_or_too_sparse_for_a_grid_is_accurate_too(k, dof):
    """A coarser grid would not resolve the similarity, and the error of a point's own potential would be the sum's."""
    places = np.repeat(clusters(150, k, 3000), 10, axis=0)
    one_far = clusters(1500, k, 5)
    one_far[0] = 1e5
    for Z in (places, one_far, np.random.default_rng(0).uniform(0, 5e4, (1500, k))):
        error, of_total = errors_of(Z.astype(np.float32), dof)
        assert np.sqrt((error**2).mean()) < 0.03
        assert of_total < 0.01


@pytest.mark.usefixtures("grids_of_any_size")
@pytest.mark.parametrize("k", [1, 3])
def test_all_rows_at_one_place(k):
    Z = np.full((600, k), 3.25, dtype=np.float32)
    G = np.empty_like(Z)
    assert GridRepulsion()(Z, G, SERIAL) == pytest.approx(600 * 599, rel=1e-4)
    assert np.abs(G).max() < 1e-2


# --- tree -------------------------------------------------------------------------------------------------------------


def duplicates(n):
    """Each place has 1 to 200 points, more than a leaf has."""
    places = clusters(n // 50)
    return places[np.sort(np.random.default_rng(1).integers(0, len(places), n) ** 2 % len(places))]


def far_row(n):
    Z = clusters(n)
    Z[0] = 1e5
    return Z


MAPS = {
    "clusters": clusters(1500),
    "ball": np.random.default_rng(0).normal(0, 8, (1500, 3)),
    "start": np.random.default_rng(0).normal(0, 1e-4, (1500, 3)),
    "duplicates": duplicates(1500),
    "plane": clusters(1500) * [1, 1, 0],
    "line": clusters(1500) * [0, 1, 0] + 5.0,
    "far row": far_row(1500),
}


def errors_of_tree(Z, dof=1.0, theta=0.5):
    """The error of each force in units of the mean force, and the relative error of the sum."""
    forces, total = repulsion(Z.astype(np.float64), dof)
    G = np.full_like(Z, np.nan)
    found = TreeRepulsion(dof, theta)(Z, G, SERIAL)
    return np.linalg.norm(G - forces, axis=1) / np.linalg.norm(forces, axis=1).mean(), abs(found - total) / total


@pytest.mark.parametrize("dof", [1.0, 2.0])
@pytest.mark.parametrize("name", MAPS)
def test_forces_are_those_of_the_exact_sum_with_a_tree(name, dof):
    """Along a line or in a plane, the errors of fewer cells are added."""
    error, of_total = errors_of_tree(MAPS[name].astype(np.float32), dof)
    assert np.sqrt((error**2).mean()) < {"plane": 0.015, "line": 0.03}.get(name, 0.01)
    assert error.max() < 0.1
    assert of_total < 0.01


@pytest.mark.parametrize("name", MAPS)
def test_theta_zero_is_the_exact_sum(name):
    error, of_total = errors_of_tree(MAPS[name], 0.5, theta=0.0)
    assert error.max() < 1e-10
    assert of_total < 1e-11


@pytest.mark.parametrize("name", ["clusters", "plane"])
def test_a_smaller_theta_is_more_accurate(name):
    found = [errors_of_tree(MAPS[name], theta=theta)[0].mean() for theta in (1.0, 0.5, 0.2)]
    assert found[2] < 0.4 * found[1] < 0.16 * found[0]


def test_a_point_is_not_repelled_by_its_own_cell():
    """At theta 1, a corner of a cell is far enough from its center, but the cell holds the point itself."""
    Z = np.concatenate([np.zeros((9, 3)), np.ones((300, 3))]) + 1e-6 * np.random.default_rng(0).random((309, 3))
    error, _ = errors_of_tree(30 * Z, theta=1.0)
    assert error.max() < 0.01


@pytest.mark.parametrize("n", [1, 2, 9, 600])
def test_all_rows_at_one_place_with_a_tree(n):
    Z = np.full((n, 3), 3.25, dtype=np.float32)
    G = np.full_like(Z, np.nan)
    assert TreeRepulsion()(Z, G, SERIAL) == pytest.approx(n * (n - 1), rel=1e-6)
    assert np.abs(G).max() < 1e-4


# --- sample -----------------------------------------------------------------------------------------------------------


def nearest(Z, k=20):
    D = ((Z[:, None] - Z[None]) ** 2).sum(axis=2)
    np.fill_diagonal(D, np.inf)
    to = np.argsort(D, axis=1)[:, :k]
    n = len(Z)
    return scipy.sparse.csr_array((np.ones(n * k), to.ravel(), np.arange(n + 1) * k), shape=(n, n))


EDGES, NO_EDGES = nearest(Z), scipy.sparse.csr_array(Z.shape[:1] * 2)


def estimates(P, size, dof=1.0, draws=200):
    """Forces (draws, n, k) and sums of independent samples."""
    found, totals = np.empty((draws, *Z.shape)), np.empty(draws)
    for seed in range(draws):
        totals[seed] = SampledRepulsion.of(P, size, dof, seed)(Z, found[seed], SERIAL)
    return found, totals


@pytest.mark.parametrize("dof", [1.0, 0.5])
@pytest.mark.parametrize("P", [EDGES, NO_EDGES], ids=["edges", "none"])
def test_estimates_are_unbiased(P, dof):
    forces, total = repulsion(Z, dof)
    found, totals = estimates(P, 100, dof)
    z = (found.mean(axis=0) - forces) / (found.std(axis=0) / np.sqrt(len(found)))
    assert 0.85 < np.sqrt((z**2).mean()) < 1.15  # the errors are those of the noise
    assert np.abs(z).max() < 6
    assert abs(totals.mean() - total) < 4 * totals.std() / np.sqrt(len(totals))


@pytest.mark.parametrize("size", [900])
def test_a_sample_of_all_rows_is_the_exact_sum(size):
    forces, total = repulsion(Z)
    G = np.empty_like(Z)
    assert SampledRepulsion.of(EDGES, size, 1.0, 0)(Z, G, SERIAL) == pytest.approx(total, rel=1e-12)
    np.testing.assert_allclose(G, forces, rtol=1e-9, atol=1e-12)


def test_exact_neighbors_and_larger_samples_reduce_the_noise():
    def noise(P, size):
        return estimates(P, size, draws=30)[0].std(axis=0).mean()

    assert noise(EDGES, 100) < 0.9 * noise(NO_EDGES, 100)
    assert noise(EDGES, 400) < 0.6 * noise(EDGES, 100)


def test_a_sample_depends_on_the_seed_and_changes_with_the_iterations():
    def forces(seed, iteration):
        G = np.empty_like(Z)
        SampledRepulsion.of(EDGES, 100, 1.0, seed)(Z, G, SERIAL, iteration)
        return G

    assert (forces(0, 3) == forces(0, 4)).all()
    assert not (forces(0, 3) == forces(0, 503)).all()
    assert not (forces(0, 3) == forces(1, 3)).all()
    assert not (forces(0, 0) == forces(0, -1)).all()  # the objective is not measured by the sample of the descent


@pytest.mark.usefixtures("grids_of_any_size")
@pytest.mark.parametrize(
    ("repel", "Z"),
    [
        (GridRepulsion(), clusters(5000, 2)),
        (GridRepulsion(), clusters(5000, 3)),
        (TreeRepulsion(), clusters(8000)),
        (
            SampledRepulsion.of(scipy.sparse.csr_array(scipy.sparse.block_diag([EDGES] * 5)), 300, 1.0, 0),
            np.tile(Z, (5, 1)),
        ),
    ],
)
def test_forces_are_equal_to_the_bit_on_any_number_of_threads(repel, Z):
    Z, found = Z.astype(np.float32), []
    for threads in (1, 16):
        G = np.empty_like(Z)
        with row_blocks(Run(Settings(threads=threads, progress=False))) as blocks:
            found.append((repel(Z, G, blocks), G))
    totals, forces = zip(*found, strict=True)
    assert len(set(totals)) == 1
    assert all((forces[0] == G).all() for G in forces)


def test_digits_reach_the_divergence_of_the_exact_sum(monkeypatch):
    monkeypatch.setattr("lowland.math.embeddings.repulsion._WORTH", 1)  # all pairs must take longer, not twice as long
    X = load_dataset("digits").X[:1450]
    by_tree, exact = (TSNE(3, max_iter=300, random_state=0, angle=angle).fit(X) for angle in (0.5, 0.0))
    assert (by_tree.solver_.name, exact.solver_.name) == ("Barnes-Hut", "exact")
    assert by_tree.kl_divergence_ == pytest.approx(exact.kl_divergence_, rel=0.02)

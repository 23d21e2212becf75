import numpy as np
import pytest

from lowland import TSNE
from lowland.data import load_dataset
from lowland.math.embeddings.row_blocks import Together, together
from lowland.math.embeddings.tree_repulsion import Octree, TreeRepulsion
from lowland.run.local import LocalRun
from lowland.run.settings import Settings

from .tsne_formulas import repulsion

SERIAL = Together(None, 1)


def clusters(n, wide=12, seed=0):
    rng = np.random.default_rng(seed)
    centers = rng.uniform(-wide, wide, (12, 3))
    return centers[rng.integers(0, 12, n)] + rng.normal(0, 2, (n, 3))


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


def errors_of(Z, dof=1.0, theta=0.5):
    """The error of each force in units of the mean force, and the relative error of the sum."""
    forces, total = repulsion(Z.astype(np.float64), dof)
    G = np.full_like(Z, np.nan)
    found = TreeRepulsion(dof, theta)(Z, G, SERIAL)
    return np.linalg.norm(G - forces, axis=1) / np.linalg.norm(forces, axis=1).mean(), abs(found - total) / total


@pytest.mark.parametrize("dof", [1.0, 0.5, 2.0])
@pytest.mark.parametrize("name", MAPS)
def test_forces_are_those_of_the_exact_sum(name, dof):
    """Along a line or in a plane, the errors of fewer cells are added."""
    error, of_total = errors_of(MAPS[name].astype(np.float32), dof)
    assert np.sqrt((error**2).mean()) < {"plane": 0.015, "line": 0.03}.get(name, 0.01)
    assert error.max() < 0.1
    assert of_total < 0.01


@pytest.mark.parametrize("dof", [1.0, 0.5])
@pytest.mark.parametrize("name", MAPS)
def test_theta_zero_is_the_exact_sum(name, dof):
    error, of_total = errors_of(MAPS[name], dof, theta=0.0)
    assert error.max() < 1e-10
    assert of_total < 1e-11


@pytest.mark.parametrize("name", ["ball", "clusters", "plane", "line"])
def test_a_smaller_theta_is_more_accurate(name):
    found = [errors_of(MAPS[name], theta=theta)[0].mean() for theta in (1.0, 0.5, 0.2)]
    assert found[2] < 0.4 * found[1] < 0.16 * found[0]


def test_a_point_is_not_repelled_by_its_own_cell():
    """At theta 1, a corner of a cell is far enough from its center, but the cell holds the point itself."""
    Z = np.concatenate([np.zeros((9, 3)), np.ones((300, 3))]) + 1e-6 * np.random.default_rng(0).random((309, 3))
    error, _ = errors_of(30 * Z, theta=1.0)
    assert error.max() < 0.01


@pytest.mark.parametrize("n", [1, 2, 9, 600])
def test_all_rows_at_one_place(n):
    Z = np.full((n, 3), 3.25, dtype=np.float32)
    G = np.full_like(Z, np.nan)
    assert TreeRepulsion()(Z, G, SERIAL) == pytest.approx(n * (n - 1), rel=1e-6)
    assert np.abs(G).max() < 1e-4


def test_cells_divide_the_points_and_have_their_center_and_size():
    Z = MAPS["clusters"]
    tree = Octree.of(Z)
    assert sorted(tree.order) == list(range(1500))
    assert (Z[tree.order] == tree.points.T).all()
    leaves = tree.cells[tree.cells[:, 3] == np.arange(len(tree.cells)) + 1]
    np.testing.assert_array_equal(leaves[1:, 0], leaves[:-1, 1])  # in the order of the points, without gaps
    assert (leaves[0, 0], leaves[-1, 1]) == (0, 1500)
    assert (tree.starts[0], tree.starts[-1]) == (0, 1500)
    for (first, last, _, _), center, side in zip(tree.cells, tree.centers, tree.sides, strict=True):
        points = Z[tree.order[first:last]]
        np.testing.assert_allclose(center, points.mean(axis=0), atol=1e-10)
        assert np.ptp(points, axis=0).max() <= side * (1 + 1e-9)


def test_bits_are_equal_on_any_number_of_threads():
    Z, found = clusters(20_000).astype(np.float32), []
    for threads in (1, 2, 16):
        G = np.empty_like(Z)
        with together(LocalRun(Settings(threads=threads, progress=False))) as blocks:
            found.append((TreeRepulsion()(Z, G, blocks), G))
    totals, forces = zip(*found, strict=True)
    assert len(set(totals)) == 1
    assert all((forces[0] == G).all() for G in forces)


def test_digits_reach_the_divergence_of_the_exact_sum():
    X = load_dataset("digits").X
    by_tree = TSNE(3, max_iter=500, random_state=0).fit(X)
    exact = TSNE(3, max_iter=500, random_state=0, angle=0.0).fit(X)
    assert (by_tree.solver_.name, exact.solver_.name) == ("Barnes-Hut", "exact")
    assert by_tree.kl_divergence_ == pytest.approx(exact.kl_divergence_, rel=0.02)

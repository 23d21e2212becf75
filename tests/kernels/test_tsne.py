import numpy as np
import pytest

from lowland.kernels import tsne
from lowland.kernels.tsne import calibrate

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("k", [2, 3])
def test_two_points_attract_and_repel_along_their_line(k):
    Z = np.zeros((2, k), dtype=np.float32)
    Z[1, 0] = 2
    edges = np.array([0, 1, 2]), np.array([1, 0], dtype=np.uint32), np.array([0.5, 0.5], dtype=np.float32)
    G = np.empty_like(Z)
    total = tsne.repel_all(np.ascontiguousarray(Z.T), 1.0, 0, 2, G)
    assert total == pytest.approx(2 + 2 / 5)  # each point with itself, and the pair
    assert G[0, 0] == pytest.approx(-2 / 25) == -G[1, 0]
    tsne.attract(*edges, Z, 1.0, 0, 2, G)
    assert G[0, 0] == pytest.approx(0.5 / 5 * -2) == -G[1, 0]
    assert not G[:, 1:].any()
    denominators = np.empty(2)
    tsne.edge_denominators(*edges[:2], Z, 1.0, 0, 2, denominators)
    np.testing.assert_allclose(denominators, 5)


def test_a_new_row_starts_at_the_neighbor_in_the_middle_of_the_larger_cluster():
    Y = np.array([[0.0, 0], [0, 1], [0, 2], [50, 0], [51, 0]])
    Z = np.empty((1, 2))
    tsne.start_at_best_neighbor(Y, np.arange(5)[None], np.full((1, 5), 0.2), 1.0, Z)
    np.testing.assert_array_equal(Z[0], Y[1])


def test_a_new_row_among_all_comes_to_rest_where_the_forces_cancel():
    Y, Z = RNG.normal(0, 4, (40, 4)), np.zeros((1, 4))
    to, p = np.array([[0, 1, 2]]), np.array([[0.5, 0.3, 0.2]])
    tsne.place_among_all(Y, to, p, 1.0, 0.1, 0.3, 500, Z)
    u = 1 / (1 + ((Z - Y) ** 2).sum(axis=1))
    pull = (p[0] * u[:3]) @ (Z - Y[:3])
    np.testing.assert_allclose(pull, 0.1 * (u**2) @ (Z - Y), atol=1e-6)


def test_weights_are_gaussian_with_the_entropy_asked_for():
    d = np.sort(np.random.default_rng(0).uniform(1, 3, 40))
    P = np.zeros(40)
    calibrate(np.array([0, 40]), d, np.log(12.0), 1e-10, 0, 1, P)
    slope = np.diff(np.log(P)) / np.diff(d**2)
    np.testing.assert_allclose(slope, slope[0])
    assert abs(-(P * np.log(P)).sum() - np.log(12)) < 1e-9


def test_only_the_asked_rows_are_added_to():
    P = np.ones(6)
    calibrate(np.array([0, 2, 4, 6]), np.arange(6.0), np.log(1.5), 1e-9, 1, 2, P)
    assert (P[[0, 1, 4, 5]] == 1).all()
    assert P[2:4].sum() == 3

import numpy as np

from lowland.kernels import tsne

RNG = np.random.default_rng(0)


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

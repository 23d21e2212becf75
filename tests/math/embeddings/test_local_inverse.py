"""Local regression: exact for affine functions of the map, bounded where neighbors lie on a line."""

import numpy as np
import scipy.sparse

from lowland.math.embeddings.local_inverse import LocalRegression, regression_weights

rng = np.random.default_rng(0)
Z = rng.normal(size=(300, 2))
PLANE = Z @ rng.normal(size=(2, 7)) + rng.normal(size=7)


def test_rows_on_a_plane_are_recovered():
    found = LocalRegression.of(Z, PLANE, 15)
    new = 0.5 * rng.normal(size=(50, 2))
    slope = np.linalg.lstsq(np.c_[np.ones(300), Z], PLANE, rcond=None)[0]
    np.testing.assert_allclose(found(new), np.c_[np.ones(50), new] @ slope, atol=2e-2)
    assert found.leave_one_out_error() < 0.01


def test_without_a_ridge_the_plane_is_exact():
    near = Z[:20][None].repeat(3, axis=0)
    Y = np.array([[0.1, 0.2], [0.0, 0.0], [-0.3, 0.1]])
    length = np.sqrt(((near - Y[:, None]) ** 2).sum(axis=2))
    order = np.argsort(length, axis=1)
    near, length = np.take_along_axis(near, order[:, :, None], 1), np.take_along_axis(length, order, 1)
    H = regression_weights(Y, near, length, ridge=0.0)
    np.testing.assert_allclose(H.sum(axis=1), 1)
    np.testing.assert_allclose(np.einsum("mk,mkp->mp", H, near), Y, atol=1e-9)


def test_weights_sum_to_one_for_neighbors_at_one_place_or_on_a_line():
    Y = np.zeros((2, 2))
    near = np.stack([np.zeros((5, 2)), np.c_[np.linspace(0.1, 1, 5), np.zeros(5)]])
    H = regression_weights(Y, near, np.sqrt((near**2).sum(axis=2)))
    np.testing.assert_allclose(H.sum(axis=1), 1, atol=1e-9)
    assert np.abs(H).max() < 10


def test_noise_in_the_rows_is_the_error():
    noisy = LocalRegression.of(Z, rng.normal(size=(300, 40)), 15).leave_one_out_error()
    assert 0.9 < noisy < 1.5


def test_sparse_rows():
    dense = LocalRegression.of(Z, PLANE, 15)
    sparse = LocalRegression.of(Z, scipy.sparse.csr_array(PLANE), 15)
    np.testing.assert_allclose(sparse(Z[:9]), dense(Z[:9]))
    assert abs(sparse.leave_one_out_error() - dense.leave_one_out_error()) < 1e-9

import pickle

import numpy as np
import pytest

from lowland.math.embeddings.repulsion import ExactRepulsion
from lowland.math.embeddings.row_blocks import Together
from lowland.math.embeddings.tsne_new_rows import TSNEPlacing
from lowland.math.neighbors.out_of_sample import NearestAmong

RNG = np.random.default_rng(0)
LABELS = np.arange(600) % 3
X = RNG.standard_normal((600, 5)) + 8 * np.eye(5)[LABELS]


def training_map(k):
    return RNG.normal(0, 3, (600, k)) + 25 * LABELS[:, None]


def placing(k, dof=1.0):
    return TSNEPlacing(NearestAmong(X, 30), training_map(k), dof)


@pytest.mark.parametrize("k", [1, 2, 4])
def test_new_rows_go_to_their_cluster_and_training_rows_to_their_place(k):
    place = placing(k)
    np.testing.assert_array_equal(place(X), place.Y)
    new = RNG.standard_normal((90, 5)) + 8 * np.eye(5)[np.arange(90) % 3]
    centers = np.stack([place.Y[c::3].mean(axis=0) for c in range(3)])
    near = np.linalg.norm(place(new)[:, None] - centers[None], axis=2).argmin(axis=1)
    np.testing.assert_array_equal(near, np.arange(90) % 3)


@pytest.mark.parametrize("dof", [1.0, 0.6])
def test_the_place_is_a_stationary_point_of_the_rows_own_divergence(dof):
    """Attraction to the neighbors equals repulsion by all training rows, by plain formulas."""
    place = placing(2, dof)
    new = RNG.standard_normal((20, 5)) + 8 * np.eye(5)[np.arange(20) % 3]
    Z, Y = place(new), place.Y
    to, length = place.nearest(new)
    from lowland.kernels.perplexity import calibrate

    P = np.zeros(20 * 30)
    calibrate(np.arange(21) * 30, length.ravel(), np.log(place.perplexity), 1e-7, 0, 20, P)
    mean = ExactRepulsion(dof)(Y, np.empty_like(Y), Together(None, 1)) / 600
    difference = Z[:, None] - Y[None]
    u = 1 / (1 + (difference**2).sum(axis=2) / dof)
    push = ((u ** (dof + 1))[:, :, None] * difference).sum(axis=1) / mean
    near = np.take_along_axis(difference, to[:, :, None].astype(int), axis=1)
    pull = place.exaggeration * (
        (P.reshape(20, 30) * np.take_along_axis(u, to.astype(int), axis=1))[:, :, None] * near
    ).sum(axis=1)
    assert np.median(np.linalg.norm(pull - push, axis=1)) < 0.02 * np.median(np.linalg.norm(pull, axis=1) + 0.1)


def test_a_place_does_not_depend_on_the_batch_and_the_map_can_be_pickled():
    place = placing(2)
    new = RNG.standard_normal((64, 5)) * 3
    whole = place(new)
    alone = np.concatenate([place(new[i : i + 1]) for i in range(64)])
    np.testing.assert_array_equal(whole, alone)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(place))(new[::-1]), whole[::-1])


def test_rows_far_outside_stay_finite_and_missing_rows_are_missing():
    place = placing(2)
    new = np.vstack([np.full((1, 5), 1e6), np.full((1, 5), np.nan)])
    Z = place(new)
    assert np.isfinite(Z[0]).all()
    assert np.abs(Z[0]).max() < 3 * np.abs(place.Y).max()
    assert np.isnan(Z[1]).all()

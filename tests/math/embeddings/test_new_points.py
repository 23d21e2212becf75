"""New points: each by itself, near its neighbors; and the inverse transform."""

import numpy as np
import pytest
import scipy.optimize
import scipy.sparse
from scipy.spatial.distance import cdist

from lowland.math.embeddings.cross_entropy import EdgeForces, MapRadii
from lowland.math.embeddings.descent import RowBlocks
from lowland.math.embeddings.new_points import (
    ByAttraction,
    DensityOfNewRows,
    LocalRegression,
    PlacedByEdges,
    TSNEPlacing,
    middle_of,
    regression_weights,
)
from lowland.math.embeddings.repulsion import ExactRepulsion
from lowland.math.neighbors.search import NearestAmong

rng = np.random.default_rng(0)
X = rng.normal(size=(200, 2))
PLACES = (5 * X).astype(np.float32)
FORCES = EdgeForces(1.577, 0.895)
NEW = 0.7 * rng.normal(size=(30, 2))
RNG = np.random.default_rng(0)
POINTS = RNG.standard_normal((200, 4))
Z = 5 * POINTS[:, :2] + 0.3 * RNG.standard_normal((200, 2))
SCALES = RNG.uniform(0.5, 2, 200)
NEW_ROWS = RNG.standard_normal((30, 4))
PLACE = ByAttraction(NearestAmong(POINTS, 40), None, SCALES, Z, 10)
LABELS = np.arange(600) % 3
BLOBS = RNG.standard_normal((600, 5)) + 8 * np.eye(5)[LABELS]
PLANE_RNG = np.random.default_rng(0)
MAP = PLANE_RNG.normal(size=(300, 2))
PLANE = MAP @ PLANE_RNG.normal(size=(2, 7)) + PLANE_RNG.normal(size=7)


# --- along edges ------------------------------------------------------------------------------------------------------


def place(nearest=True, **options):
    return PlacedByEdges(
        NearestAmong(X, 8) if nearest else None, 8, None, PLACES, FORCES, 1.0, 0.3, 0.25, **options
    )  # fmt: skip


def test_rows_land_among_their_neighbors():
    Y = place()(NEW)
    assert np.median(np.linalg.norm(Y - 5 * NEW, axis=1)) < 0.6


@pytest.mark.parametrize("density", [False, True])
def test_a_row_near_a_training_row_is_placed_near_it_also_where_the_neighbors_of_that_row_are_elsewhere(density):
    Z = PLACES.copy()
    Z[:20] += 30  # these rows lie apart from their neighbors in the map
    radii = MapRadii(mean=-1.0, std=1.0, covariance=0.5, data_mean=-2.0, data_std=1.0)
    term = DensityOfNewRows(radii, 1.0, 0.3) if density else None
    placing = PlacedByEdges(NearestAmong(X, 8), 8, None, Z, FORCES, 1.0, 0.3, 0.25, term)
    assert np.linalg.norm(placing(X[:20] + 1e-5) - Z[:20], axis=1).max() < 3


def test_given_distances_place_rows_like_the_rows_themselves():
    D = np.sqrt(((NEW[:, None] - X[None]) ** 2).sum(axis=2))
    Y = place()(NEW)
    np.testing.assert_allclose(place(nearest=False)(D), Y, atol=1e-3)
    nearest = np.argsort(D, axis=1)[:, :8]
    stored = scipy.sparse.csr_array(
        (np.take_along_axis(D, nearest, 1).ravel(), nearest.ravel(), np.arange(31) * 8), (30, 200)
    )
    np.testing.assert_allclose(place(nearest=False)(stored), Y, atol=1e-3)


@pytest.mark.parametrize(("data_mean", "wider"), [(-8.0, True), (2.0, False)])
def test_the_density_term_moves_rows_toward_their_radius(data_mean, wider):
    """Rows whose radius in the data is above the mean get a wider neighborhood in the map."""
    radii = MapRadii(mean=-1.0, std=1.0, covariance=0.0, data_mean=data_mean, data_std=1.0)
    Y, plain = place(density=DensityOfNewRows(radii, 3.0, 1.0))(NEW), place()(NEW)

    def distance(Y):
        to, _ = NearestAmong(X, 8)(NEW)
        d2 = ((Y[:, None] - PLACES[to]) ** 2).sum(axis=2)
        similar = 1 / (1 + FORCES.a * d2**FORCES.b)
        return np.log((similar * d2).sum(axis=1) / similar.sum(axis=1)).mean()

    assert (distance(Y) > distance(plain)) == wider


# --- attraction -------------------------------------------------------------------------------------------------------


def test_a_row_is_placed_at_a_minimum_of_the_attraction():
    D = cdist(NEW_ROWS, POINTS)
    for i, place in enumerate(PLACE(NEW_ROWS)):
        near = np.argsort(D[i])[:40]
        to = near[np.argsort(D[i, near] ** 2 / SCALES[near])[:10]]
        chosen, weight = Z[to], D[i, to].min() / D[i, to]

        def attraction(z, chosen=chosen, weight=weight):
            square = 1 + ((chosen - z) ** 2).sum(axis=1)
            return (weight * square / (10 + square)).sum()

        found = scipy.optimize.minimize(attraction, np.median(chosen, axis=0), tol=1e-12)
        assert attraction(place) <= found.fun + 1e-6


def test_attraction_places_a_row_near_a_training_row_whose_neighbors_are_elsewhere():
    far = Z.copy()
    far[:20] += 100  # these rows lie apart from their neighbors in the map
    place = ByAttraction(NearestAmong(POINTS, 40), None, SCALES, far, 10)
    for step, most in ((1e-5, 0.1), (1e-3, 1)):
        assert np.linalg.norm(place(POINTS[:20] + step) - far[:20], axis=1).max() < most


def test_given_distances_place_rows_alike():
    expected = PLACE(NEW_ROWS)
    kept = np.arange(200)
    given = ByAttraction(None, None, SCALES, Z, 10, kept)
    whole = ByAttraction(NearestAmong(POINTS, 60), None, SCALES, Z, 10)  # 50 candidates beyond the neighbors
    np.testing.assert_allclose(given(cdist(NEW_ROWS, POINTS)), whole(NEW_ROWS), atol=1e-9)
    D = cdist(NEW_ROWS, POINTS)
    nearest = np.argsort(D, axis=1)[:, :40]
    rows = np.repeat(np.arange(30), 40)
    stored = scipy.sparse.csr_array((D[rows, nearest.ravel()], (rows, nearest.ravel())), shape=D.shape)
    np.testing.assert_allclose(given(stored), expected, atol=1e-9)


# --- KL divergence ----------------------------------------------------------------------------------------------------


def training_map(k):
    return RNG.normal(0, 3, (600, k)) + 25 * LABELS[:, None]


def placing(k, dof=1.0):
    return TSNEPlacing(NearestAmong(BLOBS, 30), training_map(k), dof)


@pytest.mark.parametrize("k", [1, 2, 4])
def test_new_rows_go_to_their_cluster_and_training_rows_to_their_place(k):
    place = placing(k)
    np.testing.assert_array_equal(place(BLOBS), place.Y.astype(np.float32))
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
    from lowland.kernels.tsne import calibrate

    P = np.zeros(20 * 30)
    calibrate(np.arange(21) * 30, length.ravel(), np.log(place.perplexity), 1e-7, 0, 20, P)
    mean = ExactRepulsion(dof)(Y, np.empty_like(Y), RowBlocks(None, 1)) / 600
    difference = Z[:, None] - Y[None]
    u = 1 / (1 + (difference**2).sum(axis=2) / dof)
    push = ((u ** (dof + 1))[:, :, None] * difference).sum(axis=1) / mean
    near = np.take_along_axis(difference, to[:, :, None].astype(int), axis=1)
    pull = place.exaggeration * (
        (P.reshape(20, 30) * np.take_along_axis(u, to.astype(int), axis=1))[:, :, None] * near
    ).sum(axis=1)
    assert np.median(np.linalg.norm(pull - push, axis=1)) < 0.02 * np.median(np.linalg.norm(pull, axis=1) + 0.1)


def test_rows_far_outside_stay_finite_and_missing_rows_are_missing():
    place = placing(2)
    new = np.vstack([np.full((1, 5), 1e6), np.full((1, 5), np.nan)])
    Z = place(new)
    assert np.isfinite(Z[0]).all()
    assert np.abs(Z[0]).max() < 3 * np.abs(place.Y).max()
    assert np.isnan(Z[1]).all()


# --- inverse ----------------------------------------------------------------------------------------------------------


def test_rows_on_a_plane_are_recovered():
    found = LocalRegression.of(MAP, PLANE, 15)
    new = 0.5 * PLANE_RNG.normal(size=(50, 2))
    slope = np.linalg.lstsq(np.c_[np.ones(300), MAP], PLANE, rcond=None)[0]
    np.testing.assert_allclose(found(new), np.c_[np.ones(50), new] @ slope, atol=2e-2)
    assert found.leave_one_out_error() < 0.01
    noise = LocalRegression.of(MAP, PLANE_RNG.normal(size=(300, 40)), 15)
    assert 0.9 < noise.leave_one_out_error() < 1.5  # the error is that of the rows


def test_weights_sum_to_one_for_neighbors_at_one_place_or_on_a_line():
    near = np.stack([np.zeros((5, 2)), np.c_[np.linspace(0.1, 1, 5), np.zeros(5)]])
    H = regression_weights(np.zeros((2, 2)), near, np.sqrt((near**2).sum(axis=2)))
    np.testing.assert_allclose(H.sum(axis=1), 1, atol=1e-9)
    assert np.abs(H).max() < 10


def test_the_farthest_neighbor_has_almost_no_weight_in_a_regression():
    near = np.array([[[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0], [5.0, 0.0]]])
    H = regression_weights(np.zeros((1, 2)), near, np.linalg.norm(near, axis=2))
    np.testing.assert_allclose(H[0], [0.25, 0.25, 0.25, 0.25, 0], atol=1e-6)


def test_sparse_rows():
    dense = LocalRegression.of(MAP, PLANE, 15)
    sparse = LocalRegression.of(MAP, scipy.sparse.csr_array(PLANE), 15)
    np.testing.assert_allclose(sparse(MAP[:9]), dense(MAP[:9]))
    assert abs(sparse.leave_one_out_error() - dense.leave_one_out_error()) < 1e-9


def test_a_new_row_starts_at_the_neighbor_in_the_middle_of_the_larger_cluster():
    Y = np.array([[0.0, 0], [0, 1], [0, 2], [50, 0], [51, 0]])
    np.testing.assert_array_equal(middle_of(Y, np.full(5, 0.2), 1.0), Y[1])

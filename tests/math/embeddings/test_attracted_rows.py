import pickle

import numpy as np
import scipy.optimize
import scipy.sparse
from scipy.spatial.distance import cdist

from lowland.math.embeddings.attracted_rows import ByAttraction
from lowland.math.neighbors.out_of_sample import NearestAmong

RNG = np.random.default_rng(0)
POINTS = RNG.standard_normal((200, 4))
Z = 5 * POINTS[:, :2] + 0.3 * RNG.standard_normal((200, 2))
SCALES = RNG.uniform(0.5, 2, 200)
NEW = RNG.standard_normal((30, 4))
PLACE = ByAttraction(NearestAmong(POINTS, 40), None, SCALES, Z, 10)


def test_a_row_is_placed_at_a_minimum_of_the_attraction():
    D = cdist(NEW, POINTS)
    for i, place in enumerate(PLACE(NEW)):
        near = np.argsort(D[i])[:40]
        to = near[np.argsort(D[i, near] ** 2 / SCALES[near])[:10]]
        chosen, weight = Z[to], D[i, to].min() / D[i, to]

        def attraction(z, chosen=chosen, weight=weight):
            square = 1 + ((chosen - z) ** 2).sum(axis=1)
            return (weight * square / (10 + square)).sum()

        found = scipy.optimize.minimize(attraction, np.median(chosen, axis=0), tol=1e-12)
        assert attraction(place) <= found.fun + 1e-6


def test_a_training_row_is_placed_at_its_place():
    np.testing.assert_array_equal(PLACE(POINTS), Z)


def test_a_row_near_a_training_row_is_placed_near_it_also_where_the_neighbors_of_that_row_are_elsewhere():
    far = Z.copy()
    far[:20] += 100  # these rows lie apart from their neighbors in the map
    place = ByAttraction(NearestAmong(POINTS, 40), None, SCALES, far, 10)
    for step, most in ((1e-5, 0.1), (1e-3, 1)):
        assert np.linalg.norm(place(POINTS[:20] + step) - far[:20], axis=1).max() < most


def test_a_place_depends_on_the_row_alone():
    whole = PLACE(NEW)
    for i in range(30):
        np.testing.assert_array_equal(PLACE(NEW[i : i + 1])[0], whole[i])
    np.testing.assert_array_equal(PLACE(NEW[::-1]), whole[::-1])
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(PLACE))(NEW), whole)


def test_given_distances_place_rows_alike():
    expected = PLACE(NEW)
    kept = np.arange(200)
    given = ByAttraction(None, None, SCALES, Z, 10, kept)
    whole = ByAttraction(NearestAmong(POINTS, 60), None, SCALES, Z, 10)  # 50 candidates beyond the neighbors
    np.testing.assert_allclose(given(cdist(NEW, POINTS)), whole(NEW), atol=1e-9)
    D = cdist(NEW, POINTS)
    nearest = np.argsort(D, axis=1)[:, :40]
    rows = np.repeat(np.arange(30), 40)
    stored = scipy.sparse.csr_array((D[rows, nearest.ravel()], (rows, nearest.ravel())), shape=D.shape)
    np.testing.assert_allclose(given(stored), expected, atol=1e-9)


def test_rows_that_are_not_finite_have_no_place():
    rows = NEW[:3].copy()
    rows[1, 2] = np.nan
    places = PLACE(rows)
    assert np.isnan(places[1]).all()
    np.testing.assert_array_equal(places[[0, 2]], PLACE(NEW[[0, 2]]))

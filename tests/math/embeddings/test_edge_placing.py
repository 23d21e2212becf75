"""New rows by their edges: each by itself, near their neighbors."""

import numpy as np
import pytest
import scipy.sparse

from lowland.math.embeddings.cross_entropy import EdgeForces
from lowland.math.embeddings.densities import MapRadii
from lowland.math.embeddings.edge_placing import DensityOfNewRows, PlacedByEdges
from lowland.math.neighbors.out_of_sample import NearestAmong

rng = np.random.default_rng(0)
X = rng.normal(size=(200, 2))
PLACES = (5 * X).astype(np.float32)
FORCES = EdgeForces(1.577, 0.895)
NEW = 0.7 * rng.normal(size=(30, 2))


def place(nearest=True, **options):
    return PlacedByEdges(
        NearestAmong(X, 8) if nearest else None, 8, None, PLACES, FORCES, 1.0, 0.3, 0.25, **options
    )  # fmt: skip


def test_rows_land_among_their_neighbors():
    Y = place()(NEW)
    assert np.median(np.linalg.norm(Y - 5 * NEW, axis=1)) < 0.6


def test_a_row_is_placed_by_itself():
    Y = place()(NEW)
    assert np.array_equal(place()(NEW[::-1])[::-1], Y)
    assert all(np.array_equal(place()(row[None])[0], y) for row, y in zip(NEW, Y, strict=True))


def test_a_training_row_is_placed_at_its_place():
    assert np.array_equal(place()(X[:20]), PLACES[:20])


@pytest.mark.parametrize("density", [False, True])
def test_a_row_near_a_training_row_is_placed_near_it_also_where_the_neighbors_of_that_row_are_elsewhere(density):
    Z = PLACES.copy()
    Z[:20] += 30  # these rows lie apart from their neighbors in the map
    radii = MapRadii(mean=-1.0, std=1.0, covariance=0.5, data_mean=-2.0, data_std=1.0)
    term = DensityOfNewRows(radii, 1.0, 0.3) if density else None
    placing = PlacedByEdges(NearestAmong(X, 8), 8, None, Z, FORCES, 1.0, 0.3, 0.25, term)
    assert np.linalg.norm(placing(X[:20] + 1e-5) - Z[:20], axis=1).max() < 3


def test_nan_stays_nan():
    rows = NEW.copy()
    rows[3, 0] = np.nan
    Y = place()(rows)
    assert np.isnan(Y[3]).all()
    assert np.array_equal(np.delete(Y, 3, 0), np.delete(place()(NEW), 3, 0))


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

"""The Nystrom extension reproduces the coordinates of the training rows."""

import numpy as np
import pytest
import scipy.sparse
from scipy.spatial.distance import cdist

from lowland.errors import DataError
from lowland.math.distances.to_points import DistancesTo
from lowland.math.graphs.laplacian import diffusion_coordinates, laplacian_eigenmaps
from lowland.math.graphs.nystrom import FunctionWith, HeatTo, Nystrom, NystromNearest, check_new_affinities
from lowland.math.neighbors.search import NearestAmong


@pytest.fixture
def X(rng):
    return rng.random((40, 2))


def heat(X):
    return np.exp(-cdist(X, X, "sqeuclidean") / 0.2)


def test_diffusion_coordinates_of_training_rows_are_reproduced(X):
    found = diffusion_coordinates(heat(X), 3)
    place = Nystrom(
        HeatTo(0.2, DistancesTo.of(X, "euclidean", {})), found.Z, np.zeros(3), found.eigenvalues, found.density
    )
    np.testing.assert_allclose(place(X), found.Z, atol=1e-10)
    far = Nystrom(
        HeatTo(0.2, DistancesTo.of(X, "euclidean", {}), relative=True), found.Z, np.zeros(3), found.eigenvalues
    )
    assert np.isfinite(far(X[:2] + 1e3)).all()  # relative to the nearest point, however far


@pytest.mark.parametrize("normalized", [True, False])
def test_eigenmap_coordinates_of_training_rows_are_reproduced(X, normalized):
    W = heat(X)
    found = laplacian_eigenmaps(W, 3, normalized=normalized)
    lam = found.eigenvalues
    offset, slope = (lam, 1 - lam) if normalized else (-lam, np.ones(3))  # W has ones on its diagonal
    for affinity, rows in ((check_new_affinities, W), (FunctionWith(heat, X), X)):
        placed = Nystrom(affinity, found.Z, offset, slope)(rows)
        if not normalized:  # the affinity with itself, which the Laplacian leaves out
            placed = (placed * (offset + W.sum(axis=1)[:, None]) - found.Z) / (offset + W.sum(axis=1)[:, None] - 1)
        np.testing.assert_allclose(placed, found.Z, atol=1e-9)
    sparse = Nystrom(check_new_affinities, found.Z, offset, slope)(scipy.sparse.csr_array(W))
    np.testing.assert_allclose(sparse, Nystrom(check_new_affinities, found.Z, offset, slope)(W), atol=1e-12)


def test_rows_without_affinity_have_no_coordinates(X):
    place = Nystrom(check_new_affinities, np.ones((40, 1)), np.ones(1), np.ones(1))
    with pytest.raises(DataError, match=r"Row 1 of the 2 .*has no affinity"):
        place(np.vstack([np.ones(40), np.zeros(40)]))
    with pytest.raises(DataError, match="negative affinity"):
        place(-np.ones((1, 40)))
    with pytest.raises(DataError, match=r"distances.*sparse matrix lacks some.*dense"):
        HeatTo(1.0, None)(scipy.sparse.csr_array((2, 40)))


def test_a_row_is_placed_among_its_neighbors_and_a_training_row_on_itself(X):
    Z = X[:, :1]
    place = NystromNearest(NearestAmong(X, 9), 3, np.zeros(40), Z, np.zeros(1), np.ones(1))
    np.testing.assert_array_equal(place(X), Z)
    new = X[:5] + 1e-3
    indices = NearestAmong(X, 3)(new)[0]
    np.testing.assert_allclose(place(new)[:, 0], Z[indices, 0].mean(axis=1), rtol=1e-12)
    assert np.isnan(place(np.full((1, 2), np.nan))).all()

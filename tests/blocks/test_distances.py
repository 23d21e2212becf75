"""Distances against scipy, and matrices that are none."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from lowland.arrays.namespace import to_numpy
from lowland.blocks.distances import DistancesTo, check_distances, distance_matrix
from lowland.errors import DataError
from lowland.run.local import LocalRun

METRICS = ["euclidean", "sqeuclidean", "cityblock", "chebyshev", "minkowski", "cosine", "correlation", "hamming"]


@pytest.mark.parametrize("library", ["numpy", "torch", "array_api_strict"])
@pytest.mark.parametrize("d", [3, 40])
@pytest.mark.parametrize("metric", METRICS)
def test_scipy_agrees(metric, d, library, rng):
    xp = pytest.importorskip(library)
    A, B = rng.standard_normal((20, d)) + 2, rng.standard_normal((30, d)) + 2
    if metric == "hamming":
        A, B = np.round(A), np.round(B)
    params = {"p": 3} if metric == "minkowski" else {}
    found = DistancesTo(xp.asarray(B), metric, params)(xp.asarray(A))
    assert type(found) is type(xp.asarray(A))
    np.testing.assert_allclose(to_numpy(found), cdist(A, B, metric, **params), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("d", [3, 50])
def test_near_rows_far_from_the_origin_keep_their_digits(d, rng):
    A = rng.standard_normal((50, d)) * 10
    B = A + 1e-7 * rng.standard_normal((50, d))
    found = np.diagonal(DistancesTo(B)(A))
    np.testing.assert_allclose(found, np.linalg.norm(A - B, axis=1), rtol=1e-6)
    assert np.all(np.diagonal(DistancesTo(A)(A)) == 0)


def test_a_function_of_two_rows(rng):
    A = rng.standard_normal((5, 3))
    found = distance_matrix(A, LocalRun(), lambda a, b, power: float(np.sum(np.abs(a - b) ** power)), {"power": 2})
    np.testing.assert_allclose(found, cdist(A, A, "sqeuclidean"), atol=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_matrices_are_symmetric_and_keep_their_precision(dtype, rng, monkeypatch):
    monkeypatch.setattr("lowland.data.rows.SLAB_BYTES", 10_000)
    X = rng.standard_normal((300, 20)).astype(dtype)
    D = distance_matrix(X, LocalRun())
    assert D.dtype == dtype
    check_distances(D)
    np.testing.assert_allclose(D, cdist(X, X), rtol=1e-5 if dtype == np.float32 else 1e-10, atol=1e-6)


def matrix(i=None, j=None, value=None, mirror=None):
    D = cdist(np.arange(5.0)[:, None], np.arange(5.0)[:, None])
    if i is not None:
        D[i, j] = value
        D[j, i] = value if mirror is None else mirror
    return D


def test_what_is_no_distance_matrix():
    check_distances(matrix())
    check_distances(matrix(1, 2, np.nan), missing=True)
    for D, words in (
        (np.zeros((3, 4)), r"shape \(3, 4\).*square"),
        (matrix(1, 2, -1.0), r"-1 at \[1, 2\].*negative"),
        (matrix(1, 2, np.inf), r"inf at \[1, 2\].*not connected"),
        (matrix(1, 2, np.nan), r"nan at \[1, 2\].*missing"),
        (matrix(1, 2, 1.0, 1.5), r"at \[1, 2\].*not symmetric"),
        (matrix(3, 3, 0.5), r"0\.5 at \[3, 3\].*diagonal"),
    ):
        with pytest.raises(DataError, match=words):
            check_distances(D)
    with pytest.raises(DataError, match="not symmetric"):
        check_distances(matrix(1, 2, np.nan, 1.0), missing=True)


def test_rounding_is_mended():
    rng = np.random.default_rng(0)
    D = matrix()
    noisy = D + 1e-14 * rng.standard_normal(D.shape)
    kept = noisy.copy()
    mended = check_distances(noisy)
    np.testing.assert_allclose(mended, D, atol=1e-12)
    assert np.array_equal(mended, mended.T)
    assert np.array_equal(noisy, kept)
    assert np.all(mended >= 0)
    assert np.all(np.diagonal(mended) == 0)
    assert check_distances(D) is D
    with pytest.raises(DataError, match=r"pass D \+ D.T"):
        check_distances(np.triu(D))


@pytest.mark.parametrize("library", ["numpy", "torch", "array_api_strict"])
def test_a_row_of_zeros_is_not_away_from_itself(library, rng):
    xp = pytest.importorskip(library)
    X = np.vstack([rng.standard_normal((5, 3)), np.zeros((2, 3))])
    D = to_numpy(distance_matrix(xp.asarray(X), LocalRun(), "cosine"))
    assert np.all(np.diagonal(D) == 0)
    assert D[5, 6] == 1
    largest = to_numpy(distance_matrix(xp.asarray(X), LocalRun(), "minkowski", {"p": float("inf")}))
    np.testing.assert_allclose(largest, cdist(X, X, "chebyshev"))

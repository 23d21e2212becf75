"""The search for a projection, and the removal of its structure."""

import numpy as np
import pytest

import lowland
from lowland.math.ica.projection_indices import INDICES, Spacing
from lowland.math.ica.pursuit import (
    PursuitSearch,
    gaussianized,
    noise_indices,
    pursue,
    sorted_rows,
    sphered,
    unit_rows,
)
from lowland.run.local import LocalRun


def mixture(n=300, d=5, seed=0):
    """Three columns of two clusters and two of noise, mixed."""
    rng = np.random.default_rng(seed)
    S = rng.standard_normal((n, d))
    S[:, :3] = np.where(rng.random((n, 3)) < 0.5, 1.0, -1.0) + 0.25 * S[:, :3]
    return (S / S.std(axis=0)) @ rng.standard_normal((d, d)) + 10


@pytest.mark.parametrize("k", [1, 2, 3])
def test_removing_structure_gaussianizes_the_projection_and_keeps_the_rest(k):
    Y = sphered(mixture()).Y
    A = pursue(Y, PursuitSearch(INDICES["negentropy"](k), 200, np.eye(5), 200, 1e-6), np.random.default_rng(0)).A
    after = gaussianized(Y, A, np.random.default_rng(0))
    aside = np.eye(5) - A.T @ A
    np.testing.assert_allclose(aside @ after, aside @ Y, atol=1e-10)
    hermite = INDICES["hermite"](k)
    assert hermite.value((A @ after)[None])[0] < 0.1 * hermite.value((A @ Y)[None])[0]


def test_noise_does_not_depend_on_threads():
    search = PursuitSearch(Spacing(1), 30, np.eye(3), 50, 1e-3)
    found = []
    for threads in (1, 3):
        with lowland.config(threads=threads):
            found.append(noise_indices(40, 3, search, 5, np.random.default_rng(0), LocalRun()))
    assert np.array_equal(*found)
    assert len(set(found[0])) == 5


@pytest.mark.parametrize("index", ["negentropy", "kurtosis", "holes", "spacing"])
def test_two_clusters_among_noise_are_found(index):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 3))
    X[:, 1] = 4 * np.where(np.arange(200) % 2, 1.0, -1.0) + X[:, 1]
    white = sphered(X)
    search = PursuitSearch(INDICES[index](1), 100, np.zeros((0, 3)), 100, 1e-4)
    found = pursue(white.Y, search, np.random.default_rng(1))
    z = (found.A @ white.Y)[0]
    assert abs(np.corrcoef(z, X[:, 1])[0, 1]) > 0.95
    assert found.outcome.converged
    assert found.outcome.trace[-1] == found.index
    assert np.all(np.diff(found.outcome.trace) >= 0)
    np.testing.assert_allclose(found.A @ found.A.T, np.eye(1), atol=1e-12)


def test_sphered_rows_are_white_for_any_units():
    X = mixture() * [1, 10, 1e-6, 1e6, 1]
    white = sphered(X)
    np.testing.assert_allclose(np.cov(white.Y), np.eye(5), atol=1e-9)
    np.testing.assert_allclose(white.W @ (X - X.mean(axis=0)).T, white.Y, atol=1e-8)
    np.testing.assert_allclose(
        (white.inverse @ white.Y).T / X.std(axis=0), (X - X.mean(axis=0)) / X.std(axis=0), atol=1e-9
    )
    flat = sphered(np.column_stack([X, X[:, 0], np.ones(300)]), 1e-12)
    assert flat.Y.shape == (5, 300)


def test_results_are_sorted_and_directions_normalized():
    X = mixture()
    np.testing.assert_array_equal(sorted_rows(X[::-1].astype(np.float32)), sorted_rows(X.astype(np.float32)))
    unit = unit_rows(np.array([[3e300, 4e300], [0.0, 0.0], [0.0, -2.0]]))
    np.testing.assert_allclose(unit, [[0.6, 0.8], [0.0, -1.0]])

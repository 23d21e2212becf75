"""Initial configurations."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist, pdist

from lowland.errors import DataError, DataWarning, ParameterError
from lowland.math.scaling.starts import (
    check_dimensions,
    classical_start,
    given_start,
    in_principal_axes,
    random_start,
    starting_configurations,
)
from lowland.run.local import LocalRun

RUN = LocalRun()


def test_classical_initialization_recovers_points(rng):
    X = rng.standard_normal((30, 3))
    Z = classical_start(cdist(X, X), 3, RUN)
    np.testing.assert_allclose(pdist(Z), pdist(X), atol=1e-10)


def test_principal_axes_remove_rotation_and_shift(rng):
    Z = rng.standard_normal((20, 3)) * [3, 2, 1]
    Q, _ = np.linalg.qr(rng.standard_normal((3, 3)))
    turned = in_principal_axes(Z @ Q + 7)
    np.testing.assert_allclose(turned, in_principal_axes(Z), atol=1e-12)
    np.testing.assert_allclose(turned.T @ turned, np.diag(np.diag(turned.T @ turned)), atol=1e-10)


def test_a_missing_distance_is_estimated(rng):
    X = rng.standard_normal((30, 2))
    D = cdist(X, X)
    D[3, 7] = D[7, 3] = np.nan
    Z = classical_start(D, 2, RUN, missing=True)
    assert np.corrcoef(pdist(Z), pdist(X))[0, 1] > 0.99


def test_random_points_have_the_requested_scale(rng):
    Z = random_start(2000, 3, 5.0, rng, np.zeros((1, 1)))
    assert np.sqrt(np.mean(pdist(Z[:500]) ** 2)) == pytest.approx(5, rel=0.05)


def test_a_degenerate_initialization_is_perturbed_and_a_single_point_refused(rng):
    D = cdist(*[rng.standard_normal((6, 3))] * 2)
    line = np.column_stack([np.arange(6.0), np.zeros(6)])
    with pytest.warns(DataWarning, match="spans 1 of 2 dimensions"):
        moved = given_start(line, D, rng)
    assert np.linalg.matrix_rank(moved - moved.mean(0)) == 2
    full = rng.standard_normal((6, 2))
    np.testing.assert_array_equal(given_start(full, D, rng), full)
    with pytest.raises(ParameterError, match="all points in one place"):
        given_start(np.ones((6, 2)), D, rng)
    with pytest.raises(DataError, match="each of the 6 points"):
        given_start(full[:4], D, rng)


def test_the_first_initialization_is_the_requested_one_and_others_are_random(rng):
    D = cdist(*[rng.standard_normal((6, 3))] * 2)
    first, second, third = starting_configurations(
        D, 2, RUN, init="classical_mds", n_init=3, size=1.0, rng=np.random.default_rng(0)
    )
    np.testing.assert_array_equal(first, classical_start(D, 2, RUN))
    again = np.random.default_rng(0)
    for Z in (second, third):
        np.testing.assert_array_equal(Z, random_start(6, 2, 1.0, again, D))


def test_n_points_span_fewer_than_n_dimensions():
    check_dimensions(3, 4)
    with pytest.raises(ParameterError, match="4 points span at most 3 dimensions"):
        check_dimensions(4, 4)

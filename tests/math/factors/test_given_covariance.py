"""A covariance in place of rows: checks."""

import numpy as np
import pytest

from lowland.errors import DataError, ParameterError
from lowland.math.factors.given_covariance import (
    checked_covariance,
    checked_noise,
    looks_like_covariance,
    moments_of_covariance,
)

S = np.array([[4.0, 1.0], [1.0, 9.0]])


def test_moments_reproduce_the_given_covariance():
    moments = moments_of_covariance(S, 50, None, None)
    np.testing.assert_allclose(moments.scatter / moments.n, S)
    assert (moments.n, moments.rows) == (50, 50)
    np.testing.assert_array_equal(moments.mean, 0)
    with pytest.raises(ParameterError, match="at least 2 rows"):
        moments_of_covariance(S, 1, None, None)
    with pytest.raises(DataError, match="mean contains NaN"):
        moments_of_covariance(S, 50, np.array([np.nan, 0]), None)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (np.ones((2, 3)), "must be square"),
        (np.array([[1.0, 0.5], [0.4, 1.0]]), "not symmetric: .*'a' with 'b' is 0.5"),
        (np.diag([1.0, 0.0]), "'b' is constant: the variance is not positive"),
        (np.array([[1.0, 2.0], [2.0, 1.0]]), "not positive semidefinite"),
        (np.ones((2, 2)), "perfectly collinear"),
    ],
)
def test_invalid_covariances_are_refused(wrong, words):
    with pytest.raises(DataError, match=words):
        checked_covariance(wrong, ["a", "b"])


def test_covariance_matrices_are_recognized():
    assert looks_like_covariance(S)
    assert not looks_like_covariance(np.ones((2, 3)))
    assert not looks_like_covariance(np.array([[1.0, 3.0], [3.0, 1.0]]))
    assert not looks_like_covariance(np.random.default_rng(0).standard_normal((5, 5)))


def test_initial_noise_variances_are_checked():
    np.testing.assert_array_equal(checked_noise([1, 2], 2), [1.0, 2.0])
    for wrong in ([1.0], [1.0, -1.0], [1.0, np.nan]):
        with pytest.raises(DataError, match="initial noise variances"):
            checked_noise(wrong, 2)

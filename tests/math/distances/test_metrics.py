"""Metrics by name: agreement with scipy, their arguments, and accuracy."""

import numpy as np
import pytest
import scipy.sparse

from lowland.errors import DataError, ParameterError
from lowland.math.distances.metrics import METRICS, check_metric, function_name
from lowland.math.distances.to_points import DistancesTo


def test_a_row_of_zeros_has_cosine_distance_one():
    A = np.array([[0.0, 0.0], [2.0, 0.0], [0.0, 3.0], [5.0, 0.0]])
    np.testing.assert_allclose(METRICS["cosine"].of(A, A)[1:, 1:], [[0, 1, 0], [1, 0, 1], [0, 1, 0]], atol=1e-15)
    np.testing.assert_array_equal(METRICS["cosine"].of(A, A)[0], 1)


def test_invalid_metric_arguments_are_refused():
    check_metric("minkowski", {"p": 3})
    check_metric("precomputed", None)
    for metric, params, words in (
        ("euclid", None, "no metric 'euclid'.*'euclidean'"),
        ("euclidean", {"p": 3}, "takes no arguments, not 'p'"),
        ("minkowski", {"q": 3}, "takes p and w, not 'q'"),
        ("gower", {"weigths": [1]}, "takes categorical, ordered and weights, not 'weigths'.*mean 'weights'"),
        ("minkowski", {"p": 0}, "must be a number above 0"),
    ):
        with pytest.raises(ParameterError, match=words):
            check_metric(metric, params)


def test_the_arguments_of_metric_functions_are_checked():
    def distance(a, b, power=1):
        return abs(a - b).sum() ** power

    check_metric(distance, {"power": 2})
    with pytest.raises(ParameterError, match="'distance' cannot be called with two rows"):
        check_metric(distance, {"strength": 2})
    assert function_name(distance) == "'distance'"


@pytest.mark.parametrize(
    ("name", "remedy"), [("angular", "lengths.*'euclidean'"), ("hellinger", "square roots.*'euclidean'")]
)
def test_names_of_other_libraries_have_a_remedy(name, remedy):
    with pytest.raises(ParameterError, match=remedy) as error:
        check_metric(name, {})
    assert "pairwise_distances" not in str(error.value)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("value", ["x", None, [1.0, 2.0]])
def test_a_function_that_returns_no_number_is_named(value, sparse):
    def mine(a, b):
        return value

    X = np.arange(12.0).reshape(4, 3)
    with pytest.raises(DataError, match=r"'mine' returned .*must return a finite number") as error:
        DistancesTo.of(X, mine, {})(scipy.sparse.csr_array(X) if sparse else X)
    assert repr(value) in str(error.value)

"""Metrics by name: agreement with scipy, their arguments, and accuracy."""

import numpy as np
import pytest
import scipy.sparse
from scipy.spatial.distance import cdist

from lowland.errors import DataError, ParameterError
from lowland.math.distances.metrics import METRICS, check_metric, function_name, squared_euclidean
from lowland.math.distances.to_points import DistancesTo

SCIPY = {"l2": "euclidean", "manhattan": "cityblock", "l1": "cityblock"}
LIKE_SCIPY = [
    name
    for name, metric in METRICS.items()
    if metric.learn is None and name not in ("haversine", "cosine", "correlation", "nan_euclidean")
]


@pytest.mark.parametrize("name", LIKE_SCIPY)
def test_distances_agree_with_scipy(rng, name):
    A, B = rng.standard_normal((6, 4)), rng.standard_normal((5, 4))
    if getattr(METRICS[name].of, "yes_or_no", False):
        A, B = np.round(A), np.round(B)
        expected = cdist(A != 0, B != 0, name)
    else:
        expected = cdist(A, B, SCIPY.get(name, name))
    np.testing.assert_allclose(METRICS[name].of(A, B), expected, atol=1e-12)


@pytest.mark.parametrize(("name", "params"), [("minkowski", {"p": 3}), ("seuclidean", {}), ("mahalanobis", {})])
def test_metrics_with_parameters_estimated_from_the_points(rng, name, params):
    A, B = rng.standard_normal((6, 3)), rng.standard_normal((30, 3))
    learnt = METRICS[name].learn(B, **params)
    given = {"seuclidean": {"V": B.var(axis=0, ddof=1)}, "mahalanobis": {"VI": np.linalg.inv(np.cov(B.T))}}
    expected = cdist(A, B, name, **given.get(name, params))
    np.testing.assert_allclose(METRICS[name].of(A, B, **learnt), expected, atol=1e-12)


def test_haversine_distance_of_a_quarter_circle():
    pole, equator = np.array([[np.pi / 2, 0.3]]), np.array([[0.0, 1.0]])
    assert METRICS["haversine"].of(pole, equator)[0, 0] == pytest.approx(np.pi / 2)
    with pytest.raises(DataError, match="two columns"):
        METRICS["haversine"].of(np.zeros((1, 3)), np.zeros((1, 3)))


def test_a_row_of_zeros_has_cosine_distance_one():
    A = np.array([[0.0, 0.0], [2.0, 0.0], [0.0, 3.0], [5.0, 0.0]])
    np.testing.assert_allclose(METRICS["cosine"].of(A, A)[1:, 1:], [[0, 1, 0], [1, 0, 1], [0, 1, 0]], atol=1e-15)
    np.testing.assert_array_equal(METRICS["cosine"].of(A, A)[0], 1)


def test_near_pairs_are_recomputed_without_products(rng):
    A = rng.standard_normal((4, 20)) + 1e6
    B = A + 1e-3 * rng.standard_normal((4, 20))
    np.testing.assert_allclose(squared_euclidean(A, B), cdist(A, B, "sqeuclidean"), rtol=1e-7)


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


def test_a_constant_column_is_refused_by_seuclidean():
    B = np.column_stack([np.arange(4.0), np.ones(4)])
    with pytest.raises(DataError, match="column 1 is constant"):
        METRICS["seuclidean"].learn(B)
    with pytest.raises(DataError, match="which is singular"):
        METRICS["mahalanobis"].learn(B)


@pytest.mark.parametrize(
    ("name", "remedy"), [("angular", "lengths.*'euclidean'"), ("hellinger", "square roots.*'euclidean'")]
)
def test_names_of_other_libraries_have_a_remedy(name, remedy):
    with pytest.raises(ParameterError, match=remedy) as error:
        check_metric(name, {})
    assert "pairwise_distances" not in str(error.value)


def test_no_function_of_scikit_learn_is_advised_for_a_metric_it_does_not_have():
    with pytest.raises(ParameterError, match="'precomputed'") as error:
        check_metric("made-up", {})
    assert "sklearn" not in str(error.value)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("value", ["x", None, [1.0, 2.0]])
def test_a_function_that_returns_no_number_is_named(value, sparse):
    def mine(a, b):
        return value

    X = np.arange(12.0).reshape(4, 3)
    with pytest.raises(DataError, match=r"'mine' returned .*must return a finite number") as error:
        DistancesTo.of(X, mine, {})(scipy.sparse.csr_array(X) if sparse else X)
    assert repr(value) in str(error.value)

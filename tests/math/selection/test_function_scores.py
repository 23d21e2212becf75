"""Scores by a user-defined function."""

import numpy as np
import pytest

from lowland.errors import DataError, ParameterError
from lowland.math.selection.function_scores import function_scores
from lowland.run.local import LocalRun

X, Y = np.array([[1.0, 4.0, 7.0], [2.0, 4.0, 1.0], [3.0, 4.0, 2.0]]), np.array([1.0, 2.0, 3.0])


def covariances(X, y):
    return (y - y.mean()) @ X


def test_scores_and_p_values():
    found = function_scores(covariances, X, Y, LocalRun())
    assert found.values.tolist() == [2, 0, -5]
    assert found.pvalues is None
    assert found.constant.tolist() == [False, True, False]
    with_p = function_scores(lambda X, y: (covariances(X, y), np.array([0.1, np.nan, 0.9])), X, Y, LocalRun())
    assert with_p.pvalues.tolist() == [0.1, 1, 0.9]
    permuted = function_scores(covariances, X, Y, LocalRun(), 600)
    assert permuted.pvalues[0] == pytest.approx(1 / 6, abs=0.05)  # one of six permutations scores as high


def test_invalid_scores_are_refused():
    with pytest.raises(ParameterError, match="ZeroDivisionError"):
        function_scores(lambda X, y: 1 / 0, X, Y, LocalRun())
    with pytest.raises(ParameterError, match="each of the 3 columns"):
        function_scores(lambda X, y: 3, X, Y, LocalRun())
    with pytest.raises(DataError, match="NaN for every column"):
        function_scores(lambda X: np.full(3, np.nan), X, None, LocalRun())
    with pytest.raises(ParameterError, match=r"need y\. Pass y"):
        function_scores(lambda X: X.mean(axis=0), X, None, LocalRun(), 3)

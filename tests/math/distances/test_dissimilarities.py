"""Dissimilarities for scaling, computed or given."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from lowland.data.rows import ArrayRows
from lowland.errors import DataError, MemoryBudgetError
from lowland.math.distances.dissimilarities import dissimilarities
from lowland.run.local import LocalRun
from lowland.run.settings import settings


def found(X, metric="euclidean", **options):
    options = {"owner": "MDS", "missing": False, **options}
    return dissimilarities(ArrayRows(X), LocalRun(), metric, None, **options)


def test_distances_between_rows_are_computed_on_a_copy(rng):
    X = rng.standard_normal((6, 3))
    data = found(X)
    np.testing.assert_allclose(data.D, cdist(X, X), atol=1e-12)
    assert data.matrix is data.D
    assert data.X is not X
    np.testing.assert_array_equal(data.X, X)


def test_a_given_matrix_is_checked(rng):
    D = cdist(*[rng.standard_normal((4, 2))] * 2)
    assert found(D, "precomputed").X is None
    with pytest.raises(DataError, match="square"):
        found(D[:3], "precomputed")
    D[0, 1] = D[1, 0] = np.nan
    with pytest.raises(DataError, match=r"row 1, column 2, which is missing"):
        found(D, "precomputed")
    assert np.isnan(found(D, "precomputed", missing=True).D[0, 1])


def test_values_whose_squares_overflow_are_rescaled(rng):
    X = rng.standard_normal((5, 2)) * 1e200
    data = found(X)
    assert 0.1 < data.D.max() < 10
    np.testing.assert_allclose(data.D * data.unit, data.matrix)
    Z = rng.standard_normal((5, 2))
    np.testing.assert_array_equal(data.in_unit(data.in_unit_of_distances(Z * data.unit)), Z * data.unit)


def test_results_have_the_precision_of_the_rows(rng):
    assert found(rng.standard_normal((5, 2)).astype(np.float32)).result_dtype == np.float32
    assert found(rng.standard_normal((5, 2))).result_dtype == np.float64


def test_a_matrix_beyond_the_budget_is_refused():
    import dataclasses

    run = LocalRun(dataclasses.replace(settings(), memory=10_000))
    with pytest.raises(MemoryBudgetError, match="MDS of 100 points, with a 100 x 100 distance matrix"):
        dissimilarities(ArrayRows(np.zeros((100, 2))), run, "euclidean", None, owner="MDS", missing=False)

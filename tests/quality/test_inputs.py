"""Rows with missing values and categories as the input of quality measures."""

import numpy as np
import pandas as pd
import pytest

import lowland
from lowland import quality
from lowland.errors import DataError


def mixed_rows(n=90):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.standard_normal(n), "y": rng.uniform(0, 9, n), "color": rng.choice(["a", "b"], n)})
    frame.loc[3, "x"], frame.loc[5, "color"] = np.nan, None
    return frame


@pytest.mark.parametrize("measure", ["trustworthiness", "continuity", "normalized_stress", "residual_variance"])
def test_measures_of_mixed_rows_are_those_of_their_dissimilarities(measure):
    frame = mixed_rows()
    model = lowland.MDS(metric="gower").fit(frame)
    by_rows = getattr(quality, measure)(frame, model.embedding_, metric="gower").value
    D = model.dissimilarity_matrix_
    assert by_rows == pytest.approx(getattr(quality, measure)(D, model.embedding_, metric="precomputed").value)


def test_a_measure_names_rows_that_share_no_column():
    X = np.random.default_rng(0).standard_normal((30, 4))
    Z = X[:, :2].copy()
    X[4, :2], X[9, 2:] = np.nan, np.nan
    with pytest.raises(DataError, match="Row 5 and row 10 have no column"):
        quality.normalized_stress(X, Z, metric="nan_euclidean")
    X[4, 0] = 1.0
    assert 0 < quality.trustworthiness(X, Z, metric="nan_euclidean", sample=20, random_state=0).value <= 1

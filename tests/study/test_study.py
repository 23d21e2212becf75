"""A study: plain data, a failing method included."""

import json

import pytest

from lowland import PCA, IncrementalPCA, TruncatedSVD, Whitening
from lowland.data import load
from lowland.study import study


def test_a_study_of_iris():
    X = load("iris").X
    result = study(X, [PCA(2), IncrementalPCA(2), TruncatedSVD(2), Whitening(method="zca"), PCA(9)])
    pca, incremental, svd, zca, failed = result.trials
    assert pca.measures["reconstruction error"] == pytest.approx(PCA(2).fit(X).distortion())
    assert pca.measures == pytest.approx(incremental.measures)
    assert (
        svd.measures["reconstruction error"] > pca.measures["reconstruction error"]
    )  # PCA is the best of rank 2 plus mean
    assert zca.n_components == 4
    assert zca.measures["reconstruction error"] == pytest.approx(0, abs=1e-12)
    assert failed.error is not None
    assert "at most 4" in failed.error
    assert failed.measures == {}
    assert pca.parameters == {"n_components": "2"}
    again = json.loads(result.to_json())
    assert (again["rows"], again["columns"], len(again["trials"])) == (150, 4, 5)

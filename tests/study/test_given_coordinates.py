"""Coordinates from elsewhere join a study: evaluated and ranked, never fitted."""

import numpy as np
import pytest

import lowland
from lowland.errors import DataError, ParameterError
from lowland.study import load_study


def test_they_are_evaluated_like_the_same_coordinates_of_a_method(iris, tmp_path):
    Z = lowland.PCA(2).fit_transform(iris.X)
    study = lowland.compare(iris.X, iris.y, ["pca"], embeddings={"mine": Z}, cache=False)
    mine, pca = study["mine"], study["pca"]
    assert mine.status == "done"
    assert mine.seconds is mine.memory is None
    assert "reconstruction error" not in mine.scores
    for name in ("area under R_NX", "trustworthiness", "downstream accuracy", "linear accuracy", "AUC"):
        assert mine.scores[name].value == pytest.approx(pca.scores[name].value)
    assert any("given, not fitted" in text and "labels" in text for text in mine.warnings)
    assert "mine" in study.advice[0].evidence[0]
    assert "embeddings={'mine': Z}" in study.command
    again = load_study(study.save(tmp_path / "study"))
    np.testing.assert_array_equal(again["mine"].Z, mine.Z)
    assert b"mine" in study.report(tmp_path / "r.html").read_bytes()
    with pytest.raises(ParameterError, match="given, not fitted"):
        study.estimator("mine")


def test_the_best_may_be_given(iris):
    study = lowland.compare(
        iris.X, iris.y, ["whitening"], embeddings={"all": iris.X, "two": iris.X[:, [2, 0]]}, cache=False
    )
    assert study.advice[0].trial == "two"  # all columns are wider than the two dimensions asked for
    assert study["two"].n_components == 2


def test_rows_without_coordinates_are_counted(iris):
    Z = lowland.PCA(2).fit_transform(iris.X)
    Z[:3] = np.nan
    study = lowland.compare(iris.X, None, ["pca"], embeddings={"mine": Z}, cache=False)
    assert study["mine"].n_excluded == 3


def test_wrong_coordinates(iris):
    Z = lowland.PCA(2).fit_transform(iris.X)
    with pytest.raises(DataError, match=r"'mine'.*149.*150"):
        lowland.compare(iris.X, None, ["pca"], embeddings={"mine": Z[1:]})
    with pytest.raises(ParameterError, match="'PCA'"):
        lowland.compare(iris.X, None, ["pca"], embeddings={"PCA": Z})
    with pytest.raises(ParameterError, match="dict"):
        lowland.compare(iris.X, None, ["pca"], embeddings=[Z])

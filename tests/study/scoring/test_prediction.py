"""The accuracy of five nearest neighbors on held-out rows."""

import numpy as np
import pytest

import lowland
from lowland.study.scoring import prediction
from lowland.study.scoring.prediction import PredictionTest


def test_a_rare_class_does_not_keep_the_others_from_being_evaluated(iris):
    y = iris.y.copy()
    y[0], y[60:62] = 3, 4  # alone, and two: neither is in every one of five folds
    study = lowland.compare(iris.X, y, ["pca", "lda"], cache=False)
    for trial in study.trials:
        score = trial.scores["downstream accuracy"]
        assert score.value > 0.9
        assert score.high - score.low < 0.3
        assert "3 rows in classes too small for cross-validation excluded" in score.about
    few = lowland.compare(iris.X[::12], iris.y[::12], ["pca"], cache=False)  # four or five rows a class
    assert "excluded" not in few["PCA"].scores["downstream accuracy"].about


def test_accuracy_of_few_rows_has_a_wide_interval(rng):
    from lowland.quality.measure import wilson_interval
    from lowland.study.scoring.prediction import PredictionTest

    y = np.repeat([0, 1], 10)
    found = PredictionTest.of(y, 0).accuracy(10.0 * y[:, None] + rng.standard_normal((20, 2)))
    assert found.value == found.high == 1
    assert found.low == pytest.approx(wilson_interval(1.0, 20)[0])


def test_a_few_rows_of_a_rare_class_do_not_keep_lda_from_being_evaluated(rng):
    X = rng.standard_normal((133, 5))
    X[:, :2] *= 5
    X[:, 4] *= 0.5
    X[70:130, 4] += 2.5
    y = np.array(["a"] * 70 + ["b"] * 60 + ["rare"] * 2 + ["rarer"])
    study = lowland.compare(X, y, ["pca", "lda"], purpose="classify", cache=False)
    assert study["lda"].scores["downstream accuracy"].value > 0.95
    assert study["lda"].n_components == 2
    assert study.advice[0].method == "LinearDiscriminantAnalysis"


def test_every_trial_is_tested_on_the_same_rows_a_sample_of_many(monkeypatch, rng):
    monkeypatch.setattr(prediction, "MAX_ROWS", 40)
    y = np.repeat([0, 1, 2], [100, 50, 10])
    test = PredictionTest.of(y, seed=3)
    assert len(test.rows) == 40
    assert np.abs(np.bincount(test.y) - [25, 12.5, 2.5]).max() < 1  # each class in its proportion
    np.testing.assert_array_equal(test.rows, PredictionTest.of(y, seed=3).rows)
    assert test.majority_class_fraction == np.bincount(test.y).max() / 40
    assert test.accuracy(rng.standard_normal((160, 2))).n_tested == 40


def test_classes_of_one_row_cannot_be_tested():
    test = PredictionTest.of(np.arange(12), 0)
    assert test.majority_class_fraction == 0
    assert test.accuracy(np.zeros((12, 2))) is None

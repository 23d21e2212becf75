"""Scores on held-out rows: nearest neighbors and linear models, for classes and for numbers."""

import numpy as np
import pytest

import lowland
from lowland.trial import prediction
from lowland.trial.prediction import PredictionTest


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
    from lowland.math.statistics.intervals import wilson_interval
    from lowland.trial.prediction import PredictionTest

    y = np.repeat([0, 1], 10)
    found = PredictionTest.for_classes(y, 0).scores(10.0 * y[:, None] + rng.standard_normal((20, 2)))[
        "downstream accuracy"
    ]
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
    assert study["lda"].n_components == 3  # all discriminants, because the purpose is to classify
    assert study.advice[0].method == "LinearDiscriminantAnalysis"


def test_every_trial_is_tested_on_the_same_rows_a_sample_of_many(monkeypatch, rng):
    monkeypatch.setattr(prediction, "MAX_ROWS", 40)
    y = np.repeat([0, 1, 2], [100, 50, 10])
    test = PredictionTest.for_classes(y, seed=3)
    assert len(test.rows) == 40
    assert np.abs(np.bincount(test.y) - [25, 12.5, 2.5]).max() < 1  # each class in its proportion
    np.testing.assert_array_equal(test.rows, PredictionTest.for_classes(y, seed=3).rows)
    assert test.majority_class_fraction == np.bincount(test.y).max() / 40
    assert test.scores(rng.standard_normal((160, 2)))["downstream accuracy"].n_tested == 40


def test_classes_of_one_row_cannot_be_tested():
    test = PredictionTest.for_classes(np.arange(12), 0)
    assert test.majority_class_fraction == 0
    assert test.scores(np.zeros((12, 2))) == {}


# --- against scikit-learn ---


@pytest.mark.parametrize("d", [2, 30])
def test_logistic_regression_agrees_with_scikit_learn(rng, d):
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import StratifiedKFold, cross_validate
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    y = np.repeat([0, 1, 2], [100, 60, 40])
    X = rng.standard_normal((200, d)) * 3 + np.eye(3)[y] @ rng.standard_normal((3, d)) * 6 / d**0.5
    found = PredictionTest.for_classes(y, 5).scores(X)
    kinds = {
        "linear accuracy": "accuracy",
        "linear balanced accuracy": "balanced_accuracy",
        "linear AUC": "roc_auc_ovr",
    }
    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000, tol=1e-8))
    folds = StratifiedKFold(5, shuffle=True, random_state=5)
    theirs = cross_validate(model, X, y, cv=folds, scoring=list(kinds.values()))
    for name, kind in kinds.items():
        assert found[name].value == pytest.approx(theirs[f"test_{kind}"].mean(), abs=1e-3)
        assert found[name].low < found[name].value < found[name].high


def test_balanced_accuracy_and_auc_see_what_accuracy_hides(rng):
    y = np.repeat([0, 1], [190, 10])
    found = PredictionTest.for_classes(y, 0).scores(rng.standard_normal((200, 2)))
    assert found["linear accuracy"].value == pytest.approx(0.95)
    assert found["linear balanced accuracy"].value == pytest.approx(0.5)
    assert found["AUC"].value == pytest.approx(0.5, abs=0.2)


def test_numbers_are_predicted_with_r_squared(rng):
    X = rng.standard_normal((200, 3))
    y = X @ [1.0, 2.0, 0.0] + 0.1 * rng.standard_normal(200)
    found = PredictionTest.for_numbers(y, 0).scores(X)
    assert found["linear R²"].value == pytest.approx(1 - 0.01 / 5, abs=0.002)
    assert 0.5 < found["downstream R²"].value < found["linear R²"].value
    assert PredictionTest.for_numbers(rng.standard_normal(200), 0).scores(X)["linear R²"].value < 0.1


def test_more_columns_than_rows(rng):
    y = np.repeat([0, 1], 20)
    X = rng.standard_normal((40, 300))
    X[:, 0] += 8 * y
    assert (
        PredictionTest.for_classes(y, 0).scores(np.column_stack([X, X[:, :1] * np.ones(60)]))["linear accuracy"].value
        > 0.9
    )
    assert PredictionTest.for_numbers(X[:, 0], 0).scores(X[:, :1] * np.ones(100))["linear R²"].value > 0.9


def test_discriminants_are_tested_with_their_own_classifier(rng):
    y = rng.integers(0, 4, 400)
    X = rng.standard_normal((400, 8))
    X[np.arange(400), y] += 2.5
    study = lowland.compare(X, y, ["lda"], purpose="classify", cache=False)
    assert [t.name for t in study.trials] == [
        "LinearDiscriminantAnalysis",
        "LinearDiscriminantAnalysis solver=eigen shrinkage=auto",
    ]
    for trial in study.trials:
        assert "its own classifier" in trial.scores["linear accuracy"].about
        assert not trial.scores["linear accuracy"].labels_seen
    seen = lowland.compare(X, y, ["lda"], cache=False)["lda"]  # two of three discriminants
    assert "logistic regression" in seen.scores["linear accuracy"].about
    assert seen.scores["linear accuracy"].value < study.trials[0].scores["linear accuracy"].value


def test_advice_to_classify_says_what_is_lost_against_all_columns(rng):
    """A linear rule of twenty columns among noise: neighbors see little of it, and two dimensions hold less."""
    n = 1200
    X = rng.standard_normal((n, 60))
    X[:, :2] *= 3  # the largest variances predict little
    margin = X[:, 2:22] @ rng.standard_normal(20) * 0.5 + 0.25 * X[:, 0]
    y = (margin + 0.9 * rng.standard_normal(n) > 0).astype(int)
    study = lowland.compare(X, y, ["pca"], purpose="classify", cache=False)
    best = max(t.scores[name].value for t in study.trials for name in ("downstream accuracy", "linear accuracy"))
    advice = study.advice[0]
    whole = next(s for s in advice.evidence if s.startswith("All 60 columns, logistic regression"))
    assert float(whole.split("accuracy ")[1][:4]) > best + 0.05
    assert "logistic regression" in advice.text
    assert "lower" in advice.text or advice.method is not None
    assert advice.method is None or advice.n_components > 2
    with_labels = lowland.compare(X, y, ["pca", "lda"], purpose="classify", cache=False).advice[0]
    assert with_labels.method == "LinearDiscriminantAnalysis"
    assert "its own classifier" in with_labels.text


def test_two_dimensions_that_beat_the_neighbors_of_all_columns_are_not_the_best_there_is():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((1200, 60))
    X[:, :2] *= 1.6
    margin = X[:, 2:22] @ rng.standard_normal(20) * 0.25 + 0.8 * X[:, :2].sum(axis=1)
    y = (margin + 0.9 * rng.standard_normal(1200) > 0).astype(int)
    study = lowland.compare(X, y, ["pca"], purpose="classify", cache=False)
    whole = PredictionTest.for_classes(y, 0).scores(X)
    two = study["pca"].scores["linear accuracy"].value
    assert whole["downstream accuracy"].value < two < whole["linear accuracy"].value - 0.05
    advice = study.advice[0]
    assert advice.trial is None or advice.n_components > 2
    assert f"{whole['linear accuracy'].value:.2f}" in advice.text


@pytest.mark.parametrize(("name", "least"), [("wine", 0.97), ("iris", 0.93), ("diabetes", 0.4)])
def test_the_advised_estimator_predicts_as_well_as_the_advice_states(name, least):
    """The pipeline of preparation, reduction and model, in a cross-validation of its own."""
    from sklearn import datasets
    from sklearn.model_selection import cross_val_score

    X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
    order = np.random.default_rng(3).permutation(len(y))
    study = lowland.compare(X, y, ["pca", "lda"], cache=False)  # to visualize: the default
    advice = next(each for each in study.advice if each.purpose == "classify")
    quoted = float(advice.text.split("held-out rows is ")[1][:4])
    found = cross_val_score(study.estimator("classify"), X[order], y[order], cv=5).mean()
    assert quoted == pytest.approx(found, abs=0.04)
    assert found > least


def test_an_estimator_that_keeps_all_columns_predicts(rng):
    X = rng.standard_normal((200, 6))
    y = np.where(X.sum(axis=1) > 0, "up", "down")
    study = lowland.compare(X, y, ["pca"], purpose="classify", cache=False)
    assert study.advice[0].method is None
    assert study.advice[0].model == "logistic regression"
    model = study.estimator().fit(X[:150], y[:150])
    assert model.score(X[150:], y[150:]) > 0.9
    noise = lowland.compare(X, rng.integers(0, 2, 200), ["pca"], purpose="classify", cache=False)
    assert hasattr(noise.estimator(), "predict")


def test_all_discriminants_are_tried_whatever_the_purpose(rng):
    y = rng.integers(0, 5, 200)
    X = rng.standard_normal((200, 8))
    X[np.arange(200), y] += 4
    study = lowland.compare(X, y, ["pca", "lda"], cache=False)
    assert study.trials[-1].n_components == 4
    assert next(each for each in study.advice if each.purpose == "classify").n_components == 4

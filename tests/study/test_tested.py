"""Reliability in a study: the leading maps are tested as ``lowland.reliability`` tests them."""

import numpy as np
import pytest

import lowland
from lowland.data import load_dataset
from lowland.study import load_study


@pytest.fixture(scope="module")
def study():
    return lowland.compare(load_dataset("iris").X, None, ["pca", "classical-mds"], reliability=True, cache=False)


def test_a_tested_map_has_the_classes_of_reliability(study):
    X = load_dataset("iris").X
    found = lowland.reliability(np.asarray(study["PCA"].Z, dtype=np.float64), X, method=lowland.PCA(2), random_state=0)
    trial = study["PCA"]
    assert trial.scores["reliable points"].value == pytest.approx(found.fraction("reliable"), abs=0.02)
    assert np.mean(trial.per_row["reliability"] == found.class_codes) > 0.98  # the study rounds coordinates
    assert trial.scores["stability"].low < trial.scores["stability"].value < trial.scores["stability"].high
    assert any("keep their neighbors better" in text for text in study.advice[0].evidence)


def test_maps_are_not_tested_unless_asked():
    plain = lowland.compare(load_dataset("iris").X, None, ["pca"], cache=False)
    assert "reliable points" not in plain["PCA"].scores
    assert "reliability" not in plain["PCA"].per_row


def test_the_cache_keeps_tests_apart_from_trials(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    X = load_dataset("iris").X[::3]
    first, plain, again = (lowland.compare(X, None, ["pca"], reliability=asked) for asked in (True, False, True))
    assert again["PCA"].cached
    assert again["PCA"].scores["reliable points"].value == first["PCA"].scores["reliable points"].value
    np.testing.assert_array_equal(again["PCA"].per_row["reliability"], first["PCA"].per_row["reliability"])
    assert "reliable points" not in plain["PCA"].scores


def test_a_saved_study_keeps_the_classes(study, tmp_path):
    study.save(tmp_path)
    again = load_study(tmp_path)["PCA"]
    np.testing.assert_array_equal(again.per_row["reliability"], study["PCA"].per_row["reliability"])


def test_rows_beyond_the_fitted_sample_have_no_class(monkeypatch):
    from lowland.study.table import open_table
    from lowland.study.tested import evaluate_map
    from lowland.trial.parameters import Planned

    data = open_table(load_dataset("iris").X, None, "none", 2, (), "auto", ())
    planned = Planned("Isomap", "Isomap", {}, fitted_rows=60)
    _, rows = evaluate_map(planned, data.X[:, :2], data, np.arange(150), 0)
    assert np.isfinite(rows["reliability"]).sum() == 60


def test_a_supervised_map_with_missing_labels_is_not_tested():
    from lowland.study.table import open_table
    from lowland.study.tested import evaluate_map
    from lowland.trial.parameters import Planned

    iris = load_dataset("iris")
    y = np.array(iris.y, dtype=object)
    y[0] = None
    data = open_table(iris.X, y, "none", 2, (), "auto", ())
    planned = Planned("LinearDiscriminantAnalysis", "LinearDiscriminantAnalysis", {"n_components": 2})
    assert evaluate_map(planned, data.X[:, :2], data, np.arange(150), 0) == ({}, {})

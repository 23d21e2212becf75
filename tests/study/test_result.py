"""The result of a study: trials by name, tables of scores, estimators, and files."""

import json
import os

import numpy as np
import pytest

import lowland
from lowland.errors import FileProblem, MissingFile, ParameterError
from lowland.study import load_study

FEW = ["pca", "isomap", "lda"]


@pytest.fixture(scope="module")
def study(iris):
    return lowland.compare(iris.X, iris.y, FEW, cache=False)


def test_a_study_describes_itself(study):
    assert repr(study).startswith("Study of X: 3 of 3 trials done.\nFor visualization, use PCA")
    assert study["pca"] is study["PCA"]
    table = study.scores()
    assert table["trial"] == ["PCA", "Isomap", "LinearDiscriminantAnalysis"]
    assert table["explained variance ratio"][1] is None
    assert table["trustworthiness"][0] == study["PCA"].scores["trustworthiness"].value


def test_the_recommended_method_can_be_fitted(study, iris):
    est = study.estimator()
    assert est.n_components == 2
    np.testing.assert_allclose(est.fit_transform(iris.X), study["PCA"].Z, atol=1e-5)
    assert study.estimator("compress").n_components == study.advice[1].n_components == 2
    assert study.estimator("isomap").n_neighbors == 10
    with pytest.raises(ParameterError, match=r"The trials: .* purpose: visualize"):
        study.estimator("UMAP")


def test_columns_that_the_study_standardized_are_standardized_again():
    wine = lowland.data.load_dataset("wine")
    study = lowland.compare(wine.X, wine.y, ["pca"], scale="auto")
    assert study.table.scaled
    np.testing.assert_allclose(study.estimator().fit_transform(wine.X), study["PCA"].Z, atol=1e-4)


def test_without_a_recommendation_there_is_no_estimator(rng):
    study = lowland.compare(rng.standard_normal((40, 3)), None, ["pca"], purpose="compress")
    with pytest.raises(ParameterError, match="no advice for 'compress'"):
        study.estimator()


def test_the_estimator_is_the_pca_that_was_measured():
    wine = lowland.data.load_dataset("wine")
    study = lowland.compare(wine.X, wine.y, ["pca"], 1, sweep={"pca.whiten": [True]}, scale="standard", cache=False)
    est = study.estimator("compress")[-1]
    assert (est.n_components, est.whiten) == (10, False)


def test_a_study_is_read_as_it_was_written(study, tmp_path):
    again = load_study(study.save(tmp_path / "new" / "study"))
    assert [trial.axes for trial in again.trials] == [trial.axes for trial in study.trials]
    assert sorted(os.listdir(tmp_path / "new" / "study")) == ["points.parquet", "study.json"]
    assert again.advice == study.advice
    assert (again.k, again.purpose, again.command, again.complete) == (2, "visualize", study.command, True)
    for a, b in zip(study.trials, again.trials, strict=True):
        assert (a.name, a.parameters, a.status, a.warnings, a.scores) == (
            b.name,
            b.parameters,
            b.status,
            b.warnings,
            b.scores,
        )
        np.testing.assert_array_equal(a.Z, b.Z)
        assert a.per_row.keys() == b.per_row.keys()
        for name in a.curves:
            np.testing.assert_allclose(a.curves[name].y, b.curves[name].y)
            assert a.curves[name].kind == b.curves[name].kind
    for name in ("shown", "values", "labels"):
        np.testing.assert_array_equal(getattr(again.table, name), getattr(study.table, name))
    assert again.table.names == study.table.names


def test_omitted_and_failed_trials_are_written(iris, tmp_path):
    study = lowland.compare(iris.X, None, ["lda", "isomap"], sweep={"isomap.n_components": [500]})
    again = load_study(study.save(tmp_path))
    assert [t.status for t in again.trials] == ["left out", "failed"]
    assert again.table.labels is None
    json.loads((tmp_path / "study.json").read_text())  # plain JSON: no NaN


def test_invalid_study_files_are_refused(tmp_path, study):
    with pytest.raises(MissingFile, match=r"study\.json"):
        load_study(tmp_path)
    study.save(tmp_path / "s")
    (tmp_path / "s" / "study.json").write_text("{}")
    with pytest.raises(FileProblem, match="damaged"):
        load_study(tmp_path / "s")
    (tmp_path / "file").write_text("")
    with pytest.raises(FileProblem, match="is a file"):
        study.save(tmp_path / "file")


def test_numpy_numbers_are_numbers(iris, tmp_path):
    study = lowland.compare(iris.X, None, ["pca"], np.int64(2), seed=np.int64(1))
    assert load_study(study.save(tmp_path)).k == 2
    labels = np.array(list(iris.X[:, 0]), dtype=object)
    np.testing.assert_allclose(lowland.compare(iris.X[:, 1:], labels, ["pca"]).table.labels, iris.X[:, 0])


def test_parameters_unknown_to_json_are_restored_or_reported(iris, tmp_path):
    from lowland.study.report import report_html

    sweep = {"isomap.p": [np.inf], "kernel-pca.kernel": [lambda a, b: float(a @ b)]}
    study = lowland.compare(iris.X, None, ["pca"], sweep=sweep, cache=False)
    assert [t.status for t in study.trials] == ["done"] * 3
    assert "lambda" in report_html(study)
    again = load_study(study.save(tmp_path))
    names = [t.name for t in again.trials]
    assert again.estimator(names[1]).p == np.inf
    with pytest.raises(ParameterError, match="only a description of kernel"):
        again.estimator(names[2]).fit(iris.X)


def test_ids_and_kept_columns_are_read_as_they_were_written(iris, tmp_path):
    names, place = [f"i{j}" for j in range(150)], ["x", None, "z"] * 50
    table = lowland.Table(iris.X, id={"flower": names}, keep={"place": place, "size": iris.X[:, 0]})
    again = load_study(lowland.compare(table, None, ["pca"], cache=False).save(tmp_path / "study")).table
    assert (again.id_name, again.ids.tolist(), again.kept["place"].tolist()) == ("flower", names, place)
    np.testing.assert_array_equal(again.kept["size"], iris.X[:, 0])


def test_the_neighbors_of_each_row_are_kept_for_the_report(tmp_path):
    from sklearn.neighbors import NearestNeighbors

    X = np.random.default_rng(0).standard_normal((40, 3))
    study = lowland.compare(X, methods=["pca"], scale="none", cache=False)
    near = study.table.near
    wanted = NearestNeighbors(n_neighbors=near.shape[1]).fit(X).kneighbors(return_distance=False)
    assert np.array_equal(near, wanted)
    assert np.array_equal(load_study(study.save(tmp_path / "study")).table.near, near)

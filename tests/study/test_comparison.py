"""A study: what it yields, what it keeps, what stops it, and how it is written and read."""

import json
import os
import re
import sys

import numpy as np
import pytest

import lowland
from lowland.errors import DataError, FileProblem, MissingFile, ParameterError
from lowland.study import load_study
from lowland.study.scoring.measures import neighbors_for

FEW = ["pca", "isomap", "lda"]
module = sys.modules["lowland.study.comparison"]


@pytest.fixture
def study(iris):
    return lowland.compare(iris.X, iris.y, FEW)


def same_scores(a, b):
    return all(
        one.scores.keys() == two.scores.keys()
        and all(one.scores[name].value == two.scores[name].value for name in one.scores)
        for one, two in zip(a.trials, b.trials, strict=True)
    )


def test_a_study_of_iris(study, iris):
    assert [t.status for t in study.trials] == ["done"] * 3
    assert study.complete
    pca = study["PCA"]
    assert pca.parameters == {"n_components": 2}
    assert pca.Z.dtype == np.float32
    np.testing.assert_allclose(pca.Z, lowland.PCA(2).fit_transform(iris.X), atol=1e-5)
    model = lowland.PCA(2).fit(iris.X)
    trust = lowland.quality.trustworthiness(iris.X, model.transform(iris.X), neighbors_for(150))
    assert pca.scores["trustworthiness"].value == pytest.approx(trust.value)
    assert pca.scores["reconstruction error"].value == pytest.approx(model.distortion())
    assert pca.scores["area under R_NX"].better == "higher"
    assert set(pca.curves) == {"R_NX", "Shepard", "scree", "distortion"}
    assert set(study["Isomap"].curves) == {"R_NX", "Shepard", "residual variance"}
    assert pca.curves["Shepard"].kind == "cloud"
    np.testing.assert_allclose(
        pca.curves["distortion"].y, [lowland.PCA().fit(iris.X).distortion(m) for m in range(5)], atol=1e-9
    )
    np.testing.assert_allclose(pca.curves["scree"].y, lowland.PCA().fit(iris.X).explained_variance_ratio_)
    assert pca.seconds < 5
    with pytest.raises(KeyError, match="The trials: PCA, Isomap"):
        study["UMAP"]


def test_neighbours_that_are_kept_row_by_row(study, iris):
    from sklearn.neighbors import NearestNeighbors

    Z = lowland.PCA(2).fit_transform(iris.X)
    kept = [
        len(set(a) & set(b)) / 10
        for a, b in zip(*(NearestNeighbors(n_neighbors=10).fit(A).kneighbors()[1] for A in (iris.X, Z)), strict=True)
    ]
    found = study["PCA"].per_row["neighbours kept"]
    assert np.mean(np.abs(found - kept) > 1e-6) < 0.1  # rows that coincide may be told apart in other ways
    assert study["PCA"].scores["neighbours kept"].value == pytest.approx(np.mean(found), abs=1e-6)
    trust = study["PCA"].per_row["trustworthiness"]
    assert study["PCA"].scores["trustworthiness"].value == pytest.approx(np.mean(trust), abs=1e-6)


def test_labels_that_a_method_has_seen_are_told(study):
    assert "has seen" in study["LinearDiscriminantAnalysis"].scores["silhouette"].about
    assert "has seen" not in study["PCA"].scores["silhouette"].about
    assert "without them" in study["LinearDiscriminantAnalysis"].scores["downstream accuracy"].about


def test_the_table_tells_what_is_drawn(study, iris):
    table = study.table
    assert (table.rows, table.columns) == (150, 4)
    np.testing.assert_array_equal(table.shown, np.arange(150))
    np.testing.assert_allclose(table.values, iris.X, rtol=1e-6)
    assert set(table.labels) == {str(label) for label in np.unique(iris.y)}
    assert study.versions["lowland"] == lowland.__version__
    assert set(study.machine) == {"system", "processor", "cores", "memory"}
    assert study.command == "lowland.compare(X, y, methods=['pca', 'isomap', 'lda'])"


def test_many_rows_and_columns_are_drawn_in_part(iris, monkeypatch):
    monkeypatch.setattr("lowland.study.table.SHOWN", 40)
    monkeypatch.setattr("lowland.study.table.COLOURS", 2)
    study = lowland.compare(iris.X, None, ["pca"])
    assert len(study.table.shown) == 40
    assert study.table.values.shape == (40, 2)
    assert study.table.names == ("column 0", "column 2")  # those that vary most
    pca = study["PCA"]
    assert pca.Z.shape == (40, 2)
    np.testing.assert_allclose(pca.Z, lowland.PCA(2).fit_transform(iris.X)[study.table.shown], atol=1e-5)
    assert pca.per_row["neighbours kept"].shape == (40,)


# --- cache ---


def test_a_trial_is_fitted_once(study, iris, cache_folder, monkeypatch):
    assert len(os.listdir(cache_folder)) == 4  # three trials and the table
    monkeypatch.setattr(module, "fit_trial", lambda *_: pytest.fail("it is in the cache"))
    again = lowland.compare(iris.X, iris.y, FEW)
    assert all(t.cached for t in again.trials)
    assert not any(t.cached for t in study.trials)
    assert same_scores(study, again)
    assert [t.seconds for t in again.trials] == [t.seconds for t in study.trials]
    np.testing.assert_array_equal(again["Isomap"].Z, study["Isomap"].Z)
    assert again.advice == study.advice


@pytest.mark.parametrize(
    "change",
    [
        lambda X, y: {"X": np.nextafter(X, 9)},
        lambda X, y: {"X": X.astype(np.float32)},
        lambda X, y: {"y": np.roll(y, 1)},
        lambda X, y: {"k": 1},
        lambda X, y: {"seed": 1},
        lambda X, y: {"scale": "standard"},
        lambda X, y: {"cache": False},
    ],
    ids=["value", "kind", "labels", "k", "seed", "scale", "no cache"],
)
def test_what_is_not_the_same_is_fitted_anew(iris, change):
    first = lowland.compare(iris.X, iris.y, ["pca"])
    given = {"X": iris.X, "y": iris.y, "methods": ["pca"]} | change(iris.X, np.asarray(iris.y))
    assert not first.trials[0].cached
    assert not lowland.compare(**given).trials[0].cached


def test_a_damaged_entry_is_written_again(iris, cache_folder):
    lowland.compare(iris.X, None, ["pca"])
    for place in cache_folder.iterdir():
        (place / "trial.json").write_text('{"name": 1}')
    assert not lowland.compare(iris.X, None, ["pca"]).trials[0].cached
    assert lowland.compare(iris.X, None, ["pca"]).trials[0].cached


def test_without_a_cache_nothing_is_written(iris, cache_folder):
    lowland.compare(iris.X, None, ["pca"], cache=False)
    assert not cache_folder.exists()


# --- what goes wrong ---


def test_a_failing_method_is_a_trial_and_the_others_go_on(iris):
    study = lowland.compare(iris.X, iris.y, ["isomap", "pca"], sweep={"isomap.n_components": [2, 500]})
    assert [t.status for t in study.trials] == ["done", "failed", "done"]
    assert study.complete
    assert "at most" in study["Isomap n_components=500"].error


def test_ctrl_c_keeps_what_is_done(iris, monkeypatch):
    from lowland.methods.isomap import Isomap

    def interrupted(self, *_):
        raise KeyboardInterrupt

    monkeypatch.setattr(Isomap, "_solve", interrupted)
    study = lowland.compare(iris.X, None, ["pca", "isomap", "lda", "whitening"])
    assert [t.status for t in study.trials] == ["done", "stopped", "left out", "stopped"]
    assert not study.complete
    assert "stopped" in study["Isomap"].error
    assert study.advice[0].trial == "PCA"
    assert "scree" in study["PCA"].curves


def test_ctrl_c_before_anything_is_done(iris, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(module.measuring, "table_facts", interrupted)
    study = lowland.compare(iris.X, None, ["pca"])
    assert study.trials[0].status == "stopped"
    assert not study.complete


def test_a_callback_that_says_no_stops_the_study(iris):
    heard = []

    def enough(event):
        heard.append(event)
        return False

    with lowland.config(progress=enough):
        study = lowland.compare(iris.X, None, ["pca", "isomap"], cache=False)
    assert not study.complete
    assert heard[0].stage == "comparing methods"
    assert heard[0].total == 3


def test_rows_without_coordinates_are_left_out(rng):
    X = np.concatenate([rng.standard_normal((60, 3)), rng.standard_normal((20, 3)) + 50])
    study = lowland.compare(X, None, ["isomap"], sweep={"isomap.disconnected": ["largest"]})
    (trial,) = study.trials
    assert trial.status == "done"
    assert np.isnan(trial.Z[60:]).all()
    assert np.isnan(trial.per_row["neighbours kept"][60:]).all()
    assert trial.scores["trustworthiness"].value > 0.8


def test_what_cannot_be_measured_says_why(rng, monkeypatch):
    from lowland.methods.pca import PCA

    monkeypatch.setattr(PCA, "transform", lambda self, X: np.zeros((len(X), 2)))
    (trial,) = lowland.compare(rng.standard_normal((30, 3)), None, ["pca"], cache=False).trials
    assert trial.status == "done"
    assert trial.warnings[-1].startswith("Not measured: All rows of Z are equal")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"k": 0}, "compare\\(k=0\\)"),
        ({"k": 2.0}, "whole number"),
        ({"k": 5}, "4 columns. Choose at most 4"),
        ({"purpose": "win"}, "'see', 'compress', 'classify'"),
        ({"purpose": "classify"}, "one label a row"),
        ({"scale": 3}, "'none', 'standard', 'auto'"),
        ({"limit": 0}, "seconds"),
        ({"seed": -1}, "at least 0"),
        ({"worker": "yes"}, "True or False"),
        ({"y": "species"}, "without named columns"),
        ({"methods": ["tsne"]}, "no method 'tsne'"),
    ],
)
def test_wrong_choices_are_said_before_any_work(iris, given, said):
    with pytest.raises((ParameterError, DataError), match=said):
        lowland.compare(iris.X, **given)


def test_wrong_data():
    import scipy.sparse

    with pytest.raises(DataError, match="at least 10 rows"):
        lowland.compare(np.eye(5))
    with pytest.raises(DataError, match="Sparse"):
        lowland.compare(scipy.sparse.eye_array(50, format="csr"))
    with pytest.raises(DataError, match="NaN"):
        lowland.compare(np.full((20, 3), np.nan))


# --- labels, units ---


def test_labels_that_are_numbers_colour_and_are_no_classes(iris):
    study = lowland.compare(iris.X[:, 1:], iris.X[:, 0], ["pca", "lda"])
    assert [t.status for t in study.trials] == ["done", "left out"]
    np.testing.assert_allclose(study.table.labels, iris.X[:, 0])
    assert [a.purpose for a in study.advice] == ["see", "compress"]


@pytest.mark.parametrize("kind", [int, str])
def test_names_of_rows_are_no_classes(iris, kind):
    study = lowland.compare(iris.X, np.arange(150).astype(kind), ["pca", "lda"], cache=False)
    assert [t.status for t in study.trials] == ["done", "left out"]
    assert study.table.labels[7] == kind(7)


def test_a_column_of_a_frame_holds_the_labels(iris):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(iris.X, columns=list("abcd")).assign(kind=np.array(["u", "v", "w"])[np.asarray(iris.y)])
    study = lowland.compare(frame, "kind", ["pca"])
    assert study.table.label_name == "kind"
    assert study.table.names == tuple("abcd")
    assert set(study.table.labels) == {"u", "v", "w"}


@pytest.mark.parametrize(("scale", "factor", "scaled"), [("auto", 5, False), ("auto", 50, True), ("none", 50, False)])
def test_columns_are_standardised_where_asked(rng, scale, factor, scaled):
    X = rng.standard_normal((60, 3)) * [1, 1, factor]
    study = lowland.compare(X, None, ["pca"], scale=scale)
    alike = lowland.PCA(2).fit_transform((X - X.mean(0)) / X.std(0) if scaled else X)
    np.testing.assert_allclose(study["PCA"].Z, alike, atol=1e-4)
    assert any("deviation 1" in s for s in study.advice[0].evidence) is scaled
    np.testing.assert_allclose(study.table.values, X, rtol=1e-5)  # colours keep their units


# --- a process of its own ---


def test_the_worker_finds_the_same(iris):
    here = lowland.compare(iris.X, iris.y, ["pca", "lda"], cache=False)
    there = lowland.compare(iris.X, iris.y, ["pca", "lda"], cache=False, worker=True)
    assert [t.status for t in there.trials] == ["done", "done"]
    for name in here["PCA"].scores:
        assert there["PCA"].scores[name].value == pytest.approx(here["PCA"].scores[name].value, abs=1e-9)


# --- in a folder ---


def test_a_study_is_read_as_it_was_written(study, tmp_path):
    again = load_study(study.save(tmp_path / "new" / "study"))
    assert sorted(os.listdir(tmp_path / "new" / "study")) == ["points.parquet", "study.json"]
    assert again.advice == study.advice
    assert (again.k, again.purpose, again.command, again.complete) == (2, "see", study.command, True)
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


def test_what_was_left_out_or_failed_is_written_too(iris, tmp_path):
    study = lowland.compare(iris.X, None, ["lda", "isomap"], sweep={"isomap.n_components": [500]})
    again = load_study(study.save(tmp_path))
    assert [t.status for t in again.trials] == ["left out", "failed"]
    assert again.table.labels is None
    json.loads((tmp_path / "study.json").read_text())  # plain JSON: no NaN


def test_what_is_no_study(tmp_path, study):
    with pytest.raises(MissingFile, match=r"study\.json"):
        load_study(tmp_path)
    study.save(tmp_path / "s")
    (tmp_path / "s" / "study.json").write_text("{}")
    with pytest.raises(FileProblem, match="damaged"):
        load_study(tmp_path / "s")
    (tmp_path / "file").write_text("")
    with pytest.raises(FileProblem, match="is a file"):
        study.save(tmp_path / "file")


@pytest.mark.parametrize(
    ("purpose", "first"),
    [("see", "area under R_NX"), ("compress", "explained share"), ("classify", "downstream accuracy")],
)
def test_what_decides_is_told_first(iris, purpose, first):
    study = lowland.compare(iris.X, iris.y, ["pca"], purpose=purpose, cache=False)
    assert next(iter(study["PCA"].scores)) == first


def test_a_rare_class_does_not_keep_the_others_from_being_judged(iris):
    y = iris.y.copy()
    y[0], y[60:62] = 3, 4  # alone, and two: neither is in every one of five folds
    study = lowland.compare(iris.X, y, ["pca", "lda"], cache=False)
    for trial in study.trials:
        score = trial.scores["downstream accuracy"]
        assert score.value > 0.9
        assert score.high - score.low < 0.3
        assert "3 rows of classes too small for that left out" in score.about
    few = lowland.compare(iris.X[::12], iris.y[::12], ["pca"], cache=False)  # four or five rows a class
    assert "left out" not in few["PCA"].scores["downstream accuracy"].about


def test_one_class_is_no_classes(rng):
    study = lowland.compare(rng.standard_normal((40, 4)), ["a"] * 40, ["pca", "lda"], cache=False)
    assert study["PCA"].status == "done"
    assert "all rows have the label a" in study["LinearDiscriminantAnalysis"].error
    assert [each.purpose for each in study.advice] == ["see", "compress"]


def test_accuracy_of_few_rows_is_never_sure(rng):
    from lowland.quality.measure import wilson
    from lowland.study.scoring.knn_accuracy import accuracy

    y = np.repeat([0, 1], 10)
    found = accuracy(10.0 * y[:, None] + rng.standard_normal((20, 2)), y, 0)
    assert found.value == found.high == 1
    assert found.low == pytest.approx(wilson(1.0, 20)[0])


# --- from a study back to its methods ---


def test_a_study_tells_itself(study):
    assert repr(study).startswith("Study of X: 3 of 3 trials done. To see the data, use PCA")
    assert study["pca"] is study["PCA"]
    table = study.scores()
    assert table["trial"] == ["PCA", "Isomap", "LinearDiscriminantAnalysis"]
    assert table["explained share"][1] is None
    assert table["trustworthiness"][0] == study["PCA"].scores["trustworthiness"].value


def test_the_method_that_is_advised_can_be_fitted(study, iris):
    est = study.estimator()
    assert est.n_components == 2
    np.testing.assert_allclose(est.fit_transform(iris.X), study["PCA"].Z, atol=1e-5)
    assert study.estimator("compress").n_components == study.advice[1].n_components == 2
    assert study.estimator("isomap").n_neighbors == 10
    with pytest.raises(ParameterError, match=r"The trials: .* Or name a purpose: see"):
        study.estimator("UMAP")


def test_columns_that_the_study_standardised_are_standardised_again():
    wine = lowland.data.load_dataset("wine")
    study = lowland.compare(wine.X, wine.y, ["pca"], scale="auto")
    assert study.table.scaled
    np.testing.assert_allclose(study.estimator().fit_transform(wine.X), study["PCA"].Z, atol=1e-4)


def test_what_is_not_advised_is_no_method(rng):
    study = lowland.compare(rng.standard_normal((40, 3)), None, ["pca"], purpose="compress")
    with pytest.raises(ParameterError, match="advises nothing for 'compress'"):
        study.estimator()


def test_a_report_is_written(study, tmp_path):
    assert study.report(tmp_path / "r.html") == tmp_path / "r.html"
    assert study.report(tmp_path / "r.html").read_text().startswith("<!DOCTYPE html>")  # in place of the other
    with pytest.raises(ParameterError, match=r"ends in \.html"):
        study.report(tmp_path / "r.pdf")


# --- what must not end a study, and what must ---


def test_a_parameter_that_is_a_function_is_never_read_from_the_cache(iris):
    def kernel(scale):
        return lambda a, b: scale * np.dot(a, b)

    first, second = (
        lowland.compare(iris.X, None, ["kernel-pca"], sweep={"kernel-pca.kernel": [kernel(s)]}).trials[0]
        for s in (1, 100)
    )
    assert (first.status, second.status) == ("done", "done")
    assert not second.cached
    assert np.abs(second.Z).max() > 5 * np.abs(first.Z).max()
    assert callable(second.parameters["kernel"])


def test_what_was_not_measured_is_not_kept(iris, monkeypatch):
    def broken(self, *_):
        raise ZeroDivisionError("no way")

    with monkeypatch.context() as patch:
        patch.setattr(module.measuring.Judge, "_judged", broken)
        (trial,) = lowland.compare(iris.X, None, ["pca"]).trials
        assert trial.warnings[-1] == "Not measured: ZeroDivisionError: no way."
    (trial,) = lowland.compare(iris.X, None, ["pca"]).trials
    assert not trial.cached
    assert "trustworthiness" in trial.scores


def test_being_stopped_while_measuring_stops_the_study(iris, monkeypatch):
    from lowland.errors import Stopped

    def stop(self, *_):
        raise Stopped("enough")

    monkeypatch.setattr(module.measuring.Judge, "_judged", stop)
    study = lowland.compare(iris.X, None, ["pca"], cache=False)
    assert not study.complete
    assert study.trials[0].status == "stopped"
    assert "cache" not in study.trials[0].error


def test_coordinates_of_a_wrong_shape_are_a_failure(iris, monkeypatch):
    from lowland.methods.pca import PCA

    for shape in ((150, 0), (149, 2), (150,)):
        monkeypatch.setattr(PCA, "transform", lambda self, X, shape=shape: np.zeros(shape))
        (trial,) = lowland.compare(iris.X, None, ["pca"], cache=False).trials
        assert trial.status == "failed"
        assert str(shape) in trial.error


def test_what_goes_wrong_after_the_fit_costs_a_measure_not_the_trial(iris, monkeypatch):
    from lowland.methods.linear_discriminant_analysis import LinearDiscriminantAnalysis

    fit = LinearDiscriminantAnalysis.fit

    def only_all(self, X, y=None, **more):
        if (len(X) if hasattr(X, "__len__") else X.n) < 150:
            raise ZeroDivisionError("too few")
        return fit(self, X, y, **more)

    monkeypatch.setattr(LinearDiscriminantAnalysis, "fit", only_all)
    (trial,) = lowland.compare(iris.X, iris.y, ["lda"], cache=False).trials
    assert trial.status == "done"
    assert "downstream accuracy" not in trial.scores
    assert any(
        words.startswith("The accuracy of held-out rows was not measured: ZeroDivisionError")
        for words in trial.warnings
    )


# --- names, numbers, units ---


def test_methods_hear_the_names_of_columns_and_classes(rng):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(rng.standard_normal((60, 3)), columns=["width", "height", "depth"]).assign(same=1.0)
    frame["kind"] = np.repeat(["red", "green"], 30)
    study = lowland.compare(frame, "kind", ["select-sequential"], purpose="classify", cache=False, worker=False)
    assert any("'same'" in words for words in study.trials[0].warnings)
    apart = lowland.compare(frame, "kind", ["select-sequential"], purpose="classify", cache=False, worker=True)
    assert apart.trials[0].warnings == study.trials[0].warnings


def test_a_constant_column_is_not_uneven(rng):
    X = np.column_stack([rng.standard_normal((100, 2)), np.full(100, 0.1)])
    study = lowland.compare(X, None, ["pca"], scale="auto", cache=False)
    assert not study.table.scaled
    assert not any("times" in sentence for sentence in study.advice[0].evidence)


def test_a_column_that_counts_the_rows_is_told(rng):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(rng.standard_normal((40, 2)), columns=["a", "b"]).assign(id=np.arange(7, 47))
    study = lowland.compare(frame, None, ["pca"], cache=False)
    assert "'id' only counts the rows" in study.advice[0].evidence[0]
    assert not any("only counts" in s for s in lowland.compare(frame[["a", "b"]], None, ["pca"]).advice[0].evidence)


def test_the_intrinsic_dimension_is_not_above_the_columns(rng):
    study = lowland.compare(rng.standard_normal((12, 2)), None, ["pca"], cache=False)
    told = [s for s in study.advice[0].evidence if "intrinsic dimension" in s]
    assert all(float(number) <= 2 for s in told for number in re.findall(r"\d+\.\d", s))


def test_numbers_of_numpy_are_numbers(iris, tmp_path):
    study = lowland.compare(iris.X, None, ["pca"], np.int64(2), seed=np.int64(1))
    assert load_study(study.save(tmp_path)).k == 2
    labels = np.array(list(iris.X[:, 0]), dtype=object)
    np.testing.assert_allclose(lowland.compare(iris.X[:, 1:], labels, ["pca"]).table.labels, iris.X[:, 0])


def test_the_call_is_told_as_it_was(iris, tmp_path):
    pd = pytest.importorskip("pandas")
    assert lowland.compare(iris.X, methods=["pca"], seed=3).command == "lowland.compare(X, methods=['pca'], seed=3)"
    path = tmp_path / "t.csv"
    pd.DataFrame(iris.X, columns=list("abcd")).assign(kind=iris.y).to_csv(path, index=False)
    told = lowland.compare(path, "kind", "pca").command
    assert told == f"lowland.compare({str(path)!r}, 'kind', methods='pca')"


def test_columns_are_left_out_by_name(iris, tmp_path):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(iris.X, columns=list("abcd")).assign(id=[f"r{i}" for i in range(150)], kind=iris.y)
    path = tmp_path / "t.csv"
    frame.to_csv(path, index=False)
    for X in (frame, path):
        study = lowland.compare(X, "kind", ["pca"], drop=["id"], cache=False)
        assert study.table.names == tuple("abcd")
        np.testing.assert_allclose(study["PCA"].Z, lowland.PCA(2).fit_transform(iris.X), atol=1e-5)
    assert "drop=['id']" in study.command


def test_methods_in_the_place_of_labels_are_told(iris):
    with pytest.raises(DataError, match="methods=…"):
        lowland.compare(iris.X, ["pca", "isomap"])


def test_a_method_that_gives_fewer_dimensions_gives_those(rng):
    study = lowland.compare(rng.standard_normal((60, 5)), None, ["projection-pursuit"], 4, cache=False)
    assert study.trials[0].n_components == 3
    assert "3 dimensions at most" in study.trials[0].warnings[0]


# --- labels, repeats, units: what advice must not rest on ---


def test_a_few_rows_of_a_rare_class_do_not_keep_lda_from_being_judged(rng):
    X = rng.standard_normal((133, 5))
    X[:, :2] *= 5
    X[:, 4] *= 0.5
    X[70:130, 4] += 2.5
    y = np.array(["a"] * 70 + ["b"] * 60 + ["rare"] * 2 + ["rarer"])
    study = lowland.compare(X, y, ["pca", "lda"], purpose="classify", cache=False)
    assert study["lda"].scores["downstream accuracy"].value > 0.95
    assert study["lda"].n_components == 2
    assert study.advice[0].method == "LinearDiscriminantAnalysis"


def test_guessing_is_counted_among_the_rows_asked_about(rng):
    y = np.array(["a"] * 60 + ["b"] * 12 + [f"r{i // 2}" for i in range(58)])
    study = lowland.compare(rng.standard_normal((130, 5)), y, ["pca", "lda"], purpose="classify", cache=False)
    assert study.advice[0].method is None
    assert "right for 0.83" in study.advice[0].words  # 60 of 72


def test_noise_is_advised_no_more_often_than_chance_allows():
    found = 0
    for seed in range(10):
        r = np.random.default_rng(seed)
        study = lowland.compare(
            r.normal(size=(30, 6)), r.permutation(np.arange(30) % 2), ["pca", "lda", "fast-ica", "whitening"],
            purpose="classify", cache=False,
        )  # fmt: skip
        found += study.advice[0].method is not None
    assert found <= 1


def test_rows_without_coordinates_are_told_and_not_advised(rng):
    near = np.column_stack([rng.uniform(0, 10, (70, 2)), 0.01 * rng.standard_normal((70, 4))])
    X = np.concatenate([near, 2 * rng.standard_normal((60, 6)) + 60])
    study = lowland.compare(X, None, ["pca", "mds"], sweep={"isomap.disconnected": ["largest"]}, cache=False)
    half = study["Isomap disconnected=largest"]
    assert half.left_out == 60
    assert any("60 of 130 rows have no coordinates" in words for words in half.warnings)
    assert study.advice[0].method != "Isomap"


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_units_in_which_squares_are_no_numbers_are_refused_or_evened_out(iris, kind):
    for factor in (1e-30, 1e30) if kind is np.float32 else (1e-200, 1e200):
        X = (iris.X * factor).astype(kind)
        with pytest.raises(DataError, match="scale='standard'"):
            lowland.compare(X, None, ["pca"])
        even = lowland.compare(X, None, ["pca"], scale="standard", cache=False)
        alike = lowland.compare(iris.X, None, ["pca"], scale="standard", cache=False)
        np.testing.assert_allclose(np.abs(even["PCA"].Z), np.abs(alike["PCA"].Z), atol=1e-4)


def test_labels_of_another_order_are_other_labels(rng):
    X, y = rng.standard_normal((120, 3)), np.arange(120) % 12
    lowland.compare(X, y, ["pca"])
    assert not lowland.compare(X, y.astype(str), ["pca"]).trials[0].cached


def test_labels_that_are_no_classes_are_said_to_be_none(iris):
    study = lowland.compare(iris.X, np.arange(150), ["pca"], cache=False)
    assert any("Nothing is advised to classify, since 150 different labels" in s for s in study.advice[0].evidence)


def test_the_estimator_is_the_pca_that_was_measured():
    wine = lowland.data.load_dataset("wine")
    study = lowland.compare(wine.X, wine.y, ["pca"], 1, sweep={"pca.whiten": [True]}, scale="standard", cache=False)
    est = study.estimator("compress")[-1]
    assert (est.n_components, est.whiten) == (10, False)


def test_parameters_that_json_does_not_know_come_back_or_say_so(iris, tmp_path):
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


def test_what_cannot_be_sent_to_the_worker_is_a_failure_of_its_trial(iris):
    sweep = {"isomap.metric": [lambda a, b: float(np.abs(a - b).sum())]}
    study = lowland.compare(iris.X, None, ["pca"], sweep=sweep, worker=True, cache=False)
    assert [t.status for t in study.trials] == ["done", "failed"]
    assert "worker=False" in study.trials[1].error


def test_names_to_drop_may_come_in_any_sequence(iris):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(iris.X, columns=list("abcd"))
    for drop in ("a", ["a"], frame.columns[:1], np.array(["a"])):
        assert lowland.compare(frame, None, ["pca"], drop=drop, cache=False).table.names == tuple("bcd")

"""The table of a study: labels that are classes and those that are not, units, dropped columns."""

import numpy as np
import pytest

import lowland
from lowland.errors import DataError
from lowland.study.table import standard_deviation_ratio


def test_many_rows_and_columns_are_drawn_in_part(iris, monkeypatch):
    monkeypatch.setattr("lowland.study.table.MAX_SHOWN", 40)
    monkeypatch.setattr("lowland.study.table.MAX_COLORS", 2)
    study = lowland.compare(iris.X, None, ["pca"])
    assert len(study.table.shown) == 40
    assert study.table.values.shape == (40, 2)
    assert study.table.names == ("column 0", "column 2")  # those that vary most
    pca = study["PCA"]
    assert pca.Z.shape == (40, 2)
    np.testing.assert_allclose(pca.Z, lowland.PCA(2).fit_transform(iris.X)[study.table.shown], atol=1e-5)
    assert pca.per_row["neighbors preserved"].shape == (40,)


def test_numeric_labels_give_colors_and_no_classes(iris):
    study = lowland.compare(iris.X[:, 1:], iris.X[:, 0], ["pca", "lda"])
    assert [t.status for t in study.trials] == ["done", "left out"]
    np.testing.assert_allclose(study.table.labels, iris.X[:, 0])
    assert [a.purpose for a in study.advice] == ["see", "compress"]


@pytest.mark.parametrize("kind", [int, str])
def test_row_names_are_not_classes(iris, kind):
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
def test_columns_are_standardized_where_asked(rng, scale, factor, scaled):
    X = rng.standard_normal((60, 3)) * [1, 1, factor]
    study = lowland.compare(X, None, ["pca"], scale=scale)
    alike = lowland.PCA(2).fit_transform((X - X.mean(0)) / X.std(0) if scaled else X)
    np.testing.assert_allclose(study["PCA"].Z, alike, atol=1e-4)
    assert any("standard deviation 1" in s for s in study.advice[0].evidence) is scaled
    np.testing.assert_allclose(study.table.values, X, rtol=1e-5)  # colors keep their units


def test_a_single_class_is_not_a_classification(rng):
    study = lowland.compare(rng.standard_normal((40, 4)), ["a"] * 40, ["pca", "lda"], cache=False)
    assert study["PCA"].status == "done"
    assert "all rows have the label a" in study["LinearDiscriminantAnalysis"].error
    assert [each.purpose for each in study.advice] == ["see", "compress"]


def test_a_constant_column_does_not_trigger_scaling(rng):
    X = np.column_stack([rng.standard_normal((100, 2)), np.full(100, 0.1)])
    study = lowland.compare(X, None, ["pca"], scale="auto", cache=False)
    assert not study.table.scaled
    assert not any("factor" in sentence for sentence in study.advice[0].evidence)


def test_a_row_number_column_is_reported(rng):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(rng.standard_normal((40, 2)), columns=["a", "b"]).assign(id=np.arange(7, 47))
    study = lowland.compare(frame, None, ["pca"], cache=False)
    assert "'id' only counts the rows" in study.advice[0].evidence[0]
    assert not any("only counts" in s for s in lowland.compare(frame[["a", "b"]], None, ["pca"]).advice[0].evidence)


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


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_values_whose_squares_overflow_are_refused_or_standardized(iris, kind):
    for factor in (1e-30, 1e30) if kind is np.float32 else (1e-200, 1e200):
        X = (iris.X * factor).astype(kind)
        with pytest.raises(DataError, match=r"its square (over|under)flows float.*scale='standard'"):
            lowland.compare(X, None, ["pca"])
        even = lowland.compare(X, None, ["pca"], scale="standard", cache=False)
        alike = lowland.compare(iris.X, None, ["pca"], scale="standard", cache=False)
        np.testing.assert_allclose(np.abs(even["PCA"].Z), np.abs(alike["PCA"].Z), atol=1e-4)


def test_labels_that_are_not_classes_are_reported(iris):
    study = lowland.compare(iris.X, np.arange(150), ["pca"], cache=False)
    assert any("no advice for classification because 150 distinct labels" in s for s in study.advice[0].evidence)


def test_names_to_drop_may_come_in_any_sequence(iris):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(iris.X, columns=list("abcd"))
    for drop in ("a", ["a"], frame.columns[:1], np.array(["a"])):
        assert lowland.compare(frame, None, ["pca"], drop=drop, cache=False).table.names == tuple("bcd")


def test_methods_passed_as_labels_are_reported(iris):
    with pytest.raises(DataError, match="methods=…"):
        lowland.compare(iris.X, ["pca", "isomap"])


def test_wrong_data():
    import scipy.sparse

    with pytest.raises(DataError, match="at least 10 rows"):
        lowland.compare(np.eye(5))
    with pytest.raises(DataError, match="sparse"):
        lowland.compare(scipy.sparse.eye_array(50, format="csr"))
    with pytest.raises(DataError, match="NaN"):
        lowland.compare(np.full((20, 3), np.nan))


def test_standard_deviations_do_not_overflow_and_constant_columns_do_not_count():
    X = np.array([[0.0, 1e200, 7.0], [3.0, 0.0, 7.0], [0.0, 1e200, 7.0], [3.0, 0.0, 7.0]])
    assert standard_deviation_ratio(X) == pytest.approx(1e200 / 3)
    assert standard_deviation_ratio(np.ones((3, 2))) == 1

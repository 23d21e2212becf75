"""Real tables through every door: the same preparation, and baselines of a plain scikit-learn pipeline."""

import json
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn import datasets
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import KFold, StratifiedKFold, cross_val_score
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import lowland
from lowland.study.facts import table_facts
from lowland.study.table import open_table

PENGUINS = Path(__file__).parents[1] / "data/tables/penguins.csv"  # Horst, Hill and Gorman 2020, CC0


def penguins():
    return pd.read_csv(PENGUINS), "species", ["year"]


def of_scikit_learn(name):
    def load():
        frame = getattr(datasets, f"load_{name}")(as_frame=True).frame
        return frame, "target", []

    return load


def incomplete_wine():
    frame, label, unused = of_scikit_learn("wine")()
    gone = np.random.default_rng(0).random(frame.shape) < 0.4
    return frame.mask(gone & (frame.columns != label)), label, unused


def with_levels():
    """Categories of many levels beside numbers, as in tables of cars."""
    rng = np.random.default_rng(1)
    y = rng.integers(0, 3, 240)
    frame = pd.DataFrame(rng.standard_normal((240, 4)) * [1, 20, 300, 5000], columns=list("abcd"))
    frame["a"] += y
    frame["maker"] = [f"m{v}" for v in rng.integers(0, 25, 240)]
    frame["type"] = np.where(rng.random(240) < 0.7, y, rng.integers(0, 3, 240)).astype(str)
    return frame.assign(kind=np.array(["u", "v", "w"])[y]), "kind", []


TABLES = {
    "penguins": penguins, "iris": of_scikit_learn("iris"), "wine": of_scikit_learn("wine"),
    "cancer": of_scikit_learn("breast_cancer"), "digits": of_scikit_learn("digits"),
    "diabetes": of_scikit_learn("diabetes"), "incomplete wine": incomplete_wine, "levels": with_levels,
}  # fmt: skip


@pytest.mark.parametrize("name", TABLES)
def test_the_baseline_is_that_of_a_plain_pipeline(name):
    """The accuracy or R² that is quoted for all columns, against scikit-learn's encoders, scaler and models."""
    frame, label, unused = TABLES[name]()
    data = open_table(frame, label, "auto", 2)
    assert list(data.prepared.unused) == [n for n in data.prepared.unused if n in unused or frame[n].nunique() < 2]
    labels = data.labels
    facts = table_facts(data.X, labels.codes, 0, labels.targets, encoded=data.n_categories > 0)
    X, y = frame.drop(columns=[label, *unused]), frame[label]
    numbers = [SimpleImputer(strategy="median"), *([StandardScaler()] if data.scaled else [])]
    encoded = make_column_transformer(
        (make_pipeline(*numbers), make_column_selector(dtype_include="number")),
        (OneHotEncoder(handle_unknown="ignore"), make_column_selector(dtype_exclude="number")),
    )
    is_classes = labels.codes is not None
    linear = LogisticRegression(max_iter=3000) if is_classes else Ridge(1.0)
    near = KNeighborsClassifier(5) if is_classes else KNeighborsRegressor(5)
    folds = (StratifiedKFold if is_classes else KFold)(5, shuffle=True, random_state=0)
    scaler = [] if data.n_categories else [StandardScaler()]
    for score, model in ((facts.accuracy, [near]), (facts.linear_accuracy, [*scaler, linear])):
        expected = cross_val_score(make_pipeline(encoded, *model), X, y, cv=folds).mean()
        assert score.value == pytest.approx(expected, abs=0.03 if is_classes else 0.06)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shutil.copy(PENGUINS, "penguins.csv")
    return tmp_path


def test_one_preparation_through_every_door(folder):
    """The command line, Python, a notebook and the explorer fit the same numbers to the same table."""
    from click.testing import CliRunner

    from lowland.cli.main import cli
    from lowland.explorer.tables import PreparedRows, read_table

    frame = pd.read_csv("penguins.csv")
    study = lowland.compare(frame, "species", ["pca"], cache=False)
    features = frame.drop(columns="species")
    expected = lowland.PCA(2).fit_transform(lowland.TablePreparer().fit_transform(features, frame["species"]))
    np.testing.assert_allclose(study["pca"].Z, expected, atol=1e-5)
    np.testing.assert_allclose(study.estimator("pca").fit_transform(features), expected, atol=1e-10)

    fitted = CliRunner().invoke(
        cli, ["fit", "pca", "penguins.csv", "--label", "species", "-k", "2", "--to", "z.csv", "--json"]
    )
    assert fitted.exit_code == 0, fitted.output
    np.testing.assert_allclose(pd.read_csv("z.csv")[["pca0", "pca1"]], expected, atol=1e-10)
    assert json.loads(fitted.stdout)["prepared"] == study.table.preparation.report

    read = read_table(
        {"path": str(folder / "penguins.csv"), "folder": str(folder / "t"), "rows_folder": str(folder / "r"),
         "table_bytes": 2**30}, lambda event: None,
    )  # fmt: skip
    assert {c["name"]: c["role"] for c in read["columns"]}["year"] == "keep"
    assert read["prepared"]["report"] == {k: v for k, v in study.table.preparation.report.items() if k != "year"}
    np.testing.assert_allclose(lowland.PCA(2).fit_transform(PreparedRows(folder / "r").X), expected, atol=1e-10)

    looked = lowland.look("penguins.csv")
    assert looked.unused == ("year",)
    assert looked.label == "species"


def test_the_study_of_a_mixed_table_says_what_was_done(folder):
    study = lowland.compare("penguins.csv", "species", ["pca", "famd", "mca"], cache=False)
    assert [trial.status for trial in study.trials] == ["done"] * 3
    table = study.table
    assert (table.columns, table.preparation.n_encoded, table.scaled) == (6, 10, True)
    assert table.names == ("bill_length_mm", "bill_depth_mm", "flipper_length_mm", "body_mass_g", "year")
    assert np.nanmax(table.values[:, 3]) == 6300  # grams, not standard deviations
    assert {*table.kept["island"]} == {"Biscoe", "Dream", "Torgersen"}

    frame = pd.read_csv("penguins.csv")
    numbers = frame.columns[2:6]
    complete = frame.fillna({n: frame[n].median() for n in numbers}).fillna({"sex": "missing"})
    famd = lowland.FactorAnalysisOfMixedData(2).fit_transform(complete[["island", *numbers, "sex"]])
    mca = lowland.MultipleCorrespondenceAnalysis(2).fit_transform(complete[["island", "sex"]])
    np.testing.assert_allclose(study["famd"].Z, famd, atol=1e-4)
    np.testing.assert_allclose(study["mca"].Z, mca, atol=1e-4)

    study.save("saved")
    again = lowland.study.load_study("saved")
    assert again.table.preparation == table.preparation
    page = study.report("report.html").read_text()
    assert "6 columns are used, as 10 numbers" in page
    assert "years (2007 to 2009), not used" in page


def test_many_replaced_values_are_a_caveat():
    frame, label, _ = incomplete_wine()
    advice = lowland.compare(frame, label, ["pca"], cache=False).advice[0]
    assert any("40" in sentence and "were missing and replaced" in sentence for sentence in advice.evidence)


def test_values_that_are_missing_late_in_a_long_table_are_replaced(monkeypatch):
    """The first rows decide how columns are prepared, but all rows are in memory."""
    monkeypatch.setattr("lowland.prepare.preparation.CELLS", 4)
    monkeypatch.setattr("lowland.prepare.preparation.LEAST_ROWS", 50)
    X = np.random.default_rng(0).standard_normal((120, 4))
    X[100, 2] = np.nan
    for table in (X, pd.DataFrame(X, columns=list("abcd"))):
        study = lowland.compare(table, None, ["pca"], cache=False)
        assert study.trials[0].status == "done", study.trials[0].error
        assert "Replaced 1 missing value " in study.table.preparation.missing


def test_incomplete_rows_can_be_dropped_or_refused():
    frame, label, _ = incomplete_wine()
    frame = frame[["alcohol", "hue", "ash", label]]
    left = frame.dropna(subset=["alcohol", "hue", "ash"])
    study = lowland.compare(lowland.Table(frame, id=np.arange(len(frame))), label, ["pca"], impute="drop", cache=False)
    assert study.table.rows == len(left)
    np.testing.assert_array_equal(study.table.ids, left.index)
    with pytest.raises(lowland.errors.DataError, match="Missing values in 'alcohol'"):
        lowland.compare(frame, label, ["pca"], impute="none", cache=False)

"""Real tables through every door: the same preparation, and baselines of a plain scikit-learn pipeline."""

import json
import shlex
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from click.testing import CliRunner
from sklearn import datasets
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import KFold, StratifiedKFold, cross_val_score
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import lowland
from lowland.cli.main import cli
from lowland.explorer.maps import compute_map
from lowland.explorer.tables import PreparedRows, read_table
from lowland.explorer.workspace import read_floats
from lowland.study.facts import table_facts
from lowland.study.table import open_table

# Penguins: Horst, Hill and Gorman 2020, CC0. Cars93: Lock 1993. Survey: Venables and Ripley 1999.
# Biopsy: every third row of Wolberg and Mangasarian 1990, CC BY 4.0.
# Baseball: every hundredth row of the American and National League in Lahman's database, CC BY-SA 3.0.
FILES = Path(__file__).parents[1] / "data/tables"
PENGUINS = FILES / "penguins.csv"


def of_file(name, label, unused):
    return lambda: (pd.read_csv(FILES / f"{name}.csv"), label, unused)


def movies():
    """The columns of a table of movies, with drawn values: titles, years, most budgets missing, votes, genres."""
    rng = np.random.default_rng(4)
    n, comedy = 200, rng.random(200) < 0.4
    frame = pd.DataFrame({
        "title": [f"The {rng.choice(['long', 'last', 'lost'])} day of number {i}" for i in range(n)],
        "year": rng.integers(1950, 2006, n), "length": rng.normal(95, 15, n).round() - 20 * comedy,
        "budget": np.where(rng.random(n) < 0.08, rng.lognormal(16, 1, n).round(), np.nan),
        "rating": rng.normal(6, 1.2, n).round(1), "votes": rng.lognormal(5, 2, n).round(),
        "mpaa": np.where(rng.random(n) < 0.1, rng.choice(["PG", "R"], n), None),
        "Action": rng.integers(0, 2, n), "Drama": (rng.random(n) < 0.5).astype(int),
        "Comedy": np.where(comedy, "yes", "no"),
    })  # fmt: skip
    return frame, "Comedy", ["title", "year", "budget", "mpaa"]


def noise():
    X = np.random.default_rng(7).standard_normal((90, 5))
    return pd.DataFrame(X, columns=list("abcde")), None, []


def words():
    """Counts of the words of our own pages: those about methods, and the others."""
    pages = sorted((Path(__file__).parents[2] / "docs").rglob("*.md"))
    counter = CountVectorizer(max_features=60, stop_words="english", token_pattern="[a-z]{4,}")
    counts = counter.fit_transform([page.read_text() for page in pages]).toarray()
    label = np.where([page.parent.name == "methods" for page in pages], "method", "other")
    return pd.DataFrame(counts, columns=counter.get_feature_names_out()).assign(kind=label), "kind", []


def vectors():
    """Embeddings of texts about three topics, beside a price that is no part of them."""
    rng = np.random.default_rng(3)
    topic = np.arange(90) % 3
    E = (rng.normal(size=(3, 6))[topic] + 0.4 * rng.normal(size=(90, 6))) * np.logspace(0, -2, 6)
    return pd.DataFrame({"price": rng.lognormal(8, 1, 90), "emb": E.tolist(), "topic": topic}), "topic", ["price"]


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
    "penguins": of_file("penguins", "species", ["year"]), "iris": of_scikit_learn("iris"),
    "wine": of_scikit_learn("wine"), "cancer": of_scikit_learn("breast_cancer"), "digits": of_scikit_learn("digits"),
    "diabetes": of_scikit_learn("diabetes"), "incomplete wine": incomplete_wine, "levels": with_levels,
    "cars93": of_file("cars93", "Type", ["Model", "Make"]), "survey": of_file("survey", "Sex", []),
    "biopsy": of_file("biopsy", "class", ["ID"]),
    "baseball": of_file("baseball", "lg", ["Unnamed: 0", "id", "year"]), "movies": movies, "words": words,
}  # fmt: skip


@pytest.mark.filterwarnings("ignore:The within-class covariance is singular")  # levels of one category sum to 1
@pytest.mark.parametrize("name", TABLES)
def test_the_baseline_is_that_of_a_plain_pipeline(name):
    """The accuracy or R² that is quoted for all columns, against scikit-learn's encoders, scaler and models.

    What the advice returns predicts no worse than the better of these two pipelines.
    """
    frame, label, unused = TABLES[name]()
    frame = frame[frame[label].notna()]
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
    scaler, plain = [] if data.n_categories else [StandardScaler()], []
    for score, model in ((facts.accuracy, [near]), (facts.linear_accuracy, [*scaler, linear])):
        expected = cross_val_score(make_pipeline(encoded, *model), X, y, cv=folds).mean()
        margin = max(0.03, 4 / len(y)) if is_classes else 0.06  # four rows of a small table
        assert score.value == pytest.approx(expected, abs=margin)
        plain.append(expected)
    advised = lowland.compare(frame, label, ["pca", *["lda"] * is_classes], cache=False).estimator("classify")
    assert cross_val_score(advised, frame.drop(columns=label), y, cv=folds).mean() > max(plain) - margin


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shutil.copy(PENGUINS, "penguins.csv")
    return tmp_path


@pytest.mark.parametrize("name", [*TABLES, "noise", "vectors", "counts"])
def test_one_preparation_through_every_door(name, tmp_path, monkeypatch, texts):
    """``look``, the command line, Python and the explorer use the same columns and fit the same numbers."""
    monkeypatch.chdir(tmp_path)
    S, module = texts
    counts = pd.DataFrame(S.toarray().astype(int)).add_prefix("w").assign(module=module)
    more = {"noise": noise, "vectors": vectors, "counts": lambda: (counts, "module", [])}
    frame, label, unused = (TABLES | more)[name]()
    path = "x.jsonl" if name == "vectors" else "x.csv"
    if path == "x.jsonl":
        frame.to_json(path, orient="records", lines=True)
    else:
        frame.iloc[:600].to_csv(path, index=False)
        frame = pd.read_csv(path)
    y = None if label is None else frame[label]
    features = frame if label is None else frame.drop(columns=label)
    expected = lowland.PCA(2).fit_transform(lowland.TablePreparer().fit_transform(features, y))

    study = lowland.compare(frame, label, ["pca"], cache=False)
    report = study.table.preparation.report
    assert {*unused} <= {column for column, words in report.items() if words.endswith("not used")}
    np.testing.assert_allclose(study["pca"].Z, expected, atol=1e-4 * np.abs(expected).max())
    np.testing.assert_allclose(study.estimator("pca").fit_transform(features, y), expected, atol=1e-8)

    labeled = [] if label is None else ["--label", label]
    compared = _run("compare", path, *labeled, "--methods", "pca", "--no-cache")
    assert (compared["prepared"] or {}) == report
    assert [each["text"] for each in compared["advice"]] == [each.text for each in study.advice]

    looked = lowland.look(path)
    assert {*unused} <= {*looked.unused}
    if looked.label == label:
        assert ("standardized" in str(looked)) == study.table.scaled
    command = _run("look", path)["command"]
    assert looked.counts == (name == "counts")
    assert _run(*shlex.split(command)[1:])["files"][0]["rows"] == len(frame)

    fitted = _run("fit", "pca", path, *labeled, "-k", "2", "--to", "z.csv")
    np.testing.assert_allclose(pd.read_csv("z.csv")[["pca0", "pca1"]], expected, atol=1e-8)
    assert (fitted["prepared"] or {}) == report

    features = [c["name"] for c in _read_with(path, label) if c["role"] == "feature"]
    assert not {*unused} & {*features}
    np.testing.assert_allclose(lowland.PCA(2).fit_transform(PreparedRows(Path("r")).X), expected, atol=1e-8)


@pytest.mark.filterwarnings("ignore:n_components was reduced")
@pytest.mark.parametrize("name", ["penguins", "cars93", "survey", "biopsy", "baseball", "movies", "levels", "words"])
def test_categories_and_counts_are_read_as_they_are_through_every_door(name, tmp_path, monkeypatch):
    """A study, the command line and the explorer fit FAMD, MCA and CA to the same columns."""
    monkeypatch.chdir(tmp_path)
    frame, label, _ = TABLES[name]()
    frame.to_csv("x.csv", index=False)
    _read_with("x.csv", label)
    reads = {"ca"} if name == "words" else {"famd", "mca"}
    study = lowland.compare(pd.read_csv("x.csv"), label, sorted(reads), cache=False)
    assert {trial.status for trial in study.trials} == {"done"}
    has_none = study.table.preparation.n_categories == 0  # MCA then reads numbers as codes, with other missing values
    for method in reads - ({"mca"} if has_none else set()):
        expected, k = study[method].Z, study[method].Z.shape[1]
        _run("fit", method, "x.csv", "--label", label, "-k", str(k), "--to", "z.csv", "--force")
        fitted = pd.read_csv("z.csv").drop(columns=label)
        np.testing.assert_allclose(fitted.select_dtypes("number").to_numpy()[:, :k], expected, atol=1e-4)
        shown = _map("x.csv", method, label, n_components=k)
        np.testing.assert_allclose(shown, expected, atol=1e-4)


@pytest.mark.parametrize("kind", ["frame", "array", "sparse"])
def test_correspondence_analysis_reads_counts_not_their_weights(kind, texts):
    S, _ = texts
    S = S[:, np.asarray(S.sum(axis=0)).ravel() > 20]
    S = S[np.asarray(S.sum(axis=1)).ravel() > 0]
    X = {"frame": pd.DataFrame(S.toarray()).add_prefix("w"), "array": S.toarray(), "sparse": S}[kind]
    study = lowland.compare(X, None, ["ca"], cache=False)
    assert study.table.preparation.counts == "dense"
    expected = lowland.CorrespondenceAnalysis(2).fit_transform(S)
    np.testing.assert_allclose(study["ca"].Z, expected, atol=1e-5 * np.abs(expected).max())
    with pytest.raises(lowland.errors.ParameterError, match="fitted to the counts themselves"):
        study.estimator("ca")


def _map(path, method, label, **parameters):
    """Compute a map as the explorer does, of the table that was read last."""
    roles = pd.read_csv(path).columns.tolist().index(label)
    message = {"map": "m", "method": method, "parameters": parameters, "stored": "t/table.arrow", "rows": "r",
               "label": roles, "weight": None}  # fmt: skip
    compute_map(message, lambda event: None)
    return read_floats(Path("m/coordinates.f32")).reshape(parameters["n_components"], -1).T


def _read(path, roles, **how):
    """Read a table as the explorer does."""
    message = {"path": path, "scale": "auto", "impute": "median", **how, "folder": "t", "rows_folder": "r",
               "table_bytes": 2**30, "most_rows": 10**6, "most_columns": 10**4, "roles": roles}  # fmt: skip
    return read_table(message, lambda event: None)


def _read_with(path, label):
    """Read a table with a label of one's own, and return its columns."""
    guessed = [c["name"] for c in _read(path, {})["columns"] if c["role"] == "label"]
    return _read(path, dict.fromkeys(guessed, "feature") | ({} if label is None else {label: "label"}))["columns"]


def _run(*words):
    """Run a command, and return what it reports."""
    done = CliRunner().invoke(cli, [*words, "--json"])
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def test_a_column_that_nearly_is_a_component_is_a_finding_everywhere(folder):
    """The third component of the penguins is the year, if it is used."""
    evidence = lowland.compare("penguins.csv", "species", ["pca"], use=["year"], cache=False).advice[0].evidence
    assert any("component 3 is almost only 'year'" in sentence for sentence in evidence)
    assert _run("fit", "pca", "penguins.csv", "--label", "species", "--use", "year")["facts"] == {
        "component 3": "almost only 'year' (94%)"
    }
    found = _read("penguins.csv", {"year": "feature"})
    assert "component 3 is almost only 'year'" in found["prepared"]["findings"][0]
    assert _read("penguins.csv", {})["prepared"]["findings"] == []


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

    with pytest.raises(lowland.errors.ParameterError, match="fitted to the categories themselves"):
        study.estimator("famd")  # a pipeline would fit it to columns of 0 and 1
    assert hasattr(study.estimator("classify"), "predict")
    study.save("saved")
    again = lowland.study.load_study("saved")
    assert again.table.preparation == table.preparation
    page = study.report("report.html").read_text()
    assert "6 columns are used, as 10 numbers" in page
    assert "years (2007 to 2009), not used" in page


def test_no_number_of_a_vector_is_called_a_column_to_leave_out():
    frame, label, _ = vectors()
    evidence = lowland.compare(frame, label, ["pca"], cache=False).advice[0].evidence
    assert not any("leave it out" in sentence for sentence in evidence)


def test_many_replaced_values_are_a_caveat(tmp_path, monkeypatch):
    frame, label, _ = incomplete_wine()
    advice = lowland.compare(frame, label, ["pca"], cache=False).advice[0]
    (caveat,) = (sentence for sentence in advice.evidence if "were missing and replaced" in sentence)
    assert "40" in caveat
    assert "impute='em'" in caveat  # nearly no row is complete
    assert frame.dropna().shape[0] < 3
    frame.to_csv(tmp_path / "wine.csv", index=False)
    monkeypatch.chdir(tmp_path)
    assert "of the numbers were missing and replaced" in _read("wine.csv", {})["prepared"]["findings"][0]


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


@pytest.mark.parametrize(
    ("how", "words"), [("knn", "replaced by the mean of the nearest rows"), ("drop", "in rows that were dropped")]
)
def test_each_column_says_what_became_of_its_missing_values(folder, how, words):
    study = lowland.compare("penguins.csv", "species", ["pca"], impute=how, cache=False)
    expected = f"number, 2 missing {words}, standardized"
    assert study.table.preparation.report["body_mass_g"] == expected
    if how != "drop":
        assert _read("penguins.csv", {}, impute=how)["prepared"]["report"]["body_mass_g"] == expected


def test_missing_values_are_counted_in_the_columns_of_the_user():
    """Not in the columns of levels, of which a table with categories has many; dropped rows replace nothing."""
    frame = pd.read_csv(PENGUINS).iloc[:60]
    frame.loc[:29, "body_mass_g"] = np.nan

    def prepared(how):
        return lowland.compare(frame, "species", ["pca"], impute=how, cache=False).table.preparation

    median, em = prepared("median"), prepared("em")
    assert em.missing_fraction == median.missing_fraction > 0.1
    assert em.missing.partition(" by ")[0] == median.missing.partition(" by ")[0]
    assert prepared("drop").missing_fraction == 0


@pytest.mark.parametrize("library", [pd, pl])
def test_a_column_without_any_value_is_left_out(library):
    x = np.random.default_rng(0).standard_normal((30, 2))
    frame = library.DataFrame({"empty": [None] * 30, "b": x[:, 0], "c": x[:, 1]})
    study = lowland.compare(frame, None, ["pca"], cache=False)
    assert study.table.preparation.report["empty"] == "no values, not used"
    np.testing.assert_allclose(study["pca"].Z, lowland.PCA(2).fit_transform(x), atol=1e-5)


def test_incomplete_rows_can_be_dropped_or_refused():
    frame, label, _ = incomplete_wine()
    frame = frame[["alcohol", "hue", "ash", label]]
    left = frame.dropna(subset=["alcohol", "hue", "ash"])
    study = lowland.compare(lowland.Table(frame, id=np.arange(len(frame))), label, ["pca"], impute="drop", cache=False)
    assert study.table.rows == len(left)
    np.testing.assert_array_equal(study.table.ids, left.index)
    with pytest.raises(lowland.errors.DataError, match="Missing values in 'alcohol'"):
        lowland.compare(frame, label, ["pca"], impute="none", cache=False)

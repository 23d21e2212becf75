"""--prepare, --impute and --drop-missing: what they do is printed, saved, and applied to new rows."""

import json
import shlex

import numpy as np
import pandas as pd
import pytest

import lowland as ll


def write_people(path, n=60, seed=0):
    rng = np.random.default_rng(seed)
    age = rng.normal(50, 9, n)
    age[4] = np.nan
    frame = pd.DataFrame(
        {
            "age": age,
            "height": rng.normal(170, 9, n),
            "color": rng.choice(["red", "green", "blue"], n),
            "joined": (pd.Timestamp("2020-01-30") + pd.to_timedelta(np.arange(n) * 9, unit="D")).strftime("%Y-%m-%d"),
            "site": "north",
            "group": rng.choice(["a", "b"], n),
        }
    )
    frame.to_csv(path, index=False)
    return frame


@pytest.fixture
def people():
    return write_people("people.csv")


@pytest.fixture
def gaps(X):
    X[::9, 2] = np.nan
    frame = pd.DataFrame(X, columns=list("abcd"))
    frame.to_csv("gaps.csv", index=False)
    return frame


def done(result):
    assert result.exit_code == 0, result.stderr
    assert result.stderr == ""
    return result.stdout


def coordinates(path):
    return pd.read_csv(path).drop(columns="group", errors="ignore").to_numpy()


def refused(result):
    """The message of a refused command, and the command at its end."""
    assert result.exit_code == 1
    message = result.stderr.removeprefix("lowland: ")
    assert message.count("\n") == 1
    return message, shlex.split(message[message.rindex(": lowland ") + 2 :])[1:]


def test_a_mixed_table_from_file_to_map_and_new_rows(lowland, people):
    words = ("fit", "pca", "people.csv", "--label", "group", "--impute", "median", "--to", "z.csv", "--model", "m")
    text = done(lowland(*words))
    assert "age: number, 1 missing replaced by the median, standardized" in text
    assert "color: category, 3 levels" in text
    assert "site: only one value, not used" in text
    assert "joined: date" in text
    done(lowland("transform", "m", "people.csv", "--to", "again.csv"))
    assert np.array_equal(coordinates("z.csv"), coordinates("again.csv"))

    pipeline = ll.load("m")
    expected = pipeline.transform(people.drop(columns="group").assign(joined=pd.to_datetime(people["joined"])))
    np.testing.assert_allclose(np.asarray(expected), coordinates("z.csv"), atol=1e-12)
    written = pipeline.transform(people.drop(columns="group"))  # dates as text
    np.testing.assert_allclose(np.asarray(written), coordinates("z.csv"), atol=1e-12)
    assert "color_red" in pipeline[-1].feature_names_in_

    write_people("new.csv", 7, seed=3).assign(color="violet").drop(columns="group").to_csv("new.csv", index=False)
    done(lowland("transform", "m", "new.csv", "--to", "new_z.csv"))
    assert np.isfinite(coordinates("new_z.csv")).all()


@pytest.mark.parametrize(
    ("table_name", "words"),
    [("people.csv", ("fit", "isomap")), ("gaps.csv", ("fit", "pca")), ("people.csv", ("compare",)),
     ("gaps.csv", ("dimension",))],
)  # fmt: skip
def test_missing_numbers_are_replaced_by_the_median_unless_asked_otherwise(lowland, people, gaps, table_name, words):
    more = ("--methods", "pca", "--no-cache", "--no-progress") if words == ("compare",) else ()
    text = done(lowland(*words, table_name, *more))
    assert f"{1 if table_name == 'people.csv' else 7} missing replaced by the median" in text
    assert lowland(*words, table_name, *more, "--drop-missing").exit_code == 0
    message, command = refused(lowland(*words, table_name, *more, "--impute", "none"))
    assert ("'age' (1)" if table_name == "people.csv" else "'c' (7)") in message
    assert "--drop-missing" in message
    assert command == [*words, table_name, *more, "--impute", "none", "--impute", "median"]
    assert lowland(*command).exit_code == 0


def test_columns_without_values_are_not_used(lowland, gaps):
    gaps.assign(e=np.nan, a=gaps["a"].where(gaps.index != 3)).to_csv("X.csv", index=False)
    text = done(lowland("fit", "pca", "X.csv"))
    assert "e: no values, not used" in text
    assert "Replaced 8 missing values" in text
    message, _ = refused(lowland("fit", "pca", "X.csv", "--prepare", "none"))
    assert "'a' (1), 'c' (7), 'e' (60)" in message


def test_a_method_that_handles_missing_values_uses_them(lowland, people):
    text = done(lowland("fit", "pca", "people.csv", "-k", 2, "--missing-values", "em", "--to", "z.csv", "--model", "m"))
    assert "age: number, 1 missing left missing" in text
    assert np.isfinite(coordinates("z.csv")).all()
    done(lowland("transform", "m", "people.csv", "--to", "again.csv"))
    np.testing.assert_allclose(coordinates("again.csv"), coordinates("z.csv"), atol=1e-10)


def test_marks_among_numbers_are_refused_with_all_other_gaps(lowland, people):
    people.assign(height=["?" if i == 7 else h for i, h in enumerate(people["height"])]).to_csv("q.csv", index=False)
    message, command = refused(lowland("fit", "pca", "q.csv", "--label", "group"))
    assert "'height'" in message
    assert "'?' (row 8)" in message
    assert "'age' (1)" in message
    assert command[3:] == ["--label", "group", "--missing", "?"]
    assert "height: number, 1 missing replaced" in done(lowland(*command))


def test_numbers_that_look_like_ids_are_dropped_unless_named(lowland, people):
    people.assign(year=range(1950, 2010), age=1.5).to_csv("years.csv", index=False)
    assert "year: years (1950 to 2009), not used" in done(lowland("fit", "pca", "years.csv", "-k", 2))
    for words in (("--columns", "year,height,color"), ("--use", "year")):
        assert "year: number" in done(lowland("fit", "pca", "years.csv", "-k", 2, *words))


def test_columns_may_name_the_label(lowland, people):
    words = ("--columns", "group,age,color", "--label", "group")
    assert "color: category" in done(lowland("fit", "pca", "people.csv", *words))
    wrong = lowland("fit", "pca", "people.csv", "--use", "colour")
    assert wrong.exit_code == 1
    assert "no column 'colour'" in wrong.stderr
    assert "Did you mean 'color'" in wrong.stderr


def test_the_model_tells_how_it_prepares(lowland, people):
    done(lowland("fit", "pca", "people.csv", "--impute", "mean", "--model", "m"))
    text = done(lowland("inspect", "m"))
    assert "color: category" in text
    assert "TablePreparer, PCA" in text
    facts = json.loads(done(lowland("inspect", "m", "--json")))
    assert facts["columns_fitted"] == ["age", "height", "color", "joined", "site", "group"]
    assert facts["arrays"]["components_"]["shape"][1] == facts["columns_in"]
    people.drop(columns="color").to_csv("fewer.csv", index=False)
    fewer = lowland("transform", "m", "fewer.csv", "--to", "z.csv")
    assert fewer.exit_code == 1
    assert "color" in fewer.stderr


def test_a_table_of_numbers_is_not_prepared(lowland, table):
    facts = json.loads(done(lowland("fit", "pca", table, "--json", "--model", "m")))
    assert facts["prepared"] is None
    assert type(ll.load("m")).__name__ == "PCA"


def test_the_dimension_of_a_mixed_table(lowland, people):
    words = ("dimension", "people.csv", "--impute", "mean", "--method", "mle")
    assert "color: category" in done(lowland(*words))
    assert json.loads(done(lowland(*words, "--json")))["prepared"]["site"]


def test_numbers_are_standardized_on_request_and_text_encoded_without(lowland, people, gaps):
    done(lowland("fit", "pca", "gaps.csv", "--prepare", "standardize", "--impute", "median", "--to", "z.csv"))
    expected = ll.TablePreparer(standardize=True).fit_transform(pd.read_csv("gaps.csv"))
    assert np.abs(coordinates("z.csv")).sum() == pytest.approx(np.abs(ll.PCA().fit_transform(expected)).sum())
    text = done(lowland("fit", "pca", "people.csv", "--drop", "age", "--prepare", "encode"))
    assert "color: category" in text
    assert "standardized" not in text


def test_an_array_is_standardized_too(lowland, X):
    np.save("x.npy", X)
    done(lowland("fit", "pca", "x.npy", "--prepare", "standardize", "--to", "z.npy", "--model", "m"))
    expected = ll.PCA().fit_transform((X - X.mean(axis=0)) / X.std(axis=0))
    np.testing.assert_allclose(np.load("z.npy"), expected, atol=1e-10)
    done(lowland("transform", "m", "x.npy", "--to", "again.npy"))
    np.testing.assert_array_equal(np.load("again.npy"), np.load("z.npy"))


def test_a_large_file_is_standardized_in_chunks(lowland, X, monkeypatch):
    from lowland.prepare import preparation

    monkeypatch.setattr(preparation, "CELLS", 4)
    monkeypatch.setattr(preparation, "LEAST_ROWS", 20)  # that decide about the columns
    frame = pd.DataFrame(X * [1, 1, 1, 500], columns=list("abcd"))
    frame.to_csv("large.csv", index=False)
    done(lowland("fit", "pca", "large.csv", "--to", "z.csv", "--model", "m"))
    expected = ll.PCA().fit_transform((X - X.mean(axis=0)) / X.std(axis=0))
    np.testing.assert_allclose(coordinates("z.csv"), expected, atol=1e-8)
    done(lowland("transform", "m", "large.csv", "--to", "again.csv"))
    np.testing.assert_allclose(coordinates("again.csv"), coordinates("z.csv"), atol=1e-12)
    frame.loc[50, "b"] = np.nan  # after the rows that decide about the columns
    frame.to_csv("late.csv", index=False)
    message, command = refused(lowland("fit", "pca", "late.csv", "--drop", "d"))
    assert "'b'" in message
    assert "Replaced 1 missing value " in done(lowland(*command))


def test_a_method_that_reads_text_reads_it_itself(lowland, people):
    words = ("fit", "mca", "people.csv", "--columns", "color,group", "--json")
    assert json.loads(done(lowland(*words)))["prepared"] is None


def test_predictions_from_a_mixed_table(lowland, people):
    fitted = lowland("fit", "lda", "people.csv", "--label", "group", "--impute", "mean", "--model", "m")
    assert fitted.exit_code == 0, fitted.stderr  # it warns that the columns of one category are collinear
    done(lowland("predict", "m", "people.csv", "--to", "p.csv"))
    assert set(pd.read_csv("p.csv")["class"]) <= {"a", "b"}


@pytest.mark.parametrize("how", ["mean", "median", "knn", "em"])
def test_missing_values_are_replaced_and_counted(lowland, gaps, how):
    text = done(lowland("fit", "pca", "gaps.csv", "-k", 2, "--impute", how, "--to", "z.csv", "--model", "m"))
    assert "Replaced 7 missing values" in text
    filled = np.asarray(ll.impute(gaps.to_numpy(), how))
    np.testing.assert_allclose(coordinates("z.csv"), ll.PCA(2).fit_transform(filled), atol=1e-10)
    result = lowland("transform", "m", "gaps.csv", "--to", "again.csv")
    done(result)
    np.testing.assert_allclose(coordinates("again.csv"), coordinates("z.csv"), atol=1e-12)
    np.testing.assert_allclose(np.asarray(ll.load("m").transform(gaps if how != "knn" else gaps.to_numpy())),
                               coordinates("z.csv"), atol=1e-12)  # fmt: skip


def test_rows_with_missing_values_are_dropped_and_counted(lowland, gaps):
    text = done(lowland("fit", "pca", "gaps.csv", "-k", 2, "--drop-missing", "--to", "z.csv"))
    assert "Dropped 7 of 60 rows" in text
    z = coordinates("z.csv")
    assert (
        z[:, 0].tolist() == np.flatnonzero(gaps.notna().all(axis=1)).tolist()
    )  # the numbers of the rows that are left
    np.testing.assert_allclose(z[:, 1:], ll.PCA(2).fit_transform(gaps.dropna().to_numpy()), atol=1e-12)


def test_labels_are_dropped_with_their_rows(lowland, gaps):
    gaps.assign(way=np.where(gaps["a"] > 0, "up", "down")).to_csv("labeled.csv", index=False)
    text = done(lowland("fit", "lda", "labeled.csv", "--label", "way", "--drop-missing", "--to", "z.csv"))
    assert "Dropped 7 of 60 rows" in text
    assert len(coordinates("z.csv")) == 53


@pytest.mark.parametrize(
    ("flags", "words"),
    [(("--impute", "knn"), "replaced by the mean of the nearest rows"),
     (("--impute", "em"), "replaced by their conditional mean under probabilistic PCA"),
     (("--impute", "mean"), "replaced by the mean"), (("--drop-missing",), "in rows that were dropped")],
)  # fmt: skip
def test_text_and_missing_values_together(lowland, people, flags, words):
    text = done(lowland("fit", "pca", "people.csv", *flags, "--to", "z.csv", "--model", "m"))
    assert "color: category" in text
    assert f"age: number, 1 missing {words}, standardized" in " ".join(text.split())
    assert len(coordinates("z.csv")) == (59 if "--drop-missing" in flags else 60)
    if "--impute" in flags:
        done(lowland("transform", "m", "people.csv", "--to", "again.csv"))
        np.testing.assert_allclose(coordinates("again.csv"), coordinates("z.csv"), atol=1e-10)


def test_an_array_file_is_imputed_too(lowland, gaps):
    np.save("gaps.npy", gaps.to_numpy())
    done(lowland("fit", "pca", "gaps.npy", "-k", 2, "--impute", "median", "--to", "z.npy", "--model", "m"))
    done(lowland("transform", "m", "gaps.npy", "--to", "again.npy"))
    assert np.array_equal(np.load("z.npy"), np.load("again.npy"))


def test_a_comparison_of_a_mixed_table(lowland, people):
    text = done(
        lowland(
            "compare", "people.csv", "--label", "group", "--impute", "mean", "--methods", "pca,truncated-svd",
            "--no-cache", "--to", "report.html", "--no-progress", "--save", "study",
        )
    )  # fmt: skip
    assert "color: category" in text
    assert "report.html" in text
    assert "people.csv" in ll.study.load_study("study").table.source


def test_an_embedding_of_a_mixed_table_is_evaluated_in_the_prepared_columns(lowland, people):
    words = ("--label", "group", "--impute", "mean", "--to", "z.csv", "--model", "m")
    done(lowland("fit", "pca", "people.csv", "-k", 2, *words))
    facts = json.loads(done(lowland("evaluate", "people.csv", "z.csv", "--label", "group", "--model", "m", "--json")))
    assert facts["columns"] == ll.load("m")[-1].n_features_in_
    measured = {each["name"]: each["value"] for each in facts["measures"]}
    assert 0.5 < measured["trustworthiness"] <= 1
    words = ("evaluate", "people.csv", "z.csv", "--label", "group", "--impute", "mean", "--json")
    without_model = {each["name"]: each["value"] for each in json.loads(done(lowland(*words)))["measures"]}
    assert without_model["trustworthiness"] == pytest.approx(measured["trustworthiness"], abs=1e-12)


def test_a_pipeline_of_python_maps_a_file(lowland, table, X):
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    frame = pd.read_csv(table)
    pipeline = make_pipeline(StandardScaler(), ll.PCA(2)).fit(frame)
    ll.save(pipeline, "m")
    frame[list("dcba")].assign(note="x").to_csv("shuffled.csv", index=False)
    done(lowland("transform", "m", "shuffled.csv", "--to", "z.csv"))
    np.testing.assert_allclose(coordinates("z.csv"), pipeline.transform(frame), atol=1e-12)
    assert "StandardScaler, PCA" in done(lowland("inspect", "m"))


def test_a_pipeline_of_python_with_encoders_maps_a_file(lowland, people):
    from sklearn.compose import ColumnTransformer
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder

    columns = ColumnTransformer([("n", SimpleImputer(), ["age", "height"]), ("c", OneHotEncoder(), ["color"])])
    pipeline = make_pipeline(columns, ll.PCA(2)).fit(people)
    ll.save(pipeline, "m")
    done(lowland("transform", "m", "people.csv", "--to", "z.csv"))
    np.testing.assert_allclose(coordinates("z.csv"), pipeline.transform(people), atol=1e-10)


def test_a_pipeline_without_a_method_is_refused(lowland, people):
    ll.save(ll.TablePreparer().fit(people), "m")
    result = lowland("transform", "m", "people.csv", "--to", "z.csv")
    assert result.exit_code == 1
    assert "does not end with a method" in result.stderr


@pytest.mark.parametrize("flags", [("--drop-missing",), ("--impute", "mean")])
def test_a_matrix_is_left_as_it_is(lowland, airports, flags):
    result = lowland("fit", "classical-mds", "distances.csv", "--metric", "precomputed", *flags)
    assert result.exit_code == 1
    assert flags[0] in result.stderr
    result = lowland("fit", "factor-analysis", "kernel.parquet", "--covariance-of", 50, *flags)
    assert result.exit_code == 2
    assert flags[0] in result.stderr


@pytest.mark.parametrize("flags", [[], ["--impute", "median"]])
def test_methods_of_categories_take_missing_values(lowland, people, flags):
    """As in a study: numbers become the median, a missing category is a level."""
    people.loc[::7, "color"] = None
    people.drop(columns=["joined", "site"]).to_csv("mixed.csv", index=False)
    fit = ("fit", "famd", "mixed.csv", "--label", "group", "-k", "2")
    found = lowland(*fit, "--to", "z.csv", "--json", *flags)
    assert found.exit_code == 0, found.stderr
    said = json.loads(found.stdout)["missing"]
    assert "1 missing number by the median" in said
    assert "separate level: 9 values" in said
    filled = people[["age", "height", "color"]].fillna({"age": people["age"].median(), "color": "missing"})
    expected = ll.FactorAnalysisOfMixedData(2).fit_transform(filled)
    np.testing.assert_allclose(np.abs(pd.read_csv("z.csv").select_dtypes(float)), np.abs(expected), atol=1e-8)
    found = lowland("fit", "mca", "mixed.csv", "--columns", "color,group", "-k", "2", "--to", "m.csv", *flags)
    assert found.exit_code == 0, found.stderr
    refused = lowland(*fit, "--to", "n.csv", "--impute", "none")
    assert refused.exit_code != 0
    assert "--drop-missing" in refused.stderr

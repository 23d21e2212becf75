"""--prepare, --impute and --drop-missing: what they do is printed, saved, and applied to new rows."""

import json

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
    return pd.read_csv(path).to_numpy()


def test_text_is_refused_with_the_remedy(lowland, people):
    result = lowland("fit", "pca", "people.csv")
    assert result.exit_code != 0
    assert "--prepare auto" in result.stderr
    assert "color" in result.stderr


def test_a_mixed_table_from_file_to_map_and_new_rows(lowland, people):
    text = done(
        lowland("fit", "pca", "people.csv", "--label", "group", "--prepare", "auto", "--to", "z.csv", "--model", "m")
    )
    assert "age: number, 1 missing replaced by the median, standardized" in text
    assert "color: category, 3 levels" in text
    assert "site: only one value, dropped" in text
    assert "joined: date" in text
    done(lowland("transform", "m", "people.csv", "--to", "again.csv"))
    assert np.array_equal(coordinates("z.csv"), coordinates("again.csv"))

    pipeline = ll.load("m")
    expected = pipeline.transform(people.drop(columns="group").assign(joined=pd.to_datetime(people["joined"])))
    np.testing.assert_allclose(np.asarray(expected), coordinates("z.csv"), atol=1e-12)
    assert "color_red" in pipeline[-1].feature_names_in_

    write_people("new.csv", 7, seed=3).assign(color="violet").drop(columns="group").to_csv("new.csv", index=False)
    done(lowland("transform", "m", "new.csv", "--to", "new_z.csv"))
    assert np.isfinite(coordinates("new_z.csv")).all()


def test_the_model_tells_how_it_prepares(lowland, people):
    done(lowland("fit", "pca", "people.csv", "--prepare", "auto", "--model", "m"))
    text = done(lowland("inspect", "m"))
    assert "color: category" in text
    assert "TablePreparer, PCA" in text
    facts = json.loads(done(lowland("inspect", "m", "--json")))
    assert facts["columns_fitted"] == ["age", "height", "color", "joined", "site", "group"]
    assert facts["arrays"]["components_"]["shape"][1] == facts["columns_in"]


def test_a_missing_column_is_named(lowland, people):
    done(lowland("fit", "pca", "people.csv", "--prepare", "auto", "--model", "m"))
    people.drop(columns="color").to_csv("fewer.csv", index=False)
    result = lowland("transform", "m", "fewer.csv", "--to", "z.csv")
    assert result.exit_code != 0
    assert "color" in result.stderr


def test_a_table_of_numbers_is_not_prepared(lowland, table):
    facts = json.loads(done(lowland("fit", "pca", table, "--prepare", "auto", "--json", "--model", "m")))
    assert facts["prepared"] is None
    assert type(ll.load("m")).__name__ == "PCA"


def test_a_method_that_reads_text_reads_it_itself(lowland, people):
    words = ("fit", "mca", "people.csv", "--columns", "color,group", "--prepare", "auto", "--json")
    assert json.loads(done(lowland(*words)))["prepared"] is None


def test_predictions_from_a_mixed_table(lowland, people):
    fitted = lowland("fit", "lda", "people.csv", "--label", "group", "--prepare", "auto", "--model", "m")
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
    if how == "em":
        assert "new rows must be complete" in text
        assert result.exit_code != 0
    else:
        done(result)
        np.testing.assert_allclose(coordinates("again.csv"), coordinates("z.csv"), atol=1e-12)


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


@pytest.mark.parametrize("flags", [("--impute", "knn"), ("--impute", "mean"), ("--drop-missing",)])
def test_text_and_missing_values_together(lowland, people, flags):
    text = done(lowland("fit", "pca", "people.csv", "--prepare", "auto", *flags, "--to", "z.csv", "--model", "m"))
    assert "color: category" in text
    assert ("left missing" in text) == ("mean" not in flags)
    assert len(coordinates("z.csv")) == (59 if "--drop-missing" in flags else 60)


def test_an_array_file_is_imputed_too(lowland, gaps):
    np.save("gaps.npy", gaps.to_numpy())
    done(lowland("fit", "pca", "gaps.npy", "-k", 2, "--impute", "median", "--to", "z.npy", "--model", "m"))
    done(lowland("transform", "m", "gaps.npy", "--to", "again.npy"))
    assert np.array_equal(np.load("z.npy"), np.load("again.npy"))


def test_both_remedies_at_once_are_refused(lowland, gaps):
    result = lowland("fit", "pca", "gaps.csv", "--impute", "mean", "--drop-missing")
    assert result.exit_code == 2
    assert "--drop-missing" in result.stderr


def test_a_comparison_of_a_mixed_table(lowland, people):
    text = done(
        lowland(
            "compare", "people.csv", "--label", "group", "--prepare", "auto", "--methods", "pca,truncated-svd",
            "--no-cache", "--to", "report.html", "--no-progress",
        )
    )  # fmt: skip
    assert "color: category" in text
    assert "report.html" in text


def test_the_dimension_of_a_mixed_table(lowland, people):
    text = done(lowland("dimension", "people.csv", "--prepare", "auto", "--method", "mle"))
    assert "color: category" in text
    assert json.loads(done(lowland("dimension", "people.csv", "--prepare", "auto", "--json")))["prepared"]["site"]


def test_an_embedding_of_a_mixed_table_is_evaluated_in_the_prepared_columns(lowland, people):
    words = ("--label", "group", "--prepare", "auto", "--to", "z.csv", "--model", "m")
    done(lowland("fit", "pca", "people.csv", "-k", 2, *words))
    facts = json.loads(done(lowland("evaluate", "people.csv", "z.csv", "--label", "group", "--model", "m", "--json")))
    assert facts["columns"] == ll.load("m")[-1].n_features_in_
    measured = {each["name"]: each["value"] for each in facts["measures"]}
    assert 0.5 < measured["trustworthiness"] <= 1


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

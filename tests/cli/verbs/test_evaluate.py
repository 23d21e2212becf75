"""``lowland evaluate``: the measures as a table and as JSON, and errors."""

import json

import numpy as np
import pytest

from lowland import PCA, quality
from lowland.data import load_dataset
from lowland.data.write import write_chunks


@pytest.fixture
def files(lowland):
    iris = load_dataset("iris")
    labels = np.array(["setosa", "versicolor", "virginica"], dtype=object)[iris.y]
    write_chunks([np.column_stack([iris.X.astype(object), labels])], "iris.csv", [*"abcd", "kind"])
    assert (
        lowland("fit", "pca", "iris.csv", "--label", "kind", "-k", 2, "--to", "z.npy", "--model", "m.lowland").exit_code
        == 0
    )
    return "iris.csv", "z.npy"


def test_a_table(lowland, files):
    result = lowland("evaluate", *files, "--label", "kind", "--model", "m.lowland")
    assert result.exit_code == 0, result.stderr
    iris = load_dataset("iris")
    Z = PCA(2).fit_transform(iris.X)
    assert f"trustworthiness {quality.trustworthiness(iris.X, Z).value:.4g}" in " ".join(result.stdout.split())
    assert "z.npy as an embedding of iris.csv, 150 rows × 4 columns" in result.stdout
    for name in ("silhouette", "explained variance ratio", "residual variance", "area under R_NX"):
        assert name in result.stdout
    assert "interval" not in result.stdout


def test_json_and_a_sample(lowland, files):
    result = lowland("evaluate", *files, "--drop", "kind", "--neighbors", 7, "--sample", 60, "--seed", 3, "--json")
    facts = json.loads(result.stdout)
    iris = load_dataset("iris")
    found = quality.evaluate(iris.X, np.load("z.npy"), n_neighbors=7, sample=60, random_state=3)
    assert [m["name"] for m in facts["measures"]] == [m.name for m in found]
    assert [m["value"] for m in facts["measures"]] == pytest.approx([m.value for m in found])
    assert facts["measures"][0]["low"] == pytest.approx(found[0].low)
    assert (facts["rows"], facts["columns"]) == (150, 4)
    table = lowland("evaluate", *files, "--drop", "kind", "--sample", 60).stdout
    assert "95% confidence interval" in table
    assert "60 sampled rows, compared with all rows" in table


def test_rows_without_coordinates_are_reported(lowland, files):
    Z = np.load("z.npy")
    Z[3] = np.nan
    np.save("holes.npy", Z)
    result = lowland("evaluate", "iris.csv", "holes.npy", "--drop", "kind")
    assert result.exit_code == 0, result.stderr
    assert "1 row without coordinates excluded." in result.stdout


def test_columns_of_the_coordinates(lowland, files):
    iris, Z = load_dataset("iris"), np.load("z.npy")
    labels = np.array(["setosa", "versicolor", "virginica"], dtype=object)[iris.y]
    wide = np.column_stack([np.arange(150).astype(object), Z.astype(object), labels])
    write_chunks([wide], "wide.csv", ["id", "one", "two", "kind"])
    words = ("--label", "kind", "--json")
    found = lowland("evaluate", "iris.csv", "wide.csv", "--coordinates", "one,two", *words)
    assert found.exit_code == 0, found.stderr
    plain = json.loads(lowland("evaluate", *files, *words).stdout)["measures"]
    assert [m["value"] for m in json.loads(found.stdout)["measures"]] == pytest.approx([m["value"] for m in plain])
    refused = lowland("evaluate", "iris.csv", "wide.csv", "--label", "kind")
    assert refused.exit_code == 1
    assert "columns of COORDINATES with --coordinates." in refused.stderr
    assert "three" in lowland("evaluate", "iris.csv", "wide.csv", "--coordinates", "three", "--label", "kind").stderr


def test_a_sample_of_distances_is_reported(lowland):
    X = np.random.default_rng(0).standard_normal((1600, 3))
    np.save("x.npy", X)
    np.save("z.npy", X[:, :2])
    reported = lowland("evaluate", "x.npy", "z.npy").stdout
    assert "Stress and correlations: distances among 1,024 sampled rows. Change the number with --sample." in reported
    assert "compared with all rows" not in reported


def test_measures_that_cannot_be_computed_are_explained(lowland, files):
    fit = lowland("fit", "isomap", "iris.csv", "--label", "kind", "--n-neighbors", 50, "--model", "i.lowland")
    assert fit.exit_code == 0, fit.stderr
    result = lowland("evaluate", *files, "--drop", "kind", "--model", "i.lowland")
    assert result.exit_code == 0
    assert "Isomap has no inverse transform" in result.stderr


@pytest.mark.parametrize(
    ("words", "code", "sentence"),
    [
        (("--neighbors", 100), 1, "there are 150 rows with coordinates. Choose at most 74."),
        (("--sample", 5), 2, "5 is not in the range x>=20"),
        (("--label", "type"), 1, "type"),
        (("--model", "none.lowland"), 1, "none.lowland"),
    ],
)
def test_mistakes(lowland, files, words, code, sentence):
    drop = () if "--label" in words else ("--drop", "kind")
    result = lowland("evaluate", *files, *drop, *words)
    assert result.exit_code == code
    assert sentence in result.stderr
    assert result.stderr.count("\n") == 1


def test_tables_that_do_not_belong_together(lowland, files):
    np.save("few.npy", np.load("z.npy")[:-1])
    result = lowland("evaluate", "iris.csv", "few.npy", "--drop", "kind")
    assert result.exit_code == 1
    assert "DATA has 150 rows and COORDINATES has 149" in result.stderr


def test_a_model_determines_columns_and_scaling(lowland):
    wine = load_dataset("wine")
    columns = [[f"row {i}" for i in range(178)], *wine.X.T, np.full(178, 0.1)]  # the last is constant: only centered
    write_chunks([np.column_stack([np.array(each, object) for each in columns])], "w.csv", ["id", *"abcdefghijklmn"])
    lowland("fit", "pca", "w.csv", "--drop", "id", "--scale", "-k", 2, "--to", "z.csv", "--model", "m.lowland")
    scaled = (wine.X - wine.X.mean(0)) / wine.X.std(0)
    found = quality.trustworthiness(scaled, PCA(2).fit_transform(scaled)).value
    for words in (("--model", "m.lowland"), ("--drop", "id", "--scale")):
        facts = json.loads(lowland("evaluate", "w.csv", "z.csv", *words, "--json").stdout)
        assert facts["scaled"] is True
        assert facts["measures"][0]["value"] == pytest.approx(found)
    assert "standardized columns" in lowland("evaluate", "w.csv", "z.csv", "--model", "m.lowland").stdout
    plain = json.loads(lowland("evaluate", "w.csv", "z.csv", "--drop", "id", "--prepare", "none", "--json").stdout)
    assert plain["measures"][0]["value"] < found - 0.05

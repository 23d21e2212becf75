"""``lowland transform``, ``inverse`` and ``predict``: the results agree with Python."""

import json

import numpy as np
import pyarrow.csv as csv
import pyarrow.parquet as pq
import pytest

import lowland as ll
from lowland.data import rows as rows_module
from lowland.data.write import write_chunks


def numbers(path) -> np.ndarray:
    if str(path).endswith(".npy"):
        return np.load(path)
    table = pq.read_table(path) if str(path).endswith(".parquet") else csv.read_csv(path)
    return np.column_stack([column.to_numpy() for column in table.columns])


@pytest.mark.parametrize("ending", [".parquet", ".csv", ".csv.gz", ".npy"])
def test_fit_transform_inverse_agree_with_python(lowland, table, X, ending):
    z, again, back = (f"{name}{ending}" for name in ("z", "again", "back"))
    for words in (
        ("fit", "pca", table, "-k", "0.95", "--whiten", "--to", z, "--model", "m.lowland"),
        ("transform", "m.lowland", table, "--to", again),
        ("inverse", "m.lowland", z, "--to", back),
    ):
        result = lowland(*words)
        assert result.exit_code == 0, result.stderr
        assert result.stderr == ""
    pca = ll.PCA(0.95, whiten=True).fit(X)
    Z = pca.transform(X)
    np.testing.assert_allclose(numbers(z), Z, atol=1e-12)
    np.testing.assert_allclose(numbers(again), Z, atol=1e-12)
    np.testing.assert_allclose(numbers(back), pca.inverse_transform(Z), atol=1e-12)
    if ending in (".csv", ".parquet"):
        assert read(back).column_names == list("abcd")


def test_decoded_columns_without_names_are_numbered(lowland, X):
    np.save("x.npy", X)
    lowland("fit", "pca", "x.npy", "-k", 2, "--to", "z.npy", "--model", "m")
    assert lowland("inverse", "m", "z.npy", "--to", "back.csv").exit_code == 0
    assert csv.read_csv("back.csv").column_names == ["x0", "x1", "x2", "x3"]


def test_a_missing_inverse_transform_is_reported_with_a_remedy(lowland, table):
    assert lowland("fit", "kernel-pca", table, "-k", 2, "--to", "z.csv", "--model", "m").exit_code == 0
    result = lowland("inverse", "m", "z.csv", "--to", "back.csv")
    assert result.exit_code == 1
    assert "Fit it again with --fit-inverse-transform." in result.stderr
    words = ("-k", 2, "--fit-inverse-transform", "--model", "m", "--force")
    assert lowland("fit", "kernel-pca", table, *words).exit_code == 0
    assert lowland("inverse", "m", "z.csv", "--to", "back.csv").exit_code == 0


@pytest.fixture
def numbered(X) -> str:
    """The table with integers as labels."""
    labels = (X[:, 0] > 0) + 2 * (X[:, 1] > 0)
    write_chunks([np.column_stack([X.astype(object), labels.astype(object)])], "numbered.parquet", [*"abcd", "kind"])
    return "numbered.parquet"


def read(path):
    return pq.read_table(path) if path.endswith(".parquet") else csv.read_csv(path)


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_classes_and_probabilities_agree_with_python(lowland, labeled, classifier, X, ending):
    to = f"classes{ending}"
    result = lowland("predict", classifier, labeled, "--to", to, "--probabilities")
    assert (result.exit_code, result.stderr) == (0, "")
    lda, found = ll.load(classifier), read(to)
    assert found.column_names == ["class", "probability_down", "probability_up", "way"]
    expected = lda.predict(ll.open_rows(labeled, drop=["way"]))
    assert found["class"].to_pylist() == expected.tolist()
    P = np.column_stack([found[name].to_numpy() for name in found.column_names[1:3]])
    np.testing.assert_allclose(P, lda.predict_proba(ll.open_rows(labeled, drop=["way"])), rtol=1e-12)
    counts = {name: int((expected == name).sum()) for name in ("down", "up")}
    assert f"down {counts['down']}, up {counts['up']}" in result.stdout
    reported = json.loads(lowland("predict", classifier, labeled, "--to", to, "--force", "--json").stdout)
    assert reported["facts"]["rows per class"] == counts
    assert reported["files"] == [{"file": to, "rows": 60, "columns": 2}]


def test_numbers_stay_numbers(lowland, numbered):
    assert lowland("fit", "lda", numbered, "--label", "kind", "--model", "m").exit_code == 0
    expected = ll.load("m").predict(numbered)
    for to in ("y.npy", "y.csv", "y.parquet"):
        assert lowland("predict", "m", numbered, "--to", to).exit_code == 0
        classes = np.load(to)[:, 0] if to.endswith(".npy") else read(to)["class"].to_numpy()
        assert classes.dtype.kind == "i"
        assert np.array_equal(classes, expected)
    assert lowland("predict", "m", numbered, "--to", "p.npy", "--probabilities").exit_code == 0
    P = np.load("p.npy")
    assert np.array_equal(P[:, 0], expected)
    np.testing.assert_allclose(P[:, 1:].sum(axis=1), 1)


def test_many_slabs_give_the_result_of_one(lowland, labeled, classifier, monkeypatch):
    assert lowland("predict", classifier, labeled, "--to", "one.parquet", "--probabilities").exit_code == 0
    pq.write_table(csv.read_csv(labeled), "parts.parquet", row_group_size=10)
    monkeypatch.setattr(rows_module, "SLAB_BYTES", 10 * 4 * 8)
    result = lowland("predict", classifier, "parts.parquet", "--to", "many.parquet", "--probabilities")
    assert result.exit_code == 0, result.stderr
    assert pq.ParquetFile("many.parquet").num_row_groups == 8
    assert read("many.parquet")["class"].equals(read("one.parquet")["class"])


def test_a_classifier_without_coordinates(lowland, labeled, X):
    """The lsqr solver only classifies: fit and inspect say so, predict works, and nothing was written to --to."""
    words = ("fit", "lda", labeled, "--label", "way", "--solver", "lsqr")
    result = lowland(*words, "--model", "m")
    assert (result.exit_code, result.stderr) == (0, "")
    reported = lowland("inspect", "m")
    assert reported.exit_code == 0
    for text in (result.stdout, reported.stdout):
        assert "none (a classifier only" in text
    assert json.loads(lowland(*words, "--json").stdout)["components"] is None
    assert lowland("predict", "m", labeled, "--to", "y.csv").exit_code == 0
    refused = lowland("transform", "m", labeled, "--to", "z.csv")
    assert refused.exit_code == 1
    assert "only classifies" in refused.stderr


@pytest.mark.parametrize("verb", ["lda", "pca"])
def test_a_model_remembers_its_label(lowland, labeled, table, verb):
    """The training file, with its label column, can be transformed, and so can one without the label."""
    assert lowland("fit", verb, labeled, "--label", "way", "--model", "m", "--to", "z.npy").exit_code == 0
    for to, words in (
        ("same.npy", (labeled,)),
        ("without.npy", (table,)),
        ("dropped.npy", (labeled, "--drop", "way")),
        ("named.npy", (labeled, "--label", "way")),
        ("columns.npy", (labeled, "--columns", "a,b,c,d")),
    ):
        result = lowland("transform", "m", *words, "--to", to)
        assert result.exit_code == 0, result.stderr
        np.testing.assert_allclose(np.load(to), np.load("z.npy"), atol=1e-12)
    np.testing.assert_allclose(ll.load("m").transform(labeled), np.load("z.npy"), atol=1e-12)
    assert "way" in lowland("inspect", "m").stdout
    assert json.loads(lowland("inspect", "m", "--json").stdout)["label"] == "way"


def test_drop_may_repeat_the_columns_dropped_by_the_model(lowland, labeled):
    assert lowland("fit", "lda", labeled, "--label", "way", "--drop", "d", "--model", "m").exit_code == 0
    assert lowland("predict", "m", labeled, "--drop", "d", "--to", "y.csv").exit_code == 0


def test_names_given_by_the_user_take_precedence(lowland, labeled, classifier):
    result = lowland("transform", classifier, labeled, "--columns", "a,b,c,d,way", "--to", "z.csv")
    assert result.exit_code == 1
    assert "'way'" in result.stderr


def test_a_model_takes_its_columns_by_name(lowland, X):
    """The training file with two more columns, and the columns in another order."""
    notes, numbers = np.full((60, 1), "good", dtype=object), np.arange(60.0)[:, None].astype(object)
    write_chunks([np.hstack([numbers, X.astype(object), notes])], "all.csv", ["id", *"abcd", "note"])
    write_chunks([np.hstack([notes, X[:, ::-1].astype(object), numbers])], "turned.csv", ["note", *"dcba", "id"])
    assert lowland("fit", "pca", "all.csv", "--drop", "id,note", "--model", "m", "--to", "z.npy").exit_code == 0
    for file in ("all.csv", "turned.csv"):
        result = lowland("transform", "m", file, "--to", "again.npy", "--force")
        assert result.exit_code == 0, result.stderr
        np.testing.assert_allclose(np.load("again.npy"), np.load("z.npy"), atol=1e-12)


def test_json_output_is_a_single_object(lowland, table):
    result = lowland("fit", "pca", table, "-k", 2, "--to", "z.csv", "--model", "m", "--json", "--progress")
    facts = json.loads(result.stdout)
    assert facts["data"] == {"file": "table.csv", "rows": 60, "columns": 4, "label": None}
    assert facts["files"] == [{"file": "z.csv", "rows": 60, "columns": 2}, {"file": "m"}]
    assert len(facts["explained_variance_ratio"]) == 2
    for words in (("transform", "m", table, "--to", "z2.csv"), ("inverse", "m", "z.csv", "--to", "b.csv")):
        assert json.loads(lowland(*words, "--json").stdout)["data"]["rows"] == 60

"""Columns with roles: ids, columns to keep and weights reach the output or the fit, and are never features."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow.csv
import pyarrow.parquet
import pytest

import lowland as ll


@pytest.fixture
def people(X, folder):
    lines = ["name,city,w,a,b,c,d"]
    lines += [f"p{i},{'Bonn' if i % 2 else ''},{1 + i % 3}," + ",".join(map(str, row)) for i, row in enumerate(X)]
    Path("people.csv").write_text("\n".join(lines) + "\n")
    return Path("people.csv")


ROLES = ("--id", "name", "--keep", "city,w")


def test_ids_and_kept_columns_reach_the_output(lowland, people, X):
    done = lowland("fit", "pca", people, "-k", 2, *ROLES, "--to", "z.csv", "--model", "m.lowland")
    assert done.exit_code == 0, done.stderr
    z = pyarrow.csv.read_csv("z.csv")
    assert z.column_names == ["name", "pca0", "pca1", "city", "w"]
    assert z["name"].to_pylist() == [f"p{i}" for i in range(60)]
    assert z["w"].to_pylist() == [1 + i % 3 for i in range(60)]
    np.testing.assert_allclose(np.column_stack([z["pca0"], z["pca1"]]), ll.PCA(2).fit_transform(X))
    assert lowland("transform", "m.lowland", people, *ROLES, "--to", "z2.csv").exit_code == 0
    assert Path("z2.csv").read_text() == Path("z.csv").read_text()
    assert lowland("inverse", "m.lowland", "z.csv", "--to", "back.csv").exit_code == 0
    assert pyarrow.csv.read_csv("back.csv").column_names == list("abcd")


def test_predictions_have_ids(lowland, labeled, classifier):
    text = labeled.read_text().splitlines()
    Path("new.csv").write_text("\n".join(["," + text[0], *(f"r{i},{line}" for i, line in enumerate(text[1:]))]) + "\n")
    done = lowland("predict", classifier, "new.csv", "--keep", "way", "--to", "classes.csv")
    assert done.exit_code == 0, done.stderr
    found = pyarrow.csv.read_csv("classes.csv")
    assert found.column_names == ["column 1", "class", "way"]
    assert found["column 1"][2].as_py() == "r2"


def test_weights(lowland, people, X):
    words = ("fit", "pca", people, "-k", 2, "--drop", "name,city", "--weight", "w")
    assert lowland(*words, "--model", "m.lowland").exit_code == 0
    expected = ll.PCA(2).fit(X, sample_weight=1 + np.arange(60) % 3)
    np.testing.assert_allclose(ll.load("m.lowland").components_, expected.components_)
    done = lowland("fit", "isomap", people, "--drop", "name,city", "--weight", "w")
    assert done.exit_code == 1
    assert "does not take sample weights" in done.stderr


def test_labels_and_weights_reach_the_output(lowland, people, X):
    words = ("fit", "pca", people, "-k", 2, "--id", "name", "--label", "city", "--weight", "w")
    assert lowland(*words, "--to", "z.csv", "--model", "m.lowland").exit_code == 0
    z = pyarrow.csv.read_csv("z.csv")
    assert z.column_names == ["name", "pca0", "pca1", "city", "w"]
    assert z["city"].to_pylist() == ["Bonn" if i % 2 else "" for i in range(60)]
    assert z["w"].to_pylist() == [1 + i % 3 for i in range(60)]
    assert lowland("transform", "m.lowland", people, "--to", "z2.csv").exit_code == 0
    assert pyarrow.csv.read_csv("z2.csv").column_names == ["pca0", "pca1", "city"]


def test_a_label_named_like_an_output(lowland, labeled):
    Path("class.csv").write_text(labeled.read_text().replace("way", "class", 1))
    assert lowland("fit", "lda", "class.csv", "--label", "class", "--model", "m.lowland").exit_code == 0
    done = lowland("predict", "m.lowland", "class.csv", "--to", "classes.csv")
    assert done.exit_code == 0, done.stderr
    found = pyarrow.csv.read_csv("classes.csv")
    assert found.column_names == ["class", "class (2)"]
    assert found["class (2)"].to_pylist() == pyarrow.csv.read_csv("class.csv")["class"].to_pylist()


@pytest.mark.parametrize("words", [("pca", "-k", 2), ("select-filter", "--statistic", "variance", "-k", 2)])
def test_columns_that_were_copied_are_not_coordinates(lowland, people, words):
    """Numbers as ids and a column to keep would else be two further coordinates."""
    text = people.read_text().replace("p", "")
    Path("numbers.csv").write_text(text)
    roles = ("--id", "name", "--keep", "w", "--drop", "city")
    assert lowland("fit", *words, "numbers.csv", *roles, "--to", "z.csv").exit_code == 0
    z = pyarrow.csv.read_csv("z.csv")
    pyarrow.csv.write_csv(z.drop_columns(["name", "w"]), "only.csv")
    scores = []
    for file in ("z.csv", "only.csv"):
        done = lowland("evaluate", "numbers.csv", file, "--columns", "a,b,c,d", "--json")
        scores.append([measure["value"] for measure in json.loads(done.stdout)["measures"]])
    assert scores[0] == scores[1]
    both = ("--embedding", "z.csv", "--embedding", "only.csv")
    done = lowland("compare", "numbers.csv", *roles, "--methods", "pca", *both, "--no-cache", "--json")
    trials = {trial["name"]: trial["scores"] for trial in json.loads(done.stdout)["trials"]}
    assert trials["z"] == trials["only"]


def test_mistakes(lowland, people):
    for words, term in (
        (("--id", "nome", "--to", "z.csv"), "Did you mean 'name'"),
        (("--id", "name", "--drop", "city", "--to", "z.npy"), ".npy files hold only numbers"),
    ):
        done = lowland("fit", "pca", people, *words)
        assert done.exit_code == 1
        assert term in done.stderr


def test_dropped_rows_keep_their_ids_or_get_their_numbers(lowland, people, X):
    table = [["name", *"abcd"], *([f"p{i}", *row] for i, row in enumerate(X.tolist()))]
    table[3][1] = ""
    text = [",".join(map(str, row)) for row in table]
    Path("gap.csv").write_text("\n".join(text) + "\n")
    assert lowland("fit", "pca", "gap.csv", "--id", "name", "--drop-missing", "--to", "z.csv").exit_code == 0
    names = pyarrow.csv.read_csv("z.csv")["name"].to_pylist()
    assert names == [f"p{i}" for i in range(60) if i != 2]
    done = lowland("fit", "pca", "gap.csv", "--drop", "name", "--drop-missing", "--to", "z2.csv")
    assert done.exit_code == 0, done.stderr
    assert pyarrow.csv.read_csv("z2.csv")["row"].to_pylist() == [i for i in range(60) if i != 2]
    done = lowland("fit", "pca", people, "--drop", "name,city", "--drop-missing", "--to", "z3.csv")
    assert "row" not in pyarrow.csv.read_csv("z3.csv").column_names  # no row was dropped


def test_a_kept_column_that_starts_empty_has_the_type_of_its_values(lowland, X):
    n = 20_000
    lines = ["a,b,note", *(f"{i % 7},{i % 11},{'late' if i > n - 5 else ''}" for i in range(n))]
    Path("t.csv").write_text("\n".join(lines) + "\n")
    done = lowland("fit", "pca", "t.csv", "--keep", "note", "--to", "z.parquet")
    assert done.exit_code == 0, done.stderr
    assert pyarrow.parquet.read_table("z.parquet")["note"][n - 1].as_py() == "late"


@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet"])
def test_standard_output_in_other_formats(lowland, people, form):
    words = ["fit", "pca", str(people), "-k", "2", *ROLES, "--to", "-", "--format", form]
    if form == "parquet":  # bytes through a pipe, in which nothing can be sought
        found = subprocess.run([sys.executable, "-m", "lowland", *words], capture_output=True, check=True).stdout
    else:
        found = lowland(*words).stdout_bytes
    Path(f"out.{form}").write_bytes(found)
    table = ll.Table(f"out.{form}", id="name", keep=["city", "w"])
    assert table.names == ["pca0", "pca1"]
    assert table.ids.tolist() == [f"p{i}" for i in range(60)]


def test_a_study_has_ids_and_kept_columns(lowland, people):
    words = ("compare", people, *ROLES, "--methods", "pca", "--no-cache")
    done = lowland(*words, "--save", "study", "--to", "report.html")
    assert done.exit_code == 0, done.stderr
    table = ll.study.load_study("study").table
    assert table.id_name == "name"
    assert table.ids.tolist() == [f"p{i}" for i in range(60)]
    assert table.kept["city"][1] == "Bonn"
    assert table.kept["w"].tolist() == [1 + i % 3 for i in range(60)]
    assert table.names == ("a", "b", "c", "d")
    assert '"p59"' in Path("report.html").read_text(encoding="utf-8")


def test_a_study_carries_weights_and_says_that_it_does_not_use_them(lowland, people):
    words = ("compare", people, "--id", "name", "--weight", "w", "--drop", "city", "--methods", "pca", "--no-cache")
    done = lowland(*words, "--save", "study")
    assert done.exit_code == 0, done.stderr
    assert "does not use sample weights" in done.stderr
    table = ll.study.load_study("study").table
    assert table.names == ("a", "b", "c", "d")
    assert table.kept["w"].tolist() == [1 + i % 3 for i in range(60)]

"""``lowland inspect``, ``look`` and ``methods``."""

import json
import runpy
import shlex
from pathlib import Path

import numpy as np
import pytest

import lowland as ll
from lowland.methods.registry import entries


def test_inspect_describes_the_model(lowland, table, model):
    text = lowland("inspect", model).stdout
    pca = ll.load(model)
    reported = ("PCA", "n_components=2", "svd_solver=auto", "a, b, c, d")
    assert all(words in text for words in (*reported, pca.solver_.reason, ll.__version__))
    lines = [" ".join(line.split()) for line in text.splitlines()]
    assert "Attribute Value Description" in lines
    assert "components_ 2 × 4 float64 Principal axes, sorted by explained variance." in lines
    assert any(line.startswith("n_samples_ 60 Number of training rows") for line in lines)
    facts = json.loads(lowland("inspect", model, "--json").stdout)
    assert facts["arrays"]["mean_"] == {"shape": [4], "dtype": "float64"}
    described = {each["name"]: each for each in facts["attributes"]}
    assert described["mean_"]["about"] == "Mean of each column, in float64."
    assert described["mean_"]["type"] == "array of shape (n_features_in_,)"
    assert described["n_components_"]["value"] == 2
    assert described["scale_"]["is_set"] is False
    assert facts["columns_fitted"] == list("abcd")
    assert facts["versions"]["format"] == 1
    np.testing.assert_allclose(facts["explained_variance_ratio"], pca.explained_variance_ratio_)


TABLES = runpy.run_path(str(Path(__file__).parents[2] / "data/messy/tables.py"))["TABLES"]


@pytest.mark.parametrize("messy", [m for m in TABLES if m.name != "wide.csv"], ids=lambda messy: messy.name)
def test_the_command_to_go_on_works(lowland, messy):
    messy.write(Path(messy.name))
    words = messy.remedy if messy.remedy[:1] == ("--array",) else messy.words
    result = lowland("look", messy.name, "--json", *words)
    assert result.exit_code == 0, result.stdout
    command = shlex.split(json.loads(result.stdout)["command"])
    assert lowland(*command[1:]).exit_code == 0, command


def test_the_command_has_what_the_table_needs(lowland):
    lines = [
        f"k{i},{'' if i % 7 == 0 else i * 1.5},{i % 5},{['u', 'v'][i % 2]},{1 + i % 28}.1.2024,7" for i in range(30)
    ]
    lines[4] = "k4,6.0,?,u,3.1.2024,7"
    Path("t.csv").write_text("\n".join(["key,a,b,way,day,seven", *lines]))
    command = shlex.split(json.loads(lowland("look", "t.csv", "--json").stdout)["command"])[1:]
    assert command == [
        "fit", "pca", "t.csv", "--id", "key", "--label", "way", "--missing", "?", "--to", "coordinates.csv",
    ]  # fmt: skip
    text = lowland(*command).stdout
    assert "day: date (day first), as" in text
    assert "b: number, 1 missing replaced by the median" in text
    assert Path("coordinates.csv").read_text().startswith('"key",')
    assert "numbers, except '?'" in lowland("look", "t.csv").stdout


@pytest.mark.parametrize(
    "lines",
    [["a,b", "1,2"], ["a,b", *[","] * 9], ["name,key", *(f"p{i:02},q{i:02}" for i in range(30))]],
    ids=["one row", "no values", "identifiers only"],
)
def test_a_table_that_no_method_can_fit_gets_no_command(lowland, lines):
    Path("t.csv").write_text("\n".join(lines))
    assert lowland("fit", "pca", "t.csv").exit_code != 0
    assert json.loads(lowland("look", "t.csv", "--json").stdout)["command"] is None
    text = lowland("look", "t.csv").stdout
    assert "Go on" not in text
    assert "two rows and one column" in text


def test_what_is_printed(lowland, labeled):
    text = lowland("look", labeled).stdout
    assert "60 rows × 5 columns (4 numbers, 1 category)" in text
    assert "Go on: lowland fit pca labels.csv --label way --to" in text
    assert "'way': may contain classes" in text


def test_methods_as_json(lowland):
    found = json.loads(lowland("methods", "--json").stdout)["methods"]
    assert {m["class"] for m in found} == set(entries())
    pca = next(m for m in found if m["class"] == "PCA")
    assert (pca["method"], pca["streams"], pca["sparse"], pca["needs_label"]) == ("pca", True, True, False)
    lda = next(m for m in found if m["class"] == "LinearDiscriminantAnalysis")
    assert lda["needs_label"]
    assert next(p for p in lda["parameters"] if p["name"] == "covariance_estimator")["flags"] == []
    assert pca["parameters"][0]["flags"] == ["-k", "--components", "--n-components"]

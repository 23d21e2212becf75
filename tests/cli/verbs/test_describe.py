"""``lowland describe``: columns, groups and figures."""

import json
from pathlib import Path

import numpy as np
import pytest

import lowland as library
from lowland.data import load_dataset
from lowland.data.write import write_chunks


@pytest.fixture
def files(lowland):
    iris = load_dataset("iris")
    labels = np.array(["setosa", "versicolor", "virginica"], dtype=object)[iris.y]
    write_chunks([np.column_stack([iris.X.astype(object), labels])], "iris.csv", [*"abcd", "kind"])
    assert lowland("fit", "pca", "iris.csv", "--label", "kind", "-k", 2, "--model", "m.lowland").exit_code == 0
    return "m.lowland", "iris.csv"


def test_columns_and_groups_are_those_of_the_library(lowland, files):
    found = json.loads(lowland("describe", *files, "--label", "kind", "--json").stdout)
    X = load_dataset("iris").X
    own = library.describe(library.PCA(2).fit(X), X)
    numbers = [column for column in found["columns"] if column["direction"] is not None]
    assert [c["r2"] for c in numbers] == pytest.approx([c.r2 for c in own.columns])
    assert [c["name"] for c in numbers] == ["abcd"[int(c.name[1])] for c in own.columns]
    [kind] = [column for column in found["columns"] if column["direction"] is None]  # not made from it
    assert set(kind["centers"]) == {"setosa", "versicolor", "virginica"}
    assert found["contrasts"]["setosa"][0]["name"] == "c"
    text = lowland("describe", *files, "--label", "kind").stdout
    assert "The axes of the map follow c (r² = 1.00" in text
    assert "What sets each kind apart" in text


def test_figures(lowland, files):
    assert lowland("describe", *files, "--label", "kind", "--to", "arrows.png").exit_code == 0
    result = lowland("describe", *files, "--by", "b", "--surface", "b", "--to", "surface.svg", "--json")
    assert result.exit_code == 0, result.stderr
    found = json.loads(result.stdout)
    assert [column["name"] for column in found["columns"]] == ["b"]
    assert 0 < found["surface"]["r2"] <= 1
    assert Path("arrows.png").read_bytes()[:4] == b"\x89PNG"
    assert "<svg" in Path("surface.svg").read_text()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--surface", "b"], "--to figure.png"),
        (["--to", "arrows.csv"], ".png, .svg, .pdf"),
        (["--surface", "kind", "--to", "x.png"], "not a numeric column"),
        (["--by", "nothing"], "nothing"),
    ],
)
def test_mistakes_are_explained(lowland, files, arguments, said):
    result = lowland("describe", *files, *arguments)
    assert result.exit_code != 0
    assert said in " ".join(result.stderr.split())

"""Samples: what is written is what ``lowland.data.load_dataset`` gives."""

import json

import numpy as np
import pyarrow.csv as csv
import pyarrow.parquet as pq
import pytest

from lowland.data import available, load_dataset


def test_samples_are_listed(lowland):
    text = lowland("sample").stdout
    assert all(name in text and about in text for name, about in available().items())
    assert json.loads(lowland("sample", "--json").stdout)["samples"] == available()


def test_a_sample_is_described(lowland):
    text = lowland("sample", "iris").stdout
    assert "150 rows × 4 columns" in text
    assert "setosa, versicolor, virginica" in text
    assert "lowland sample iris --to iris.csv" in text
    assert json.loads(lowland("sample", "iris", "--json").stdout)["names"] == list(load_dataset("iris").names)


@pytest.mark.parametrize("ending", [".csv", ".parquet", ".npy"])
def test_a_sample_is_written(lowland, ending):
    assert lowland("sample", "wine", "--to", f"wine{ending}").exit_code == 0
    wine = load_dataset("wine")
    if ending == ".npy":
        assert np.array_equal(np.load("wine.npy"), wine.X)
        return
    table = csv.read_csv("wine.csv") if ending == ".csv" else pq.read_table("wine.parquet")
    assert tuple(table.column_names) == wine.names
    assert np.array_equal(np.column_stack([column.to_numpy() for column in table.columns]), wine.X)


def test_labels_become_the_last_column(lowland):
    iris = load_dataset("iris")
    for path in ("iris.csv", "iris.parquet", "iris.npy"):
        assert lowland("sample", "iris", "--label-column", "--to", path).exit_code == 0
    for table in (csv.read_csv("iris.csv"), pq.read_table("iris.parquet")):
        assert table.column_names[-1] == "label"
        assert table["label"].to_pylist() == [iris.label_names[i] for i in iris.y]
    assert np.array_equal(np.load("iris.npy"), np.column_stack([iris.X, iris.y]))


def test_a_generated_sample_takes_options(lowland):
    words = ("-o", "n=20", "-o", "noise=0.5", "--option", "hole=true")
    assert lowland("sample", "swiss_roll", *words, "--to", "roll.npy").exit_code == 0
    assert np.array_equal(np.load("roll.npy"), load_dataset("swiss_roll", n=20, noise=0.5, hole=True).X)

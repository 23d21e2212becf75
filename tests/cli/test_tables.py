"""Files: columns of row names, columns of a model, outputs, columns that look like ids."""

import json
from pathlib import Path

import numpy as np
import pyarrow.csv
import pyarrow.parquet
import pytest

import lowland as ll
from lowland.cli.show import coordinate_refusal
from lowland.data import load_dataset
from lowland.data.write import write_chunks
from lowland.methods.registry import entries, load_method


def test_names_of_points_are_written_with_their_coordinates(lowland, airports):
    words = ("--metric", "precomputed", "--to", "z.csv", "--model", "m")
    result = lowland("fit", "classical-mds", "distances.csv", *words)
    assert result.exit_code == 0, result.stderr
    table = pyarrow.csv.read_csv("z.csv")
    assert table.column_names == ["point", "classicalmds0", "classicalmds1"]
    assert table["point"].to_pylist() == airports
    Z = ll.ClassicalMDS(metric="precomputed").fit_transform(load_dataset("airports").X)
    np.testing.assert_allclose(table["classicalmds0"].to_numpy(), Z[:, 0])
    assert lowland("transform", "m", "new.csv", "--to", "new.parquet").exit_code == 0
    placed = pyarrow.parquet.read_table("new.parquet")
    assert placed["place"].to_pylist() == ["here", "there"]
    assert placed.num_columns == 3


def test_names_of_points_of_a_kernel(lowland, airports, monkeypatch):
    words = ("-k", 2, "--kernel", "precomputed", "--to", "z.csv", "--model", "m")
    assert lowland("fit", "kernel-pca", "kernel.parquet", *words).exit_code == 0
    assert pyarrow.csv.read_csv("z.csv")["point"].to_pylist() == airports
    monkeypatch.setattr("lowland.data.rows.SLAB_BYTES", 300)  # slabs of three rows
    assert lowland("transform", "m", "kernel.parquet", "--to", "again.csv").exit_code == 0
    first, again = (pyarrow.csv.read_csv(name) for name in ("z.csv", "again.csv"))
    assert again["point"].to_pylist() == airports
    np.testing.assert_allclose(again["kernelpca1"].to_numpy(), first["kernelpca1"].to_numpy(), atol=1e-6)


@pytest.mark.parametrize("affinity", ["precomputed", "precomputed_nearest_neighbors"])
def test_names_of_points_of_affinities(lowland, airports, affinity):
    words = ("--affinity", affinity, "--n-neighbors", 4, "--to", "z.csv")
    result = lowland("fit", "spectral-embedding", "distances.csv", *words)
    assert result.exit_code == 0, result.stderr
    assert pyarrow.csv.read_csv("z.csv")["point"].to_pylist() == airports


def test_points_named_na_keep_their_name(lowland, airports, write_matrix):
    D, names = load_dataset("airports").X, ["NA", "null", *airports[2:]]
    write_matrix("countries.csv", D, names, names)
    assert (
        lowland("fit", "classical-mds", "countries.csv", "--metric", "precomputed", "--to", "z.parquet").exit_code == 0
    )
    assert pyarrow.parquet.read_table("z.parquet")["point"].to_pylist() == names


def test_numpy_files_contain_only_numbers(lowland, airports):
    assert lowland("fit", "mds", "distances.csv", "--metric", "precomputed", "--to", "z.npy").exit_code == 0
    assert np.load("z.npy").shape == (10, 2)


def test_dropped_names_are_not_written(lowland, airports):
    words = ("--metric", "precomputed", "--drop", "point", "--to", "z.csv")
    assert lowland("fit", "classical-mds", "distances.csv", *words).exit_code == 0
    assert pyarrow.csv.read_csv("z.csv").num_columns == 2


@pytest.mark.parametrize(
    ("columns", "words", "message"),
    [
        ("abcde", ("--columns", "a,b,c,d,e"), "Unexpected: 'e'. Omit --columns"),
        ("abcd", ("--columns", "b,a,d,c"), "They are in another order. Omit --columns"),
        ("abc", (), "Missing: 'd'."),
        ("abce", (), "Missing: 'd'. Unexpected: 'e'."),
        ("abcd", ("--drop", "d"), "Missing: 'd'."),
        ("abcd", ("--label", "d"), "Missing: 'd'."),
    ],
)
def test_mismatched_columns_are_reported_with_a_remedy(lowland, model, rng, columns, words, message):
    write_chunks([rng.standard_normal((5, len(columns)))], "new.csv", list(columns))
    result = lowland("transform", model, "new.csv", "--to", "z.npy", *words)
    assert result.exit_code == 1
    assert f"The columns of new.csv do not match the columns of the model. {message}" in result.stderr
    if "Omit" in message:
        assert lowland("transform", model, "new.csv", "--to", "z.npy").exit_code == 0


@pytest.mark.parametrize("force", [(), ("--force",)])
def test_the_file_that_is_read_is_never_written(lowland, table, force):
    before = table.read_bytes()
    assert lowland("fit", "pca", table, "-k", 1, "--to", table, *force).exit_code == 1
    assert table.read_bytes() == before


def test_before_a_fit_coordinates_are_not_refused():
    assert [name for name in entries() if coordinate_refusal(load_method(name)())] == []


@pytest.fixture
def orders(folder):
    rng = np.random.default_rng(0)
    numbers = rng.permutation(60) + 1000
    lines = ["key,a,b,city"]
    lines += [
        f"{key},{rng.normal():.4f},{rng.normal():.4f},{'Bonn' if i % 2 else 'Ulm'}" for i, key in enumerate(numbers)
    ]
    Path("orders.csv").write_text("\n".join(lines) + "\n")
    return Path("orders.csv")


@pytest.mark.parametrize("words", [("fit", "pca"), ("compare",)])
def test_a_prepared_column_of_ids_is_named(lowland, orders, words):
    more = () if words[0] == "fit" else ("--methods", "pca", "--no-cache")
    done = lowland(*words, orders, "--prepare", "auto", *more)
    assert done.exit_code == 0, done.stderr
    assert "key: an identifier" in done.stdout
    done = lowland(*words, orders, "--prepare", "auto", "--id", "key", *more)
    assert "key: an identifier" not in done.stdout


def test_a_column_of_ids_among_numbers_is_not_a_feature(lowland, orders):
    done = lowland("fit", "pca", orders, "--drop", "city", "--json")
    assert "key" in json.loads(done.stdout)["prepared"]
    assert json.loads(done.stdout)["data"]["columns"] == 2
    assert (
        json.loads(lowland("fit", "pca", orders, "--drop", "city", "--use", "key", "--json").stdout)["data"]["columns"]
        == 3
    )

"""Fixtures of the command-line tests: a working folder, a call, and tables."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import lowland as ll
from lowland.data import load_dataset
from lowland.data.write import write_chunks


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def lowland():
    """Call the command line in this process; the result has exit_code, stdout and stderr."""
    from lowland.cli.main import cli

    def call(*words: object):
        return CliRunner().invoke(cli, [str(word) for word in words])

    return call


@pytest.fixture
def process():
    """Call the command line as users do, in a separate process."""

    def call(*words: object, **settings) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "lowland.cli.main", *map(str, words)]
        return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, **settings)

    return call


@pytest.fixture(name="X")
def rows_of_four_columns(rng) -> np.ndarray:
    return rng.standard_normal((60, 4)) * [5.0, 3.0, 1.0, 0.5]


@pytest.fixture
def table(X, folder) -> Path:
    """A CSV file of four columns a, b, c, d."""
    write_chunks([X], folder / "table.csv", list("abcd"))
    return Path("table.csv")


@pytest.fixture
def model(table, lowland) -> Path:
    """A PCA with two components, fitted to the table and saved."""
    assert lowland("fit", "pca", table, "-k", 2, "--model", "model.lowland").exit_code == 0
    return Path("model.lowland")


@pytest.fixture
def labeled(X, folder) -> Path:
    """The table with labels in a last column, way: up, or down."""
    labels = np.where(X[:, 0] > 0, "up", "down").astype(object)
    write_chunks([np.column_stack([X.astype(object), labels])], folder / "labels.csv", [*"abcd", "way"])
    return Path("labels.csv")


@pytest.fixture
def classifier(labeled, lowland) -> Path:
    """Discriminants fitted to the labeled table and saved."""
    assert lowland("fit", "lda", labeled, "--label", "way", "--model", "lda.lowland").exit_code == 0
    return Path("lda.lowland")


@pytest.fixture
def files(table, X, model, classifier):
    """Invalid files of several kinds."""
    np.save("x.npy", X)
    text = [[*row, "word"] for row in X.tolist()]
    write_chunks([np.array(text, dtype=object)], "words.csv", [*"abcd", "note"])
    write_chunks([X], "z.csv", list("abcd"))
    gaps = X.copy()
    gaps[7, 2] = np.nan
    write_chunks([gaps], "gaps.parquet", list("abcd"))
    lines = table.read_text().splitlines()
    lines[20] += ",9"
    Path("ragged.csv").write_text("\n".join(lines) + "\n")
    whole = Path("gaps.parquet").read_bytes()
    Path("cut.parquet").write_bytes(whole[: len(whole) // 2])
    saved = model.read_bytes()
    Path("cut.lowland").write_bytes(saved[:-50])
    Path("flipped.lowland").write_bytes(saved[:-1] + bytes([saved[-1] ^ 255]))
    Path("foreign.lowland").write_text("hello")
    Path("empty.csv").touch()
    Path("header.csv").write_text("a,b,c,d\n")
    os.mkdir("folder")


@pytest.fixture
def write_matrix():
    """Write a matrix with the names of its rows in the first column."""

    def write(path, M, names, columns, corner="point"):
        write_chunks([np.column_stack([np.asarray(names, dtype=object), M.astype(object)])], path, [corner, *columns])

    return write


@pytest.fixture
def airports(write_matrix) -> list[str]:
    """Ten airports: their distances, their kernel matrix, and the distances of two new points to them."""
    data = load_dataset("airports")
    names = [str(name) for name in data.names]
    X = ll.ClassicalMDS(metric="precomputed").fit_transform(data.X)
    write_matrix("distances.csv", data.X, names, names)
    write_matrix("kernel.parquet", X @ X.T, names, names)
    write_matrix("new.csv", data.X[:2] + 100, ["here", "there"], names, corner="place")
    return names

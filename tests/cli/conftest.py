"""Fixtures of the command-line tests: a working folder, a call, and tables."""

import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import lowland as ll
from lowland.data import load_dataset
from lowland.data.write import write_chunks

X = np.random.default_rng(0).standard_normal((60, 4)) * [5.0, 3.0, 1.0, 0.5]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def call(*words: object):
    from lowland.cli.main import cli

    return CliRunner().invoke(cli, [str(word) for word in words])


@pytest.fixture
def lowland():
    """Call the command line in this process; the result has exit_code, stdout and stderr."""
    return call


@pytest.fixture
def process():
    """Call the command line as users do, in a separate process."""

    def call(*words: object, **settings) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "lowland.cli.main", *map(str, words)]
        return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, **settings)

    return call


@pytest.fixture(name="X")
def rows_of_four_columns() -> np.ndarray:
    return X.copy()


@pytest.fixture(scope="session")
def made(tmp_path_factory) -> Path:
    """A folder of tables, models and invalid files of several kinds, written once."""
    folder = tmp_path_factory.mktemp("made")
    write_chunks([X], folder / "table.csv", list("abcd"))
    labels = np.where(X[:, 0] > 0, "up", "down").astype(object)
    write_chunks([np.column_stack([X.astype(object), labels])], folder / "labels.csv", [*"abcd", "way"])
    for words in (("pca", "table.csv", "-k", 2), ("lda", "labels.csv", "--label", "way")):
        found = call("fit", words[0], folder / words[1], *words[2:], "--model", folder / f"{words[0]}.lowland")
        assert found.exit_code == 0, found.stderr
    np.save(folder / "x.npy", X)
    text = [[*row, "word"] for row in X.tolist()]
    write_chunks([np.array(text, dtype=object)], folder / "words.csv", [*"abcd", "note"])
    write_chunks([X], folder / "z.csv", list("abcd"))
    gaps = X.copy()
    gaps[7, 2] = np.nan
    write_chunks([gaps], folder / "gaps.parquet", list("abcd"))
    lines = (folder / "table.csv").read_text().splitlines()
    lines[20] += ",9"
    (folder / "ragged.csv").write_text("\n".join(lines) + "\n")
    whole = (folder / "gaps.parquet").read_bytes()
    (folder / "cut.parquet").write_bytes(whole[: len(whole) // 2])
    saved = (folder / "pca.lowland").read_bytes()
    (folder / "cut.lowland").write_bytes(saved[:-50])
    (folder / "flipped.lowland").write_bytes(saved[:-1] + bytes([saved[-1] ^ 255]))
    (folder / "foreign.lowland").write_text("hello")
    (folder / "empty.csv").touch()
    (folder / "header.csv").write_text("a,b,c,d\n")
    (folder / "folder").mkdir()
    return folder


@pytest.fixture
def table(made, folder) -> Path:
    """A CSV file of four columns a, b, c, d."""
    return Path(shutil.copy(made / "table.csv", "table.csv"))


@pytest.fixture
def model(made, folder) -> Path:
    """A PCA with two components, fitted to the table and saved."""
    return Path(shutil.copy(made / "pca.lowland", "pca.lowland"))


@pytest.fixture
def labeled(made, folder) -> Path:
    """The table with labels in a last column, way: up, or down."""
    return Path(shutil.copy(made / "labels.csv", "labels.csv"))


@pytest.fixture
def classifier(made, folder) -> Path:
    """Discriminants fitted to the labeled table and saved."""
    return Path(shutil.copy(made / "lda.lowland", "lda.lowland"))


@pytest.fixture
def files(made, folder):
    """All tables, models and invalid files."""
    shutil.copytree(made, folder, dirs_exist_ok=True)


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

"""The program: its exit codes, its warnings, its errors."""

import os
from pathlib import Path

import numpy as np
import pytest

from lowland.data.write import write_chunks


@pytest.fixture
def files(table, X, model, classifier):
    """Files that are wrong, each in its own way."""
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


def test_warnings_come_once_and_in_one_line(lowland, X, model):
    np.save("x.npy", X)
    result = lowland("transform", model, "x.npy", "--to", "z.csv")
    assert result.exit_code == 0
    assert result.stderr.count("lowland: warning: ") == 1
    assert len(result.stderr.splitlines()) == 1


def test_debug_shows_the_traceback(lowland, files):
    for words in (("fit", "pca", "nowhere.csv", "--debug"), ("--debug", "fit", "pca", "nowhere.csv")):
        result = lowland(*words)
        assert result.exit_code == 1
        assert "Traceback" in result.stderr
        assert result.stderr.splitlines()[-1].startswith("lowland: There is no file")


def test_an_unexpected_error_is_one_line_too(lowland, table, monkeypatch):
    from lowland.methods.pca import PCA

    def broken(self, *_):
        raise ZeroDivisionError("oh")

    monkeypatch.setattr(PCA, "_solve", broken)
    result = lowland("fit", "pca", table)
    assert result.exit_code == 1
    assert result.stderr.splitlines()[0].startswith("lowland: Unexpected error: ZeroDivisionError: oh.")
    assert len(result.stderr.splitlines()) == 1


def test_alone_it_shows_its_help(lowland):
    result = lowland()
    assert result.exit_code == 2
    assert "Commands:" in result.stderr


def test_the_entry_of_the_module(process):
    done = process("--version")
    assert done.returncode == 0
    assert done.stdout.startswith("lowland ")

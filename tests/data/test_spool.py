"""Text is parsed once for several passes; the slabs are the same bits, and nothing is left behind."""

import tempfile
from types import SimpleNamespace

import numpy as np
import pytest

import lowland
from lowland import PCA, FactorAnalysis
from lowland.data import rows as rows_module
from lowland.data import spool
from lowland.data.formats import csv_file
from lowland.data.formats.csv_file import CsvReader
from lowland.data.open import open_rows
from lowland.data.spool import spooled


@pytest.fixture
def table(tmp_path, monkeypatch):
    """A table of several slabs with missing values, and its file; temporary files go to a folder of their own."""
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    monkeypatch.setattr(rows_module, "SMALL_SLAB_BYTES", 8 * 4 * 90)
    monkeypatch.setattr(csv_file, "_BLOCK", 2**12)  # a small file would be kept in memory
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 2)) @ rng.standard_normal((2, 4)) + 0.5 * rng.standard_normal((400, 4))
    X[rng.random(X.shape) < 0.1] = np.nan
    np.savetxt(tmp_path / "rows.csv", X, delimiter=",", header="a,b,c,d", comments="", fmt="%.17g")
    return SimpleNamespace(X=X, path=str(tmp_path / "rows.csv"), temporary=tmp_path / "temporary")


@pytest.fixture
def parses(monkeypatch):
    """Count the passes over the text."""
    found = []
    read = CsvReader.batches
    monkeypatch.setattr(CsvReader, "batches", lambda self, *args: found.append(1) or read(self, *args))
    return found


def test_later_passes_read_the_same_bits_without_parsing(table, parses):
    rows = open_rows(table.path)
    with spooled(rows) as kept:
        first, second, third = (list(kept.chunks()) for _ in range(3))
        assert len(parses) == 1
    assert len(first) > 3
    for again in (second, third):
        assert [c.tobytes("A") for c in again] == [c.tobytes("A") for c in first]
        assert [c.strides for c in again] == [c.strides for c in first]
    np.testing.assert_array_equal(np.concatenate(second), table.X)
    assert not list(table.temporary.iterdir())


def test_a_pass_that_ended_early_is_not_taken_for_the_whole(table, parses):
    with spooled(open_rows(table.path)) as kept:
        next(iter(kept.chunks()))
        assert sum(len(c) for c in kept.chunks()) == 400
        assert sum(len(c) for c in kept.chunks()) == 400
    assert len(parses) == 2


def test_a_full_disk_means_parsing_again(table, parses, monkeypatch):
    monkeypatch.setattr(spool.shutil, "disk_usage", lambda folder: SimpleNamespace(free=10**6))
    with spooled(open_rows(table.path)) as kept:
        for _ in range(2):
            np.testing.assert_array_equal(np.concatenate(list(kept.chunks())), table.X)
    assert len(parses) == 2


def test_other_rows_stay_as_they_are(table):
    rows = open_rows(table.X)
    with spooled(rows) as kept:
        assert kept is rows


@pytest.mark.parametrize("model", [PCA(2, missing="em"), FactorAnalysis(1, missing="em")])
def test_a_fit_from_text_parses_once_and_agrees_with_memory(table, parses, model):
    from_text = model.fit(table.path).components_
    assert len(parses) == 1
    assert not list(table.temporary.iterdir())
    np.testing.assert_allclose(model.fit(table.X).components_, from_text, atol=1e-8)
    with lowland.config(threads=2):
        np.testing.assert_array_equal(model.fit(table.path).components_, from_text)

"""User errors: one clear line, the right exit code, no traceback, and no file left."""

import json
import os
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from lowland.data.write import write_chunks

FIT = ("fit", "pca")
LSQR = ("fit", "lda", "labels.csv", "--label", "way", "--solver", "lsqr")
MISTAKES = [
    ((*FIT, "nowhere.csv", "--to", "new.csv"), 1, "There is no file 'nowhere.csv'"),
    ((*FIT, "table.csv", "--columns", "a,zebra", "--to", "new.csv"), 1, "'zebra'"),
    ((*FIT, "words.csv", "--prepare", "none"), 1, ("'note' of 'words.csv'", "text", "--prepare auto", "--drop note")),
    ((*FIT, "gaps.parquet", "--impute", "none", "--to", "new.csv"), 1, ("Missing values", "'c'")),
    ((*FIT, "ragged.csv", "--to", "new.csv"), 1, "line 21"),
    ((*FIT, "cut.parquet", "--to", "new.csv"), 1, "Parquet"),
    ((*FIT, "empty.csv", "--to", "new.csv"), 1, "is empty"),
    ((*FIT, "x.npy", "--columns", "a", "--to", "new.csv"), 1, "no column names"),
    ((*FIT, "x.npy", "--label", "a", "--to", "new.csv"), 1, "--label"),
    ((*FIT, "words.csv", "--weight", "note", "--to", "new.csv"), 1, "--weight contains values that are not numbers"),
    ((*FIT, "table.csv", "-k", "9", "--to", "new.csv"), 1, "Choose at most 4"),
    ((*FIT, "table.csv", "-k", "0", "--to", "new.csv"), 2, "-k / --components"),
    ((*FIT, "table.csv", "-k", "many", "--to", "new.csv"), 2, "kaiser"),
    ((*FIT, "table.csv", "--svd-solver", "ful", "--to", "new.csv"), 2, "--svd-solver: 'ful' is not one of 'auto'"),
    ((*FIT, "table.csv", "--n-oversamples", "0", "--to", "new.csv"), 2, ("--n-oversamples: 0", "at least 1")),
    ((*FIT, "table.csv", "--tol", "tiny", "--to", "new.csv"), 2, "--tol: 'tiny' is not a number"),
    ((*FIT, "table.csv", "--memory", "lots", "--to", "new.csv"), 2, "1GB"),
    ((*FIT, "table.csv", "--memory", "1kB", "--to", "new.csv"), 1, "--memory"),
    ((*FIT, "table.csv", "--columns", ",", "--to", "new.csv"), 2, "empty name"),
    ((*FIT, "table.csv", "--to", "z.csv"), 1, "--force"),
    ((*FIT, "table.csv", "--to", "new.csv", "--model", "pca.lowland"), 1, "--force"),
    ((*FIT, "table.csv", "--to", "new.txt"), 1, ".parquet"),
    ((*FIT, "table.csv", "--to", "nowhere/new.csv"), 1, "The folder 'nowhere' does not exist"),
    ((*FIT, "table.csv", "--model", "folder"), 1, "is a folder"),
    ((*FIT, "table.csv", "--to", "new.csv", "--model", "./new.csv"), 1, ("--to and --model", "different names")),
    ((*FIT, "table.csv", "--whitten"), 2, "--whiten"),
    (FIT, 2, "Missing argument 'FILE'"),
    (("fit", "pcaa", "table.csv"), 2, "Did you mean 'pca'?"),
    (("fit", "zzz", "table.csv"), 2, "Choose one of: "),
    (("fit", "table.csv"), 2, "lowland fit pca table.csv"),
    (("fitt", "pca"), 2, "Did you mean 'fit'?"),
    (("fit", "table.csv"), 2, "method before the file: lowland fit pca table.csv"),
    ((*FIT, "gaps.parquet", "--impute", "mean", "--drop-missing"), 2, "--drop-missing"),
    ((*FIT, "table.csv", "--to", "new.csv", "--format", "csv"), 1, "--format"),
    (("transform", "nowhere.lowland", "table.csv", "--to", "new.csv"), 1, "There is no model file"),
    (("transform", "cut.lowland", "table.csv", "--to", "new.csv"), 1, "not a complete model file"),
    (("transform", "flipped.lowland", "table.csv", "--to", "new.csv"), 1, "checksum"),
    (("transform", "foreign.lowland", "table.csv", "--to", "new.csv"), 1, "is not a Lowland model"),
    (("transform", "table.csv", "pca.lowland", "--to", "new.csv"), 1, "the model before the data file"),
    (("transform", "pca.lowland", "gaps.parquet", "--to", "new.parquet"), 1, "NaN"),
    (("transform", "pca.lowland", "header.csv", "--to", "new.parquet"), 1, "no rows"),
    (("transform", "pca.lowland", "table.csv"), 2, "--to"),
    (("transform", "pca.lowland", "table.csv", "--to", "z.csv"), 1, "--force"),
    (("inverse", "pca.lowland", "table.csv", "--to", "new.csv"), 1, "2 components"),
    (("inspect", "foreign.lowland"), 1, "is not a Lowland model"),
    (("predict", "pca.lowland", "table.csv", "--to", "new.csv"), 1, ("PCA is not a classifier", "lowland fit lda")),
    (("predict", "lda.lowland", "labels.csv", "--to", "new.npy"), 1, "Write .csv or .parquet"),
    (("predict", "lda.lowland", "labels.csv", "--to", "new.csv", "--columns", "a,b"), 1, "Missing: 'c', 'd'"),
    (("predict", "lda.lowland", "words.csv", "--to", "new.csv", "--drop", "a"), 1, ("'note' of 'words.csv'", "text")),
    (("fit", "lda", "labels.csv", "--to", "new.csv"), 2, ("lda is a supervised method", "--label COLUMN")),
    (("fit", "select-filter", "table.csv", "-k", "2"), 2, ("select-filter is a supervised method", "--label COLUMN")),
    (("fit", "select-filter", "table.csv", "-k", "2", "--statistic", "mrmr"), 2, "or choose --statistic variance"),
    (("fit", "agglomerate", "table.csv", "-k", "9"), 1, "-k 9: the data has 4 columns. Choose at most 4."),
    (("fit", "som", "table.csv", "-k", "9"), 2, ("som has no -k", "--grid")),
    (("fit", "lda", "labels.csv", "--label", "Way"), 1, ("Did you mean 'way'?", "'a', 'b', 'c', 'd', 'way'")),
    ((*LSQR, "--to", "new.csv", "--model", "new.lowland"), 1, ("omit --to", "lowland predict")),
    (("fit", "factor-analysis", "table.csv", "-k", "0.9"), 2, "write cumulative:0.9"),
    (("fit", "ica", "table.csv"), 2, "Did you mean 'fast-ica'?"),
    (("sample", "irs"), 1, "Did you mean 'iris'?"),
    (("sample", "iris", "--option", "n", "--to", "new.csv"), 2, "NAME=VALUE"),
    (("sample", "iris", "--option", "n=3", "--to", "new.csv"), 1, "no option 'n'"),
    (("sample", "airports", "--label-column", "--to", "new.csv"), 1, "no labels"),
    (("sample", "--to", "new.csv"), 2, "--to needs the name of a data set"),
]  # fmt: skip


@pytest.mark.parametrize(("words", "code", "message"), MISTAKES, ids=lambda value: None)
def test_an_error_is_one_line_and_leaves_no_file(lowland, files, folder, words, code, message):
    before = {name: os.path.getmtime(name) for name in os.listdir(folder)}
    result = lowland(*words)
    assert result.exit_code == code, result.stderr
    assert result.stdout == ""
    for term in (message,) if isinstance(message, str) else message:
        assert term in result.stderr
    assert result.stderr.startswith("lowland: ")
    assert len(result.stderr.splitlines()) == 1
    assert "Traceback" not in result.stderr
    assert "Unexpected error" not in result.stderr
    assert {name: os.path.getmtime(name) for name in os.listdir(folder)} == before


@pytest.mark.parametrize(("words", "code", "message"), MISTAKES[::20])
def test_with_json_an_error_is_an_object(lowland, files, words, code, message):
    result = lowland(*words, "--json")
    assert result.exit_code == code
    assert result.stderr == ""
    error = json.loads(result.stdout)["error"]
    for term in (message,) if isinstance(message, str) else message:
        assert term.split(":")[0] in error["message"]
    assert error["type"].isidentifier()


def test_a_damaged_file_found_while_writing_leaves_no_output(lowland, folder, rng, monkeypatch):
    """The footer is valid, a page is damaged: the error appears only after the first slabs were written."""
    X = rng.standard_normal((3000, 4))
    write_chunks([X], "whole.parquet", list("abcd"))
    lowland("fit", "pca", "whole.parquet", "--model", "m")
    pq.write_table(pq.read_table("whole.parquet"), "cut.parquet", row_group_size=300, compression="zstd")
    raw = bytearray(Path("cut.parquet").read_bytes())
    middle = len(raw) // 2
    raw[middle : middle + 400] = bytes(400)
    Path("cut.parquet").write_bytes(raw)
    from lowland.data import rows

    monkeypatch.setattr(rows, "SLAB_BYTES", 300 * 4 * 8)
    before = set(os.listdir(folder))
    result = lowland("transform", "m", "cut.parquet", "--to", "z.csv")
    assert result.exit_code == 1
    assert "'cut.parquet' is not a valid Parquet file" in result.stderr
    assert "It may be damaged. Write it again." in result.stderr
    assert set(os.listdir(folder)) == before


@pytest.mark.parametrize("verb", ["isomap", "mds", "diffusion-map", "spectral-embedding", "pca"])
def test_a_file_of_one_row(lowland, verb):
    Path("one.csv").write_text("a,b\n1,2\n")
    found = lowland("fit", verb, "one.csv").stderr
    assert "1 row," in found or "one row," in found

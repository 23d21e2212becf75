"""Columns of vectors: the same numbers from every format, used alike by every door."""

import json

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as parquet
import pytest
from click.testing import CliRunner

import lowland
from lowland.cli.main import cli
from lowland.data.table import Table
from lowland.explorer.tables import read_table
from lowland.prepare.preparation import prepare_rows

N, D = 40, 6
TOPICS = np.array(["art", "law", "sea"])[np.arange(N) % 3]


@pytest.fixture(scope="module")
def vectors():
    """Three groups; the standard deviations of the numbers differ by a factor of 100."""
    rng = np.random.default_rng(3)
    return ((rng.normal(size=(3, D))[np.arange(N) % 3] + 0.2 * rng.normal(size=(N, D))) * np.logspace(0, -2, D)).astype(
        np.float32
    )


def _frame(vectors, **more):
    lists = [None if v is None else np.asarray(v) for v in vectors]
    return pd.DataFrame({"topic": TOPICS, "price": np.linspace(1e3, 2e3, N) ** 2, "emb": lists, **more})


def _fixed(vectors):
    return pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel()), D)


def _jsonl(vectors, path):
    lines = [{"topic": t, "emb": [float(x) for x in v]} for t, v in zip(TOPICS, vectors, strict=True)]
    path.write_text("\n".join(map(json.dumps, lines)))
    return path


def _write(writer, table, path):
    writer(table, path)
    return path


SOURCES = {
    "pandas arrays": lambda E, _: _frame(E),
    "pandas lists": lambda E, _: _frame(E).assign(emb=[v.tolist() for v in E]),
    "polars lists": lambda E, _: pl.DataFrame({"topic": TOPICS, "emb": E.tolist()}),
    "polars arrays": lambda E, _: pl.DataFrame({"topic": TOPICS, "emb": E}),
    "Arrow": lambda E, _: pa.table({"topic": TOPICS, "emb": _fixed(E)}),
    "Parquet lists": lambda E, folder: _write(
        parquet.write_table, pa.Table.from_pandas(_frame(E)), folder / "x.parquet"
    ),
    "Parquet half": lambda E, folder: _write(
        parquet.write_table,
        pa.table({"topic": TOPICS, "emb": [v.astype(np.float16) for v in E]}),
        folder / "x.parquet",
    ),
    "Feather": lambda E, folder: _write(
        feather.write_feather, pa.table({"topic": TOPICS, "emb": _fixed(E)}), folder / "x.feather"
    ),
    "JSON": lambda E, folder: _jsonl(E, folder / "x.jsonl"),
}


@pytest.mark.parametrize("name", SOURCES)
def test_vectors_of_every_format_are_the_features(name, vectors, tmp_path):
    source = SOURCES[name](vectors, tmp_path)
    close = {"rtol": 1e-3 if "half" in name else 1e-6}
    found = prepare_rows(Table(source, label="topic"), labels=TOPICS)
    np.testing.assert_allclose(found.rows.to_array(), vectors, **close)  # in one unit: not standardized
    assert not found.scaled
    np.testing.assert_allclose(lowland.TablePreparer().fit_transform(source), vectors, **close)
    rows = lowland.open_rows(source, columns=["emb"])
    assert rows.names == tuple(f"emb[{i}]" for i in range(D))
    looked = lowland.look(source)
    assert looked.vectors == ("emb",)
    assert looked.label == "topic"
    assert "cosine" in str(looked)
    assert f"{D} numbers" in str(looked)


def test_a_study_and_the_explorer_use_the_vectors_alone(vectors, tmp_path):
    frame = _frame(vectors)
    study = lowland.compare(frame, "topic", ["pca"], cache=False)
    assert (study.table.columns, study.table.scaled) == (D, False)
    assert "vectors" in study.table.preparation.report["price"]
    assert not any("tandardize" in advice.text for advice in study.advice)
    frame.to_parquet(tmp_path / "x.parquet")
    rows = tmp_path / "rows"
    message = {"path": str(tmp_path / "x.parquet"), "folder": str(tmp_path), "rows_folder": str(rows)}
    limits = {"table_bytes": 10**9, "most_rows": 10**6, "most_columns": 10**4}
    found = read_table({**message, **limits, "scale": "auto", "impute": "median"}, lambda _: None)
    roles = {column["name"]: column["role"] for column in found["columns"]}
    assert (roles["topic"], roles["price"], roles["emb[0]"]) == ("label", "keep", "feature")
    np.testing.assert_array_equal(np.load(rows / "X.npy"), vectors)


def test_no_number_of_a_vector_is_advised_to_be_left_out(tmp_path):
    vectors = np.random.default_rng(0).normal(size=(N, D)) * [30, 6, 1, 1, 1, 1]  # each number varies by itself
    frame = _frame(vectors)
    evidence = lowland.compare(frame, "topic", ["pca"], use=["price"], cache=False, scale="none").advice[0].evidence
    assert not any("emb[" in sentence for sentence in evidence)
    frame.to_parquet(tmp_path / "x.parquet")
    message = {"path": str(tmp_path / "x.parquet"), "folder": str(tmp_path), "rows_folder": str(tmp_path / "rows")}
    limits = {"table_bytes": 10**9, "most_rows": 10**6, "most_columns": 10**4}
    found = read_table({**message, **limits, "scale": "auto", "impute": "median"}, lambda _: None)
    assert found["prepared"]["findings"] == []


def test_other_columns_are_used_if_they_are_named(vectors):
    frame = _frame(vectors)
    found = prepare_rows(Table(frame, drop=["topic"]), use=["price"])
    assert found.rows.shape == (N, D + 1)
    assert found.scaled
    assert prepare_rows(Table(frame, columns=["price", "emb"])).rows.shape == (N, D + 1)
    assert lowland.TablePreparer(use=["price"]).fit_transform(frame).shape == (N, D + 1)
    assert lowland.TablePreparer(kinds={"emb": "drop"}).fit(frame).unused_["emb[1]"]


def test_a_missing_or_empty_vector_is_missing(vectors, tmp_path):
    lists = [None if i == 3 else [] if i == 5 else v.tolist() for i, v in enumerate(vectors)]
    path = tmp_path / "x.parquet"
    parquet.write_table(pa.table({"emb": lists}), path)
    rows = lowland.open_rows(path)
    rows.allow_nan = True
    assert np.flatnonzero(np.isnan(rows.to_array()).any(axis=1)).tolist() == [3, 5]
    X = prepare_rows(Table(path)).rows.to_array()
    np.testing.assert_allclose(X[5], np.median(np.delete(vectors, [3, 5], axis=0), axis=0), rtol=1e-6)


@pytest.mark.parametrize("row", [7, 1500])
def test_vectors_of_different_lengths_are_an_error_that_names_the_row(row, tmp_path):
    lists = [[0.0, 1.0, 2.0]] * 2000
    lists[row] = [1.0]
    path = tmp_path / "x.parquet"
    parquet.write_table(pa.table({"emb": lists, "x": np.arange(2000) % 7.0}), path)
    with pytest.raises((TypeError, ValueError), match=rf"'emb'.*different lengths.*row {row + 1:,}.*drop="):
        prepare_rows(Table(path))
    assert prepare_rows(Table(path, drop=["emb"])).rows.shape == (2000, 1)


def test_look_names_the_row_of_a_list_of_another_length(vectors):
    frame = _frame([*vectors[:-1], [1.0]])
    looked = lowland.look(frame)
    assert looked.drop == ("emb",)
    assert f"{D} in row 1, 1 in row {N}" in str(looked)


def test_the_user_chooses_among_several_vectors(vectors, tmp_path):
    frame = _frame(vectors, image=list(vectors[:, :2]))
    for fit in (lowland.PCA(2).fit, lowland.TablePreparer().fit, lambda X: lowland.compare(X, "topic", ["pca"])):
        with pytest.raises(ValueError, match=r"'emb' \(6 numbers\), 'image' \(2 numbers\).*columns=\['emb'\].*drop="):
            fit(frame)
    assert lowland.look(frame).drop == ("image",)
    assert lowland.open_rows(frame, columns=["image"]).shape == (N, 2)
    assert lowland.compare(frame, "topic", ["pca"], drop=["image"], cache=False).table.columns == D
    path = str(tmp_path / "x.jsonl")
    frame.to_json(path, orient="records", lines=True)
    for chosen in (["--drop", "image"], ["--columns", "emb"]):
        words = ["fit", "pca", path, *chosen, "--label", "topic", "--to", str(tmp_path / "z.csv"), "--force"]
        done = CliRunner().invoke(cli, words)
        assert done.exit_code == 0, done.output
        assert "topic" in pd.read_csv(tmp_path / "z.csv")


def test_long_files_are_read_in_chunks(monkeypatch, tmp_path):
    monkeypatch.setattr("lowland.data.vectors.BATCH_CELLS", 100 * D)
    E = np.random.default_rng(0).normal(size=(2000, D)).astype(np.float32)
    lists = pa.FixedSizeListArray.from_arrays(pa.array(E.ravel()), D)
    path = tmp_path / "x.parquet"
    parquet.write_table(pa.table({"title": ["?"] * len(E), "emb": lists}), path)
    table = lowland.Table(path, drop=["title"])
    assert [batch.num_rows for batch in table.batches(table.fields_at(range(D)))] == [100] * 20
    found = prepare_rows(Table(path))
    assert found.rows.stamps  # of a file that is read again in each pass, without the titles
    assert not found.steps
    np.testing.assert_array_equal(found.rows.to_array(), E)

"""From a file to coordinates, a model and back: the numbers are those of the Python side."""

import json
import re

import numpy as np
import pyarrow.csv as csv
import pyarrow.parquet as pq
import pytest

import lowland as ll
from lowland.data.write import write_chunks

ESCAPE = "\x1b"


def numbers(path) -> np.ndarray:
    if str(path).endswith(".npy"):
        return np.load(path)
    table = pq.read_table(path) if str(path).endswith(".parquet") else csv.read_csv(path)
    return np.column_stack([column.to_numpy() for column in table.columns])


@pytest.mark.parametrize("ending", [".parquet", ".csv", ".csv.gz", ".npy"])
def test_fit_transform_inverse_agree_with_python(lowland, table, X, ending):
    z, again, back = (f"{name}{ending}" for name in ("z", "again", "back"))
    for words in (
        ("fit", "pca", table, "-k", "0.95", "--whiten", "--to", z, "--model", "m.lowland"),
        ("transform", "m.lowland", table, "--to", again),
        ("inverse", "m.lowland", z, "--to", back),
    ):
        result = lowland(*words)
        assert result.exit_code == 0, result.stderr
        assert result.stderr == ""
    pca = ll.PCA(0.95, whiten=True).fit(X)
    Z = pca.transform(X)
    np.testing.assert_allclose(numbers(z), Z, atol=1e-12)
    np.testing.assert_allclose(numbers(again), Z, atol=1e-12)
    np.testing.assert_allclose(numbers(back), pca.inverse_transform(Z), atol=1e-12)


def test_columns_keep_their_names(lowland, table, model):
    lowland("fit", "pca", table, "-k", 2, "--to", "z.parquet")
    lowland("inverse", model, "z.parquet", "--to", "back.csv")
    assert pq.read_table("z.parquet").column_names == ["pca0", "pca1"]
    assert csv.read_csv("back.csv").column_names == list("abcd")


def test_decoded_columns_without_names_are_numbered(lowland, X):
    np.save("x.npy", X)
    lowland("fit", "pca", "x.npy", "-k", 2, "--to", "z.npy", "--model", "m")
    assert lowland("inverse", "m", "z.npy", "--to", "back.csv").exit_code == 0
    assert csv.read_csv("back.csv").column_names == ["x0", "x1", "x2", "x3"]


def test_columns_are_selected_dropped_and_labelled(lowland, X):
    labels = np.where(X[:, 0] > 0, "up", "down").astype(object)
    write_chunks([np.column_stack([X.astype(object), labels])], "named.parquet", [*"abcd", "way"])
    wanted = ll.PCA(1).fit(X[:, [2, 0]]).explained_variance_
    for words in (
        ("--columns", "c,a"),
        ("--columns", "c, a, way", "--label", "way"),
        ("--columns", "c,b,a", "--drop", "b"),
    ):
        result = lowland("fit", "pca", "named.parquet", "-k", 1, "--json", *words)
        assert result.exit_code == 0, result.stderr
        np.testing.assert_allclose(json.loads(result.stdout)["explained_variance"], wanted)


def test_the_summary_says_what_was_done_and_why(lowland, table):
    text = lowland("fit", "pca", table, "-k", 0.9, "--to", "z.csv", "--model", "m.lowland").stdout
    pca = ll.PCA(0.9).fit(table)
    for words in (
        "60 rows × 4 columns",
        "table.csv",
        "n_components=0.9",
        pca.solver_.reason,
        pca.choice_.reason,
        f"{pca.explained_variance_ratio_[0]:.2%}",
        "z.csv, 60 rows × 2 columns",
        "m.lowland",
    ):
        assert words in text
    assert re.search(r"Time +\S+ s\n", text)
    assert ESCAPE not in text
    assert not re.search(r" \n|…", text)


def test_only_the_first_ten_shares_are_listed(lowland, rng):
    np.save("wide.npy", rng.standard_normal((40, 15)))
    lines = lowland("fit", "pca", "wide.npy").stdout.splitlines()
    assert lines[-2].split()[0] == "10"
    assert lines[-1] == "and 5 more, 100.00% in all"


def test_json_is_one_object_and_nothing_else(lowland, table):
    result = lowland("fit", "pca", table, "-k", 2, "--to", "z.csv", "--model", "m", "--json", "--progress")
    facts = json.loads(result.stdout)
    assert facts["data"] == {"file": "table.csv", "rows": 60, "columns": 4, "label": None}
    assert facts["files"] == [{"file": "z.csv", "rows": 60, "columns": 2}, {"file": "m"}]
    assert len(facts["explained_variance_ratio"]) == 2
    for words in (("transform", "m", table, "--to", "z2.csv"), ("inverse", "m", "z.csv", "--to", "b.csv")):
        assert json.loads(lowland(*words, "--json").stdout)["data"]["rows"] == 60


def test_json_has_no_nan(lowland):
    from lowland.cli.shared.summary import plain

    np.save("constant.npy", np.ones((5, 3)))
    result = lowland("fit", "pca", "constant.npy", "--json")
    json.loads(result.stdout, parse_constant=lambda token: pytest.fail(f"{token} is not JSON"))
    assert plain({"a": [np.nan, np.inf, np.float32(1.5)], "b": np.int64(3), "c": np.array([[np.nan, 1]])}) == {
        "a": [None, None, 1.5],
        "b": 3,
        "c": [[None, 1.0]],
    }


def test_inspect_tells_of_the_model(lowland, table, model):
    text = lowland("inspect", model).stdout
    pca = ll.load(model)
    told = ("PCA", "n_components=2", "svd_solver=auto", "asked for", "components_ 2 × 4 float64", "a, b, c, d")
    assert all(words in text for words in (*told, pca.solver_.reason, ll.__version__))
    facts = json.loads(lowland("inspect", model, "--json").stdout)
    assert facts["arrays"]["mean_"] == {"shape": [4], "dtype": "float64"}
    assert facts["columns_fitted"] == list("abcd")
    assert facts["versions"]["format"] == 1
    np.testing.assert_allclose(facts["explained_variance_ratio"], pca.explained_variance_ratio_)


def test_a_name_cannot_steer_the_terminal(lowland, X):
    write_chunks([X], "evil.parquet", ["\x1b[2J", "[red]b", ":smile:", "d"])
    result = lowland("fit", "pca", "evil.parquet", "--model", "m.lowland")
    text = lowland("inspect", "m.lowland").stdout
    assert result.exit_code == 0
    assert ESCAPE not in text
    assert r"\x1b[2J, [red]b, :smile:, d" in text


def test_threads_and_memory_do_not_change_the_answer(lowland, table):
    for i, words in enumerate([(), ("--threads", 1), ("--memory", "200MB")]):
        assert lowland("fit", "pca", table, "--to", f"z{i}.npy", *words).exit_code == 0
    assert np.array_equal(np.load("z0.npy"), np.load("z1.npy"))
    assert np.array_equal(np.load("z0.npy"), np.load("z2.npy"))


def test_the_settings_of_a_call_end_with_it(lowland, table):
    from lowland.run.settings import settings

    before = settings()
    lowland("fit", "pca", table, "--threads", 1, "--memory", "1GB", "--no-progress")
    assert settings() == before


def test_force_overwrites(lowland, table):
    assert lowland("fit", "pca", table, "--to", "z.npy", "--model", "m").exit_code == 0
    assert lowland("fit", "pca", table, "-k", 1, "--to", "z.npy", "--model", "m", "--force").exit_code == 0
    assert np.load("z.npy").shape == (60, 1)
    assert ll.load("m").n_components_ == 1


def test_a_method_is_named_by_verb_or_class(lowland, table):
    assert lowland("fit", "TruncatedSVD", table).exit_code == 0


def test_a_class_may_be_named_with_dashes(lowland, labelled):
    assert lowland("fit", "linear-discriminant-analysis", labelled, "--label", "way").exit_code == 0
    assert lowland("fit", "Fast_ICA", labelled, "--drop", "way").exit_code == 0


@pytest.mark.parametrize("verb", ["incremental-pca", "whitening", "truncated-svd"])
def test_other_linear_methods_go_the_same_way(lowland, table, X, verb):
    assert lowland("fit", verb, table, "-k", 2, "--to", "z.npy", "--model", "m").exit_code == 0
    assert lowland("transform", "m", table, "--to", "again.npy").exit_code == 0
    assert lowland("inspect", "m").exit_code == 0
    assert np.array_equal(np.load("z.npy"), np.load("again.npy"))
    est = ll.load("m")
    np.testing.assert_allclose(np.load("z.npy"), est.transform(ll.open_rows(table)), atol=1e-12)


def test_many_slabs_pass_through(lowland, rng, monkeypatch):
    """A file of many slabs gives what one slab gives."""
    from lowland.data import rows

    X = rng.standard_normal((1000, 3))
    np.save("x.npy", X)
    monkeypatch.setattr(rows, "SLAB_BYTES", 100 * 3 * 8)
    assert lowland("fit", "pca", "x.npy", "-k", 2, "--to", "z.parquet", "--model", "m").exit_code == 0
    assert pq.ParquetFile("z.parquet").num_row_groups == 10
    np.testing.assert_allclose(numbers("z.parquet"), ll.PCA(2).fit(X).transform(X), atol=1e-10)


def test_warnings_come_once_and_in_one_line(lowland, X, model):
    np.save("x.npy", X)
    result = lowland("transform", model, "x.npy", "--to", "z.csv")
    assert result.exit_code == 0
    assert result.stderr.count("lowland: warning: ") == 1
    assert len(result.stderr.splitlines()) == 1


def test_as_a_process(process, table, X):
    done = process("fit", "pca", table, "-k", 2, "--to", "z.npy", env=None)
    assert (done.returncode, done.stderr) == (0, "")
    assert "60 rows × 4 columns" in done.stdout
    np.testing.assert_allclose(np.load("z.npy"), ll.PCA(2).fit(X).transform(X), atol=1e-12)

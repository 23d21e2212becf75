"""The kind of each column, in one pass."""

import datetime

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from lowland.data.kinds import kinds_of
from lowland.data.look import look


def kinds(frame):
    return {column.name: column.kind for column in look(frame).columns}


def test_the_kind_of_each_column():
    n, rng = 60, np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "number": rng.standard_normal(n),
            "integer": rng.integers(0, 9, n),
            "flag": rng.integers(0, 2, n).astype(bool),
            "answer": np.where(rng.integers(0, 2, n), "Yes", "no"),
            "zero or one": rng.integers(0, 2, n).astype(float).astype(int).astype(str),
            "city": rng.choice(["Bonn", "Gent", "Metz"], n),
            "category": pd.Categorical(rng.choice(["u", "v", "w"], n)),
            "day": pd.date_range("2024-01-01", periods=n),
            "written day": [f"2024-01-{1 + i % 28:02d}" for i in range(n)],
            "text": [f"sentence number {i} of many" for i in range(n)],
            "key": [f"k{i:04d}" for i in range(n)],
            "row": np.arange(1, n + 1),
            "zip_code": rng.integers(10_000, 99_999, n),
            "seven": np.full(n, 7.0),
            "nothing": np.full(n, np.nan),
        }
    )
    assert kinds(frame) == {
        "number": "number", "integer": "integer", "flag": "boolean", "answer": "boolean", "zero or one": "boolean",
        "city": "category", "category": "category", "day": "date", "written day": "date", "text": "text", "key": "id",
        "row": "id", "zip_code": "integer", "seven": "constant", "nothing": "missing",
    }  # fmt: skip


def test_few_rows_have_ids_if_the_name_says_so():
    frame = pd.DataFrame({"PatientID": ["p1", "p2", "p3"], "city": ["Bonn", "Gent", "Metz"], "key": ["a", "b", "a"]})
    assert kinds(frame) == {"PatientID": "id", "city": "category", "key": "category"}


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([1.5, 2, None], "number"),
        ([1, 2, None], "integer"),
        ([0, 1, None, 1.0], "boolean"),
        ([True, False, None], "boolean"),
        (["yes", "No", "yes "], "boolean"),
        (["Ja", "nein", None], "boolean"),
        (["yes", "no", "maybe"], "category"),
        ([None, None], "missing"),
        ([float("nan"), None], "missing"),
        ([3, 3, None], "constant"),
        (["a", "a", "a"], "constant"),
        (["a", "a", None], "category"),  # missing or not is a difference
        (["a", "b", "c", "d"], "category"),  # few levels
        (["one two three", "four five six"], "text"),
        ([f"k{i}" for i in range(10)], "id"),  # every value different, short
        ([f"row {i}" for i in range(10)], "id"),
        ([f"k{i}" for i in range(12)] + ["k0"], "text"),
        ([f"k{i}" for i in range(12)] * 3, "category"),  # many rows per level
        ([f"the group number {i}" for i in range(60)] * 30, "text"),
        ([f"{i}" for i in range(1, 10)] * 2 + ["XL"], "category"),
        (["1", "2", "?"] * 5, "text"),  # ? marks missing values
        (["31.12.2024", "1.2.2024", None], "date"),
        (["12/31/2024 10:15", "1/2/2024 11:00 PM"], "date"),
        (["31.12.2024", "12.31.2024"], "category"),
        ([datetime.date(2024, 1, 1), None, datetime.date(2024, 1, 2)], "date"),
        ([datetime.timedelta(1), datetime.timedelta(2)], "number"),
        ([[1, 2], [3]], "text"),
    ],
)
def test_the_kind_at_the_borders(values, kind):
    batch = pa.record_batch([pa.array(values, from_pandas=True)], names=["x"])
    whole = kinds_of([batch], "x").columns[0]
    parts = kinds_of([batch.slice(i, 1) for i in range(len(values))], "x").columns[0]
    assert whole.kind == parts.kind == kind
    assert (whole.n, whole.missing, whole.distinct) == (parts.n, parts.missing, parts.distinct)


def test_ordered_categories_are_known_by_their_type():
    levels = pa.DictionaryArray.from_arrays(pa.array([0, 1, 0]), pa.array(["S", "L"]), ordered=True)
    names = {"ordered": levels, "category": levels.cast(pa.string())}
    found = kinds_of([pa.record_batch(list(names.values()), names=list(names))], "x").columns
    assert [column.kind for column in found] == list(names)


def test_ids_beyond_the_texts_that_are_counted(monkeypatch):
    monkeypatch.setattr("lowland.data.kinds.MOST_TEXTS", 20)
    monkeypatch.setattr("lowland.data.kinds.MOST_DISTINCT", 20)
    names = [f"k{i}" for i in range(50)]
    batches = [pa.record_batch([pa.array(names[i : i + 10])], names=["x"]) for i in range(0, 50, 10)]
    assert kinds_of(batches, "x").columns[0].kind == "id"
    assert kinds_of([batches[0], batches[0], *batches], "x").columns[0].kind == "text"


def test_statistics_do_not_depend_on_the_batches(tmp_path, monkeypatch):
    X = np.random.default_rng(1).standard_normal((2000, 2)) + 1e6
    X[::7, 0] = np.nan
    pd.DataFrame(X, columns=["a", "b"]).to_csv(tmp_path / "x.csv", index=False)
    monkeypatch.setattr("lowland.data.formats.csv_file._BLOCK", 2**10)
    a, b = look(tmp_path / "x.csv").columns
    assert (a.n, a.missing, a.distinct) == (2000, 286, None)
    assert a.mean == pytest.approx(np.nanmean(X[:, 0]), rel=1e-14)
    assert a.sd == pytest.approx(np.nanstd(X[:, 0], ddof=1), rel=1e-9)
    assert (b.min, b.max) == (X[:, 1].min(), X[:, 1].max())


def test_text_among_numbers_in_a_later_block(tmp_path, monkeypatch):
    monkeypatch.setattr("lowland.data.formats.csv_file._BLOCK", 64)
    (tmp_path / "x.csv").write_text("a,b\n" + "".join(f"{i},{i % 3}\n" for i in range(50)) + "?,1\n")
    a, b = look(tmp_path / "x.csv").columns
    assert (a.n, a.kind, a.marks) == (51, "text", ("?",))
    assert (b.n, b.kind) == (51, "integer")
    assert any("missing=['?']" in sentence for sentence in look(tmp_path / "x.csv").suggestions)
    assert look(tmp_path / "x.csv", missing=["?"]).columns[0].missing == 1


def test_duplicate_rows_scale_and_what_to_drop():
    X = np.random.default_rng(0).standard_normal((20, 2)) * [1, 1000]
    frame = pd.DataFrame(np.vstack([X, X[:3]]), columns=["a", "b"])
    frame["kind"] = ["u", "v"] * 11 + ["u"]
    frame.loc[20:, "kind"] = frame.loc[:2, "kind"].to_numpy()
    frame["seven"] = 7
    found = look(frame)
    assert found.kinds.duplicates == 3
    assert found.scale
    assert (found.label, found.drop) == ("kind", ("seven",))
    assert any("3 rows equal an earlier row" in sentence for sentence in found.suggestions)
    text = str(found)
    assert "23 rows × 4 columns" in text
    assert text.count("\n") == text.strip().count("\n")


def test_arrays_and_sparse_files(tmp_path):
    import scipy.sparse

    X = np.random.default_rng(0).standard_normal((30, 2))
    assert [column.kind for column in look(X).columns] == ["number", "number"]
    scipy.sparse.save_npz(tmp_path / "x.npz", scipy.sparse.csr_matrix(np.where(X > 0, X, 0)))
    assert look(tmp_path / "x.npz").columns[0].min == 0

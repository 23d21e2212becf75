"""The kinds of columns, dates written as text, columns that are suspect, and what ``look`` advises."""

import datetime
import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import scipy.sparse

from lowland.data.kinds import kinds_of
from lowland.data.look import look
from lowland.data.suspect_columns import suspect_columns
from lowland.data.written import WrittenDates, dates_of
from lowland.errors import DataError

# --- the kind of each column, in one pass ---


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


def test_names_and_types_decide_where_values_do_not():
    frame = pd.DataFrame({"PatientID": ["p1", "p2", "p3"], "city": ["Bonn", "Gent", "Metz"]})
    levels = pa.DictionaryArray.from_arrays(pa.array([0, 1, 0]), pa.array(["S", "L"]), ordered=True)
    arrow = pa.Table.from_pandas(frame).append_column("size", levels)
    assert [column.kind for column in kinds_of(arrow.to_batches(), "x").columns] == ["id", "category", "ordered"]


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
    assert any("'?'" in sentence and "'missing'" in sentence for sentence in look(tmp_path / "x.csv").suggestions)
    assert look(tmp_path / "x.csv", missing=["?"]).columns[0].missing == 1


def test_duplicate_rows_scale_and_what_to_drop():
    X = np.random.default_rng(0).standard_normal((20, 2)) * [1, 1000]
    frame = pd.DataFrame(np.vstack([X, X[:3]]), columns=["a", "b"])
    frame["kind"] = ["u", "v"] * 11 + ["u"]
    frame.loc[20:, "kind"] = frame.loc[:2, "kind"].to_numpy()
    frame["seven"] = 7
    found = look(frame)
    assert found.kinds.duplicates == 3
    assert (found.label, found.unused) == ("kind", ("seven",))
    assert any("different units" in sentence for sentence in found.suggestions)
    assert any("3 rows equal an earlier row" in sentence for sentence in found.suggestions)
    text = str(found)
    assert "23 rows × 4 columns" in text
    assert text.count("\n") == text.strip().count("\n")


# --- dates written as text ---


def order(*texts):
    found = WrittenDates()
    for text in texts:
        found.add(pa.array([text]))
    return found.order, found.is_assumed


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["2024-12-31", "2024/1/2 08:15"], ("year first", False)),
        (["31.12.2024", "01.02.2024"], ("day first", False)),
        (["12/31/2024", "01/02/2024"], ("month first", False)),
        (["13/01/2024", "01/02/2024"], ("day first", False)),
        (["01/02/2024"], ("month first", True)),
        (["01.02.2024"], ("day first", True)),
        (["31.12.2024", "12.31.2024"], (None, False)),  # no order fits both
        (["31.12.2024", "soon"], (None, False)),
        (["30.02.2024"], (None, False)),  # no such day
        (["1.2.3"], (None, False)),
        (["2024-01-01 25:00"], (None, False)),
    ],
)
def test_the_values_decide_the_order(texts, expected):
    assert order(*texts) == expected


@pytest.mark.parametrize(
    ("text", "kind", "date"),
    [
        ("31.12.2024", "day first", "2024-12-31"),
        ("12/31/24 11:30 pm", "month first", "2024-12-31T23:30"),
        ("12/31/2024 12:05 AM", "month first", "2024-12-31T00:05"),
        ("1.2.1969 07:08:09.25", "day first", "1969-02-01T07:08:09.250"),
        ("5-6-70", "day first", "1970-06-05"),
        ("2024-02-29T10:00:00+02:00", "year first", "2024-02-29T08:00"),
        ("2024-02-29 10:00Z", "year first", "2024-02-29T10:00"),
        ("2023-02-29", "year first", "NaT"),
    ],
)
def test_dates_and_times(text, kind, date):
    found = dates_of(pa.chunked_array([pa.array([text, None])]), kind)
    np.testing.assert_array_equal(found, np.array([date, "NaT"], dtype="M8[us]"))


# --- columns to report before a fit: identifiers, codes, and one that dominates ---


def suspects(X, names, **more):
    return {
        each.name: each.kind
        for each in suspect_columns(np.asarray(X, dtype=float), names, **({"scaled": False} | more))
    }


def test_identifiers_and_codes(rng):
    n = 200
    columns = {
        "row": np.arange(n),
        "shuffled": rng.permutation(n) + 1000,
        "PassengerId": rng.choice(10**6, n, replace=False),
        "zip": rng.choice([10001, 94103, 60614, *rng.integers(10000, 99999, 40)], n),
        "age": rng.integers(18, 90, n),
        "price": rng.integers(10_000, 900_000, n),
        "kind": rng.integers(0, 3, n),
        "code": rng.integers(0, 3, n),  # few distinct values
        "valid": rng.choice(10**6, n, replace=False),  # contains "id", not as a word
        "length": rng.standard_normal(n),
    }
    X = np.column_stack(list(columns.values()))
    found = suspects(X, list(columns), scaled=True)
    assert found == {"row": "row number", "shuffled": "identifier", "PassengerId": "identifier", "zip": "code"}
    assert set(suspects(X, list(columns), scaled=True, named=False)) == {"row", "shuffled"}


def test_one_column_that_holds_most_of_the_variance(rng):
    X = rng.standard_normal((100, 4)) * [1, 1, 1, 20]
    assert suspects(X, list("abcd")) == {"d": "dominant"}
    assert suspects(X, list("abcd"), scaled=True) == {}
    assert suspects(X * [1, 1, 1, 0.05], list("abcd")) == {}
    (found,) = suspect_columns(X, list("abcd"), scaled=False)
    sentence = found.sentence("--drop d", "--scale")
    assert "'d' holds 99." in sentence
    assert "--drop d" in sentence
    assert "--scale" in sentence


# --- what ``look`` advises ---


def test_plain_data(tmp_path):
    (tmp_path / "x.csv").write_text(",a,b\nr1,1,\nr2,2,4.5\n")
    found = look(tmp_path / "x.csv")
    facts = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert (facts["rows"], facts["id"], facts["unused"]) == (2, "column 1", ["column 1", "b"])
    assert [column["kind"] for column in facts["columns"]] == ["id", "integer", "constant"]


def test_labels_sparse_files_and_tables_without_rows(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("name,g,a\nx,u,1\ny,u,2\nz,v,4\n")
    assert look(path).label == "g"  # a class has more than one row
    path.write_text("a,b\n")
    with pytest.raises(DataError, match="no rows"):
        look(path)
    scipy.sparse.save_npz(tmp_path / "x.npz", scipy.sparse.csr_matrix(np.diag([1.5, 2.5, 3.5])))
    for source in (tmp_path / "x.npz", np.diag([1.5, 2.5, 3.5])):
        assert [(column.kind, column.min) for column in look(source).columns] == [("number", 0)] * 3


def test_a_column_of_ids_beside_incomplete_columns(tmp_path):
    rows = [f"{i},{'' if i % 7 == 0 else i * i % 11 / 10},{'' if i % 5 == 0 else i % 3 / 7}" for i in range(1, 41)]
    (tmp_path / "x.csv").write_text("id,a,b\n" + "\n".join(rows))
    found = look(tmp_path / "x.csv")
    assert (found.id, found.columns[0].kind) == ("id", "id")
    (tmp_path / "y.csv").write_text("nr,city\n" + "\n".join(f"{i},{'ab'[i % 2]}" for i in range(40)))
    assert look(tmp_path / "y.csv").id == "nr"
    (tmp_path / "z.csv").write_text("nr\n" + "\n".join(map(str, range(40))))
    assert look(tmp_path / "z.csv").id is None  # the only feature


def test_numbers_whose_squares_overflow(tmp_path):
    (tmp_path / "x.csv").write_text("a,b,c\n1e200,0,true\n-3e250,1,false\n2e-300,1,true\n")
    a, b, c = look(tmp_path / "x.csv").columns
    assert (a.kind, a.max, a.mean) == ("number", 1e200, pytest.approx(-1e250))
    assert (b.examples, c.examples) == (("0", "1"), ("false", "true"))
    assert "1 row × " not in str(look(tmp_path / "x.csv"))


def test_numbers_with_units_are_not_ids(tmp_path):
    rows = [f"{150 + 1.7 * i:.1f} cm,{i}:{i + 10}:05,A{i}kg,name{i},{i % 4 / 3}" for i in range(40)]
    (tmp_path / "x.csv").write_text("height,time,code,who,x\n" + "\n".join(rows))
    found = look(tmp_path / "x.csv")
    assert [column.kind for column in found.columns] == ["text", "text", "id", "id", "number"]
    assert any("'height', 'time': numbers with units" in sentence for sentence in found.suggestions)


def test_an_index_that_pandas_wrote_is_no_feature():
    frame = pd.DataFrame({"Unnamed: 0": np.arange(40) ** 2, "x": np.sin(np.arange(40.0))})
    assert look(frame).unused == ("Unnamed: 0",)


def test_the_ids_of_some_rows_may_be_equal():
    who = [f"p{i // 2 if i < 6 else i}" for i in range(40)]
    looked = look(pd.DataFrame({"id": who, "x": np.sin(np.arange(40.0))}))
    assert "37 distinct values in 40 rows" in str(looked)
    assert "every value is different" not in str(looked)


def test_look_suggests_classes_of_many_rows_and_ids_that_are_names():
    n = 60
    frame = pd.DataFrame({
        "number": np.arange(n), "name": [f"car {i}" for i in range(n)], "maker": [f"m{i % 20}" for i in range(n)],
        "type": np.array(["van", "small", "large"])[np.arange(n) % 3], "x": np.sin(np.arange(n)),
    })  # fmt: skip
    looked = look(frame)
    assert (looked.label, looked.id) == ("type", "name")

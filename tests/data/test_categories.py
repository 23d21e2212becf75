"""Text, categories and booleans as codes: levels, their order, missing and new values, files in slabs."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lowland.data.categories import levels_of, open_categories
from lowland.data.open import open_rows
from lowland.errors import DataError, DataTypeError

FRAME = pd.DataFrame({"t": ["b", "a", None, "b"], "x": [1.5, 2.0, 3.0, np.nan], "f": [True, False, True, True]})


def decoded(rows):
    """The values behind the codes."""
    X = rows.to_array()
    return [
        [None if np.isnan(v) else v if levels is None else levels[int(v)] for v in X[:, j]]
        for j, levels in enumerate(levels_of(rows))
    ]


def test_codes_levels_and_names():
    rows = open_categories(FRAME)
    np.testing.assert_array_equal(rows.to_array(), [[1, 1.5, 1], [0, 2, 0], [np.nan, 3, 1], [1, np.nan, 1]])
    assert [None if each is None else each.tolist() for each in levels_of(rows)] == [["a", "b"], None, [False, True]]
    assert rows.names == ("t", "x", "f")
    assert rows.shape == (4, 3)
    assert rows.in_memory


@settings(max_examples=15, deadline=None)
@given(
    values=st.lists(st.one_of(st.none(), st.text(st.characters(codec="utf-8"), max_size=3)), min_size=1, max_size=20)
)
def test_every_source_decodes_to_its_values(values):
    values = ["x", *values]
    arrow = pa.table({"a": pa.array(values), "n": np.arange(len(values))})
    for source in (arrow, arrow.to_pandas(), pl.from_arrow(arrow)):
        assert decoded(open_categories(source))[0] == values


def test_order_of_levels():
    days = pd.Categorical(["tue", "mon", "tue"], categories=["mon", "tue", "wed"], ordered=True)
    free = pd.Categorical(["u", "v", "u"], categories=["v", "u"])
    rows = open_categories(pd.DataFrame({"day": days, "free": free}))
    assert [each.tolist() for each in rows.levels] == [["mon", "tue", "wed"], ["u", "v"]]
    assert decoded(rows) == [["tue", "mon", "tue"], ["u", "v", "u"]]
    enum = pl.DataFrame({"e": pl.Series(["lo", "hi", "lo"], dtype=pl.Enum(["lo", "hi"]))})
    assert decoded(open_categories(enum)) == [["lo", "hi", "lo"]]


def test_levels_of_an_earlier_table():
    levels = open_categories(FRAME).levels
    new = open_categories(FRAME.assign(t=["a", "z", None, "b"]), levels=levels)
    np.testing.assert_array_equal(new.to_array()[:, 0], [0, -1, np.nan, 1])
    empty = open_categories(FRAME.assign(t=None), levels=levels)
    assert np.isnan(empty.to_array()[:, 0]).all()
    with pytest.raises(DataTypeError, match=r"'t' .* numbers"):
        open_categories(FRAME.assign(t=1.0), levels=levels)


def test_rows_are_coded_again_for_other_levels():
    rows = open_categories(FRAME)
    other = (np.array(["b", "c"], dtype=object), None, rows.levels[2])
    again = open_categories(rows, levels=other)
    np.testing.assert_array_equal(again.to_array()[:, 0], [0, -1, np.nan, 0])
    assert open_categories(rows, levels=rows.levels) is rows


def test_files_in_slabs(tmp_path, monkeypatch):
    n = 1000
    frame = pd.DataFrame({"t": [f"level {i % 7}" for i in range(n)], "x": np.arange(n) / 7, "f": np.arange(n) % 2 == 0})
    frame.to_csv(tmp_path / "x.csv", index=False)
    frame.to_parquet(tmp_path / "x.parquet", row_group_size=300)
    (tmp_path / "parts").mkdir()
    frame[:400].to_parquet(tmp_path / "parts" / "1.parquet")
    frame[400:].astype({"t": "category"}).to_parquet(tmp_path / "parts" / "2.parquet")
    expected = open_categories(frame).to_array()
    monkeypatch.setattr("lowland.data.rows.SLAB_BYTES", 2000)
    for source in ("x.csv", "x.parquet", "parts"):
        rows = open_categories(tmp_path / source)
        assert not rows.in_memory
        chunks = list(rows.chunks())
        assert len(chunks) > 5
        np.testing.assert_allclose(np.concatenate(chunks), expected)


def test_columns_missing_marks_and_changes_of_files(tmp_path):
    assert open_categories(FRAME, columns=["f", "t"]).names == ("f", "t")
    assert open_categories(FRAME, drop=["t", "f"]).names == ("x",)
    path = tmp_path / "x.csv"
    path.write_text("t,u\na,1\nNA,2\n,3\nb,4\n")
    assert decoded(open_categories(path))[0] == ["a", None, None, "b"]
    FRAME.to_parquet(tmp_path / "x.parquet")
    rows = open_categories(tmp_path / "x.parquet")
    FRAME[:3].to_parquet(tmp_path / "x.parquet")
    with pytest.raises(OSError, match="written"):
        list(rows.chunks())


def test_chunks_share_their_levels():
    rows = open_categories([FRAME[:2], FRAME[2:].assign(t=["c", "a"])])
    assert rows.levels[0].tolist() == ["a", "b", "c"]
    np.testing.assert_array_equal(rows.to_array()[:, 0], [1, 0, 2, 0])
    with pytest.raises(DataTypeError, match="text in some chunks"):
        open_categories([FRAME[:2], FRAME[2:].assign(t=1)])
    with pytest.raises(DataTypeError, match=r"'t' .* text, but numbers"):
        list(open_categories([FRAME[["x"]].rename(columns={"x": "t"}), FRAME[["t"]]]).chunks())
    with pytest.raises(DataError, match="columns"):
        list(open_categories([FRAME, FRAME[["t"]]]).chunks())


def test_numbers_are_opened_as_elsewhere():
    X = np.arange(6.0).reshape(3, 2)
    for source in (X, X.tolist(), pd.DataFrame(X), [X[:1], X[1:]], open_rows(X)):
        rows = open_categories(source)
        assert levels_of(rows) == (None, None)
        np.testing.assert_array_equal(rows.to_array(), X)


def test_lists_and_objects_keep_the_type_of_each_column():
    for source in ([[1.5, "a"], [2, "b"]], np.array([[1.5, "a"], [2, "b"]], dtype=object)):
        rows = open_categories(source)
        assert rows.levels[0] is None
        np.testing.assert_array_equal(rows.to_array(), [[1.5, 0], [2, 1]])


@pytest.mark.parametrize(
    ("source", "words"),
    [
        (pd.DataFrame({"d": pd.to_datetime(["2020-01-01", "2020-01-02"])}), "dates"),
        (pd.DataFrame({"m": ["a", 1]}), "several types"),
        (np.array([["a", 1], [2, "b"]], dtype=object), "mix both"),
        (np.array([[np.datetime64("2020-01-01")], ["a"]], dtype=object), "dates"),
    ],
)
def test_values_that_are_no_categories(source, words):
    with pytest.raises(DataTypeError, match=words):
        open_categories(source)

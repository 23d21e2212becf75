"""Opening tables: arrays, files, chunks, labels; messages about columns."""

import os

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
import scipy.sparse as sp

from lowland.data.open import float_vector, open_labelled, open_rows, read_column
from lowland.data.reader import selected
from lowland.errors import DataError, DataTypeError, FileProblem, MissingFile, ParameterError

# --- every supported input becomes rows, with labels; other input is refused with a reason ---


@pytest.fixture
def X():
    return np.random.default_rng(0).standard_normal((500, 3))


def whole(rows):
    return np.concatenate([np.asarray(chunk) for chunk in rows.chunks()])


def test_columns_are_chosen_by_name(tmp_path):
    (tmp_path / "x.csv").write_text("name,a,b,class\nu,1,2,x\nv,3,4,y\n")
    rows = open_rows(tmp_path / "x.csv", drop=["name", "class"])
    assert rows.names == ("a", "b")
    rows = open_rows(tmp_path / "x.csv", columns=["b", "a"])
    np.testing.assert_array_equal(whole(rows), [[2, 1], [4, 3]])
    assert list(read_column(tmp_path / "x.csv", "class")) == ["x", "y"]
    with pytest.raises(DataTypeError, match="'name', 'class'"):
        open_rows(tmp_path / "x.csv")
    with pytest.raises(ParameterError, match=r"no column 'c'.*'name', 'a'"):
        open_rows(tmp_path / "x.csv", columns=["c"])
    with pytest.raises(ParameterError, match="no column"):
        read_column(tmp_path / "x.csv", "zzz")


def test_iterators_are_refused(X):
    class Once:
        def __init__(self):
            self.chunks = iter([X, X])

        def __iter__(self):
            return self.chunks

    for source in (Once(), iter([X]), (chunk for chunk in [X])):
        with pytest.raises(DataTypeError, match="only once"):
            open_rows(source)


def test_columns_can_be_chosen_only_from_frames_and_files(X):
    for source in (X, sp.csr_matrix(X), [X, X], open_rows(X)):
        for choice in ({"columns": ["a"]}, {"drop": ["a"]}):
            with pytest.raises(ParameterError, match="by name"):
                open_rows(source, **choice)
    with pytest.raises(DataError, match="0 feature"):
        open_rows(pa.table({"a": X[:, 0]}), columns=[])


def test_invalid_tables_are_refused(X, tmp_path):
    with pytest.raises(DataError, match=r"masked values.*filled"):
        open_rows(np.ma.masked_array(X, X > 1))
    np.testing.assert_array_equal(whole(open_rows(np.ma.masked_array(X))), X)
    for source in (None, {"a": [1, 2]}):
        with pytest.raises(DataTypeError, match="frame"):
            open_rows(source)
    for name in ("x.csv", "x.npy"):
        (tmp_path / name).mkdir()
        with pytest.raises(MissingFile, match="folder"):
            open_rows(tmp_path / name)


# --- labels beside the rows ---


@pytest.fixture(params=["csv", "parquet", "pandas", "polars", "pyarrow"])
def labeled(request, tmp_path):
    """A table of the columns a, b and y (text), of every kind with column names."""
    import pandas as pd
    import polars as pl

    frame = pd.DataFrame({"a": [1.0, 2.0, 3.0], "y": ["u", "v", "u"], "b": [4.0, 5.0, 6.0]})
    if request.param == "csv":
        frame.to_csv(tmp_path / "x.csv", index=False)
    elif request.param == "parquet":
        frame.to_parquet(tmp_path / "x.parquet")
    else:
        return {"pandas": frame, "polars": pl.from_pandas(frame), "pyarrow": pa.Table.from_pandas(frame)}[request.param]
    return tmp_path / f"x.{request.param}"


@pytest.mark.parametrize("given", [{"y": "y"}, {"label": "y"}])
def test_a_column_of_labels_is_not_a_feature(labeled, given):
    rows, labels, name = open_labelled(labeled, **given)
    assert (rows.names, name) == (("a", "b"), "y")
    np.testing.assert_array_equal(whole(rows), [[1, 4], [2, 5], [3, 6]])
    assert list(labels) == ["u", "v", "u"]


def test_columns_are_chosen_beside_the_labels(labeled):
    rows, labels, _ = open_labelled(labeled, "y", columns=["b", "y"])
    assert (rows.names, list(labels)) == (("b",), ["u", "v", "u"])
    rows, labels, _ = open_labelled(labeled, "y", drop=["a", "y"])
    assert (rows.names, list(labels)) == (("b",), ["u", "v", "u"])
    with pytest.raises(ParameterError, match="no column 'z'"):
        open_labelled(labeled, "z")


def test_a_file_is_opened_once_for_rows_and_labels(tmp_path, monkeypatch):
    from lowland.data.formats.csv_file import CsvReader

    heads = []
    read = CsvReader._head
    monkeypatch.setattr(CsvReader, "_head", lambda table: (heads.append(table), read(table))[1])
    (tmp_path / "x.csv").write_text("a,y\n1,u\n2,v\n")
    open_labelled(tmp_path / "x.csv", "y")
    assert len(heads) == 1


def test_a_label_column_needs_column_names(X, tmp_path):
    np.save(tmp_path / "x.npy", X)
    with pytest.raises(DataError, match=r"names a column.*ndarray without named columns"):
        open_labelled(X, "y")
    with pytest.raises(ParameterError, match="has no column names"):
        open_labelled(tmp_path / "x.npy", "y")


def test_dates_in_object_arrays_are_no_numbers():
    import pandas as pd

    for value in (np.datetime64("2020-01-01"), np.timedelta64(3, "D")):
        with pytest.raises(DataTypeError, match="dates or durations"):
            open_rows(np.array([[value, 1.0], [2.0, 3.0]], dtype=object))
        with pytest.raises(DataTypeError, match=r"'a'.*dates"):
            open_rows(pd.DataFrame({"a": np.array([value, 1.0], dtype=object)})).to_array()


def test_integers_beyond_floats():
    import pandas as pd

    huge = np.array([[10**400, 1], [1, 2]], dtype=object)
    with pytest.raises(DataError, match="too large"):
        open_rows(huge)
    with pytest.raises(DataError, match=r"'a'.*too large"):
        open_rows(pd.DataFrame(huge, columns=["a", "b"])).to_array()
    with pytest.raises(DataError, match=r"sample_weight.*too large"):
        float_vector(huge[:, 0], 2, "sample_weight")


def test_weights_that_are_text_are_refused():
    with pytest.raises(DataTypeError, match=r"^sample_weight contains values that are not numbers\. Give each row"):
        float_vector(["a", "b"], 2, "sample_weight")
    with pytest.raises(DataError, match="one value for each of the 3 rows"):
        float_vector([1, 2], 3, "sample_weight")


def test_half_of_a_surrogate_pair_in_a_name():
    import pandas as pd

    frame = pd.DataFrame(np.eye(2), columns=pd.Index(["a", "b\udc80"], dtype=object))
    with pytest.raises(DataError, match=r"'b\\udc80'.*surrogate.*Rename"):
        open_rows(frame)


# --- paths in all their forms ---


def test_paths_in_all_their_forms(X, tmp_path, monkeypatch):
    np.save(tmp_path / "x.npy", X)
    monkeypatch.setenv("HOME", str(tmp_path))
    for path in ("~/x.npy", os.fsencode(tmp_path / "x.npy")):
        np.testing.assert_array_equal(whole(open_rows(path)), X)
    monkeypatch.setattr("os.access", lambda path, mode: False)
    with pytest.raises(FileProblem, match="permission"):
        open_rows(tmp_path / "x.npy")


# --- named columns: messages about missing ones ---


WINE = [
    "alcohol", "malic_acid", "ash", "alcalinity_of_ash", "magnesium", "total_phenols", "flavanoids",
    "nonflavanoid_phenols", "proanthocyanins", "color_intensity", "hue", "od280", "proline", "label",
]  # fmt: skip


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        ("Label", "Did you mean 'label'? Available columns: 'label', "),
        ("flavonoid", "Did you mean 'flavanoids'? Available columns: 'flavanoids', "),
        ("class", "'label'"),  # not similar, and still not hidden behind twelve others
    ],
)
def test_of_many_columns_the_most_similar_names_come_first(wanted, message):
    with pytest.raises(ParameterError, match=f"has no column '{wanted}'") as caught:
        selected(WINE, [wanted], (), "'wine.csv'")
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("columns", "drop"), [(["size", "cm"], []), (None, ["b", "size", "cm"]), (["size", "b"], ["cm"])]
)
def test_a_name_with_a_comma_needs_quotes(columns, drop):
    with pytest.raises(ParameterError, match=r"has no column 'size', 'cm'.*pass it as one name"):
        selected(["size, cm", "b"], columns, drop, "'x'")


# --- all problems of a table in one message ---


def test_every_column_is_named_with_its_first_cells(tmp_path):
    rows = [f"{i},{'?' if i in (3, 8) else i},{'Bonn' if i % 2 else 'Gent'}" for i in range(20)]
    (tmp_path / "x.csv").write_text("\n".join(["a,count,city", *rows]) + "\n")
    with pytest.raises(DataError) as caught:
        open_rows(tmp_path / "x.csv")
    text = str(caught.value)
    for term in ("2 columns", "'count': 2 of 20 values", "line 5: '?', line 10: '?'", "line 2: 'Gent'", "and 17 more"):
        assert term in text
    assert "open_rows(file, missing=['?'], drop=['city'])" in text
    assert "open_rows(file, drop=['count', 'city'])" in text
    assert open_rows(tmp_path / "x.csv", missing=["?"], drop=["city"]).to_array().shape == (20, 2)


def test_missing_values_are_in_the_same_message(tmp_path):
    (tmp_path / "x.csv").write_text("a,b,c,d\n1,,u,\n2,3,v,\n4,5,,\n")
    with pytest.raises(DataError, match=r"'c'.*Missing values: 'b' \(1\), 'd' \(3\);"):
        open_rows(tmp_path / "x.csv")

"""Opening tables: arrays, files, chunks, labels; messages about columns."""

import os

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
import scipy.sparse as sp

import lowland
from lowland.arrays.namespace import dense
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


ROWS = np.random.default_rng(0).standard_normal((20, 2))
DAY, DAYS = np.datetime64("2020-01-01"), np.timedelta64(3, "D")
HUGE = np.array([[10**400, 1], [1, 2]], dtype=object)
ONCE = type("Once", (), {"chunks": iter([ROWS, ROWS]), "__iter__": lambda self: self.chunks})()
HALF = pd.Index(["a", "b\udc80"], dtype=object)  # half of a surrogate pair


@pytest.mark.parametrize(
    ("source", "options", "error", "words"),
    [
        (iter([ROWS]), {}, DataTypeError, "only once"),
        ((chunk for chunk in [ROWS]), {}, DataTypeError, "only once"),
        (ONCE, {}, DataTypeError, "only once"),
        (ROWS, {"columns": ["a"]}, ParameterError, "by name"),
        (sp.csr_matrix(ROWS), {"drop": ["a"]}, ParameterError, "by name"),
        ([ROWS, ROWS], {"columns": ["a"]}, ParameterError, "by name"),
        (pa.table({"a": ROWS[:, 0]}), {"columns": []}, DataError, "0 feature"),
        (np.ma.masked_array(ROWS, ROWS > 1), {}, DataError, "masked values.*filled"),
        (None, {}, DataTypeError, "frame"),
        ({"a": [1, 2]}, {}, DataTypeError, "frame"),
        (np.array([[DAY, 1.0], [2.0, 3.0]], dtype=object), {}, DataTypeError, "dates or durations"),
        (np.array([[DAYS, 1.0], [2.0, 3.0]], dtype=object), {}, DataTypeError, "dates or durations"),
        (pd.DataFrame({"a": np.array([DAY, 1.0], dtype=object)}), {}, DataTypeError, "'a'.*dates"),
        (HUGE, {}, DataError, "too large"),
        (pd.DataFrame(HUGE, columns=["a", "b"], dtype=object), {}, DataError, "'a'.*too large"),
        (pd.DataFrame(np.eye(2), columns=HALF), {}, DataError, r"'b\\udc80'.*surrogate.*Rename"),
    ],
)
def test_tables_that_cannot_be_opened(source, options, error, words):
    with pytest.raises(error, match=words):
        open_rows(source, **options).to_array()


@pytest.mark.parametrize(
    ("weights", "words"),
    [
        (["a", "b"], r"^sample_weight contains values that are not numbers\. Give each row"),
        ([1, 2, 3], "one value for each of the 2 rows"),
        (HUGE[:, 0], "sample_weight.*too large"),
    ],
)
def test_weights_that_are_not_numbers_are_refused(weights, words):
    with pytest.raises(DataError, match=words):
        float_vector(weights, 2, "sample_weight")


def test_a_folder_named_like_a_file(tmp_path):
    (tmp_path / "x.csv").mkdir()
    with pytest.raises(MissingFile, match="folder"):
        open_rows(tmp_path / "x.csv")


# --- labels beside the rows ---


@pytest.fixture(params=["csv", "parquet", "pandas", "polars", "pyarrow"])
def labeled(request, tmp_path):
    """A table of the columns a, b and y (text), of every kind with column names."""
    import polars as pl

    frame = pd.DataFrame({"a": [1.0, 2.0, 3.0], "y": ["u", "v", "u"], "b": [4.0, 5.0, 6.0]})
    if request.param == "csv":
        frame.to_csv(tmp_path / "x.csv", index=False)
    elif request.param == "parquet":
        frame.to_parquet(tmp_path / "x.parquet")
    else:
        return {"pandas": frame, "polars": pl.from_pandas(frame), "pyarrow": pa.Table.from_pandas(frame)}[request.param]
    return tmp_path / f"x.{request.param}"


def test_a_column_of_labels_is_not_a_feature(labeled):
    rows, labels, name = open_labelled(labeled, "y")
    assert (rows.names, name) == (("a", "b"), "y")
    np.testing.assert_array_equal(whole(rows), [[1, 4], [2, 5], [3, 6]])
    assert list(labels) == ["u", "v", "u"]


def test_columns_are_dropped_beside_the_labels(labeled):
    rows, labels, _ = open_labelled(labeled, "y", drop=["a", "y"])
    assert (rows.names, list(labels)) == (("b",), ["u", "v", "u"])
    with pytest.raises(ParameterError, match="no column 'z'"):
        open_labelled(labeled, "z")


def test_given_labels_are_returned_unchanged(X):
    y = [0, 1, 2]
    assert open_labelled(X, y)[1:] == (y, None)
    assert open_labelled(X)[1:] == (None, None)


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
    with pytest.raises(DataError, match=r"'c'.*Missing values: 'b' \(1\), 'd' \(3\)\."):
        open_rows(tmp_path / "x.csv")


def test_a_small_read_only_array_is_copied():
    """A kernel is not compiled once more for it; the columns stay together in memory if they were."""
    X = np.asfortranarray(np.arange(6.0).reshape(3, 2))
    X.setflags(write=False)
    held = open_rows(X).X
    assert np.array_equal(held, X)
    assert held.flags.writeable
    assert held.flags.f_contiguous
    assert not np.shares_memory(held, X)


def anndata_object(X, **obs):
    """An object like those of the package anndata."""
    index = pd.Index([f"cell {i}" for i in range(len(X.toarray() if sp.issparse(X) else X))])
    AnnData = type("AnnData", (), {"__module__": "anndata._core.anndata", "X": X, "shape": X.shape})
    AnnData.obs, AnnData.var_names = pd.DataFrame(obs, index=index), pd.Index([f"gene {j}" for j in range(X.shape[1])])
    return AnnData()


def test_the_matrix_of_an_anndata_object_is_read():
    X = np.random.default_rng(0).standard_normal((30, 4))
    cells = anndata_object(X)
    assert np.array_equal(lowland.PCA(2).fit_transform(cells), lowland.PCA(2).fit_transform(X))
    study = lowland.compare(cells, np.arange(30) % 2, ["pca"], cache=False)
    assert study.table.columns == 4


def test_a_part_of_an_anndata_object_is_read_and_prepared():
    """The sparse matrix of a part is a class of the package, but no AnnData object."""
    X = np.random.default_rng(0).standard_normal((30, 4))
    View = type("SparseCSRMatrixView", (sp.csr_matrix,), {"__module__": "anndata._core.views"})
    part = anndata_object(View(X))
    np.testing.assert_allclose(lowland.PCA(2).fit_transform(part), lowland.PCA(2).fit_transform(View(X)))
    cells = anndata_object(X)
    assert np.array_equal(lowland.TablePreparer().fit_transform(cells), lowland.TablePreparer().fit_transform(X))


def test_the_name_of_a_column_of_obs_names_the_labels_of_an_anndata_object():
    X, kinds = np.random.default_rng(0).standard_normal((30, 4)), np.array(["B", "T", "T"] * 10)
    cells = anndata_object(X, **{"cell type": pd.Categorical(kinds), "depth": np.arange(30)})
    model, expected = (lowland.LinearDiscriminantAnalysis().fit(*given) for given in ((cells, "cell type"), (X, kinds)))
    assert np.array_equal(model.transform(cells), expected.transform(X))
    study = lowland.compare(cells, "cell type", ["pca"], cache=False)
    assert (study.table.label_name, {*study.table.labels}) == ("cell type", {"B", "T"})
    for call in (lowland.compare, lowland.LinearDiscriminantAnalysis().fit):
        with pytest.raises(lowland.errors.ParameterError, match=r"has no column 'celltype'.* 'cell type'"):
            call(cells, "celltype")


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_matrix])
def test_the_variables_of_an_anndata_object_name_its_columns(kind):
    X = np.random.default_rng(0).poisson(1.0, (30, 4)).astype(np.float32)
    cells = anndata_object(kind(X), kind=["B", "T", "T"] * 10, depth=np.arange(30))
    model = lowland.PCA(2).fit(cells)
    assert model.feature_names_in_.tolist() == ["gene 0", "gene 1", "gene 2", "gene 3"]
    assert model.transform(cells).dtype == np.float32
    table = lowland.Table(cells, label="kind", keep="depth", columns=["gene 3", "gene 1"])
    assert (table.ids[1], table.labels[1], table.kept["depth"][1]) == ("cell 1", "T", 1)
    assert np.array_equal(dense(table.rows.to_array()), X[:, [3, 1]])
    assert lowland.compare(cells, methods=["pca"], cache=False).table.names[0] == "gene 0"


def test_the_columns_of_an_array_are_read_by_position():
    table = lowland.Table(np.arange(6.0).reshape(3, 2), id=["a", "b", "c"])
    assert table.names == ["x0", "x1"]
    assert table.column("x1").tolist() == [1, 3, 5]


def test_a_row_longer_than_a_block_is_named_before_it_is_read(tmp_path, monkeypatch):
    monkeypatch.setattr("lowland.data.formats.csv_file._BLOCK", 2**10)
    path = tmp_path / "x.csv"
    path.write_text("a,b\n1,2\n3," + "4" * 5000 + "\n")
    with pytest.raises(DataError, match=r"Line 3 of .*longer"):
        open_rows(path)
    path.write_text("a,b\n" + "1,2\n" * 500 + "3," + "4" * 5000 + "\n")  # not in the first block
    with pytest.raises(DataError, match=r"A row of .*longer"):
        open_rows(path).to_array()

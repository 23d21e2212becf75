"""Arrow, JSON lines, spreadsheets, AnnData, several arrays, images, standard input."""

import io
import sys
import zipfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import scipy.sparse

from lowland import PCA, Table
from lowland.data import files as streams
from lowland.data.formats import arrow_files
from lowland.data.open import open_labelled, open_rows, read_column
from lowland.errors import DataError, FileProblem, ParameterError


@pytest.fixture
def X():
    return np.random.default_rng(0).standard_normal((30, 3)).round(3)


def columns_of(X):
    return {"a": X[:, 0], "b": X[:, 1], "c": X[:, 2], "y": [f"class {i % 2}" for i in range(len(X))]}


@pytest.mark.parametrize("name", ["x.feather", "x.arrow", "stream.arrow"])
def test_arrow_files(X, tmp_path, name):
    table = pa.table(columns_of(X))
    new = pa.ipc.new_stream if name.startswith("stream") else pa.ipc.new_file
    with new(str(tmp_path / name), table.schema) as writer:
        writer.write_table(table, max_chunksize=7)
    rows, labels, _ = open_labelled(tmp_path / name, "y")
    np.testing.assert_array_equal(rows.to_array(), X)
    assert list(labels[:2]) == ["class 0", "class 1"]
    with pytest.raises(DataError, match=r"'y'.*line 1: 'class 0'.*drop=\['y'\]"):
        open_rows(tmp_path / name)
    (tmp_path / "torn.arrow").write_bytes((tmp_path / name).read_bytes()[:200])
    with pytest.raises(FileProblem, match=r"damaged"):
        open_rows(tmp_path / "torn.arrow", columns=["a"]).to_array()


def test_json_lines(tmp_path):
    (tmp_path / "x.jsonl").write_text('{"a": 1, "b": 2.5, "y": "u"}\n{"a": 3, "y": "v"}\n{"b": 4, "a": 5}\n')
    rows, labels, _ = open_labelled(tmp_path / "x.jsonl", "y")
    np.testing.assert_array_equal(rows.to_array(), [[1, 2.5], [3, np.nan], [5, 4]])
    assert list(labels) == ["u", "v", None]


def test_an_excel_sheet(X, tmp_path):
    import openpyxl

    book = openpyxl.Workbook()
    book.active.append([None, "a", "b", "b", "share", "y"])
    for i, row in enumerate(X.tolist()):
        book.active.append([f"row {i}", *row, f"{i} %", "u" if i % 2 else "v"])
    book.create_sheet("Second").append([1, 2])
    book.save(tmp_path / "x.xlsx")
    rows, labels, _ = open_labelled(tmp_path / "x.xlsx", "y")
    assert rows.names == ("a", "b", "b (2)", "share")
    np.testing.assert_array_equal(rows.to_array(), np.column_stack([X, np.arange(30)]))
    assert labels[1] == "u"
    assert "first sheet" in rows.notes[0]
    np.testing.assert_array_equal(open_rows(tmp_path / "x.xlsx", sheet="Second").to_array(), [[1, 2]])
    with pytest.raises(ParameterError, match=r"sheet='Third'.*'Second'"):
        open_rows(tmp_path / "x.xlsx", sheet="Third")
    (tmp_path / "y.xlsx").write_text("hello")
    with pytest.raises(FileProblem, match=r"not a valid \.xlsx"):
        open_rows(tmp_path / "y.xlsx")


def cell(value):
    if value is None:
        return "<table:table-cell table:number-columns-repeated='1'/>"
    if isinstance(value, str):
        return f"<table:table-cell office:value-type='string'><text:p>{value}</text:p></table:table-cell>"
    return f"<table:table-cell office:value-type='float' office:value='{value}'/>"


def write_ods(path, rows):
    spaces = " ".join(
        f"xmlns:{name}='urn:oasis:names:tc:opendocument:xmlns:{name}:1.0'" for name in ("table", "office", "text")
    )
    lines = "".join(f"<table:table-row>{''.join(map(cell, row))}</table:table-row>" for row in rows)
    empty = "<table:table-row table:number-rows-repeated='1048000'><table:table-cell/></table:table-row>"
    body = f"<table:table table:name='Sheet1'>{lines}{empty}</table:table>"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("content.xml", f"<office:document-content {spaces}>{body}</office:document-content>")


def test_an_open_document_sheet(tmp_path):
    write_ods(tmp_path / "x.ods", [["a", "b"], [1.5, 2.0], [None, 3.0], ["NA", 4.0]])
    np.testing.assert_array_equal(open_rows(tmp_path / "x.ods").to_array(), [[1.5, 2], [np.nan, 3], [np.nan, 4]])
    write_ods(tmp_path / "x.ods", [["a", "b"], [1.5, "oops"], [None, 3.0]])
    with pytest.raises(DataError, match=r"'b'.*line 2: 'oops'"):
        open_rows(tmp_path / "x.ods")


def write_h5ad(path, X, kind):
    import h5py

    with h5py.File(path, "w") as file:
        if kind == "dense":
            file["X"] = X
        else:
            S = getattr(scipy.sparse, f"{kind}_matrix")(X)
            group = file.create_group("X")
            group.attrs.update({"encoding-type": f"{kind}_matrix", "shape": X.shape})
            for part in ("data", "indices", "indptr"):
                group[part] = getattr(S, part)
        for name, index in (("obs", "cell"), ("var", "gene")):
            size = X.shape[name == "var"]
            file.create_group(name).attrs["_index"] = index
            file[name][index] = [f"{index} {i}" for i in range(size)]
        file["obs"].attrs["column-order"] = ["type", "age"]
        file["obs/age"] = np.arange(len(X)) * 1.5
        kinds = file["obs"].create_group("type")
        kinds["codes"] = np.array([*([0, 1] * len(X))[: len(X) - 1], -1], dtype=np.int8)
        kinds["categories"] = ["B", "T"]
        file.create_group("obsm")["X_pca"] = X[:, :2]


@pytest.mark.parametrize("kind", ["dense", "csr", "csc"])
def test_anndata(X, tmp_path, kind):
    X = np.where(X > 0, X, 0)
    path = tmp_path / "x.h5ad"
    write_h5ad(path, X, kind)
    rows, labels, _ = open_labelled(path, "type")
    assert rows.is_sparse is (kind != "dense")
    dense = rows.to_array()
    np.testing.assert_array_equal(dense.toarray() if rows.is_sparse else dense, X)
    assert rows.names == ("gene 0", "gene 1", "gene 2")
    assert list(labels[:2]) == ["B", "T"]
    assert labels[-1] is None
    assert list(read_column(path, "cell")[:2]) == ["cell 0", "cell 1"]
    np.testing.assert_array_equal(read_column(path, "age"), np.arange(30) * 1.5)
    assert open_rows(path, columns=["gene 2"]).shape == (30, 1)
    np.testing.assert_array_equal(open_rows(path, array="X_pca").to_array(), X[:, :2])
    with pytest.raises(ParameterError, match=r"array='raw'.*obsm/X_pca"):
        open_rows(path, array="raw")


def test_anndata_in_slabs_gives_the_same_fit(X, tmp_path, monkeypatch):
    write_h5ad(tmp_path / "x.h5ad", np.where(X > 0, X, 0), "csr")
    monkeypatch.setattr("lowland.data.formats.h5ad.SPARSE_SLAB_ROWS", 7)
    np.testing.assert_allclose(
        PCA(2).fit(tmp_path / "x.h5ad").explained_variance_, PCA(2).fit(np.where(X > 0, X, 0)).explained_variance_
    )


def test_one_of_several_arrays(X, tmp_path):
    np.savez(tmp_path / "x.npz", train=X, test=2 * X)
    np.testing.assert_array_equal(open_rows(tmp_path / "x.npz", array="test").to_array(), 2 * X)
    with pytest.raises(DataError, match=r"'train', 'test'.*array='train'"):
        open_rows(tmp_path / "x.npz")
    with pytest.raises(ParameterError, match=r"array='valid'.*'train', 'test'"):
        open_rows(tmp_path / "x.npz", array="valid")


def test_a_folder_of_images(tmp_path):
    from PIL import Image

    pixels = np.random.default_rng(0).integers(0, 256, (12, 5, 4), dtype=np.uint8)
    for i, image in enumerate(pixels):
        Image.fromarray(image).save(tmp_path / f"img{i}.png")
    rows = open_rows(tmp_path)
    np.testing.assert_allclose(rows.to_array(), pixels.reshape(12, 20) / 255, rtol=1e-6)
    assert list(read_column(tmp_path, "file")[[1, 10]]) == ["img1.png", "img10.png"]  # in natural order
    Image.fromarray(pixels[0, :3]).save(tmp_path / "small.png")
    with pytest.raises(DataError, match=r"2 sizes.*4 × 5.*small\.png \(4 × 3\)"):
        open_rows(tmp_path)
    (tmp_path / "small.png").write_text("hello")
    with pytest.raises(FileProblem, match=r"small\.png.*not a valid image"):
        open_rows(tmp_path)


def test_standard_input(X, monkeypatch):
    def give(content):
        streams._copied_input.cache_clear()
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))

    give(b"a;b\n1,5;2\n3;4\n")
    for _ in range(2):  # it is copied once
        np.testing.assert_array_equal(open_rows("-").to_array(), [[1.5, 2], [3, 4]])
    assert "standard input" in open_rows("-").notes[0]
    for suffix in ("npy", "npz"):
        saved = io.BytesIO()
        (np.save if suffix == "npy" else np.savez)(saved, X)
        give(saved.getvalue())
        np.testing.assert_array_equal(open_rows("-").to_array(), X)
    streams._copied_input.cache_clear()


def test_titles_above_the_header_of_a_sheet(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in [["Report"], [], ["by hand"], ["name", "a", "b"], ["x", 1, 2.5], ["y", 2, 3.5]]:
        book.active.append(row)
    book.save(tmp_path / "x.xlsx")
    table = Table(tmp_path / "x.xlsx", id="name")
    assert (table.names, table.ids.tolist()) == (["a", "b"], ["x", "y"])
    assert "2 lines above the header skipped" in table.notes[0]


@pytest.mark.parametrize("suffix", [".xlsx", ".ods"])
def test_blank_rows_of_a_one_column_sheet_are_missing_values(tmp_path, suffix):
    import openpyxl

    rows = [["a"], [1.0], [None], [3.0], [None]]
    if suffix == ".ods":
        write_ods(tmp_path / "x.ods", rows)
    else:
        book = openpyxl.Workbook()
        for row in rows:
            book.active.append(row)
        book.save(tmp_path / "x.xlsx")
    np.testing.assert_array_equal(open_rows(tmp_path / f"x{suffix}").to_array(), [[1], [np.nan], [3]])


def test_a_key_that_appears_late_in_json_lines_is_an_error(tmp_path, monkeypatch):
    monkeypatch.setattr(arrow_files, "_JSON_BLOCK", 100)
    (tmp_path / "x.jsonl").write_text('{"a": 1, "b": 2.5}\n' * 20 + '{"a": 1, "b": 3, "late": 4}\n')
    with pytest.raises(DataError, match=r"later line.*key.*first line"):
        open_rows(tmp_path / "x.jsonl").to_array()
    # a column of several types does not prevent reading another one
    (tmp_path / "y.jsonl").write_text('{"a": 1, "b": 2}\n' * 20 + '{"a": 1, "b": "text"}\n')
    np.testing.assert_array_equal(open_rows(tmp_path / "y.jsonl", columns=["a"]).to_array(), np.ones((21, 1)))


@pytest.mark.parametrize("suffix", [".feather", ".jsonl", ".xlsx", ".ods", ".h5ad", "sparse.h5ad"])
def test_damaged_files_are_errors_of_lowland(tmp_path, monkeypatch, suffix):
    """Every library raises its own errors; the hunt damages many more files."""
    monkeypatch.syspath_prepend(str(Path(__file__).parents[3]))
    from hunt.areas import data_files
    from hunt.attempt import attempt

    first = data_files.FORMATS.index(suffix)
    found = [attempt(data_files.AREA, first + 14 * i) for i in range(30)]
    assert not [each for each in found if each.outcome not in ("done", "refused")]
    assert len({each.outcome for each in found}) == 2


@pytest.mark.parametrize("change", [{"shape": (29, 3)}, {"shape": (31, 3)}, {"encoding-type": "unknown"}])
def test_a_sparse_matrix_that_contradicts_itself_is_an_error(X, tmp_path, change):
    import h5py

    write_h5ad(tmp_path / "x.h5ad", X, "csr")
    with h5py.File(tmp_path / "x.h5ad", "r+") as file:
        file["X"].attrs.update(change)
    with pytest.raises((DataError, FileProblem), match=r"index pointers do not fit|encoding 'unknown'"):
        open_rows(tmp_path / "x.h5ad")

"""File formats: Parquet, Arrow, numpy files, data frames, spreadsheets, AnnData, images."""

import decimal
import io
import sys
import zipfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
import scipy.sparse
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import lowland
from lowland import PCA, Table, TablePreparer, TruncatedSVD, config, look
from lowland.data import files as streams
from lowland.data import rows as rows_module
from lowland.data.formats import arrow_files
from lowland.data.open import open_labelled, open_rows, open_table, read_column
from lowland.errors import (
    DataError,
    DataTypeError,
    DataWarning,
    FileProblem,
    MemoryBudgetError,
    MissingFile,
    ParameterError,
)

# --- parquet: folders of files, different types, damage ---


@pytest.fixture
def X():
    return np.random.default_rng(0).standard_normal((30, 3)).round(3)


def whole(rows):
    return np.concatenate([np.asarray(chunk) for chunk in rows.chunks()])


def test_folders_of_parquet_files(X, tmp_path):
    with pytest.raises(MissingFile, match=r"\.parquet"):
        open_rows(tmp_path)
    pa.parquet.write_table(pa.table({"a": X[:, 0]}), tmp_path / "0.parquet")
    pa.parquet.write_table(pa.table({"b": X[:, 0]}), tmp_path / "1.parquet")
    with pytest.raises(DataError, match=r"1\.parquet.*'b'.*'a'.*same columns"):
        open_rows(tmp_path)


def test_a_folder_holds_parts_of_the_same_columns_and_no_folders(tmp_path):
    pa.parquet.write_table(pa.table({"a": [1.0]}), tmp_path / "part.2.parquet")
    pa.parquet.write_table(pa.table({"a": [1.0], "b": [2.0]}), tmp_path / "part.10.parquet")
    with pytest.raises(DataError, match=r"part\.10\.parquet.* 2 columns.*part\.2\.parquet has 1"):
        open_rows(tmp_path)
    (tmp_path / "y=1").mkdir()
    (tmp_path / "part.10.parquet").rename(tmp_path / "y=1" / "1.parquet")
    with pytest.raises(DataError, match="one folder"):
        open_rows(tmp_path)


def test_damage_in_the_middle_of_a_parquet_file(X, tmp_path):
    path = tmp_path / "x.parquet"
    pa.parquet.write_table(pa.table({"a": X[:, 0], "b": X[:, 1]}), path, compression="zstd", row_group_size=50)
    data = bytearray(path.read_bytes())
    data[4:60] = bytes(56)  # the head of the first page
    path.write_bytes(bytes(data))
    with pytest.raises(OSError, match="Write it again"):
        whole(open_rows(path))


def test_parquet_files_of_different_types(tmp_path):
    single, double = pa.array([1, 2], pa.float32()), pa.array([0.1, None], pa.float64())
    pa.parquet.write_table(pa.table({"a": pa.array([1, 2]), "b": single}), tmp_path / "0.parquet")
    pa.parquet.write_table(pa.table({"a": double, "b": single}), tmp_path / "1.parquet")
    np.testing.assert_array_equal(whole(open_rows(tmp_path)), [[1, 1], [2, 2], [0.1, 1], [np.nan, 2]])
    assert open_rows(tmp_path, columns=["b"]).dtype == np.float32
    pa.parquet.write_table(pa.table({"a": ["x", "y"], "b": single}), tmp_path / "2.parquet")
    with pytest.raises(DataTypeError, match=r"'a' of 2\.parquet.*text.*0\.parquet numbers"):
        open_rows(tmp_path)
    with pytest.raises(DataTypeError, match=r"'a' of 2\.parquet"):
        read_column(tmp_path, "a")
    assert list(read_column(tmp_path, "b")) == [1, 2] * 3


def test_the_parts_of_a_folder_are_read_in_natural_order(tmp_path):
    for part in range(12):
        pa.parquet.write_table(
            pa.table({"a": [float(part)], "y": [f"class {part}"]}), tmp_path / f"part.{part}.parquet"
        )
    np.testing.assert_array_equal(whole(open_rows(tmp_path, drop=["y"]))[:, 0], np.arange(12))
    assert list(read_column(tmp_path, "y")) == [f"class {part}" for part in range(12)]


def test_a_part_of_missing_values_fits_every_type(tmp_path):
    pa.parquet.write_table(pa.table({"y": pa.nulls(2)}), tmp_path / "0.parquet")
    pa.parquet.write_table(pa.table({"y": ["u", "v"]}), tmp_path / "1.parquet")
    pa.parquet.write_table(pa.table({"y": pa.array(["u", "w"]).dictionary_encode()}), tmp_path / "2.parquet")
    assert list(read_column(tmp_path, "y"))[2:] == ["u", "v", "u", "w"]


def test_two_columns_of_one_name(tmp_path):
    path = tmp_path / "x.parquet"
    pa.parquet.write_table(pa.table([[1.0, 2.0], [3.0, 4.0], ["u", "v"]], names=["a", "a", "y"]), path)
    for action in (
        lambda: open_rows(path),
        lambda: read_column(path, "a"),
        lambda: open_table(path).first_text_column(),
    ):
        with pytest.raises(DataError, match="Duplicate column name 'a'"):
            action()


# --- arrow batches become slabs whatever the layout of the file; their types become floats ---


@settings(max_examples=30, deadline=None)
@given(n=st.integers(1, 400), group=st.integers(1, 300))
def test_any_row_groups_give_the_same_rows(n, group):
    import tempfile

    X = np.arange(2.0 * n).reshape(n, 2)
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(rows_module, "SLAB_BYTES", 16 * 50)
        pa.parquet.write_table(pa.table({"a": X[:, 0], "b": X[:, 1]}), f"{folder}/x.parquet", row_group_size=group)
        np.testing.assert_array_equal(whole(open_rows(f"{folder}/x.parquet")), X)


# --- numpy's files: archives, memory maps, sparse matrices, and damaged or malicious files ---


def test_npz_and_memory_maps(X, tmp_path):
    np.savez(tmp_path / "one.npz", anything=X)
    np.savez(tmp_path / "named.npz", X=X, y=np.ones(3))
    np.savez(tmp_path / "two.npz", a=X, b=X)
    np.testing.assert_array_equal(whole(open_rows(tmp_path / "one.npz")), X)
    np.testing.assert_array_equal(whole(open_rows(tmp_path / "named.npz")), X)
    np.savez(tmp_path / "none.npz")
    with pytest.raises(DataError, match="contains no array"):
        open_rows(tmp_path / "none.npz")
    with pytest.raises(DataError, match="'a', 'b'"):
        open_rows(tmp_path / "two.npz")
    np.save(tmp_path / "x.npy", X.astype(">f4"))
    rows = open_rows(tmp_path / "x.npy")
    assert isinstance(rows.X, np.memmap)
    assert rows.dtype == np.float32


def test_pickles_are_never_opened(tmp_path):
    np.save(tmp_path / "evil.npy", np.array([{"a": 1}], dtype=object), allow_pickle=True)
    with pytest.raises(OSError, match="npy"):
        open_rows(tmp_path / "evil.npy")


def test_a_sparse_file_that_is_damaged_is_refused(tmp_path):
    S = sp.eye_array(5).tocsr()
    parts = {"format": b"csr", "shape": S.shape, "data": S.data, "indptr": S.indptr}
    np.savez(tmp_path / "beyond.npz", indices=S.indices + 3, **parts)
    np.savez(tmp_path / "part.npz", **parts)
    for name in ("beyond.npz", "part.npz"):
        with pytest.raises((DataError, FileProblem), match=name):
            open_rows(tmp_path / name)


# --- frames of pandas, polars and pyarrow: their types and their names ---


def test_frames_of_every_kind():
    import pandas as pd
    import polars as pl

    columns = {"a": [1, 2, 3], "b": [1.5, 2.5, 3.5], "c": [True, False, True]}
    expected = [[1, 1.5, 1], [2, 2.5, 0], [3, 3.5, 1]]
    for frame in (
        pd.DataFrame(columns),
        pl.DataFrame(columns),
        pa.table(columns),
        pd.DataFrame(columns).convert_dtypes(),
    ):
        rows = open_rows(frame)
        assert rows.names == ("a", "b", "c")
        np.testing.assert_array_equal(whole(rows), expected)
        assert rows.dtype == np.float64
    assert open_rows(pl.DataFrame({"a": [1.0, 2.0]}).cast(pl.Float32)).dtype == np.float32
    assert open_rows(pd.DataFrame(np.ones((2, 2)))).names is None
    gap = pd.DataFrame({"a": pd.array([1, None, 3], dtype="Int64"), "b": [1.0, 2.0, 3.0]})
    assert np.isnan(whole(open_rows(gap))).sum() == 1
    with pytest.raises(DataTypeError, match="collect"):
        open_rows(pl.DataFrame(columns).lazy())


def test_names_of_frames(X):
    import pandas as pd

    with pytest.raises(TypeError, match="only supported if all input features have string names"):
        open_rows(pd.DataFrame(X, columns=[1, "1", 2]))
    rows = open_rows(pd.DataFrame(X, columns=[2, 1, 0]))
    assert rows.names is None
    np.testing.assert_array_equal(whole(rows), X)
    for frame in (pd.DataFrame(X, columns=list("aab")), pa.table([X[:, 0], X[:, 1]], names=["a", "a"])):
        with pytest.raises(DataError, match="Duplicate column name 'a'"):
            open_rows(frame)
    with pytest.raises(DataTypeError, match="text, dates or categories"):
        open_rows(pd.DataFrame({"a": pd.Categorical([1, 2])}))
    np.testing.assert_array_equal(whole(open_rows(pa.record_batch({"a": X[:, 0], "b": X[:, 1]}))), X[:, :2])


# --- arrow, json lines, spreadsheets, anndata, several arrays, images, standard input ---


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
    second = open_rows(tmp_path / "x.xlsx", sheet="Second", header=False)
    np.testing.assert_array_equal(second.to_array(), [[1, 2]])
    with pytest.raises(ParameterError, match=r"sheet='Third'.*'Second'"):
        open_rows(tmp_path / "x.xlsx", sheet="Third")
    (tmp_path / "y.xlsx").write_text("hello")
    with pytest.raises(FileProblem, match=r"not a valid \.xlsx"):
        open_rows(tmp_path / "y.xlsx")


def write_sheet(path, rows, title="Sheet"):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in rows:
        book.active.append(row)
    book.active.title = title
    book.save(path)
    return book


def test_a_first_row_of_numbers_in_a_sheet(tmp_path):
    path = tmp_path / "x.xlsx"
    write_sheet(path, [[2019, 2020, 2021], [1.5, 2.5, 3.5]])
    with pytest.warns(DataWarning, match=r"only numbers.*first row.*header=True"):
        assert open_rows(path).to_array().shape == (2, 3)
    assert open_rows(path, header=True).names == ("2019", "2020", "2021")
    write_sheet(path, [[0, 1, 2], [1.5, 2.5, 3.5]])
    with pytest.warns(DataWarning, match=r"taken for column names.*header=False"):
        assert open_rows(path).names == ("0", "1", "2")
    write_sheet(path, [[5.1, 3.5, "setosa"], [4.9, 3.0, "virginica"], [6.1, 2.9, "setosa"]])
    with pytest.warns(DataWarning, match=r"'5\.1' is a number"):
        open_rows(path, columns=["3.5"])
    write_ods(tmp_path / "x.ods", [[2019.0, 2020.0], [1.5, 2.5]])
    assert open_rows(tmp_path / "x.ods", header=True).names == ("2019", "2020")


def test_numbers_written_as_text_with_a_decimal_comma_in_a_sheet(tmp_path):
    write_sheet(tmp_path / "x.xlsx", [["a", "b", "c"], ["(0,461)", "0,461%", "−0,5"], ["0,5", "2%", "0,512"]])
    rows = open_rows(tmp_path / "x.xlsx")
    np.testing.assert_array_equal(rows.to_array(), [[-0.461, 0.461, -0.5], [0.5, 2, 0.512]])
    assert "decimal comma in 'a', 'b', 'c'" in rows.notes[0]


def test_a_sheet_behind_a_chart_and_a_sheet_that_states_a_wrong_size(tmp_path):
    chart = pytest.importorskip("openpyxl.chart")
    book = write_sheet(tmp_path / "x.xlsx", [["a", "b"], [1, 2], [3, 4]])
    bars = chart.BarChart()
    bars.add_data(chart.Reference(book.active, min_col=1, min_row=1, max_row=3))
    book.create_chartsheet("Chart", 0).add_chart(bars)
    book.save(tmp_path / "x.xlsx")
    np.testing.assert_array_equal(open_rows(tmp_path / "x.xlsx").to_array(), [[1, 2], [3, 4]])
    with zipfile.ZipFile(tmp_path / "x.xlsx") as old, zipfile.ZipFile(tmp_path / "y.xlsx", "w") as new:
        for name in old.namelist():
            new.writestr(name, old.read(name).replace(b'ref="A1:B3"', b'ref="A1:A2"'))
    np.testing.assert_array_equal(open_rows(tmp_path / "y.xlsx").to_array(), [[1, 2], [3, 4]])


@pytest.mark.parametrize("write", ["write_ipc", "write_parquet", None])
def test_text_of_polars(tmp_path, write):
    import polars as pl

    frame = pl.DataFrame(
        {"a": [1.0, 2.0, 3.0], "s": ["u", "v", "u"], "c": pl.Series(["u", "v", "u"], dtype=pl.Enum(["v", "u"]))}
    )
    source = tmp_path / f"x{'.parquet' if write == 'write_parquet' else '.arrow'}"
    getattr(frame, write)(source) if write else None
    source = source if write else frame.to_arrow(compat_level=pl.CompatLevel.newest())
    with pytest.raises(DataTypeError, match="'s'"):
        open_rows(source)
    assert list(read_column(source, "s")) == ["u", "v", "u"]
    assert [column.kind for column in look(source).columns] == ["integer", "category", "ordered"]
    expected = [[1, 1, 0, 1], [2, 0, 1, 0], [3, 1, 0, 1]]
    np.testing.assert_array_equal(TablePreparer(standardize=False).fit_transform(source)[:, [0, 2, 3, 1]], expected)


@pytest.mark.parametrize("depth", [100, 2000, 20_000])
def test_deeply_nested_json_is_refused(tmp_path, depth):
    path = tmp_path / "x.jsonl"
    for opening in ("[", '["]]]", ', '["\\"]", ', "[\n"):
        path.write_text('{"a": 0, "b": []}\n{"a": 1, "b": ' + opening * depth + "]" * depth + "}\n")
        with pytest.raises(DataError, match="nested more than 100 levels"):
            open_rows(path, columns=["a"]).to_array()
    path.write_text('{"a": 1, "b": "' + "[" * depth + '\\"["}\n{"a": 2, "b": "]"}\n')  # text, not lists
    np.testing.assert_array_equal(open_rows(path, columns=["a"]).to_array(), [[1], [2]])
    path.write_text('{"a": 1, "b": ' + "[" * 99 + "]" * 99 + "}\n")
    assert open_rows(path, columns=["a"]).to_array() == 1


def test_titles_above_the_header_of_a_sheet(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in [["Report"], [], ["by hand"], ["name", "a", "b"], ["x", 1, 2.5], ["y", 2, 3.5]]:
        book.active.append(row)
    book.save(tmp_path / "x.xlsx")
    table = Table(tmp_path / "x.xlsx", id="name")
    assert (table.names, table.ids.tolist()) == (["a", "b"], ["x", "y"])
    assert "2 lines above the header skipped" in table.notes[0]


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


def test_anndata_with_names_that_may_be_missing(X, tmp_path):
    import h5py

    path = tmp_path / "x.h5ad"
    write_h5ad(path, X, "dense")
    with h5py.File(path, "r+") as file:
        for place in ("obs/cell", "var/gene"):
            names = file[place][:]
            del file[place]
            group = file.create_group(place)
            group["values"], group["mask"] = names, np.zeros(len(names), dtype=bool)
            group.attrs["encoding-type"] = "nullable-string-array"
    assert open_rows(path).names == ("gene 0", "gene 1", "gene 2")
    assert list(read_column(path, "cell")[:2]) == ["cell 0", "cell 1"]


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


def test_decimals_and_booleans(tmp_path):
    table = pa.table({"a": [decimal.Decimal("1.5"), None], "b": [True, False], "c": pa.nulls(2)})
    pa.parquet.write_table(table, tmp_path / "x.parquet")
    np.testing.assert_array_equal(whole(open_rows(tmp_path / "x.parquet")), [[1.5, 1, np.nan], [np.nan, 0, np.nan]])
    (tmp_path / "x.csv").write_text("a,b\ntrue,1\nfalse,2\n,3\n")
    np.testing.assert_array_equal(whole(open_rows(tmp_path / "x.csv")), [[1, 1], [0, 2], [np.nan, 3]])


def test_anndata_in_slabs_gives_the_same_fit(X, tmp_path, monkeypatch):
    write_h5ad(tmp_path / "x.h5ad", np.where(X > 0, X, 0), "csr")
    monkeypatch.setattr("lowland.data.formats.h5ad.SPARSE_SLAB_ROWS", 7)
    np.testing.assert_allclose(
        PCA(2).fit(tmp_path / "x.h5ad").explained_variance_, PCA(2).fit(np.where(X > 0, X, 0)).explained_variance_
    )


# --- files that need more memory than the budget ---


def write_repeated(path):
    """A sheet of a million rows of a thousand cells, in a kilobyte."""
    cell = "<table:table-cell office:value-type='float' office:value='1' table:number-columns-repeated='1000'/>"
    write_ods(path, [["a"]])
    with zipfile.ZipFile(path) as archive:
        text = archive.read("content.xml").decode()
    with zipfile.ZipFile(path, "w") as archive:
        rows = f"<table:table-row table:number-rows-repeated='1000000'>{cell}</table:table-row>"
        archive.writestr("content.xml", text.replace("</table:table-row>", f"</table:table-row>{rows}", 1))


def write_long_cell(path):
    """A sheet with one cell of 30 MB, which is compressed to 30 kB."""
    write_sheet(path, [["a"], ["MARK"]])
    with zipfile.ZipFile(path) as old:
        parts = {name: old.read(name).replace(b"MARK", b"x" * 30_000_000) for name in old.namelist()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as new:
        for name, data in parts.items():
            new.writestr(name, data)


def write_rows_of_text(path):
    path.write_text("a,b\n" + "1,2\n" * 2_000_000)


BEYOND = {
    "zeros.npz": lambda path: np.savez_compressed(path, X=np.zeros((10**6, 4))),
    "wide.npz": lambda path: sp.save_npz(path, sp.csr_array(([1.0], ([0], [5])), shape=(5, 2 * 10**9))),
    "tall.npz": lambda path: sp.save_npz(path, sp.csc_array(([1.0], ([5], [0])), shape=(2 * 10**9, 5))),
    "repeated.ods": write_repeated,
    "long.xlsx": write_long_cell,
    "x.parquet": lambda path: pa.parquet.write_table(pa.table({"a": np.ones(2 * 10**6)}), path),
    "x.csv": write_rows_of_text,
}


@pytest.mark.parametrize("name", BEYOND)
def test_files_beyond_the_budget_are_refused(tmp_path, name):
    BEYOND[name](tmp_path / name)
    with config(memory="20MB"), pytest.raises(MemoryBudgetError, match="budget is 20 MB"):
        open_rows(tmp_path / name).to_array()


def test_a_library_without_memory_raises_our_error(tmp_path, monkeypatch):
    pa.parquet.write_table(pa.table({"a": np.ones(100)}), tmp_path / "x.parquet")
    (tmp_path / "x.csv").write_text("a,b\n1,2\n")

    def fail(*arguments):
        raise pa.ArrowMemoryError("malloc of size 128 failed")

    rows = open_rows(tmp_path / "x.parquet")
    monkeypatch.setattr("lowland.data.formats.parquet.cast_batch", fail)
    with pytest.raises(MemoryBudgetError, match="Not enough memory"):
        rows.to_array()
    rows = open_rows(tmp_path / "x.csv")
    monkeypatch.setattr(rows, "convert", fail)
    with pytest.raises(MemoryBudgetError, match="Not enough memory"):
        rows.to_array()


# --- sparse matrices whose indices are wrong would let compiled code read or write outside of memory ---


def cut(format, part):
    S = forged(format)
    setattr(S, part, getattr(S, part)[:5])
    return S


def forged(format, **changes):
    S = sp.random(200, 30, 0.2, random_state=0, format=format)
    for name, (place, value) in changes.items():
        getattr(S, name)[place] = value
    return S


FORGED = {
    "column": lambda: forged("csr", indices=(5, 2**30)),
    "negative column": lambda: forged("csr", indices=(5, -(2**30))),
    "pointer": lambda: forged("csr", indptr=(10, 2**30)),
    "last pointer": lambda: forged("csr", indptr=(200, 2**30)),
    "negative last pointer": lambda: forged("csr", indptr=(200, -1)),
    "row": lambda: forged("csc", indices=(5, 2**30)),
    "block": lambda: forged("bsr", indices=(5, 2**30)),
    "place": lambda: forged("coo", col=(5, 2**30)),
    "few places": lambda: cut("coo", "row"),
    "few values": lambda: cut("coo", "data"),
    "list": lambda: forged("lil", rows=(3, [10**6]), data=(3, [1.0])),
}


@pytest.mark.parametrize("kind", FORGED)
def test_a_sparse_matrix_with_wrong_indices_is_refused(kind):
    with pytest.raises(DataError, match="indices of the sparse matrix"):
        open_rows(FORGED[kind]())
    with pytest.raises(DataError, match="indices of the sparse matrix"):
        TruncatedSVD(2).fit([forged("csr"), FORGED[kind]()])


@pytest.mark.parametrize("kind", ["csr", "csc"])
@pytest.mark.parametrize(("part", "place"), [("indices", 3), ("indptr", 2), ("shape", 0), ("shape", 1)])
@pytest.mark.parametrize("value", [-(2**31), 2**31 - 1])
def test_a_sparse_matrix_of_anndata_with_wrong_indices_is_refused(tmp_path, kind, part, place, value):
    h5py = pytest.importorskip("h5py")
    path = tmp_path / "x.h5ad"
    write_h5ad(path, np.eye(8), kind)
    with h5py.File(path, "r+") as file:
        forged = file["X"].attrs["shape"] if part == "shape" else file["X"][part][:]
        forged[place] = value
        if part == "shape":
            file["X"].attrs["shape"] = forged
        else:
            file["X"][part][:] = forged
    with pytest.raises((DataError, FileProblem, MemoryBudgetError)):
        TruncatedSVD(2).fit(path)


# --- images and labels in numpy files, and in folders ---


def test_stacked_images_are_rows_of_pixels(tmp_path):
    X = np.random.default_rng(0).integers(0, 255, (12, 5, 4), dtype=np.uint8)
    np.save(tmp_path / "gray.npy", X)
    np.savez(tmp_path / "colors.npz", X=np.stack([X] * 3, axis=3), labels=np.arange(12) % 3)
    gray, colors = open_rows(tmp_path / "gray.npy"), open_rows(tmp_path / "colors.npz")
    assert (gray.image_shape, colors.image_shape) == ((5, 4), (5, 4, 3))
    np.testing.assert_array_equal(gray.to_array(), X.reshape(12, 20))
    assert "12 images of 4 × 5 pixels" in gray.notes[0]
    assert open_rows(X[:, 0].astype(float)).image_shape is None
    with pytest.raises(ValueError, match="Expected 2D array"):
        open_rows(X)  # an array in memory is a table, as in scikit-learn


def test_square_images_are_recognized_in_rows_of_bytes(tmp_path):
    X = np.random.default_rng(0).integers(0, 255, (12, 64), dtype=np.uint8)
    for table, shape in ((X, (8, 8)), (X.astype(float), None), (X[:, :63], None)):
        np.save(tmp_path / "x.npy", table)
        assert open_rows(tmp_path / "x.npy").image_shape == shape


def test_the_labels_of_a_numpy_file(tmp_path):
    X, y = np.random.default_rng(0).standard_normal((30, 4)), np.arange(30) % 3
    np.savez(tmp_path / "x.npz", X=X, y=y, other=np.ones(5))
    table = lowland.Table(tmp_path / "x.npz")
    assert table.label_name == "y"
    np.testing.assert_array_equal(table.labels, y)
    np.testing.assert_array_equal(table.rows.to_array(), X)
    assert lowland.look(tmp_path / "x.npz").label == "y"
    model = lowland.LinearDiscriminantAnalysis().fit(table)
    np.testing.assert_array_equal(model.classes_, [0, 1, 2])
    study = lowland.compare(tmp_path / "x.npz", methods=["pca"], cache=False)
    assert (study.table.label_name, study.table.columns) == ("y", 4)
    np.savez(tmp_path / "u.npz", X=np.where(X[0, 0] == X, np.nan, X * [1, 1, 1, 500]), y=y)  # prepared, not as it is
    study = lowland.compare(tmp_path / "u.npz", methods=["pca"], cache=False)
    assert (study.trials[0].status, study.table.scaled, study.table.label_name) == ("done", True, "y")
    np.savez(tmp_path / "named.npz", images=X, labels=y)  # one array is left, which needs no name
    table = lowland.Table(tmp_path / "named.npz")
    assert (table.label_name, table.rows.shape) == ("labels", (30, 4))
    np.savez(tmp_path / "z.npz", X=X, y=y[:20])  # of other rows
    assert lowland.Table(tmp_path / "z.npz").label_name is None


def test_subfolders_of_images_are_labels(tmp_path):
    image = pytest.importorskip("PIL.Image")
    for i in range(12):
        folder = tmp_path / "pets" / ("cats" if i % 2 else "dogs")
        folder.mkdir(parents=True, exist_ok=True)
        image.fromarray(np.full((3, 2), 20 * i, dtype=np.uint8)).save(folder / f"{i}.png")
    table = lowland.Table(tmp_path / "pets")
    assert table.label_name == "folder"
    assert table.labels.tolist() == ["cats"] * 6 + ["dogs"] * 6
    assert table.ids.tolist()[:3] == ["1.png", "3.png", "5.png"]


@pytest.mark.filterwarnings("ignore::lowland.errors.DataWarning")
def test_a_first_row_with_negative_numbers_of_bookkeepers_is_no_header(tmp_path):
    (tmp_path / "x.tsv").write_text(" 1437.963 \t(8.5)\n24647.106\t7.2\n1.5\t−2.5\n", encoding="utf-8")
    rows = open_rows(tmp_path / "x.tsv")
    assert rows.names == ("x0", "x1")
    assert rows.to_array().tolist() == [[1437.963, -8.5], [24647.106, 7.2], [1.5, -2.5]]

"""Everything a user can pass becomes Rows; files are cut into slabs that do not depend on their layout."""

import decimal
import gzip
import os

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from lowland.data import rows as rows_module
from lowland.data.open import open_rows, read_column
from lowland.errors import DataError, DataTypeError, FileProblem, MissingFile, ParameterError


@pytest.fixture
def X():
    return np.random.default_rng(0).standard_normal((500, 3))


@pytest.fixture
def small_slabs(monkeypatch):
    monkeypatch.setattr(rows_module, "SLAB_BYTES", 24 * 64)


def whole(rows):
    return np.concatenate([np.asarray(chunk) for chunk in rows.chunks()])


def test_slabs_depend_on_shape_and_dtype_alone(X, small_slabs, tmp_path):
    table = pa.table({name: X[:, j] for j, name in enumerate("abc")})
    sources = [X, np.asfortranarray(X), table]
    for size in (7, 100, 500):
        pa.parquet.write_table(table, tmp_path / f"{size}.parquet", row_group_size=size)
        sources.append(tmp_path / f"{size}.parquet")
    pa.csv.write_csv(table, tmp_path / "x.csv")
    sources.append(tmp_path / "x.csv")
    heights = [[len(chunk) for chunk in open_rows(source).chunks()] for source in sources]
    assert heights[0] == [64] * 7 + [52]
    assert all(other == heights[0] for other in heights[1:])
    for source in sources:
        np.testing.assert_allclose(whole(open_rows(source)), X, rtol=1e-12)


@settings(max_examples=30, deadline=None)
@given(n=st.integers(1, 400), group=st.integers(1, 300))
def test_any_row_groups_give_the_same_rows(n, group):
    import tempfile

    X = np.arange(2.0 * n).reshape(n, 2)
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(rows_module, "SLAB_BYTES", 16 * 50)
        pa.parquet.write_table(pa.table({"a": X[:, 0], "b": X[:, 1]}), f"{folder}/x.parquet", row_group_size=group)
        np.testing.assert_array_equal(whole(open_rows(f"{folder}/x.parquet")), X)


def test_rows_can_be_read_again(X, tmp_path):
    np.save(tmp_path / "x.npy", X)
    for source in (X, tmp_path / "x.npy", [X[:10], X[10:]], iter):
        if source is iter:
            continue
        rows = open_rows(source)
        np.testing.assert_array_equal(whole(rows), whole(rows))
        assert rows.d == 3


def test_npz_and_memory_maps(X, tmp_path):
    np.savez(tmp_path / "one.npz", anything=X)
    np.savez(tmp_path / "named.npz", X=X, y=np.ones(3))
    np.savez(tmp_path / "two.npz", a=X, b=X)
    np.testing.assert_array_equal(whole(open_rows(tmp_path / "one.npz")), X)
    np.testing.assert_array_equal(whole(open_rows(tmp_path / "named.npz")), X)
    with pytest.raises(DataError, match="a, b"):
        open_rows(tmp_path / "two.npz")
    np.save(tmp_path / "x.npy", X.astype(">f4"))
    rows = open_rows(tmp_path / "x.npy")
    assert isinstance(rows.X, np.memmap)
    assert rows.dtype == np.float32


def test_pickles_are_never_opened(tmp_path):
    np.save(tmp_path / "evil.npy", np.array([{"a": 1}], dtype=object), allow_pickle=True)
    with pytest.raises(OSError, match="npy"):
        open_rows(tmp_path / "evil.npy")


def test_csv_in_all_its_forms(X, tmp_path):
    (tmp_path / "late.csv").write_text("a,b\n1,2\n" + "3,4\n" * 5 + "5.5,6\n")
    assert whole(open_rows(tmp_path / "late.csv"))[-1, 0] == 5.5
    with gzip.open(tmp_path / "x.csv.gz", "wt") as file:
        file.write("a,b\n1,2\n3,4\n")
    np.testing.assert_array_equal(whole(open_rows(tmp_path / "x.csv.gz")), [[1, 2], [3, 4]])
    (tmp_path / "x.tsv").write_text("a\tb\n1\t2\n")
    assert open_rows(tmp_path / "x.tsv").names == ("a", "b")
    (tmp_path / "gap.csv").write_text("a,b\n1,2\n,4\n")
    assert np.isnan(whole(open_rows(tmp_path / "gap.csv"))[1, 0])
    (tmp_path / "twice.csv").write_text("a,a,b\n1,2,3\n")
    with pytest.raises(DataError, match="more than one column 'a'"):
        open_rows(tmp_path / "twice.csv")
    (tmp_path / "torn.csv.gz").write_bytes((tmp_path / "x.csv.gz").read_bytes()[:15])
    with pytest.raises(OSError, match="torn"):
        whole(open_rows(tmp_path / "torn.csv.gz"))


def test_decimals_after_whole_numbers_in_a_later_block(tmp_path, monkeypatch):
    monkeypatch.setattr("lowland.data.formats.csv_table._BLOCK", 64)
    (tmp_path / "x.csv").write_text("a,b\n" + "1,2\n" * 50 + "3.5,4\n")
    assert whole(open_rows(tmp_path / "x.csv"))[-1, 0] == 3.5
    (tmp_path / "y.csv").write_text("a,b\n" + "1,2\n" * 50 + "oops,4\n")
    with pytest.raises(DataError, match="oops"):
        whole(open_rows(tmp_path / "y.csv"))


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


def test_folders_of_parts(X, tmp_path):
    with pytest.raises(MissingFile, match=r"\.parquet"):
        open_rows(tmp_path)
    pa.parquet.write_table(pa.table({"a": X[:, 0]}), tmp_path / "0.parquet")
    pa.parquet.write_table(pa.table({"b": X[:, 0]}), tmp_path / "1.parquet")
    with pytest.raises(DataError, match="other columns"):
        open_rows(tmp_path)


def test_damage_in_the_middle_of_a_parquet_file(X, tmp_path):
    path = tmp_path / "x.parquet"
    pa.parquet.write_table(pa.table({"a": X[:, 0], "b": X[:, 1]}), path, compression="zstd", row_group_size=50)
    data = bytearray(path.read_bytes())
    data[4:60] = bytes(56)  # the head of the first page
    path.write_bytes(bytes(data))
    with pytest.raises(OSError, match="Write it again"):
        whole(open_rows(path))


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


def test_float16_and_big_endian_and_bool(X):
    assert open_rows(X.astype(np.float16)).dtype == np.float32
    assert open_rows(X.astype(">f8")).dtype == np.float64
    np.testing.assert_array_equal(whole(open_rows(X > 0)), (X > 0).astype(float))


# --- chunks ---


def test_chunks_with_other_columns_are_refused(X, tmp_path):
    import pandas as pd

    frame = pd.DataFrame(X, columns=list("abc"))
    with pytest.raises(DataError, match="Column 0 of chunk 1 is 'b'"):
        whole(open_rows([frame, frame[["b", "a", "c"]]]))
    assert open_rows([frame, X]).names == ("a", "b", "c")
    for name, part in (("0", frame), ("1", frame[["c", "b", "a"]])):
        part.to_parquet(tmp_path / f"{name}.parquet")
    with pytest.raises(DataError, match="same order"):
        whole(open_rows([tmp_path / "0.parquet", tmp_path / "1.parquet"]))
    again = [str(tmp_path / "0.parquet")] * 2
    np.testing.assert_array_equal(whole(open_rows(again)), np.concatenate([X, X]))


def test_what_can_be_read_only_once_is_refused(X):
    class Once:
        def __init__(self):
            self.chunks = iter([X, X])

        def __iter__(self):
            return self.chunks

    for source in (Once(), iter([X]), (chunk for chunk in [X])):
        with pytest.raises(DataTypeError, match="only once"):
            open_rows(source)


def test_nested_chunks_and_pairs(X):
    class Nested:
        def __iter__(self):
            yield [X[:100], X[100:200]]
            yield [X[200:]]

    rows = open_rows(Nested())
    np.testing.assert_array_equal(whole(rows), X)
    assert [rows.height(piece) for piece in rows.pieces()] == [100, 100, 300]
    with pytest.raises(DataError, match="Chunk 0 is a tuple; yield the rows alone"):
        open_rows([(X, np.ones(500)), (X, np.ones(500))])


def test_chunks_of_tensors_of_two_precisions(X):
    torch = pytest.importorskip("torch")
    single, double = torch.asarray(X, dtype=torch.float32), torch.asarray(X)
    assert [chunk.dtype for chunk in open_rows([double, single]).chunks()] == [torch.float64] * 2
    assert [chunk.dtype for chunk in open_rows([single, double]).chunks()] == [torch.float32] * 2
    with pytest.raises(DataTypeError, match="to_dense"):
        open_rows(single.to_sparse())


# --- sparse ---


def test_duplicate_entries_are_summed_and_the_matrix_stays():
    X = sp.csr_matrix((np.array([1.0, 2.0, 3.0]), np.array([1, 1, 0]), np.array([0, 2, 3])), shape=(2, 2))
    (chunk,) = open_rows(X).chunks()
    np.testing.assert_array_equal(chunk.data, [3, 3])
    np.testing.assert_array_equal(X.data, [1, 2, 3])
    with pytest.raises(DataError, match="2D"):
        open_rows(sp.coo_array(np.ones(3)))


def test_non_finite_values_of_sparse_rows_are_counted_sparsely():
    X = sp.csr_matrix((np.array([np.nan, np.inf, np.nan]), np.array([5, 7, 5]), np.array([0, 1, 3])), shape=(2, 2**40))
    X = X[:, :9]
    error = str(open_rows(X).non_finite_error())
    assert "NaN (2 values) and infinity (1 value) in columns 5, 7 of X, 2 rows" in error


# --- names ---


def test_names_of_frames(X):
    import pandas as pd

    with pytest.raises(TypeError, match="only supported if all input features have string names"):
        open_rows(pd.DataFrame(X, columns=[1, "1", 2]))
    rows = open_rows(pd.DataFrame(X, columns=[2, 1, 0]))
    assert rows.names is None
    np.testing.assert_array_equal(whole(rows), X)
    for frame in (pd.DataFrame(X, columns=list("aab")), pa.table([X[:, 0], X[:, 1]], names=["a", "a"])):
        with pytest.raises(DataError, match="more than one column 'a'"):
            open_rows(frame)
    with pytest.raises(DataTypeError, match="text, dates or categories"):
        open_rows(pd.DataFrame({"a": pd.Categorical([1, 2])}))
    np.testing.assert_array_equal(whole(open_rows(pa.record_batch({"a": X[:, 0], "b": X[:, 1]}))), X[:, :2])


def test_columns_are_chosen_of_frames_and_files_only(X):
    for source in (X, sp.csr_matrix(X), [X, X], open_rows(X)):
        for choice in ({"columns": ["a"]}, {"drop": ["a"]}):
            with pytest.raises(ParameterError, match="by name"):
                open_rows(source, **choice)
    with pytest.raises(DataError, match="0 feature"):
        open_rows(pa.table({"a": X[:, 0]}), columns=[])


# --- kinds that are refused, each with its reason ---


def test_what_is_no_table(X, tmp_path):
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


def test_paths_in_all_their_forms(X, tmp_path, monkeypatch):
    np.save(tmp_path / "x.npy", X)
    monkeypatch.setenv("HOME", str(tmp_path))
    for path in ("~/x.npy", os.fsencode(tmp_path / "x.npy")):
        np.testing.assert_array_equal(whole(open_rows(path)), X)
    monkeypatch.setattr("os.access", lambda path, mode: False)
    with pytest.raises(FileProblem, match="permission"):
        open_rows(tmp_path / "x.npy")


# --- files ---


def test_parts_of_different_types(tmp_path):
    single, double = pa.array([1, 2], pa.float32()), pa.array([0.1, None], pa.float64())
    pa.parquet.write_table(pa.table({"a": pa.array([1, 2]), "b": single}), tmp_path / "0.parquet")
    pa.parquet.write_table(pa.table({"a": double, "b": single}), tmp_path / "1.parquet")
    np.testing.assert_array_equal(whole(open_rows(tmp_path)), [[1, 1], [2, 2], [0.1, 1], [np.nan, 2]])
    assert open_rows(tmp_path, columns=["b"]).dtype == np.float32
    pa.parquet.write_table(pa.table({"a": ["x", "y"], "b": single}), tmp_path / "2.parquet")
    with pytest.raises(DataTypeError, match="'a'"):
        open_rows(tmp_path)
    assert list(read_column(tmp_path, "b")) == [1, 2] * 3


def test_decimals_and_booleans(tmp_path):
    table = pa.table({"a": [decimal.Decimal("1.5"), None], "b": [True, False], "c": pa.nulls(2)})
    pa.parquet.write_table(table, tmp_path / "x.parquet")
    np.testing.assert_array_equal(whole(open_rows(tmp_path / "x.parquet")), [[1.5, 1, np.nan], [np.nan, 0, np.nan]])
    (tmp_path / "x.csv").write_text("a,b\ntrue,1\nfalse,2\n,3\n")
    np.testing.assert_array_equal(whole(open_rows(tmp_path / "x.csv")), [[1, 1], [0, 2], [np.nan, 3]])


def test_folders_within_folders(tmp_path):
    (tmp_path / "y=1").mkdir()
    for path in (tmp_path / "0.parquet", tmp_path / "y=1" / "1.parquet"):
        pa.parquet.write_table(pa.table({"a": [1.0]}), path)
    with pytest.raises(DataError, match="one folder"):
        open_rows(tmp_path)


def test_a_csv_that_ends_too_soon(tmp_path, monkeypatch):
    monkeypatch.setattr("lowland.data.formats.csv_table._BLOCK", 2**14)
    text = "a,b\n" + "".join(f"{a},{b}\n" for a, b in np.random.default_rng(0).standard_normal((20_000, 2)))
    (tmp_path / "x.csv.gz").write_bytes(gzip.compress(text.encode(), 1)[:-1000])
    rows = open_rows(tmp_path / "x.csv.gz")
    with pytest.raises(FileProblem, match="damaged"):
        whole(rows)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (b"1,2\n3,4\n", "header"),
        (b"a;b\n1;2\n", "separated by ';'"),
        (b"a;b\n1,5;2,5\n", "separated by ';'"),
        (b"a;b, cm;c\n1;2,5;3,5\n1;2,5;3,5\n", r"separated by ';'.*decimal=','"),  # a comma in a name: ragged
        (b"a;b, cm;c\n1;2;3,5\n1;2;3,5\n", r"separated by ';'.*decimal=','"),  # not ragged, but text
        (b"a\tb, cm\tc\n1\t2,5\t3,5\n", r"separated by '\\t'.*\.tsv"),
        (b'"a;b;c",d\n1,2,3\n', "ragged"),  # a name, which is no separator
        ("é,b\n1,2\n".encode("latin-1"), "UTF-8"),
        ("a,b\n1,2\n".encode("utf-16"), "UTF-8"),
    ],
)
def test_headers_that_mislead(tmp_path, text, words):
    (tmp_path / "x.csv").write_bytes(text)
    with pytest.raises(DataError, match=words):
        open_rows(tmp_path / "x.csv")


def test_a_separator_in_a_name_is_none(tmp_path):
    (tmp_path / "x.csv").write_text("a;b;c,d\n1,2\n3,4\n")
    assert open_rows(tmp_path / "x.csv").names == ("a;b;c", "d")
    (tmp_path / "x.csv").write_text('"a;b"\n1\n3\n')
    assert open_rows(tmp_path / "x.csv").names == ("a;b",)
    (tmp_path / "x.tsv").write_text("a,b\n1\n3\n")
    assert open_rows(tmp_path / "x.tsv").names == ("a,b",)


def test_commas_in_a_file_of_tabs(tmp_path):
    (tmp_path / "x.tsv").write_text("a,b\n1,2\n")
    with pytest.raises(DataError, match=r"separated by ','.*\.csv"):
        open_rows(tmp_path / "x.tsv")


@pytest.mark.parametrize("blank", ["", "NA", "N/A", "nan", "NaN", "null"])
def test_what_is_a_missing_number_is_a_missing_label(tmp_path, blank):
    (tmp_path / "x.csv").write_text(f"a,b,y\n1,2,x\n2,{blank},{blank}\n3,4,None\n4,5,N\n")
    assert np.isnan(open_rows(tmp_path / "x.csv", columns=["b"]).to_array()[1, 0])
    assert list(read_column(tmp_path / "x.csv", "y")) == ["x", None, "None", "N"]


def test_labels_in_another_encoding(tmp_path):
    (tmp_path / "x.csv").write_bytes("a,b\n1,é\n".encode("latin-1"))
    assert whole(open_rows(tmp_path / "x.csv", drop=["b"])) == 1
    with pytest.raises(DataError, match=r"'b'.*UTF-8"):
        read_column(tmp_path / "x.csv", "b")


def test_an_index_that_pandas_wrote_is_no_feature(tmp_path):
    import pandas as pd

    frame = pd.DataFrame({"a": [1.0, 2, 3], "b": [4.0, 5, 7], "plant": [7, 8, 9]})
    frame[frame.a > 1].to_parquet(tmp_path / "filtered.parquet")
    frame.set_index("plant").to_parquet(tmp_path / "named.parquet")
    assert open_rows(tmp_path / "filtered.parquet").names == ("a", "b", "plant")
    assert open_rows(tmp_path / "named.parquet").names == ("a", "b")
    frame.to_csv(tmp_path / "x.csv")
    with pytest.raises(DataError, match=r"no name.*index=False"):
        open_rows(tmp_path / "x.csv")


def test_numbers_that_are_names(tmp_path):
    for header in ("0,1,2", "2019,2020,2021", "400,410,420"):
        (tmp_path / "x.csv").write_text(f"{header}\n1,2,3\n4,5,6\n")
        assert open_rows(tmp_path / "x.csv").names == tuple(header.split(","))


def test_a_sparse_file_that_is_damaged_is_refused(tmp_path):
    S = sp.eye_array(5).tocsr()
    parts = {"format": b"csr", "shape": S.shape, "data": S.data, "indptr": S.indptr}
    np.savez(tmp_path / "beyond.npz", indices=S.indices + 3, **parts)
    np.savez(tmp_path / "part.npz", **parts)
    for name in ("beyond.npz", "part.npz"):
        with pytest.raises(FileProblem, match=r"not a whole \.npz file"):
            open_rows(tmp_path / name)


def test_images_are_made_rows():
    with pytest.raises(DataError, match=r"got 3D array instead. Reshape your data: X.reshape\(len\(X\), -1\)"):
        open_rows(np.zeros((4, 3, 3)))

"""Rows can be read repeatedly, in slabs that depend only on shape and dtype."""

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
import scipy.sparse as sp

from lowland.data import rows as rows_module
from lowland.data.open import open_rows
from lowland.errors import DataError, DataTypeError


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
    assert heights[0] == [63] * 7 + [59]  # eight slabs of 500 rows, at most 64 each
    assert all(other == heights[0] for other in heights[1:-1])
    assert heights[-1] == [64] * 7 + [52]  # the number of rows of a CSV file is not known before
    for source in sources:
        np.testing.assert_allclose(whole(open_rows(source)), X, rtol=1e-12)


def test_float16_big_endian_booleans_and_masks_of_nothing(X):
    assert open_rows(X.astype(np.float16)).dtype == np.float32
    np.testing.assert_array_equal(whole(open_rows(X.astype(np.float16))), X.astype(np.float16))
    assert open_rows(X.astype(">f8")).dtype == np.float64
    for source in (X.astype(">f8"), np.ma.masked_array(X)):
        np.testing.assert_array_equal(whole(open_rows(source)), X)
    np.testing.assert_array_equal(whole(open_rows(X > 0)), (X > 0).astype(float))


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


def test_nested_chunks_and_pairs(X):
    class Nested:
        def __iter__(self):
            yield [X[:100], X[100:200]]
            yield [X[200:]]

    rows = open_rows(Nested())
    np.testing.assert_array_equal(whole(rows), X)
    assert [rows.height(piece) for piece in rows.pieces()] == [100, 100, 300]
    with pytest.raises(DataError, match=r"Chunk 0 is a tuple.*only the rows"):
        open_rows([(X, np.ones(500)), (X, np.ones(500))])


def test_chunks_of_tensors_of_two_precisions(X):
    torch = pytest.importorskip("torch")
    single, double = torch.asarray(X, dtype=torch.float32), torch.asarray(X)
    assert [chunk.dtype for chunk in open_rows([double, single]).chunks()] == [torch.float64] * 2
    assert [chunk.dtype for chunk in open_rows([single, double]).chunks()] == [torch.float64] * 2
    with pytest.raises(DataTypeError, match="to_dense"):
        open_rows(single.to_sparse())


def test_duplicate_entries_are_summed_without_changing_the_matrix():
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


def test_the_widest_precision_of_a_list_of_chunks(X, tmp_path):
    exact = 1 + X * 1e-12
    rows = open_rows([X.astype(np.float32), exact])
    assert rows.dtype == np.float64
    np.testing.assert_array_equal(whole(rows)[500:], exact)
    np.testing.assert_array_equal(rows.to_array()[500:], exact)
    assert open_rows([X.astype(np.float32)] * 3).dtype == np.float32
    np.save(tmp_path / "a.npy", X.astype(np.float32))
    np.save(tmp_path / "b.npy", X)
    assert open_rows([tmp_path / "a.npy", tmp_path / "b.npy"]).dtype == np.float64


class Chunks:
    def __init__(self, *chunks):
        self.chunks = chunks

    def __iter__(self):
        return iter(self.chunks)


def test_an_iterable_whose_chunks_become_more_precise(X):
    single = X.astype(np.float32)
    with pytest.raises(DataError, match=r"Chunk 2 has float64.*first has float32"):
        whole(open_rows(Chunks(single, single, X)))
    np.testing.assert_array_equal(whole(open_rows(Chunks(X, single)))[500:], single)


@pytest.mark.parametrize("kind", [list, lambda chunks: Chunks(*chunks)])
def test_an_empty_chunk_is_named(X, kind):
    with pytest.raises(DataError, match=r"Chunk 2: .*0 sample"):
        whole(open_rows(kind([X, X, X[:0], X])))


def test_dense_and_sparse_chunks(X):
    with pytest.raises(DataError, match="Chunk 1 is sparse"):
        whole(open_rows([X, sp.csr_array(X)]))


def test_a_missing_file_of_a_list_is_named(X, tmp_path):
    np.save(tmp_path / "a.npy", X)
    with pytest.raises(FileNotFoundError, match=r"Chunk 1: .*b\.npy"):
        whole(open_rows([tmp_path / "a.npy", tmp_path / "b.npy"]))


def test_mapped_rows_are_those_of_the_source_through_the_map(monkeypatch):
    from lowland.data.rows import MappedRows

    X = np.arange(600.0).reshape(200, 3)
    monkeypatch.setattr("lowland.data.rows.SLAB_BYTES", 500)
    source = open_rows(X)
    rows = MappedRows(source, np.negative)
    assert (rows.shape, rows.slab, rows.slab_bytes, rows.in_memory) == ((200, 3), source.slab, source.slab_bytes, True)
    np.testing.assert_array_equal(np.concatenate(list(rows.chunks())), -X)
    np.testing.assert_array_equal(rows.to_array(), -X)

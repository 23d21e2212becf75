"""Rows are mapped and inverted, whole or in chunks, and refused if they have the wrong shape."""

import numpy as np
import pytest

import lowland
from lowland import PCA
from lowland.data.rows import SlicedRows, slab_rows
from lowland.errors import DataError


@pytest.fixture
def pca(iris):
    return PCA(2).fit(iris.X)


def test_chunks_give_the_whole_in_order(pca, iris):
    chunks = [iris.X[:100], iris.X[100:]]
    Z = pca.transform(iris.X)
    found = list(pca.transform_chunks(chunks))
    assert [len(part) for part in found] == [100, 50]
    np.testing.assert_allclose(np.concatenate(found), Z, atol=1e-12)
    back = np.concatenate(list(pca.inverse_chunks([Z[:100], Z[100:]])))
    np.testing.assert_allclose(back, pca.inverse_transform(Z), atol=1e-12)


def test_coordinates_of_another_width_are_refused(pca):
    with pytest.raises(DataError, match="X has 3 columns, but PCA has 2 components"):
        pca.inverse_transform(np.zeros((5, 3)))


def test_slabs_of_inverse_transform_are_sized_by_the_output_width():
    rng = np.random.default_rng(0)
    pca = PCA(1).fit(rng.standard_normal((20, 3000)))
    rows, _ = pca._rows_to_decode(rng.standard_normal((100_000, 1)))
    assert isinstance(rows, SlicedRows)
    assert rows.slab <= slab_rows(3000, 8)


def test_frames_are_returned_if_requested(iris):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(iris.X, columns=list(iris.names), index=np.arange(150) + 7)
    with lowland.config(output="frame"):
        Z = PCA(2).fit(frame).transform(frame)
    assert list(Z.columns) == ["pca0", "pca1"]
    assert Z.index.equals(frame.index)

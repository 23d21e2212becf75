"""Reconstruction measures compared with the theory of PCA and with the definition."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse

import lowland
from lowland import quality
from lowland.data import load_dataset
from lowland.errors import DataError, DataTypeError


@pytest.fixture(scope="module")
def X():
    return load_dataset("digits").X


@pytest.fixture(scope="module")
def pca(X):
    return lowland.PCA(10).fit(X)


def by_hand(model, X):
    return ((X - model.inverse_transform(model.transform(X))) ** 2).sum(axis=1)


@pytest.mark.parametrize("m", [1, 64])
def test_equals_the_discarded_eigenvalues(X, m):
    pca = lowland.PCA(m).fit(X)
    found = quality.reconstruction_error(pca, X)
    assert found.value == pytest.approx(pca.distortion(m), rel=1e-10, abs=1e-10 * pca.distortion(0))


@pytest.mark.parametrize(
    "model",
    [
        lowland.PCA(6, whiten=True),
        lowland.PCA(6, scale=True),
        lowland.TruncatedSVD(6),
        lowland.Whitening(6),
    ],
    ids=repr,
)
@pytest.mark.parametrize("kind", [np.asarray, scipy.sparse.csr_array, scipy.sparse.csr_matrix])
def test_each_row_equals_the_error_by_hand(X, model, kind):
    model.fit(X)
    found = quality.reconstruction_error(model, kind(X), per_row=True)
    assert type(found.per_row) is np.ndarray
    assert found.per_row.dtype == np.float64
    np.testing.assert_allclose(found.per_row, by_hand(model, X), rtol=1e-9, atol=1e-8)
    assert found.value == pytest.approx(quality.reconstruction_error(model, kind(X)).value, rel=1e-10, abs=1e-10)


def test_frames_keep_their_names_and_raise_no_warning(X):
    frame = pd.DataFrame(X, columns=[f"p{j}" for j in range(64)])
    pca = lowland.PCA(4).fit(frame)
    assert quality.reconstruction_error(pca, frame).value == pytest.approx(pca.distortion(), rel=1e-10)


def test_a_file_in_slabs_gives_the_same(X, pca, tmp_path, monkeypatch):
    monkeypatch.setattr("lowland.data.rows.SLAB_BYTES", 100 * 64 * 8)  # 18 slabs
    path = tmp_path / "digits.npy"
    np.save(path, X)
    found = quality.reconstruction_error(pca, path, per_row=True)
    np.testing.assert_allclose(found.per_row, by_hand(pca, X), rtol=1e-12)
    assert quality.reconstruction_error(pca, path).value == pytest.approx(pca.distortion(), rel=1e-10)
    assert "digits.npy" in found.about


def test_sparse_rows_are_never_made_dense(monkeypatch):
    wide = scipy.sparse.random_array((300, 1500), density=0.01, format="csr", random_state=np.random.default_rng(0))
    svd = lowland.TruncatedSVD(3, random_state=0).fit(wide)
    expected = by_hand(svd, wide.toarray())

    def refuse(*_):
        raise AssertionError("made dense")

    monkeypatch.setattr(type(wide), "toarray", refuse)
    monkeypatch.setattr(type(wide), "todense", refuse)
    found = quality.reconstruction_error(svd, wide, per_row=True)
    np.testing.assert_allclose(found.per_row, expected, rtol=1e-10, atol=1e-12)


def test_tensors(X, pca):
    torch = pytest.importorskip("torch")
    found = quality.reconstruction_error(pca, torch.asarray(X), per_row=True)
    np.testing.assert_allclose(found.per_row, by_hand(pca, X), rtol=1e-12)
    model = lowland.PCA(10).fit(torch.asarray(X))
    assert quality.reconstruction_error(model, torch.asarray(X)).value == pytest.approx(pca.distortion(), rel=1e-10)


def test_dask_arrays(X, pca):
    da = pytest.importorskip("dask.array")
    lazy = da.from_array(X, chunks=(500, 64))
    found = quality.reconstruction_error(pca, lazy, per_row=True)
    np.testing.assert_allclose(found.per_row, by_hand(pca, X), rtol=1e-12)
    assert quality.reconstruction_error(pca, lazy).value == pytest.approx(found.value, rel=1e-12)


def test_float32_far_from_the_origin_measures_the_map_and_not_the_rounding():
    rng = np.random.default_rng(1)
    X = (rng.standard_normal((400, 5)) * [3, 2, 1, 0.1, 0.1] + 1e4).astype(np.float32)
    pca = lowland.PCA(3).fit(X)
    exact = lowland.PCA(3).fit(X.astype(np.float64))
    assert quality.reconstruction_error(pca, X).value == pytest.approx(exact.distortion(), rel=1e-4)


def test_explained_variance_ratio_is_the_sum_of_the_ratios(X, pca):
    found = quality.explained_variance_fraction(pca, X)
    assert found.value == pytest.approx(pca.explained_variance_ratio_.sum(), rel=1e-12)
    assert found.better == "higher"
    assert found.name == "explained variance ratio"


def test_invalid_input_is_refused(X, pca):
    with pytest.raises(DataTypeError, match=r"object has no inverse transform.*such as PCA"):
        quality.reconstruction_error(object(), X)
    with pytest.raises(DataError, match="63 features"):
        quality.reconstruction_error(pca, X[:, 1:])
    with pytest.raises(DataError, match="NaN"):
        quality.reconstruction_error(pca, np.where(X == 16, np.nan, X))
    with pytest.raises(DataError, match="no variance"):
        quality.explained_variance_fraction(pca, np.ones((3, 64)))

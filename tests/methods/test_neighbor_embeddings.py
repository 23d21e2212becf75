"""What TSNE, UMAP, PaCMAP and LocalMAP do alike: the precision of a map, and rows that are all equal."""

import numpy as np
import pytest
import scipy.sparse

import lowland
from lowland.data import load_dataset
from lowland.errors import DataWarning
from lowland.methods.base.traits import traits_of
from lowland.methods.registry import entries

EMBEDDINGS = {
    "TSNE": {"max_iter": 260},
    "UMAP": {"n_epochs": 30},
    "PaCMAP": {"num_iters": 20},
    "LocalMAP": {"num_iters": 20},
}
IRIS = load_dataset("iris").X


def make(name, **options):
    return getattr(lowland, name)(**EMBEDDINGS[name] | {"random_state": 0} | options)


def test_no_other_method_rounds_its_coordinates():
    assert {name for name in entries() if traits_of(getattr(lowland, name)).single} == set(EMBEDDINGS)


@pytest.mark.parametrize("name", EMBEDDINGS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64])
def test_maps_are_float32_as_in_the_other_packages(name, dtype, tmp_path):
    X = np.unique((10 * IRIS).astype(dtype), axis=0)  # equal rows are placed at the median of their points
    model = make(name)
    Z = model.fit_transform(X)
    assert Z.dtype == model.embedding_.dtype == np.float32
    np.testing.assert_array_equal(Z, model.embedding_)
    found = model.transform(X)
    assert found.dtype == np.float32
    assert all(chunk.dtype == np.float32 for chunk in model.transform_chunks(X))
    np.testing.assert_allclose(found, Z, atol=1e-4 * np.ptp(Z))
    lowland.save(model, tmp_path / "map.lowland")
    again = lowland.load(tmp_path / "map.lowland")
    assert again.embedding_.dtype == np.float32
    np.testing.assert_array_equal(again.transform(X + 0.1), model.transform(X + 0.1))


def test_the_inverse_has_the_precision_of_the_rows():
    far = IRIS + 1.7e9  # float32 has steps of 128 there
    model = make("UMAP").fit(far)
    found = model.inverse_transform(model.embedding_)
    assert found.dtype == np.float64
    assert np.abs(found - far).max() < 5


def test_lazy_maps_say_their_precision():
    dask = pytest.importorskip("dask.array")
    model = make("TSNE").fit(IRIS)
    lazy = model.transform(dask.from_array(IRIS, chunks=(50, 4)))
    assert lazy.dtype == lazy.compute().dtype == np.float32


@pytest.mark.parametrize("name", EMBEDDINGS)
@pytest.mark.parametrize("given", ["rows", "sparse rows", "distances"])
def test_rows_that_are_all_equal_are_placed_at_the_origin(name, given):
    X = np.full((50, 3), 3.7) if given != "distances" else np.zeros((50, 50))
    options = (
        {"distance" if "MAP" in name and name != "UMAP" else "metric": "precomputed"} if given == "distances" else {}
    )
    model = make(name, **options, **({"perplexity": 5} if name == "TSNE" else {}))
    with pytest.warns(DataWarning, match=f"{name}: all rows are equal, so all are placed at the origin. Check"):
        model.fit(scipy.sparse.csr_array(X) if given == "sparse rows" else X)
    np.testing.assert_array_equal(model.embedding_, np.zeros((50, 2)))
    np.testing.assert_array_equal(model.transform(X[:4]), np.zeros((4, 2)))
    if given == "rows":
        assert np.isfinite(model.transform(X[:4] + 1)).all()


@pytest.mark.parametrize("init", ["pca", "random", "spectral", np.zeros((50, 2)), np.ones((50, 2))], ids=str)
def test_equal_rows_do_not_depend_on_the_start(init):
    with pytest.warns(DataWarning, match="all rows are equal"):
        Z = make("TSNE", init=init, perplexity=5).fit_transform(np.ones((50, 5)))
    np.testing.assert_array_equal(Z, np.zeros((50, 2)))

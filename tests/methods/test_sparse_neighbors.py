"""Sparse rows in the methods on neighbors: the results of dense rows, without a dense table."""

import tracemalloc

import numpy as np
import pytest
import scipy.sparse
from sklearn.metrics.pairwise import rbf_kernel

import lowland
from lowland import DiffusionMap, Isomap, LocallyLinearEmbedding, SpectralEmbedding

METHODS = {
    "Isomap": lambda: Isomap(2, n_neighbors=8),
    "Isomap, cosine": lambda: Isomap(2, n_neighbors=8, metric="cosine"),
    "Isomap, radius": lambda: Isomap(2, n_neighbors=None, radius=2.2),
    "Isomap, landmarks": lambda: Isomap(2, n_neighbors=8, n_landmarks=40, random_state=0),
    "LLE": lambda: LocallyLinearEmbedding(2, n_neighbors=9, random_state=0),
    "LLE, modified": lambda: LocallyLinearEmbedding(2, n_neighbors=9, method="modified", random_state=0),
    "LLE, hessian": lambda: LocallyLinearEmbedding(2, n_neighbors=9, method="hessian", random_state=0),
    "LTSA": lambda: LocallyLinearEmbedding(2, n_neighbors=9, method="ltsa", random_state=0),
    "spectral": lambda: SpectralEmbedding(2, random_state=0),
    "spectral, rbf": lambda: SpectralEmbedding(2, affinity="rbf", random_state=0),
    "spectral, function": lambda: SpectralEmbedding(2, affinity=rbf_kernel, random_state=0),
    "diffusion": lambda: DiffusionMap(2, random_state=0),
    "diffusion, neighbors": lambda: DiffusionMap(2, n_neighbors=10, random_state=0),
    "diffusion, manhattan": lambda: DiffusionMap(2, metric="manhattan", random_state=0),
}


def sparse(n=150, d=40, density=0.2, seed=0):
    return scipy.sparse.random_array((n, d), density=density, random_state=np.random.default_rng(seed), format="csr")


@pytest.mark.filterwarnings("ignore::lowland.errors.DataWarning")  # random rows have no manifold
@pytest.mark.parametrize("kind", [scipy.sparse.csr_array, scipy.sparse.csc_matrix])
@pytest.mark.parametrize("name", METHODS)
def test_sparse_rows_give_the_embedding_of_dense_rows(name, kind, tmp_path):
    X, new = sparse(), sparse(15, seed=1)
    dense, model = METHODS[name]().fit(X.toarray()), METHODS[name]().fit(kind(X))
    np.testing.assert_allclose(model.embedding_, dense.embedding_, atol=1e-9)
    want = dense.transform(new.toarray())
    np.testing.assert_allclose(model.transform(kind(new)), want, atol=1e-9)
    np.testing.assert_allclose(model.transform(new.toarray()), want, atol=1e-9)
    np.testing.assert_allclose(dense.transform(kind(new)), want, atol=1e-9)
    assert scipy.sparse.issparse(model.points_)
    if "function" not in name:
        lowland.save(model, tmp_path / "model")
        np.testing.assert_allclose(lowland.load(tmp_path / "model").transform(kind(new)), want, atol=1e-9)


@pytest.mark.filterwarnings("ignore::lowland.errors.DataWarning")
def test_float32_stays():
    X = sparse().astype(np.float32)
    for name in ("Isomap", "LLE", "spectral, rbf", "diffusion"):
        model = METHODS[name]().fit(X)
        assert model.embedding_.dtype == model.transform(X[:3]).dtype == np.float32


@pytest.mark.filterwarnings("ignore::lowland.errors.DataWarning")
@pytest.mark.parametrize(
    "make",
    [
        lambda: Isomap(2, n_neighbors=20, n_landmarks=100),
        lambda: LocallyLinearEmbedding(2, n_neighbors=20, method="ltsa"),
        lambda: SpectralEmbedding(2, n_neighbors=20),
        lambda: DiffusionMap(2, n_neighbors=20, metric="cosine"),
    ],
    ids=["Isomap", "LTSA", "spectral", "diffusion"],
)
def test_no_dense_table_is_made(make):
    """A dense table of these rows would take 1.6 GB."""
    n, d = 1000, 200_000
    X = sparse(n, d, 1e-4)
    make().fit(sparse())  # imports and compilation
    tracemalloc.start()
    try:
        make().fit(X).transform(X[:10])
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 0.1 * 8 * n * d

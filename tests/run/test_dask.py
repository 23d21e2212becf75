"""The Dask engine: the fold runs on the workers, and survives the loss of one."""

import os
import signal
import threading
import time

import numpy as np
import pytest
import scipy.sparse as sp

import lowland
from lowland import PCA, IncrementalPCA
from lowland.data.open import open_rows
from lowland.errors import DataError, DataTypeError
from lowland.run.dask import DaskRun
from lowland.run.processes import _status, resident

da = pytest.importorskip("dask.array")


@pytest.fixture
def X():
    return np.random.default_rng(0).standard_normal((2000, 8)) * np.arange(1, 9) + 3


def test_any_chunks_give_the_same(X):
    whole = PCA(3).fit(X)
    for chunks in ((2000, 8), (100, 8), (333, 3)):
        lazy = da.from_array(X, chunks=chunks)
        ours = PCA(3).fit(lazy)
        np.testing.assert_allclose(ours.explained_variance_, whole.explained_variance_, rtol=1e-12)
        Z = ours.transform(lazy)
        np.testing.assert_allclose(Z.compute(), whole.transform(X), atol=1e-9)
        np.testing.assert_allclose(
            ours.inverse_transform(Z).compute(), whole.inverse_transform(whole.transform(X)), atol=1e-9
        )


def test_nothing_is_computed_before_it_is_requested(X):
    touched = []

    def touch(block):
        touched.append(1)
        return block

    pca = PCA(2).fit(X)
    lazy = da.from_array(X, chunks=(500, 8)).map_blocks(touch, meta=np.empty((0, 0)))
    Z = pca.transform(lazy)
    assert not touched
    Z[:3].compute()
    assert touched


def test_chunks_of_unknown_length(X):
    lazy = da.from_array(X, chunks=(500, 8))
    lazy = lazy[lazy[:, 0] > 3]
    kept = X[X[:, 0] > 3]
    np.testing.assert_allclose(PCA(2).fit(lazy).mean_, kept.mean(axis=0))
    with pytest.raises(DataError, match="compute_chunk_sizes"):
        PCA(2).fit(lazy, sample_weight=np.ones(len(kept)))


def test_weights_and_float32_and_wide(X):
    w = np.arange(2000) % 3
    lazy = da.from_array(X, chunks=(300, 8))
    np.testing.assert_allclose(
        PCA(2).fit(lazy, sample_weight=w).explained_variance_, PCA(2).fit(X, sample_weight=w).explained_variance_
    )
    assert PCA(2).fit(lazy.astype("f4")).transform(lazy.astype("f4")).dtype == np.float32
    with lowland.config(memory="3kB"):  # matrix-free on the workers
        free = PCA(2, svd_solver="randomized", random_state=0).fit(lazy)
    np.testing.assert_allclose(free.explained_variance_, PCA(2).fit(X).explained_variance_, rtol=1e-8)
    parts = IncrementalPCA(2).partial_fit(lazy[:1000]).partial_fit(lazy[1000:])
    np.testing.assert_allclose(parts.explained_variance_, PCA(2).fit(X).explained_variance_)


def test_nan_is_reported_per_column(X):
    X[5, 3] = np.nan
    with pytest.raises(DataError, match="column 3"):
        PCA(2).fit(da.from_array(X, chunks=(500, 8)))


def test_supported_blocks_of_dask_arrays(X):
    with pytest.raises(DataError, match="Complex"):
        open_rows(da.ones((4, 2), dtype=complex))
    with pytest.raises(DataTypeError, match="not numbers"):
        open_rows(da.from_array(np.array([["a", "b"]])))
    sparse = da.from_array(X, chunks=(300, 8)).map_blocks(sp.csr_matrix, meta=sp.csr_matrix((0, 0)))
    assert open_rows(sparse).is_sparse
    np.testing.assert_allclose(PCA(2).fit(sparse).explained_variance_, PCA(2).fit(X).explained_variance_)


def test_gather_declares_shape_and_dtype_of_the_result(X):
    rows = open_rows(da.from_array(X.astype("f4"), chunks=(300, 8)))
    sums = DaskRun().gather(lambda chunk: chunk.sum(axis=1, keepdims=True, dtype="f8"), rows, 1, dtype=np.dtype("f8"))
    assert sums.dtype == sums.compute().dtype == np.float64


@pytest.fixture(scope="module")
def workers():
    """Two worker processes; the client is active for all tests of the module that use it."""
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address="127.0.0.1:0", silence_logs=50
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@pytest.mark.parametrize("name", ["PCA", "LinearDiscriminantAnalysis", "FastICA", "SelfOrganizingMap"])
def test_uneven_and_empty_blocks_on_worker_processes(workers, X, name):
    if name == "FastICA":
        X = np.random.default_rng(1).laplace(size=X.shape) @ np.random.default_rng(2).normal(size=(8, 8))
    lazy = da.from_array(X, chunks=((1, 0, 700, 299, 1000), (8,)))
    est = getattr(lowland, name)()
    if "random_state" in est.get_params():
        est.set_params(random_state=0)
    y = np.arange(2000) % 3 if name == "LinearDiscriminantAnalysis" else None
    Z = est.fit(lazy, y).transform(lazy)
    whole = type(est)(**est.get_params()).fit(X, y)
    np.testing.assert_allclose(Z.compute(), whole.transform(X), atol=1e-4 if name == "FastICA" else 1e-8)


def test_blocks_of_unknown_length_on_worker_processes(workers, X):
    lazy = da.from_array(X, chunks=(300, 8))
    lazy = lazy[lazy[:, 0] > 4]  # some blocks have few rows
    kept = X[X[:, 0] > 4]
    model = PCA(2).fit(lazy)
    np.testing.assert_allclose(model.explained_variance_, PCA(2).fit(kept).explained_variance_, rtol=1e-10)
    np.testing.assert_allclose(model.transform(lazy).compute(), PCA(2).fit(kept).transform(kept), atol=1e-9)


@pytest.mark.parametrize("name", ["Isomap", "UMAP", "SpectralEmbedding", "MDS", "KernelPCA"])
def test_new_rows_are_placed_on_worker_processes(workers, X, name):
    params = {"random_state": 0} if name in ("UMAP", "MDS") else {}
    model = getattr(lowland, name)(n_components=2, **params).fit(X[:300])
    lazy = da.from_array(X[300:500], chunks=(60, 8))
    np.testing.assert_allclose(model.transform(lazy).compute(), model.transform(X[300:500]), rtol=1e-4, atol=1e-4)


@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="the system does not report memory")
def test_a_worker_holds_few_blocks_at_a_time(workers):
    lazy = da.random.default_rng(0).normal(size=(4_000_000, 20), chunks=(100_000, 20))  # 40 blocks of 16 MB
    PCA(2).fit(lazy[:200_000])  # loads the libraries
    before = workers.run(resident)
    PCA(2).fit(lazy)
    peaks = workers.run(_status, "self", "VmHWM")
    assert all(peaks[w] - before[w] < 150e6 for w in before), "all blocks have 640 MB"


@pytest.mark.filterwarnings("ignore")  # distributed warns of the worker we kill
def test_a_worker_is_killed_in_the_middle(X):
    distributed = pytest.importorskip("distributed")

    def slow(block):
        time.sleep(0.1)
        return block

    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address="127.0.0.1:0", silence_logs=50
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        lazy = da.from_array(X, chunks=(50, 8)).map_blocks(slow, meta=np.empty((0, 0)))
        pids = list(client.run(os.getpid).values())
        killer = threading.Timer(0.5, os.kill, (pids[0], signal.SIGKILL))
        killer.start()
        ours = PCA(3).fit(lazy)
        assert not killer.is_alive(), "the fit was over before the worker was killed"
        np.testing.assert_allclose(ours.explained_variance_, PCA(3).fit(X).explained_variance_, rtol=1e-12)

"""Common properties of the methods on a neighbor graph."""

import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist
from sklearn import manifold
from sklearn.base import clone
from sklearn.neighbors import KNeighborsTransformer, kneighbors_graph

from lowland import PCA, DiffusionMap, Isomap, LocallyLinearEmbedding, SpectralEmbedding
from lowland.errors import DataError, DataWarning, ParameterError
from lowland.methods.base.metric import Metric
from lowland.methods.base.neighborhood import Neighborhood


def sheet(n=80, seed=0):
    t = np.random.default_rng(seed).uniform(0, 1, (n, 2))
    return np.column_stack([t, t[:, 0] ** 2])


MODELS = [
    Isomap(2, n_neighbors=8),
    LocallyLinearEmbedding(2, n_neighbors=8),
    SpectralEmbedding(2, n_neighbors=9),
    SpectralEmbedding(2, affinity="rbf"),
    DiffusionMap(2),
    DiffusionMap(2, n_neighbors=8),
]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("model", MODELS, ids=str)
def test_later_changes_of_the_rows_do_not_affect_the_model(model, dtype):
    X, Y = sheet().astype(dtype), sheet(5, seed=1).astype(dtype)
    before = model.fit(X).transform(Y)
    X[:] = 7
    np.testing.assert_array_equal(model.transform(Y), before)
    assert not any(name.startswith("_rows") for name in vars(model))


@pytest.mark.parametrize("wrap", [np.asarray, scipy.sparse.csr_array])
def test_later_changes_of_the_affinities_do_not_affect_the_model(wrap):
    X, Y = sheet(), sheet(5, seed=1)
    W = wrap(np.exp(-cdist(X, X, "sqeuclidean")))
    A = np.exp(-cdist(Y, X, "sqeuclidean"))
    model = SpectralEmbedding(2, affinity="precomputed").fit(W)
    before, held = model.transform(A), model.affinity_matrix_.copy()
    (W if wrap is np.asarray else W.data)[:] = 7
    np.testing.assert_array_equal(model.transform(A), before)
    assert abs(model.affinity_matrix_ - held).max() == 0


@settings(max_examples=5, deadline=None)
@given(seed=st.integers(0, 10**6))
@pytest.mark.parametrize("model", [*MODELS, SpectralEmbedding(2, n_neighbors=9, weights="heat"), PCA(2)], ids=str)
def test_a_rotation_and_a_shift_of_the_rows_change_nothing(model, seed):
    rng = np.random.default_rng(seed)
    X, turn, shift = sheet(), np.linalg.qr(rng.standard_normal((3, 3)))[0], rng.standard_normal(3)
    one, other = (np.abs(clone(model).fit_transform(Y)) for Y in (X, X @ turn + shift))
    np.testing.assert_allclose(other, one, atol=1e-6 * one.max())


@pytest.mark.parametrize("model", [model for model in MODELS if model.n_neighbors], ids=str)
@pytest.mark.parametrize("scale", [1e-165, 1e180])
def test_values_that_cannot_be_squared_are_refused(model, scale):
    with pytest.raises(DataError, match=r"too (large|small) to be squared.*Rescale"):
        model.fit(sheet() * scale)
    with pytest.raises(DataError, match="too large"):
        model.fit(sheet()).transform(np.full((1, 3), 1e200))


def test_n_neighbors_or_radius_is_required():
    with pytest.raises(ParameterError, match="set n_neighbors or radius"):
        Isomap(n_neighbors=None).fit(sheet())


@pytest.mark.parametrize("model", [Isomap(metric="foo"), DiffusionMap(n_neighbors=5, metric="foo")])
def test_an_unknown_metric_is_refused(model):
    with pytest.raises(ParameterError, match="There is no metric 'foo'"):
        model.fit(sheet())
    if isinstance(model, Isomap):
        with pytest.raises(ParameterError, match="There is no metric 'foo'"):
            model.neighbors_sweep(sheet(), [5, 6])


def test_metrics_estimated_from_the_rows_find_neighbors():
    X = sheet()
    scaled = Isomap(2).fit(X / X.std(axis=0, ddof=1))
    learned = Isomap(2, metric="seuclidean").fit(X)
    np.testing.assert_allclose(learned.dist_matrix_, scaled.dist_matrix_)
    np.testing.assert_allclose(learned.transform(X[:5]), learned.embedding_[:5], atol=1e-8)


# --- given distances ---


@pytest.mark.parametrize("k", [4, 6, 9])
def test_a_sparse_matrix_of_distances_is_read_as_in_scikit_learn(k):
    X, Y = sheet(), sheet(6, seed=1)
    stored = KNeighborsTransformer(n_neighbors=9, mode="distance").fit(X)  # with the diagonal
    G, H = stored.transform(X), stored.transform(Y)
    theirs = manifold.Isomap(n_neighbors=k, metric="precomputed").fit(G)
    ours = Isomap(n_neighbors=k, metric="precomputed").fit(G)
    np.testing.assert_allclose(ours.dist_matrix_, theirs.dist_matrix_)
    signs = np.sign(np.sum(ours.embedding_ * theirs.embedding_, axis=0))
    np.testing.assert_allclose(ours.embedding_, theirs.embedding_ * signs, atol=1e-9)
    np.testing.assert_allclose(ours.transform(H), theirs.transform(H) * signs, atol=1e-9)
    np.testing.assert_allclose(Isomap(n_neighbors=k).fit(X).transform(Y), ours.transform(H), atol=1e-9)
    without = kneighbors_graph(X, 9, mode="distance")  # scikit-learn would treat the nearest as the row itself
    np.testing.assert_allclose(
        Isomap(n_neighbors=k, metric="precomputed").fit(without).dist_matrix_, theirs.dist_matrix_
    )


def test_a_graph_uses_all_edges_and_distances_the_nearest():
    X = sheet()
    G = kneighbors_graph(X, 9, mode="distance")
    whole = Isomap(n_neighbors=9).fit(X).dist_matrix_
    np.testing.assert_allclose(Isomap(n_neighbors=4).fit(X, graph=G).dist_matrix_, whole)
    np.testing.assert_allclose(Isomap(n_neighbors=None, metric="precomputed").fit(G).dist_matrix_, whole)
    D = scipy.sparse.csr_array(cdist(X, X))
    by_radius = Isomap(n_neighbors=None, radius=0.3)
    np.testing.assert_allclose(
        clone(by_radius).set_params(metric="precomputed").fit(D).dist_matrix_, by_radius.fit(X).dist_matrix_
    )
    with pytest.warns(DataWarning, match=r"80 rows of 80 in the sparse X store fewer than \d+ distances"):
        np.testing.assert_allclose(Isomap(n_neighbors=12, metric="precomputed").fit(G).dist_matrix_, whole)


@pytest.mark.parametrize("model", [Isomap(metric="precomputed"), DiffusionMap(metric="precomputed")], ids=str)
@pytest.mark.parametrize(("broken", "words"), [(-1.0, "negative"), (np.inf, "infinite"), (np.nan, "NaN")])
def test_distances_of_new_rows_are_checked(model, broken, words):
    X = sheet()
    model.fit(cdist(X, X))
    D = cdist(sheet(5, seed=1), X)
    D[3, 7] = broken
    with pytest.raises(DataError, match=rf"\b7\b.*{words}"):
        model.transform(D)
    with pytest.raises(DataError, match=rf"\b7\b.*{words}"):
        list(model.transform_chunks(D))


@pytest.mark.parametrize(("broken", "words"), [(-1.0, "negative"), (np.inf, "infinite"), (np.nan, "NaN")])
def test_distances_of_new_sparse_rows_are_checked(broken, words):
    X = sheet()
    model = Isomap(metric="precomputed").fit(kneighbors_graph(X, 5, mode="distance"))
    H = scipy.sparse.lil_array((3, 80))
    H[0, 1], H[1, 2], H[2, 4] = 1, 1, 2
    assert model.transform(H.tocsr()).shape == (3, 2)
    H[1, 7] = broken
    with pytest.raises(DataError, match=f"{words}.*training row 7"):
        model.transform(H.tocsr())
    H[1, 7] = H[1, 2] = 0
    with pytest.raises(DataError, match="no stored distance"):
        model.transform(H.tocsr())


def test_a_new_row_is_placed_by_embedded_points():
    X = np.vstack([sheet(60), sheet(10, seed=2) + 50])
    model = Isomap(n_neighbors=5, metric="precomputed", disconnected="largest")
    with pytest.warns(DataWarning, match="Only the largest component"):
        model.fit(kneighbors_graph(X, 5, mode="distance"))
    H = scipy.sparse.csr_array(([1e-3, 0.1], ([0, 0], [65, 3])), shape=(1, 70))
    assert np.isfinite(model.transform(H)).all()
    with pytest.raises(DataError, match="no stored distance"):
        model.transform(scipy.sparse.csr_array(([1.0], ([0], [65])), shape=(1, 70)))


@pytest.mark.parametrize("model", [Isomap(2), DiffusionMap(2, n_neighbors=5)], ids=str)
def test_distances_that_cannot_be_squared_are_refused(model):
    X = sheet()
    with pytest.raises(DataError, match=r"distances of neighbors.*too large to be squared"):
        clone(model).set_params(metric="manhattan").fit(X * 1e180)
    with pytest.raises(DataError, match=r"distances of neighbors.*too large to be squared"):
        clone(model).set_params(metric="precomputed").fit(cdist(X, X) * 1e180)
    with pytest.raises(DataError, match=r"distances of neighbors.*too large to be squared"):
        clone(model).fit(X, graph=kneighbors_graph(X, 5, mode="distance") * 1e180)


# --- several components ---


@pytest.fixture
def heaps(rng):
    """Three clusters of 30, 20 and 10 points, mixed."""
    X = rng.random((60, 3)) + np.repeat([0, 10, 30], [30, 20, 10])[:, None]
    return X[rng.permutation(60)]


POLICIES = {
    "connect": r"components is 3: 30, 20 and 10 rows\. They were connected by 2 edges, the shortest ones",
    "largest": r"components is 3: .*Only the largest .* the other 30 rows are NaN\. Raise n_neighbors",
    "ignore": r"components is 3: .*no meaning\. Raise n_neighbors, or set disconnected='connect'\.",
    "error": r"number of connected components is 3: 30, 20 and 10 rows\. Raise n_neighbors, or set disconnected=",
}


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("cls", [Isomap, LocallyLinearEmbedding, SpectralEmbedding, DiffusionMap])
def test_what_is_done_about_components_is_reported(heaps, cls, policy):
    model = cls(2, n_neighbors=6, disconnected=policy)
    if policy == "error":
        with pytest.raises(DataError, match=POLICIES[policy]):
            model.fit(heaps)
        return
    with pytest.warns(DataWarning, match=POLICIES[policy]):
        model.fit(heaps)
    assert model.n_connected_components_ == 3
    assert model.n_edges_added_ == (2 if policy == "connect" else 0)
    lost = np.isnan(model.embedding_).any(axis=1)
    assert lost.sum() == model.n_excluded_ == (30 if policy == "largest" else 0)
    assert np.isfinite(model.transform(heaps)).all()
    if policy == "largest":
        alone = cls(2, n_neighbors=6).fit(heaps[~lost]).embedding_
        np.testing.assert_allclose(np.abs(model.embedding_[~lost]), np.abs(alone), atol=1e-6)


def test_a_graph_in_place_of_rows_cannot_be_connected():
    G = scipy.sparse.csr_array(np.kron(np.eye(2), 1 - np.eye(5)))
    with pytest.raises(
        DataError, match=r"X is itself a graph\. Add the missing edges to X, set disconnected='largest'"
    ):
        Isomap(2, n_neighbors=None, metric="precomputed").fit(G)


def test_policies_on_components_of_affinities():
    label = np.array([0, 0, 0, 1])

    def kept(policy, label=label):
        return Neighborhood("M", Metric("euclidean"), 2, policy=policy).split(label, "Do this").kept.tolist()

    assert kept("error", np.zeros(4, dtype=int)) == [True] * 4
    with pytest.raises(
        DataError, match=r"number of connected components is 2: 3 and 1 rows.*\. Do this, or set disconnected='largest'"
    ):
        kept("error")
    with pytest.warns(DataWarning, match="Only the largest component is embedded, and the other row is NaN"):
        assert kept("largest") == [True, True, True, False]
    with pytest.warns(DataWarning, match=r"[Ww]ithout distances.*stay disconnected.*Do this\."):
        assert kept("connect") == [True] * 4
    with pytest.warns(DataWarning, match="The components stay disconnected"):
        assert kept("ignore") == [True] * 4


@pytest.mark.parametrize("cls", [Isomap, LocallyLinearEmbedding, SpectralEmbedding, DiffusionMap])
@pytest.mark.parametrize("policy", ["connect", "largest", "ignore", "error"])
def test_a_graph_without_edges_is_refused(cls, policy):
    X = sheet()
    with pytest.raises(DataError, match="no edges"):
        cls(2, disconnected=policy).fit(X, graph=scipy.sparse.csr_array((len(X), len(X))))


# --- tables beyond the memory -----------------------------------------------------------------------------------------

_IN_LITTLE_MEMORY = """
import resource, sys
import numpy as np
import lowland
from lowland.math.neighbors import approximate

approximate._TOO_SLOW = 0
model = lowland.UMAP(n_epochs=5, random_state=0)
model.fit(np.load(sys.argv[1])[:2000])  # compiles
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
with lowland.config(memory="48MB", threads=2, progress=False):
    model.fit(sys.argv[1])
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before, model.recall_)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="memory is counted in other units")
def test_a_fit_to_a_file_maps_its_tables(tmp_path, rng):
    n = 30_000
    t = rng.uniform(-1.5, 1.5, (n, 3))
    X = np.concatenate([np.sin(t), np.cos(1.3 * t)], axis=1) @ rng.standard_normal((6, 100))
    np.save(tmp_path / "x.npy", X.astype(np.float32))
    command = [sys.executable, "-c", _IN_LITTLE_MEMORY, str(tmp_path / "x.npy")]
    more, recall = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    assert float(more) * 1024 < 6 * 4 * n * 100  # the rows, those that the model keeps, and the tables of the search
    assert float(recall) > 0.98

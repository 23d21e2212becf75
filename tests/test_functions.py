"""The functions of scikit-learn: the same arguments, defaults and results."""

import inspect

import numpy as np
import pytest
import scipy.sparse
import sklearn.decomposition
import sklearn.manifold
from scipy.spatial.distance import cdist, pdist
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.neighbors import NearestNeighbors

import lowland
from lowland.arrays.namespace import to_numpy
from lowland.data import load_dataset, swiss_roll

NAMES = ("smacof", "spectral_embedding", "locally_linear_embedding", "trustworthiness")


@pytest.mark.parametrize("name", NAMES)
def test_signatures_are_those_of_scikit_learn(name):
    ours, theirs = (
        [(p.name, p.kind, p.default) for p in inspect.signature(f).parameters.values()]
        for f in (getattr(lowland, name), getattr(sklearn.manifold, name))
    )
    assert ours == theirs
    assert name in dir(lowland)


@pytest.mark.filterwarnings("ignore:MDS did not converge")  # after three iterations
def test_smacof_from_a_given_configuration_takes_the_same_steps():
    X = load_dataset("iris").X[::3]
    D, Z = cdist(X, X), np.random.default_rng(0).standard_normal((50, 2))
    for options in ({}, {"max_iter": 3}, {"normalized_stress": True}):
        ours, theirs = (
            smacof(D, init=Z, return_n_iter=True, **options) for smacof in (lowland.smacof, sklearn.manifold.smacof)
        )
        np.testing.assert_allclose(ours[0], theirs[0], atol=1e-10)
        assert ours[1:] == pytest.approx(theirs[1:], rel=1e-10)
    assert len(lowland.smacof(D, init=Z)) == 2
    with pytest.warns(UserWarning, match="only one init"):
        assert lowland.smacof(D, init=Z, n_init=3)[1] == lowland.smacof(D, init=Z)[1]


def test_smacof_from_random_configurations():
    X = load_dataset("iris").X[::3]
    D = cdist(X, X)
    best = sklearn.manifold.smacof(D, n_init=8, random_state=0)[1]
    assert lowland.smacof(D, n_init=8, random_state=0)[1] < 1.05 * best
    D[0, 1] = D[1, 0] = 0  # missing in non-metric scaling
    best = sklearn.manifold.smacof(D, metric=False, n_init=8, random_state=0)[1]
    Z, stress = lowland.smacof(D, metric=False, n_init=8, random_state=0)
    assert stress < 1.1 * best
    assert pdist(Z)[0] > 0


@pytest.mark.parametrize("kind", [np.asarray, scipy.sparse.csr_array, scipy.sparse.csr_matrix])
@pytest.mark.parametrize("options", [{}, {"norm_laplacian": False}, {"drop_first": False, "n_components": 3}], ids=str)
def test_spectral_embedding(options, kind):
    W = rbf_kernel(load_dataset("iris").X[::2], gamma=0.3)
    W = kind(np.where(W > 1e-3, W, 0))
    ours, theirs = (
        f(W, random_state=0, **options) for f in (lowland.spectral_embedding, sklearn.manifold.spectral_embedding)
    )
    np.testing.assert_allclose(np.abs(ours), np.abs(theirs), atol=1e-8)


@pytest.mark.parametrize("method", ["standard", "modified", "ltsa"])
def test_locally_linear_embedding(method):
    X = swiss_roll(200, seed=0).X
    options = {"n_neighbors": 10, "n_components": 2, "method": method, "random_state": 0, "tol": 1e-12}
    Z, error = lowland.locally_linear_embedding(X, **options)
    theirs, their_error = sklearn.manifold.locally_linear_embedding(X, eigen_solver="dense", **options)
    assert error == pytest.approx(their_error, rel=0.02 if method == "modified" else 1e-4)
    if method != "modified":
        np.testing.assert_allclose(np.abs(Z), np.abs(theirs), atol=1e-5)
    fitted = NearestNeighbors().fit(X)
    np.testing.assert_array_equal(lowland.locally_linear_embedding(fitted, **options)[0], Z)


@pytest.mark.parametrize("metric", ["euclidean", "cosine", "precomputed"])
def test_trustworthiness(metric, rng):
    X, Z = rng.standard_normal((120, 6)), rng.standard_normal((120, 2))
    X = cdist(X, X) if metric == "precomputed" else X
    for k in (1, 5, 59):
        theirs = sklearn.manifold.trustworthiness(X, Z, n_neighbors=k, metric=metric)
        found = lowland.trustworthiness(X, Z, n_neighbors=k, metric=metric)
        assert isinstance(found, float)
        assert found == pytest.approx(theirs, rel=1e-12)
    if metric != "precomputed":
        sparse = np.where(np.abs(X) > 0.3, X, 0.0)
        theirs = sklearn.manifold.trustworthiness(sparse, Z, metric=metric)
        assert lowland.trustworthiness(scipy.sparse.csr_array(sparse), Z, metric=metric) == pytest.approx(
            theirs, rel=1e-6
        )
    with pytest.raises(ValueError, match=r"n_neighbors .* less than n_samples / 2"):
        lowland.trustworthiness(X, Z, n_neighbors=60, metric=metric)


@pytest.fixture
def mixed():
    sources = np.random.default_rng(0).uniform(-1, 1, (500, 3))
    return sources @ np.random.default_rng(1).standard_normal((3, 4)) + 2


def test_fastica_has_the_signature_of_scikit_learn():
    ours, theirs = (inspect.signature(f).parameters.values() for f in (lowland.fastica, sklearn.decomposition.fastica))
    assert [(p.name, p.default, p.kind) for p in ours] == [(p.name, p.default, p.kind) for p in theirs]


@pytest.mark.parametrize("whiten", ["unit-variance", "arbitrary-variance"])
def test_fastica_is_the_class(mixed, whiten):
    K, W, S, mean, n_iter = lowland.fastica(
        mixed, 3, whiten=whiten, random_state=0, return_X_mean=True, return_n_iter=True
    )
    ica = lowland.FastICA(3, whiten=whiten, random_state=0).fit(mixed)
    np.testing.assert_allclose(W @ K, ica.components_, rtol=1e-9)
    np.testing.assert_allclose(S, (mixed - mean) @ K.T @ W.T, atol=1e-9)
    np.testing.assert_allclose(S, ica.transform(mixed), rtol=1e-12)
    assert n_iter == ica.n_iter_
    theirs = sklearn.decomposition.fastica(mixed, 3, whiten=whiten, random_state=0, tol=1e-8)
    np.testing.assert_allclose(np.abs(K), np.abs(theirs[0]), rtol=1e-9)
    match = np.abs(np.corrcoef(S.T, theirs[2].T)[:3, 3:])
    np.testing.assert_allclose(match.max(axis=1), 1, atol=1e-3)
    np.testing.assert_allclose(S.std(axis=0), theirs[2].std(axis=0), rtol=1e-3)


def test_fastica_of_white_rows_and_without_sources(mixed):
    white = lowland.Whitening(3).fit_transform(mixed)
    K, W, S = lowland.fastica(white, whiten=False, random_state=0, compute_sources=False)
    assert K is None
    assert S is None
    assert W.shape == (3, 3)


def test_fastica_takes_tensors(mixed):
    torch = pytest.importorskip("torch")
    K, W, S = lowland.fastica(torch.asarray(mixed), 3, random_state=0)
    expected = lowland.fastica(mixed, 3, random_state=0)
    for values, others in zip((K, W, S), expected, strict=True):
        assert isinstance(values, torch.Tensor)
        np.testing.assert_allclose(to_numpy(values), others, atol=1e-8)

"""scikit-learn's functions: the same signatures, and results that mean the same."""

import inspect

import numpy as np
import pytest
import sklearn.decomposition

import lowland
from lowland.arrays.namespace import to_numpy


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
